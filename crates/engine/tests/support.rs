//! An engine in a temporary project, with a clock and ids that a test can predict.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use callstack_core::transcript::Anchor;
use callstack_engine::operation::{Answer, Caller, Operation};
use callstack_engine::{Engine, EngineError, Settings, UserMessage, World, operations};
use serde_json::Value;
use tempfile::TempDir;

/// Far more time than anything needs that a test waits for.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// A clock on which a second passes with every reading; ids count up.
#[derive(Default)]
struct Foreseen {
    ticks: AtomicI64,
    ids: AtomicI64,
}

impl World for Foreseen {
    fn now(&self) -> i64 {
        1_700_000_000_000 + 1_000 * self.ticks.fetch_add(1, Ordering::Relaxed)
    }

    fn patience(&self, _limit: Duration) -> Duration {
        PATIENCE
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
        Self { now: at(&self.now), ids: at(&self.ids) }
    }

    /// So many milliseconds pass.
    pub(crate) fn pass(&self, milliseconds: i64) {
        self.now.fetch_add(milliseconds, Ordering::Relaxed);
    }
}

impl World for Clock {
    fn now(&self) -> i64 {
        1_700_000_000_000 + self.now.load(Ordering::Relaxed)
    }

    fn patience(&self, _limit: Duration) -> Duration {
        PATIENCE
    }

    fn id(&self, prefix: &str) -> String {
        format!("{prefix}{:04}", self.ids.fetch_add(1, Ordering::Relaxed))
    }
}

/// An engine whose project goes with it.
pub(crate) struct Project {
    pub(crate) engine: Engine,
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
        Self::of(Engine::open_unchecked(folder, settings, Box::<Foreseen>::default()).unwrap())
    }

    pub(crate) fn of(engine: Engine) -> Self {
        engine.decode_messages_with(|_, _| None);
        Self { engine, _folder: None }
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

/// Waits for work in the background.
#[track_caller]
pub(crate) fn wait(mut until: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !until() {
        assert!(Instant::now() < deadline, "it did not come about");
        std::thread::sleep(Duration::from_millis(5));
    }
}
