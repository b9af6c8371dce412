//! Steps that a pop closes after the fact: whether they are still sent, and the frames that began after the first of
//! them.

use crate::frame::FrameNum;
use crate::transcript::{Anchor, Message, Span};

use super::places::{Anchored, Places};
use super::region::{Edge, Region, find_all};
use super::{Input, select};

/// Steps that are sent, from a call on up to the end of a transcript.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Since {
    /// The frames that are open and began after the call, the outer ones first. Their beginnings may be missing in
    /// the transcript yet.
    pub begun: Vec<FrameNum>,
}

/// Returns the steps from a call on up to another one, `last`, whose step may be missing in the transcript yet. None
/// where the first call is not sent any more, its result is the text that a frame returned, or a frame begins or ends
/// with it.
pub fn since<M: AsRef<Message>>(
    input: &Input<'_, M>,
    first: &Anchor,
    last: &Anchor,
) -> Option<Since> {
    let places = Places::of(input.transcript);
    let Anchored::Call(place) = places.find(first) else { return None };
    let edge: Edge = (place.message, place.part);
    let attached = || input.spans.iter().filter(|span| !span.detached);
    let is_edge = |span: &Span| span.open == *first || span.live_close() == Some(first);
    if attached().any(is_edge) || places.summarised > place.message {
        return None;
    }

    let mut since = Since::default();
    for span in attached() {
        let is_now = |anchor: &Anchor| is_now(&places, anchor, last);
        let ends_now = span.live_close().is_some_and(is_now);
        if span.live_close().is_some() && !ends_now {
            continue;
        }
        let beyond = (places.transcript.len(), 0);
        let begins = if is_now(&span.open) { beyond } else { begins(&places, span) };
        if span.live_close().is_none() && begins > edge {
            since.begun.push(span.frame);
        }
        if ends_now && begins <= edge && !span.origin.is_automatic() {
            return None;
        }
    }

    let regions = find_all(&places, input.spans);
    let holds = |region: &Region<'_>| region.from <= edge && edge < region.to;
    let leaves = |region: &Region<'_>| {
        region.span.live_close().is_some() && !region.span.origin.is_automatic() && holds(region)
    };
    if regions.iter().any(leaves) {
        return None;
    }
    let folded = select::outermost(&places, regions, input.reasoning).outermost;
    (!folded.iter().any(|chosen| holds(&chosen.region))).then_some(since)
}

/// Whether a place is in the step of the last call, which is not shown yet.
fn is_now(places: &Places<'_>, place: &Anchor, last: &Anchor) -> bool {
    let is_shown = |id: &String| places.index_of(id).is_some();
    place.message == last.message && place.message.as_ref().is_some_and(|id| !is_shown(id))
}

fn begins(places: &Places<'_>, span: &Span) -> Edge {
    match places.find(&span.open) {
        Anchored::Call(place) if span.origin.is_automatic() => (place.message + 1, 0),
        Anchored::Call(place) => (place.message, place.part + 1),
        Anchored::After(message) => (message, 0),
        Anchored::Hidden | Anchored::Nowhere => (0, 0),
    }
}
