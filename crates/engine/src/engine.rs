//! The engine: one store, and everything that is done to it.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use callstack_core::context::ContextCache;
use callstack_core::decide::{Command, Decision, OpenRoot, Pop, decide};
use callstack_core::dialect::Dialect;
use callstack_core::event::Event;
use callstack_core::evidence::Evidence;
use callstack_core::frame::{Artifact, Frame, FrameNum, Identity};
use callstack_core::log_line::LogLine;
use callstack_core::returned::RENDERER_VERSION;
use callstack_core::subagent::SkippedPattern;
use callstack_core::transcript::{Anchor, Fold};
use callstack_store::{Change, Store, StoreError, Trusted};
pub use callstack_store::{Health, LeftOut, Omitted, Rebuilt};

use crate::configuration::{Laid, Reread};
use crate::conversation::Conversation;
use crate::error::{EngineError, Kind, NAME_OR_PUSH};
use crate::evidence::{self, Reader};
use crate::files;
use crate::layout;
use crate::log::files::LogFiles;
use crate::logging::Log;
use crate::mirror::{self, Mirror};
use crate::operation::{Answer, Caller};
use crate::outside::Outside;
use crate::recorder::Recorder;
use crate::settings::Settings;
use crate::staleness::Seen;
use crate::summarizer::{Asked, Summarizer};
use crate::unfinished;
use crate::work_tree::FileRecorder;
use crate::world::World;

/// The engine of one project. May be shared between threads and exist in several processes at once.
pub struct Engine {
    pub(crate) store: Store,
    pub(crate) project: PathBuf,
    pub(crate) settings: Settings,
    pub(crate) laid: Mutex<Laid>,
    pub(crate) reread: OnceLock<Reread>,
    pub(crate) cache: Mutex<ContextCache>,
    pub(crate) conversations: Mutex<HashMap<String, Arc<Mutex<Conversation>>>>,
    pub(crate) reader: OnceLock<Reader>,
    pub(crate) recording: OnceLock<FileRecorder>,
    pub(crate) summarizer: OnceLock<Arc<dyn Summarizer>>,
    pub(crate) asked: Asked,
    // In this order: what the one writes last, the next has to write about.
    pub(crate) recorder: OnceLock<Recorder>,
    logs: LogFiles,
    mirror: Mirror,
    pub(crate) log: Log,
    dialect: Dialect,
    pub(crate) trusted: Arc<Trusted>,
    pub(crate) folder: PathBuf,
    world: Box<dyn World>,
    /// While recorded work is taken over, when it was done; else 0.
    past: AtomicI64,
    /// What was in files when they were last read.
    pub(crate) seen: Mutex<Seen>,
    /// Whether a person changes something from outside just now.
    pub(crate) outside: Outside,
    /// The generation of the store that conversations were read from.
    pub(crate) generation: Arc<AtomicU64>,
    /// The notices about the store that a host has not shown yet.
    pub(crate) notices: Mutex<Vec<String>>,
}

impl Engine {
    /// Opens the store of a project, making it if there is none.
    pub fn open(
        trusted: Trusted,
        settings: Settings,
        world: Box<dyn World>,
    ) -> Result<Self, EngineError> {
        let (project, folder) = (trusted.project().to_path_buf(), trusted.folder());
        callstack_store::prepare(&project)?;
        let store = Store::open(&trusted)?;
        let trusted = Arc::new(trusted);
        // A store that can't be read says so to whoever asks it for more.
        let stored = store.read(|view| Ok::<_, EngineError>(view.settings()?)).unwrap_or_default();
        let mirror = Mirror::new(&trusted, &settings);
        let settings_now = settings.overlaid(&stored)?;
        let dialect = settings_now.profile.dialect();
        let log = Log::new(&folder, settings_now.kept.log, dialect);
        let logs = LogFiles::new(&trusted);
        let (files, logged, told) = (mirror.observer(), log.observer(), logs.observer());
        store.observe(move |events| {
            files(events);
            logged(events);
            told(events);
        });
        let generation = Arc::new(AtomicU64::new(store.turns().generation()));
        for skipped in settings_now.subagents.skipped() {
            log.write(world.now(), &pattern_skipped(&skipped));
        }
        Ok(Self {
            store,
            dialect,
            project,
            laid: Mutex::new(Laid::over(settings.clone())),
            settings,
            reread: OnceLock::new(),
            cache: Mutex::default(),
            conversations: Mutex::default(),
            recorder: OnceLock::new(),
            reader: OnceLock::new(),
            recording: OnceLock::new(),
            summarizer: OnceLock::new(),
            asked: Asked::default(),
            logs,
            mirror,
            log,
            trusted,
            folder,
            world,
            past: AtomicI64::new(0),
            seen: Mutex::default(),
            outside: Outside::default(),
            generation,
            notices: Mutex::default(),
        })
    }

