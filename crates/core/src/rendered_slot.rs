//! The slots of texts that were sent to a model and are kept byte for byte: each names one text of its session. They
//! are stored as lines of text, which are taken apart and put together here alone.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::fold::Placement;
use crate::frame::FrameNum;
use crate::transcript::SpanNum;

/// The purpose of a text that was sent to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenderedText {
    /// A system prompt.
    System,
    /// A note.
    Note,
    /// A change that a person made from outside.
    Outside,
}

impl RenderedText {
    /// The beginning of the slots of such texts.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::System => "system:",
            Self::Note => "note:",
            Self::Outside => "outside:",
        }
    }
}

/// The slot of a text in its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RenderedSlot {
    /// The system prompt of a context, by the name of the context.
    System(String),
    /// A note in the conversation.
    Note(NoteSlot),
    /// A change that a person made from outside.
    Outside(OutsideSlot),
    /// Another slot, as it is stored: state of a session in stores of schemas up to 6, or the slot of another version.
    Other(String),
}

/// The place of a note, and what distinguishes it from other notes there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteSlot {
    /// Its placement at the message.
    pub placement: Placement,
    /// The id of the message that it stands at.
    pub message: String,
    /// The key that distinguishes it.
    pub key: NoteKey,
}

/// The key that distinguishes a note from others at its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoteKey {
    /// The announcement that outputs will leave.
    Leaving,
    /// The context of a frame that the session got after its system prompt.
    Context,
    /// The outcome of compactions.
    Compaction,
    /// The result of a delegation, by the delegation's span.
    Delegation(SpanNum),
    /// Changes that a person made from outside.
    Outside {
        /// The number of the newest event among them.
        until: i64,
        /// Whether they are repeated, since the first note left.
        again: bool,
    },
    /// A note about a message: a suggestion, or the name of steps.
    About {
        /// The suggestion, or the name.
        name: String,
        /// The id of the message: for steps, of their first one.
        message: String,
    },
    /// Another key, as it is stored.
    Other(String),
}

/// The slot of a change that a person made from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutsideSlot {
    /// The number of the newest event before the change.
    pub after: i64,
    /// The number of the text among those of the change.
    pub index: usize,
    /// The frame that was changed. None in stores of an earlier version.
    pub frame: Option<FrameNum>,
    /// Whether the change matters when the frame is over.
    pub outlasts: bool,
}

impl RenderedSlot {
    /// The purpose of the text. None where this version does not know it.
    pub const fn kind(&self) -> Option<RenderedText> {
        match self {
            Self::System(_) => Some(RenderedText::System),
            Self::Note(_) => Some(RenderedText::Note),
            Self::Outside(_) => Some(RenderedText::Outside),
            Self::Other(_) => None,
        }
    }

    /// Whether the text stands at a message, or is about it.
    pub fn names_message(&self, id: &str) -> bool {
        match self {
            Self::Note(NoteSlot { message, key, .. }) => {
                message == id || matches!(key, NoteKey::About { message, .. } if message == id)
            }
            Self::System(_) | Self::Outside(_) | Self::Other(_) => false,
        }
    }

    /// Takes a stored slot apart, without regard to whether it is written in the same way again.
    fn parsed(stored: &str) -> Option<Self> {
        let after = |kind: RenderedText| stored.strip_prefix(kind.prefix());
        if let Some(context) = after(RenderedText::System) {
            return Some(Self::System(context.to_owned()));
        }
        if let Some(note) = after(RenderedText::Note) {
            return NoteSlot::parsed(note).map(Self::Note);
        }
        after(RenderedText::Outside).and_then(OutsideSlot::parsed).map(Self::Outside)
    }
}

