//! The content of the messages that are sent, kept from call to call: in a session of thousands of calls, each one
//! changes little of it.

use std::collections::HashMap;

use callstack_core::fold::{SentMessage, SentPart, sent};
use callstack_core::framing::Speaker;
use callstack_core::masking::subject::{self, replaced};
use callstack_core::masking::{Batch, LINE, Limits, Output, Request, due};
use callstack_core::transcript::{FoldOp, Message, PartBody, Role};

use super::refold::Reach;
use crate::item::{ItemNum, Items};
use crate::session::{Piece, PieceKind, Session};

/// A piece that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// The piece, or its replacement.
    pub piece: Piece,
    /// Its message, by its place among those that are shown.
    pub place: usize,
    /// Whether it is as it was recorded.
    pub is_whole: bool,
}

/// The pieces of messages; none of a message that is not sent.
type Pieces = Vec<Option<Vec<Piece>>>;

#[derive(Debug)]
pub(super) struct Sent {
    /// The messages that are shown, as the host would show them.
    pub transcript: Vec<Message>,
    /// Their numbers among all.
    pub shown: Vec<usize>,
    /// Their places by these numbers.
    places: HashMap<usize, usize>,
    /// The places of those in which the user speaks.
    pub users: Vec<usize>,
    /// Calls of the model among them, and those since the last message of another.
    pub calls: usize,
    pub since_the_user: usize,
    slots: Vec<Slot>,
    /// The first slot of each message.
    starts: Vec<usize>,
    /// Estimated tokens before each slot, and of all.
    sums: Vec<usize>,
    /// The slots of unmasked results, and the places of the large ones among them.
    outputs: Vec<usize>,
    large: Vec<usize>,
    least: usize,
    /// Messages of nothing but reasoning, by their places, and whether they are gone: if the reasoning is not sent
    /// again, neither is the message.
    hollow: Vec<(usize, bool)>,
    /// The items that were last sent.
    last: Vec<ItemNum>,
    last_tokens: usize,
    /// The number of slots that have not changed since.
    untouched: usize,
}

/// Outputs that are due to leave.
pub(super) struct Due {
    /// Their slots, and whether something newer replaced each.
    pub slots: Vec<(usize, bool)>,
    /// Whether it is announced first, and they leave at the next call.
    pub is_announced: bool,
}

/// The changes of a request against the one before: the first changed item, and the number of later ones that go.
pub(super) struct Changed {
    pub(super) at: usize,
    pub removed: Vec<ItemNum>,
    pub added: Vec<ItemNum>,
}

impl Sent {
    pub(super) fn new(limits: Option<&Limits>) -> Self {
        Self {
            transcript: Vec::new(),
            shown: Vec::new(),
            places: HashMap::new(),
            users: Vec::new(),
            calls: 0,
            since_the_user: 0,
            slots: Vec::new(),
            starts: Vec::new(),
            sums: vec![0],
            outputs: Vec::new(),
            large: Vec::new(),
            least: limits.map_or(usize::MAX, |limits| limits.least.max(LINE)),
            hollow: Vec::new(),
            last: Vec::new(),
            last_tokens: 0,
            untouched: 0,
        }
    }

    /// Shows nothing any more.
    pub(super) fn clear(&mut self) {
        self.cut(0, 0);
        self.transcript.clear();
        self.shown.clear();
        self.places.clear();
        self.users.clear();
        self.hollow.clear();
        (self.calls, self.since_the_user) = (0, 0);
    }

    /// Shows one more message, by its number, as it was recorded.
    pub(super) fn show(&mut self, session: &Session, number: usize) {
        let message = session.transcript[number].clone();
        let place = self.shown.len();
        if session.moments[number].speaker == Speaker::User {
            self.users.push(place);
        }
        if message.role == Role::Assistant {
            self.calls += 1;
            self.since_the_user += 1;
        } else {
            self.since_the_user = 0;
        }
        if is_hollow(&message) {
            self.hollow.push((place, false));
        }
        self.transcript.push(message);
        self.shown.push(number);
        self.places.insert(number, place);
        let whole = session.pieces[number].iter();
        let whole = whole.map(|piece| Slot { piece: *piece, place, is_whole: true });
        self.put(&session.items, place, whole);
    }

    /// The place at which a message is shown, by its number.
    pub(super) fn place(&self, number: usize) -> Option<usize> {
        self.places.get(&number).copied()
    }

    /// Returns the estimated tokens of the last request.
    pub(super) fn last_tokens(&self) -> usize {
        self.last_tokens
    }

    fn cut(&mut self, place: usize, slot: usize) {
        self.untouched = self.untouched.min(slot);
        self.slots.truncate(slot);
        self.starts.truncate(place);
        self.sums.truncate(slot + 1);
        self.outputs.truncate(self.outputs.partition_point(|output| *output < slot));
        let outputs = self.outputs.len();
        self.large.truncate(self.large.partition_point(|output| *output < outputs));
    }

