//! Keeps the files of `.opencode/stack` in step with the store, after the calls that change it: on a thread and a
//! connection of its own. Where a project has `.opencode/flame` and its agents use the dialect of the specification's
//! first generation, the files there are kept, too, with the fields of that generation.
//!
//! Secrets are masked in them. An import never overwrites the store with a file: it skips the frames that are known
//! (see [`crate::import`]).
//!
//! A writer holds a lock that all processes of a project share, and reads the store only then, so that an older state
//! never replaces a newer one.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use callstack_core::dialect::Dialect;
use callstack_core::event::Event;
use callstack_core::secrets::forms;
use callstack_store::{StoreError, Trusted, keep_from_git};

use crate::background::{self, Background};
use crate::error::{EngineError, Kind};
use crate::kernel::Env;
use crate::kernel::connection::Connection;
use crate::layout::{self, Durably, FRAMES, Present, STATE};
use crate::settings::Settings;
use crate::state::{FrameMetadata, StackState};
use crate::unfinished;
use crate::world::World;

/// The file in the store's folder that a writer locks.
const LOCK: &str = "files.lock";
/// The longest time that a writer waits for git to finish a checkout.
const PATIENCE: Duration = Duration::from_secs(1);

/// Observes each change, and requests the files that it makes necessary.
#[derive(Debug)]
pub(crate) struct Mirror {
    project: PathBuf,
    background: Background,
}

/// The source and the target of the files.
#[derive(Clone)]
struct Ends {
    trusted: Arc<Trusted>,
    world: Arc<dyn World>,
    /// Those of the process, without the store's own.
    settings: Settings,
}

impl Mirror {
    pub(crate) fn new(trusted: &Arc<Trusted>, env: &Env) -> Self {
        let (world, settings) = (env.shared_world(), env.initial_settings().clone());
        let ends = Ends { trusted: Arc::clone(trusted), world, settings };
        let background = Background::when_quiet("files", env.shared_world(), move || {
            let folders = [Dialect::Stack, Dialect::Flame].map(Folder::of);
            let mut writer = Writer { ends: ends.clone(), connection: None, folders };
            Box::new(move || writer.write())
        });
        Self { project: trusted.project().to_path_buf(), background }
    }

    /// Returns an observer that has the files written after a change that shows in them.
    pub(crate) fn observer(&self) -> impl Fn(&[(i64, Event)]) + Send + Sync + 'static {
        let (project, waker) = (self.project.clone(), self.background.waker());
        move |events| {
            if events.iter().any(|(_, event)| shows(event)) && is_read(&project) {
                waker.want();
            }
        }
    }

    /// Has the files brought up to date; returns at once.
    pub(crate) fn want(&self) {
        if is_read(&self.project) {
            self.background.want();
        }
    }

    /// Returns why the files could not be written last, until they are.
    pub(crate) fn failure(&self) -> Option<EngineError> {
        self.background.failure()
    }
}

/// Without OpenCode, nobody reads the files.
fn is_read(project: &Path) -> bool {
    project.join(layout::HOST_FOLDER).is_dir()
}

/// Whether an event changes the content of the files.
fn shows(event: &Event) -> bool {
    !matches!(
        event,
        Event::SessionOpened { .. }
            | Event::MessagesRecorded { .. }
            | Event::Rendered { .. }
            | Event::SessionStateSet { .. }
            | Event::SpanOpened { .. }
            | Event::SpanClosed { .. }
            | Event::SpanDetached { .. }
            | Event::CloseUndone { .. }
            | Event::FoldSet { .. }
    )
}

/// The content of the disk, as far as this process wrote or read it.
struct Known {
    /// The state file as it was left.
    stamp: Stamp,
    /// Hashes of the frames in it by id, as they were written.
    frames: HashMap<String, u64>,
    active: Option<String>,
    /// Whether they were masked as they would be now.
    masked: bool,
}

/// Time of change and length of a file, which show a write by another process.
type Stamp = Option<(SystemTime, u64)>;

struct Writer {
    ends: Ends,
    connection: Option<Connection>,
    folders: [Folder; 2],
}

/// A folder that is written, and the dialect of its frames.
struct Folder {
    dialect: Dialect,
    known: Option<Known>,
    masks: Masks,
}

/// The masks of each frame, so that only changed frames are searched again.
#[derive(Default)]
struct Masks(HashMap<String, Looked>);

