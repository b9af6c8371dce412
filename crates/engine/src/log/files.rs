//! The logs as files: `.callstack/logs/f12.md`, written after the calls that end frames. Each is replaced as a whole,
//! by one process at a time, which reads the store only then.

use std::collections::HashSet;
use std::fs;
use std::io::{self, BufWriter, Write as _};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use callstack_core::control::escape_text;
use callstack_core::event::Event;
use callstack_core::frame::FrameNum;
use callstack_store::{LOGS, StoreError, Trusted, log_path, share_file_in, share_folder_in};

use super::markdown;
use crate::background::{self, Background};
use crate::error::EngineError;
use crate::kernel::connection::Connection;
use crate::layout::restrict;
use crate::log_file::unwritable;
use crate::unfinished;
use crate::world::World;

/// The number of the newest logs that are checked whenever any may have to be written.
const LOOKED_AT: u32 = 200;
/// The file in the store's folder that a writer locks.
const LOCK: &str = "logs.lock";
/// The longest time that a writer waits for git to finish a checkout.
const PATIENCE: Duration = Duration::from_secs(1);

/// Observes each change, and requests the logs that it makes necessary.
#[derive(Debug)]
pub(crate) struct LogFiles {
    background: Background,
    look: Arc<AtomicBool>,
}

impl LogFiles {
    /// The logs of a project.
    pub(crate) fn new(trusted: &Arc<Trusted>, world: Arc<dyn World>) -> Self {
        let look = Arc::new(AtomicBool::new(false));
        let (trusted, clock) = (Arc::clone(trusted), Arc::clone(&world));
        let wanted = Arc::clone(&look);
        let background = Background::when_quiet("logs", world, move || {
            let (trusted, world) = (Arc::clone(&trusted), Arc::clone(&clock));
            let mut writer = Writer { trusted, world, connection: None };
            let wanted = Arc::clone(&wanted);
            Box::new(move || writer.write(wanted.swap(false, Ordering::Relaxed)))
        });
        Self { background, look }
    }

    /// Returns an observer that has the logs written that a change makes necessary.
    pub(crate) fn observer(&self) -> impl Fn(&[(i64, Event)]) + Send + Sync + 'static {
        let waker = self.background.waker();
        move |events| {
            if events.iter().any(|(_, event)| concerns(event)) {
                waker.want();
            }
        }
    }

    /// Has those written again whose files have gone.
    pub(crate) fn look(&self) {
        self.look.store(true, Ordering::Relaxed);
        self.background.want();
    }

    /// Why logs were last not written, until they are.
    pub(crate) fn failure(&self) -> Option<EngineError> {
        self.background.failure()
    }
}

/// Whether an event may make a log due.
fn concerns(event: &Event) -> bool {
    matches!(
        event,
        Event::FrameEnded { .. }
            | Event::FrameReopened { .. }
            | Event::FrameDetached { .. }
            | Event::FrameAttached { .. }
            | Event::FrameRenamed { .. }
            | Event::IdentitySet { .. }
            | Event::ArtifactRecorded { .. }
            | Event::DecisionRecorded { .. }
            | Event::MessagesRecorded { .. }
            | Event::Purged { .. }
    )
}

struct Writer {
    trusted: Arc<Trusted>,
    world: Arc<dyn World>,
    connection: Option<Connection>,
}

impl Writer {
    fn write(&mut self, look: bool) -> Result<(), EngineError> {
        self.trusted.refuse_tracked(PATIENCE)?;
        let connection = match &self.connection {
            Some(connection) => connection,
            None => self.connection.insert(Connection::another(&self.trusted)?),
        };
        let (project, folder) = (self.trusted.project(), self.trusted.folder());
        if look {
            remove_left_over(&folder, &*self.world)?;
        }
        want_missing(connection, project, if look { u32::MAX } else { LOOKED_AT })?;
        write_due(connection, (project, &folder), &*self.world)
    }
}

