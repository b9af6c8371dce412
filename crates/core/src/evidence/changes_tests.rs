use super::*;

fn changed(name: &str, what: What) -> Changed {
    Changed { name: name.to_owned(), what, test: false }
}

fn change(symbols: &[Changed], added: usize) -> FileChange {
    let (path, symbols) = ("a.rs".to_owned(), symbols.to_vec());
    FileChange { path, symbols, added, ranges: vec![(1, added)], ..FileChange::default() }
}

#[test]
fn of_two_stretches_of_work_it_counts_what_stands_at_the_end() {
    let first = change(
        &[changed("a", What::Added), changed("b", What::Removed), changed("c", What::Added)],
        3,
    );
    let later = change(
        &[changed("a", What::Changed), changed("b", What::Added), changed("c", What::Removed)],
        2,
    );
    let both = first.clone().then(later);
    assert_eq!(both.symbols, [changed("a", What::Added), changed("b", What::Changed)]);
    assert_eq!(
        (both.added, both.ranges),
        (5, Vec::new()),
        "where the first lines stand now nobody counted"
    );
    assert_eq!(FileChange::default().then(first.clone()), first);
}

#[test]
fn a_piece_and_the_file_that_it_stands_in_name_a_thing_once() {
    let mut all = vec![changed("Parser::next", What::Added)];
    merge(&mut all, vec![changed("next", What::Changed), changed("last", What::Removed)]);
    assert_eq!(all, [changed("Parser::next", What::Changed), changed("last", What::Removed)]);
}
