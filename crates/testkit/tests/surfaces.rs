//! Surfaces show what operations answer: secrets are masked there by the caller's right to see them, and a surface that
//! read frames past the operations would show what they mask.

use std::fs;
use std::path::Path;

use crate::architecture::{root, sources};

/// The sources of surfaces.
const SURFACES: [&str; 4] = ["cli/src", "mcp/src", "server/src", "ui/src"];

/// The operations of the machine, in whose answers and reports secrets are masked by their table.
const OPERATIONS: &str = "cli/src/operations";

/// Files that mask something, each with the reason.
const MASKS: [(&str, &str); 1] =
    [("server/src/problem.rs", "refuses requests that are for no operation")];

/// The domain's masking.
const MASKING: &str = "secrets::";

/// Methods of the engine that return texts of frames and messages as they are stored.
const UNMASKED: [&str; 14] = [
    "export",
    "export_session",
    "find_traces",
    "frame",
    "generate_frame_context",
    "log",
    "metadata",
    "read_log",
    "search",
    "search_in",
    "stack",
    "state",
    "tree",
    "tree_notes",
];

/// Returns whether a line calls such a method of an engine.
fn reads_past_operations(line: &str) -> bool {
    let calls = |method: &str| {
        ["engine", "open"].iter().any(|of| line.contains(&format!("{of}.{method}(")))
    };
    UNMASKED.iter().any(|method| calls(method))
}

fn is_test(file: &Path) -> bool {
    let file = file.to_string_lossy();
    file.ends_with("_tests.rs") || file.contains("/view_tests/")
}

/// The lines of code in a source, without its tests.
fn code(source: &str) -> impl Iterator<Item = &str> {
    let source = source.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    source.lines().filter(|line| !line.trim_start().starts_with("//"))
}

#[test]
fn surfaces_neither_mask_nor_read_frames_past_the_operations() {
    let crates = root().join("crates");
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for surface in SURFACES {
        let mut files = Vec::new();
        sources(&crates.join(surface), &mut files);
        for file in files.into_iter().filter(|file| !is_test(file)) {
            let name = file.strip_prefix(&crates).unwrap().to_string_lossy().into_owned();
            if name.starts_with(OPERATIONS) {
                continue;
            }
            seen += 1;
            let may_mask = MASKS.iter().any(|(known, _)| *known == name);
            let source = fs::read_to_string(&file).unwrap();
            let lines = code(&source).filter(|line| {
                reads_past_operations(line) || (line.contains(MASKING) && !may_mask)
            });
            wrong.extend(lines.map(|line| format!("{name}: {}", line.trim())));
        }
    }
    assert!(seen > 100, "surfaces are somewhere else: {seen}");
    assert!(wrong.is_empty(), "call an operation instead: {wrong:#?}");
}

#[test]
fn a_surface_that_reads_past_the_operations_is_found() {
    for line in ["let lines = engine.tree(None)?;", "self.engine.metadata(&frame)", "open.state()?"]
    {
        assert!(reads_past_operations(line), "{line}");
    }
    for line in
        ["engine.resolve(frame)?", "operations::named(\"stack_tree\")", "tree.frames.get(1)"]
    {
        assert!(!reads_past_operations(line), "{line}");
    }
}
