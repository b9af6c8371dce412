//! Restores files without losing what other programs write to them meanwhile.
//!
//! The new content of a file is written to another place and exchanged with the file. The old file is compared with
//! the one that was there when the restore was decided, at once and again at the end, since an editor may still have
//! it open. A file that differs is put back, or stays beside the new one under a name that shows that.

mod folder_entry;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use callstack_engine::{LeftAlone, Why};
use rustix::fs::Mode;
use rustix::io::Errno;

use crate::git::GitError;
use crate::own;
use crate::shadow::Shadow;
use crate::tree::{self, Recorded};
use folder_entry::FolderEntry;

/// The folder in which new files are made: it is no part of a state and on the same file system.
const ASIDE: [&str; 2] = [".callstack", "restoring"];
const NEW: &str = "new";
const OLD: &str = "old";
/// The time for which a program that has a replaced file open may still write to it.
const SETTLING: Duration = Duration::from_millis(100);

impl Shadow {
    /// Restores files to the state `to`, where they are as in the state `from`; those that `to` does not contain are
    /// removed. Returns those that are left as they are.
    pub(crate) fn restore(
        &self,
        from: &str,
        to: &str,
        paths: &[String],
        until: Instant,
    ) -> Result<Vec<LeftAlone>, GitError> {
        let _alone = self.alone(until)?;
        let mut left = self.recover(until)?;
        if paths.is_empty() {
            return Ok(left);
        }
        let (expected, wanted) = (self.recorded(from, until)?, self.recorded(to, until)?);
        let mut aside = Aside::make(&self.project)?;
        let made = paths.iter().map(String::as_bytes).filter(|path| wanted.contains_key(*path));
        let list = made.collect::<Vec<_>>().join(&0);
        if !list.is_empty() {
            let source = format!("--source={to}");
            let restore =
                ["restore", &source, "--worktree", "--pathspec-from-file=-", "--pathspec-file-nul"];
            let call = self.git_in(&aside.path.join(NEW), until).args(restore);
            call.with_index(&aside.path.join("index")).run(&list)?;
        }
        let is_wanted = |path: &&String| wanted.contains_key(path.as_bytes());
        for path in paths.iter().filter(|path| !is_wanted(path)) {
            aside.remove(path, expected.get(path.as_bytes()));
        }
        for path in paths.iter().filter(is_wanted) {
            aside.put(path, expected.get(path.as_bytes()), wanted.get(path.as_bytes()));
        }
        left.extend(aside.settle());
        Ok(left)
    }

    /// Keeps the files that a killed process had taken away during a restore: those that are in no state stay beside
    /// their file.
    fn recover(&self, until: Instant) -> Result<Vec<LeftAlone>, GitError> {
        let folder = self.project.join(ASIDE[0]).join(ASIDE[1]);
        let roots = [NEW, OLD].map(|root| folder.join(root));
        let mut found: Vec<(&Path, PathBuf)> = Vec::new();
        if !own::is_folder(&self.project.join(ASIDE[0]))? || !own::is_folder(&folder)? {
            return Ok(Vec::new());
        }
        for root in &roots {
            found.extend(files(root).into_iter().map(|path| (root.as_path(), path)));
        }
        let mut aside = Aside::make(&self.project)?;
        let mut contents = Vec::new();
        for (root, path) in &found {
            let place =
                folder_entry::open(root).and_then(|root| FolderEntry::of(&root, path, None));
            let id = place.ok().and_then(|it| it.recorded()).map(|it| it.id);
            contents.push(id.unwrap_or_default());
        }
        let known = contents.iter().map(Vec::as_slice).filter(|id| !id.is_empty());
        let missing = self.git_with_alternates(until).missing(known)?;
        for ((root, path), id) in found.iter().zip(&contents) {
            if id.is_empty() || missing.contains(id) {
                let place =
                    folder_entry::open(root).and_then(|root| FolderEntry::of(&root, path, None));
                if let (Ok(place), Some(path)) = (place, path.to_str()) {
                    aside.keep_beside(path, &place);
                } else {
                    aside.is_needed = true;
                }
            }
        }
        if aside.is_needed {
            let path = aside.path.display();
            return Err(GitError::Foreign(format!("{path} holds files that belong elsewhere")));
        }
        Ok(aside.settle())
    }

