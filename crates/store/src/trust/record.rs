//! The record of stores: one small file for each in the user's state folder. No database and no locks, since
//! homes may lie on a network, and no numbers of inodes or devices, which change with a restart.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::database::{DatabaseKey, KEY};
use super::{ID, bytes_of, log, store_folder};
use crate::error::StoreError;
use crate::kept::{self, KEPT};
use crate::locate::{DATABASE, restrict};
use crate::plain::{give_to_owner, make_private, open_plain};
use crate::sharing::give;

/// The folder of the record, in the user's state folder.
const STORES: &str = "stores";
/// The file that records where a store was made, in the store's folder there.
pub(crate) const RECORD: &str = "record";
/// More than any path is long.
const LONGEST: u64 = 64 * 1024;

/// Identifies a store: 32 random hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoreId(String);

impl fmt::Display for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StoreId {
    pub(super) fn random() -> Self {
        Self(Uuid::now_v7().simple().to_string())
    }

    /// Reads an id. It names a folder, so nothing else is taken for one.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let text = str::from_utf8(bytes).ok()?.trim_end();
        let is_id =
            text.len() == 32 && text.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'));
        is_id.then(|| Self(text.to_owned()))
    }

    /// Puts the id into a store's folder, in the place of another one only with `replace`; whether it did. It belongs
    /// to whom the database does: the one there, or the one of which `restored` is the mode and owner.
    pub(super) fn put(
        &self,
        folder: &Path,
        replace: bool,
        restored: Option<&fs::Metadata>,
    ) -> io::Result<bool> {
        let mut file = tempfile::Builder::new().prefix(".id-").tempfile_in(folder)?;
        writeln!(file, "{self}")?;
        let database = fs::metadata(folder.join(DATABASE)).ok();
        if let Some(database) = database.as_ref().or(restored) {
            give(file.as_file(), database);
        }
        readable_by_group(file.as_file())?;
        file.as_file().sync_all()?;
        let path = folder.join(ID);
        if replace {
            file.persist(path)?;
            return Ok(true);
        }
        match file.persist_noclobber(path) {
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            put => put.map(|_| true).map_err(Into::into),
        }
    }
}

/// Members of a group that shares the store's folder have to find the id, too.
#[cfg(unix)]
fn readable_by_group(file: &fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(fs::Permissions::from_mode(0o640))
}

#[cfg(not(unix))]
fn readable_by_group(_file: &fs::File) -> io::Result<()> {
    Ok(())
}

/// Where a store was made, or taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The store.
    pub id: StoreId,
    /// The project that it lies in, without links in its path.
    pub project: PathBuf,
}

impl Record {
    fn to_bytes(&self) -> Vec<u8> {
        let project = bytes_of(self.project.as_os_str());
        [format!("id {}\nproject ", self.id).into_bytes(), project, b"\n".to_vec()].concat()
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(b"id ")?;
        let (id, rest) = rest.split_at_checked(32)?;
        let project = rest.strip_prefix(b"\nproject ")?.strip_suffix(b"\n")?;
        Some(Self { id: StoreId::parse(id)?, project: path(project) })
    }
}

fn path(bytes: &[u8]) -> PathBuf {
    #[cfg(unix)]
    let path = PathBuf::from(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes));
    #[cfg(not(unix))]
    let path = PathBuf::from(String::from_utf8_lossy(bytes).as_ref());
    path
}

/// All records.
#[derive(Clone, Debug)]
pub(super) struct Records {
    folder: PathBuf,
}

impl Records {
    pub(super) fn at(state: &Path) -> Self {
        Self { folder: state.join(STORES) }
    }

    /// The folder that belongs to a store.
    pub(super) fn folder_of(&self, id: &StoreId) -> PathBuf {
        self.folder.join(&id.0)
    }

    /// The record of a store, if there is one.
    pub(super) fn read(&self, id: &StoreId) -> Result<Option<Record>, StoreError> {
        let bytes = self.read_file(id, RECORD)?;
        Ok(bytes.and_then(|bytes| Record::parse(&bytes)).filter(|record| record.id == *id))
    }

    /// The key of a store's database, if it is on record.
    pub(super) fn key(&self, id: &StoreId) -> Result<Option<DatabaseKey>, StoreError> {
        Ok(self.read_file(id, KEY)?.and_then(|bytes| DatabaseKey::parse(&bytes)))
    }

    /// Records the key of a store's database.
    pub(super) fn put_key(&self, id: &StoreId, key: &DatabaseKey) -> Result<(), StoreError> {
        self.write_file(id, KEY, &key.to_bytes())
    }

    /// Takes the key of a store's database from the record, so that the next one that is opened is taken for the
    /// store's.
    pub(super) fn forget_key(&self, id: &StoreId) -> Result<(), StoreError> {
        self.remove_file(id, KEY)
    }

