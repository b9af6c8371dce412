//! ARCHITECTURE.md: short, with every layer of the engine in order, every crate, and paths that exist.

use std::fs;

use crate::architecture::{ARROWS, root};
use crate::layers::LAYERS;

/// Lines of the page, and characters of a line.
const LINES: usize = 200;
const COLUMNS: usize = 120;

fn page() -> String {
    fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap()
}

/// The first cells of the rows of the table below a heading, without its header.
fn rows(page: &str, heading: &str) -> Vec<String> {
    let section = page.split("\n## ").find(|section| section.starts_with(heading)).unwrap();
    let cells = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    cells.skip(2).map(|cell| cell.trim_matches('`').to_owned()).collect()
}

/// The paths of files and folders that stand in backticks.
fn paths(page: &str) -> Vec<&str> {
    let quoted = page.split('`').skip(1).step_by(2);
    quoted.filter(|it| it.contains('/') && !it.contains(' ')).collect()
}

#[test]
fn the_map_is_short() {
    let page = page();
    assert!(page.lines().count() <= LINES, "{} lines", page.lines().count());
    let long: Vec<_> = page.lines().filter(|line| line.chars().count() > COLUMNS).collect();
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn the_map_names_every_crate_and_layer() {
    let page = page();
    let mut crates = rows(&page, "Crates");
    crates.sort();
    let mut known: Vec<_> = ARROWS.iter().map(|(name, _)| *name).collect();
    known.sort_unstable();
    assert_eq!(crates, known);
    let layers: Vec<_> = LAYERS.iter().map(|(name, _)| *name).collect();
    assert_eq!(rows(&page, "Layers of the engine"), layers);
}

#[test]
fn paths_on_the_map_exist() {
    let page = page();
    let paths = paths(&page);
    assert!(paths.len() > 50, "{paths:?}");
    let exists =
        |path: &str| root().join(path).exists() || root().join("crates").join(path).exists();
    let missing: Vec<_> = paths.into_iter().filter(|path| !exists(path)).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}
