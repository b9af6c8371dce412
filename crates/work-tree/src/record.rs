//! Recording the files as they are now.
//!
//! Git fails as a whole at a single file that it can't read. Such files are detected before, or found when git has
//! failed, and an entry without content is recorded for each of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{ErrorKind, Read as _};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use callstack_engine::LARGEST_FILE;

use crate::git::user::UserSettings;
use crate::git::{self, Git, GitError};
use crate::shadow::Shadow;
use crate::tree::{self, IndexEntry};

/// Paths that follow the tree of frames by themselves.
const OURS: [&[u8]; 2] = [b".callstack/", b".opencode/stack/"];
/// The most bytes of all files that the project's repository does not track: a set of data beside the sources is not
/// copied. The largest are left out first.
const ROOM: u64 = 1024 * 1024 * 1024;
/// The most that git is given at a time: bytes of files, and files. Files that it has read are known the next time,
/// even if the others took too long.
const PORTION: u64 = 64 * 1024 * 1024;
const FILES: usize = 20_000;

/// More than a tick of the clock with which files are dated.
const TICK: Duration = Duration::from_millis(20);

/// The entry of a path in a state.
#[derive(Debug)]
enum Held {
    Nothing,
    /// The content.
    Content(Metadata),
    /// That there is a file; the name of its entry.
    Presence(String),
}

/// The files of a project, as its own repository sees them.
struct Listed<'a> {
    tracked: BTreeSet<&'a [u8]>,
    /// Those that are not tracked, nor ignored.
    others: BTreeSet<&'a [u8]>,
}

impl<'a> Listed<'a> {
    /// Reads git's output in the format `-t -z`.
    fn of(output: &'a [u8]) -> Self {
        let (mut tracked, mut others) = (BTreeSet::new(), BTreeSet::new());
        for line in output.split(|byte| *byte == 0) {
            match line {
                [b'?', b' ', path @ ..] => others.insert(path),
                [_, b' ', path @ ..] => tracked.insert(path),
                _ => false,
            };
        }
        Self { tracked, others }
    }

    /// Whether a path is among them. A file that was among them and still exists is ignored now.
    fn holds(&self, path: &[u8]) -> bool {
        self.tracked.contains(path) || self.others.contains(path)
    }
}

