//! Observation masking: a line in the place of each tool output but the newest.

use std::collections::VecDeque;

use crate::item::ItemNum;
use crate::requests::Requests;
use crate::sent_messages::SentMessages;
use crate::session::{PieceKind, Session};

use super::items;

/// Estimated tokens of the newest outputs, which stay.
pub const KEPT: u64 = 20_000;

/// Returns the requests.
pub fn requests(session: &mut Session) -> Requests {
    let mut all = Requests::default();
    let mut before = SentMessages::default();
    // Outputs that stay: their places, and the sum of their tokens.
    let mut newest: VecDeque<(usize, ItemNum)> = VecDeque::new();
    let (mut tokens, mut len) = (0, 0);
    for call in 0..session.calls.len() {
        let shown = session.calls[call].shown.clone();
        all.begin();
        if !shown.starts_with(&before) {
            (tokens, len) = (0, 0);
            newest.clear();
            all.replace([]);
            before = SentMessages::default();
        }
        for piece in shown.from(before.len()).flat_map(|at| &session.pieces[at]) {
            if piece.kind == PieceKind::Result {
                newest.push_back((len, piece.item));
                tokens += session.items.get(piece.item).estimated;
            }
            len += 1;
        }
        all.append(items(session, shown.from(before.len())));
        while tokens > KEPT
            && let Some((at, output)) = newest.pop_front()
        {
            tokens -= session.items.get(output).estimated;
            if let Some(line) = shorter(session, output) {
                all.splice(at, 1, [line]);
            }
        }
        before = shown;
    }
    all
}

/// Returns the line that replaces an output, if it is shorter.
fn shorter(session: &mut Session, output: ItemNum) -> Option<ItemNum> {
    let estimated = session.items.get(output).estimated;
    let line = format!("(output of {estimated} tokens left out)");
    let line = session.items.instead(output, &line);
    (session.items.get(line).estimated < estimated).then_some(line)
}
