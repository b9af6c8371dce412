//! Files and folders of a store that a group shares, or that root works with: whoever may use the database may use
//! them, too.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;

use crate::locate::DATABASE;

/// Lets whoever may use the database in the folder `store` use a file in that folder.
pub fn share_file_in(store: &Path, file: &File) {
    if let Ok(database) = fs::metadata(store.join(DATABASE)) {
        share(file, &database);
    }
}

/// Lets whoever may use the database in the folder `store` use a folder in it.
pub fn share_folder_in(store: &Path, folder: &Path) {
    if let Ok(database) = fs::metadata(store.join(DATABASE)) {
        // A folder of another member of the group is theirs.
        drop(share_folder(folder, &database));
    }
}

/// Lets whoever may use the database use a file beside it.
#[cfg(unix)]
pub(crate) fn share(file: &File, database: &Metadata) {
    use std::os::unix::fs::MetadataExt as _;
    let Ok(own) = file.metadata() else { return };
    // Only root may give a file away, and only to a group of one's own may others hand it.
    if own.gid() != database.gid() {
        drop(std::os::unix::fs::fchown(file, None, Some(database.gid())));
    }
    if own.uid() != database.uid() {
        drop(std::os::unix::fs::fchown(file, Some(database.uid()), None));
    }
    // If this fails, the file belongs to another member of the group, who has set the mode.
    if own.mode() != database.mode() {
        drop(file.set_permissions(database.permissions()));
    }
}

#[cfg(not(unix))]
pub(crate) fn share(_file: &File, _database: &Metadata) {}

/// Lets whoever may use a database use the folder in which it lies.
#[cfg(unix)]
pub(crate) fn share_folder(folder: &Path, database: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
    const GROUP: u32 = 0o060;
    if fs::metadata(folder)?.uid() != database.uid() {
        // Only root can.
        drop(chown(folder, Some(database.uid()), None));
    }
    if database.mode() & GROUP != GROUP {
        return Ok(());
    }
    // Files that are made in it belong to the group, too.
    let mode = fs::Permissions::from_mode(0o2770);
    chown(folder, None, Some(database.gid())).and_then(|()| fs::set_permissions(folder, mode))
}

#[cfg(not(unix))]
pub(crate) fn share_folder(_folder: &Path, _database: &Metadata) -> io::Result<()> {
    Ok(())
}
