//! Imports recorded sessions: messages are stored, and their work becomes frames, as if it went on now and under the
//! level `auto`, but at the times of the recording.
//!
//! Messages that are stored already are skipped, so that a recording may be imported again once it has grown. A
//! session in which all work has ended ends with the agent's last words; one that was broken off stays as it was.

mod session_links;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use callstack_core::decide::{Command, GoOn, Neighbourhood as _, OpenRoot, Pop};
use callstack_core::event::{Event, RecordedFigures, Session};
use callstack_core::frame::{Artifact, FrameNum, Status};
use callstack_core::results::ResultsSource;
use callstack_core::transcript::{Anchor, Outcome, Role, SpanOrigin};
use callstack_store::{MessageBody, StoreError, StoredMessage};
use serde::Serialize;

use super::HostMessage;
use super::state::Past;
use crate::call::Caller;
use crate::conversation::framing::WorkFraming;
use crate::error::{EngineError, Kind};
use crate::frames::Frames;
use crate::kernel::Kernel;
use crate::lifecycle::Lifecycle;
use crate::lock::lock;
use crate::queries::Queries;
use crate::search;
use crate::sessions::Sessions;

/// Bytes of messages that are written in one transaction.
const STEP: usize = 512 * 1024;

/// A session that another program recorded.
#[derive(Clone, Debug)]
pub struct PastSession {
    /// Its id.
    pub session: String,
    /// The program, such as `codex`.
    pub host: String,
    /// The call that started it.
    pub caller: Option<PastCaller>,
    /// The folder that was worked in.
    pub folder: PathBuf,
    /// Its title.
    pub title: Option<String>,
    /// Its status and results, where they are known from elsewhere than its agent's last words.
    pub outcome: Option<(Status, String)>,
    /// Its figures.
    pub figures: RecordedFigures,
    /// The ids of its messages, in order.
    pub messages: Vec<String>,
    /// Messages that were discarded, which only log and search show.
    pub left: Vec<PastAside>,
    /// Whether it was read from the store and holds nothing new. It is there since an imported session started it, or
    /// was started by it.
    pub stored: bool,
}

/// A message of a recorded session that was discarded: the session continued from an earlier one.
#[derive(Clone, Debug)]
pub struct PastAside {
    /// The place of the message that was written in its place.
    pub before: usize,
    /// When it was written: milliseconds since 1970.
    pub at: Option<i64>,
    /// Its id.
    pub id: String,
    /// Its stored form.
    pub json: String,
}

/// The call that started a recorded session.
#[derive(Clone, Debug)]
pub struct PastCaller {
    /// The session of the call.
    pub session: String,
    /// The call's id, where it is known.
    pub call: Option<String>,
}

/// A message of a recorded session.
#[derive(Clone, Debug)]
pub struct PastMessage {
    /// When it was written: milliseconds since 1970.
    pub at: Option<i64>,
    /// Its content, and its stored form.
    pub shown: HostMessage,
}

/// The counts of an import of recorded sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PastCounts {
    /// Sessions with anything new in them.
    pub sessions: u64,
    /// Sessions that the store had already, with all that is in them.
    pub known: u64,
    /// Sessions that were followed here while they went on, of which the store knows more.
    pub followed: u64,
    /// Messages that were stored.
    pub messages: u64,
    /// Frames that were made.
    pub frames: u64,
}

impl PastCounts {
    /// Adds other counts.
    pub fn add(&mut self, other: Self) {
        self.sessions += other.sessions;
        self.known += other.known;
        self.followed += other.followed;
        self.messages += other.messages;
        self.frames += other.frames;
    }
}

/// Where messages come from: the session's place among those that are taken over, and the message's in
/// it.
pub type PastMessages<'a> = dyn Fn(usize, usize) -> Option<PastMessage> + 'a;

