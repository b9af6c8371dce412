//! A sliding window: the user's first message, and the newest messages.

use callstack_core::transcript::Role;

use crate::figures::Requests;
use crate::item::ItemNum;
use crate::session::{Call, Session};

/// Estimated tokens of the newest messages; a message is sent whole or not at all.
pub const WIDTH: u64 = 40_000;

/// What would have been sent.
pub fn requests(session: &Session) -> Requests {
    let weight = |at: usize| {
        let pieces = session.pieces[at].iter();
        pieces.map(|piece| session.items.get(piece.item).estimated).sum::<u64>()
    };
    let weights: Vec<u64> = (0..session.pieces.len()).map(weight).collect();
    let request = |call| {
        let call: &Call = call;
        let mut width = 0;
        let newest = call.shown.iter().rev().enumerate().take_while(|(place, at)| {
            width += weights[**at];
            *place == 0 || width <= WIDTH
        });
        let from = call.shown.len() - newest.count();
        let is_user = |at: &&usize| session.transcript[**at].role == Role::User;
        let first = call.shown[..from].iter().find(is_user);
        let stays = first.into_iter().chain(&call.shown[from..]);
        stays.flat_map(|at| session.pieces[*at].iter().map(|piece| piece.item)).collect()
    };
    session.calls.iter().map(request).collect::<Vec<Vec<ItemNum>>>()
}