/// A frame that was searched for secrets.
struct Looked {
    /// Its hash as the store has it.
    hash: u64,
    /// The frame without its secrets, if it has any.
    masked: Option<FrameMetadata>,
}

impl Masks {
    /// Masks the secrets of a tree; returns the hashes of its frames without them, by id. `masked` are those of
    /// frames that were masked before: unchanged frames have none left.
    fn apply(
        &mut self,
        state: &mut StackState,
        masked: &HashMap<String, u64>,
    ) -> HashMap<String, u64> {
        self.0.retain(|id, _| state.frames.contains_key(id));
        let mut hashes = HashMap::with_capacity(state.frames.len());
        for (id, frame) in &mut state.frames {
            let plain = hash(frame);
            let looked = match self.0.entry(id.clone()) {
                Entry::Occupied(known) if known.get().hash == plain => known.into_mut(),
                other => {
                    let is_free = masked.get(id) == Some(&plain);
                    let masked = if is_free { None } else { frame.masked() };
                    other.insert_entry(Looked { hash: plain, masked }).into_mut()
                }
            };
            let written = looked.masked.as_ref().map_or(plain, |masked| {
                frame.clone_from(masked);
                hash(masked)
            });
            hashes.insert(id.clone(), written);
        }
        hashes
    }
}

impl Writer {
    fn write(&mut self) -> Result<(), EngineError> {
        let lock =
            background::exclusive(&self.ends.trusted.folder().join(LOCK), &*self.ends.world)?;
        let outcome = self.write_alone();
        drop(lock);
        outcome
    }

    fn write_alone(&mut self) -> Result<(), EngineError> {
        let connection = match &self.connection {
            Some(connection) => connection,
            None => self.connection.insert(Connection::another(&self.ends.trusted)?),
        };
        let read = connection.read(|view| {
            let settings = self.ends.settings.overlaid(&view.settings()?)?;
            if !settings.kept.files {
                return Ok(None);
            }
            let state = StackState::read(view)?;
            let (store, revision) = (view.identity()?, Some(view.revision()?));
            let masked_with = Some(forms());
            let state = StackState { store, revision, masked_with, ..state };
            Ok::<_, EngineError>(Some((state, settings.profile.dialect())))
        })?;
        let Some((state, spoken)) = read.filter(|(state, _)| state.store.is_some()) else {
            return Ok(());
        };
        let project = self.ends.trusted.project();
        let mut failed = None;
        for folder in &mut self.folders {
            if folder.is_wanted(project, spoken, &state) {
                // A failure of one folder does not affect the other.
                let untracked = folder.refuse_tracked(&self.ends.trusted, state.store.as_deref());
                let written = untracked.and_then(|()| folder.write(project, state.clone()));
                failed = written.err().or(failed);
            }
        }
        failed.map_or(Ok(()), Err)
    }
}

impl Folder {
    fn of(dialect: Dialect) -> Self {
        Self { dialect, known: None, masks: Masks::default() }
    }

    fn path(&self, project: &Path) -> PathBuf {
        match self.dialect {
            Dialect::Stack => layout::folder(project),
            Dialect::Flame => layout::flame_folder(project),
        }
    }

    /// Whether it is to be written, where `spoken` is the dialect for agents. The folder of the first generation is
    /// never made; once it is ours, every process keeps it up to date.
    fn is_wanted(&self, project: &Path, spoken: Dialect, state: &StackState) -> bool {
        let folder = self.path(project);
        let is_ours = || {
            self.known.is_some()
                || matches!(layout::lies_in(&folder), Ok(Present::State(it)) if it.store == state.store)
        };
        self.dialect == Dialect::Stack || (folder.is_dir() && (spoken == self.dialect || is_ours()))
    }

    fn write(&mut self, project: &Path, state: StackState) -> Result<(), EngineError> {
        let mut state = state.spoken(self.dialect);
        let folder = self.path(project);
        layout::refuse_links(&folder)?;
        let before = match self.known.take() {
            Some(known) if known.stamp.is_some() && known.stamp == stamp(&folder) => known,
            _ => Self::look(&folder, &state)?,
        };
        let none = HashMap::new();
        let masked = if before.masked { &before.frames } else { &none };
        let frames = self.masks.apply(&mut state, masked);
        if before.frames != frames || before.active != state.active_frame_id || !before.masked {
            Self::replace(&folder, &state, &before, &frames)?;
        }
        let active = state.active_frame_id;
        self.known = Some(Known { stamp: stamp(&folder), frames, active, masked: true });
        Ok(())
    }