    /// The same for a project whose store nothing is asked about, for tests, examples and measurements.
    pub fn open_unchecked(
        project: &Path,
        settings: Settings,
        world: Box<dyn World>,
    ) -> Result<Self, EngineError> {
        Self::open(Trusted::unchecked(project)?, settings, world)
    }

    /// Has evidence taken from what this makes of a stored message. Without it there is none. The first
    /// one counts.
    pub fn read_messages_with(&self, reader: Reader) {
        self.reader.get_or_init(|| reader);
    }

    /// The project's root folder.
    pub fn project(&self) -> &Path {
        &self.project
    }

    /// The database file.
    pub fn store_path(&self) -> &Path {
        self.store.path()
    }

    /// How this process was told to behave, without what was set in the store: [`Engine::current_settings`].
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// How agents are spoken to. Agents keep the tools that they started with: it stays as it was when
    /// the engine was opened.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Where time and ids come from.
    pub fn world(&self) -> &dyn World {
        self.world.as_ref()
    }

    /// What was set in this store, by the name of the variable that it stands for. It counts before
    /// the user's own configuration, until it is reset.
    pub fn stored_settings(&self) -> Result<BTreeMap<String, String>, EngineError> {
        self.store.read(|view| Ok(view.settings()?))
    }

    /// Sets a setting of the store, or resets it. Whether the value makes sense is for the caller to
    /// find out.
    pub fn set_setting(&self, name: &str, value: Option<&str>) -> Result<(), EngineError> {
        let event = Event::SettingSet { name: name.to_owned(), value: value.map(str::to_owned) };
        self.store.write(|change| Ok::<_, EngineError>(change.append(self.now(), &[event])?))?;
        if name == "STACK_LOG" {
            self.log.enable(self.current_settings()?.kept.log);
        }
        if name == "STACK_SUBAGENT_PATTERNS" {
            for skipped in self.current_settings()?.subagents.skipped() {
                self.tell_log(&pattern_skipped(&skipped));
            }
        }
        Ok(())
    }

    /// Tells the project's log what happened.
    pub fn tell_log(&self, line: &LogLine) {
        self.log_at(self.now(), line);
    }

    /// The same for a time that was looked up already.
    pub(crate) fn log_at(&self, at: i64, line: &LogLine) {
        self.log.write(at, line);
    }

    /// Has the files of `.opencode/stack` and the logs brought up to date, in the background: a process
    /// that was killed may have left them behind the store, and somebody may have removed some. They
    /// follow every change by themselves.
    pub fn write_files(&self) {
        self.mirror.want();
        if !self.store.is_read_only() {
            self.logs.look();
        }
        let host = self.project.join(layout::HOST_FOLDER);
        // Plugin and slash commands are put in where the first two are.
        for folder in [host.join("plugin"), host.join("command")] {
            unfinished::sweep(&folder);
        }
        for folder in [layout::folder(&self.project), layout::flame_folder(&self.project)] {
            unfinished::sweep(&folder);
            unfinished::sweep(&folder.join(layout::FRAMES));
        }
    }

    /// Why the files of `.opencode/stack` were last not written, until they are.
    pub fn files_failure(&self) -> Option<EngineError> {
        self.mirror.failure()
    }

    /// Why logs were last not written, until they are.
    pub fn logs_failure(&self) -> Option<EngineError> {
        self.logs.failure()
    }

