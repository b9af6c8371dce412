//! Paths at which git fails, and objects that the project's own repository no longer has.

use std::fs;
use std::path::Path;
use std::process::Command;

use callstack_engine::WorkTree as _;

use super::repository::{
    Changed, Created, Deleted, Repository, Unnamed, Unrecorded, git_in, is, recorded, tree_of,
};

#[cfg(unix)]
#[test]
fn a_folder_that_became_a_link_is_recorded_as_one() {
    let repository = Repository::with(&["d/f", "d/inner/g", "other"]);
    let before = repository.record();
    fs::create_dir_all(repository.root().join("e/inner")).unwrap();
    for file in ["f", "inner/g"] {
        fs::write(repository.root().join("e").join(file), "elsewhere").unwrap();
    }
    fs::remove_dir_all(repository.project().join("d")).unwrap();
    std::os::unix::fs::symlink("../e", repository.project().join("d")).unwrap();
    let linked = repository.record();
    let changes = is(&[("d", Created), ("d/f", Deleted), ("d/inner/g", Deleted)]);
    assert_eq!(repository.changes(&before, &linked), changes);
    assert_eq!(repository.record(), linked);
    // A process that has not seen the folder.
    fs::remove_dir_all(repository.project().join(".callstack/git")).unwrap();
    assert_eq!(recorded(&tree_of(&repository.project())), linked);

    fs::remove_file(repository.project().join("d")).unwrap();
    repository.git(&["checkout", "-q", "--", "d"]);
    assert_eq!(repository.record(), before);
    assert_eq!(fs::read_to_string(repository.root().join("e/f")).unwrap(), "elsewhere");
}

#[cfg(unix)]
#[test]
fn of_what_is_no_file_any_more_only_that_is_recorded() {
    let repository = Repository::with(&["pipe", "other"]);
    let before = repository.record();
    let pipe = repository.project().join("pipe");
    fs::remove_file(&pipe).unwrap();
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    repository.write("other", "changed");
    let piped = repository.record();
    let changes = is(&[("other", Changed), ("pipe", Unrecorded)]);
    assert_eq!(repository.changes(&before, &piped), changes);
    assert_eq!(repository.record(), piped, "what stands for it stays the same");

    fs::remove_file(&pipe).unwrap();
    fs::create_dir(&pipe).unwrap();
    fs::write(pipe.join("in"), "a folder").unwrap();
    let folder = repository.record();
    assert_eq!(
        repository.changes(&before, &folder),
        is(&[("other", Changed), ("pipe", Deleted), ("pipe/in", Created)])
    );
}

#[test]
fn of_what_has_come_to_be_ignored_only_that_is_recorded() {
    let repository = Repository::with(&["other"]);
    repository.write("secret", "mine");
    let before = repository.record();
    repository.write(".git/info/exclude", "secret\n");
    let ignored = repository.record();
    assert_eq!(repository.changes(&before, &ignored), is(&[("secret", Unrecorded)]));
    assert_eq!(repository.record(), ignored);
    fs::remove_file(repository.project().join("secret")).unwrap();
    let gone = repository.record();
    assert_eq!(repository.changes(&before, &gone), is(&[("secret", Deleted)]));
}

#[cfg(unix)]
#[test]
fn of_what_can_not_be_read_only_that_is_recorded() {
    use std::os::unix::fs::PermissionsExt as _;
    let repository = Repository::with(&["other"]);
    let before = repository.record();
    repository.write("secret", "mine");
    repository.write("other", "changed");
    let secret = repository.project().join("secret");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(&secret).is_ok() {
        println!("skipped: this user may read everything");
        return;
    }
    let state = repository.record();
    let changes = is(&[("other", Changed), ("secret", Unrecorded)]);
    assert_eq!(repository.changes(&before, &state), changes);
    assert_eq!(repository.record(), state);
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o644)).unwrap();
    let readable = repository.record();
    assert_eq!(repository.changes(&state, &readable), is(&[("secret", Unrecorded)]));
    assert_eq!(
        repository.changes(&before, &readable),
        is(&[("other", Changed), ("secret", Created)])
    );
}

