//! The permitted dependencies between crates, and the modules that each may use.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The crates of ours that a crate may use. Every crate of the workspace stands here.
pub(crate) const ARROWS: [(&str, &[&str]); 18] = [
    ("core", &[]),
    ("page", &[]),
    ("plain-files", &[]),
    ("recordings", &["core", "plain-files"]),
    ("store", &["core", "plain-files"]),
    ("engine", &["core", "store"]),
    ("hosts", &["core", "engine", "recordings"]),
    ("mcp", &["core", "engine"]),
    ("work-tree", &["engine"]),
    ("http-client", &[]),
    ("summarizer", &["core", "engine", "http-client"]),
    ("exports", &["core", "http-client"]),
    ("server", &["core", "engine", "mcp", "page"]),
    ("replay", &["core", "recordings"]),
    ("ui", &["core", "engine"]),
    ("scripted-model", &[]),
    (
        "cli",
        &[
            "core",
            "store",
            "engine",
            "exports",
            "hosts",
            "mcp",
            "page",
            "recordings",
            "work-tree",
            "replay",
            "scripted-model",
            "server",
            "summarizer",
            "ui",
        ],
    ),
    ("testkit", &["scripted-model"]),
];

/// The libraries that the domain may use: none that reads, writes, waits or asks for the time.
const PURE: [&str; 9] =
    ["bip39", "memchr", "regex", "schemars", "serde", "serde_json", "sha2", "similar", "thiserror"];

/// Lines of a source file.
const LONGEST: usize = 600;
/// The plugin has to be one file, since OpenCode loads single files.
const PLUGIN: (&str, usize) = ("integrations/opencode/callstack.ts", 1_000);

fn longest(file: &Path) -> usize {
    if file.ends_with(PLUGIN.0) { PLUGIN.1 } else { LONGEST }
}

/// Modules that may not be used in the sources of a crate, tests aside. Only the binary reads the environment.
const FORBIDDEN: [(&str, &[&str]); 11] = [
    ("core", &["std::env", "std::fs", "std::time", "std::net", "std::process", "std::thread"]),
    ("plain-files", &["std::env", "std::net", "std::process"]),
    ("recordings", &["std::env", "std::net", "std::process", "std::thread"]),
    ("store", &["std::env", "std::net", "std::process"]),
    ("engine", &["std::env", "std::net", "std::process"]),
    ("hosts", &["std::env", "std::net"]),
    ("mcp", &["std::env", "std::fs", "std::net", "std::process"]),
    ("ui", &["std::env", "std::fs", "std::net"]),
    ("summarizer", &["std::env", "std::fs", "std::process"]),
    ("exports", &["std::env", "std::fs", "std::process"]),
    ("replay", &["std::env", "std::fs", "std::time", "std::net", "std::process"]),
];

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The dependencies of our crates: crate, kind (`normal`, `build`, `dev`) and what it uses.
fn dependencies() -> Vec<(String, String, String)> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |value: &Value, otherwise: &str| value.as_str().unwrap_or(otherwise).to_owned();
    let mut found = Vec::new();
    for package in metadata["packages"].as_array().unwrap() {
        let name = text(&package["name"], "");
        // A crate without dependencies is one of ours too.
        found.push((name.clone(), "itself".to_owned(), name.clone()));
        for dependency in package["dependencies"].as_array().unwrap() {
            let kind = text(&dependency["kind"], "normal");
            found.push((name.clone(), kind, text(&dependency["name"], "")));
        }
    }
    found
}

/// Why a dependency may not be, if it may not.
fn wrong(from: &str, kind: &str, to: &str) -> Option<String> {
    let from = from.strip_prefix("callstack-")?;
    let arrows: BTreeMap<_, _> = ARROWS.into_iter().collect();
    let Some(allowed) = arrows.get(from) else {
        return Some(format!("{from} has no place in ARROWS yet"));
    };
    let Some(to) = to.strip_prefix("callstack-") else {
        let pure = from != "core" || kind == "dev" || PURE.contains(&to);
        return (!pure).then(|| format!("core uses {to}, which is not known to be pure"));
    };
    let for_tests = kind == "dev" && from != "core" && to == "testkit";
    let fine = kind == "itself" || allowed.contains(&to) || for_tests;
    (!fine).then(|| format!("{from} uses {to} ({kind})"))
}

