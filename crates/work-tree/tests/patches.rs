//! The lines that changed in files between two states.

use std::fs;

use callstack_engine::{FilePatch, WorkTree as _};

use super::repository::Repository;

fn patches(repository: &Repository, (from, to): (&str, &str), paths: &[&str]) -> Vec<FilePatch> {
    let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    repository.tree.patches(from, to, &paths).unwrap()
}

#[test]
fn changed_lines_are_shown_with_those_around_them() {
    let repository = Repository::with(&["gone", "same"]);
    repository.write("list", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    let before = repository.record();
    repository.write("list", "1\n2\n3\n4\nfive\n6\n7\n8\n9\nten");
    repository.write("new", "one\ntwo\n");
    fs::remove_file(repository.project().join("gone")).unwrap();
    let after = repository.record();
    let found = patches(&repository, (&before, &after), &["list", "new", "gone", "same"]);
    let found: Vec<_> =
        found.iter().map(|patch| (patch.path.as_str(), patch.lines, patch.text.as_str())).collect();
    let list = "@@ -2,8 +2,9 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n 9\n+ten\n\\ No newline at end of file\n";
    let gone = "@@ -1 +0,0 @@\n-gone as it was\n\\ No newline at end of file\n";
    assert_eq!(
        found,
        [
            ("list", Some((2, 1)), list),
            ("new", Some((2, 0)), "@@ -0,0 +1,2 @@\n+one\n+two\n"),
            ("gone", Some((0, 1)), gone),
        ]
    );
}

#[test]
fn what_is_no_text_has_no_lines() {
    let repository = Repository::with(&["logo"]);
    let before = repository.record();
    fs::write(repository.project().join("logo"), [0, 159, 146, 150, 0]).unwrap();
    let after = repository.record();
    let found = patches(&repository, (&before, &after), &["logo"]);
    assert_eq!(found, [FilePatch { path: "logo".to_owned(), lines: None, text: String::new() }]);
}

#[test]
fn names_are_taken_as_they_are() {
    let names = ["*", ":(top)x", "a b\tc", "-p", "d/\u{fc}"];
    let repository = Repository::with(&names);
    let before = repository.record();
    for name in names {
        repository.write(name, "changed");
    }
    let after = repository.record();
    let found = patches(&repository, (&before, &after), &names);
    assert_eq!(found.iter().map(|patch| patch.path.as_str()).collect::<Vec<_>>(), names);
    assert!(found.iter().all(|patch| patch.lines == Some((1, 1))), "{found:?}");
}

/// Content that looks like the head of a patch is content.
#[test]
fn a_line_that_looks_like_a_hunk_is_a_line() {
    let repository = Repository::with(&["a"]);
    let before = repository.record();
    repository.write("a", "@@ -1 +1 @@\n--- a\n+++ b\n");
    let after = repository.record();
    let patch = patches(&repository, (&before, &after), &["a"]).remove(0);
    assert_eq!(patch.lines, Some((3, 1)));
    assert!(patch.text.ends_with("+@@ -1 +1 @@\n+--- a\n++++ b\n"), "{}", patch.text);
    assert!(patch.text.starts_with("@@ -1 +1,3 @@\n"), "{}", patch.text);
}
