//! The layers of the engine: a module uses modules of its own layer and of those below it, and none of those above.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::architecture::{root, sources};

/// The layers from the ground up, with their modules. Those of `conversation` are listed separately.
pub(crate) const LAYERS: [(&str, &[&str]); 9] = [
    (
        "ground",
        &[
            "background",
            "calibration",
            "call",
            "conversation::host_message",
            "conversation::watch",
            "dense",
            "effect",
            "error",
            "files",
            "handles",
            "hint",
            "lock",
            "masking",
            "outputs",
            "path_text",
            "presets",
            "schema",
            "still_sent",
            "unfinished",
            "work",
            "world",
        ],
    ),
    ("kernel", &["kernel", "logging", "settings"]),
    (
        "frames",
        &[
            "idempotency",
            "commands",
            "consolidation",
            "export",
            "feed",
            "frames",
            "import",
            "inspection",
            "layout",
            "log",
            "mirror",
            "project_files",
            "queries",
            "recorder",
            "search",
            "state",
            "tree",
        ],
    ),
    (
        "sessions",
        &[
            "conversation",
            "conversation::broken",
            "conversation::entry",
            "conversation::purged",
            "conversation::snapshot",
            "sessions",
        ],
    ),
    (
        "evidence and contexts",
        &[
            "assembly",
            "autonomy",
            "closing",
            "conversation::fixing",
            "conversation::files_before",
            "conversation::written",
            "evidence",
            "generator",
            "purge",
            "requests",
            "rollback",
            "saving",
            "staleness",
            "summarizer",
            "system",
            "traces",
            "vanished",
            "work_tree",
        ],
    ),
    (
        "conversation",
        &[
            "compaction",
            "conversation::calibrated",
            "conversation::children",
            "conversation::copied",
            "conversation::folding",
            "conversation::fork",
            "conversation::framing",
            "conversation::masking",
            "conversation::mode",
            "conversation::named_steps",
            "conversation::notes",
            "conversation::observed",
            "conversation::outside",
            "conversation::results",
            "conversation::stale",
            "conversation::sync",
            "conversation::undo",
            "delegations",
            "session",
            "subagents",
            "views",
        ],
    ),
    ("life of a frame", &["conversation::past", "lifecycle"]),
    ("engine", &["engine"]),
    ("operations", &["flame", "manager", "operation", "operations", "slash", "tools"]),
];

/// Modules that may use each other in a circle.
pub(crate) const CIRCLE: usize = 3;

/// Files that say what the engine does.
pub(crate) const FACADE: [&str; 3] = ["engine.rs", "engine/hosts.rs", "engine/people.rs"];

/// The modules that each module of the engine uses.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// The code of each source file of the engine by its path in `src`, without comments and tests.
fn code() -> BTreeMap<String, String> {
    let folder = root().join("crates/engine/src");
    let mut files = Vec::new();
    sources(&folder, &mut files);
    files.retain(|file| !file.to_string_lossy().ends_with("_tests.rs"));
    let code = |file: &Path| {
        let text = fs::read_to_string(file).unwrap();
        let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default().to_owned();
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        lines.collect::<Vec<_>>().join("\n")
    };
    let name = |file: &Path| file.strip_prefix(&folder).unwrap().to_string_lossy().into_owned();
    files.iter().map(|file| (name(file), code(file))).collect()
}

/// The module of a path such as `conversation/notes.rs` or `conversation::notes::Notes`.
fn module(path: &str, known: &BTreeSet<String>) -> String {
    let path = path.trim_end_matches(".rs").replace('/', "::");
    let mut parts = path.split("::");
    let (first, second) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let both = format!("{first}::{second}");
    if known.contains(&both) { both } else { first.to_owned() }
}

/// Returns the paths after each mention of `crate::`, groups in braces taken apart.
fn paths(code: &str) -> Vec<String> {
    let is_path = |it: char| it.is_alphanumeric() || matches!(it, '_' | ':');
    let mut found = Vec::new();
    for rest in code.split("crate::").skip(1) {
        let end = rest.find(|it| !is_path(it)).unwrap_or(rest.len());
        let (start, rest) = rest.split_at(end);
        let Some(group) = rest.strip_prefix('{') else {
            found.push(start.to_owned());
            continue;
        };
        let group = group.split(';').next().unwrap_or_default();
        let names = group.split(|it| !is_path(it)).filter(|name| !name.is_empty());
        found.extend(names.map(|name| format!("{start}{name}")));
    }
    found
}

