//! The base of all parts of the engine: the store of one project, its settings, time and ids, and the log.
//!
//! Parts that hold an [`Env`] work within transactions of others and can't begin any; those that hold the
//! [`Kernel`] begin them.

pub(crate) mod configuration;
pub(crate) mod connection;
pub(crate) mod outside;
mod upkeep;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
#[cfg(test)]
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use callstack_core::dialect::Dialect;
use callstack_core::event::Event;
use callstack_core::log_line::LogLine;
use callstack_core::subagent::SkippedPattern;
use callstack_store::{Change, Guard, StoreError, Trusted, View};

use crate::error::EngineError;
use crate::files;
use crate::kernel::configuration::{LayeredSettings, Reread};
use crate::kernel::connection::Connection;
use crate::kernel::outside::Outside;
use crate::log_file::Log;
use crate::settings::Settings;
use crate::world::World;

/// The settings, time and ids, the log, and the folders of one project. Nothing here reads or writes its store.
pub(crate) struct Env {
    pub(crate) project: PathBuf,
    /// The folder of the store.
    pub(crate) folder: PathBuf,
    /// The settings that the process began with.
    settings: Settings,
    pub(crate) layered: Mutex<LayeredSettings>,
    pub(crate) reread: OnceLock<Reread>,
    pub(crate) log: Log,
    dialect: Dialect,
    world: Arc<dyn World>,
    /// Whether a person is changing something from outside at the moment.
    pub(crate) outside: Outside,
}

/// The store of one project, with the files that follow it.
pub(crate) struct Kernel {
    pub(crate) env: Arc<Env>,
    /// Ends before the store does.
    guard: OnceLock<Guard>,
    connection: Connection,
    trusted: Arc<Trusted>,
    /// The generation of the store that conversations were read from.
    generation: Arc<AtomicU64>,
    /// The notices about the store that a host has not shown yet.
    pub(crate) notices: Mutex<Vec<String>>,
    #[cfg(test)]
    pub(crate) transactions: Transactions,
}

/// The numbers of transactions that were begun.
#[cfg(test)]
#[derive(Default)]
pub(crate) struct Transactions {
    reads: AtomicUsize,
    writes: AtomicUsize,
}

#[cfg(test)]
impl Transactions {
    /// Those that read, and those that change the store.
    pub(crate) fn counted(&self) -> (usize, usize) {
        (self.reads.load(Ordering::Relaxed), self.writes.load(Ordering::Relaxed))
    }
}

impl Env {
    /// The project's root folder.
    pub(crate) fn project(&self) -> &Path {
        &self.project
    }

    /// Returns the settings that the process began with. Those that count are returned by
    /// [`settings_in`](Self::settings_in).
    pub(crate) fn initial_settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the dialect for agents. Agents keep the tools that they started with, so it stays as it was when the
    /// engine was opened.
    pub(crate) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Returns the source of time and ids.
    pub(crate) fn world(&self) -> &dyn World {
        self.world.as_ref()
    }

    /// The same for threads of their own.
    pub(crate) fn shared_world(&self) -> Arc<dyn World> {
        Arc::clone(&self.world)
    }

    /// Writes a line to the project's log.
    pub(crate) fn log_now(&self, line: &LogLine) {
        self.log_at(self.now(), line);
    }

    /// The same for a time that was looked up already.
    pub(crate) fn log_at(&self, at: i64, line: &LogLine) {
        self.log.write(at, line);
    }

    /// A file of the project by its name there, with the hash of its content.
    pub(crate) fn project_file(&self, file: &str) -> (String, Option<String>) {
        let path = files::relative(&self.project, file);
        let hash = files::hash(&self.project, &path);
        (path, hash)
    }

    /// Returns the time of changes that are made now: during an import of recorded work, that is in the past.
    pub(crate) fn now(&self) -> i64 {
        self.world.now()
    }
}