/// A change of our index.
#[derive(Default)]
struct Update<'a> {
    gone: Vec<&'a [u8]>,
    unrecorded: Vec<(&'a [u8], String)>,
    content: Vec<(&'a [u8], u64)>,
}

impl Shadow {
    /// Records the files as they are now. Returns the name of the state.
    pub(crate) fn record(&self, until: Instant) -> Result<String, GitError> {
        let _alone = self.alone(until)?;
        let list = ["ls-files", "-z", "-t", "--cached", "--others", "--exclude-standard"];
        let list = Git::at(&self.project, until).args(list);
        let more = UserSettings::of(&self.project, until)?;
        let excludes = more.excludes().map(|file| [OsStr::new("--exclude-from"), file.as_os_str()]);
        let listed = list.args(excludes.into_iter().flatten()).run(&[])?;
        let listed = Listed::of(&listed);
        let state = match self.state(&listed, until) {
            // Objects that our index names may be gone, or the index was not written completely.
            Err(GitError::Refused(_)) => {
                self.forget()?;
                self.state(&listed, until)
            }
            state => state,
        };
        if let Err(GitError::Slow) = state {
            self.sweep();
        }
        state
    }

    fn state(&self, listed: &Listed<'_>, until: Instant) -> Result<String, GitError> {
        self.follow(listed, until)?;
        let tree = self.git_with_alternates(until).args(["write-tree"]).run(&[])?;
        let state = String::from_utf8_lossy(&tree).trim().to_owned();
        self.keep_borrowed(&state, until)?;
        Ok(state)
    }

    /// Makes our index match the files.
    fn follow(&self, listed: &Listed<'_>, until: Instant) -> Result<(), GitError> {
        let began = SystemTime::now();
        let known = self.own_git(until).args(["ls-files", "-z", "--stage"]).run(&[])?;
        let known: BTreeMap<&[u8], IndexEntry<'_>> = tree::indexed(&known).collect();
        // Git would read a nested repository, under its configuration.
        let differing = [
            "diff-files",
            "-z",
            "--raw",
            "--no-abbrev",
            "--no-ext-diff",
            "--ignore-submodules=all",
        ];
        let differing = self.own_git(until).args(differing).run(&[])?;
        let differing = tree::entries(&differing).map(|entry| entry.path);
        let fresh = listed.tracked.iter().chain(&listed.others).copied();
        let fresh = fresh.filter(|path| !known.contains_key(path));
        let standing = known.iter().filter(|(_, it)| matches!(it, IndexEntry::Presence(_)));
        let mut folders = Folders { project: &self.project, links: HashMap::new() };
        let others = listed.others.iter().filter(|path| is_taken(path));
        let sizes = others.filter_map(|path| Some((folders.metadata(path).ok()?.len(), *path)));
        let crowd = beyond(sizes.collect(), ROOM);
        let ignored = known.keys().copied().filter(|path| !listed.holds(path));
        let paths = differing.chain(fresh).chain(standing.map(|(path, _)| *path)).chain(ignored);
        let paths: BTreeSet<&[u8]> = paths.chain(crowd.iter().copied()).collect();
        let is_too_large = |path: &[u8], metadata: &Metadata| {
            let counts = metadata.is_file() && !listed.tracked.contains(path);
            counts && (metadata.len() > LARGEST_FILE || crowd.contains(path))
        };

        let mut update = Update::default();
        for path in paths.into_iter().filter(|path| is_taken(path)) {
            let before = known.get(path);
            let held = match folders.held(path) {
                Held::Content(metadata) if !listed.holds(path) || is_too_large(path, &metadata) => {
                    Held::Presence(tree::unrecorded(Some(&metadata)))
                }
                held => held,
            };
            match held {
                Held::Nothing if before.is_some() => update.gone.push(path),
                Held::Nothing => {}
                Held::Content(metadata) => update.content.push((path, metadata.len())),
                Held::Presence(name) => {
                    if before != Some(&IndexEntry::Presence(name.as_bytes())) {
                        update.unrecorded.push((path, name));
                    }
                }
            }
        }
        self.enter(&update.gone, &update.unrecorded, until)?;
        for portion in portions(&update.content) {
            self.take(portion, until)?;
        }
        self.date_index(began);
        Ok(())
    }

    /// Sets the time of our index to the beginning of a recording. Git takes a file for unchanged if its time and
    /// size are those in the index and its time is before the index's own. So it reads those again that were written
    /// while they were recorded, in the same tick of the clock and with the same size.
    fn date_index(&self, began: SystemTime) {
        let Some(time) = began.checked_sub(TICK) else { return };
        if let Ok(index) = File::options().write(true).open(self.folder().join("index")) {
            // Without it, git compares all the files.
            drop(index.set_modified(time));
        }
    }

    /// Records the content of files. Those that can't be read are found once git has failed.
    fn take(&self, files: &[(&[u8], u64)], until: Instant) -> Result<(), GitError> {
        let update = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
        let take = |paths: &[&[u8]]| {
            self.git_with_alternates(until).args(update).run(&terminated(paths.iter().copied()))
        };
        let mut paths: Vec<&[u8]> = files.iter().map(|(path, _)| *path).collect();
        let Err(failure) = take(&paths) else { return Ok(()) };
        let GitError::Refused(_) = failure else { return Err(failure) };
        let mut unreadable = Vec::new();
        paths.retain(|path| {
            let name = unreadable_name(&self.project.join(git::path(path)));
            let reads = name.is_none();
            unreadable.extend(name.map(|name| (*path, name)));
            reads
        });
        if unreadable.is_empty() {
            return Err(failure);
        }
        self.enter(&[], &unreadable, until)?;
        take(&paths).map(drop)
    }

    /// Removes entries from our index, and adds those for files without recorded content.
    fn enter(
        &self,
        gone: &[&[u8]],
        unrecorded: &[(&[u8], String)],
        until: Instant,
    ) -> Result<(), GitError> {
        let gone = gone.iter().map(|path| (tree::nothing(), *path));
        let standing = unrecorded.iter().map(|(path, name)| (tree::presence(name), *path));
        let lines =
            gone.chain(standing).map(|(what, path)| [what.as_bytes(), b"\t", path].concat());
        let lines: Vec<_> = lines.collect();
        if lines.is_empty() {
            return Ok(());
        }
        let enter = ["update-index", "--add", "--replace", "-z", "--index-info"];
        let input = terminated(lines.iter().map(Vec::as_slice));
        self.own_git(until).args(enter).run(&input).map(drop)
    }
}

/// Folders of a project, and which of them are links to others.
struct Folders<'a> {
    project: &'a Path,
    links: HashMap<&'a [u8], bool>,
}

