//! The cost of the standing parts of a request, as they are on the wire.

use callstack_core::guidance::GUIDANCE;
use callstack_scripted_model::RecordedRequest;
use callstack_testkit::tokens::count_o200k;
use serde_json::Value;

use super::seen::{our_system, tools};

/// Checks the tool list and the guidance of a session with the default settings.
pub(crate) fn check(request: &RecordedRequest) {
    let ours: Vec<_> =
        tools(request).into_iter().filter(|(name, _)| name.starts_with("stack")).collect();
    let names: Vec<_> = ours.iter().map(|(name, _)| name.as_str()).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(
        sorted,
        [
            "stack",
            "stack_add_decision",
            "stack_frame_activate",
            "stack_frame_plan",
            "stack_frame_pop",
            "stack_frame_push",
        ]
    );
    let listed: Vec<_> = ours.iter().map(|(_, entry)| entry.as_str()).collect();
    let cost = count_o200k(&listed.join(","));
    assert!(cost <= 1000, "the tool list takes {cost} tokens");
    let cost = count_o200k(GUIDANCE);
    assert!(cost <= 500, "the guidance takes {cost} tokens");
    let system = our_system(request);
    assert!(system[0].starts_with(GUIDANCE.trim_end()), "{}", system[0]);
    for (name, entry) in &ours {
        let entry: Value = serde_json::from_str(entry).unwrap();
        let schema = &entry["function"]["parameters"];
        assert_eq!(schema["type"], "object", "{name}");
        assert_plain(name, schema);
        assert_eq!(schema["required"], Value::from(required(name)), "{name}");
    }
}

fn required(tool: &str) -> Vec<&'static str> {
    match tool {
        "stack_frame_push" => vec!["title", "successCriteria"],
        "stack_frame_plan" => vec!["children"],
        "stack_add_decision" => vec!["decision"],
        _ => vec![],
    }
}

/// Words that some clients refuse, anywhere in a schema.
pub(crate) fn assert_plain(tool: &str, schema: &Value) {
    match schema {
        Value::Object(object) => {
            for (key, value) in object {
                let refused = ["$ref", "$defs", "oneOf", "anyOf", "allOf", "nullable", "title"];
                let named = key == "title" && value.is_object();
                assert!(named || !refused.contains(&key.as_str()), "{tool}: {key} in {schema}");
                assert!(key != "type" || value.is_string(), "{tool}: {value}");
                assert!(value != "null" && !value.is_null(), "{tool}: null in {schema}");
                assert_plain(tool, value);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| assert_plain(tool, value)),
        _ => assert!(schema != "null" && !schema.is_null(), "{tool}: null"),
    }
}
