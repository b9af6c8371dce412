//! States that nobody needs are dropped in time.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use callstack_engine::WorkTree as _;

use super::repository::{Changed, PATIENCE, Repository, is};

const WEEKS: Duration = Duration::from_hours(15 * 24);

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Two weeks pass for all that is kept.
fn pass(repository: &Repository) {
    for file in files(&repository.project().join(".callstack/git")) {
        let open = |file: &Path| File::options().write(true).open(file);
        // Git makes its objects so that nobody writes them.
        let mut permissions = fs::metadata(&file).unwrap().permissions();
        #[expect(clippy::permissions_set_readonly_false, reason = "in a temporary folder")]
        permissions.set_readonly(false);
        fs::set_permissions(&file, permissions).unwrap();
        open(&file).unwrap().set_modified(SystemTime::now() - WEEKS).unwrap();
    }
}

fn keep(repository: &Repository, states: &[&String]) {
    let states: Vec<_> = states.iter().map(|state| (*state).clone()).collect();
    repository.tree.keep_only(&states, PATIENCE).unwrap();
}

/// Three states after each other, in a folder that the project has not committed.
fn three() -> (Repository, [String; 3]) {
    let repository = Repository::with(&["a", "d/b"]);
    let states = ["first", "second", "third"].map(|content| {
        repository.write("d/b", content);
        repository.record()
    });
    (repository, states)
}

#[test]
fn what_is_old_and_needed_by_nobody_goes_and_all_else_stays() {
    let (repository, [first, second, third]) = three();
    keep(&repository, &[&first]);
    assert_eq!(repository.changes(&first, &second), is(&[("d/b", Changed)]), "they are young");
    pass(&repository);
    keep(&repository, &[&first]);
    assert_eq!(repository.changes(&first, &third), is(&[("d/b", Changed)]));
    assert!(repository.tree.changes(&first, &second).is_err(), "it is gone");
    repository.restore(&first, "d/b");
    assert_eq!(repository.read("d/b").as_deref(), Some("first"));
    repository.restore(&third, "d/b");
    assert_eq!(repository.read("d/b").as_deref(), Some("third"), "what was recorded last stays");
}

#[test]
fn a_state_that_was_dropped_can_be_recorded_again() {
    let (repository, [first, second, _]) = three();
    pass(&repository);
    keep(&repository, &[]);
    for (content, state) in [("second", &second), ("first", &first)] {
        repository.write("d/b", content);
        assert_eq!(repository.record(), *state);
    }
    assert_eq!(repository.changes(&first, &second), is(&[("d/b", Changed)]));
    repository.restore(&second, "d/b");
    assert_eq!(repository.read("d/b").as_deref(), Some("second"));
}

#[test]
fn what_is_lost_already_keeps_nothing_from_being_dropped() {
    let (repository, [first, second, _]) = three();
    pass(&repository);
    keep(&repository, &[&first, &"0123456789".repeat(4)]);
    assert!(repository.tree.changes(&first, &second).is_err());
    repository.restore(&first, "d/b");
    assert_eq!(repository.read("d/b").as_deref(), Some("first"));
}

#[test]
fn it_is_looked_for_once_a_day() {
    let (repository, [first, ..]) = three();
    assert!(repository.tree.is_crowded());
    keep(&repository, &[&first]);
    assert!(!repository.tree.is_crowded());
    pass(&repository);
    assert!(repository.tree.is_crowded());
}
