//! Search over all that is kept: what frames are for and returned, and every message.

mod texts;

use std::collections::BTreeMap;
use std::path::Path;

use callstack_core::frame::{Frame, FrameNum, Status};
use callstack_core::search::{Known, Match, Query};
use callstack_core::secrets::mask;
use callstack_store::{IndexedMessage, MessagePlace, Store, StoreError, View, said_of};
use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::error::EngineError;
use texts::{role, texts};

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
/// Bytes of messages that the index names and that are looked at while an agent waits. What stands in so
/// many that more would be needed is found among the newest ones.
const EXAMINED: usize = 512 * 1024;
/// The same while a person waits.
const EXAMINED_THOROUGHLY: usize = 32 * 1024 * 1024;
/// Bytes of messages that are looked at one by one for a string of which the index knows nothing, while
/// an agent waits and nothing else was found.
const SCANNED: usize = 32 * 1024 * 1024;
/// How much more a frame's own words count than a message in which the same words stand.
const FRAME_WEIGHT: f64 = 3.0;
/// The same of what the machine saw: the messages that it is from say it too, and more.
const EVIDENCE_WEIGHT: f64 = 0.5;

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
    /// What holds it.
    pub kind: PlaceKind,
    /// The message, if it is in one.
    pub message: Option<MessageFound>,
    /// What stands there, in one line.
    pub snippet: String,
    /// Where in the snippet the words are; beginnings and ends in bytes.
    pub marks: Vec<[usize; 2]>,
    /// The higher, the better.
    pub score: f64,
}

/// What holds what was looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlaceKind {
    /// What is said of a frame: its title, criteria, results, decisions, pins, files.
    Frame,
    /// What the machine saw of the work in a frame.
    Evidence,
    /// A message.
    Message,
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
        self.store
            .read(|view| Search { view, query: &query, request, seen: BTreeMap::new() }.answer())
    }
}

struct Search<'s> {
    view: &'s View<'s>,
    query: &'s Query,
    request: &'s SearchRequest,
    /// Frames in which something was found.
    seen: BTreeMap<FrameNum, FrameFound>,
}

