//! An engine in a temporary project, with a clock and ids that a test can predict.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use callstack_core::transcript::Anchor;
use callstack_engine::operation::{Answer, Caller, Operation};
use callstack_engine::{
    Engine, EngineError, Settings, SystemWorld, UserMessage, World, operations,
};
use serde_json::Value;
use tempfile::TempDir;

/// Far more time than anything needs that a test waits for.
const PATIENCE: Duration = Duration::from_mins(2);
/// How often a wait looks whether its time is over, or what it waits for has come about.
const LOOK: Duration = Duration::from_millis(1);

/// The time of pauses and limits, which passes only when a test says so.
#[derive(Clone, Default)]
pub(crate) struct Pauses {
    passed: Arc<AtomicU64>,
}

impl Pauses {
    /// So many milliseconds pass.
    pub(crate) fn pass(&self, milliseconds: u64) {
        self.passed.fetch_add(milliseconds, Ordering::Relaxed);
    }

    pub(crate) fn elapsed(&self) -> Duration {
        Duration::from_millis(self.passed.load(Ordering::Relaxed))
    }

    pub(crate) fn left(&self, until: Duration) -> Option<Duration> {
        (self.elapsed() < until).then_some(LOOK)
    }

    /// Lets time pass until work in the background has come about.
    #[track_caller]
    pub(crate) fn wait(&self, mut until: impl FnMut() -> bool) {
        wait(|| {
            self.pass(50);
            until()
        });
    }
}

/// A clock on which a second passes with every reading; ids count up.
#[derive(Clone, Default)]
struct Foreseen {
    ticks: Arc<AtomicI64>,
    ids: Arc<AtomicI64>,
    pauses: Pauses,
}

impl World for Foreseen {
    fn now(&self) -> i64 {
        1_700_000_000_000 + 1_000 * self.ticks.fetch_add(1, Ordering::Relaxed)
    }

    fn elapsed(&self) -> Duration {
        self.pauses.elapsed()
    }

    fn left(&self, until: Duration) -> Option<Duration> {
        self.pauses.left(until)
    }

    fn id(&self, prefix: &str) -> String {
        format!("{prefix}{:04}", self.ids.fetch_add(1, Ordering::Relaxed))
    }
}

/// A clock that only a test moves, and ids that count up, whichever process uses them.
#[derive(Clone, Default)]
pub(crate) struct Clock {
    now: Arc<AtomicI64>,
    ids: Arc<AtomicI64>,
    pauses: Pauses,
}

impl Clock {
    /// A clock that is a minute slow against the machine's, by which files are touched.
    pub(crate) fn behind_the_machine() -> Self {
        let clock = Self::default();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
        clock.pass(i64::try_from(now).unwrap() - 60_000 - clock.now());
        clock
    }

    /// Another clock and other ids, which go on from where these are.
    pub(crate) fn fork(&self) -> Self {
        let at = |value: &AtomicI64| Arc::new(AtomicI64::new(value.load(Ordering::Relaxed)));
        Self { now: at(&self.now), ids: at(&self.ids), pauses: Pauses::default() }
    }

    /// So many milliseconds pass.
    pub(crate) fn pass(&self, milliseconds: i64) {
        self.now.fetch_add(milliseconds, Ordering::Relaxed);
        self.pauses.pass(u64::try_from(milliseconds).unwrap_or_default());
    }
}

impl World for Clock {
    fn now(&self) -> i64 {
        1_700_000_000_000 + self.now.load(Ordering::Relaxed)
    }

    fn elapsed(&self) -> Duration {
        self.pauses.elapsed()
    }

    fn left(&self, until: Duration) -> Option<Duration> {
        self.pauses.left(until)
    }

    fn id(&self, prefix: &str) -> String {
        format!("{prefix}{:04}", self.ids.fetch_add(1, Ordering::Relaxed))
    }
}

/// The dates and ids of this machine; nothing is given up because the machine is slow.
#[derive(Default)]
pub(crate) struct Patient {
    pauses: Pauses,
}

impl World for Patient {
    fn now(&self) -> i64 {
        SystemWorld.now()
    }

    fn elapsed(&self) -> Duration {
        self.pauses.elapsed()
    }

    fn left(&self, until: Duration) -> Option<Duration> {
        self.pauses.left(until)
    }

    fn id(&self, prefix: &str) -> String {
        SystemWorld.id(prefix)
    }
}

/// An engine whose project goes with it.
pub(crate) struct Project {
    pub(crate) engine: Engine,
    /// Those of the engine.
    pauses: Pauses,
    _folder: Option<TempDir>,
}

impl Project {
    pub(crate) fn new() -> Self {
        Self::with(Settings::default())
    }