/// Takes recorded sessions over into the store.
pub(crate) struct Takeovers {
    kernel: Arc<Kernel>,
    queries: Arc<Queries>,
    sessions: Arc<Sessions>,
    frames: Arc<Frames>,
    framing: Arc<WorkFraming>,
    lifecycle: Arc<Lifecycle>,
}

impl Takeovers {
    pub(crate) fn new(
        kernel: &Arc<Kernel>,
        queries: &Arc<Queries>,
        sessions: &Arc<Sessions>,
        frames: &Arc<Frames>,
        framing: &Arc<WorkFraming>,
        lifecycle: &Arc<Lifecycle>,
    ) -> Self {
        Self {
            kernel: Arc::clone(kernel),
            queries: Arc::clone(queries),
            sessions: Arc::clone(sessions),
            frames: Arc::clone(frames),
            framing: Arc::clone(framing),
            lifecycle: Arc::clone(lifecycle),
        }
    }

    /// Imports recorded sessions. Those that a call of another among them started stand below the frame of that call.
    /// `progress` is called with the indexes of the session and the message that are next.
    pub(crate) fn take_over_sessions(
        &self,
        sessions: &[PastSession],
        messages: &PastMessages<'_>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<PastCounts, EngineError> {
        let frames =
            || self.kernel.read(|view| -> Result<u64, StoreError> { Ok(view.next_frame()?.0) });
        let before = frames()?;
        let mut takeover = Takeover {
            parts: self,
            sessions,
            messages,
            progress,
            children: children(sessions),
            done: HashSet::new(),
            counts: PastCounts::default(),
        };
        takeover.all()?;
        let mut counts = takeover.counts;
        counts.frames = frames()?.saturating_sub(before);
        if counts.sessions > 0 {
            search::index(self.kernel.connection(), search::STEP, || false)?;
        }
        Ok(counts)
    }

    /// A time of the past, or the present where it is not known.
    fn time(&self, at: Option<i64>) -> i64 {
        at.unwrap_or_else(|| self.kernel.now())
    }
}

/// The sessions that each call started.
fn children(sessions: &[PastSession]) -> HashMap<(&str, &str), Vec<usize>> {
    let mut children: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
    for (place, session) in sessions.iter().enumerate() {
        if let Some(PastCaller { session, call: Some(call), .. }) = &session.caller {
            children.entry((session, call)).or_default().push(place);
        }
    }
    children
}

struct Takeover<'a> {
    parts: &'a Takeovers,
    sessions: &'a [PastSession],
    messages: &'a PastMessages<'a>,
    progress: &'a mut dyn FnMut(usize, usize),
    children: HashMap<(&'a str, &'a str), Vec<usize>>,
    done: HashSet<usize>,
    counts: PastCounts,
}

/// A session on its way into the store.
struct PendingSession<'a> {
    session: &'a PastSession,
    place: usize,
    /// The messages that the store has.
    known: HashSet<String>,
    /// The frame of the call that started it.
    caller: Option<FrameNum>,
    /// The time of the message that is next, as far as it is known.
    at: Option<i64>,
    unwritten: Vec<(i64, MessageBody)>,
}

impl<'a> Takeover<'a> {
    fn all(&mut self) -> Result<(), EngineError> {
        let ids: HashSet<&str> = self.sessions.iter().map(|it| it.session.as_str()).collect();
        let started_here = |session: &PastSession| {
            session.caller.as_ref().is_some_and(|caller| ids.contains(caller.session.as_str()))
        };
        let (inner, outer): (Vec<_>, Vec<_>) =
            (0..self.sessions.len()).partition(|place| started_here(&self.sessions[*place]));
        // Those whose call is nowhere in the session that should have made it come last.
        for place in outer.into_iter().chain(inner) {
            self.session(place, None)?;
        }
        Ok(())
    }

