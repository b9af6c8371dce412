//! Names in a line: the outer name that two of them share is written once, and many tests are named by the beginnings
//! of their names.

use super::changes::{Changed, last_name};

/// Tests that are named one by one.
const FEW: usize = 14;
/// Patterns, each of which covers many tests.
const PATTERNS: usize = 4;
/// Words of a name that a pattern begins with at most.
const WORDS: usize = 8;
/// Tests that are named where no pattern covers them.
const FIRST: usize = 3;

/// Such as `Parser.new, .next`.
pub(super) fn in_order<'a>(changed: impl Iterator<Item = &'a Changed>) -> String {
    let mut outer: Option<&str> = None;
    let name = |it: &'a Changed| {
        let last = last_name(&it.name);
        let around = it.name.strip_suffix(last).filter(|around| !around.is_empty());
        let shown = match around {
            Some(around) if outer == Some(around) => {
                let separator = if around.ends_with("::") { "::" } else { "." };
                format!("{separator}{last}")
            }
            _ if is_word(&it.name) => format!("`{}`", it.name),
            _ => it.name.clone(),
        };
        outer = around;
        shown
    };
    changed.map(name).collect::<Vec<_>>().join(", ")
}

/// Whether a name reads as a word of the line around it.
fn is_word(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Such as `tests a, b`, or `9 tests: 5 test_date_*, 4 test_time_*` where they are many.
pub(super) fn of_tests(changed: &[&Changed]) -> String {
    tests_beyond(changed, FEW)
}

/// The same, where `few` tests are named one by one.
fn tests_beyond(changed: &[&Changed], few: usize) -> String {
    if changed.len() <= few {
        return format!("tests {}", in_order(changed.iter().copied()));
    }
    let names: Vec<&str> = changed.iter().map(|it| it.name.as_str()).collect();
    let listed = patterns(&names).unwrap_or_else(|| {
        let first = in_order(changed.iter().take(FIRST).copied());
        format!("{first} and {} more", names.len() - FIRST)
    });
    format!("{} tests: {listed}", names.len())
}

/// Returns a few patterns such that each name matches one of them, unless they say too little.
fn patterns(names: &[&str]) -> Option<String> {
    let groups = (1..=WORDS).rev().find_map(|words| {
        let groups = grouped(names, words);
        (groups.len() <= PATTERNS).then_some(groups)
    })?;
    let shown = groups.iter().map(|group| match group.as_slice() {
        [name] => Some((*name).to_owned()),
        group => {
            let begin = common(group)?;
            let says = !matches!(begin.trim_matches(['_', '"', '\'', '`']), "" | "test" | "Test");
            says.then(|| format!("{} {begin}*", group.len()))
        }
    });
    shown.collect::<Option<Vec<_>>>().map(|shown| shown.join(", "))
}

/// Groups names that begin with the same words, in the order of the first of each group.
fn grouped<'a>(names: &[&'a str], words: usize) -> Vec<Vec<&'a str>> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for name in names {
        let begin = ends(name).nth(words - 1).and_then(|end| name.get(..end)).unwrap_or(name);
        match groups.iter_mut().find(|(known, _)| *known == begin) {
            Some((_, group)) => group.push(name),
            None => groups.push((begin, vec![name])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// The whole words that all of some names begin with.
fn common<'a>(names: &[&'a str]) -> Option<&'a str> {
    let (first, rest) = names.split_first()?;
    let shared = |end: &usize| rest.iter().all(|it| it.get(..*end) == first.get(..*end));
    let end = ends(first).take_while(shared).last().unwrap_or(0);
    first.get(..end)
}

/// Returns the places after the words of a name, each with the separator before the next one.
fn ends(name: &str) -> impl Iterator<Item = usize> {
    let pairs = name.char_indices().zip(name.char_indices().skip(1));
    let is_end = |first: char, second: char| {
        let separates = |it: char| !it.is_alphanumeric();
        (separates(first) && !separates(second)) || (first.is_lowercase() && second.is_uppercase())
    };
    pairs.filter(move |((_, first), (_, second))| is_end(*first, *second)).map(|(_, (at, _))| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(names: &[&str]) -> String {
        let changed =
            |name: &&str| Changed { name: (*name).to_owned(), test: true, ..Changed::default() };
        let changed: Vec<Changed> = names.iter().map(changed).collect();
        tests_beyond(&changed.iter().collect::<Vec<_>>(), 6)
    }

    #[test]
    fn a_dozen_tests_is_few() {
        let changed =
            |num| Changed { name: format!("T.test_{num}"), test: true, ..Changed::default() };
        let changed: Vec<Changed> = (1..=FEW + 1).map(changed).collect();
        let all: Vec<&Changed> = changed.iter().collect();
        assert!(of_tests(&all[..12]).ends_with(".test_11, .test_12"));
        assert_eq!(of_tests(&all), format!("{} tests: {} T.test_*", FEW + 1, FEW + 1));
    }

    #[test]
    fn few_tests_are_named_and_many_are_counted_by_how_they_begin() {
        assert_eq!(listed(&["Table.test_a", "Table.test_b"]), "tests Table.test_a, .test_b");
        assert_eq!(
            listed(&[
                "test_date_is_read",
                "test_date_is_written",
                "test_date_fails",
                "test_time_is_read",
                "test_time_fails",
                "test_zone",
                "test_date_is_old",
            ]),
            "7 tests: 4 test_date_*, 2 test_time_*, test_zone"
        );
        assert_eq!(
            listed(&[
                "TestRunA", "TestRunB", "TestRunC", "TestRunD", "TestRunE", "TestRunF", "TestRunG"
            ]),
            "7 tests: 7 TestRun*"
        );
    }

    #[test]
    fn where_no_pattern_says_anything_the_first_ones_are_named() {
        let names = ["a_b", "c_d", "e_f", "g_h", "i_j", "k_l", "m_n"];
        assert_eq!(listed(&names), "7 tests: a_b, c_d, e_f and 4 more");
        let names = ["test_a", "test_b", "test_c", "test_d", "test_e", "test_f", "test_é"];
        assert_eq!(listed(&names), "7 tests: test_a, test_b, test_c and 4 more");
    }
}
