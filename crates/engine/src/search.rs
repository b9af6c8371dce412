//! Search over all that is kept: what frames are for and returned, and every message.

use std::collections::BTreeSet;
use std::path::Path;

use callstack_core::frame::{Frame, FrameNum, Status};
use callstack_core::search::{Match, Query};
use callstack_core::secrets::{mask, mask_value};
use callstack_store::{IndexedMessage, MessagePlace, Store, StoreError, View, said_of};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::engine::Engine;
use crate::error::EngineError;

/// Bytes of messages that are indexed in one transaction: others that write wait for its end.
const STEP: usize = 128 * 1024;
/// Steps that a search makes to catch up before it answers.
const STEPS: usize = 16;
/// Frames that are looked at, the newest first.
const FRAMES: usize = 200;
/// Messages that are taken from the index at a time.
const PAGE: usize = 16;
/// For each place that is asked for, so many are found and ranked.
const POOL: usize = 2;
/// Bytes of messages that are looked at for words. What is so common that more would be needed is found
/// among the newest ones.
const EXAMINED: usize = 4 * 1024 * 1024;
/// Bytes of messages that are looked at one by one for a string that the index does not know, while an
/// agent waits.
const SCANNED: usize = 32 * 1024 * 1024;
/// How much more a frame's own words count than a message in which the same words stand.
const FRAME_WEIGHT: f64 = 3.0;

/// What is looked for, and how.
#[derive(Clone, Debug)]
pub struct SearchRequest {
    /// Words, all of which have to be there, and "quoted strings"; or one exact string.
    pub text: String,
    /// Whether the text is one string, to be found as it stands, in its case.
    pub exact: bool,
    /// Only in this frame and what lies below it.
    pub frame: Option<FrameNum>,
    /// How many places are wanted.
    pub limit: usize,
    /// Whether to look through everything for a string that the index does not know, however long
    /// that takes.
    pub thorough: bool,
    /// Whether secrets are shown and found; else they are masked, and nothing in them is found.
    pub reveal: bool,
}

/// What was found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SearchAnswer {
    /// The best places, the best first.
    pub places: Vec<Place>,
    /// Whether there may be more than these.
    pub more: bool,
    /// Whether something was stored so lately that it could not be looked at yet.
    pub behind: bool,
}

/// A place that holds what was looked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Place {
    /// The frame that it is in; none for a message from before the first frame.
    pub frame: Option<FrameFound>,
    /// The message, unless it is what is said of the frame itself.
    pub message: Option<MessageFound>,
    /// What stands there, in one line.
    pub snippet: String,
    /// Where in the snippet the words are; beginnings and ends in bytes.
    pub marks: Vec<[usize; 2]>,
    /// The higher, the better.
    pub score: f64,
}

/// The frame that a place is in.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FrameFound {
    /// Its handle, such as `f12`.
    pub handle: String,
    /// The specification's id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Where it stands.
    pub status: Status,
}

impl From<Frame> for FrameFound {
    fn from(frame: Frame) -> Self {
        Self {
            handle: frame.num.to_string(),
            id: frame.id,
            title: mask(&frame.identity.title).into_owned(),
            status: frame.status,
        }
    }
}

/// A message that holds what was looked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MessageFound {
    /// Its session.
    pub session: String,
    /// The host's id of it.
    pub id: String,
    /// Who wrote it, as the host says.
    pub role: String,
    /// Its place in its frame's log, from 1; 0 without a frame.
    pub position: u64,
    /// Whether it has been changed since, and this is an older version.
    pub version: u64,
}

/// Lets search see everything that is stored. `more_urgent` is asked in between whether to stop.
pub(crate) fn index(store: &Store, more_urgent: impl Fn() -> bool) -> Result<(), StoreError> {
    let is_behind = || store.read(|view| -> Result<bool, StoreError> { view.is_behind() });
    while is_behind()? && !more_urgent() {
        store.write(|change| change.index(STEP, &searchable))?;
    }
    Ok(())
}

impl Engine {
    /// Finds places that hold what is looked for.
    pub fn search(&self, request: &SearchRequest) -> Result<SearchAnswer, EngineError> {
        let query = if request.exact {
            Query::exact(&request.text)
        } else {
            Query::words(&relative(&self.project, &request.text))
        };
        let query = query.ok_or_else(|| {
            EngineError::invalid(
                "there is nothing to search for",
                "Give words, a \"quoted string\", an identifier or a file's path.",
            )
        })?;
        if !self.store.is_read_only() {
            let steps = std::cell::Cell::new(0);
            index(&self.store, || steps.replace(steps.get() + 1) >= STEPS)?;
        }
        self.store.read(|view| Search { view, query: &query, request }.answer())
    }
}

struct Search<'s> {
    view: &'s View<'s>,
    query: &'s Query,
    request: &'s SearchRequest,
}

