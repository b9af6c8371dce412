//! The requests of somebody who knows which texts later edits will replace: finished work leaves when it does in
//! frames, and these texts stay of it. Whoever has to guess them is billed more.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use callstack_core::transcript::{Span, SpanOrigin};

use crate::changes::{Need, needs};
use crate::item::ItemNum;
use crate::replay::Replay;
use crate::requests::Requests;
use crate::session::Session;
use crate::verbatim::Wanted;
use crate::ways::linear;

/// The parts of finished work that stay, whatever is edited later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stays {
    /// Nothing.
    Nothing,
    /// The user's words and the agent's closing replies.
    Words,
    /// These, and the texts that stand for it in frames, without the content of files that was written or read.
    Evidence,
}

impl Replay {
    /// Returns the requests in frames if, beside this, the texts that later edits replace stayed of finished work, or if
    /// none did.
    pub fn foreseen(&mut self, stays: Stays, are_known: bool) -> Requests {
        let whole = linear(&self.session);
        let folds = Folds::of(&self.session, &self.spans, self.ours_from);
        let bare: Vec<Vec<ItemNum>> = self
            .framed()
            .into_iter()
            .flat_map(Requests::iter)
            .map(|request| if stays == Stays::Nothing { folds.alone(&request) } else { request })
            .collect();
        let needs = if are_known { needs(&self.session, &whole) } else { Vec::new() };
        let kept = kept(&texts(&needs, &whole), &bare, &folds);
        let mut requests = Requests::default();
        for request in bare {
            let items = request.into_iter().filter_map(|item| {
                let Some(span) = folds.spans.get(&item) else { return Some(item) };
                let of_frames = &self.session.items.get(item).text;
                let mut text = match stays {
                    Stays::Nothing | Stays::Words => String::new(),
                    Stays::Evidence => without_files(of_frames),
                };
                for wanted in kept.get(&item).into_iter().flatten() {
                    text.push_str(&wanted.text());
                    text.push('\n');
                }
                let id = format!("{span}/foreseen");
                (!text.is_empty()).then(|| self.session.items.ours(&id, &text))
            });
            let items: Vec<ItemNum> = items.collect();
            requests.begin();
            requests.replace(items);
        }
        requests
    }
}

/// The items that stand for finished work in the requests of frames.
pub(crate) struct Folds {
    /// The place of the span that each stands for.
    pub(crate) spans: HashMap<ItemNum, usize>,
    /// The messages of each span, with the user's that began a turn.
    pub(crate) messages: Vec<Range<usize>>,
    /// The message of each recorded item.
    message: HashMap<ItemNum, usize>,
}

impl Folds {
    pub(crate) fn of(session: &Session, spans: &[Span], ours_from: ItemNum) -> Self {
        let ids = session.transcript.iter().enumerate().map(|(at, it)| (it.id.as_str(), at));
        let ids: HashMap<&str, usize> = ids.collect();
        let place = |id: &Option<String>| id.as_deref().and_then(|id| ids.get(id)).copied();
        let messages = spans.iter().map(|span| {
            let begin = place(&span.open.message).unwrap_or_default();
            let close = span.close.as_ref();
            let end = close.and_then(|close| place(&close.message)).unwrap_or_default();
            let is_listed = close.is_some_and(|close| close.call.is_some());
            // The calls of the list, with which an item begins and ends, belong to the work around it.
            match span.origin {
                SpanOrigin::Todo => begin + 1..end + usize::from(!is_listed),
                _ => begin..end + 1,
            }
        });
        let texts = spans.iter().enumerate();
        let texts: HashMap<&str, usize> =
            texts.filter_map(|(at, span)| Some((span.fold.as_ref()?.text.as_str(), at))).collect();
        let end = ItemNum::try_from(session.items.len()).unwrap_or(ItemNum::MAX);
        let stand = (ours_from..end).filter_map(|item| {
            let span = texts.get(session.items.get(item).text.as_str())?;
            Some((item, *span))
        });
        let pieces = session.pieces.iter().enumerate();
        let message = pieces.flat_map(|(at, pieces)| pieces.iter().map(move |it| (it.item, at)));
        Self { spans: stand.collect(), messages: messages.collect(), message: message.collect() }
    }

