//! The state of a session that is kept for the next process that follows it, beside the texts that its model was
//! sent.

use serde::{Deserialize, Serialize};

use crate::rendered_slot::RenderedSlot;
use crate::subagent::Trouble;

/// One part of what is kept of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum SessionState {
    /// The mode in which the session last went on, once a text of ours was sent in it.
    FrameMode {
        /// Whether frame mode was on.
        on: bool,
    },
    /// The ratio of the provider's tokens to estimated ones.
    TokensPerEstimate {
        /// Real tokens for 100 estimated ones.
        percent: u32,
    },
    /// The most tokens that the session's model takes.
    ModelLimit {
        /// The provider's tokens.
        tokens: u64,
    },
    /// The messages that the host has undone and does not show any more.
    Undone {
        /// The host's ids of them, in the order in which they first appeared.
        messages: Vec<String>,
    },
    /// Reasoning that must not be sent again, since it was written after another prefix.
    Stale {
        /// The extent of it.
        reach: StaleReach,
        /// The host's id of the message.
        message: String,
    },
    /// The failure that broke the last turn off.
    BrokenTurn(BrokenTurn),
}

/// The extent of stale reasoning, seen from a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StaleReach {
    /// All up to the message.
    Until,
    /// The message alone.
    Step,
    /// Every step that was first shown together with the message, which is a summary. It is marked already.
    Summary,
}

impl StaleReach {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Until, Self::Step, Self::Summary];

    /// The reach as it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Until => "until",
            Self::Step => "step",
            Self::Summary => "summary",
        }
    }
}

/// Why a turn of an agent ended before its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Whether somebody stopped it.
    pub stopped: bool,
    /// The host's message.
    pub message: String,
}

/// The failure that broke the last turn off, until it is handled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokenTurn {
    /// For a compaction that was waited for.
    pub failure: Option<Failure>,
    /// For the frames of a child session.
    pub trouble: Option<Trouble>,
}

impl SessionState {
    /// The state in [`Event::Rendered`](crate::event::Event::Rendered), in which stores of schemas up to 6 have it.
    /// None for a text that was sent.
    pub fn of_slot(slot: &RenderedSlot, text: &str) -> Option<Self> {
        let RenderedSlot::Other(slot) = slot else { return None };
        match slot.as_str() {
            "mode" => Some(Self::FrameMode { on: text == "on" }),
            "calibration" => {
                let factor: f64 = text.parse().ok()?;
                // Factors are quarters between 0 and 3.
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a cast from a float saturates"
                )]
                let percent = (factor * 100.0).round() as u32;
                Some(Self::TokensPerEstimate { percent })
            }
            "broken" => Some(Self::BrokenTurn(serde_json::from_str(text).unwrap_or_default())),
            slot => {
                let (reach, message) = slot.strip_prefix("stale:")?.split_once(':')?;
                let reach = StaleReach::ALL.into_iter().find(|it| it.as_str() == reach)?;
                Some(Self::Stale { reach, message: message.to_owned() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rendered_slot::RenderedText;

    #[test]
    fn states_of_older_stores_are_distinguished_from_texts() {
        let broken = r#"{"failure":{"stopped":true,"message":"m"},"trouble":null}"#;
        let failure = Some(Failure { stopped: true, message: "m".to_owned() });
        for (slot, text, expected) in [
            ("mode", "off", SessionState::FrameMode { on: false }),
            ("calibration", "1.25", SessionState::TokensPerEstimate { percent: 125 }),
            ("broken", broken, SessionState::BrokenTurn(BrokenTurn { failure, trouble: None })),
            (
                "stale:step:msg:1",
                "",
                SessionState::Stale { reach: StaleReach::Step, message: "msg:1".to_owned() },
            ),
        ] {
            assert_eq!(SessionState::of_slot(&slot.into(), text), Some(expected), "{slot}");
            assert_eq!(RenderedSlot::from(slot).kind(), None, "{slot}");
        }
        for (slot, kind) in [
            ("system:start", RenderedText::System),
            ("note:append:msg-1|context", RenderedText::Note),
            ("outside:7.0 f2", RenderedText::Outside),
        ] {
            assert_eq!(SessionState::of_slot(&slot.into(), "mode"), None, "{slot}");
            assert_eq!(RenderedSlot::from(slot).kind(), Some(kind));
        }
    }
}
