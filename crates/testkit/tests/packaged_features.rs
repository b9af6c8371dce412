//! The installed program has the same features of its libraries as the tests. A build of the whole workspace has
//! those that any of its crates turns on, tests included; a build of the program alone has only its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Features that only tests turn on, and that don't change the program's behaviour: further implementations of traits
/// and further functions.
const HARMLESS: [(&str, &[&str]); 5] = [
    ("libc", &["extra_traits"]),
    ("num-traits", &["default", "i128", "std"]),
    ("regex-automata", &["dfa-search", "nfa", "perf"]),
    ("similar", &["default", "inline", "text"]),
    ("strum", &["default"]),
];

fn features(arguments: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tree = Command::new(cargo)
        .args(["tree", "--locked", "--offline", "--prefix", "none", "--format", "{p}|{f}"])
        .args(arguments)
        .current_dir(root)
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in String::from_utf8(tree.stdout).unwrap().lines() {
        let Some((package, features)) = line.split_once('|') else { continue };
        let package = package.split(' ').take(2).collect::<Vec<_>>().join(" ");
        let features = features.trim_end_matches(" (*)").split(',').filter(|it| !it.is_empty());
        found.entry(package).or_default().extend(features.map(str::to_owned));
    }
    found
}

#[test]
fn the_program_alone_is_built_with_what_the_tests_are_built_with() {
    let tested = features(&["--workspace", "--edges", "normal,build,dev"]);
    let packaged = features(&["--package", "callstack-cli", "--edges", "normal"]);
    assert!(packaged.keys().any(|package| package.starts_with("serde_json ")), "{packaged:?}");
    let mut missing = Vec::new();
    for (package, features) in &packaged {
        let name = package.split(' ').next().unwrap_or_default();
        let harmless = HARMLESS.iter().find(|(known, _)| *known == name).map(|(_, all)| *all);
        let harmless = harmless.unwrap_or_default();
        let only_tested = tested.get(package).into_iter().flatten();
        let only_tested =
            only_tested.filter(|it| !features.contains(*it) && !harmless.contains(&it.as_str()));
        missing.extend(only_tested.map(|feature| format!("{package}: {feature}")));
    }
    assert_eq!(
        missing,
        Vec::<String>::new(),
        "name these features in Cargo.toml, or say in HARMLESS why not"
    );
}
