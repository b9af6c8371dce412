//! Search over all that is kept: what frames are for and returned, and every message.

mod texts;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;

use callstack_core::frame::{Frame, FrameNum, Status};
use callstack_core::search::{Match, Query};
use callstack_core::secrets::mask;
use callstack_store::{IndexedMessage, Narrowed, Store, StoreError, View, said_of};
use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::work::{frame_of, position_in};
pub(crate) use texts::{role, texts};

/// Bytes of messages that are indexed in one transaction while somebody waits for what they search.
pub(crate) const STEP: usize = 128 * 1024;
/// The same beside the hooks of a host: what these write waits for its end.
pub(crate) const SHORT_STEP: usize = 16 * 1024;
/// Steps that a search makes to catch up before it answers.
const STEPS: usize = 16;
/// Frames that are looked at while an agent waits, the newest first.
const FRAMES: usize = 64;
/// For each place that is asked for, so many messages are found and ranked.
const POOL: usize = 2;
/// Bytes of messages that are looked at while an agent waits: what the index names is almost always what
/// is wanted, and of what it can't tell the newest is looked at.
const EXAMINED: usize = 512 * 1024;
/// The same for strings within words where the string was found as whole words: it is most likely what was
/// meant.
const EXAMINED_WITHIN: usize = 128 * 1024;
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
    /// How much is looked at.
    pub depth: Depth,
    /// Whether secrets are shown and found; else they are masked, and nothing in them is found.
    pub reveal: bool,
}

/// How much is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// What an agent can wait for: some of what may hold what is wanted, the newest first.
    Quick,
    /// All that may hold it, however long that takes.
    Thorough,
    /// All messages as their host wrote them, with ids and encoded data, and nothing but messages.
    Raw,
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
    /// Which version of it this is, from 1.
    pub version: u64,
    /// Whether it has been changed since, so that its log shows another version.
    pub outdated: bool,
}

/// Lets search see everything that is stored, as many bytes in a transaction. `more_urgent` is asked in between
/// whether to stop.
pub(crate) fn index(
    store: &Store,
    step: usize,
    more_urgent: impl Fn() -> bool,
) -> Result<(), StoreError> {
    let is_behind = || store.read(|view| -> Result<bool, StoreError> { view.is_behind() });
    while is_behind()? && !more_urgent() {
        store.write(|change| change.index(step, &searchable))?;
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
            index(&self.store, STEP, || steps.replace(steps.get() + 1) >= STEPS)?;
        }
        self.store.read(|view| {
            let search = Search {
                view,
                query: &query,
                request,
                left: if request.depth == Depth::Quick { EXAMINED } else { usize::MAX },
                looked_at: BTreeSet::new(),
                frames: BTreeMap::new(),
            };
            search.answer()
        })
    }
}

struct Search<'s> {
    view: &'s View<'s>,
    query: &'s Query,
    request: &'s SearchRequest,
    /// Bytes of messages that may still be looked at.
    left: usize,
    /// Messages that were looked at.
    looked_at: BTreeSet<i64>,
    /// Frames in which something was found.
    frames: BTreeMap<FrameNum, FrameFound>,
}

/// A message that holds what is wanted, before secrets in it are masked.
struct Candidate {
    found: IndexedMessage,
    plain: String,
    matched: Match,
}

enum Hit {
    Frame(Place),
    Message(IndexedMessage, Match),
}

impl Hit {
    fn score(&self) -> f64 {
        match self {
            Self::Frame(place) => place.score,
            Self::Message(_, found) => found.score,
        }
    }
}

