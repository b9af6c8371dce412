//! A write to a file during its restore is not lost.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use callstack_engine::{LeftAlone, Why, WorkTree as _};

use super::repository::Repository;

fn left(path: &str, why: Why, kept: Option<&str>) -> LeftAlone {
    LeftAlone { path: path.to_owned(), why, kept: kept.map(str::to_owned) }
}

fn paths(paths: &[&str]) -> Vec<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

/// Whatever files are made aside are gone.
#[track_caller]
fn leaves_nothing(repository: &Repository) {
    assert!(!repository.project().join(".callstack/restoring").exists());
}

#[test]
fn a_file_that_is_not_as_expected_is_left_as_it_is() {
    let repository = Repository::with(&["changed", "removed", "gone", "link", "mode", "plain"]);
    let begun = repository.record();
    for file in ["changed", "link", "mode", "plain"] {
        repository.write(file, "by the frame");
    }
    for file in ["made", "made-too"] {
        repository.write(file, "by the frame");
    }
    fs::remove_file(repository.project().join("removed")).unwrap();
    repository.write("gone", "by the frame");
    let now = repository.record();

    for file in ["changed", "made", "removed"] {
        repository.write(file, "mine");
    }
    let path = |file: &str| repository.project().join(file);
    fs::remove_file(path("gone")).unwrap();
    fs::remove_file(path("link")).unwrap();
    symlink("plain", path("link")).unwrap();
    fs::set_permissions(path("mode"), fs::Permissions::from_mode(0o755)).unwrap();
    let all = ["changed", "gone", "link", "made", "made-too", "mode", "plain", "removed"];
    let outcome = repository.tree.restore(&now, &begun, &paths(&all)).unwrap();
    let written = |path| left(path, Why::WrittenMeanwhile, None);
    let expected = ["made", "changed", "gone", "link", "mode", "removed"].map(written);
    assert_eq!(outcome, expected);
    for file in ["changed", "made", "removed"] {
        assert_eq!(repository.read(file).as_deref(), Some("mine"), "{file}");
    }
    assert_eq!(repository.read("gone"), None);
    assert_eq!(fs::read_link(path("link")).unwrap().to_str(), Some("plain"));
    assert_eq!(repository.read("mode").as_deref(), Some("by the frame"));
    assert_eq!(repository.read("plain").as_deref(), Some("plain as it was"));
    assert_eq!(repository.read("made-too"), None);
    leaves_nothing(&repository);
}

/// The time that a restore waits for writers before its last check of the files.
const SETTLING: Duration = Duration::from_millis(100);

/// Restores files while `write` writes, once the first of them is `restored`. None if it may have written too late to
/// be noticed.
fn restore_beside(
    repository: &Repository,
    (now, begun): (&str, &str),
    (files, restored): (&[&str], &str),
    write: impl FnOnce() + Send,
) -> Option<Vec<LeftAlone>> {
    let start = Instant::now();
    let (outcome, written) = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            while repository.read(files[0]).as_deref() != Some(restored) {
                thread::yield_now();
            }
            write();
            start.elapsed()
        });
        let outcome = repository.tree.restore(now, begun, &paths(files)).unwrap();
        (outcome, writer.join().unwrap())
    });
    (!outcome.is_empty() || written < SETTLING).then_some(outcome)
}

/// Tries until the writer was scheduled in time.
#[track_caller]
fn in_time(attempt: impl Fn() -> bool) {
    assert!((0..50).any(|_| attempt()), "no writer was scheduled in time");
}

/// An editor that has the file open writes to the replaced file.
#[test]
fn what_is_written_to_a_file_that_was_taken_away_comes_back() {
    in_time(a_written_file_that_was_taken_away_comes_back);
}