    /// The engine of a further process.
    pub(crate) fn another(&self) -> Engine {
        let settings = self.engine.settings().clone();
        Engine::open_unchecked(self.engine.project(), settings, Box::<Foreseen>::default()).unwrap()
    }

    pub(crate) fn with(settings: Settings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let project = Self::at(folder.path(), settings);
        Self { _folder: Some(folder), ..project }
    }

    /// An engine of a project that stays.
    pub(crate) fn at(folder: &Path, settings: Settings) -> Self {
        let world = Foreseen::default();
        let pauses = world.pauses.clone();
        let engine = Engine::open_unchecked(folder, settings, Box::new(world)).unwrap();
        Self { pauses, ..Self::of(engine) }
    }

    pub(crate) fn of(engine: Engine) -> Self {
        engine.decode_messages_with(|_, _| None);
        Self { engine, pauses: Pauses::default(), _folder: None }
    }

    /// Lets time pass until the engine's work in the background has come about.
    #[track_caller]
    pub(crate) fn wait(&self, until: impl FnMut() -> bool) {
        self.pauses.wait(until);
    }

    /// The user says something in a session.
    pub(crate) fn user(&self, session: &str, words: &str) {
        let message = UserMessage {
            session: session.to_owned(),
            host: "test".to_owned(),
            text: words.to_owned(),
        };
        self.engine.user_message(&message).unwrap();
    }

    /// A session calls an operation.
    pub(crate) fn call(
        &self,
        session: &str,
        name: &str,
        arguments: Value,
    ) -> Result<Answer, EngineError> {
        let operation = operations::find(name).unwrap_or_else(|| panic!("there is no {name}"));
        checked(operation, operation.run(&self.engine, &caller(session), arguments))
    }

    /// A person at a terminal does it to a session.
    pub(crate) fn by_hand(
        &self,
        session: &str,
        name: &str,
        arguments: Value,
    ) -> Result<Answer, EngineError> {
        let operation = operations::find(name).unwrap_or_else(|| panic!("there is no {name}"));
        let anchor = Anchor { message: Some("msg-last".to_owned()), call: None };
        let caller = Caller { anchor, ..caller(session) };
        checked(operation, operation.run(&self.engine, &caller, arguments))
    }

    /// [`Self::call`], for what must go well.
    pub(crate) fn did(&self, session: &str, name: &str, arguments: Value) -> Answer {
        self.call(session, name, arguments).unwrap_or_else(|error| panic!("{name}: {error:?}"))
    }

    /// The same in a message of its own.
    pub(crate) fn did_in(
        &self,
        message: &str,
        session: &str,
        name: &str,
        arguments: Value,
    ) -> Answer {
        let operation = operations::find(name).unwrap_or_else(|| panic!("there is no {name}"));
        let anchor =
            Anchor { message: Some(message.to_owned()), call: Some(format!("call-{message}")) };
        let caller = Caller { anchor, ..caller(session) };
        checked(operation, operation.run(&self.engine, &caller, arguments))
            .unwrap_or_else(|error| panic!("{name}: {error:?}"))
    }

    /// The status of a frame.
    pub(crate) fn status(&self, frame: &str) -> String {
        self.engine.resolve(frame).unwrap().status.to_string()
    }
}

pub(crate) fn caller(session: &str) -> Caller {
    Caller {
        session: session.to_owned(),
        host: "test".to_owned(),
        anchor: Anchor {
            message: Some("msg-call".to_owned()),
            call: Some(format!("call-{session}")),
        },
        agent: Some("build".to_owned()),
        performs: false,
        reveal: true,
        key: None,
    }
}

/// An answer whose data are as the operation declares them.
#[track_caller]
fn checked(
    operation: &Operation,
    answer: Result<Answer, EngineError>,
) -> Result<Answer, EngineError> {
    if let Ok(answer) = &answer
        && !answer.data.is_null()
    {
        let schema = jsonschema::validator_for(&(operation.output)()).unwrap();
        let errors: Vec<_> = schema.iter_errors(&answer.data).map(|it| it.to_string()).collect();
        assert!(errors.is_empty(), "{}: {errors:?} in {:#}", operation.name, answer.data);
    }
    answer
}

/// Waits for work in the background that begins without a pause, and until its thread has seen that it is done: time
/// that passes before would be its own, and it would rest for long.
#[track_caller]
pub(crate) fn wait_for_end(until: impl FnMut() -> bool) {
    wait(until);
    std::thread::sleep(Duration::from_millis(100));
}

/// Waits for work in the background that begins without a pause.
#[track_caller]
pub(crate) fn wait(mut until: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !until() {
        assert!(Instant::now() < deadline, "it did not come about");
        std::thread::sleep(LOOK);
    }
}