impl NoteSlot {
    fn parsed(stored: &str) -> Option<Self> {
        let (placement, place) = stored.split_once(':')?;
        let (message, key) = place.split_once('|')?;
        let (placement, key) = match placement {
            "append" => (Placement::Append, NoteKey::parsed(key)),
            "insert" => (Placement::Insert, NoteKey::parsed(key)),
            "output" => {
                let (call, key) = key.split_once('|')?;
                let key = match key.rsplit_once('|') {
                    Some((name, about)) => {
                        NoteKey::About { name: name.to_owned(), message: about.to_owned() }
                    }
                    None => NoteKey::Other(key.to_owned()),
                };
                (Placement::Output(call.to_owned()), key)
            }
            _ => return None,
        };
        Some(Self { placement, message: message.to_owned(), key })
    }
}

impl NoteKey {
    fn parsed(stored: &str) -> Self {
        let same = |key: &Self| key.to_string() == stored;
        Self::known(stored).filter(same).unwrap_or_else(|| Self::Other(stored.to_owned()))
    }

    fn known(stored: &str) -> Option<Self> {
        let outside =
            |until: &str, again| Some(Self::Outside { until: until.parse().ok()?, again });
        match stored {
            "leaving" => Some(Self::Leaving),
            "context" => Some(Self::Context),
            "compaction" => Some(Self::Compaction),
            _ => {
                if let Some(span) = stored.strip_prefix("errand") {
                    return Some(Self::Delegation(SpanNum(span.parse().ok()?)));
                }
                match stored.strip_prefix("again outside") {
                    Some(until) => outside(until, true),
                    None => outside(stored.strip_prefix("outside")?, false),
                }
            }
        }
    }
}

impl OutsideSlot {
    fn parsed(stored: &str) -> Option<Self> {
        let (place, outlasts) = match stored.strip_suffix(" outlasts") {
            Some(place) => (place, true),
            None => (stored, false),
        };
        let (number, frame) = match place.split_once(' ') {
            Some((number, frame)) => (number, Some(frame.parse().ok()?)),
            None => (place, None),
        };
        let (after, index) = number.split_once('.')?;
        Some(Self { after: after.parse().ok()?, index: index.parse().ok()?, frame, outlasts })
    }
}

/// Writes the slot as it is stored.
impl fmt::Display for RenderedSlot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(kind) = self.kind() {
            formatter.write_str(kind.prefix())?;
        }
        match self {
            Self::System(text) | Self::Other(text) => formatter.write_str(text),
            Self::Note(NoteSlot { placement, message, key }) => match placement {
                Placement::Append => write!(formatter, "append:{message}|{key}"),
                Placement::Insert => write!(formatter, "insert:{message}|{key}"),
                Placement::Output(call) => write!(formatter, "output:{message}|{call}|{key}"),
            },
            Self::Outside(OutsideSlot { after, index, frame, outlasts }) => {
                write!(formatter, "{after}.{index}")?;
                if let Some(frame) = frame {
                    write!(formatter, " {frame}")?;
                }
                formatter.write_str(if *outlasts { " outlasts" } else { "" })
            }
        }
    }
}

impl fmt::Display for NoteKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leaving => formatter.write_str("leaving"),
            Self::Context => formatter.write_str("context"),
            Self::Compaction => formatter.write_str("compaction"),
            Self::Delegation(span) => write!(formatter, "errand{}", span.0),
            Self::Outside { until, again: false } => write!(formatter, "outside{until}"),
            Self::Outside { until, again: true } => write!(formatter, "again outside{until}"),
            Self::About { name, message } => write!(formatter, "{name}|{message}"),
            Self::Other(text) => formatter.write_str(text),
        }
    }
}

impl From<&str> for RenderedSlot {
    /// Takes a stored slot apart. One that would be written differently is [`Self::Other`]: a slot is the key of a row
    /// and part of an event, and stays what it is byte for byte.
    fn from(stored: &str) -> Self {
        let same = |slot: &Self| slot.to_string() == stored;
        Self::parsed(stored).filter(same).unwrap_or_else(|| Self::Other(stored.to_owned()))
    }
}