impl Search<'_> {
    fn answer(&self) -> Result<SearchAnswer, EngineError> {
        let mut places = self.frames()?;
        let terms = self.query.terms();
        let mut messages = Vec::new();
        let mut more = !terms.is_empty() && self.collect(&terms, EXAMINED, &mut messages)?;
        // A string that begins or ends within a word is not known by its terms.
        if self.request.exact && messages.len() < self.request.limit {
            let most = if self.request.thorough { usize::MAX } else { SCANNED };
            messages.clear();
            more = self.collect(&BTreeSet::new(), most, &mut messages)?;
        }
        places.extend(messages);
        places.sort_by(|a, b| b.score.total_cmp(&a.score));
        more |= places.len() > self.request.limit;
        places.truncate(self.request.limit);
        Ok(SearchAnswer { places, more, behind: self.view.is_behind()? })
    }

    fn frames(&self) -> Result<Vec<Place>, EngineError> {
        let terms = self.query.terms();
        let mut places = Vec::new();
        if terms.is_empty() {
            return Ok(places);
        }
        for num in self.view.frames_known_by(&terms, FRAMES)? {
            let frame = self.view.frame(num)?;
            let said = said_of(&frame);
            let said = if self.request.reveal { said.into() } else { mask(&said) };
            let Some(found) = self.query.find(&said) else { continue };
            if frame.detached || !self.is_wanted(Some(num))? {
                continue;
            }
            let in_title = self.query.find(&frame.identity.title).is_some();
            let weight = if in_title { 2.0 * FRAME_WEIGHT } else { FRAME_WEIGHT };
            places.push(place(Some(frame), None, found, weight));
        }
        Ok(places)
    }

    /// Takes messages, the newest first, until enough of them hold what is wanted; returns whether
    /// there may be more.
    fn collect(
        &self,
        terms: &BTreeSet<String>,
        mut most: usize,
        places: &mut Vec<Place>,
    ) -> Result<bool, EngineError> {
        let mut before = i64::MAX;
        loop {
            let page = self.view.messages_known_by(terms, before, PAGE)?;
            let ended = page.len() < PAGE;
            for message in page {
                if places.len() >= self.request.limit.saturating_mul(POOL) || most == 0 {
                    return Ok(true);
                }
                before = message.num;
                most = most.saturating_sub(message.message.json.len());
                self.look_at(&message, places)?;
            }
            if ended {
                return Ok(false);
            }
        }
    }

    fn look_at(&self, found: &IndexedMessage, places: &mut Vec<Place>) -> Result<(), EngineError> {
        let message = &found.message;
        let Some(matched) = find(self.query, &message.json, self.request.reveal) else {
            return Ok(());
        };
        let place_in_tree = self.view.message_place(&found.session, message.seq)?;
        if !self.is_wanted(place_in_tree.map(|place| place.frame))? {
            return Ok(());
        }
        let (frame, position) = match place_in_tree {
            Some(MessagePlace { frame, position }) => (Some(self.view.frame(frame)?), position),
            None => (None, 0),
        };
        let role = serde_json::from_str::<Value>(&message.json)
            .ok()
            .and_then(|json| json["info"]["role"].as_str().map(str::to_owned));
        let message = MessageFound {
            session: found.session.clone(),
            id: message.id.clone(),
            role: role.unwrap_or_else(|| "message".to_owned()),
            position,
            version: message.version,
        };
        places.push(place(frame, Some(message), matched, 1.0));
        Ok(())
    }

    fn is_wanted(&self, frame: Option<FrameNum>) -> Result<bool, EngineError> {
        let Some(wanted) = self.request.frame else { return Ok(true) };
        let Some(frame) = frame else { return Ok(false) };
        Ok(frame == wanted
            || self.view.ancestors(frame)?.iter().any(|ancestor| ancestor.num == wanted))
    }
}

fn place(frame: Option<Frame>, message: Option<MessageFound>, found: Match, weight: f64) -> Place {
    let Match { score, snippet, marks } = found;
    let marks = marks.into_iter().map(|mark| [mark.start, mark.end]).collect();
    Place { frame: frame.map(FrameFound::from), message, snippet, marks, score: score * weight }
}

/// Where a message holds what is looked for. Secrets are masked, unless they are to be revealed, which
/// is only worth its cost where there is something to show.
pub(crate) fn find(query: &Query, json: &str, reveal: bool) -> Option<Match> {
    let matched = query.find(&searchable(json))?;
    if reveal {
        return Some(matched);
    }
    let Ok(mut message) = serde_json::from_str::<Value>(json) else {
        return query.find(&mask(json));
    };
    if mask_value(&mut message) { query.find(&content(&message)) } else { Some(matched) }
}

/// Everything in a message that somebody may look for: all of its texts but ids and what only the host
/// understands.
pub(crate) fn searchable(json: &str) -> String {
    serde_json::from_str(json).map_or_else(|_| json.to_owned(), |message| content(&message))
}

fn content(message: &Value) -> String {
    let mut text = String::new();
    let content = if message["parts"].is_array() { &message["parts"] } else { message };
    gather(content, &mut text);
    text
}

const MEANINGLESS: [&str; 9] =
    ["id", "sessionID", "messageID", "callID", "type", "status", "snapshot", "hash", "cost"];

fn gather(value: &Value, text: &mut String) {
    let mut line = |words: &str| {
        text.push_str(words);
        text.push('\n');
    };
    match value {
        Value::String(words) => line(words),
        Value::Number(number) => line(&number.to_string()),
        Value::Array(values) => values.iter().for_each(|value| gather(value, text)),
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| !MEANINGLESS.contains(&name.as_str()))
            .for_each(|(_, value)| gather(value, text)),
        Value::Null | Value::Bool(_) => {}
    }
}

/// Files of the project are named relative to it in what is kept.
fn relative(project: &Path, text: &str) -> String {
    let prefix = format!("{}/", project.display());
    text.split(' ')
        .map(|word| word.strip_prefix(&prefix).unwrap_or(word))
        .collect::<Vec<_>>()
        .join(" ")
}
