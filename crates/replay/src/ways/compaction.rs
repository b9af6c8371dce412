//! Compaction as hosts do it: where a request would pass the model's limit, a summary replaces everything before it.
//!
//! There is no model that could write a summary. The agent's own newest words replace it, in the length of a summary.
//! Recorded compactions are part of every way of sending.

use callstack_core::text::{CUT, truncate_to_token_budget};
use callstack_core::transcript::Role;

use crate::calibration::Fit;
use crate::item::ItemNum;
use crate::requests::Requests;
use crate::sent_messages::SentMessages;
use crate::session::{Call, PieceKind, Session};

use super::{items, weight};

/// Tokens of a request at which a host compacts: the limit of common models, less the reserve of hosts for the
/// answer.
pub const LIMIT: u64 = 200_000 - 32_000;
/// Estimated tokens of a summary.
pub const SUMMARY: usize = 2_000;

/// Returns the requests.
pub fn requests(session: &mut Session, fit: &Fit) -> Requests {
    let mut all = Requests::default();
    let mut compacted: Option<Compacted> = None;
    let mut before = SentMessages::default();
    let mut estimated = 0;
    for call in 0..session.calls.len() {
        let Call { message, shown, .. } = &session.calls[call];
        let (message, shown) = (*message, shown.clone());
        all.begin();
        if shown.starts_with(&before) {
            let new = || shown.from(before.len());
            all.append(items(session, new()));
            estimated += new().map(|at| weight(session, at)).sum::<u64>();
        } else {
            // A recorded compaction begins a new context.
            compacted = compacted.filter(|made| shown.first() == Some(made.first));
            let request = after_compaction(session, &shown, compacted);
            estimated = weigh(session, &request);
            all.replace(request);
        }
        if fit.beside.saturating_add(fit.tokens(estimated)) > LIMIT {
            // The user's last message is not answered yet.
            let is_user = |at: &usize| session.transcript[*at].role == Role::User;
            let from = shown.last().filter(is_user).unwrap_or(message);
            let id = format!("{}/summary", session.transcript[from].id);
            let summary = summary(session, &shown, from);
            let summary = session.items.ours(&id, &summary);
            let first = shown.first().unwrap_or_default();
            compacted = Some(Compacted { first, from, summary });
            let request = after_compaction(session, &shown, compacted);
            estimated = weigh(session, &request);
            all.replace(request);
        }
        before = shown;
    }
    all
}

#[derive(Clone, Copy)]
struct Compacted {
    /// The first message of the history that it replaces.
    first: usize,
    /// The first message after it.
    from: usize,
    summary: ItemNum,
}

fn after_compaction(
    session: &Session,
    shown: &SentMessages,
    compacted: Option<Compacted>,
) -> Vec<ItemNum> {
    let from = compacted.map_or(0, |made| made.from);
    let kept = items(session, shown.iter().filter(|at| *at >= from));
    compacted.map(|made| made.summary).into_iter().chain(kept).collect()
}

fn weigh(session: &Session, request: &[ItemNum]) -> u64 {
    request.iter().map(|item| session.items.get(*item).estimated).sum()
}

/// The agent's newest words in some messages.
fn summary(session: &Session, shown: &SentMessages, to: usize) -> String {
    let mut texts = Vec::new();
    let mut room = SUMMARY;
    for at in shown.iter().rev().filter(|at| *at < to) {
        if session.transcript[at].role != Role::Assistant {
            continue;
        }
        for piece in session.pieces[at].iter().rev().filter(|piece| piece.kind == PieceKind::Words)
        {
            let item = session.items.get(piece.item);
            texts.push(truncate_to_token_budget(&item.text, room, CUT).into_owned());
            room = room.saturating_sub(usize::try_from(item.estimated).unwrap_or(room));
            if room == 0 {
                texts.reverse();
                return texts.join("\n\n");
            }
        }
    }
    texts.reverse();
    texts.join("\n\n")
}