fn a_written_file_that_was_taken_away_comes_back() -> bool {
    let repository = Repository::with(&["changed"]);
    let begun = repository.record();
    repository.write("changed", "by the frame");
    repository.write("d/made", "by the frame");
    let now = repository.record();
    let open = |file: &str| File::options().append(true).open(repository.project().join(file));
    let mut editors = [open("changed").unwrap(), open("d/made").unwrap()];
    let write = || {
        for editor in &mut editors {
            editor.write_all(b", and mine").unwrap();
        }
    };
    let files = (["changed", "d/made"].as_slice(), "changed as it was");
    let Some(mut restored) = restore_beside(&repository, (&now, &begun), files, write) else {
        return false;
    };
    // Only the first of the two writes came in time.
    if restored == [left("changed", Why::WrittenMeanwhile, None)] {
        return false;
    }
    let written = |path| left(path, Why::WrittenMeanwhile, None);
    restored.sort_by(|one, other| one.path.cmp(&other.path));
    assert_eq!(restored, [written("changed"), written("d/made")]);
    for file in ["changed", "d/made"] {
        assert_eq!(repository.read(file).as_deref(), Some("by the frame, and mine"));
    }
    leaves_nothing(&repository);
    true
}

/// Two writers: one to the replaced file, one to the new one.
#[test]
fn what_can_not_go_back_stays_beside_the_file() {
    in_time(a_file_that_can_not_go_back_stays_beside);
}

fn a_file_that_can_not_go_back_stays_beside() -> bool {
    let repository = Repository::with(&["a"]);
    let begun = repository.record();
    repository.write("a", "by the frame");
    repository.write("a.callstack-kept", "there already");
    let now = repository.record();
    let mut editor = File::options().append(true).open(repository.project().join("a")).unwrap();
    let write = || {
        editor.write_all(b", and mine").unwrap();
        repository.write("a", "newer");
    };
    let files = (["a"].as_slice(), "a as it was");
    let Some(restored) = restore_beside(&repository, (&now, &begun), files, write) else {
        return false;
    };
    // Only the first of the two writes came in time.
    if restored == [left("a", Why::WrittenMeanwhile, None)] {
        return false;
    }
    assert_eq!(restored, [left("a", Why::WrittenMeanwhile, Some("a.callstack-kept-2"))]);
    assert_eq!(repository.read("a").as_deref(), Some("newer"));
    assert_eq!(repository.read("a.callstack-kept-2").as_deref(), Some("by the frame, and mine"));
    leaves_nothing(&repository);
    true
}

/// The last write of a writer that never rests is there, or beside it and reported.
#[test]
fn no_word_is_lost_to_a_restoring() {
    for round in 0..20 {
        let repository = Repository::with(&["a"]);
        let begun = repository.record();
        repository.write("a", "by the frame");
        let now = repository.record();
        let over = AtomicBool::new(false);
        let (restored, last) = thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut n = 0;
                while !over.load(Ordering::Relaxed) {
                    n += 1;
                    let word = format!("word {n}");
                    if n % 2 == round % 2 {
                        repository.write("a", &word);
                    } else {
                        fs::write(repository.root().join("new"), &word).unwrap();
                        fs::rename(repository.root().join("new"), repository.project().join("a"))
                            .unwrap();
                    }
                    thread::yield_now();
                }
                n
            });
            let restored = repository.tree.restore(&now, &begun, &paths(&["a"])).unwrap();
            over.store(true, Ordering::Relaxed);
            (restored, writer.join().unwrap())
        });
        let beside = restored.iter().filter_map(|it| it.kept.as_deref());
        let mut held = ["a"].into_iter().chain(beside).map(|path| repository.read(path));
        let word = format!("word {last}");
        assert!(held.any(|text| text.as_ref() == Some(&word)), "{word}: {restored:?}");
    }
}