#[cfg(unix)]
#[test]
fn names_that_are_no_text_are_names() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let repository = Repository::with(&["other"]);
    let before = repository.record();
    let odd = repository.project().join(OsStr::from_bytes(b"n\xff"));
    fs::create_dir(&odd).unwrap();
    git_in(&odd, &["init", "-q"]);
    git_in(&odd, &["commit", "-q", "--allow-empty", "-m", "inner"]);
    fs::write(repository.project().join(OsStr::from_bytes(b"f\xff")), "odd").unwrap();
    let state = repository.record();
    assert_ne!(state, before);
    // Nobody can be shown it as it is.
    assert_eq!(repository.changes(&before, &state), is(&[("f\\xff", Unnamed)]));
}

#[test]
fn a_state_keeps_what_the_repository_drops() {
    let repository = Repository::with(&["x"]);
    repository.write("y", "staged");
    repository.write("d/z", "staged too");
    repository.git(&["add", "-A"]);
    let staged = repository.record();
    repository.git(&["reset", "-q"]);
    repository.git(&["gc", "-q", "--prune=now"]);
    assert_eq!(repository.record(), staged);
    repository.write("y", "other");
    fs::remove_dir_all(repository.project().join("d")).unwrap();
    let now = repository.record();
    assert_eq!(repository.changes(&staged, &now), is(&[("d/z", Deleted), ("y", Changed)]));
    repository.restore(&staged, "y");
    repository.restore(&staged, "d/z");
    assert_eq!(repository.read("y").as_deref(), Some("staged"));
    assert_eq!(repository.read("d/z").as_deref(), Some("staged too"));
}

#[test]
fn what_a_rewritten_history_took_along_is_reported_and_recording_goes_on() {
    let repository = Repository::with(&["x", "y"]);
    let committed = repository.record();
    repository.write("new", "own");
    let state = repository.record();
    for file in ["x", "y"] {
        repository.write(file, "rewritten");
    }
    repository.git(&["commit", "-q", "-a", "--amend", "-m", "rewritten"]);
    repository.git(&["reflog", "expire", "--expire=now", "--all"]);
    repository.git(&["gc", "-q", "--prune=now"]);
    let now = repository.record();
    assert_eq!(repository.changes(&state, &now), is(&[("x", Unrecorded), ("y", Unrecorded)]));
    let error = repository.tree.changes(&committed, &now).unwrap_err();
    assert!(error.message.contains(&committed), "{error}");

    // The files are as in the lost commit, and our index still has them.
    repository.write("x", "x again");
    repository.commit();
    let again = repository.record();
    repository.git(&["reset", "-q", "--soft", "HEAD~"]);
    repository.git(&["reset", "-q"]);
    repository.git(&["reflog", "expire", "--expire=now", "--all"]);
    repository.git(&["gc", "-q", "--prune=now"]);
    assert_eq!(repository.record(), again);
    repository.write("x", "other");
    let other = repository.record();
    assert_eq!(repository.changes(&again, &other), is(&[("x", Changed)]));
    repository.restore(&again, "x");
    assert_eq!(repository.read("x").as_deref(), Some("x again"));
}

#[cfg(unix)]
#[test]
fn copies_of_files_are_for_those_who_get_into_the_folder_around_them() {
    use std::os::unix::fs::PermissionsExt as _;
    let repository = Repository::with(&["a.txt"]);
    let around = repository.project().join(".callstack");
    let set = |folder: &Path, mode| {
        fs::set_permissions(folder, fs::Permissions::from_mode(mode)).unwrap();
    };
    let mode = || fs::metadata(around.join("git")).unwrap().permissions().mode() & 0o777;
    set(&around, 0o700);
    repository.record();
    assert_eq!(mode(), 0o700);
    // One that was made before is restricted, too.
    for (outer, made, wanted) in
        [(0o700, 0o755, 0o700), (0o770, 0o775, 0o770), (0o755, 0o755, 0o750)]
    {
        set(&around, outer);
        set(&around.join("git"), made);
        recorded(&tree_of(&repository.project()));
        assert_eq!(mode(), wanted, "{outer:o} {made:o}");
    }
}
