//! The costs of recording.

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use callstack_engine::{Kind, LARGEST_FILE, WorkTree as _};

use super::repository::{Changed, Created, Repository, Unrecorded, is, recorded, tree_of};

/// Files below a folder whose names begin so.
fn named(folder: &Path, prefix: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            found.extend(named(&entry.path(), prefix));
        } else if name.starts_with(prefix) {
            found.push(name);
        }
    }
    found
}

#[test]
fn of_a_large_file_that_is_not_tracked_only_that_is_recorded() {
    let repository = Repository::with(&["tracked"]);
    let before = repository.record();
    // They have no blocks on the disk.
    let make = |name: &str, bytes| {
        File::create(repository.project().join(name)).unwrap().set_len(bytes).unwrap();
    };
    make("data", LARGEST_FILE + 1);
    make("tracked", LARGEST_FILE + 1);
    repository.write("small", "new");
    let large = repository.record();
    let changes = is(&[("data", Unrecorded), ("small", Created), ("tracked", Changed)]);
    assert_eq!(repository.changes(&before, &large), changes);
    assert_eq!(repository.record(), large);
    make("data", LARGEST_FILE + 2);
    let written = repository.record();
    assert_eq!(repository.changes(&large, &written), is(&[("data", Unrecorded)]));
    // Its content while it was large is not known, so it may not count as new.
    repository.write("data", "small now");
    let small = repository.record();
    assert_eq!(repository.changes(&written, &small), is(&[("data", Unrecorded)]));
    make("data", LARGEST_FILE + 1);
    let again = repository.record();
    assert_eq!(repository.changes(&small, &again), is(&[("data", Unrecorded)]));
}

#[test]
fn what_was_broken_off_is_reported_and_leaves_nothing_behind() {
    let repository = Repository::with(&["file"]);
    let slow = repository.tree.record(Duration::ZERO).unwrap_err();
    assert_eq!(slow.kind, Kind::Unavailable, "{slow}");
    let before = repository.record();
    let objects = repository.project().join(".callstack/git/objects");
    let leave = || {
        for folder in ["ab", "pack"] {
            fs::create_dir_all(objects.join(folder)).unwrap();
        }
        fs::write(objects.join("ab/tmp_obj_killed"), "half").unwrap();
        fs::write(objects.join("pack/tmp_pack_killed"), "half").unwrap();
    };
    leave();
    assert_eq!(named(&objects, "tmp_").len(), 2);
    assert_eq!(recorded(&tree_of(&repository.project())), before, "another process");
    assert_eq!(named(&objects, "tmp_"), Vec::<String>::new());
}