/// Writes the logs that are due.
pub(crate) fn write_due(
    connection: &Connection,
    (project, folder): (&Path, &Path),
    world: &dyn World,
) -> Result<(), EngineError> {
    let next = |after| connection.read(|view| Ok::<_, EngineError>(view.log_due(after)?));
    let mut due = next(0)?;
    let mut outcome = Ok(());
    while let Some(log) = due {
        let lock = alone(folder, world)?;
        // Another process may have written it while this one waited.
        if next(log.frame.0 - 1)? == Some(log) {
            let written = write_one(connection, log.frame, &project.join(log_path(log.frame)));
            match written {
                Ok(()) => connection.write(|change| change.log_written(log))?,
                // One that can't be written doesn't keep the others from being written.
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        drop(lock);
        due = next(log.frame.0)?;
    }
    outcome
}

/// Keeps all others from writing logs, for as long as the result is held.
pub(crate) fn alone(folder: &Path, world: &dyn World) -> Result<fs::File, EngineError> {
    background::exclusive(&folder.join(LOCK), world)
}

fn write_one(connection: &Connection, frame: FrameNum, path: &Path) -> Result<(), EngineError> {
    let folder = path.parent().unwrap_or(path);
    let failed = |error: io::Error| unwritable(path, error);
    prepare(folder).map_err(failed)?;
    let mut file = unfinished::builder().tempfile_in(folder).map_err(failed)?;
    let mut out = BufWriter::new(file.as_file_mut());
    let (frame, parent, evidence) = connection.read(|view| {
        let evidence = view.evidence(frame)?;
        let frame = view.frame(frame)?;
        let parent = frame.parent.map(|parent| view.frame(parent)).transpose()?;
        Ok::<_, EngineError>((frame, parent, evidence))
    })?;
    let head = markdown::head(&frame, parent.as_ref(), &evidence);
    out.write_all(escape_text(&head).as_bytes()).map_err(failed)?;
    super::visit(connection, frame.num, 1, false, |entry| {
        let text = entry.to_markdown(false);
        out.write_all(escape_text(&text).as_bytes()).map_err(failed)?;
        Ok::<_, EngineError>(ControlFlow::Continue(()))
    })?;
    out.flush().map_err(failed)?;
    drop(out);
    share_file_in(folder.parent().unwrap_or(folder), file.as_file());
    file.as_file().sync_data().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Makes the folder in the store's, for those who may use the store.
fn prepare(folder: &Path) -> io::Result<()> {
    match fs::symlink_metadata(folder) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        // A link may lead anywhere.
        Ok(_) => Err(io::ErrorKind::NotADirectory.into()),
        Err(_) => {
            fs::create_dir(folder)?;
            restrict(folder)?;
            share_folder_in(folder.parent().unwrap_or(folder), folder);
            Ok(())
        }
    }
}

/// Removes files of a writer that was killed.
fn remove_left_over(folder: &Path, world: &dyn World) -> Result<(), EngineError> {
    let there = names(&folder.join(LOGS))?;
    if there.iter().any(|name| name.ends_with(unfinished::END)) {
        let lock = alone(folder, world)?;
        // A file that is left takes some space and is tried again at the next start.
        drop(remove_unfinished(folder));
        drop(lock);
    }
    Ok(())
}

/// Requests those of the newest logs again whose files are missing or empty: each names at least its frame.
fn want_missing(connection: &Connection, project: &Path, most: u32) -> Result<(), EngineError> {
    let logs = connection.read(|view| Ok::<_, EngineError>(view.newest_logs(most)?))?;
    let is_there = |path: &str| {
        fs::metadata(project.join(path)).is_ok_and(|file| file.is_file() && file.len() > 0)
    };
    let missing = logs.into_iter().filter(|(_, path)| !is_there(path));
    let missing: Vec<FrameNum> = missing.map(|(frame, _)| frame).collect();
    if missing.is_empty() {
        return Ok(());
    }
    connection.write(|change| {
        missing.into_iter().try_for_each(|frame| change.want_log(frame)).map_err(EngineError::from)
    })
}

/// Removes files of writers that were killed. Nobody else may be writing: see [`alone`].
pub(crate) fn remove_unfinished(folder: &Path) -> Result<(), EngineError> {
    let logs = folder.join(LOGS);
    let unfinished = names(&logs)?.into_iter().filter(|name| name.ends_with(unfinished::END));
    unfinished.map(|name| logs.join(name)).try_for_each(|path| remove(&path))
}

/// Removes a file that may not be there.
pub(crate) fn remove(path: &Path) -> Result<(), EngineError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unwritable(path, error)),
        _ => Ok(()),
    }
}

fn names(folder: &Path) -> Result<HashSet<String>, EngineError> {
    let failed = |source| StoreError::Io { path: folder.to_path_buf(), source };
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HashSet::new()),
        entries => entries.map_err(failed)?,
    };
    let mut names = HashSet::new();
    for entry in entries {
        names.insert(entry.map_err(failed)?.file_name().to_string_lossy().into_owned());
    }
    Ok(names)
}
