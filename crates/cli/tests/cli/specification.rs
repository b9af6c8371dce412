//! `docs/specification.md` has a row for everything that the specification names: its place and the tests that show
//! it, or the difference and its reason, or that it is missing. Here the page itself is checked: files, functions and
//! tests exist, and no row is missing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use callstack_engine::{SETTINGS, operations};

/// The content of the tables below a heading.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Where it is, and its tests.
    There,
    /// The replacement and its reason, and its tests.
    Otherwise,
    /// Why it is missing.
    Missing,
}

/// A row of one of the page's tables.
struct Row {
    kind: Kind,
    item: String,
    text: String,
    places: Vec<String>,
    tests: Vec<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The texts between backticks.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn rows() -> Vec<Row> {
    rows_of(&fs::read_to_string(root().join("docs/specification.md")).unwrap())
}

fn rows_of(page: &str) -> Vec<Row> {
    let mut kind = Kind::There;
    let mut rows = Vec::new();
    for line in page.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            kind = match heading {
                "Done otherwise" => Kind::Otherwise,
                "Missing" => Kind::Missing,
                _ => Kind::There,
            };
        }
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        if !line.starts_with('|') || cells[0].contains("---") || cells[0] == "item" {
            continue;
        }
        let expected = if kind == Kind::Missing { 2 } else { 3 };
        assert_eq!(cells.len(), expected, "cells of a row: {cells:?}");
        rows.push(Row {
            kind,
            item: cells[0].to_owned(),
            text: cells[1].to_owned(),
            places: if kind == Kind::There { quoted(cells[1]) } else { Vec::new() },
            tests: cells.get(2).map_or_else(Vec::new, |cell| quoted(cell)),
        });
    }
    rows
}

/// Returns the missing part of a row.
fn unsaid(row: &Row) -> Option<&'static str> {
    let is_reason = || row.text.ends_with('.') && row.text.contains(' ');
    match row.kind {
        Kind::There if row.places.is_empty() => Some("no place"),
        Kind::Otherwise | Kind::Missing if !is_reason() => Some("no reason"),
        Kind::There | Kind::Otherwise if row.tests.is_empty() => Some("no test"),
        _ => None,
    }
}

/// All files below a folder with one of the endings.
fn files(folder: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !matches!(name.as_str(), "node_modules" | "target") && !name.starts_with('.') {
                files(&path, endings, found);
            }
        } else if endings.iter().any(|ending| name.ends_with(ending)) {
            found.push(path);
        }
    }
}

/// Returns the mistake in a place such as `crates/core/src/fold.rs` or `crates/core/src/fold.rs::fold`.
fn wrong_place(place: &str) -> Option<String> {
    let (file, name) = place.split_once("::").unwrap_or((place, ""));
    let Ok(source) = fs::read_to_string(root().join(file)) else {
        return root().join(file).is_dir().then_some(()).map_or_else(
            || Some(format!("{file} is not there")),
            |()| (!name.is_empty()).then(|| format!("{file} is a folder")),
        );
    };
    let name = name.rsplit("::").next().unwrap_or_default();
    (!source.contains(name)).then(|| format!("{name} is not in {file}"))
}

/// Returns the mistake in a test, named as the runner prints it (`callstack-core fold::tests::name`,
/// `callstack-cli::main opencode::undo::name`), or as `plugin: title`.
fn wrong_test(test: &str, titles: &str) -> Option<String> {
    if let Some(title) = test.strip_prefix("plugin: ") {
        return (!titles.contains(&format!("\"{title}\""))).then(|| format!("no test \"{title}\""));
    }
    let Some((binary, path)) = test.split_once(' ') else {
        return Some(format!("{test} is no test's name"));
    };
    let (package, below) = match binary.split_once("::") {
        Some((package, kind)) if kind.starts_with("bin/") => (package, "src"),
        Some((package, _)) => (package, "tests"),
        None => (binary, "src"),
    };
    let folder = root().join("crates").join(package.trim_start_matches("callstack-")).join(below);
    let (modules, name) = path.rsplit_once("::").unwrap_or(("", path));
    let module = modules.rsplit("::").next().unwrap_or_default();
    let mut sources = Vec::new();
    files(&folder, &[".rs"], &mut sources);
    let found = sources.iter().any(|file| {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        // A module `tests` may be kept in a file beside the one that it tests.
        (stem == module || module == "tests") && declares_test(file, name)
    });
    (!found).then(|| format!("no test `{name}` in a module `{module}` of {package}"))
}

