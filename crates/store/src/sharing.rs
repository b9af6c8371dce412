//! Files and folders of a store that a group shares, or that root works with: whoever may use the database may use
//! them, too.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;

use crate::checkpoint::NOTE;
use crate::locate::DATABASE;
#[cfg(unix)]
use crate::locate::open_folder;
use crate::presence::beside;
use crate::trust::MARK;

/// Lets whoever may use the database in the folder `store` use a file in that folder.
pub fn share_file_in(store: &Path, file: &File) {
    share_file_for(store, file, None);
}

/// The same where the database may not be there yet, and `restored` is the mode and owner that it will have.
pub(crate) fn share_file_for(store: &Path, file: &File, restored: Option<&Metadata>) {
    let database = fs::metadata(store.join(DATABASE)).ok();
    if let Some(database) = database.as_ref().or(restored) {
        share(file, database);
    }
}

/// Lets whoever may use the database in the folder `store` use a folder in it.
pub fn share_folder_in(store: &Path, folder: &Path) {
    if let Ok(database) = fs::metadata(store.join(DATABASE)) {
        // A folder of another member of the group is theirs.
        drop(share_folder(folder, &database));
    }
}

/// Gives a file to the owner and the group of another one.
#[cfg(unix)]
pub(crate) fn give(file: &File, other: &Metadata) {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    let Ok(own) = file.metadata() else { return };
    // Only root may give a file away, and only to a group of one's own may others hand it.
    if own.gid() != other.gid() {
        drop(fchown(file, None, Some(other.gid())));
    }
    if own.uid() != other.uid() {
        drop(fchown(file, Some(other.uid()), None));
    }
}

#[cfg(not(unix))]
pub(crate) fn give(_file: &File, _other: &Metadata) {}

/// Lets whoever may use the database use a file beside it.
#[cfg(unix)]
pub(crate) fn share(file: &File, database: &Metadata) {
    use std::os::unix::fs::MetadataExt as _;
    let Ok(own) = file.metadata() else { return };
    give(file, database);
    // If this fails, the file belongs to another member of the group, who has set the mode.
    let mode = mode_of(database);
    if own.mode() & 0o7777 != std::os::unix::fs::PermissionsExt::mode(&mode) {
        drop(file.set_permissions(mode));
    }
}

/// The permissions of a file that belongs to a store, of the owner and the group: another member of the group may have
/// set any for the database, such as those of a program that runs as its owner.
#[cfg(unix)]
fn mode_of(database: &Metadata) -> fs::Permissions {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    fs::Permissions::from_mode(database.mode() & 0o660)
}

#[cfg(not(unix))]
fn mode_of(database: &Metadata) -> fs::Permissions {
    database.permissions()
}

#[cfg(not(unix))]
pub(crate) fn share(_file: &File, _database: &Metadata) {}

/// Lets whoever may use a database use the folder in which it lies. A link is not followed.
#[cfg(unix)]
pub(crate) fn share_folder(folder: &Path, database: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
    let folder = open_folder(folder)?;
    if folder.metadata()?.uid() != database.uid() {
        // Only root can.
        drop(fchown(&folder, Some(database.uid()), None));
    }
    if !is_shared(database) {
        return Ok(());
    }
    // Files that are made in it belong to the group, too.
    let mode = fs::Permissions::from_mode(0o2770);
    fchown(&folder, None, Some(database.gid())).and_then(|()| folder.set_permissions(mode))
}

#[cfg(not(unix))]
pub(crate) fn share_folder(_folder: &Path, _database: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Whether a group may use a database.
#[cfg(unix)]
pub(crate) fn is_shared(database: &Metadata) -> bool {
    const GROUP: u32 = 0o060;
    std::os::unix::fs::MetadataExt::mode(database) & GROUP == GROUP
}

#[cfg(not(unix))]
pub(crate) fn is_shared(_database: &Metadata) -> bool {
    false
}

/// Takes the permissions of everybody but the owner off the files of a database whose folder is the owner's alone:
/// other members of the group have hard links to the files, and permissions are those of the file.
#[cfg(unix)]
pub(crate) fn end_sharing(database: &Path) {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    const GROUP: u32 = 0o070;
    const OTHERS: u32 = 0o077;
    let folder = database.parent().map(fs::symlink_metadata);
    if folder.and_then(Result::ok).is_none_or(|folder| folder.mode() & GROUP != 0) {
        return;
    }
    let [log, index] = beside(database);
    let [mark, note] = [MARK, NOTE].map(|name| database.with_file_name(name));
    for path in [database, &log, &index, &mark, &note] {
        let Ok(file) = fs::symlink_metadata(path) else { continue };
        if file.is_file() && file.mode() & OTHERS != 0 {
            // By its path, since to open it and close it again would cost this process its locks. One that belongs to
            // another member of the group stays as it is.
            drop(fs::set_permissions(path, fs::Permissions::from_mode(file.mode() & 0o600)));
        }
    }
}

#[cfg(not(unix))]
pub(crate) fn end_sharing(_database: &Path) {}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_folder_behind_a_link_is_not_shared() {
        let folder = tempfile::tempdir().unwrap();
        let (private, link) = (folder.path().join("private"), folder.path().join("link"));
        let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
        fs::create_dir(&private).unwrap();
        set(&private, 0o700).unwrap();
        symlink(&private, &link).unwrap();
        let database = folder.path().join(DATABASE);
        fs::write(&database, "").unwrap();
        set(&database, 0o660).unwrap();
        share_folder(&link, &fs::metadata(&database).unwrap()).unwrap_err();
        assert_eq!(fs::metadata(&private).unwrap().permissions().mode() & 0o7777, 0o700);
        share_folder(&private, &fs::metadata(&database).unwrap()).unwrap();
        assert_eq!(fs::metadata(&private).unwrap().permissions().mode() & 0o7777, 0o2770);
    }
}
