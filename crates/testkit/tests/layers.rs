//! The layers of the engine: a module uses modules of its own layer and of those below it, and none of those above.
//!
//! A module uses another one if its code or an import of it has a path that leads there, however the path begins:
//! `crate::`, `super::`, `self::` or the name of a child. It also does if it calls a method that the other one adds to
//! a type of a third module, since no import shows that; see [`calls`] for which methods are known by their names.
//!
//! A path to a name that a module passes on (`pub use`) leads to that module, and on to the one that the name comes
//! from. A file that does nothing but declare modules and pass names on, as `lib.rs` and `conversation.rs` do, is a
//! table of contents: it stands in no layer, and a path through it leads to where the name comes from alone. Every
//! other file belongs to a module of a layer and counts with all that it names, parents as well: a struct stands in a
//! layer by what its fields need, and the modules whose methods work on it stand above it. A path that leads to no
//! module of a layer is an error, so that nothing is passed over.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::architecture::{root, sources};
use crate::paths::{ModuleFile, follow};

/// The layers from the ground up, with their modules. Modules below these belong to them.
pub(crate) const LAYERS: [(&str, &[&str]); 9] = [
    (
        "ground",
        &[
            "background",
            "calibration",
            "call",
            "conversation::host_message",
            "conversation::sync_request",
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
    ("kernel", &["kernel", "log_file", "settings"]),
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
            "conversation::broken",
            "conversation::entry",
            "conversation::purged",
            "conversation::snapshot",
            "conversation::state",
            "conversation::stored_notes",
            "conversation::watch",
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
            "changed_files",
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
            "conversation::history",
            "conversation::masking",
            "conversation::mode",
            "conversation::named_steps",
            "conversation::notes",
            "conversation::observed",
            "conversation::outside",
            "conversation::results",
            "conversation::seen",
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

/// The modules of all layers.
fn known() -> BTreeSet<&'static str> {
    LAYERS.iter().flat_map(|(_, them)| *them).copied().collect()
}

/// The path of a file as a module, such as `conversation::notes` of `conversation/notes.rs`.
fn module_of(file: &str) -> String {
    let path = file.trim_end_matches(".rs").replace('/', "::");
    if path == "lib" { String::new() } else { path }
}

/// The module in a layer that a module is or belongs to.
fn placed(module: &str) -> Option<&'static str> {
    let parts: Vec<&str> = module.split("::").collect();
    let known = known();
    let mut in_front = (1..=parts.len()).rev().map(|end| parts[..end].join("::"));
    in_front.find_map(|path| known.get(path.as_str()).copied())
}

/// Returns the modules that each one uses, and what can't be placed.
fn uses(code: &BTreeMap<String, String>) -> (Uses, Vec<String>) {
    let read = |(file, code): (&String, &String)| {
        let module = module_of(file);
        let read = ModuleFile::read(&module, code);
        (module, read)
    };
    let modules: BTreeMap<String, ModuleFile> = code.iter().map(read).collect();
    let (mut all, mut lost) = (Uses::new(), Vec::new());
    for (module, read) in &modules {
        let Some(own) = placed(module) else {
            if !read.is_contents {
                lost.push(format!("{module} has code and stands in no layer"));
            }
            continue;
        };
        let used = all.entry(own.to_owned()).or_default();
        for path in &read.paths {
            let leads_to = follow(path, &modules);
            if leads_to.last().and_then(|last| placed(last)).is_none() {
                lost.push(format!("{path} in {module} leads to no module of a layer"));
            }
            let others = leads_to.iter().filter_map(|it| placed(it)).filter(|it| *it != own);
            used.extend(others.map(str::to_owned));
        }
    }
    for (own, others) in calls(code) {
        all.entry(own).or_default().extend(others);
    }
    (all, lost)
}

/// Returns the uses that calls show: a method that a module adds to a type of another module is used by who calls it.
/// Names of a single word and those that the engine has twice are left out, since they may be other methods.
fn calls(code: &BTreeMap<String, String>) -> Uses {
    let files = || code.iter().filter_map(|(file, code)| Some((placed(&module_of(file))?, code)));
    let mut homes: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for (module, code) in files() {
        for name in ["struct ", "enum "].iter().flat_map(|it| names_after(code, it)) {
            homes.entry(name).or_default().insert(module);
        }
        names_after(code, "fn ").for_each(|name| *times.entry(name).or_default() += 1);
    }
    let mut added: BTreeMap<&str, &str> = BTreeMap::new();
    for (module, code) in files() {
        for block in code.split("\nimpl").skip(1) {
            let block = block.split("\n}").next().unwrap_or_default();
            let (head, body) = block.split_once('{').unwrap_or_default();
            let of = head.split_once("> ").map_or(head, |(_, of)| of).trim();
            let of = of.split('<').next().unwrap_or_default();
            if homes.get(of).is_some_and(|homes| !homes.contains(module)) {
                let methods = names_after(body, "\n    fn ")
                    .chain(names_after(body, "\n    pub(crate) fn "))
                    .chain(names_after(body, "\n    pub(super) fn "));
                added.extend(methods.map(|name| (name, module)));
            }
        }
    }
    added.retain(|name, _| name.contains('_') && times.get(name) == Some(&1));
    let mut uses = Uses::new();
    for (module, code) in files() {
        let called = |name: &&str| {
            code.contains(&format!(".{name}(")) || code.contains(&format!("::{name}"))
        };
        let others = added.iter().filter(|(name, _)| called(name)).map(|(_, adds)| *adds);
        let others = others.filter(|other| *other != module).map(str::to_owned);
        uses.entry(module.to_owned()).or_default().extend(others);
    }
    uses
}

/// The names that directly follow each mention of a text.
fn names_after<'a>(code: &'a str, text: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    let rests: Vec<&str> = code.split(text).skip(1).collect();
    rests.into_iter().filter_map(|rest| {
        rest.split(|it: char| !(it.is_alphanumeric() || it == '_'))
            .next()
            .filter(|it| !it.is_empty())
    })
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

/// The counts of the engine's layers.
pub(crate) struct Counts {
    /// The files that say what the engine does.
    pub(crate) facade: Vec<String>,
    /// The uses of modules in higher layers.
    pub(crate) upward: Vec<String>,
    /// The largest circle of modules.
    pub(crate) circle: Vec<String>,
}

impl Counts {
    pub(crate) fn now() -> Self {
        let code = code();
        let (uses, _) = uses(&code);
        let does = |(_, code): &(&String, &String)| code.contains("\nimpl Engine {");
        Self {
            facade: code.iter().filter(does).map(|(file, _)| file.clone()).collect(),
            upward: upward(&uses),
            circle: largest_circle(&uses).into_iter().map(str::to_owned).collect(),
        }
    }
}

#[test]
fn modules_of_the_engine_use_those_below_them() {
    let (uses, lost) = uses(&code());
    assert_eq!(lost, Vec::<String>::new());
    assert_eq!(uses.keys().map(String::as_str).collect::<BTreeSet<_>>(), known());
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
    let words =
        |code: &str| code.split(|it: char| !it.is_alphanumeric()).any(|word| word == "Engine");
    for (file, code) in code() {
        let Some(module) = placed(&module_of(&file)) else { continue };
        let is_above = above.iter().any(|it| **it == module);
        assert!(is_above || !words(&code), "{file} names the engine");
        let does = code.contains("\nimpl Engine {");
        assert_eq!(does, FACADE.contains(&file.as_str()), "{file}");
    }
}

/// Whether code names the store itself, with which transactions are begun.
fn names_store(code: &str) -> bool {
    let words = |text: &str| {
        text.split(|it: char| !(it.is_alphanumeric() || it == '_')).any(|word| word == "Store")
    };
    let is_named = |rest: &str| match rest.strip_prefix('{') {
        Some(list) => words(list.split('}').next().unwrap_or_default()),
        None => rest.split(|it: char| !it.is_alphanumeric()).next() == Some("Store"),
    };
    code.split("callstack_store::").skip(1).any(is_named)
}

#[test]
fn only_the_kernel_has_the_store() {
    for (file, code) in code() {
        let is_kernel = file == "kernel.rs" || file.starts_with("kernel/");
        assert!(is_kernel || !names_store(&code), "{file} names the store");
    }
    assert!(names_store("use callstack_store::{Change, Store, View};"));
    assert!(names_store("use callstack_store::Store;"));
    assert!(names_store("callstack_store::Store::open(&trusted)"));
    assert!(!names_store("use callstack_store::{StoreError, View};\nRefusal::Store(error)"));
    assert!(!names_store("use callstack_store::StoreError;\nRefusal::Store(error)"));
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
}

#[test]
fn uses_are_found_however_they_are_written() {
    let files = |snapshot: &str| {
        let files = [
            ("lib.rs", "mod conversation;\nmod error;\npub use error::Kind;\n"),
            (
                "conversation.rs",
                "mod snapshot;\nmod stale;\nmod state;\npub(crate) use stale::Mark;\n",
            ),
            ("conversation/snapshot.rs", snapshot),
            (
                "conversation/stale.rs",
                "use super::state::Session;\nstruct Mark;\nimpl Session {\n    fn go_stale(&self) {}\n}\n",
            ),
            ("conversation/state.rs", "struct Session;\n"),
            ("error.rs", "enum Kind {}\n"),
        ];
        files.map(|(file, code)| (file.to_owned(), code.to_owned())).into()
    };
    let found = |snapshot: &str| {
        let (uses, lost) = uses(&files(snapshot));
        assert_eq!(lost, Vec::<String>::new());
        upward(&uses)
    };
    for snapshot in [
        "use super::stale;",
        "use super::stale::Mark;",
        "use super::{Mark as Sign};",
        "use crate::conversation::{stale::{self}};",
        "fn a() -> super::Mark { todo() }",
        "fn a(session: &Session) { session.go_stale() }",
        "mod inner { fn a() { super::super::stale::mark() } }",
    ] {
        assert_eq!(
            found(snapshot),
            ["conversation::snapshot uses conversation::stale"],
            "{snapshot}"
        );
    }
    assert_eq!(found("use super::state::Session; use crate::Kind;"), Vec::<String>::new());
    let (_, lost) = uses(&files("use crate::lost::Found;"));
    assert_eq!(lost, ["lost::Found in conversation::snapshot leads to no module of a layer"]);
    let mut code: BTreeMap<_, _> = files("");
    code.insert(
        "conversation.rs".to_owned(),
        "mod stale;\nuse stale::Mark;\nstruct A(Mark);".to_owned(),
    );
    assert_eq!(uses(&code).1, ["conversation has code and stands in no layer"]);
}
