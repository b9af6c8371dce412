//! Counts by which the shape of the code is judged; `make house` prints them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::architecture::{root, sources};
use crate::layers::{CIRCLE, Counts, FACADE};

/// Commands that are no operation of the table, each with the reason.
const OUTSIDE: [(&str, &str); 8] = [
    ("completions", "prints a script for a shell"),
    ("demo", "runs a session in a project of its own"),
    ("host", "carries operations out for a host"),
    ("init", "writes the configuration of other programs"),
    ("man", "prints pages of the manual"),
    ("mcp", "carries operations out for a client"),
    ("serve", "carries operations out for clients"),
    ("ui", "calls operations from its own views"),
];

/// The text of every source file below a folder of a crate, tests aside.
fn texts(folder: &str) -> Vec<String> {
    let mut files = Vec::new();
    sources(&root().join("crates").join(folder), &mut files);
    files.retain(|file| !file.to_string_lossy().ends_with("_tests.rs"));
    files.iter().map(|file| fs::read_to_string(file).unwrap()).collect()
}

/// The commands of the binary, with the names of the operations that each one calls.
fn commands() -> BTreeMap<String, usize> {
    let folder = root().join("crates/cli/src");
    let text = fs::read_to_string(folder.join("commands.rs")).unwrap();
    let names = text.match_indices("::run(").filter_map(|(at, _)| {
        let before = text.get(..at)?;
        before.rsplit(|it: char| !(it.is_alphanumeric() || it == '_')).next()
    });
    names.map(|name| (name.to_owned(), operations_in(&folder, name))).collect()
}

fn operations_in(folder: &Path, command: &str) -> usize {
    let path = folder.join(format!("commands/{command}.rs"));
    let own = fs::read_to_string(path).unwrap_or_default();
    own.split(|it: char| !(it.is_alphanumeric() || it == '_' || it == '"'))
        .filter(|word| word.starts_with("\"stack_") || *word == "on_machine")
        .count()
}

/// The public methods in the blocks of code that begin with a line.
fn methods(texts: &[String], begin: &str) -> usize {
    let blocks = texts.iter().flat_map(|text| text.split(begin).skip(1));
    let blocks = blocks.map(|rest| rest.split("\n}").next().unwrap_or_default());
    blocks.map(|block| block.matches("\n    pub fn ").count()).sum()
}

fn lines(texts: &[String]) -> usize {
    texts.iter().map(|text| text.lines().count()).sum()
}

#[test]
fn the_house_is_kept() {
    let engine = texts("engine/src");
    let machine = texts("cli/src/operations");
    let all = || engine.iter().chain(&machine);
    let declared = all().map(|text| text.matches("\nimpl Operate").count());
    let untyped = all().map(|text| text.matches("type Output = Value;").count());
    let (declared, untyped): (usize, usize) = (declared.sum(), untyped.sum());
    let Counts { facade, upward, circle } = Counts::now();
    let commands = commands();
    let outside: Vec<_> =
        commands.iter().filter(|(_, calls)| **calls == 0).map(|(name, _)| name.as_str()).collect();
    let view = methods(&texts("store/src"), "\nimpl View<'_> {");
    println!("files with `impl Engine`: {} (at most {})", facade.len(), FACADE.len());
    println!("uses of a higher layer of the engine: {} (none allowed)", upward.len());
    println!("modules of the engine in a circle: {} (at most {CIRCLE}) {circle:?}", circle.len());
    println!("operations: {declared}, without typed output: {untyped}");
    println!("commands: {}, outside the table: {}", commands.len(), outside.len());
    for name in &outside {
        let why = OUTSIDE.iter().find(|(known, _)| known == name).map(|(_, why)| *why);
        println!("    {name}: {}", why.expect("say in `OUTSIDE` why it is no operation"));
    }
    for (name, _) in OUTSIDE {
        assert!(outside.contains(&name), "`{name}` is an operation by now");
    }
    println!("public methods of the store's read view: {view}");
    println!("lines of the engine: {}, of all sources: {}", lines(&engine), lines(&texts("")));
    assert!(declared > 0 && view > 0, "what is counted has another form");
    assert_eq!(untyped, 0);
    assert_eq!(facade, FACADE);
    assert_eq!(upward, Vec::<String>::new());
    assert!(circle.len() <= CIRCLE, "these use each other: {circle:?}");
}