    fn session(&mut self, place: usize, caller: Option<FrameNum>) -> Result<(), EngineError> {
        if !self.done.insert(place) {
            return Ok(());
        }
        let session = &self.sessions[place];
        let (row, order) = self.parts.kernel.read(|view| {
            let row = view.session_row(&session.session)?;
            Ok::<_, EngineError>((row, view.message_order(&session.session)?))
        })?;
        if row.is_some_and(|row| row.host != session.host) {
            self.counts.followed += 1;
            return Ok(());
        }
        let known: HashSet<String> = order.into_iter().collect();
        let has_all = session.messages.iter().all(|id| known.contains(id));
        if session.stored || (has_all && !self.has_grown(place)?) {
            self.counts.known += u64::from(!session.stored);
            let last = session.messages.len().checked_sub(1);
            let last = last.and_then(|last| (self.messages)(place, last));
            let at = self.parts.time(last.and_then(|message| message.at));
            if let Some(caller) = caller {
                self.place(at, session, caller)?;
                self.end(at, session)?;
            }
            self.name(at, place)?;
            self.store_figures(at, session)?;
            return self.children_of(place);
        }
        self.counts.sessions += 1;
        let way = PendingSession { session, place, known, caller, at: None, unwritten: Vec::new() };
        self.parts.sessions.forget(&session.session);
        let outcome = self.go(way);
        self.parts.sessions.forget(&session.session);
        self.store_figures(outcome?, session)
    }

    /// Stores a session's figures, where they are not known yet.
    fn store_figures(&self, at: i64, session: &PastSession) -> Result<(), EngineError> {
        let (parts, id, figures) = (self.parts, &session.session, session.figures);
        let is_known = parts.kernel.read(|view| {
            let has_all = view.figures_of(id)? == Some(figures);
            Ok::<_, EngineError>(has_all || !view.is_recorded(id)?)
        })?;
        if session.stored || is_known {
            return Ok(());
        }
        let recorded = Event::SessionRecorded { session: id.clone(), figures: Some(figures) };
        parts.kernel.write(|change| Ok(change.append(at, &[recorded])?))
    }

    /// Whether there is more in a session's last message than the store has of it.
    fn has_grown(&self, place: usize) -> Result<bool, EngineError> {
        let session = &self.sessions[place];
        let last = session.messages.len().checked_sub(1);
        let Some(last) = last.and_then(|last| (self.messages)(place, last)) else {
            return Ok(false);
        };
        self.differs(&session.session, &last)
    }

    /// Whether the last message that the store has of a session says something else than this one.
    fn differs(&self, session: &str, last: &PastMessage) -> Result<bool, EngineError> {
        let kept = self.parts.kernel.read(|view| view.last_messages(session, 1))?;
        let is_same = |kept: &StoredMessage| match &kept.as_it_came {
            Some(bytes) => *bytes == last.shown.json.as_bytes(),
            None => kept.json == last.shown.json,
        };
        Ok(kept.first().is_some_and(|kept| !kept.purged && !is_same(kept)))
    }