    /// Checks the store. Changes nothing.
    pub fn check(&self) -> Result<Health, EngineError> {
        Ok(self.store.check()?)
    }

    /// Derives the store's tables from its events; those that can't be read are left out.
    pub fn rebuild(&self) -> Result<Rebuilt, EngineError> {
        Ok(self.store.rebuild()?)
    }

    /// Removes the files of `.opencode/stack` if they are this store's; whether they were, where there are any.
    pub fn remove_files(&self) -> Result<Option<bool>, EngineError> {
        let identity = self.store.read(|view| Ok::<_, EngineError>(view.identity()?))?;
        mirror::remove(&self.trusted, identity.as_deref())
    }

    /// Whether nothing was ever done in the store.
    pub fn is_unused(&self) -> Result<bool, EngineError> {
        self.store.read(|view| Ok(view.revision()? == 0 && view.message_sizes()?.0 == 0))
    }

    /// Messages in the store, their bytes as they came and as they are stored.
    pub fn message_sizes(&self) -> Result<(u64, u64, u64), EngineError> {
        self.store.read(|view| Ok(view.message_sizes()?))
    }

    /// The frame that a reference (handle, id, former id or a unique prefix) means.
    pub fn resolve(&self, reference: &str) -> Result<Frame, EngineError> {
        self.store.read(|view| {
            let found = view.resolve(reference);
            let Err(error @ StoreError::NoFrame(_)) = found else { return Ok(found?) };
            self.tell_log(&LogLine::new("Frame not found").with("reference", reference));
            Err(EngineError::no_frame(error, &view.near(reference)?))
        })
    }

    /// A frame by its handle.
    pub fn frame(&self, num: FrameNum) -> Result<Frame, EngineError> {
        self.store.read(|view| Ok(view.frame(num)?))
    }

    /// The frame that a session works in.
    pub fn active(&self, session: &str) -> Result<Option<FrameNum>, EngineError> {
        self.store.read(|view| Ok(view.session_row(session)?.and_then(|session| session.active)))
    }

    /// The session that a person at a terminal means when none is named: the one that worked last,
    /// with the last message of its transcript. Nobody works in one that was only read from a recording.
    pub fn latest_session(&self) -> Result<Option<(String, Option<String>)>, EngineError> {
        self.store.read(|view| {
            let Some(session) = view.latest_session()? else { return Ok(None) };
            let last = view.last_message(&session.id)?;
            Ok(Some((session.id, last)))
        })
    }

    pub(crate) fn session_root(&self, session: &str) -> Result<FrameNum, EngineError> {
        let found = self.store.read(|view| {
            Ok::<_, EngineError>(view.session_row(session)?.and_then(|session| session.root))
        })?;
        found
            .ok_or_else(|| EngineError::invalid("this session has no root frame yet", NAME_OR_PUSH))
    }

    /// Makes sure that the calling session is known, so that a frame can begin in it.
    pub(crate) fn open_session(&self, caller: &Caller) -> Result<(), EngineError> {
        // Nearly always it is; reading takes no lock that others wait for.
        if let Some(known) = self.store.read(|view| view.session_row(&caller.session))? {
            return self.frame_for_push(&known);
        }
        self.store.write(|change| {
            if change.view().session_row(&caller.session)?.is_some() {
                return Ok(());
            }
            let session = callstack_core::event::Session {
                id: caller.session.clone(),
                host: caller.host.clone(),
                parent: None,
                root: None,
                active: None,
            };
            Ok(change.append(self.now(), &[Event::SessionOpened { session }])?)
        })
    }

    /// Where a frame ends by a call: at the call, or in the transcript of another session behind the
    /// last message of that one, which will never show the call.
    pub(crate) fn anchor_in(&self, caller: &Caller, frame: &Frame) -> Result<Anchor, EngineError> {
        match &frame.session {
            Some(session) if *session != caller.session => {
                let message = self.store.read(|view| view.last_message(session))?;
                Ok(Anchor { message, call: None })
            }
            _ => Ok(caller.anchor.clone()),
        }
    }

