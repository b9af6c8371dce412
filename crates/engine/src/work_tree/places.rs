//! States of the project's files at places of transcripts where a frame may turn out to have begun: nobody
//! pushes a frame that begins by itself or that is made after the fact, and its first files are written when it is
//! made.
//!
//! A state is recorded after the hook that shows the place has been answered, so the moment to which it belongs is not
//! exact. It counts only where every call up to the place had ended before, and every later one began afterwards.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use callstack_core::event::{Event, FileMoment};

use super::Recording;
use crate::conversation::Conversation;
use crate::error::EngineError;
use crate::lock::lock;
use crate::settings::Level;
use crate::work_tree::FileStates;

/// Places of a session that are known, the newest ones, and sessions that have some.
const KEPT: usize = 16;
const SESSIONS: usize = 64;
/// Milliseconds after which a state is no longer given to a frame: states that no frame has are dropped in time.
const OLD: i64 = 24 * 60 * 60 * 1000;

/// The states at places, in this process only: a frame whose place another process knew has none.
#[derive(Debug, Default)]
pub(super) struct Places {
    wanted: Vec<Wanted>,
    pub(super) known: HashMap<String, VecDeque<Known>>,
}

#[derive(Debug)]
struct Wanted {
    session: String,
    message: String,
    /// The time of the request, as a date and by the clock that is never set.
    from: i64,
    since: Duration,
}

/// The files at a place, not before `from` nor after `until`, in milliseconds since 1970.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) message: String,
    pub(super) from: i64,
    pub(super) until: i64,
    pub(super) state: Result<String, EngineError>,
    /// Whether a frame turned out to begin there, and got the state if that counts.
    settled: bool,
}

/// A state of the files at a place, as it was at some moment from `from` to `until`.
pub(crate) struct StateAt {
    pub(crate) message: String,
    pub(crate) from: i64,
    pub(crate) until: i64,
    pub(crate) state: String,
}

impl Places {
    /// Whether the state at a place is to be recorded: the first one at a place counts.
    fn want(&mut self, session: &str, message: &str, (from, since): (i64, Duration)) -> bool {
        let known = self.known.get(session).into_iter().flatten().map(|it| &it.message);
        let wanted = self.wanted.iter().filter(|it| it.session == session).map(|it| &it.message);
        if known.chain(wanted).any(|it| it == message) {
            return false;
        }
        let (session, message) = (session.to_owned(), message.to_owned());
        self.wanted.push(Wanted { session, message, from, since });
        true
    }

    /// The states that a frame may be given yet.
    pub(super) fn states(&self) -> impl Iterator<Item = String> {
        self.known.values().flatten().filter_map(|known| known.state.clone().ok())
    }

    fn add(&mut self, wanted: Wanted, state: Result<String, EngineError>, now: Duration) {
        // Old places make room: a session works on its newest ones.
        if self.known.len() >= SESSIONS && !self.known.contains_key(&wanted.session) {
            self.known.clear();
        }
        let Wanted { session, message, from, since } = wanted;
        let took = i64::try_from(now.saturating_sub(since).as_millis()).unwrap_or(i64::MAX);
        // A part of a millisecond counts as a whole one.
        let until = from.saturating_add(took).saturating_add(1);
        let known = self.known.entry(session).or_default();
        known.truncate(KEPT - 1);
        known.push_front(Known { message, from, until, state, settled: false });
    }
}

impl Recording {
    /// Records the files for all places that wait for it.
    pub(super) fn record_places(&self) -> Result<(), EngineError> {
        let wanted = std::mem::take(&mut lock(&self.places).wanted);
        let Some(first) = wanted.iter().map(|it| it.from).min() else { return Ok(()) };
        let recorded = self.record(first).transpose();
        let now = self.world.elapsed();
        let mut places = lock(&self.places);
        for wanted in wanted {
            let Some(state) = recorded.clone() else { continue };
            places.add(wanted, state, now);
        }
        drop(places);
        self.forget_unneeded()
    }
}

impl FileStates {
    /// Requests that the state of the project's files be recorded, soon, at a message after which the work of an
    /// automatic frame may begin, or of a frame that is made after the fact. Returns at once.
    pub(crate) fn record_files_at(&self, session: &str, message: &str) -> Result<(), EngineError> {
        let Some(recording) = self.recording.get() else { return Ok(()) };
        let settings = self.kernel.read(|view| self.kernel.settings_in(view))?;
        let begins = settings.autonomy.level == Level::Auto || settings.names_steps();
        let now = self.kernel.world().now();
        if !settings.frame_mode || !begins || !settings.kept.rollback || recording.shared.rests(now)
        {
            return Ok(());
        }
        // A child session's root is all that the session was started for.
        let known = self.kernel.read(|view| view.session_row(session))?;
        if known.is_some_and(|known| known.parent.is_some()) {
            return Ok(());
        }
        let times = (now, self.kernel.world().elapsed());
        if lock(&recording.shared.places).want(session, message, times) {
            recording.background.want();
        }
        Ok(())
    }

    /// The states that are known at places of a session.
    pub(crate) fn states_at_places(&self, session: &str) -> Vec<StateAt> {
        let Some(recording) = self.recording.get() else { return Vec::new() };
        let places = lock(&recording.shared.places);
        let known = places.known.get(session).into_iter().flatten();
        let states = known.filter_map(|known| {
            let Known { message, from, until, state, .. } = known;
            let (message, state) = (message.clone(), state.clone().ok()?);
            Some(StateAt { message, from: *from, until: *until, state })
        });
        states.collect()
    }

    /// Requests a state of the files if a frame may begin at the newest message, and gives frames that began by
    /// themselves their states.
    pub(crate) fn follow_files(
        &self,
        conversation: &Conversation,
        session: &str,
    ) -> Result<(), EngineError> {
        if let Some(message) = conversation.place_of_files() {
            self.record_files_at(session, message)?;
        }
        self.give_states(conversation, session)
    }

    /// Gives frames that began by themselves the states of the files where they began, as far as these are known by
    /// now, and neither contain the frame's own changes nor lack earlier ones.
    pub(crate) fn give_states(
        &self,
        conversation: &Conversation,
        session: &str,
    ) -> Result<(), EngineError> {
        let Some(recording) = self.recording.get() else { return Ok(()) };
        self.correct_states(conversation, session)?;
        let mut places = lock(&recording.shared.places);
        let Some(known) = places.known.get_mut(session) else { return Ok(()) };
        let now = self.kernel.world().now();
        let mut given = Vec::new();
        for place in known.iter_mut().filter(|place| !place.settled) {
            for span in conversation.began_by_themselves(&place.message) {
                place.settled = true;
                let counts = now.saturating_sub(place.from) <= OLD
                    && conversation.was_still_at(&span.open, (place.from, place.until));
                match &place.state {
                    Ok(state) if counts => given.push((span.frame, state.clone())),
                    Ok(_) => {}
                    Err(error) => {
                        let frame = span.frame.to_string();
                        if let Some(line) = recording.shared.untaken(&frame, error) {
                            self.kernel.log_now(&line);
                        }
                    }
                }
            }
        }
        drop(places);
        if given.is_empty() {
            return Ok(());
        }
        let events = given.into_iter().map(|(frame, state)| {
            let moment = FileMoment::Begun;
            Event::FilesRecorded { frame, moment, state }
        });
        let events: Vec<_> = events.collect();
        self.kernel.write(|change| Ok(change.append(self.kernel.now(), &events)?))
    }
}