    /// Takes a session over, message by message. Returns the time of the last one.
    fn go(&mut self, mut way: PendingSession<'a>) -> Result<i64, EngineError> {
        let (parts, id) = (self.parts, &way.session.session);
        way.set_time(parts, None);
        // The identity of the root determines which turn began it.
        self.name(way.time(parts), way.place)?;
        for place in 0..way.session.messages.len() {
            (self.progress)(way.place, place);
            let Some(message) = (self.messages)(way.place, place) else { continue };
            if message.shown.message.role == Role::User {
                // Frames that end with these words had ended before them.
                self.counts.messages += way.write(parts)?;
                parts.framing.frame_resting(id)?;
            }
            way.set_time(parts, message.at.or(way.at));
            let is_new = !way.known.contains(&message.shown.message.id);
            if is_new {
                way.take_aside(place, way.time(parts));
            }
            // The last one that was known may have been gone on with since.
            let next = way.session.messages.get(place + 1);
            let is_last = !is_new && next.is_none_or(|next| !way.known.contains(next));
            let has_news = is_new || (is_last && self.differs(id, &message)?);
            if has_news && parts.queries.active(id)?.is_none() {
                self.begin(&way, place, &message)?;
            }
            let calls = message.shown.message.calls();
            let calls: Vec<_> = calls.map(|call| call.id.clone()).collect();
            let frame = if has_news { parts.queries.active(id)? } else { None };
            self.message(&mut way, message, frame)?;
            for call in calls {
                let Some(started) = self.children.get(&(id.as_str(), call.as_str())) else {
                    continue;
                };
                let started = started.clone();
                self.counts.messages += way.write(parts)?;
                let caller = if is_new {
                    parts.framing.frame_handing_on(id)?;
                    parts.queries.active(id)?
                } else {
                    self.frame_at(way.session, place)?
                };
                for child in started {
                    self.session(child, caller)?;
                }
            }
        }
        self.counts.messages += way.write(parts)?;
        parts.framing.frame_resting(id)?;
        let at = way.time(parts);
        self.name(at, way.place)?;
        self.end(at, way.session)?;
        Ok(at)
    }

    /// Gives a session its root with its first message; one that had ended goes on in the root that it has.
    fn begin(
        &self,
        way: &PendingSession<'_>,
        place: usize,
        first: &PastMessage,
    ) -> Result<(), EngineError> {
        let parts = self.parts;
        let at = way.time(parts);
        let PastSession { session, host, caller, .. } = way.session;
        let row = parts.kernel.read(|view| view.session_row(session))?;
        if row.is_none() {
            let opened = Session {
                id: session.clone(),
                host: host.clone(),
                parent: caller.as_ref().map(|caller| caller.session.clone()),
                root: None,
                active: None,
            };
            // At once, so that it never counts as the one that somebody works in.
            let recorded = Event::SessionRecorded { session: session.clone(), figures: None };
            let events = [Event::SessionOpened { session: opened }, recorded];
            parts.kernel.write(|change| change.append(at, &events))?;
        }
        let before = place.checked_sub(1).and_then(|it| way.session.messages.get(it)).cloned();
        debug_assert!(before.as_ref() != Some(&first.shown.message.id));
        let anchor = Anchor { message: before, call: None };
        if let Some(frame) = row.and_then(|row| row.root) {
            let go_on = GoOn { frame, session: session.clone(), anchor };
            parts.frames.change_at(at, &Command::GoOn(go_on))?;
            return Ok(());
        }
        let identity = self.identity(way.place);
        let around = caller.as_ref().filter(|_| way.caller.is_none());
        let root = Command::OpenRoot(OpenRoot {
            session: session.clone(),
            host: host.clone(),
            parent_session: around.map(|caller| caller.session.clone()),
            caller: way.caller,
            identity,
            derived: true,
            spare_id: parts.kernel.world().id("frm-"),
            anchor,
        });
        parts.frames.change_at(at, &root)?;
        match way.caller {
            // Where the frame of the call has ended by now, nothing was begun in it.
            Some(caller) => self.place(at, way.session, caller),
            None => Ok(()),
        }
    }

    fn message(
        &mut self,
        way: &mut PendingSession<'_>,
        message: PastMessage,
        frame: Option<FrameNum>,
    ) -> Result<(), EngineError> {
        let (parts, id) = (self.parts, &way.session.session);
        let at = way.time(parts);
        let calls = message.shown.message.calls();
        let files: Vec<String> = calls.flat_map(|call| call.files_written()).cloned().collect();
        let conversation = parts.sessions.conversation(id);
        let mut conversation = lock(&conversation);
        let end = conversation.transcript.len();
        let bodies = conversation.take(end, vec![message.shown]);
        way.unwritten.extend(bodies.into_iter().map(|body| (at, body)));
        if let Some(frame) = frame {
            for path in files {
                let artifact = Artifact { path, hash: None };
                parts.frames.change_at(at, &Command::AddArtifact { frame, artifact })?;
            }
        }
        parts.sessions.load_spans(&mut conversation, id)?;
        let settings = parts.kernel.read(|view| parts.kernel.settings_in(view))?;
        let is_due = parts.framing.follow_work(&mut conversation, id, &settings)?;
        if is_due || way.unwritten.iter().map(|(_, body)| body.json.len()).sum::<usize>() > STEP {
            self.counts.messages += way.write(parts)?;
        }
        if parts.framing.frame_work(&mut conversation, id, &settings)? {
            parts.sessions.load_spans(&mut conversation, id)?;
        }
        Ok(())
    }