impl Search<'_> {
    fn answer(mut self) -> Result<SearchAnswer, EngineError> {
        let questions = self.questions()?;
        let (frames, more_frames) = self.frames(&questions)?;
        let (mut candidates, more_messages) = self.messages(&questions)?;
        let mut more = more_frames || more_messages;
        candidates.sort_by(|a, b| b.matched.score.total_cmp(&a.matched.score));
        let limit = self.request.limit;
        let mut hits: Vec<Hit> = frames.into_iter().map(Hit::Frame).collect();
        let frames = hits.len();
        for candidate in candidates {
            if hits.len() - frames >= limit {
                more = true;
                break;
            }
            hits.extend(self.shown(candidate));
        }
        hits.sort_by(|a, b| b.score().total_cmp(&a.score()));
        more |= hits.len() > limit;
        hits.truncate(limit);
        let places = hits.into_iter().map(|hit| self.place(hit)).collect::<Result<_, _>>()?;
        Ok(SearchAnswer { places, more, behind: self.view.is_behind()? })
    }

    /// What the index is asked, one after the other, while too little was found. A string may begin and
    /// end within words; where what is known of such tells little, whole words are asked for first.
    fn questions(&self) -> Result<Vec<Narrowed>, EngineError> {
        if self.request.depth == Depth::Raw {
            return Ok(vec![Narrowed::not_at_all()]);
        }
        let anywhere = self.query.known_anywhere();
        let anywhere = anywhere.map(|known| self.view.narrowed(&known)).transpose()?;
        if let Some(anywhere) = anywhere.as_ref().filter(|anywhere| anywhere.is_whole) {
            return Ok(vec![anywhere.clone()]);
        }
        let mut questions = vec![self.view.narrowed(&self.query.known())?];
        questions.extend(anywhere.filter(|anywhere| *anywhere != questions[0]));
        Ok(questions)
    }

    fn pool(&self) -> usize {
        self.request.limit.saturating_mul(POOL)
    }

    /// Frames that hold what is wanted, and whether there may be more.
    fn frames(&mut self, questions: &[Narrowed]) -> Result<(Vec<Place>, bool), EngineError> {
        let mut places = Vec::new();
        let mut looked_at = BTreeSet::new();
        let most = if self.request.depth == Depth::Quick { FRAMES } else { usize::MAX };
        for question in questions {
            for num in self.view.frames_known_by(question, most.saturating_add(1))? {
                if looked_at.contains(&num) {
                    continue;
                }
                if places.len() >= self.request.limit || looked_at.len() >= most {
                    return Ok((places, true));
                }
                looked_at.insert(num);
                places.extend(self.frame_place(num)?);
            }
        }
        Ok((places, false))
    }

    fn frame_place(&self, num: FrameNum) -> Result<Option<Place>, EngineError> {
        let frame = self.view.frame(num)?;
        if frame.detached {
            return Ok(None);
        }
        let said = said_of(&frame);
        let seen = self.view.evidence(num)?.searchable();
        // Some of the words may stand in what is said, and others in what was seen.
        let all = format!("{seen}\n{said}");
        // Masking is only worth its cost where there is something to show.
        if self.query.find(&all).is_none() || !self.is_wanted(Some(num))? {
            return Ok(None);
        }
        let (kind, found, weight) = if let Some(found) = self.find(&said) {
            let in_title = self.query.find(&frame.identity.title).is_some();
            let weight = if in_title { 2.0 * FRAME_WEIGHT } else { FRAME_WEIGHT };
            (PlaceKind::Frame, found, weight)
        } else {
            let Some(found) = self.find(&seen).or_else(|| self.find(&all)) else { return Ok(None) };
            (PlaceKind::Evidence, found, EVIDENCE_WEIGHT)
        };
        Ok(Some(place(Some(frame.into()), kind, None, found, weight)))
    }

    /// Messages that hold what is wanted, and whether there may be more.
    fn messages(&mut self, questions: &[Narrowed]) -> Result<(Vec<Candidate>, bool), EngineError> {
        let mut candidates = Vec::new();
        let mut more = false;
        for question in questions {
            more = self.collect(question, &mut candidates)?;
            if candidates.len() >= self.pool() {
                break;
            }
            if self.request.depth == Depth::Quick && !candidates.is_empty() {
                self.left = self.left.min(EXAMINED_WITHIN);
            }
        }
        Ok((candidates, more))
    }

    fn find(&self, text: &str) -> Option<Match> {
        if self.request.reveal { self.query.find(text) } else { self.query.find(&mask(text)) }
    }

    /// Takes messages, the newest first, until enough of them hold what is wanted; returns whether
    /// there may be more.
    fn collect(
        &mut self,
        question: &Narrowed,
        candidates: &mut Vec<Candidate>,
    ) -> Result<bool, EngineError> {
        let view = self.view;
        view.visit_messages_known_by(question, |found| {
            if self.looked_at.contains(&found.num) {
                return Ok(ControlFlow::Continue(()));
            }
            if candidates.len() >= self.pool() || self.left == 0 {
                return Ok(ControlFlow::Break(()));
            }
            self.looked_at.insert(found.num);
            self.left = self.left.saturating_sub(found.message.json.len());
            candidates.extend(self.candidate(found)?);
            Ok::<_, EngineError>(ControlFlow::Continue(()))
        })
    }

    fn candidate(&mut self, found: IndexedMessage) -> Result<Option<Candidate>, EngineError> {
        let json = &found.message.json;
        let plain = if self.is_raw() { json.clone() } else { texts(json, false) };
        let Some(matched) = self.query.find(&plain) else { return Ok(None) };
        if self.request.frame.is_some() {
            let frame = self.frame_of(&found)?;
            if !self.is_wanted(frame)? {
                return Ok(None);
            }
        }
        Ok(Some(Candidate { found, plain, matched }))
    }

    /// What is shown of a message. None where only a secret holds what is wanted.
    fn shown(&self, candidate: Candidate) -> Option<Hit> {
        let Candidate { found, plain, matched } = candidate;
        if self.request.reveal {
            return Some(Hit::Message(found, matched));
        }
        // Masking is only worth its cost where there is something to show.
        let json = &found.message.json;
        let masked = if self.is_raw() { mask(json).into_owned() } else { texts(json, true) };
        let matched = if masked == plain { matched } else { self.query.find(&masked)? };
        Some(Hit::Message(found, matched))
    }

    fn is_raw(&self) -> bool {
        self.request.depth == Depth::Raw
    }

    fn place(&mut self, hit: Hit) -> Result<Place, EngineError> {
        let (found, matched) = match hit {
            Hit::Frame(place) => return Ok(place),
            Hit::Message(found, matched) => (found, matched),
        };
        let frame = self.frame_of(&found)?;
        let (session, message) = (&found.session, &found.message);
        let position = match frame {
            Some(frame) => position_in(self.view, frame, session, message.seq)?,
            None => 0,
        };
        let told = MessageFound {
            session: session.clone(),
            id: message.id.clone(),
            role: role(&message.json).unwrap_or_else(|| "message".to_owned()),
            position,
            version: message.version,
            outdated: self.view.is_outdated(session, message)?,
        };
        let frame = frame.map(|frame| self.frame(frame)).transpose()?;
        Ok(place(frame, PlaceKind::Message, Some(told), matched, 1.0))
    }

    /// The frame whose work what was found in a message is part of.
    fn frame_of(&self, found: &IndexedMessage) -> Result<Option<FrameNum>, StoreError> {
        frame_of(self.view, &found.session, &found.message, |own| {
            let text = if self.is_raw() { own.to_owned() } else { texts(own, false) };
            self.find(&text).is_some()
        })
    }

    fn frame(&mut self, num: FrameNum) -> Result<FrameFound, EngineError> {
        if let Some(known) = self.frames.get(&num) {
            return Ok(known.clone());
        }
        let frame = FrameFound::from(self.view.frame(num)?);
        self.frames.insert(num, frame.clone());
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
    let Match { score, snippet, marks, .. } = found;
    let marks = marks.into_iter().map(|mark| [mark.start, mark.end]).collect();
    Place { frame, kind, message, snippet, marks, score: score * weight }
}

/// Where a message holds what is looked for. Secrets are masked, unless they are to be revealed.
pub(crate) fn find(query: &Query, json: &str, reveal: bool) -> Option<Match> {
    let found = query.find(&texts(json, false))?;
    if reveal { Some(found) } else { query.find(&texts(json, true)) }
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