fn declares_test(file: &Path, name: &str) -> bool {
    let source = fs::read_to_string(file).unwrap();
    let lines: Vec<_> = source.lines().collect();
    let declared = lines.iter().position(|line| {
        let line = line.trim();
        line.strip_prefix("async ").unwrap_or(line).starts_with(&format!("fn {name}("))
    });
    declared.is_some_and(|at| {
        let above = lines[at.saturating_sub(6)..at].iter().map(|line| line.trim());
        above
            .into_iter()
            .any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"))
    })
}

#[test]
fn every_place_and_test_exists() {
    let mut sources = Vec::new();
    files(&root().join("integrations/opencode/test"), &[".test.ts"], &mut sources);
    let titles: String =
        sources.iter().map(|file| fs::read_to_string(file).unwrap()).collect::<Vec<_>>().concat();
    let rows = rows();
    assert!(rows.len() > 100, "there are {} rows only", rows.len());
    let mut wrong = Vec::new();
    for row in rows {
        wrong.extend(unsaid(&row).map(|what| format!("{}: {what}", row.item)));
        let Row { item, places, tests, .. } = row;
        let places = places.iter().filter_map(|place| wrong_place(place));
        let tests = tests.iter().filter_map(|test| wrong_test(test, &titles));
        wrong.extend(places.chain(tests).map(|what| format!("{item}: {what}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_place_or_test_that_is_not_there_is_found() {
    assert_eq!(wrong_place("crates/core/src/fold.rs::fold"), None);
    assert_eq!(wrong_place("crates/core/src/fold"), None);
    assert!(wrong_place("crates/core/src/unfold.rs").is_some());
    assert!(wrong_place("crates/core/src/fold.rs::no_such_function").is_some());
    let own = "a_place_or_test_that_is_not_there_is_found";
    assert_eq!(wrong_test(&format!("callstack-cli::main cli::specification::{own}"), ""), None);
    assert!(wrong_test(&format!("callstack-cli::main cli::refusals::{own}"), "").is_some());
    assert!(wrong_test("callstack-cli::main cli::specification::rows", "").is_some());
    assert!(wrong_test("callstack-none tests::it", "").is_some());
    assert_eq!(wrong_test("plugin: a", "test(\n \"a\","), None);
    assert!(wrong_test("plugin: b", "test(\n \"a\",").is_some());
}

#[test]
fn a_row_that_says_too_little_is_found() {
    let page = "| item | place | tests |\n| --- | --- | --- |\n| a | `b` | `c` |\n| a | b | `c` |\n\
        ## Done otherwise\n| a | It is so. | `c` |\n| a | It is so. | c |\n\
        ## Missing\n| a | It comes later. |\n| a | `later` |\n";
    let missing: Vec<_> = rows_of(page).iter().map(unsaid).collect();
    let expected = [None, Some("no place"), None, Some("no test"), None, Some("no reason")];
    assert_eq!(missing, expected);
}

#[test]
fn nothing_that_a_name_stands_for_is_missing() {
    let there = rows().into_iter().filter(|row| row.kind == Kind::There);
    let items: BTreeSet<String> = there.flat_map(|row| quoted(&row.item)).collect();
    let missing: Vec<_> = operations::TABLE
        .iter()
        .map(|operation| operation.name)
        .filter(|name| name.starts_with("stack_") && !items.contains(*name))
        .collect();
    assert!(missing.is_empty(), "not in docs/specification.md: {missing:?}");
    let settings = SETTINGS.iter().flat_map(|(_, settings)| settings.iter());
    let missing: Vec<_> =
        settings.map(|setting| setting.name).filter(|name| !items.contains(*name)).collect();
    assert!(missing.is_empty(), "not in docs/specification.md: {missing:?}");
}
