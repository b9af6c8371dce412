//! Documents against the schemas of the tools that read them.

use std::path::Path;

use callstack_exports::Format;
use serde_json::Value;

use crate::sessions::{export, sessions};

/// Where `npm ci` puts the packages of this test.
const SCHEMA: &str = "../../integrations/exports/node_modules/speedscope/dist/release";

#[test]
fn speedscope_takes_its_documents() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(SCHEMA);
    let Ok(schema) = std::fs::read_to_string(folder.join("file-format-schema.json")) else {
        assert!(
            std::env::var_os("CALLSTACK_REQUIRE_SPEEDSCOPE").is_none(),
            "speedscope is not installed: run `npm ci` in integrations/exports"
        );
        eprintln!("skipped: no npm package of speedscope; run `npm ci` in integrations/exports");
        return;
    };
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for sessions in [sessions(), sessions()[1..].to_vec()] {
        let mut document: Value =
            serde_json::from_str(&export(Format::Speedscope, &sessions)).unwrap();
        let faults: Vec<_> = validator.iter_errors(&document).map(|it| it.to_string()).collect();
        assert!(faults.is_empty(), "{faults:#?}");
        document["profiles"][0]["unit"] = "hours".into();
        assert!(!validator.is_valid(&document), "the schema is none");
    }
}
