//! Hints name operations as such, so that each surface can say how its readers reach them.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::architecture::{root, sources};

/// The sources of the crates, without tests and comments.
fn code() -> Vec<(String, String)> {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    let is_source = |file: &PathBuf| {
        file.components().any(|part| part.as_os_str() == "src")
            && file.extension().is_some_and(|it| it == "rs")
            && !file.to_string_lossy().ends_with("_tests.rs")
    };
    let files = files.into_iter().filter(is_source);
    let without_tests = files.map(|file| {
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("\n#[cfg(test)]").next().unwrap_or_default().lines();
        let code: Vec<_> = code.filter(|line| !line.trim_start().starts_with("//")).collect();
        (file.display().to_string(), code.join("\n"))
    });
    without_tests.collect()
}

#[test]
fn hints_name_operations_that_are_in_the_table_and_none_as_mere_words() {
    let reference = fs::read_to_string(root().join("docs/reference/operations.json")).unwrap();
    let table: BTreeMap<String, Value> = serde_json::from_str(&reference).unwrap();
    let mut named = 0;
    for (file, code) in code() {
        assert!(!code.contains("`stack_"), "{file}: write `.and(\"stack_…\")` in a hint");
        for begin in ["Hint::operation(\"", ".and(\"stack"] {
            for (at, _) in code.match_indices(begin) {
                let name = code[at..].split('"').nth(1).unwrap_or_default();
                assert!(table.contains_key(name), "{file}: there is no operation {name}");
                named += 1;
            }
        }
    }
    assert!(named > 20, "hints are written in another form: {named}");
}