    /// Refuses a folder in which git tracks files, since a commit would take along what is written to them. If one of
    /// them is a `.gitignore` that has git see all files, ours are deleted.
    fn refuse_tracked(
        &mut self,
        trusted: &Trusted,
        identity: Option<&str>,
    ) -> Result<(), EngineError> {
        let folder = self.path(trusted.project());
        let Tracked { within, paths } = tracked(trusted, &folder)?;
        let Some(first) = paths.first() else { return Ok(()) };
        self.known = None;
        if paths.contains(&within.join(layout::IGNORE)) {
            remove_from(&folder, identity)?;
        }
        Err(is_tracked(&within, first))
    }

    /// Reads the folder. Files of another store or program are set aside.
    fn look(folder: &Path, state: &StackState) -> Result<Known, EngineError> {
        let present = match layout::lies_in(folder)? {
            Present::State(present) if present.store == state.store => Some(present),
            Present::Nothing => None,
            Present::State(_) | Present::Other => {
                set_aside(folder)?;
                None
            }
        };
        layout::prepare(folder)?;
        let present = if let Some(present) = present {
            present
        } else {
            // Records the folder's store before there is anything else in it.
            let store = state.store.clone();
            let empty = StackState { store, revision: Some(0), ..StackState::default() };
            layout::write_state(folder, &empty)?;
            empty
        };
        // A frame whose file is missing counts as one that was never written.
        let there = names(&folder.join(FRAMES))?;
        let planned = plan(&present.frames);
        let frames = present
            .frames
            .iter()
            .filter(|(id, _)| planned.get(id.as_str()).is_some_and(|name| there.contains(name)))
            .map(|(id, frame)| (id.clone(), hash(frame)))
            .collect();
        let masked = present.masked_with == state.masked_with;
        Ok(Known { stamp: None, frames, active: present.active_frame_id, masked })
    }

    /// The frames come first: while the state is the older one, the next write does them again.
    fn replace(
        folder: &Path,
        state: &StackState,
        before: &Known,
        hashes: &HashMap<String, u64>,
    ) -> Result<(), EngineError> {
        let frames = folder.join(FRAMES);
        let planned = plan(&state.frames);
        for (id, frame) in &state.frames {
            let Some(name) = planned.get(id.as_str()) else { continue };
            // A frame that shares its name with others may have had another file before.
            if before.frames.get(id) != hashes.get(id) || !layout::is_plain(id) {
                layout::write(&frames.join(name), &layout::pretty(frame)?, Durably::No)?;
            }
        }
        if before.frames.keys().any(|id| !hashes.contains_key(id)) || before.stamp.is_none() {
            let wanted: HashSet<&String> = planned.values().collect();
            for name in names(&frames)? {
                if !wanted.contains(&name) && is_ours(&name) {
                    // A file that can't be removed is tried again with the next frame that goes.
                    drop(fs::remove_file(frames.join(name)));
                }
            }
        }
        layout::write_state(folder, state)
    }
}

/// Refuses the folder of the files if git tracks any in it, other than presets.
pub(crate) fn check_untracked(trusted: &Trusted) -> Result<(), EngineError> {
    let folder = layout::folder(trusted.project());
    let Tracked { within, paths } = tracked(trusted, &folder)?;
    paths.first().map_or(Ok(()), |first| Err(is_tracked(&within, first)))
}

/// A folder of the files, from the project on, and the paths in it that git tracks.
struct Tracked {
    within: PathBuf,
    paths: Vec<PathBuf>,
}

/// Returns the paths in a folder of the files that git tracks, other than presets and a `.gitignore` that keeps git away
/// from the files.
fn tracked(trusted: &Trusted, folder: &Path) -> Result<Tracked, EngineError> {
    let project = trusted.project();
    let within = layout::within(project, folder)
        .unwrap_or_else(|| folder.strip_prefix(project).unwrap_or(folder).to_path_buf());
    let mut paths = trusted.tracked_in(&within.to_string_lossy(), PATIENCE)?;
    let (presets, ignore) = (within.join(layout::PRESETS), within.join(layout::IGNORE));
    paths.retain(|path| {
        let is_fine =
            path.starts_with(&presets) || *path == ignore && layout::is_kept_from_git(folder);
        !is_fine
    });
    Ok(Tracked { within, paths })
}

