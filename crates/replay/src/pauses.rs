//! Frames, if more of a session left when the provider has forgotten the request, where it costs nothing to send
//! everything else anew.

use std::collections::HashMap;

use callstack_core::framing::Speaker;
use callstack_core::text::{CUT, estimate_tokens, truncate_to_token_budget};

use crate::figures::is_paused;
use crate::item::ItemNum;
use crate::oracle::{Folds, without_files};
use crate::replay::Replay;
use crate::requests::Requests;
use crate::session::{PieceKind, Session};

/// What leaves at a pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AtPauses {
    /// Of the agent's replies in turns before the last two, all but so many estimated tokens.
    pub replies: Option<usize>,
    /// Of the outputs of work that is open, those that so many later calls of the model have seen. A hundredth of each
    /// stays, for an outline of it.
    pub outputs: Option<usize>,
    /// Of what stands for work of turns before the last so many, the content of files.
    pub files: Option<usize>,
}

/// The newest turns, of which the last is open, whose replies stay whole.
const TURNS: usize = 2;
/// Estimated tokens of the smallest output that leaves, and of the line that replaces one.
const LEAST: usize = 200;
const LINE: usize = 40;

impl Replay {
    /// Returns the requests in frames if this left at each pause.
    pub fn at_pauses(&mut self, leaves: AtPauses) -> Requests {
        let folds = Folds::of(&self.session, &self.spans, self.ours_from);
        let sent: Vec<Vec<ItemNum>> = self.framed().into_iter().flat_map(Requests::iter).collect();
        let turns: Vec<usize> = self
            .session
            .moments
            .iter()
            .scan(0, |turns, moment| {
                *turns += usize::from(moment.speaker == Speaker::User);
                Some(*turns)
            })
            .collect();
        let mut instead: HashMap<ItemNum, ItemNum> = HashMap::new();
        let mut before = None;
        let mut requests = Requests::default();
        for (call, request) in sent.iter().enumerate() {
            let at = self.session.calls[call].at;
            if is_paused(before, at) {
                let shown = Shown { folds: &folds, turns: &turns, call, request };
                for item in request {
                    if !instead.contains_key(item)
                        && let Some(text) = shown.shorter(&self.session, *item, leaves)
                    {
                        instead.insert(*item, self.session.items.instead(*item, &text));
                    }
                }
            }
            before = at.or(before);
            requests.begin();
            requests.replace(request.iter().map(|item| *instead.get(item).unwrap_or(item)));
        }
        requests
    }
}

/// A request after a pause.
struct Shown<'a> {
    folds: &'a Folds,
    /// The number of the turn of each message.
    turns: &'a [usize],
    call: usize,
    request: &'a [ItemNum],
}

impl Shown<'_> {
    /// Returns what replaces an item, if something does.
    fn shorter(&self, session: &Session, item: ItemNum, leaves: AtPauses) -> Option<String> {
        let newest = *self.turns.get(session.calls[self.call].shown.last()?)?;
        if let Some(span) = self.folds.spans.get(&item) {
            let turn = self.turns.get(self.folds.messages[*span].start)?;
            let text = &session.items.get(item).text;
            let is_old = leaves.files.is_some_and(|turns| newest - turn >= turns);
            return is_old.then(|| without_files(text)).filter(|shorter| shorter != text);
        }
        let message = self.folds.message(item)?;
        if session.moments[message].speaker == Speaker::User {
            return None;
        }
        let piece = session.pieces[message].iter().find(|piece| piece.item == item)?;
        let text = &session.items.get(item).text;
        let tokens = estimate_tokens(text);
        let is_reply = self.folds.gone(self.request).iter().any(|gone| gone.contains(&message));
        let shorter = match (leaves.replies, leaves.outputs) {
            (Some(room), _) if is_reply && newest - self.turns[message] >= TURNS => {
                truncate_to_token_budget(text, room, CUT).into_owned()
            }
            (_, Some(calls)) if piece.kind == PieceKind::Result && !is_reply => {
                let made = session.calls[..self.call].iter().rev();
                let later = made.take_while(|call| call.message > message).count();
                let is_old = later >= calls && tokens >= LEAST;
                is_old.then(|| "out ".repeat(LINE + tokens / 100))?
            }
            _ => return None,
        };
        (estimate_tokens(&shorter) < tokens).then_some(shorter)
    }
}
