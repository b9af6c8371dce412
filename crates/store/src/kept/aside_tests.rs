//! Tests of the names that databases are put aside under.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Barrier;
use std::thread;

use super::set_aside;
use crate::presence::beside;

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn a_name_that_is_taken_is_not_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    for name in
        ["callstack.db", "callstack.db-wal", "callstack.db-aside-1", "callstack.db-aside-2-wal"]
    {
        fs::write(file(name), name).unwrap();
    }
    let aside = set_aside(folder.path(), &file("callstack.db")).unwrap();
    assert_eq!(aside, file("callstack.db-aside-3"));
    assert_eq!(read(&aside), "callstack.db");
    assert_eq!(read(&beside(&aside)[0]), "callstack.db-wal");
    assert_eq!(read(&file("callstack.db-aside-1")), "callstack.db-aside-1");
    assert_eq!(read(&file("callstack.db-aside-2-wal")), "callstack.db-aside-2-wal");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
}

#[test]
fn what_is_put_aside_at_the_same_moment_gets_names_of_its_own() {
    const ROUNDS: usize = 50;
    let folder = tempfile::tempdir().unwrap();
    let barrier = Barrier::new(2);
    let put = |who: &str| -> Vec<String> {
        let database = folder.path().join(who);
        let round = |num| {
            let content = format!("{who} {num}");
            fs::write(&database, &content).unwrap();
            barrier.wait();
            set_aside(folder.path(), &database).unwrap();
            content
        };
        (0..ROUNDS).map(round).collect()
    };
    let mut expected = BTreeSet::new();
    thread::scope(|scope| {
        let one = scope.spawn(|| put("one"));
        expected.extend(put("two"));
        expected.extend(one.join().unwrap());
    });
    let found = fs::read_dir(folder.path()).unwrap().map(|entry| read(&entry.unwrap().path()));
    assert_eq!(found.collect::<BTreeSet<_>>(), expected);
}
