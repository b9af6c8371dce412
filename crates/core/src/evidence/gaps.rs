//! The parts of a span that can't be read again, so that no text promises more.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Messages of a span that are not all there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Gaps {
    /// How many messages can be read only in part or not at all, and are kept as the bytes that came.
    #[serde(skip_serializing_if = "is_zero")]
    pub unreadable: u64,
    /// Whether there are some that were not stored when the span ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Gaps {
    /// Whether everything is there.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Those of two spans.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            unreadable: self.unreadable + other.unreadable,
            missing: self.missing || other.missing,
        }
    }

    /// Returns a sentence that names the parts that can't be read again; none where there are none.
    pub fn sentence(&self) -> Option<String> {
        let messages = match self.unreadable {
            0 => None,
            1 => Some(
                "one message of it can't be read and is kept as the bytes that came".to_owned(),
            ),
            count => Some(format!(
                "{count} messages of it can't be read and are kept as the bytes that came"
            )),
        };
        let missing = self
            .missing
            .then(|| "some of its last messages were not stored when it ended".to_owned());
        let parts: Vec<_> = [missing, messages].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}
