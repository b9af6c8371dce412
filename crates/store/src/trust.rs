//! Which stores may be opened.
//!
//! A store lies in its project, and a project may come from anywhere: a cloned repository can bring a store whose
//! settings, links and database somebody else has made. So each store has a random id, and the user's state folder
//! records under that id in which project it was made. [`Registry::admit`] finds that record, and makes sure that
//! nothing in the store leads out of it, before anything in it is opened; what it hands out, [`Trusted`], is what
//! opening a store takes.

mod database;
mod inspect;
mod log;
mod record;
mod refusal;
mod settle;
mod store_folder;
mod take_over;
mod tracked;

use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::StoreError;
use crate::git_exclude::include_in_git;
use crate::kept;
use crate::locate::{DATABASE, FOLDER, is_ignoring_all, prepare, prepare_for};
use crate::plain::read_plain;
use record::Records;
use store_folder::Content;

pub(crate) use database::{DatabaseKey, check as check_key, has_no_table};
pub use inspect::{Foreign, Inspection};
pub(crate) use log::{
    LogKey, LogMark, LogOrigin, MARK, check_log, log_origin, logs_put_aside, put_log_aside,
};
pub(crate) use record::RECORD;
pub use record::{Record, StoreId};
pub use refusal::Distrust;
pub use take_over::TakenOver;

/// The file in a store's folder that holds the store's id.
pub(crate) const ID: &str = "id";

/// Lists the paths in a folder of a project that git tracks, or says why it can't be found out.
type ListTracked = dyn Fn(&Path, &str) -> Result<Vec<PathBuf>, String> + Send + Sync;

/// The record of stores in the user's state folder, and everything else that decides whether a store may be opened.
#[derive(Clone)]
pub struct Registry {
    records: Records,
    named: Vec<PathBuf>,
    tracked: Arc<ListTracked>,
    answers: tracked::Answers,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("records", &self.records).finish_non_exhaustive()
    }
}

impl Registry {
    /// The record in the user's state folder. `tracked` lists the paths in a folder of a project that git
    /// tracks; it is asked only where the project lies in a work tree.
    pub fn new(
        state: &Path,
        tracked: impl Fn(&Path, &str) -> Result<Vec<PathBuf>, String> + Send + Sync + 'static,
    ) -> Self {
        let (tracked, answers) = (Arc::new(tracked), Arc::default());
        Self { records: Records::at(state), named: Vec::new(), tracked, answers }
    }

    /// Trusts the stores of these projects without a record, for containers and continuous integration.
    #[must_use]
    pub fn trusting(mut self, projects: impl IntoIterator<Item = PathBuf>) -> Self {
        self.named.extend(projects.into_iter().filter_map(|it| it.canonicalize().ok()));
        self
    }

    /// Admits the store of a project. Where there is none, or only an empty folder, one is begun and
    /// recorded. Whatever else was not recorded, or is not as this program leaves it, is refused: nothing
    /// in it is opened or written.
    pub fn admit(&self, project: &Path) -> Result<Trusted, StoreError> {
        let project = resolved(project)?;
        self.refuse_exposed(&project)?;
        let content = store_folder::at(&project)?;
        // Where git tracks the id, it looks as if the store came from elsewhere.
        self.check_tracked(&project)?;
        let id = match content {
            Content::Filled => self.known(&project)?,
            Content::Absent | Content::Empty => self.begin(&project)?,
        };
        let states = self.records.is_safe(&id)?.then(|| self.records.folder_of(&id));
        Ok(Trusted { project, id: Some(id), states, registry: Some(self.clone()) })
    }

    /// Refuses a project, and a record, that other users of the machine could replace. A project that the user names
    /// is not refused.
    fn refuse_exposed(&self, project: &Path) -> Result<(), StoreError> {
        if self.is_named(project) {
            return Ok(());
        }
        if let Some(folder) = store_folder::exposed(project)? {
            return Err(Distrust::Exposed { folder }.into());
        }
        match self.records.exposed()? {
            Some(folder) => Err(Distrust::RecordExposed { folder }.into()),
            None => Ok(()),
        }
    }

