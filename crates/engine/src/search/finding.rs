//! One search: the index narrows down, the texts themselves decide, the best come first, and nothing comes twice.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{ControlFlow, Range};

use callstack_core::decide::Neighbourhood as _;
use callstack_core::frame::{Frame, FrameNum};
use callstack_core::search::{Match, Query};
use callstack_core::secrets::{mask, mask_json};
use callstack_store::{IndexedMessage, MessageRange, Narrowed, StoreError, View, said_of};

use super::repeats::Kept;
use super::texts::{role, texts};
use super::{Depth, FrameFound, MessageFound, PlaceKind, SearchAnswer, SearchHit, SearchRequest};
use crate::error::EngineError;
use crate::work::{frame_of, pieces, position_in};

/// Places of each kind that are ranked, however few are wanted, so that the best of them are the same for every
/// limit.
const POOL: usize = 1_000;
/// Frames that are read while an agent waits, the newest first.
const FRAMES: usize = 64;
/// Bytes of messages that are read while an agent waits: almost all messages that the index names match, and where it
/// can't narrow them down, the newest are read.
const EXAMINED: usize = 512 * 1024;
/// The same for strings within words if the string was also found as whole words, which were probably meant.
const EXAMINED_WITHIN: usize = 128 * 1024;
/// The weight of a frame's own words, against that of a message with the same words.
const FRAME_WEIGHT: f64 = 3.0;
/// The weight of evidence: the messages that it was taken from contain it too, and more.
const EVIDENCE_WEIGHT: f64 = 0.5;

pub(super) struct Finding<'s> {
    view: &'s View<'s>,
    query: &'s Query,
    request: &'s SearchRequest,
    /// The only session that is searched, if it is one.
    session: Option<&'s str>,
    /// The places of the messages of the named frame and of those below it.
    within: Option<Vec<MessageRange>>,
    /// Whether messages are stored that the index does not have yet.
    is_behind: bool,
    /// Bytes of messages that may still be read.
    left: usize,
    /// Messages that were read.
    looked_at: BTreeSet<i64>,
    /// Frames in which something was found.
    frames: BTreeMap<FrameNum, FrameFound>,
}

/// A possible match, before secrets in a message are masked.
struct Candidate {
    score: f64,
    what: Holder,
}

enum Holder {
    Frame(Box<InFrame>),
    /// Its number in the index: its text is read again if it is shown.
    Message(i64),
}

struct InFrame {
    frame: Frame,
    kind: PlaceKind,
    /// The text in which it was found.
    text: String,
    matched: Match,
}

impl<'s> Finding<'s> {
    pub(super) fn new(
        view: &'s View<'s>,
        query: &'s Query,
        request: &'s SearchRequest,
        session: Option<&'s str>,
    ) -> Result<Self, EngineError> {
        let within = match (request.frame, session) {
            (Some(frame), _) => Some(ranges(view, frame)?),
            (None, Some(session)) => {
                Some(vec![MessageRange { session: session.to_owned(), first: 0, last: u64::MAX }])
            }
            (None, None) => None,
        };
        let is_bounded = request.depth == Depth::Quick && within.is_none();
        Ok(Self {
            view,
            query,
            request,
            session,
            within,
            is_behind: view.is_behind()?,
            left: if is_bounded { EXAMINED } else { usize::MAX },
            looked_at: BTreeSet::new(),
            frames: BTreeMap::new(),
        })
    }

    pub(super) fn answer(mut self) -> Result<SearchAnswer, EngineError> {
        let questions = self.questions()?;
        let (mut candidates, more_frames) = self.frames(&questions)?;
        let (messages, more_messages) = self.messages(&questions)?;
        candidates.extend(messages);
        candidates.sort_by(|a, b| b.score.total_cmp(&a.score));
        let mut kept = Kept::default();
        let mut more = more_frames || more_messages;
        for Candidate { score, what } in candidates {
            let (place, text, range) = match what {
                Holder::Frame(found) => {
                    let InFrame { frame, kind, text, matched } = *found;
                    let range = matched.range.clone();
                    (place(Some(frame.into()), kind, None, matched, score), text, range)
                }
                Holder::Message(num) => match self.of_message(num, score)? {
                    Some(found) => found,
                    None => continue,
                },
            };
            if !self.is_raw() && kept.say(&place, &text, &range) {
                continue;
            }
            if kept.places.len() == self.request.limit {
                more = true;
                break;
            }
            kept.keep(place, text);
        }
        let behind = self.is_behind && self.request.depth == Depth::Quick;
        Ok(SearchAnswer { places: kept.places, more, behind })
    }

