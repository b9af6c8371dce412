//! Reasons why a store is not opened, and what its owner can do about it.

use std::path::{Path, PathBuf};

use crate::locate::FOLDER;

/// Why a store is not trusted. Nothing of it was opened.
#[derive(Debug, thiserror::Error)]
pub enum Distrust {
    /// It is not on record.
    #[error("the store {} was not made here", .project.join(FOLDER).display())]
    Unrecorded {
        /// The project it lies in.
        project: PathBuf,
        /// Whether it has an id. One without is from before there were any, or from elsewhere.
        is_marked: bool,
    },
    /// It is on record in another project.
    #[error("the store {} is the one of {}", .project.join(FOLDER).display(), .recorded.display())]
    Elsewhere {
        /// The project it lies in.
        project: PathBuf,
        /// The project it was made in.
        recorded: PathBuf,
    },
    /// Its database is not the one that is on record: a checkout may have put another one there.
    #[error("{} is not the database that callstack made here", .path.display())]
    OtherDatabase {
        /// The database.
        path: PathBuf,
    },
    /// A rollback journal lies beside its database, and SQLite would write it into that.
    #[error("{} is a rollback journal that callstack did not make", .path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
    },
    /// Its database has a trigger or a view, which would change what is stored.
    #[error("{} has the {kind} {name:?}, which callstack did not make", .path.display())]
    Code {
        /// The database.
        path: PathBuf,
        /// `trigger` or `view`.
        kind: String,
        /// Its name.
        name: String,
    },
    /// Git tracks paths in it, so that a checkout may replace them.
    #[error(
        "git tracks {}{} in {}", .paths.first().map_or(Path::new(FOLDER), PathBuf::as_path).display(),
        others(.paths), .project.display()
    )]
    Tracked {
        /// The project it lies in.
        project: PathBuf,
        /// The paths, relative to the project.
        paths: Vec<PathBuf>,
    },
    /// It can't be found out whether git tracks paths in it.
    #[error("it is not known whether git tracks paths in {}: {why}", .folder.display())]
    Unclear {
        /// The store's folder, or another one that callstack writes to.
        folder: PathBuf,
        /// The message of git.
        why: String,
    },
    /// A link leads out of it, or takes the place of a file of it.
    #[error("{} is a link", .path.display())]
    Link {
        /// The project it lies in.
        project: PathBuf,
        /// The link.
        path: PathBuf,
    },
    /// Something else is where a file or a folder belongs.
    #[error("{} is not the file or folder that a store has there", .path.display())]
    NoFile {
        /// The path.
        path: PathBuf,
    },
    /// It belongs to another user.
    #[error("the store {} belongs to another user, {owner}", .folder.display())]
    Owner {
        /// The store's folder.
        folder: PathBuf,
        /// The number of that user.
        owner: u32,
    },
    /// It was deleted, and its database is another user's, who alone restores it.
    #[error("the store {} was deleted, and its database belongs to another user, {owner}", .folder.display())]
    OfMember {
        /// The store's folder.
        folder: PathBuf,
        /// The number of that user.
        owner: u32,
    },
    /// Everybody may put another folder in its place.
    #[error("everybody may write to {}, and put another store there", .folder.display())]
    Exposed {
        /// The project it lies in, or a folder around that.
        folder: PathBuf,
    },
    /// Everybody may put other records in the place of the user's.
    #[error("everybody may write to {}, and so to the record of your stores", .folder.display())]
    RecordExposed {
        /// The folder of the records, or one around it.
        folder: PathBuf,
    },
    /// Everybody may write to it.
    #[error("everybody may write to {}", .path.display())]
    Open {
        /// The folder or file.
        path: PathBuf,
    },
}

fn others(paths: &[PathBuf]) -> String {
    match paths.len() {
        0 | 1 => String::new(),
        2 => " and another path".to_owned(),
        count => format!(" and {} other paths", count - 1),
    }
}

impl Distrust {
    /// Returns the next step for the user.
    pub fn hint(&self) -> String {
        let unused = "Nothing of it was used.";
        match self {
            Self::Unrecorded { is_marked: false, .. } => format!(
                "{unused} If it is yours, such as one that an older callstack made, `callstack trust` \
                 shows what is in it and takes it over; if it came with the project, remove it."
            ),
            Self::Unrecorded { is_marked: true, .. } => format!(
                "{unused} If it is yours, `callstack trust` shows what is in it and takes it over; if it \
                 came with the project, remove it. Containers set CALLSTACK_TRUST."
            ),
            Self::Elsewhere { .. } => format!(
                "{unused} If you have moved or copied the project, `callstack trust` takes the store over."
            ),
            Self::OtherDatabase { .. } => format!(
                "{unused} If you put it there, such as an old backup, `callstack trust` takes it over; if a \
                 checkout did, delete it."
            ),
            Self::Journal { .. } => format!(
                "{unused} If a checkout brought it, delete it. If a program such as a `sqlite3` shell was cut off while \
                 it wrote to the database, open that with it once."
            ),
            Self::Code { kind, .. } => format!(
                "If you made the {kind}, such as with a database browser, drop it there. Otherwise put a backup in the \
                 place of the database."
            ),
            Self::Tracked { .. } => format!(
                "{unused} A store is never committed: `git rm -r --cached {FOLDER}` takes it out of the \
                 repository. Where a branch brought it, check out another one. Delete the folder {FOLDER} only if \
                 callstack has never worked here: it holds what is yours."
            ),
            Self::Unclear { folder, .. } => {
                let name = folder.file_name().unwrap_or_default().display();
                format!("{unused} Have `git ls-files {name}` work there, and try again.")
            }
            Self::Link { .. } => {
                format!("{unused} A store holds no links out of it: remove it.")
            }
            Self::NoFile { .. } => format!("{unused} Remove what is in its place."),
            Self::Owner { .. } => {
                format!("{unused} Work as that user, or move the folder away if you don't know it.")
            }
            Self::OfMember { .. } => "None was begun in its place. It comes back, with the work of all who share it, \
                 when that user starts callstack here. If it is to stay deleted, `callstack trust --revoke` takes it \
                 from your record."
                .to_owned(),
            Self::Exposed { .. } | Self::RecordExposed { .. } => format!(
                "{unused} `chmod o-w` on that folder lets you go on; containers set CALLSTACK_TRUST."
            ),
            Self::Open { .. } => format!(
                "{unused} Look whether what is in it is yours; then `chmod -R o-w {FOLDER}` lets you go on."
            ),
        }
    }
}
