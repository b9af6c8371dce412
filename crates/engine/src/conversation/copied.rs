//! The copies of another session's messages that a session begins with. They have ids of their own and the same
//! content.

mod alignment;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use alignment::{Copy, align};
use callstack_core::transcript::{MessageKind, newest_summary};
use callstack_store::View;
use serde_json::Value;

use super::HostMessage;
use crate::error::EngineError;

/// The fields in which a copy differs.
const OWN: &[&str] = &["id", "messageID", "parentID", "sessionID", "tail_start_id"];

/// A session that another one was copied from.
#[derive(Clone, Debug)]
pub(super) struct Copied {
    /// The session.
    pub(super) session: String,
    /// The places of its messages, by first appearance.
    places: HashMap<String, usize>,
    /// The fork's messages in order, each with the place of its original.
    copies: Vec<(String, Option<usize>)>,
    /// The place of the summary that the fork begins with, and its id.
    summary: Option<(usize, String)>,
    /// The number of copies that were recognized by their content.
    pub(super) alike: usize,
}

impl Copied {
    /// Compares the messages of a session with those that another one shows.
    pub(super) fn of_session(
        view: &View<'_>,
        session: String,
        shown: &[HostMessage],
        likenesses: &[Option<u64>],
    ) -> Result<Self, EngineError> {
        let mut places = HashMap::new();
        let (mut ids, mut originals) = (Vec::new(), Vec::new());
        for message in view.latest_between(&session, None, None, u32::MAX)? {
            originals.push(likeness(&message.json));
            places.insert(message.id.clone(), ids.len());
            ids.push(message.id);
        }
        let copies = shown.iter().zip(likenesses).map(|(shown, likeness)| Copy {
            likeness: *likeness,
            is_summary: shown.message.standing == MessageKind::Summary,
        });
        let mut found = align(&copies.collect::<Vec<_>>(), &originals);
        let alike = found.iter().flatten().count();
        if alike == 0 {
            found = (0..shown.len()).map(|at| Some(at).filter(|at| *at < ids.len())).collect();
        }
        let newest = newest_summary(shown.iter().map(|it| &it.message));
        let summary = newest.and_then(|at| found[at]).map(|place| (place, ids[place].clone()));
        let shown = shown.iter().map(|shown| shown.message.id.clone());
        Ok(Self { session, places, copies: shown.zip(found).collect(), summary, alike })
    }

    /// The copy of a message.
    pub(super) fn of(&self, original: &str) -> Option<&str> {
        let place = Some(*self.places.get(original)?);
        self.copies.iter().find(|(_, of)| *of == place).map(|(copy, _)| copy.as_str())
    }

    /// Returns the copy of a message or, where it was not copied, the last copy of an earlier one.
    pub(super) fn up_to(&self, original: &str) -> Option<&str> {
        let place = *self.places.get(original)?;
        let before = |of: &Option<usize>| of.is_some_and(|of| of <= place);
        self.copies.iter().rfind(|(_, of)| before(of)).map(|(copy, _)| copy.as_str())
    }

    /// Returns the last copy of a message from before the summary.
    pub(super) fn kept_after_summary(&self) -> Option<&str> {
        let (summary, _) = self.summary.as_ref()?;
        let before = |of: &Option<usize>| of.is_some_and(|of| of < *summary);
        self.copies.iter().rfind(|(_, of)| before(of)).map(|(copy, _)| copy.as_str())
    }

    /// The summary that the fork begins with, as it is called in the original.
    pub(super) fn summary(&self) -> Option<&str> {
        self.summary.as_ref().map(|(_, id)| id.as_str())
    }

    /// The steps that the original never showed: nothing is known of the requests for them.
    pub(super) fn not_copied(&self, shown: &[HostMessage]) -> Vec<String> {
        let copies = shown.iter().zip(&self.copies);
        let own = copies.filter(|(shown, (_, of))| of.is_none() && shown.message.is_step());
        own.map(|(shown, _)| shown.message.id.clone()).collect()
    }

    /// Whether a place was hidden by the summary, or by one that the original itself was forked with.
    pub(super) fn hides_opening(&self, original: &str) -> bool {
        self.hides(original) || (self.summary.is_some() && !self.places.contains_key(original))
    }

    /// Whether a message was hidden by the summary.
    pub(super) fn hides(&self, original: &str) -> bool {
        let place = self.places.get(original).copied();
        let summary = self.summary.as_ref().map(|(place, _)| *place);
        place.is_some() && place < summary && self.of(original).is_none()
    }
}

/// Returns a hash of a message's content, the same for its copies.
pub(super) fn likeness(json: &str) -> Option<u64> {
    let mut message: Value = serde_json::from_str(json).ok()?;
    forget_own(&mut message);
    let mut hasher = DefaultHasher::new();
    message.to_string().hash(&mut hasher);
    Some(hasher.finish())
}

fn forget_own(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !OWN.contains(&name.as_str()));
            fields.values_mut().for_each(forget_own);
        }
        Value::Array(values) => values.iter_mut().for_each(forget_own),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
