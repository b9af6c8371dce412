//! Ways through a neighbourhood that several commands share.

use super::{Neighbourhood, Refusal};
use crate::event::Event;
use crate::frame::{Frame, FrameNum, Status};
use crate::transcript::{Anchor, Outcome, Span};

/// Returns the nearest frame, from `num` on upwards, that somebody chose. Automatic frames that nobody has resumed
/// are passed.
pub fn nearest_chosen<N: Neighbourhood>(
    tree: &N,
    num: Option<FrameNum>,
) -> Result<Option<FrameNum>, N::Error> {
    let mut found = num;
    while let Some(num) = found {
        if !is_automatic(tree, num)? {
            break;
        }
        found = tree.frame(num)?.parent;
    }
    Ok(found)
}

/// Whether a frame began by itself and was never taken up by a call.
pub(super) fn is_automatic<N: Neighbourhood>(tree: &N, num: FrameNum) -> Result<bool, N::Error> {
    let spans = tree.spans_of(num)?;
    Ok(!spans.is_empty() && spans.iter().all(|span| span.origin.is_automatic()))
}

/// The frame in which a session goes on once `left` has ended and `above` is the nearest ancestor in
/// progress: `above`, or the innermost frame below it that began by itself, goes on and has the work
/// in `left` inside.
pub fn goes_on_in<N: Neighbourhood>(
    tree: &N,
    session: &str,
    left: FrameNum,
    above: FrameNum,
) -> Result<FrameNum, N::Error> {
    for span in tree.open_spans(session)?.iter().rev() {
        if !span.origin.is_automatic() || span.frame == left {
            continue;
        }
        let frame = tree.frame(span.frame)?;
        let works = frame.status == Status::InProgress && !frame.detached;
        if works && stands_below(tree, frame.parent, above)? {
            return Ok(span.frame);
        }
    }
    Ok(above)
}

fn stands_below<N: Neighbourhood>(
    tree: &N,
    mut parent: Option<FrameNum>,
    above: FrameNum,
) -> Result<bool, N::Error> {
    while let Some(num) = parent {
        if num == above {
            return Ok(true);
        }
        parent = tree.frame(num)?.parent;
    }
    Ok(false)
}

/// Moves a session's active frame off `left`, which has just ended: to the nearest ancestor in the
/// same session that is in progress (see [`goes_on_in`]), or to none. Spans of frames that are passed on the way and are
/// no longer in progress (an ancestor that was invalidated under its working child) close with it,
/// since nobody will come back to close them.
pub(super) fn leave<N: Neighbourhood>(
    tree: &N,
    session: &str,
    left: &Frame,
    close: &Anchor,
    events: &mut Vec<Event>,
) -> Result<(), Refusal<N::Error>> {
    let mut parent = left.parent;
    let mut next = None;
    while let Some(num) = parent {
        let frame = tree.frame(num).map_err(Refusal::Store)?;
        if frame.session.as_deref() != Some(session) {
            break;
        }
        if frame.status == Status::InProgress && !frame.detached {
            next = Some(goes_on_in(tree, session, left.num, num).map_err(Refusal::Store)?);
            break;
        }
        close_spans(tree, session, num, close, &outcome_of(&frame), events)?;
        parent = frame.parent;
    }
    events.push(Event::ActiveSet { session: session.to_owned(), frame: next });
    Ok(())
}

/// Closes the open spans that a frame has in a session.
pub(super) fn close_spans<N: Neighbourhood>(
    tree: &N,
    session: &str,
    frame: FrameNum,
    close: &Anchor,
    outcome: &Outcome,
    events: &mut Vec<Event>,
) -> Result<(), Refusal<N::Error>> {
    for span in tree.open_spans(session).map_err(Refusal::Store)? {
        if span.frame == frame {
            events.push(Event::SpanClosed {
                span: span.num,
                close: close.clone(),
                outcome: outcome.clone(),
            });
        }
    }
    Ok(())
}

pub(super) fn outcome_of(frame: &Frame) -> Outcome {
    Outcome {
        status: frame.status,
        results: frame.results.clone(),
        results_compacted: frame.results_compacted.clone(),
        source: frame.results_source,
    }
}

/// A span that begins now.
pub(super) fn opened<N: Neighbourhood>(
    tree: &N,
    frame: FrameNum,
    session: &str,
    open: Anchor,
    origin: crate::transcript::SpanOrigin,
) -> Result<Event, Refusal<N::Error>> {
    Ok(Event::SpanOpened {
        span: Box::new(Span {
            num: tree.next_span().map_err(Refusal::Store)?,
            frame,
            session: session.to_owned(),
            foldable: origin != crate::transcript::SpanOrigin::Root,
            open,
            origin,
            close: None,
            outcome: None,
            close_undone: false,
            detached: false,
            fold: None,
        }),
    })
}