impl Serialize for RenderedSlot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RenderedSlot {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from(String::deserialize(deserializer)?.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn note(placement: Placement, key: NoteKey) -> RenderedSlot {
        RenderedSlot::Note(NoteSlot { placement, message: "msg_1".to_owned(), key })
    }

    fn output(name: &str, message: &str) -> RenderedSlot {
        let key = NoteKey::About { name: name.to_owned(), message: message.to_owned() };
        note(Placement::Output("call_7".to_owned()), key)
    }

    fn outside(frame: Option<FrameNum>, outlasts: bool) -> RenderedSlot {
        RenderedSlot::Outside(OutsideSlot { after: 7, index: 0, frame, outlasts })
    }

    #[test]
    fn slots_are_stored_in_this_form() {
        for (slot, stored) in [
            (RenderedSlot::System("start".to_owned()), "system:start"),
            (note(Placement::Append, NoteKey::Leaving), "note:append:msg_1|leaving"),
            (note(Placement::Insert, NoteKey::Context), "note:insert:msg_1|context"),
            (note(Placement::Append, NoteKey::Compaction), "note:append:msg_1|compaction"),
            (note(Placement::Insert, NoteKey::Delegation(SpanNum(4))), "note:insert:msg_1|errand4"),
            (
                note(Placement::Append, NoteKey::Outside { until: 9, again: false }),
                "note:append:msg_1|outside9",
            ),
            (
                note(Placement::Append, NoteKey::Outside { until: 9, again: true }),
                "note:append:msg_1|again outside9",
            ),
            (output("suggestion 3", "msg_1"), "note:output:msg_1|call_7|suggestion 3|msg_1"),
            (output("s14", "msg_0"), "note:output:msg_1|call_7|s14|msg_0"),
            (output("s14 again", "msg_0"), "note:output:msg_1|call_7|s14 again|msg_0"),
            (
                note(Placement::Append, NoteKey::Other("reminder".to_owned())),
                "note:append:msg_1|reminder",
            ),
            (outside(None, false), "outside:7.0"),
            (outside(Some(FrameNum(2)), false), "outside:7.0 f2"),
            (outside(Some(FrameNum(2)), true), "outside:7.0 f2 outlasts"),
        ] {
            assert_eq!(slot.to_string(), stored);
            assert_eq!(RenderedSlot::from(stored), slot);
            assert_eq!(serde_json::to_value(&slot).unwrap(), stored);
            assert_eq!(serde_json::from_value::<RenderedSlot>(stored.into()).unwrap(), slot);
        }
    }

    #[test]
    fn slots_that_would_be_written_differently_stay_as_they_are() {
        for stored in [
            "",
            "mode",
            "stale:step:msg:1",
            "note:",
            "note:later",
            "note:beside:msg_1|leaving",
            "outside:7",
            "outside:07.0 f2",
            "outside:7.0 F2",
        ] {
            assert_eq!(RenderedSlot::from(stored), RenderedSlot::Other(stored.to_owned()));
        }
        let padded = note(Placement::Append, NoteKey::Other("outside09".to_owned()));
        assert_eq!(RenderedSlot::from("note:append:msg_1|outside09"), padded);
    }

    #[test]
    fn a_message_is_named_by_its_whole_id() {
        assert!(output("s14", "msg_0").names_message("msg_1"));
        assert!(output("s14", "msg_0").names_message("msg_0"));
        for other in ["msg_", "msg_12", "call_7", "s14", ""] {
            assert!(!output("s14", "msg_0").names_message(other), "{other}");
        }
        assert!(!RenderedSlot::from("system:msg_1").names_message("msg_1"));
    }

    proptest! {
        #[test]
        fn every_stored_slot_is_written_as_it_was_read(
            stored in "(system:|note:|outside:)?(append:|insert:|output:)?[a-z0-9:|. _]{0,24}",
        ) {
            prop_assert_eq!(RenderedSlot::from(stored.as_str()).to_string(), stored);
        }
    }
}