impl Search<'_> {
    fn answer(mut self) -> Result<SearchAnswer, EngineError> {
        let mut places = self.frames()?;
        let (messages, mut more) = self.messages()?;
        places.extend(messages);
        places.sort_by(|a, b| b.score.total_cmp(&a.score));
        more |= places.len() > self.request.limit;
        places.truncate(self.request.limit);
        Ok(SearchAnswer { places, more, behind: self.view.is_behind()? })
    }

    fn frames(&mut self) -> Result<Vec<Place>, EngineError> {
        let terms = self.query.terms();
        let mut places = Vec::new();
        if terms.is_empty() {
            return Ok(places);
        }
        for num in self.view.frames_known_by(&terms, FRAMES)? {
            if places.len() >= self.request.limit.saturating_mul(POOL) {
                break;
            }
            let frame = self.view.frame(num)?;
            if frame.detached || !self.is_wanted(Some(num))? {
                continue;
            }
            let said = said_of(&frame);
            let (kind, found, weight) = if let Some(found) = self.find(&said) {
                let in_title = self.query.find(&frame.identity.title).is_some();
                let weight = if in_title { 2.0 * FRAME_WEIGHT } else { FRAME_WEIGHT };
                (PlaceKind::Frame, found, weight)
            } else {
                let seen = self.view.evidence(num)?.searchable();
                // Some of the words may stand in what is said.
                let found = self.find(&seen).or_else(|| self.find(&format!("{seen}\n{said}")));
                let Some(found) = found else { continue };
                (PlaceKind::Evidence, found, EVIDENCE_WEIGHT)
            };
            places.push(place(Some(frame.into()), kind, None, found, weight));
        }
        Ok(places)
    }

    /// Messages that hold what is wanted, and whether there may be more.
    fn messages(&mut self) -> Result<(Vec<Place>, bool), EngineError> {
        let thorough = self.request.thorough;
        let examined = if thorough { EXAMINED_THOROUGHLY } else { EXAMINED };
        let mut places = Vec::new();
        let mut more = false;
        let terms = Known { terms: self.query.terms(), beginning: None };
        if !terms.is_empty() {
            more = self.collect(&terms, examined, &mut places)?;
        }
        if !self.request.exact || places.len() >= self.request.limit {
            return Ok((places, more));
        }
        // A string that begins or ends within a word is not known by all of its terms.
        let known = self.query.known();
        if !known.is_empty() && (thorough || places.is_empty()) {
            places.clear();
            more = self.collect(&known, examined, &mut places)?;
        }
        if thorough || (known.is_empty() && places.is_empty()) {
            places.clear();
            let most = if thorough { usize::MAX } else { SCANNED };
            more = self.collect(&Known::default(), most, &mut places)?;
        }
        Ok((places, more))
    }

    fn find(&self, text: &str) -> Option<Match> {
        if self.request.reveal { self.query.find(text) } else { self.query.find(&mask(text)) }
    }

    /// Takes messages, the newest first, until enough of them hold what is wanted; returns whether
    /// there may be more.
    fn collect(
        &mut self,
        known: &Known,
        mut most: usize,
        places: &mut Vec<Place>,
    ) -> Result<bool, EngineError> {
        let mut before = i64::MAX;
        loop {
            let page = self.view.messages_known_by(known, before, PAGE)?;
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

    fn look_at(
        &mut self,
        found: &IndexedMessage,
        places: &mut Vec<Place>,
    ) -> Result<(), EngineError> {
        let message = &found.message;
        let Some(matched) = find(self.query, &message.json, self.request.reveal) else {
            return Ok(());
        };
        let place_in_tree = self.view.message_place(&found.session, message.seq)?;
        if !self.is_wanted(place_in_tree.map(|place| place.frame))? {
            return Ok(());
        }
        let (frame, position) = match place_in_tree {
            Some(MessagePlace { frame, position }) => (Some(self.frame(frame)?), position),
            None => (None, 0),
        };
        let message = MessageFound {
            session: found.session.clone(),
            id: message.id.clone(),
            role: role(&message.json).unwrap_or_else(|| "message".to_owned()),
            position,
            version: message.version,
        };
        places.push(place(frame, PlaceKind::Message, Some(message), matched, 1.0));
        Ok(())
    }

    fn frame(&mut self, num: FrameNum) -> Result<FrameFound, EngineError> {
        if let Some(known) = self.seen.get(&num) {
            return Ok(known.clone());
        }
        let frame = FrameFound::from(self.view.frame(num)?);
        self.seen.insert(num, frame.clone());
        Ok(frame)
    }

    fn is_wanted(&self, frame: Option<FrameNum>) -> Result<bool, EngineError> {
        let Some(wanted) = self.request.frame else { return Ok(true) };
        let Some(frame) = frame else { return Ok(false) };
        Ok(frame == wanted
            || self.view.ancestors(frame)?.iter().any(|ancestor| ancestor.num == wanted))
    }
}

fn place(
    frame: Option<FrameFound>,
    kind: PlaceKind,
    message: Option<MessageFound>,
    found: Match,
    weight: f64,
) -> Place {
    let Match { score, snippet, marks } = found;
    let marks = marks.into_iter().map(|mark| [mark.start, mark.end]).collect();
    Place { frame, kind, message, snippet, marks, score: score * weight }
}

/// Where a message holds what is looked for. Secrets are masked, unless they are to be revealed, which
/// is only worth its cost where there is something to show.
pub(crate) fn find(query: &Query, json: &str, reveal: bool) -> Option<Match> {
    let plain = texts(json, false);
    let matched = query.find(&plain)?;
    if reveal {
        return Some(matched);
    }
    let masked = texts(json, true);
    if masked == plain { Some(matched) } else { query.find(&masked) }
}

/// Everything in a message that somebody may look for.
fn searchable(json: &str) -> String {
    texts(json, false)
}

/// Files of the project are named relative to it in what is kept.
fn relative(project: &Path, text: &str) -> String {
    let prefix = format!("{}/", project.display());
    text.split(' ')
        .map(|word| word.strip_prefix(&prefix).unwrap_or(word))
        .collect::<Vec<_>>()
        .join(" ")
}