    /// The id of a store that is recorded in this project.
    fn known(&self, project: &Path) -> Result<StoreId, StoreError> {
        let is_named = self.is_named(project);
        let mut id = id_of(project)?;
        let lost = if is_named { None } else { self.lost_id(project, id.as_ref())? };
        if let Some(lost) = lost {
            let folder = project.join(FOLDER);
            let put = lost.put(&folder, true, None);
            put.map_err(|source| StoreError::Io { path: folder, source })?;
            id = Some(lost);
        }
        let record = id.as_ref().map(|id| self.records.read(id)).transpose()?.flatten();
        match (id, record) {
            (Some(id), Some(record)) if record.project == project => {
                self.records.renew(&record);
                Ok(id)
            }
            // Records of the store that it is a copy of are not shared with it.
            (Some(id), Some(record)) if is_named && is_at(&record.project, &id) => {
                Ok(renamed(project, true))
            }
            (Some(id), _) if is_named => Ok(id),
            (None, _) if is_named => Ok(renamed(project, false)),
            (Some(_), Some(record)) => {
                let (project, recorded) = (project.to_path_buf(), record.project);
                Err(Distrust::Elsewhere { project, recorded }.into())
            }
            (id, _) => {
                if !project.join(FOLDER).join(DATABASE).exists() {
                    self.refuse_of_member(project)?;
                }
                let project = project.to_path_buf();
                Err(Distrust::Unrecorded { project, is_marked: id.is_some() }.into())
            }
        }
    }

    /// Makes and records an empty store. The record comes before the id: another process that finds the id
    /// finds the record too.
    ///
    /// Where the store of this project was deleted without taking it from the record, and its database is kept, it is
    /// begun with its id: processes that still have it open find their folder and put back what they hold, or else what
    /// is kept is put back.
    fn begin(&self, project: &Path) -> Result<StoreId, StoreError> {
        let earlier = self.last_used_in(project);
        if earlier.is_none() && !self.is_named(project) {
            self.refuse_of_member(project)?;
        }
        let states = earlier.as_ref().map(|id| self.records.folder_of(id));
        let returning = kept::returning(states.as_deref(), project);
        let folder = prepare_for(project, returning.as_ref())?;
        let mut id = earlier.clone().unwrap_or_else(StoreId::random);
        if earlier.is_none() {
            let record = Record { id: id.clone(), project: project.to_path_buf() };
            let recorded = self.records.write(&record);
            if !self.is_named(project) {
                recorded?;
            }
        }
        let stray = id_of(project)?;
        let is_stray = match &stray {
            Some(stray) => self.records.read(stray)?.is_none_or(|it| it.project != project),
            None => false,
        };
        let put = id.put(&folder, is_stray, returning.as_ref());
        let put = put.map_err(|source| StoreError::Io { path: folder, source })?;
        if !put {
            if earlier.is_none() {
                self.records.remove(&id)?;
            }
            // Another process has begun it at the same time.
            id = self.known(project)?;
        }
        Ok(id)
    }

    /// Returns the id of a store that a checkout has removed, or replaced by the one that was `found`: the database is
    /// still the file that is kept for it, or a checkout has removed that, too, and left what else lies there.
    fn lost_id(
        &self,
        project: &Path,
        found: Option<&StoreId>,
    ) -> Result<Option<StoreId>, StoreError> {
        let database = project.join(FOLDER).join(DATABASE);
        if !database.exists() {
            return Ok(if found.is_none() { self.last_used_in(project) } else { None });
        }
        self.id_of_kept(&database, project, found)
    }

    /// Returns the id of the store for which the `database` of a project is kept, unless the one that was `found` is on
    /// record there, too.
    fn id_of_kept(
        &self,
        database: &Path,
        project: &Path,
        found: Option<&StoreId>,
    ) -> Result<Option<StoreId>, StoreError> {
        let record = found.map(|found| self.records.read(found)).transpose()?.flatten();
        if record.is_some_and(|record| record.project == project) {
            return Ok(None);
        }
        Ok(self.last_used(project, |states| kept::is_kept(database, states)))
    }

    /// The store on record that was last used in a project, if its database is kept and can be put back.
    fn last_used_in(&self, project: &Path) -> Option<StoreId> {
        self.last_used(project, |states| kept::can_return(states, project))
    }

    /// The last used store of those on record in a project whose folder in the state folder `is_meant`.
    fn last_used(&self, project: &Path, is_meant: impl Fn(&Path) -> bool) -> Option<StoreId> {
        // If the records can't be read, the new one can't be written either, which is an error.
        let records = self.records.all().unwrap_or_default();
        let folder = |record: &Record| self.records.folder_of(&record.id);
        let here = records.into_iter().filter(|it| it.project == project && is_meant(&folder(it)));
        let used = here.filter(|record| matches!(self.records.key(&record.id), Ok(Some(_))));
        let last =
            used.max_by_key(|record| (kept::last_written(&folder(record)), record.id.clone()));
        last.map(|record| record.id)
    }

