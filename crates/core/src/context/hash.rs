//! A fingerprint of everything that a rendered context depends on but the time.

use super::ContextInput;
use crate::dialect::Dialect;
use crate::frame::Frame;
use crate::text::cap;

/// More of a text than this does not get into a context whose frame is unchanged otherwise
/// (`updated_at` and the text's length count too).
const HASHED_BYTES: usize = 4096;

/// Returns a fingerprint of the frames that a context shows: it changes with every change of one of them. Not
/// cryptographic, and only valid within one version of the program.
pub fn generate_state_hash(
    frame: &Frame,
    ancestors: &[Frame],
    siblings: &[Frame],
    planned_children: &[Frame],
) -> u64 {
    let mut hash = StateHash::default();
    hash.frame(frame);
    for list in [ancestors, siblings, planned_children] {
        hash.count(list.len());
        for frame in list {
            hash.frame(frame);
        }
    }
    hash.0
}

impl ContextInput<'_> {
    /// Returns the key of the rendered context in a [`super::ContextCache`]: the frames ([`generate_state_hash`]) and
    /// every option.
    pub fn state_hash(&self) -> u64 {
        let frames = (self.ancestors, self.siblings, self.planned_children);
        let mut hash = StateHash::default();
        hash.word(generate_state_hash(self.current, frames.0, frames.1, frames.2));
        if let Some(next) = self.next_sibling {
            hash.frame(next);
        }
        for planned in self.planned_siblings {
            hash.frame(planned);
        }
        hash.count(self.planned_siblings.len());
        hash.count(self.pins.len());
        for pin in self.pins {
            hash.word(pin.owner.0);
            hash.word(pin.pin.num);
            hash.text(&pin.pin.text);
        }
        hash.count(self.visible_above.len());
        for num in self.visible_above {
            hash.word(num.0);
        }
        hash.count(self.sibling_evidence.len());
        for (num, seen) in self.sibling_evidence {
            hash.word(num.0);
            hash.text(seen);
        }
        hash.count(self.stated.len());
        for (num, stated) in self.stated {
            hash.word(num.0);
            hash.word(*stated as u64);
        }
        let counts = self.sibling_counts;
        for count in [
            counts.planned,
            counts.in_progress,
            counts.completed,
            counts.failed,
            counts.blocked,
            counts.invalidated,
            self.planned_children_count,
            self.budget.total,
            self.budget.ancestors,
            self.budget.siblings,
            self.budget.current,
            self.budget.overhead,
        ] {
            hash.count(count);
        }
        hash.word(u64::from(self.min_relevance));
        hash.word(self.calibration.to_bits());
        hash.word(u64::from(self.new_session) << 1 | u64::from(self.parts.task_management));
        hash.word(u64::from(self.parts.metadata) << 1 | u64::from(self.dialect == Dialect::Flame));
        hash.word(u64::from(self.parts.current));
        hash.0
    }
}

#[derive(Default)]
struct StateHash(u64);

impl StateHash {
    fn word(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn count(&mut self, count: usize) {
        self.word(count as u64);
    }

    fn text(&mut self, text: &str) {
        self.count(text.len());
        for chunk in cap(text, HASHED_BYTES).as_bytes().chunks(8) {
            let mut word = [0; 8];
            for (to, from) in word.iter_mut().zip(chunk) {
                *to = *from;
            }
            self.word(u64::from_le_bytes(word));
        }
    }

    fn optional(&mut self, text: Option<&str>) {
        self.word(u64::from(text.is_some()));
        self.text(text.unwrap_or_default());
    }

    fn frame(&mut self, frame: &Frame) {
        self.word(frame.num.0);
        self.word(frame.parent.map_or(u64::MAX, |parent| parent.0));
        self.word(frame.status as u64);
        self.word(u64::from(frame.detached));
        self.word(frame.updated_at.cast_unsigned());
        self.word(frame.ended_at.unwrap_or_default().cast_unsigned());
        self.text(&frame.identity.title);
        self.text(&frame.identity.success_criteria);
        self.text(&frame.identity.success_criteria_compacted);
        self.optional(frame.results.as_deref());
        self.optional(frame.results_compacted.as_deref());
        self.count(frame.artifacts.len());
        for artifact in &frame.artifacts {
            self.text(&artifact.path);
        }
        self.count(frame.decisions.len());
        for decision in &frame.decisions {
            self.text(decision);
        }
    }
}

#[cfg(test)]
#[path = "hash_tests.rs"]
mod tests;
