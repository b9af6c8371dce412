//! Observation masking: a line in the place of each tool output but the newest.

use std::collections::HashMap;

use crate::figures::Requests;
use crate::item::ItemNum;
use crate::session::{Kind, Session};

use super::pieces;

/// Estimated tokens of the newest outputs, which stay.
pub const KEPT: u64 = 20_000;

/// What would have been sent.
pub fn requests(session: &mut Session) -> Requests {
    let mut masks: HashMap<ItemNum, ItemNum> = HashMap::new();
    for piece in session.pieces.iter().flatten().filter(|piece| piece.kind == Kind::Result) {
        let item = session.items.get(piece.item);
        let (id, line) =
            (item.id.clone(), format!("(output of {} tokens left out)", item.estimated));
        masks.insert(piece.item, session.items.ours(&id, &line));
    }
    let mut all = Vec::with_capacity(session.calls.len());
    for call in &session.calls {
        let mut newest = 0;
        let mut request: Vec<ItemNum> = pieces(session, call)
            .rev()
            .map(|(_, piece)| {
                if piece.kind == Kind::Result {
                    newest += session.items.get(piece.item).estimated;
                }
                match masks.get(&piece.item) {
                    Some(mask) if newest > KEPT => shorter(session, piece.item, *mask),
                    _ => piece.item,
                }
            })
            .collect();
        request.reverse();
        all.push(request);
    }
    all
}

fn shorter(session: &Session, whole: ItemNum, mask: ItemNum) -> ItemNum {
    let tokens = |item| session.items.get(item).estimated;
    if tokens(mask) < tokens(whole) { mask } else { whole }
}