    /// Refuses to begin a store in the place of a deleted one that another member of the group restores.
    pub fn refuse_of_member(&self, project: &Path) -> Result<(), StoreError> {
        let project = &resolved(project)?;
        for record in self.records.all()?.into_iter().filter(|it| it.project == *project) {
            if let Some(owner) = kept::other_owner(&self.records.folder_of(&record.id), project) {
                return Err(Distrust::OfMember { folder: project.join(FOLDER), owner }.into());
            }
        }
        Ok(())
    }

    /// Whether a project's store was deleted, but not by callstack, and comes back when it is used.
    pub fn keeps(&self, project: &Path) -> bool {
        let is_absent = |project: &Path| fs::symlink_metadata(project.join(FOLDER)).is_err();
        resolved(project)
            .is_ok_and(|project| is_absent(&project) && self.last_used_in(&project).is_some())
    }

    /// Whether the state folder keeps a sound database of a project's store, which is another file than the one that is
    /// there and comes back once that is moved away.
    pub fn keeps_sound(&self, project: &Path) -> bool {
        let path = project.join(FOLDER).join(DATABASE);
        let has_sound = |trusted| kept::has_sound(&path, &trusted);
        self.admit(project).and_then(has_sound).unwrap_or(false)
    }

    /// Deletes a store that was found to be the user's own, and its files outside of the project, with those of earlier
    /// stores of the project that are nowhere else.
    pub fn delete(&self, trusted: &Trusted) -> Result<(), StoreError> {
        let record = trusted.id.as_ref().map(|id| self.records.read(id)).transpose()?.flatten();
        // As long as it is on record, a process that works with the store makes it again.
        if let Some(record) = &record {
            self.records.remove(&record.id)?;
        }
        let deleted = remove_folder(&trusted.folder())
            .and_then(|()| trusted.states.as_deref().map_or(Ok(()), remove_folder));
        if let (Err(_), Some(record)) = (&deleted, &record) {
            self.records.write(record)?;
        }
        deleted?;
        // Where it can't be changed, the line does no harm.
        drop(include_in_git(&trusted.project, FOLDER));
        // Else the next start would put back what one of them keeps.
        for earlier in self.records.all()?.into_iter().filter(|it| it.project == trusted.project) {
            let states = self.records.folder_of(&earlier.id);
            if kept::can_return(&states, &trusted.project) {
                self.records.remove(&earlier.id)?;
                remove_folder(&states)?;
            }
        }
        Ok(())
    }

    fn is_named(&self, project: &Path) -> bool {
        self.named.iter().any(|named| named == project)
    }

    fn check_tracked(&self, project: &Path) -> Result<(), StoreError> {
        let paths = self.tracked(project, FOLDER)?;
        if paths.is_empty() {
            return Ok(());
        }
        Err(Distrust::Tracked { project: project.to_path_buf(), paths }.into())
    }

    /// The paths in a folder that git tracks. That it tracks the file by which it ignores the store does no harm, as
    /// long as that ignores all of it.
    fn tracked_now(&self, project: &Path, folder: &str) -> Result<Vec<PathBuf>, StoreError> {
        if !project.join(folder).ancestors().any(|around| around.join(".git").exists()) {
            return Ok(Vec::new());
        }
        let unknown = |why| Distrust::Unclear { folder: project.join(folder), why };
        let mut paths = (self.tracked)(project, folder).map_err(unknown)?;
        let ignore = Path::new(FOLDER).join(".gitignore");
        // In a new store it gives way.
        let is_used = project.join(FOLDER).join(DATABASE).exists();
        let ignores_all = || is_ignoring_all(&project.join(&ignore));
        paths.retain(|path| *path != ignore || (is_used && !ignores_all()));
        Ok(paths)
    }

    /// Every store on record whose record can be read, in the order of their projects' paths.
    pub fn records(&self) -> Result<Vec<Record>, StoreError> {
        self.records.all()
    }

    /// The paths of the records that can't be read, such as those that root made in the user's state folder.
    pub fn unreadable_records(&self) -> Result<Vec<PathBuf>, StoreError> {
        self.records.unreadable()
    }

    /// Takes a project's store from the record, so that it is refused from then on; whether there was one.
    pub fn revoke(&self, project: &Path) -> Result<bool, StoreError> {
        let mut found = false;
        for record in self.records.all()?.iter().filter(|record| record.project == project) {
            self.records.remove(&record.id)?;
            found = true;
        }
        Ok(found)
    }
}

/// Proof that a store was found to be the user's own just now.
#[derive(Clone, Debug)]
pub struct Trusted {
    project: PathBuf,
    id: Option<StoreId>,
    states: Option<PathBuf>,
    registry: Option<Registry>,
}