    /// Ends a session in which nothing is left to be done.
    fn end(&self, at: i64, session: &PastSession) -> Result<(), EngineError> {
        let parts = self.parts;
        let (open, message) = parts.kernel.read(|view| {
            let mut open = view.session_open_spans(&session.session)?;
            // That of a root's first turn ends with the root.
            open.retain(|span| span.origin != SpanOrigin::FirstTurn);
            Ok::<_, EngineError>((open, view.last_message(&session.session)?))
        })?;
        let closing = {
            let conversation = parts.sessions.conversation(&session.session);
            let conversation = lock(&conversation);
            conversation.closing_words()
        };
        let (status, results) = match (closing, &session.outcome) {
            // An open frame in it is one that the agent has left open.
            (Some(_), None) if open.len() > 1 => return Ok(()),
            // Earlier words do not count: the requested results did not come.
            (_, Some((Status::Failed, said))) => (Status::Failed, said.clone()),
            (Some(words), _) => (Status::Completed, words),
            (None, Some((status, said))) => (*status, said.clone()),
            (None, None) => return Ok(()),
        };
        let anchor = Anchor { message, call: None };
        let caller = Caller {
            session: session.session.clone(),
            host: session.host.clone(),
            anchor: anchor.clone(),
            agent: None,
            performs: false,
            reveal: true,
            key: None,
        };
        for span in open.iter().rev() {
            let outcome = Outcome::with(status, results.clone(), None, ResultsSource::LastWords);
            let pop = Pop {
                session: session.session.clone(),
                frame: Some(span.frame),
                anchor: anchor.clone(),
                outcome,
            };
            match parts.lifecycle.end_at(at, &caller, pop) {
                // Something inside it was broken off and is open still: it stays as it was.
                Err(error) if error.kind == Kind::Conflict => return Ok(()),
                ended => ended.map(drop)?,
            }
        }
        Ok(())
    }
}

impl PendingSession<'_> {
    /// Stores the messages of a branch that was left before a message, without taking them for work that was done.
    fn set_time(&mut self, parts: &Takeovers, at: Option<i64>) {
        self.at = at;
        let past = Past { folder: self.session.folder.clone(), at };
        lock(&parts.sessions.conversation(&self.session.session)).past = Some(past);
    }

    fn time(&self, parts: &Takeovers) -> i64 {
        parts.time(self.at)
    }

    fn take_aside(&mut self, place: usize, now: i64) {
        let left = self.session.left.iter().filter(|left| left.before == place);
        for left in left.filter(|left| !self.known.contains(&left.id)) {
            let body = MessageBody { id: left.id.clone(), json: left.json.clone() };
            self.unwritten.push((left.at.unwrap_or(now), body));
        }
    }

    /// Writes pending messages; returns how many the store did not have in the same form.
    fn write(&mut self, parts: &Takeovers) -> Result<u64, EngineError> {
        let unwritten = std::mem::take(&mut self.unwritten);
        if unwritten.is_empty() {
            return Ok(0);
        }
        parts.kernel.write(|change| {
            let mut written = 0;
            for (at, body) in &unwritten {
                let body = std::slice::from_ref(body);
                written += change.record_messages(*at, &self.session.session, body)? as u64;
            }
            Ok(written)
        })
    }
}