#[test]
fn arrows_between_crates_point_one_way() {
    let dependencies = dependencies();
    for (name, _) in ARROWS {
        let name = format!("callstack-{name}");
        assert!(dependencies.iter().any(|it| it.0 == name), "{name} is not in the workspace");
    }
    let wrong: Vec<_> =
        dependencies.iter().filter_map(|(from, kind, to)| wrong(from, kind, to)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_wrong_arrow_is_found() {
    for (from, kind, to) in [
        ("callstack-core", "normal", "callstack-store"),
        ("callstack-core", "dev", "callstack-testkit"),
        ("callstack-core", "normal", "rusqlite"),
        ("callstack-store", "normal", "callstack-engine"),
        ("callstack-hosts", "normal", "callstack-store"),
        ("callstack-cli", "normal", "callstack-testkit"),
        ("callstack-engine", "build", "callstack-testkit"),
        ("callstack-other", "normal", "serde"),
    ] {
        assert!(wrong(from, kind, to).is_some(), "{from} may use {to}");
    }
    assert_eq!(wrong("callstack-engine", "dev", "callstack-testkit"), None);
    assert_eq!(wrong("callstack-core", "dev", "proptest"), None);
}

/// Our own source files below a folder.
pub(crate) fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // The target of a link is checked at its own place.
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            if !matches!(name.as_str(), "node_modules" | "target") && !name.starts_with('.') {
                sources(&path, found);
            }
        } else if [".rs", ".ts", ".tsx", ".mjs"].iter().any(|ending| name.ends_with(ending)) {
            found.push(path);
        }
    }
}

#[test]
fn no_source_file_is_too_long() {
    let mut files = Vec::new();
    for folder in ["crates", "integrations", "web"] {
        sources(&root().join(folder), &mut files);
    }
    assert!(files.len() > 100, "sources are somewhere else: {files:?}");
    let long: Vec<_> = files
        .into_iter()
        .map(|file| (fs::read_to_string(&file).unwrap().lines().count(), file))
        .filter(|(lines, file)| *lines >= longest(file))
        .collect();
    assert!(long.is_empty(), "split these by what they are about: {long:#?}");
}

/// The lines of a source that use one of `words`. Comments may mention anything.
fn uses<'s>(source: &'s str, words: &[&str]) -> Vec<&'s str> {
    source
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .filter(|line| words.iter().any(|word| mentions(line, word)))
        .collect()
}

/// Whether a line names a module, also as one of several: `use std::{env, fs}`.
fn mentions(line: &str, word: &str) -> bool {
    let module = word.trim_start_matches("std::");
    let several = line.split_once("std::{").is_some_and(|(_, inside)| {
        inside.split([',', '{', '}', ' ', ':', ';']).any(|name| name == module)
    });
    line.contains(word) || several
}

#[test]
fn crates_touch_only_what_is_theirs() {
    for (name, words) in FORBIDDEN {
        let mut files = Vec::new();
        sources(&root().join("crates").join(name).join("src"), &mut files);
        files.retain(|file| !file.to_string_lossy().ends_with("_tests.rs"));
        assert!(!files.is_empty());
        for file in files {
            let source = fs::read_to_string(&file).unwrap();
            let found = uses(&source, words);
            assert!(found.is_empty(), "{}: {found:?}", file.display());
        }
    }
}

/// The files in which stores can be opened without a check of trust, for all tests.
const OPENING: [&str; 3] = ["store/src/store.rs", "store/src/trust.rs", "engine/src/engine.rs"];

#[test]
fn what_ships_opens_no_store_unchecked() {
    let mut files = Vec::new();
    for (name, _) in ARROWS {
        sources(&root().join("crates").join(name).join("src"), &mut files);
    }
    files.retain(|file| !file.to_string_lossy().ends_with("_tests.rs"));
    let opening = files.iter().filter(|file| OPENING.iter().any(|it| file.ends_with(it)));
    assert_eq!(opening.count(), OPENING.len());
    files.retain(|file| !OPENING.iter().any(|it| file.ends_with(it)));
    for file in files {
        let source = fs::read_to_string(&file).unwrap();
        assert_eq!(uses(&source, &["unchecked("]), [""; 0], "{}", file.display());
    }
}

#[test]
fn a_use_of_the_environment_is_found() {
    for line in ["use std::env;", "let home = std::env::var_os(x);", "use std::{env, fs};"] {
        assert_eq!(uses(line, &["std::env"]), [line]);
    }
    for line in ["// std::env is for the binary", "use std::{fmt, environment};", "env!(\"CARGO\")"]
    {
        assert_eq!(uses(line, &["std::env"]), Vec::<&str>::new(), "{line}");
    }
}