impl Trusted {
    /// A store that nothing is asked about, for tests, examples and measurements.
    pub fn unchecked(project: &Path) -> Result<Self, StoreError> {
        prepare(project)?;
        Ok(Self { project: project.to_path_buf(), id: None, states: None, registry: None })
    }

    /// Checks again that it may be opened. One that has vanished meanwhile keeps its id.
    pub fn again(&self) -> Result<Self, StoreError> {
        let Some(registry) = &self.registry else { return Ok(self.clone()) };
        if store_folder::at(&self.project)? != Content::Filled {
            self.settle(false, self.returning().as_ref())?;
        }
        registry.admit(&self.project)
    }

    /// Makes the store's folder as [`prepare`] does, for those who may use the database that is restored there.
    pub fn prepare(&self) -> Result<PathBuf, StoreError> {
        prepare_for(&self.project, self.returning().as_ref())
    }

    /// Returns the folders in the state folder of earlier stores of the project whose databases would be restored.
    pub(crate) fn earlier_states(&self) -> Vec<PathBuf> {
        let Some(registry) = &self.registry else { return Vec::new() };
        // If the records can't be read, none of them is restored.
        let records = registry.records.all().unwrap_or_default();
        let here = records.into_iter().filter(|record| record.project == self.project);
        let folders = here.map(|record| registry.records.folder_of(&record.id));
        let is_earlier = |states: &PathBuf| {
            Some(states.as_path()) != self.states() && kept::can_return(states, &self.project)
        };
        folders.filter(is_earlier).collect()
    }

    /// Returns the mode and owner of the database that comes back.
    fn returning(&self) -> Option<Metadata> {
        kept::returning(self.states(), &self.project)
    }

    /// Whether it is known by an id, and not for tests and measurements.
    pub(crate) fn is_on_record(&self) -> bool {
        self.id.is_some()
    }

    /// Whether the environment names the project, so that its record is not asked.
    pub(crate) fn is_named(&self) -> bool {
        self.registry.as_ref().is_some_and(|registry| registry.is_named(&self.project))
    }

    /// The project's root folder.
    pub fn project(&self) -> &Path {
        &self.project
    }

    /// The store's folder.
    pub fn folder(&self) -> PathBuf {
        self.project.join(FOLDER)
    }

    /// The folder outside the project that belongs to this store, in the user's state folder.
    pub fn states(&self) -> Option<&Path> {
        self.states.as_deref()
    }
}

/// Returns the id in a store's folder; none if there is none, or if this program can't have written it.
fn id_of(project: &Path) -> Result<Option<StoreId>, StoreError> {
    let path = project.join(FOLDER).join(ID);
    let bytes = read_plain(&path, 100).map_err(|source| StoreError::Io { path, source })?;
    Ok(bytes.and_then(|bytes| StoreId::parse(&bytes)))
}

/// Gives a store an id of its own.
fn renamed(project: &Path, replace: bool) -> StoreId {
    let id = StoreId::random();
    // A store that can only be read can be read without it.
    drop(id.put(&project.join(FOLDER), replace, None));
    id
}

/// Removes a folder with all that is in it, also while a process writes to it for a moment more.
fn remove_folder(folder: &Path) -> Result<(), StoreError> {
    const PATIENCE: Duration = Duration::from_secs(2);
    const PAUSE: Duration = Duration::from_millis(20);
    let begun = Instant::now();
    loop {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound && !folder.exists() => return Ok(()),
            Err(_) if begun.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
            Err(source) => return Err(StoreError::Io { path: folder.to_path_buf(), source }),
            Ok(()) => return Ok(()),
        }
    }
}

/// Whether a project has the store of this id.
fn is_at(project: &Path, id: &StoreId) -> bool {
    store_folder::at(project).is_ok() && id_of(project).is_ok_and(|it| it.as_ref() == Some(id))
}

fn resolved(project: &Path) -> Result<PathBuf, StoreError> {
    let failed = |source| StoreError::Io { path: project.to_path_buf(), source };
    fs::canonicalize(project).map_err(failed)
}

/// The bytes of a path, where the system takes any.
fn bytes_of(path: &OsStr) -> Vec<u8> {
    #[cfg(unix)]
    let bytes = std::os::unix::ffi::OsStrExt::as_bytes(path).to_vec();
    #[cfg(not(unix))]
    let bytes = path.to_string_lossy().into_owned().into_bytes();
    bytes
}

#[cfg(all(test, unix))]
#[path = "trust_tests.rs"]
mod tests;