fn is_tracked(within: &Path, path: &Path) -> EngineError {
    let message = format!(
        "git tracks {}, and a commit would take along what is written there",
        path.display()
    );
    let within = within.display();
    EngineError::new(Kind::Unavailable, message).with_hint(format!(
        "The files for other programs are not written in {within}; frames themselves are safe in the store. `git rm -r \
         --cached {within}` takes it out of the repository; STACK_FILES=off does without these files.",
    ))
}

/// Removes the files if they belong to the store with this identity, and nothing else. Returns whether they do; none
/// where there are none. Those of the first generation go with them, and are kept without notice where they belong to
/// another store.
pub(crate) fn remove(
    trusted: &Trusted,
    world: &dyn World,
    identity: Option<&str>,
) -> Result<Option<bool>, EngineError> {
    let folder = layout::folder(trusted.project());
    let older = layout::flame_folder(trusted.project());
    let lock = background::exclusive(&trusted.folder().join(LOCK), world)?;
    let removed = remove_from(&folder, identity)?;
    // Where it can't be changed, the line does no harm.
    drop(layout::include_in_git(&folder));
    let older_removed = remove_from(&older, identity)?;
    drop(lock);
    Ok(removed.or(older_removed.filter(|removed| *removed)))
}

fn remove_from(folder: &Path, identity: Option<&str>) -> Result<Option<bool>, EngineError> {
    if !folder.is_dir() {
        return Ok(None);
    }
    layout::refuse_links(folder)?;
    let is_own = match layout::lies_in(folder)? {
        Present::Nothing => return Ok(None),
        Present::State(state) => state.store.is_some() && state.store.as_deref() == identity,
        Present::Other => false,
    };
    if is_own {
        let failed = |source| StoreError::Io { path: folder.to_path_buf(), source };
        let frames = folder.join(FRAMES);
        if frames.is_dir() {
            for name in names(&frames)?.iter().filter(|name| is_ours(name)) {
                fs::remove_file(frames.join(name)).map_err(failed)?;
            }
            // A folder with foreign files in it stays, and so does the one around it.
            drop(fs::remove_dir(&frames));
        }
        fs::remove_file(folder.join(STATE)).map_err(failed)?;
        if names(folder)?.iter().all(|name| name == layout::IGNORE) {
            fs::remove_dir_all(folder).map_err(failed)?;
        }
    }
    Ok(Some(is_own))
}

/// Returns the name of each frame's file. Ids with the same name get different ones.
fn plan(frames: &BTreeMap<String, FrameMetadata>) -> HashMap<&str, String> {
    let mut names = HashMap::with_capacity(frames.len());
    let mut taken: HashSet<String> = HashSet::new();
    let (plain, changed): (Vec<_>, Vec<_>) =
        frames.keys().partition(|id| layout::is_plain(id.as_str()));
    for id in plain.into_iter().chain(changed) {
        let mut name = layout::file_name(id);
        if taken.contains(&name) {
            name = layout::distinct_file_name(id);
        }
        taken.insert(name.clone());
        names.insert(id.as_str(), name);
    }
    names
}

fn is_ours(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|it| it == "json") || unfinished::is_ours(name)
}

fn names(folder: &Path) -> Result<HashSet<String>, EngineError> {
    let failed = |source| StoreError::Io { path: folder.to_path_buf(), source };
    let mut names = HashSet::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        names.insert(entry.map_err(failed)?.file_name().to_string_lossy().into_owned());
    }
    Ok(names)
}

/// Renames files of another store or program, so that nothing of them is lost. Presets stay where they are.
fn set_aside(folder: &Path) -> Result<(), EngineError> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let named = |n: u32| folder.with_file_name(format!("{name}.before-{n}"));
    let mut n = 1;
    while named(n).exists() {
        n += 1;
    }
    let free = named(n);
    let failed = |source| StoreError::Io { path: folder.to_path_buf(), source };
    // Git would see them under the new name.
    keep_from_git(folder, true, Some(layout::PRESETS)).map_err(failed)?;
    fs::rename(folder, &free).map_err(failed)?;
    let presets = free.join(layout::PRESETS);
    if presets.is_dir() {
        fs::create_dir(folder)
            .and_then(|()| fs::rename(&presets, folder.join(layout::PRESETS)))
            .map_err(failed)?;
    }
    Ok(())
}

fn stamp(folder: &Path) -> Stamp {
    let metadata = fs::metadata(folder.join(STATE)).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

fn hash(frame: &FrameMetadata) -> u64 {
    let mut hasher = DefaultHasher::new();
    // A frame has only fields that can be serialized.
    serde_json::to_string(frame).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}
