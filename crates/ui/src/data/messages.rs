//! Messages of a session, in the shape that all operations give them.

use serde::Deserialize;

/// A message.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Message {
    /// Its place in the list that it is a part of, from 0.
    pub(crate) place: u64,
    pub(crate) role: String,
    pub(crate) tokens: u64,
    pub(crate) at: Option<i64>,
    /// The handle of the frame whose work it is.
    pub(crate) frame: Option<String>,
    pub(crate) parts: Vec<Part>,
}

/// A part of a message.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Part {
    pub(crate) kind: String,
    /// Its author: `user`, `agent`, `host` or `callstack`.
    pub(crate) origin: String,
    pub(crate) text: Option<String>,
    pub(crate) tool: Option<String>,
    pub(crate) state: Option<String>,
    pub(crate) input: Option<String>,
    pub(crate) output: Option<String>,
    /// The kind of the output: that of the tool, or a `fold` or `mask` in its place.
    pub(crate) output_origin: Option<String>,
    /// The handle of the frame that a fold stands for.
    pub(crate) frame: Option<String>,
    /// Characters of the whole part.
    pub(crate) chars: u64,
    /// Whether less than the whole part is there.
    pub(crate) cut: bool,
}

/// A piece of a list of messages.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Piece {
    /// Messages of the whole list.
    pub(crate) total: u64,
    /// The place of the first message.
    pub(crate) from: u64,
    /// The place to go on with, if there is more.
    pub(crate) more: Option<u64>,
    pub(crate) messages: Vec<Message>,
}

/// Messages that are shown, from one place of the whole list to another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Paged {
    pub(crate) total: u64,
    pub(crate) messages: Vec<Message>,
    pub(crate) more: Option<u64>,
}

impl Paged {
    /// The place of the first message that is there.
    pub(crate) fn first(&self) -> u64 {
        self.messages.first().map_or(0, |message| message.place)
    }

    /// Adds a piece before or after the present messages, or in place of those from the piece's beginning on.
    pub(crate) fn put(&mut self, piece: Piece) {
        let Piece { total, from, more, messages } = piece;
        self.total = total;
        let end = messages.last().map_or(from, |message| message.place + 1);
        if !self.messages.is_empty() && end == self.first() && from < end {
            self.messages.splice(0..0, messages);
            return;
        }
        let first = self.first();
        let next = self.messages.last().map_or(0, |message| message.place + 1);
        if from < first || from > next {
            self.messages.clear();
        }
        self.messages.retain(|message| message.place < from);
        self.messages.extend(messages);
        self.more = more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(from: u64, to: u64, total: u64) -> Piece {
        let message = |place| Message { place, ..Message::default() };
        let more = (to < total).then_some(to);
        Piece { total, from, more, messages: (from..to).map(message).collect() }
    }

    fn places(paged: &Paged) -> Vec<u64> {
        paged.messages.iter().map(|message| message.place).collect()
    }

    #[test]
    fn pieces_come_after_before_and_in_place_of_one_another() {
        let mut paged = Paged::default();
        paged.put(piece(0, 3, 6));
        paged.put(piece(3, 6, 6));
        assert_eq!((places(&paged), paged.more), (vec![0, 1, 2, 3, 4, 5], None));
        // The last message grew, and another one came.
        paged.put(piece(5, 7, 7));
        assert_eq!((places(&paged), paged.total), (vec![0, 1, 2, 3, 4, 5, 6], 7));
        // The end of a long list, and what is before it.
        paged.put(piece(50, 53, 53));
        assert_eq!((paged.first(), paged.more), (50, None));
        paged.put(piece(47, 50, 53));
        assert_eq!((places(&paged), paged.more), ((47..53).collect(), None));
        paged.put(piece(0, 2, 53));
        assert_eq!((places(&paged), paged.more), (vec![0, 1], Some(2)));
        paged.put(piece(0, 0, 0));
        assert_eq!((places(&paged), paged.total), (vec![], 0));
    }
}