    /// Returns the questions to the index, which are asked in order while too little was found. A string may begin
    /// and end within words; where such clues are weak, whole words are asked for first.
    fn questions(&self) -> Result<Vec<Narrowed>, EngineError> {
        let is_thorough = self.request.depth != Depth::Quick;
        if self.is_raw() || (self.is_behind && is_thorough) {
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

    /// Returns frames that match, and whether there may be more.
    fn frames(&mut self, questions: &[Narrowed]) -> Result<(Vec<Candidate>, bool), EngineError> {
        let mut candidates = Vec::new();
        if self.is_raw() {
            return Ok((candidates, false));
        }
        let mut looked_at = BTreeSet::new();
        let is_bounded = self.request.depth == Depth::Quick && self.within.is_none();
        let most = if is_bounded { FRAMES } else { usize::MAX };
        for question in questions {
            for num in self.view.frames_known_by(question, most.saturating_add(1))? {
                if looked_at.contains(&num) {
                    continue;
                }
                if candidates.len() >= POOL || looked_at.len() >= most {
                    return Ok((candidates, true));
                }
                looked_at.insert(num);
                candidates.extend(self.in_frame(num)?);
            }
        }
        Ok((candidates, false))
    }

    fn in_frame(&self, num: FrameNum) -> Result<Option<Candidate>, EngineError> {
        let frame = self.view.frame(num)?;
        if frame.detached {
            return Ok(None);
        }
        let said = said_of(&frame);
        let seen = self.view.evidence(num)?.searchable();
        // Some of the words may be in the frame's texts, and others in its evidence.
        let all = format!("{seen}\n{said}");
        // Masking is only worth its cost where there is something to show.
        if self.query.find(&all).is_none() || !self.is_wanted(&frame)? {
            return Ok(None);
        }
        let in_title = self.query.find(&frame.identity.title).is_some();
        // Its title is shown in any case.
        let beside_title = said.strip_prefix(&frame.identity.title).filter(|_| !in_title);
        let beside_title = beside_title.map(str::trim_start);
        let in_said = beside_title.and_then(|rest| self.find(rest)).or_else(|| self.find(&said));
        let (kind, (matched, text), weight) = if let Some(found) = in_said {
            let weight = if in_title { 2.0 * FRAME_WEIGHT } else { FRAME_WEIGHT };
            (PlaceKind::Frame, found, weight)
        } else {
            let Some(found) = self.find(&seen).or_else(|| self.find(&all)) else { return Ok(None) };
            (PlaceKind::Evidence, found, EVIDENCE_WEIGHT)
        };
        let score = matched.score * weight;
        let found = InFrame { frame, kind, text, matched };
        Ok(Some(Candidate { score, what: Holder::Frame(Box::new(found)) }))
    }

    /// Returns messages that match, and whether there may be more.
    fn messages(&mut self, questions: &[Narrowed]) -> Result<(Vec<Candidate>, bool), EngineError> {
        let mut candidates = Vec::new();
        let mut more = false;
        for question in questions {
            more = self.collect(question, &mut candidates)?;
            if candidates.len() >= POOL {
                break;
            }
            if self.left < usize::MAX && !candidates.is_empty() {
                self.left = self.left.min(EXAMINED_WITHIN);
            }
        }
        Ok((candidates, more))
    }

    /// Reads messages, the newest first, until enough of them match; returns whether there may be more.
    fn collect(
        &mut self,
        question: &Narrowed,
        candidates: &mut Vec<Candidate>,
    ) -> Result<bool, EngineError> {
        let (view, within) = (self.view, self.within.clone());
        view.visit_messages_known_by(question, within.as_deref(), |found| {
            if self.looked_at.contains(&found.num) {
                return Ok(ControlFlow::Continue(()));
            }
            if candidates.len() >= POOL || self.left == 0 {
                return Ok(ControlFlow::Break(()));
            }
            self.looked_at.insert(found.num);
            if self.left < usize::MAX {
                self.left = self.left.saturating_sub(found.message.json.len());
            }
            let json = &found.message.json;
            let text = if self.is_raw() { json.clone() } else { texts(json, false) };
            if let Some(matched) = self.query.find(&text)
                && self.session.is_none_or(|session| session == found.session)
                && (self.request.frame.is_none() || self.is_below(self.frame_of(&found)?)?)
            {
                let what = Holder::Message(found.num);
                candidates.push(Candidate { score: matched.score, what });
            }
            Ok::<_, EngineError>(ControlFlow::Continue(()))
        })
    }

    /// Returns the excerpt of a message. None where only a secret matches.
    fn of_message(
        &mut self,
        num: i64,
        score: f64,
    ) -> Result<Option<(SearchHit, String, Range<usize>)>, EngineError> {
        let Some(found) = self.view.indexed_message(num)? else { return Ok(None) };
        let (session, message) = (&found.session, &found.message);
        let masked = !self.request.reveal;
        let text = match (self.is_raw(), masked) {
            (true, true) => mask_json(&message.json).into_owned(),
            (true, false) => message.json.clone(),
            (false, masked) => texts(&message.json, masked),
        };
        let Some(matched) = self.query.find(&text) else { return Ok(None) };
        let frame = self.frame_of(&found)?;
        let position = match frame {
            Some(frame) => position_in(self.view, frame, session, message.seq)?,
            None => 0,
        };
        let message = MessageFound {
            session: session.clone(),
            id: message.id.clone(),
            role: role(&message.json).unwrap_or_else(|| "message".to_owned()),
            position,
            version: message.version,
            outdated: self.view.is_outdated(session, message)?,
        };
        let frame = frame.map(|frame| self.frame(frame)).transpose()?;
        let range = matched.range.clone();
        Ok(Some((place(frame, PlaceKind::Message, Some(message), matched, score), text, range)))
    }

    fn find(&self, text: &str) -> Option<(Match, String)> {
        let text = if self.request.reveal { text.to_owned() } else { mask(text).into_owned() };
        Some((self.query.find(&text)?, text))
    }

    fn is_raw(&self) -> bool {
        self.request.depth == Depth::Raw
    }

    /// Returns the frame whose work a match in a message belongs to.
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

    fn is_wanted(&self, frame: &Frame) -> Result<bool, EngineError> {
        let is_own = self.session.is_none_or(|session| frame.session.as_deref() == Some(session));
        Ok(is_own && self.is_below(Some(frame.num))?)
    }

    /// Whether a frame is the one that was named, or below it.
    fn is_below(&self, frame: Option<FrameNum>) -> Result<bool, EngineError> {
        let Some(wanted) = self.request.frame else { return Ok(true) };
        let Some(frame) = frame else { return Ok(false) };
        Ok(frame == wanted
            || self.view.ancestors(frame)?.iter().any(|ancestor| ancestor.num == wanted))
    }
}

/// Returns the places of the work of a frame and of all below it.
fn ranges(view: &View<'_>, frame: FrameNum) -> Result<Vec<MessageRange>, StoreError> {
    let mut ranges: Vec<MessageRange> = Vec::new();
    for frame in view.subtree(frame)? {
        for piece in pieces(view, frame.num)? {
            if !ranges.iter().any(|known| known.holds(&piece.range)) {
                ranges.push(piece.range);
            }
        }
    }
    Ok(ranges)
}

fn place(
    frame: Option<FrameFound>,
    kind: PlaceKind,
    message: Option<MessageFound>,
    matched: Match,
    score: f64,
) -> SearchHit {
    let Match { snippet, marks, .. } = matched;
    let marks = marks.into_iter().map(|mark| [mark.start, mark.end]).collect();
    SearchHit { frame, kind, message, snippet, marks, score }
}