/// Returns the paths of the names that the root of the crate makes public.
fn exported(root: &str) -> BTreeMap<String, String> {
    let mut exported = BTreeMap::new();
    for statement in root.split("pub use ").skip(1) {
        let statement = statement.split(';').next().unwrap_or_default();
        let (path, names) = statement.rsplit_once("::").unwrap_or_default();
        let (path, names) = statement.split_once("::{").unwrap_or((path, names));
        for name in names.split(|it: char| !(it.is_alphanumeric() || it == '_')) {
            exported.insert(name.to_owned(), format!("{path}::{name}"));
        }
    }
    exported
}

fn uses(code: &BTreeMap<String, String>) -> Uses {
    let known: BTreeSet<_> =
        LAYERS.iter().flat_map(|(_, them)| *them).map(ToString::to_string).collect();
    let exported = exported(&code["lib.rs"]);
    let mut by_module = Uses::new();
    for (file, code) in code.iter().filter(|(file, _)| *file != "lib.rs") {
        let own = module(file, &known);
        assert!(known.contains(&own), "{own} ({file}) stands in no layer");
        let named = paths(code).into_iter().map(|path| {
            let first = path.split("::").next().unwrap_or_default();
            module(exported.get(first).unwrap_or(&path), &known)
        });
        let others = named.filter(|it| known.contains(it) && *it != own);
        by_module.entry(own.clone()).or_default().extend(others);
    }
    by_module
}

/// The uses of modules in layers above the one that uses them.
fn upward(uses: &Uses) -> Vec<String> {
    let layer = |module: &str| LAYERS.iter().position(|(_, them)| them.contains(&module));
    let mut found = Vec::new();
    for (module, used) in uses {
        let above = used.iter().filter(|used| layer(used) > layer(module));
        found.extend(above.map(|used| format!("{module} uses {used}")));
    }
    found
}

/// The largest set of modules of which each reaches each other one.
fn largest_circle(uses: &Uses) -> Vec<&str> {
    let reach = |from: &str| {
        let mut reached = BTreeSet::new();
        let mut next = vec![from.to_owned()];
        while let Some(module) = next.pop() {
            for used in uses.get(&module).into_iter().flatten() {
                if reached.insert(used.clone()) {
                    next.push(used.clone());
                }
            }
        }
        reached
    };
    let reached: BTreeMap<&str, _> = uses.keys().map(|it| (it.as_str(), reach(it))).collect();
    let circle = |of: &str| -> Vec<&str> {
        let others =
            reached.keys().filter(|it| reached[of].contains(**it) && reached[**it].contains(of));
        others.copied().collect()
    };
    reached.keys().map(|it| circle(it)).max_by_key(Vec::len).unwrap_or_default()
}

/// The largest circle of the engine's modules.
pub(crate) fn circle() -> Vec<String> {
    largest_circle(&uses(&code())).into_iter().map(str::to_owned).collect()
}

#[test]
fn modules_of_the_engine_use_those_below_them() {
    let uses = uses(&code());
    assert_eq!(
        uses.len(),
        LAYERS.iter().map(|(_, them)| them.len()).sum::<usize>(),
        "a layer has a module too many"
    );
    assert_eq!(upward(&uses), Vec::<String>::new());
    let circle = largest_circle(&uses);
    assert!(circle.len() <= CIRCLE, "these use each other: {circle:?}");
}

#[test]
fn only_what_stands_on_the_engine_names_it() {
    let above: Vec<_> = LAYERS
        .iter()
        .skip_while(|(name, _)| *name != "engine")
        .flat_map(|(_, them)| *them)
        .collect();
    let known: BTreeSet<_> =
        LAYERS.iter().flat_map(|(_, them)| *them).map(ToString::to_string).collect();
    let words =
        |code: &str| code.split(|it: char| !it.is_alphanumeric()).any(|word| word == "Engine");
    for (file, code) in code() {
        if file == "lib.rs" {
            continue;
        }
        let is_above = above.iter().any(|it| **it == module(&file, &known));
        assert!(is_above || !words(&code), "{file} names the engine");
        let does = code.contains("\nimpl Engine {");
        assert_eq!(does, FACADE.contains(&file.as_str()), "{file}");
    }
}

#[test]
fn a_use_of_a_higher_layer_and_a_circle_are_found() {
    let written = |them: &[(&str, &[&str])]| -> Uses {
        let owned = |it: &&str| (*it).to_owned();
        them.iter()
            .map(|(module, used)| ((*module).to_owned(), used.iter().map(owned).collect()))
            .collect()
    };
    let uses = written(&[("kernel", &["queries", "error"]), ("queries", &["kernel"])]);
    assert_eq!(upward(&uses), ["kernel uses queries"]);
    assert_eq!(largest_circle(&uses), ["kernel", "queries"]);
    assert_eq!(
        paths("use crate::kernel::{Env, outside::Outside};"),
        ["kernel::Env", "kernel::outside::Outside"]
    );
}