    /// Reads a file of a store's record; none if it is missing, or if another user may have written it.
    fn read_file(&self, id: &StoreId, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.folder_of(id).join(name);
        let failed = |source| StoreError::Io { path: path.clone(), source };
        let file = match open_plain(OpenOptions::new().read(true), &path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(failed)?,
        };
        if !(self.is_own(&file.metadata().map_err(failed)?) && self.is_safe(id)?) {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        file.take(LONGEST).read_to_end(&mut bytes).map_err(failed)?;
        Ok(Some(bytes))
    }

    /// The folder in which everybody may put other records in the place of these, if there is one.
    pub(super) fn exposed(&self) -> Result<Option<PathBuf>, StoreError> {
        let there = self.folder.ancestors().find(|folder| folder.exists());
        let Some(there) = there.and_then(|folder| fs::canonicalize(folder).ok()) else {
            return Ok(None);
        };
        store_folder::exposed(&there)
    }

    /// Whether nobody else has made, or may change, the folder that belongs to a store. A missing one will be made by
    /// this user.
    pub(super) fn is_safe(&self, id: &StoreId) -> Result<bool, StoreError> {
        let folder = self.folder_of(id);
        let is_own = match fs::symlink_metadata(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => true,
            metadata => {
                let failed = |source| StoreError::Io { path: folder, source };
                self.is_own(&metadata.map_err(failed)?)
            }
        };
        Ok(is_own && self.exposed()?.is_none())
    }

    /// Whether a file or folder is this user's, and nobody else may write to it. Root may work with the records of
    /// the user whose state folder it is.
    #[cfg(unix)]
    fn is_own(&self, metadata: &fs::Metadata) -> bool {
        use std::os::unix::fs::MetadataExt as _;
        let (user, owner) = (rustix::process::geteuid(), metadata.uid());
        let is_of_all =
            || user.is_root() && fs::metadata(&self.folder).is_ok_and(|it| it.uid() == owner);
        metadata.mode() & 0o022 == 0 && (owner == user.as_raw() || is_of_all())
    }

    #[cfg(not(unix))]
    fn is_own(&self, _metadata: &fs::Metadata) -> bool {
        true
    }

    /// Writes a record.
    pub(super) fn write(&self, record: &Record) -> Result<(), StoreError> {
        self.write_file(&record.id, RECORD, &record.to_bytes())
    }

    /// Writes a record again whose project folder is newer: a copy has taken its place, with the store in it.
    pub(super) fn renew(&self, record: &Record) {
        let written = fs::metadata(self.folder_of(&record.id).join(RECORD));
        let written = written.and_then(|it| it.modified());
        let made = fs::metadata(&record.project).and_then(|it| it.created());
        if matches!((made, written), (Ok(made), Ok(written)) if made > written) {
            // Where it can't be written, a store that is deleted later does not come back.
            drop(self.write(record));
        }
    }

    /// Writes a file of a store's record as a whole: whoever reads it meanwhile finds the one before or this one.
    fn write_file(&self, id: &StoreId, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let folder = self.folder_of(id);
        let failed = |source| StoreError::Io { path: folder.clone(), source };
        make_private(&folder).and_then(|()| restrict(&folder)).map_err(failed)?;
        if !fs::symlink_metadata(&folder).is_ok_and(|it| self.is_own(&it)) {
            return Err(failed(io::Error::new(io::ErrorKind::PermissionDenied, "it is not yours")));
        }
        let mut file = tempfile::NamedTempFile::new_in(&folder).map_err(failed)?;
        file.write_all(bytes).map_err(failed)?;
        give_to_owner(file.as_file(), &folder);
        file.as_file().sync_all().map_err(failed)?;
        file.persist(folder.join(name)).map_err(|error| failed(error.error))?;
        Ok(())
    }

    /// Removes a record. What else belongs to the store stays, for the case that it is trusted again.
    pub(super) fn remove(&self, id: &StoreId) -> Result<(), StoreError> {
        self.remove_file(id, RECORD)?;
        self.remove_file(id, KEY)?;
        self.remove_file(id, log::RECORDED)?;
        if !kept::is_only_name(&self.folder_of(id)) {
            self.remove_file(id, KEPT)?;
            self.remove_file(id, kept::LOCK)?;
        }
        // It stays where there is something in it.
        drop(fs::remove_dir(self.folder_of(id)));
        Ok(())
    }

    fn remove_file(&self, id: &StoreId, name: &str) -> Result<(), StoreError> {
        let path = self.folder_of(id).join(name);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(StoreError::Io { path, source })
            }
            _ => Ok(()),
        }
    }

    /// Every record that can be read, in the order of the projects' paths.
    pub(super) fn all(&self) -> Result<Vec<Record>, StoreError> {
        self.sorted().map(|(records, _)| records)
    }

    /// The paths of the records that can't be read, such as those that root made.
    pub(super) fn unreadable(&self) -> Result<Vec<PathBuf>, StoreError> {
        self.sorted().map(|(_, unreadable)| unreadable)
    }

    /// The records, and the paths of those that can't be read.
    fn sorted(&self) -> Result<(Vec<Record>, Vec<PathBuf>), StoreError> {
        let failed = |source| StoreError::Io { path: self.folder.clone(), source };
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Default::default()),
            entries => entries.map_err(failed)?,
        };
        let (mut records, mut unreadable) = (Vec::new(), Vec::new());
        for entry in entries {
            let name = entry.map_err(failed)?.file_name();
            let Some(id) = StoreId::parse(&bytes_of(&name)) else { continue };
            match self.read(&id) {
                Ok(record) => records.extend(record),
                // One of them must not take all others away.
                Err(_) => unreadable.push(self.folder_of(&id).join(RECORD)),
            }
        }
        records.sort_by(|a, b| a.project.cmp(&b.project).then_with(|| a.id.cmp(&b.id)));
        unreadable.sort();
        Ok((records, unreadable))
    }
}