    /// Adds a message's slots after all others.
    fn put(&mut self, items: &Items, place: usize, slots: impl Iterator<Item = Slot>) {
        self.starts.resize(place + 1, self.slots.len());
        for slot in slots {
            let tokens = usize::try_from(items.get(slot.piece.item).estimated).unwrap_or_default();
            if slot.piece.kind == PieceKind::Result && slot.is_whole {
                if tokens >= self.least {
                    self.large.push(self.outputs.len());
                }
                self.outputs.push(self.slots.len());
            }
            let before = self.sums.last().copied().unwrap_or_default();
            self.sums.push(before + tokens);
            self.slots.push(slot);
        }
    }

    /// Puts other pieces in the place of everything from a message on.
    fn replace(&mut self, items: &Items, from: usize, slots: &[Slot]) {
        let slot = self.starts.get(from).copied().unwrap_or(self.slots.len());
        self.cut(from, slot);
        let mut rest = slots;
        for place in from..self.shown.len() {
            let end = rest.iter().take_while(|slot| slot.place == place).count();
            let (these, after) = rest.split_at(end);
            self.put(items, place, these.iter().copied());
            rest = after;
        }
    }

    /// Sends the messages from a place on as they were recorded, except for these operations.
    pub(super) fn fold(&mut self, session: &mut Session, reach: Reach, ops: &[FoldOp]) {
        let mut pieces = self.folded(session, reach, ops);
        let first = self.hollow.partition_point(|(place, _)| *place < reach.from);
        for (place, gone) in &mut self.hollow[first..] {
            let pieces = &mut pieces[*place - reach.from];
            *gone |= pieces.is_none();
            if *gone {
                *pieces = None;
            }
        }
        let slots = self.slots_of(session, reach.from, &pieces);
        self.replace(&session.items, reach.from, &slots);
    }

    /// Whether the request is the same if everything is folded again with these operations.
    pub(super) fn is_folded_by(&self, session: &mut Session, ops: &[FoldOp]) -> bool {
        let pieces = self.folded(session, Reach { from: 0, window: 0 }, ops);
        self.slots_of(session, 0, &pieces) == self.slots
    }

    fn slots_of(&self, session: &Session, from: usize, pieces: &Pieces) -> Vec<Slot> {
        let all = (from..).zip(pieces);
        let all = all.flat_map(|(place, it)| it.iter().flatten().map(move |piece| (place, *piece)));
        let is_whole =
            |place: usize, piece: &Piece| session.pieces[self.shown[place]].contains(piece);
        all.map(|(place, piece)| Slot { piece, place, is_whole: is_whole(place, &piece) }).collect()
    }

    /// The pieces of the messages from a place on after these operations.
    fn folded(&self, session: &mut Session, reach: Reach, ops: &[FoldOp]) -> Pieces {
        let mut pieces: Pieces = vec![None; self.shown.len() - reach.from];
        for SentMessage { place, is_ours, parts } in sent(&self.transcript[reach.window..], ops) {
            let Some(at) = (reach.window + place).checked_sub(reach.from) else { continue };
            let sent = pieces[at].get_or_insert_default();
            for part in &parts {
                self.add_pieces(session, reach.window, place, part, sent);
            }
            debug_assert!(!is_ours || parts.len() == 1, "a message of ours has one text");
        }
        pieces
    }

    /// Adds the pieces of a part that is sent with the message at `place` in the window.
    fn add_pieces(
        &self,
        session: &mut Session,
        window: usize,
        place: usize,
        part: &SentPart,
        sent: &mut Vec<Piece>,
    ) {
        let pieces_of = |message: usize, part: usize| {
            let number = self.shown[window + message];
            session.pieces[number].iter().filter(move |piece| piece.part == part).copied()
        };
        match part {
            // A replay names no steps, so that nothing stands after an output.
            SentPart::Own { message, part, output, .. } => {
                let own: Vec<Piece> = pieces_of(*message, *part).collect();
                sent.extend(own.into_iter().map(|piece| match output {
                    Some(text) if piece.kind == PieceKind::Result => {
                        Piece { item: session.items.instead(piece.item, text), ..piece }
                    }
                    _ => piece,
                }));
            }
            SentPart::Ours { text, instead_of: Some((message, part)) } => {
                let own: Vec<Piece> = pieces_of(*message, *part).collect();
                sent.extend(
                    own.into_iter().map(|piece| Piece {
                        item: session.items.instead(piece.item, text),
                        ..piece
                    }),
                );
            }
            SentPart::Ours { text, instead_of: None } => {
                let message = &self.transcript[window + place].id;
                let item = session.items.ours(&format!("{message}/callstack"), text);
                sent.push(Piece { part: usize::MAX, kind: PieceKind::Words, item });
            }
        }
    }

