//! Records of running servers in the user's state folder, so that a project is served only once.
//!
//! Each server has a file with its address and its token, which only its owner reads, and keeps another one locked as
//! long as it runs: a lock ends with its process, in whatever way that ends.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use callstack_engine::{EngineError, Kind};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::access::{Token, hexadecimal};

/// The folder of all records, in the user's state folder.
const SERVERS: &str = "servers";
/// The file that is locked while a server starts.
const STARTING: &str = "starting.lock";
/// The ending of the files that servers keep locked while they run.
const LOCK: &str = "lock";
/// The ending of the files with their addresses.
const RECORD: &str = "json";
/// The ending of the files that lead browsers to their pages.
const WAY_IN: &str = "html";

/// A server that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// The id of its process.
    pub pid: u32,
    /// The port of 127.0.0.1 that it listens on.
    pub port: u16,
    /// The token that clients have to send.
    pub token: String,
}

impl Running {
    /// Returns the address of its page, with the token after the `#`, where no server and no log sees it.
    pub fn page(&self) -> String {
        format!("http://127.0.0.1:{}/#{}", self.port, self.token)
    }
}

/// The record of a project's servers.
#[derive(Clone, Debug)]
pub struct Records {
    folder: PathBuf,
}

impl Records {
    /// Returns the record of the servers of `project` in the user's state folder.
    pub fn of(state: &Path, project: &Path) -> Self {
        Self { folder: state.join(SERVERS).join(key(project)) }
    }

    /// Returns the record of the servers of all projects.
    pub fn of_all(state: &Path) -> Self {
        Self { folder: state.join(SERVERS).join("all") }
    }

    /// Returns the servers that run.
    pub fn running(&self) -> Result<Vec<Running>, EngineError> {
        if self.folder.is_dir() { self.start()?.running() } else { Ok(Vec::new()) }
    }

    /// Begins the start of a server. Another one that starts meanwhile waits until this value is dropped.
    pub(crate) fn start(&self) -> Result<Starting<'_>, EngineError> {
        self.private_folder().map_err(|error| self.failed(&error))?;
        let lock = self.opened(STARTING).map_err(|error| self.failed(&error))?;
        lock.lock().map_err(|error| self.failed(&error))?;
        Ok(Starting { records: self, _lock: lock })
    }

    /// Writes a file that leads a browser to the page of a server. The token in an argument of a browser would be
    /// seen by every user of the computer.
    pub fn way_in(&self, server: &Running) -> Result<PathBuf, EngineError> {
        let page = server.page();
        let text = format!(
            "<!doctype html>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"refresh\" content=\"0;url={page}\">\n\
             <title>callstack</title>\n<a href=\"{page}\">The tree</a>\n"
        );
        self.private_folder()
            .and_then(|()| self.replace(&self.file(server.port, WAY_IN), text.as_bytes()))
            .map_err(|error| self.failed(&error))
    }

    /// Writes a file that only its owner reads.
    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
        // A temporary file is its owner's alone.
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(bytes)?;
        file.persist(path)?;
        Ok(path.to_path_buf())
    }

    /// Makes the folder, and makes sure that only its owner may enter it. A foreign folder could lead to a foreign
    /// server, and a link to any files.
    fn private_folder(&self) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
            let found = fs::symlink_metadata(&self.folder)?;
            if !found.is_dir() || found.uid() != rustix::process::geteuid().as_raw() {
                return Err(io::Error::other("it is a link, or belongs to another user"));
            }
            fs::set_permissions(&self.folder, fs::Permissions::from_mode(0o700))?;
        }
        Ok(())
    }

    fn opened(&self, name: &str) -> io::Result<File> {
        OpenOptions::new().write(true).create(true).truncate(false).open(self.folder.join(name))
    }

    fn file(&self, port: u16, ending: &str) -> PathBuf {
        self.folder.join(format!("{port}.{ending}"))
    }

    fn failed(&self, error: &io::Error) -> EngineError {
        EngineError::new(
            Kind::Unavailable,
            format!("servers can't be recorded in {}: {error}", self.folder.display()),
        )
        .with_hint("Make the folder yours to write.")
    }
}

/// The start of a server, during which no other server of the project starts.
#[derive(Debug)]
pub(crate) struct Starting<'r> {
    records: &'r Records,
    _lock: File,
}