impl<'a> Folders<'a> {
    fn held(&mut self, path: &'a [u8]) -> Held {
        if self.is_in_link(path) {
            return Held::Nothing;
        }
        match self.metadata(path) {
            Err(ErrorKind::NotFound | ErrorKind::NotADirectory) => Held::Nothing,
            // A folder in git's list is a repository of its own.
            Ok(metadata) if metadata.is_dir() => Held::Nothing,
            Ok(metadata) if metadata.is_symlink() || metadata.is_file() => Held::Content(metadata),
            Ok(metadata) => Held::Presence(tree::unrecorded(Some(&metadata))),
            Err(_) => Held::Presence(tree::unrecorded(None)),
        }
    }

    /// Whether a path leads through a link, and so to a file that lies elsewhere.
    fn is_in_link(&mut self, path: &'a [u8]) -> bool {
        let Some(end) = path.iter().rposition(|byte| *byte == b'/') else { return false };
        let folder = &path[..end];
        if let Some(known) = self.links.get(folder) {
            return *known;
        }
        let is_link = self.metadata(folder).is_ok_and(|metadata| metadata.is_symlink());
        let leads = is_link || self.is_in_link(folder);
        self.links.insert(folder, leads);
        leads
    }

    fn metadata(&self, path: &[u8]) -> Result<Metadata, ErrorKind> {
        self.project.join(git::path(path)).symlink_metadata().map_err(|error| error.kind())
    }
}

fn is_taken(path: &[u8]) -> bool {
    !path.is_empty() && !OURS.iter().any(|ours| path.starts_with(ours))
}

/// Returns those of some files, given with their sizes, for which there is no room.
fn beyond(mut sizes: Vec<(u64, &[u8])>, mut room: u64) -> BTreeSet<&[u8]> {
    sizes.sort_unstable();
    let mut fits = |len: u64| {
        let left = room.checked_sub(len);
        room = left.unwrap_or(0);
        left.is_some()
    };
    sizes
        .into_iter()
        .filter(|(len, _)| *len <= LARGEST_FILE && !fits(*len))
        .map(|it| it.1)
        .collect()
}

/// Returns the name of the entry for a file that can't be read; none for one that can.
fn unreadable_name(path: &Path) -> Option<String> {
    let metadata = fs::symlink_metadata(path).ok().filter(Metadata::is_file)?;
    match File::open(path).and_then(|mut file| file.read(&mut [0])) {
        Ok(_) => None,
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(_) => Some(tree::unrecorded(Some(&metadata))),
    }
}

/// Splits files into portions for git.
fn portions<'f, 'a>(files: &'f [(&'a [u8], u64)]) -> Vec<&'f [(&'a [u8], u64)]> {
    let mut portions = Vec::new();
    let mut rest = files;
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = rest.iter().take(FILES).take_while(|(_, len)| {
            let fits = bytes < PORTION;
            bytes = bytes.saturating_add(*len);
            fits
        });
        let (portion, others) = rest.split_at(fits.count());
        portions.push(portion);
        rest = others;
    }
    portions
}

fn terminated<'a>(items: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    items.flat_map(|item| item.iter().copied().chain([0])).collect()
}

#[cfg(test)]
mod tests {
    use super::beyond;

    #[test]
    fn the_largest_go_first_where_there_is_no_room() {
        let sizes = || vec![(30, b"c" as &[u8]), (10, b"a"), (30, b"b"), (u64::MAX, b"huge")];
        let beyond = |room| beyond(sizes(), room).into_iter().collect::<Vec<_>>();
        assert_eq!(beyond(70), Vec::<&[u8]>::new());
        assert_eq!(beyond(69), [b"c"]);
        assert_eq!(beyond(39), [b"b", b"c"]);
        assert_eq!(beyond(0), [b"a", b"b", b"c"]);
    }
}