    /// The slots of the outputs that are to be masked now, and whether something newer replaced each; `fill` returns
    /// how full the context is with so many estimated tokens, `frames` are the places where open frames begin.
    pub(super) fn due(
        &self,
        session: &Session,
        limits: &Limits,
        paused: bool,
        fill: impl FnOnce(usize) -> usize,
        frames: &[usize],
    ) -> Option<Due> {
        if self.large.is_empty() {
            return None;
        }
        let around = |at: usize| frames.iter().copied().filter(|open| *open <= at).max();
        let shown = |slot: &usize| {
            let Slot { piece, place, .. } = self.slots[*slot];
            let subject = session.subject(self.shown[place], piece.part);
            subject::OutputSubject { subject, at: place, frame: around(place).unwrap_or_default() }
        };
        let shown: Vec<subject::OutputSubject> = self.outputs.iter().map(shown).collect();
        let are_replaced = replaced(&shown);
        let steps = |place: usize| {
            let later = self.transcript[place + 1..].iter();
            later.filter(|message| message.role == Role::Assistant).count()
        };
        let slots: Vec<usize> = self.large.iter().map(|output| self.outputs[*output]).collect();
        let outputs = self.large.iter().zip(&slots).map(|(output, slot)| Output {
            tokens: self.sums[*slot + 1] - self.sums[*slot],
            at: self.sums[*slot],
            steps_since: steps(self.slots[*slot].place),
            is_replaced: are_replaced[*output],
        });
        let outputs: Vec<Output> = outputs.collect();
        let tokens = self.sums[self.slots.len()];
        let request = Request {
            tokens,
            cached: if paused { 0 } else { self.sums[self.common()] },
            calls: self.calls,
            since_the_user: self.since_the_user,
            fill: Some(fill(tokens)),
        };
        let chosen = |places: &[usize]| {
            places.iter().map(|place| (slots[*place], outputs[*place].is_replaced)).collect()
        };
        Some(match due(&outputs, &request, limits)? {
            Batch::Replaced(places) => Due { slots: chosen(&places), is_announced: false },
            Batch::Pressed(places) => Due { slots: chosen(&places), is_announced: true },
        })
    }

    /// The slot with this number.
    pub(super) fn slot(&self, slot: usize) -> Slot {
        self.slots[slot]
    }

    /// Sends texts in the place of pieces, by their slots in order.
    pub(super) fn mask(&mut self, items: &mut Items, texts: &[(usize, String)]) {
        let Some((first, _)) = texts.first() else { return };
        let place = self.slots[*first].place;
        for (slot, text) in texts {
            let slot = &mut self.slots[*slot];
            slot.piece.item = items.instead(slot.piece.item, text);
            slot.is_whole = false;
        }
        // Later reasoning had another prefix.
        let first = self.hollow.partition_point(|(hollow, _)| *hollow <= place);
        self.hollow[first..].iter_mut().for_each(|(_, gone)| *gone = true);
        let is_gone = |slot: &Slot| {
            let found = self.hollow.binary_search_by_key(&slot.place, |(place, _)| *place);
            found.is_ok_and(|found| self.hollow[found].1)
        };
        let slots = self.slots[self.starts[place]..].iter().copied();
        let slots: Vec<Slot> = slots.filter(|slot| !is_gone(slot)).collect();
        self.replace(items, place, &slots);
    }

    /// Returns the number of items at the beginning that the request shares with the one before.
    fn common(&self) -> usize {
        let (last, slots) = (&self.last[self.untouched..], &self.slots[self.untouched..]);
        let both = last.iter().zip(slots);
        self.untouched + both.take_while(|(item, slot)| **item == slot.piece.item).count()
    }

    /// Sends it.
    pub(super) fn send(&mut self) -> Changed {
        let at = self.common();
        let removed = self.last.split_off(at);
        let added: Vec<ItemNum> = self.slots[at..].iter().map(|slot| slot.piece.item).collect();
        self.last.extend_from_slice(&added);
        self.last_tokens = self.sums[self.slots.len()];
        self.untouched = self.slots.len();
        Changed { at, removed, added }
    }
}

fn is_hollow(message: &Message) -> bool {
    let thinks = |body: &PartBody| matches!(body, PartBody::Reasoning { .. });
    let says = |body: &PartBody| match body {
        PartBody::Text { chars, .. } => *chars > 0,
        PartBody::Tool(_) | PartBody::File { .. } => true,
        PartBody::Reasoning { .. } | PartBody::Other => false,
    };
    let mut bodies = message.parts.iter().map(|part| &part.body);
    message.role == Role::Assistant && bodies.clone().any(thinks) && !bodies.any(says)
}