    /// Decides a command and appends what it leads to, in one transaction.
    pub(crate) fn change(&self, command: &Command) -> Result<Decision, EngineError> {
        self.store.write(|change| self.carry_out(change, command))
    }

    pub(crate) fn carry_out(
        &self,
        change: &mut Change<'_>,
        command: &Command,
    ) -> Result<Decision, EngineError> {
        let now = self.now();
        let decision =
            decide(&change.view(), command, &self.settings_in(&change.view())?.limits, now)?;
        change.append(now, &decision.events)?;
        let followed = crate::autonomy::followed(&change.view(), &decision.events, now)?;
        change.append(now, &followed)?;
        self.tell_of_outside(change, &decision.events, &decision.frames)?;
        Ok(decision)
    }

    /// Begins work in a frame and answers with what it needs to know. `goal_is_known` is that of [`Self::began`].
    pub(crate) fn begin(
        &self,
        caller: &Caller,
        goal_is_known: bool,
        command: impl FnOnce(&dyn World) -> Command,
    ) -> Result<Answer, EngineError> {
        self.check_nothing_ends(&caller.session)?;
        let command = command(self.world());
        let decision = self.change(&command)?;
        let num = first(&decision)?;
        self.store.read(|view| self.began(view, caller, num, goal_is_known))
    }

    /// Ends a frame, with what stands for its span in the same transaction. A call's is fixed at the next
    /// request of its session.
    pub(crate) fn end(&self, caller: &Caller, pop: Pop) -> Result<Answer, EngineError> {
        self.end_in_turn(caller, vec![pop], |change, ended| {
            let frames: Vec<_> = ended.iter().map(|(num, _)| *num).collect();
            let answer = Self::last_ended(&change.view(), ended)?;
            self.keep_answer_if_elsewhere(change, caller, &frames, &answer)?;
            Ok(answer)
        })
    }