    /// Returns the entries of a state, by path.
    fn recorded(
        &self,
        state: &str,
        until: Instant,
    ) -> Result<BTreeMap<Vec<u8>, Recorded>, GitError> {
        let list = self.git_with_alternates(until).args(["ls-tree", "-r", "-z", state]).run(&[])?;
        Ok(tree::listed(&list).map(|(path, recorded)| (path.to_vec(), recorded)).collect())
    }
}

/// Returns the files below a folder, without those that are reached through links.
fn files(root: &Path) -> Vec<PathBuf> {
    let (mut folders, mut found) = (vec![PathBuf::new()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder)).into_iter().flatten().flatten() {
            let path = folder.join(entry.file_name());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found
}

/// The folder where files are made and kept until it is sure that they are not needed.
struct Aside {
    project: OwnedFd,
    new: OwnedFd,
    old: OwnedFd,
    path: PathBuf,
    /// The files that came out of the project.
    taken: Vec<Taken>,
    left: Vec<LeftAlone>,
    reported: BTreeSet<String>,
    /// Whether something in it is kept nowhere else.
    is_needed: bool,
}

/// A file that came out of the project.
struct Taken {
    path: String,
    place: FolderEntry,
    expected: Recorded,
    /// The entry that was put there instead.
    put: Option<Recorded>,
}

impl Aside {
    fn make(project: &Path) -> Result<Self, GitError> {
        let path = project.join(ASIDE[0]).join(ASIDE[1]);
        let opened = || -> io::Result<_> {
            let root = folder_entry::open(project)?;
            let aside = Path::new(ASIDE[0]).join(ASIDE[1]);
            let folder = |name| folder_entry::folder(&root, &aside.join(name), Some(Mode::RWXU));
            let (new, old) = (folder(NEW)?, folder(OLD)?);
            Ok((root, new, old))
        };
        let (project, new, old) = opened().map_err(|error| own::unwritable(&path, error))?;
        let (taken, left, reported) = (Vec::new(), Vec::new(), BTreeSet::new());
        Ok(Self { project, new, old, path, taken, left, reported, is_needed: false })
    }

    fn leave(&mut self, path: &str, why: Why, kept: Option<String>) {
        if self.reported.insert(path.to_owned()) || kept.is_some() {
            self.left.push(LeftAlone { path: path.to_owned(), why, kept });
        }
    }

    /// Takes a file away.
    fn remove(&mut self, path: &str, expected: Option<&Recorded>) {
        let place = FolderEntry::of(&self.project, Path::new(path), None);
        let out = FolderEntry::of(&self.old, Path::new(path), Some(Mode::RWXU));
        let (Ok(place), Ok(out), Some(expected)) = (place, out, expected) else {
            return self.leave(path, Why::NotWritable, None);
        };
        let moved = match place.move_to(&out) {
            Err(Errno::XDEV) => beside(&place, "old").and_then(|near| {
                place.move_to(&near)?;
                Ok(near)
            }),
            moved => moved.map(|()| out).map_err(io::Error::from),
        };
        match moved {
            Ok(out) => {
                folder_entry::prune(&self.project, Path::new(path));
                self.take(path, out, expected, None);
            }
            // Somebody else has removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => self.leave(path, Why::NotWritable, None),
        }
    }

    /// Puts a file in its place.
    fn put(&mut self, path: &str, expected: Option<&Recorded>, wanted: Option<&Recorded>) {
        let place =
            FolderEntry::of(&self.project, Path::new(path), Some(Mode::from_raw_mode(0o777)));
        let new = FolderEntry::of(&self.new, Path::new(path), None);
        let (Ok(place), Ok(mut new)) = (place, new) else {
            return self.leave(path, Why::NotWritable, None);
        };
        let change = |new: &FolderEntry| match expected {
            Some(_) => {
                new.permit_as(&place);
                new.exchange(&place)
            }
            None => new.move_to(&place),
        };
        let mut changed = change(&new);
        if changed == Err(Errno::XDEV) {
            let near = beside(&place, "new").and_then(|near| new.copy_to(&near).map(|()| near));
            let Ok(near) = near else { return self.leave(path, Why::NotWritable, None) };
            new = near;
            changed = change(&new);
            if changed.is_err() {
                new.remove();
            }
        }
        match (changed, expected) {
            (Ok(()), Some(expected)) => self.take(path, new, expected, wanted),
            (Ok(()), None) => {}
            (Err(Errno::EXIST), None) if !place.is_folder() => {
                self.leave(path, Why::WrittenMeanwhile, None);
            }
            // It was removed by somebody else.
            (Err(Errno::NOENT), Some(_)) => self.leave(path, Why::WrittenMeanwhile, None),
            _ => self.leave(path, Why::NotWritable, None),
        }
    }

    /// Keeps the replaced file, or puts it back if it is not the expected one.
    fn take(
        &mut self,
        path: &str,
        place: FolderEntry,
        expected: &Recorded,
        put: Option<&Recorded>,
    ) {
        let (expected, put) = (expected.clone(), put.cloned());
        let taken = Taken { path: path.to_owned(), place, expected, put };
        if taken.place.recorded().as_ref() == Some(&taken.expected) {
            self.taken.push(taken);
        } else {
            self.give_back(&taken);
        }
    }

    fn give_back(&mut self, taken: &Taken) {
        let path = taken.path.as_str();
        let make = Some(Mode::from_raw_mode(0o777));
        let Ok(place) = FolderEntry::of(&self.project, Path::new(path), make) else {
            return self.keep_beside(path, &taken.place);
        };
        let given = if taken.put.is_none() {
            taken.place.move_to(&place)
        } else {
            match taken.place.exchange(&place) {
                Err(Errno::NOENT) => taken.place.move_to(&place),
                Ok(()) if taken.place.recorded() == taken.put => {
                    taken.place.remove();
                    Ok(())
                }
                // It was written after it had been restored, and is newer.
                Ok(()) => taken.place.exchange(&place).and(Err(Errno::EXIST)),
                given => given,
            }
        };
        match given {
            Ok(()) => self.leave(path, Why::WrittenMeanwhile, None),
            Err(_) => self.keep_beside(path, &taken.place),
        }
    }

    /// Keeps a file under a name of its own.
    fn keep_beside(&mut self, path: &str, out: &FolderEntry) {
        let make = Some(Mode::from_raw_mode(0o777));
        let near = Path::new(path);
        let far = near.file_name().map_or(near, Path::new);
        for path_there in [near, far] {
            let Ok(place) = FolderEntry::of(&self.project, path_there, make) else { continue };
            for n in 1..1000 {
                let name = folder_entry::kept_name(place.name(), n);
                let kept = path_there.with_file_name(&name).to_string_lossy().into_owned();
                match place.beside(name).map(|beside| out.move_to(&beside)) {
                    Ok(Ok(())) => return self.leave(path, Why::WrittenMeanwhile, Some(kept)),
                    Ok(Err(Errno::EXIST)) => {}
                    _ => break,
                }
            }
        }
        self.is_needed = true;
        let kept = self.path.display().to_string();
        self.leave(path, Why::WrittenMeanwhile, Some(kept));
    }

    /// Checks all replaced files once more, and drops them. Returns the files that are left as they are.
    fn settle(mut self) -> Vec<LeftAlone> {
        let taken = std::mem::take(&mut self.taken);
        if !taken.is_empty() {
            thread::sleep(SETTLING);
        }
        for taken in taken {
            if taken.place.recorded().as_ref() == Some(&taken.expected) {
                taken.place.remove();
            } else {
                self.give_back(&taken);
            }
        }
        if !self.is_needed {
            // Files that remain there are handled the next time.
            drop(fs::remove_dir_all(&self.path));
        }
        self.left
    }
}

/// Returns a name beside a file for one that is made or replaced there.
fn beside(place: &FolderEntry, what: &str) -> io::Result<FolderEntry> {
    let mut name = std::ffi::OsString::from(".");
    name.push(place.name());
    name.push(format!(".callstack-{what}-{}", std::process::id()));
    place.beside(name)
}