impl Kernel {
    /// Opens the store of a project, making it if there is none.
    pub(crate) fn open(
        trusted: Trusted,
        settings: Settings,
        world: Box<dyn World>,
    ) -> Result<Self, EngineError> {
        let (project, folder) = (trusted.project().to_path_buf(), trusted.folder());
        trusted.prepare()?;
        let connection = Connection::open(&trusted)?;
        let trusted = Arc::new(trusted);
        // A store that can't be read reports that at the next call that needs it.
        let stored =
            connection.read(|view| Ok::<_, EngineError>(view.settings()?)).unwrap_or_default();
        let settings_now = settings.overlaid(&stored)?;
        let dialect = settings_now.profile.dialect();
        let log = Log::new(&trusted, settings_now.kept.log, dialect);
        connection.observe(log.observer());
        let generation = Arc::new(AtomicU64::new(connection.turns().generation()));
        for skipped in settings_now.subagents.skipped() {
            log.write(world.now(), &pattern_skipped(&skipped));
        }
        let env = Arc::new(Env {
            project,
            folder,
            layered: Mutex::new(LayeredSettings::over(settings.clone())),
            settings,
            reread: OnceLock::new(),
            log,
            dialect,
            world: Arc::from(world),
            outside: Outside::default(),
        });
        Ok(Self {
            env,
            guard: OnceLock::new(),
            connection,
            trusted,
            generation,
            notices: Mutex::default(),
            #[cfg(test)]
            transactions: Transactions::default(),
        })
    }

    /// Reads in one transaction.
    pub(crate) fn read<T, E: From<StoreError>>(
        &self,
        read: impl FnOnce(&View<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        #[cfg(test)]
        self.transactions.reads.fetch_add(1, Ordering::Relaxed);
        self.connection.read(read)
    }

    /// Changes the store in one transaction, which is on the disk once this returns without an error.
    pub(crate) fn write<T, E: From<StoreError>>(
        &self,
        write: impl FnOnce(&mut Change<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        #[cfg(test)]
        self.transactions.writes.fetch_add(1, Ordering::Relaxed);
        self.connection.write(write)
    }

    /// Returns the connection, for what works with those of threads as well.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Returns the environment of parts that begin no transactions.
    pub(crate) fn env(&self) -> &Arc<Env> {
        &self.env
    }

    /// The store as the user trusts it, for connections of threads of their own.
    pub(crate) fn trusted(&self) -> &Arc<Trusted> {
        &self.trusted
    }

    /// The generation of the store that was read last.
    pub(crate) fn generation(&self) -> &Arc<AtomicU64> {
        &self.generation
    }

    /// See [`Env::project`].
    pub(crate) fn project(&self) -> &Path {
        self.env.project()
    }

    /// See [`Env::dialect`].
    pub(crate) fn dialect(&self) -> Dialect {
        self.env.dialect()
    }

    /// See [`Env::world`].
    pub(crate) fn world(&self) -> &dyn World {
        self.env.world()
    }

    /// See [`Env::now`].
    pub(crate) fn now(&self) -> i64 {
        self.env.now()
    }

    /// See [`Env::log_now`].
    pub(crate) fn log_now(&self, line: &LogLine) {
        self.env.log_now(line);
    }

    /// See [`Env::settings_in`].
    pub(crate) fn settings_in(&self, view: &View<'_>) -> Result<Arc<Settings>, EngineError> {
        self.env.settings_in(view)
    }

    /// Returns the settings of this store, by the names of their variables. They override the user's own
    /// configuration, until they are reset.
    pub(crate) fn stored_settings(&self) -> Result<BTreeMap<String, String>, EngineError> {
        self.read(|view| Ok(view.settings()?))
    }

    /// Sets a setting of the store, or resets it. The caller has to check whether the value makes sense.
    pub(crate) fn set_setting(&self, name: &str, value: Option<&str>) -> Result<(), EngineError> {
        let event = Event::SettingSet { name: name.to_owned(), value: value.map(str::to_owned) };
        self.write(|change| Ok::<_, EngineError>(change.append(self.env.now(), &[event])?))?;
        if !matches!(name, "STACK_LOG" | "STACK_SUBAGENT_PATTERNS") {
            return Ok(());
        }
        let settings = self.read(|view| self.settings_in(view))?;
        if name == "STACK_LOG" {
            self.env.log.enable(settings.kept.log);
        }
        if name == "STACK_SUBAGENT_PATTERNS" {
            for skipped in settings.subagents.skipped() {
                self.env.log_now(&pattern_skipped(&skipped));
            }
        }
        Ok(())
    }
}

fn pattern_skipped(skipped: &SkippedPattern) -> LogLine {
    LogLine::new("Pattern skipped")
        .with("pattern", skipped.pattern.as_str())
        .with("why", skipped.why.as_str())
}