#[test]
fn links_modes_and_folders_come_back() {
    let repository = Repository::with(&["d/f", "run", "secret", "was-file"]);
    let path = |file: &str| repository.project().join(file);
    symlink("d/f", path("link")).unwrap();
    let permit = |file: &str, mode| {
        fs::set_permissions(path(file), fs::Permissions::from_mode(mode)).unwrap();
    };
    let mode = |file: &str| fs::metadata(path(file)).unwrap().permissions().mode() & 0o777;
    permit("run", 0o755);
    permit("secret", 0o600);
    let begun = repository.record();
    fs::remove_dir_all(path("d")).unwrap();
    repository.write("d", "a file now");
    fs::remove_file(path("link")).unwrap();
    repository.write("link", "a file now");
    fs::remove_file(path("was-file")).unwrap();
    repository.write("was-file/deep/f", "a folder now");
    repository.write("run", "changed");
    permit("run", 0o640);
    repository.write("secret", "changed");
    let now = repository.record();
    let all = paths(&["d", "d/f", "link", "run", "secret", "was-file", "was-file/deep/f"]);
    assert_eq!(repository.tree.restore(&now, &begun, &all).unwrap(), []);
    assert_eq!(repository.record(), begun);
    assert_eq!(fs::read_link(path("link")).unwrap().to_str(), Some("d/f"));
    assert_eq!((mode("run"), mode("secret")), (0o750, 0o600), "who may read it stays the same");
    assert_eq!(repository.tree.restore(&begun, &now, &all).unwrap(), []);
    assert_eq!(repository.record(), now);
    assert_eq!(repository.read("was-file/deep/f").as_deref(), Some("a folder now"));
}

#[test]
fn nothing_is_written_through_a_link_or_over_a_folder() {
    let repository = Repository::with(&["d/f", "e"]);
    let begun = repository.record();
    repository.write("d/f", "by the frame");
    repository.write("e", "by the frame");
    let now = repository.record();
    let outside = repository.root().join("outside");
    fs::rename(repository.project().join("d"), &outside).unwrap();
    symlink(&outside, repository.project().join("d")).unwrap();
    fs::remove_file(repository.project().join("e")).unwrap();
    repository.write("e/mine", "mine");
    let outcome = repository.tree.restore(&now, &begun, &paths(&["d/f", "e"])).unwrap();
    let expected = [left("d/f", Why::NotWritable, None), left("e", Why::WrittenMeanwhile, None)];
    assert_eq!(outcome, expected);
    assert_eq!(fs::read_to_string(outside.join("f")).unwrap(), "by the frame");
    assert_eq!(repository.read("e/mine").as_deref(), Some("mine"));

    fs::remove_dir_all(repository.project().join(".callstack/restoring")).unwrap_or_default();
    symlink(&outside, repository.project().join(".callstack/restoring")).unwrap();
    assert!(repository.tree.restore(&now, &begun, &paths(&["d/f"])).is_err());
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

/// The state after a process was killed while it restored files.
#[test]
fn what_a_killed_process_had_taken_away_is_kept() {
    let repository = Repository::with(&["a", "d/b"]);
    let begun = repository.record();
    repository.write("a", "by the frame");
    let now = repository.record();
    repository.write(".callstack/restoring/new/a", "a as it was");
    repository.write(".callstack/restoring/new/d/b", "mine");
    repository.write(".callstack/restoring/old/gone/c", "mine too");
    repository.write(".callstack/restoring/old/a", "by the frame");
    let kept = repository.tree.restore(&now, &now, &[]).unwrap();
    let expected = [
        left("d/b", Why::WrittenMeanwhile, Some("d/b.callstack-kept")),
        left("gone/c", Why::WrittenMeanwhile, Some("gone/c.callstack-kept")),
    ];
    assert_eq!(kept, expected);
    assert_eq!(repository.read("d/b.callstack-kept").as_deref(), Some("mine"));
    assert_eq!(repository.read("gone/c.callstack-kept").as_deref(), Some("mine too"));
    leaves_nothing(&repository);
    assert_eq!(repository.tree.restore(&now, &begun, &paths(&["a"])).unwrap(), []);
    assert_eq!(repository.read("a").as_deref(), Some("a as it was"));
}
