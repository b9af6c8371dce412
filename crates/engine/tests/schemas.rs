//! The tools as an agent is listed them.

use std::collections::BTreeSet;

use callstack_engine::operation::CallerKind;
use callstack_engine::{Profile, operations};
use serde_json::{Value, json};

/// The names of the core operations of the specification, whether listed or reached by `stack`.
const CORE: [&str; 18] = [
    "stack",
    "stack_add_artifact",
    "stack_add_decision",
    "stack_cache_clear",
    "stack_context_info",
    "stack_context_preview",
    "stack_frame_activate",
    "stack_frame_details",
    "stack_frame_invalidate",
    "stack_frame_plan",
    "stack_frame_plan_children",
    "stack_frame_pop",
    "stack_frame_push",
    "stack_frame_reopen",
    "stack_get_state",
    "stack_pin",
    "stack_status",
    "stack_tree",
];

#[test]
fn the_default_tools() {
    let tools: Vec<Value> = operations::listed(Profile::Default)
        .map(|operation| {
            json!({
                "name": operation.name,
                "description": operation.summary,
                "parameters": (operation.parameters)(),
            })
        })
        .collect();
    insta::assert_json_snapshot!(tools);
}

#[test]
fn all_that_is_promised_is_there_once() {
    let names: Vec<_> = operations::TABLE.iter().map(|operation| operation.name).collect();
    let different: BTreeSet<_> = names.iter().collect();
    assert_eq!(different.len(), names.len(), "a name stands twice in {names:?}");
    for name in CORE {
        assert!(names.contains(&name), "{name} is missing");
    }
    let full: Vec<_> = operations::listed(Profile::Full).map(|it| it.name).collect();
    let agents: Vec<_> =
        operations::callable_by(CallerKind::Agent).map(|operation| operation.name).collect();
    assert_eq!(full, agents);
}

#[test]
fn names_and_descriptions_are_plain() {
    for operation in operations::TABLE {
        let name = operation.name;
        assert!(name.len() <= 64 && name.starts_with("stack"), "{name}");
        assert!(name.chars().all(|it| it.is_ascii_lowercase() || it == '_'), "{name}");
        assert!(operation.summary.ends_with('.'), "{name}: {}", operation.summary);
        assert!(!operation.summary.contains(['\n', '\t']), "{name}: {}", operation.summary);
    }
}

/// Asserts that every client understands a schema: one type, no references, no alternatives, nothing that is null.
pub(crate) fn assert_plain(place: &str, schema: &Value) {
    let object = schema.as_object().unwrap_or_else(|| panic!("{place} is {schema}"));
    for (key, value) in object {
        let inner = format!("{place}.{key}");
        match key.as_str() {
            "type" => {
                let known = ["object", "string", "array", "integer", "boolean", "number"];
                assert!(value.as_str().is_some_and(|it| known.contains(&it)), "{inner}: {value}");
            }
            "description" => assert!(value.as_str().is_some_and(|it| !it.is_empty()), "{inner}"),
            "properties" => {
                for (name, property) in value.as_object().unwrap() {
                    assert_plain(&format!("{inner}.{name}"), property);
                }
            }
            "required" => {
                for name in value.as_array().unwrap() {
                    let name = name.as_str().unwrap();
                    assert!(schema["properties"].get(name).is_some(), "{inner}: no {name}");
                }
            }
            "items" => assert_plain(&inner, value),
            "enum" => {
                let values = value.as_array().unwrap();
                assert!(!values.is_empty() && values.iter().all(Value::is_string), "{inner}");
            }
            _ => panic!("{inner}: not every client understands `{key}`"),
        }
    }
    assert!(object.contains_key("type"), "{place} has no type");
    match object["type"].as_str() {
        Some("array") => assert!(object.contains_key("items"), "{place} has no items"),
        Some("object") => assert_eq!(
            object.contains_key("properties"),
            object.contains_key("required"),
            "{place}"
        ),
        _ => {}
    }
}

#[test]
fn schemas_are_plain_enough_for_every_client() {
    for operation in operations::TABLE {
        let schema = (operation.parameters)();
        assert_eq!(schema["type"], "object", "{}", operation.name);
        assert!(schema["properties"].is_object() && schema["required"].is_array());
        assert_plain(operation.name, &schema);
    }
}

#[test]
fn a_context_says_who_reads_it() {
    let plan = (operations::find("stack_frame_plan").unwrap().brief)();
    let activate = (operations::find("stack_frame_activate").unwrap().brief)();
    let child = &plan["properties"]["children"]["items"];
    for schema in [child, &activate] {
        let context = schema["properties"]["context"]["description"].as_str().unwrap();
        assert!(
            context.starts_with("Read by whoever works on the frame, when it begins"),
            "{context}"
        );
    }
}

#[test]
fn a_plan_declares_all_that_it_takes() {
    for name in ["stack_frame_plan", "stack_frame_plan_children"] {
        let operation = operations::find(name).unwrap();
        let fields = |schema: &Value| {
            let child = &schema["properties"]["children"]["items"]["properties"];
            let inner = &child["children"]["items"]["properties"];
            [child, inner].map(|it| it.as_object().unwrap().keys().cloned().collect::<Vec<_>>())
        };
        let dense = "successCriteriaCompacted".to_owned();
        let full = fields(&(operation.parameters)());
        assert!(full.iter().all(|it| it.contains(&dense)), "{name}: {full:?}");
        let brief = fields(&(operation.brief)());
        assert!(!brief.iter().any(|it| it.contains(&dense)), "{name}: {brief:?}");
        assert_eq!(brief.map(|it| it.len()), [4, 3], "{name}");
    }
    let plan = operations::find("stack_frame_plan").unwrap();
    assert_eq!((plan.brief)()["required"], json!(["children"]));
    assert_eq!((plan.parameters)()["required"], json!([]), "one frame may be named instead");
}

#[test]
#[should_panic(expected = "not every client understands `anyOf`")]
fn a_schema_with_alternatives_is_found() {
    let alternatives = json!({"anyOf": [{"type": "string"}, {"type": "null"}]});
    assert_plain(
        "it",
        &json!({"type": "object", "properties": {"a": alternatives}, "required": []}),
    );
}
