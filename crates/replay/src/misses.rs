//! Edits whose old text had left the requests of a way, and the last place of that text.

use std::collections::HashSet;

use crate::changes::needs;
use crate::item::ItemNum;
use crate::replay::Replay;
use crate::requests::Played;
use crate::session::{PieceKind, Session};
use crate::verbatim::Wanted;
use crate::ways::{Strategy, linear};

/// An edit whose old text had left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Miss {
    /// The number of the call of the model that made it, from 0.
    pub call: usize,
    /// The file.
    pub file: String,
    /// The texts that had left.
    pub texts: Vec<String>,
    /// The newest piece that held the last of them: its message, its kind and its item.
    pub held: Option<(usize, PieceKind, ItemNum)>,
}

impl Replay {
    /// Returns the edits whose old text had left the requests of a way, in order.
    pub fn misses(&self, way: Strategy) -> Vec<Miss> {
        let session = &self.session;
        let Some((_, sent)) = self.sent.iter().find(|(it, _)| *it == way) else {
            return Vec::new();
        };
        let mut played = Played::new(sent);
        let mut misses = Vec::new();
        for (call, needs) in needs(session, &linear(session)).iter().enumerate() {
            played.next();
            let there: HashSet<ItemNum> = played.request.iter().copied().collect();
            let is_sent = |(wanted, holders): &(Wanted, Vec<ItemNum>)| {
                let stands = |item: &ItemNum| wanted.stands_in(&session.items.get(*item).text);
                holders.iter().any(|item| there.contains(item)) || there.iter().any(stands)
            };
            for need in needs.iter().filter(|need| need.is_edit) {
                let gone: Vec<_> = need.texts.iter().filter(|text| !is_sent(text)).collect();
                let Some((_, holders)) = gone.last() else { continue };
                misses.push(Miss {
                    call,
                    file: need.file.clone(),
                    texts: gone.iter().map(|(wanted, _)| wanted.text()).collect(),
                    held: newest(session, holders),
                });
            }
        }
        misses
    }
}

fn newest(session: &Session, holders: &[ItemNum]) -> Option<(usize, PieceKind, ItemNum)> {
    let messages = session.pieces.iter().enumerate().rev();
    let mut pieces = messages.flat_map(|(at, pieces)| pieces.iter().rev().map(move |it| (at, it)));
    let (message, piece) = pieces.find(|(_, piece)| holders.contains(&piece.item))?;
    Some((message, piece.kind, piece.item))
}