    /// Ends frames one after the other, and does `then` with what stands for each of them: all in one
    /// transaction, so that nobody sees some of them ended and others not.
    pub(crate) fn end_in_turn<T>(
        &self,
        caller: &Caller,
        pops: Vec<Pop>,
        then: impl FnOnce(&mut Change<'_>, Vec<(FrameNum, String)>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let mut ends = Vec::new();
        for pop in pops {
            self.settle_before(&pop)?;
            let evidence = self.evidence(&pop.session, pop.frame, pop.outcome.results.as_deref());
            ends.push((Command::Pop(pop), evidence));
        }
        self.store.write(|change| {
            let mut ended = Vec::new();
            for (command, evidence) in &ends {
                ended.push(self.end_in(change, &caller.session, command, evidence)?);
            }
            then(change, ended)
        })
    }

    /// Whether a frame could end so now; the frame.
    pub(crate) fn check_end(&self, pop: Pop) -> Result<Frame, EngineError> {
        self.settle_before(&pop)?;
        self.store.read(|view| {
            let decision =
                decide(view, &Command::Pop(pop), &self.settings_in(view)?.limits, self.now())?;
            Ok(view.frame(first(&decision)?)?)
        })
    }

    /// The same as [`Engine::end`] in a transaction that is under way; the frame, and what stands for it in the session
    /// `reader`.
    pub(crate) fn end_in(
        &self,
        change: &mut Change<'_>,
        reader: &str,
        command: &Command,
        evidence: &Evidence,
    ) -> Result<(FrameNum, String), EngineError> {
        let decision = self.carry_out(change, command)?;
        let num = first(&decision)?;
        let view = change.view();
        let text_for = |reader: &str| self.returned(&view, num, &decision.left, evidence, reader);
        let text = text_for(reader)?;
        let mut folds = Vec::new();
        for event in &decision.events {
            let Event::SpanClosed { span, close, .. } = event else { continue };
            // What an errand returned is read by the session that waits for it.
            let owed = view.errand(*span)?.map(|stored| stored.errand.caller);
            let row = view.span_row(*span)?;
            let place = owed.unwrap_or_else(|| row.session.clone());
            // The text of a frame that nobody pushed stands behind the user's next words, where no next
            // step is to be told.
            let text = if row.origin.is_automatic() {
                self.unpushed(&view, &row, evidence, false)?
            } else if place == reader {
                text.clone()
            } else {
                text_for(&place)?
            };
            // Calls of the same step may still be going on.
            let fold = match close.call {
                Some(_) if !row.origin.is_automatic() => Fold::unfixed(text, RENDERER_VERSION),
                _ => Fold::new(text, RENDERER_VERSION),
            };
            folds.push(Event::FoldSet { span: *span, fold });
            if row.frame == num {
                folds.extend(evidence::taken(&view, num, *span, evidence)?);
            }
        }
        change.append(self.now(), &folds)?;
        self.consolidate_if_many(change, num)?;
        Ok((num, text))
    }

    /// Gives a session a frame to work in, named after the user's first words, if it has none.
    pub(crate) fn ensure_root(
        &self,
        session: &str,
        host: &str,
        identity: Identity,
        anchor: Anchor,
    ) -> Result<FrameNum, EngineError> {
        self.ensure_root_below(session, host, identity, anchor, None)
    }

    /// The same for a child session that somebody started in the frame `caller`.
    pub(crate) fn ensure_root_below(
        &self,
        session: &str,
        host: &str,
        identity: Identity,
        anchor: Anchor,
        caller: Option<FrameNum>,
    ) -> Result<FrameNum, EngineError> {
        if let Some(active) = self.active(session)? {
            return Ok(active);
        }
        let decision = self.store.write(|change| {
            let parent_session =
                change.view().session_row(session)?.and_then(|session| session.parent);
            let command = Command::OpenRoot(OpenRoot {
                session: session.to_owned(),
                host: host.to_owned(),
                parent_session,
                caller,
                identity,
                derived: true,
                spare_id: self.world.id("frm-"),
                anchor,
            });
            self.carry_out(change, &command)
        })?;
        first(&decision)
    }

    /// A file of the project by its name there, with the hash of its content.
    pub(crate) fn project_file(&self, file: &str) -> (String, Option<String>) {
        let path = files::relative(&self.project, file);
        let hash = files::hash(&self.project, &path);
        (path, hash)
    }

    /// Looks at a frame's files again after the host has restored them.
    pub(crate) fn hash_again(&self, num: FrameNum) -> Result<(), EngineError> {
        for artifact in self.frame(num)?.artifacts {
            let hash = files::hash(&self.project, &artifact.path);
            if hash != artifact.hash {
                let artifact = Artifact { path: artifact.path, hash };
                self.change(&Command::AddArtifact { frame: num, artifact })?;
            }
        }
        Ok(())
    }

    /// When what is done now happens: while recorded work is taken over, that was in the past.
    pub(crate) fn now(&self) -> i64 {
        match self.past.load(Ordering::Relaxed) {
            0 => self.world.now(),
            past => past,
        }
    }

    /// What this engine does from now on happened then; none for now.
    pub(crate) fn set_past(&self, at: Option<i64>) {
        self.past.store(at.unwrap_or(0), Ordering::Relaxed);
    }

    pub(crate) fn recorder(&self) -> Result<&Recorder, EngineError> {
        if let Some(recorder) = self.recorder.get() {
            return Ok(recorder);
        }
        let recorder =
            Recorder::start(&self.trusted, Arc::clone(&self.generation), self.logs.observer())?;
        Ok(self.recorder.get_or_init(|| recorder))
    }

    pub(crate) fn conversation(&self, session: &str) -> Arc<Mutex<Conversation>> {
        let mut conversations = lock(&self.conversations);
        Arc::clone(conversations.entry(session.to_owned()).or_default())
    }
}

/// Locks what no panic can leave half-changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn pattern_skipped(skipped: &SkippedPattern) -> LogLine {
    LogLine::new("Pattern skipped")
        .with("pattern", skipped.pattern.as_str())
        .with("why", skipped.why.as_str())
}

pub(crate) fn first(decision: &Decision) -> Result<FrameNum, EngineError> {
    decision.frames.first().copied().ok_or_else(|| EngineError {
        kind: Kind::Internal,
        message: "a command was carried out on no frame".to_owned(),
        hint: None,
    })
}