    /// The message of a recorded item.
    pub(crate) fn message(&self, item: ItemNum) -> Option<usize> {
        self.message.get(&item).copied()
    }

    /// Returns the messages of the finished work that a request was sent without.
    pub(crate) fn gone<'a>(&'a self, request: &'a [ItemNum]) -> Vec<&'a Range<usize>> {
        request.iter().filter_map(|it| self.spans.get(it)).map(|it| &self.messages[*it]).collect()
    }

    /// Returns a request without the words that stay of finished work.
    fn alone(&self, request: &[ItemNum]) -> Vec<ItemNum> {
        let gone = self.gone(request);
        let is_open = |item: &&ItemNum| {
            let message = self.message(**item);
            message.is_none_or(|message| !gone.iter().any(|it| it.contains(&message)))
        };
        request.iter().filter(is_open).copied().collect()
    }
}

/// Returns a text that stands for finished work without the content of files at its end.
pub(crate) fn without_files(text: &str) -> String {
    let headings = [
        "\nFirst lines of files, as they stood then:\n",
        "\nText that was written last, as it stood then:\n",
    ];
    let Some(begin) = headings.iter().filter_map(|it| text.find(it)).min() else {
        return text.to_owned();
    };
    let log = ["\nEvery step of it can be read again", "\nNot every step of it can be read again"];
    let end = log.iter().filter_map(|it| text.rfind(it)).max();
    format!("{}{}", &text[..begin], &text[end.unwrap_or(text.len())..])
}

/// A text that an edit replaces.
struct Text<'a> {
    wanted: &'a Wanted,
    /// The recorded items that hold it.
    holders: &'a [ItemNum],
    /// The call that was the first to see the newest of them.
    seen: usize,
    /// The call that makes the edit.
    edit: usize,
}

fn texts<'a>(needs: &'a [Vec<Need>], whole: &Requests) -> Vec<Text<'a>> {
    let mut seen: HashMap<ItemNum, usize> = HashMap::new();
    for (call, request) in whole.iter().enumerate() {
        for item in request {
            seen.entry(item).or_insert(call);
        }
    }
    let all = needs.iter().enumerate().flat_map(|(edit, needs)| {
        let edits = needs.iter().filter(|need| need.is_edit);
        edits.flat_map(|need| &need.texts).map(move |(wanted, holders)| (edit, wanted, holders))
    });
    let all = all.map(|(edit, wanted, holders)| {
        let newest = holders.iter().filter_map(|item| seen.get(item)).max();
        Text { wanted, holders, seen: newest.copied().unwrap_or(edit), edit }
    });
    all.collect()
}

/// Returns the texts that stay in each item that stands for finished work: each text from the request on in which nothing
/// else holds it any more.
fn kept(
    texts: &[Text<'_>],
    requests: &[Vec<ItemNum>],
    folds: &Folds,
) -> HashMap<ItemNum, Vec<Wanted>> {
    let mut kept: HashMap<ItemNum, Vec<Wanted>> = HashMap::new();
    let mut before: HashSet<ItemNum> = HashSet::new();
    for (call, request) in requests.iter().enumerate() {
        let there: HashSet<ItemNum> = request.iter().copied().collect();
        let is_new = |item: &&ItemNum| folds.spans.contains_key(item) && !before.contains(item);
        if let Some(newest) = request.iter().rev().find(is_new) {
            for text in texts.iter().filter(|text| (text.seen..=text.edit).contains(&call)) {
                let has = |kept: &Wanted| text.wanted.stands_in(&kept.text());
                let is_there = text.holders.iter().any(|item| there.contains(item))
                    || request.iter().filter_map(|item| kept.get(item)).flatten().any(has);
                if !is_there {
                    kept.entry(*newest).or_default().push(text.wanted.clone());
                }
            }
        }
        before = there;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_of_files_is_cut_out() {
        let text = "[callstack] frame f2: done.\nEvidence:\n- a\nFirst lines of files, as they stood then:\n- a.rs\n\
                    use x;\nText that was written last, as it stood then:\n- b.rs\nfn b() {}\nEvery step of it can \
                    be read again: stack\n";
        assert_eq!(
            without_files(text),
            "[callstack] frame f2: done.\nEvidence:\n- a\nEvery step of it can be read again: stack\n"
        );
    }
}