impl Starting<'_> {
    /// Returns the servers that run. The records of those that were killed are removed.
    pub(crate) fn running(&self) -> Result<Vec<Running>, EngineError> {
        let mut found = Vec::new();
        let entries = fs::read_dir(&self.records.folder);
        for entry in entries.map_err(|error| self.records.failed(&error))?.flatten() {
            let path = entry.path();
            if path.extension().is_none_or(|ending| ending != RECORD) {
                continue;
            }
            let record = fs::read(&path).ok();
            let record = record.and_then(|it| serde_json::from_slice::<Running>(&it).ok());
            match record {
                Some(record) if self.runs(record.port)? => found.push(record),
                _ => {
                    drop(fs::remove_file(&path));
                    drop(fs::remove_file(path.with_extension(WAY_IN)));
                }
            }
        }
        found.sort_by_key(|record| record.port);
        Ok(found)
    }

    fn runs(&self, port: u16) -> Result<bool, EngineError> {
        let failed = |error: &io::Error| self.records.failed(error);
        let lock = match File::open(self.records.file(port, LOCK)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            lock => lock.map_err(|error| failed(&error))?,
        };
        match lock.try_lock() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(failed(&error)),
        }
    }

    /// Records a server of this process as long as the value lives.
    pub(crate) fn record(&self, port: u16, token: &Token) -> Result<Recorded, EngineError> {
        let running = Running { pid: std::process::id(), port, token: token.as_str().to_owned() };
        self.written(running).map_err(|error| self.records.failed(&error))
    }

    fn written(&self, running: Running) -> io::Result<Recorded> {
        let lock = self.records.opened(&format!("{}.{LOCK}", running.port))?;
        lock.lock()?;
        let path = self.records.file(running.port, RECORD);
        self.records.replace(&path, serde_json::to_string(&running)?.as_bytes())?;
        Ok(Recorded { running, path, _lock: lock })
    }
}

/// The record of a server of this process, which is removed when the value is dropped.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) running: Running,
    path: PathBuf,
    _lock: File,
}

impl Drop for Recorded {
    fn drop(&mut self) {
        // If a record stays, its free lock shows that it is out of date.
        drop(fs::remove_file(&self.path));
        drop(fs::remove_file(self.path.with_extension(WAY_IN)));
    }
}

/// Returns the key of a project's records, which is also its id for clients.
pub(crate) fn key(project: &Path) -> String {
    let digest = Sha256::digest(project.as_os_str().as_encoded_bytes());
    hexadecimal(digest.get(..8).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(records: &Records, port: u16) -> Recorded {
        records.start().unwrap().record(port, &Token::random().unwrap()).unwrap()
    }

    fn ports(records: &Records) -> Vec<u16> {
        let running = records.start().unwrap().running().unwrap();
        running.iter().map(|server| server.port).collect()
    }

    #[test]
    fn a_server_is_on_record_as_long_as_it_runs() {
        let state = tempfile::tempdir().unwrap();
        let records = Records::of(state.path(), Path::new("/a/project"));
        let (first, second) = (started(&records, 4096), started(&records, 4097));
        assert_eq!(ports(&records), [4096, 4097]);
        assert_eq!(ports(&Records::of(state.path(), Path::new("/another"))), [0; 0]);
        drop(first);
        assert_eq!(ports(&records), [4097]);
        drop(second);
        assert_eq!(ports(&records), [0; 0]);
    }

    #[test]
    fn one_that_was_killed_leaves_no_server_behind() {
        let state = tempfile::tempdir().unwrap();
        let records = Records::of(state.path(), Path::new("/a/project"));
        let server = started(&records, 4096);
        let left = fs::read(&server.path).unwrap();
        drop(server);
        let path = records.file(4096, RECORD);
        for text in [&left[..], b"", b"{}", b"\xff"] {
            fs::write(&path, text).unwrap();
            assert_eq!(ports(&records), [0; 0]);
            assert!(!path.exists());
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_is_a_link_is_refused() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let state = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(elsewhere.path(), open.clone()).unwrap();
        let records = Records::of(state.path(), Path::new("/a/project"));
        fs::create_dir_all(records.folder.parent().unwrap()).unwrap();
        symlink(elsewhere.path(), &records.folder).unwrap();
        let refused = records.start().unwrap_err();
        assert!(refused.message.ends_with("it is a link, or belongs to another user"), "{refused}");
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
        let mode = fs::metadata(elsewhere.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, open.mode());
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_reads_the_token() {
        use std::os::unix::fs::PermissionsExt as _;
        let state = tempfile::tempdir().unwrap();
        let records = Records::of(state.path(), Path::new("/a/project"));
        fs::create_dir_all(&records.folder).unwrap();
        fs::set_permissions(&records.folder, fs::Permissions::from_mode(0o777)).unwrap();
        let server = started(&records, 4096);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let way_in = records.way_in(&server.running).unwrap();
        assert_eq!(
            (mode(&server.path), mode(&way_in), mode(&records.folder)),
            (0o600, 0o600, 0o700)
        );
        assert!(fs::read_to_string(&way_in).unwrap().contains(&server.running.page()));
        drop(server);
        assert!(!way_in.exists());
    }
}
