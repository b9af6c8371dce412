//! The description for programs: whole, and true.

use std::collections::BTreeSet;

use axum::http::Method;
use callstack_engine::operation::CallerKind;
use callstack_engine::operations::TABLE;
use serde_json::{Value, json};

use crate::support::Site;

async fn description(site: &Site) -> Value {
    site.send(Method::GET, "/openapi.json", &site.headers(), "").await.json()
}

/// Has `see` look at every object in a value.
fn visit(value: &Value, see: &mut dyn FnMut(&serde_json::Map<String, Value>)) {
    match value {
        Value::Object(fields) => {
            see(fields);
            fields.values().for_each(|value| visit(value, see));
        }
        Value::Array(values) => values.iter().for_each(|value| visit(value, see)),
        _ => {}
    }
}

#[tokio::test]
async fn every_reference_leads_to_something_and_every_schema_is_used() {
    let description = description(&Site::new()).await;
    let mut used = BTreeSet::new();
    visit(&description, &mut |fields| {
        if let Some(reference) = fields.get("$ref") {
            let pointer = reference.as_str().unwrap().strip_prefix('#').unwrap();
            assert!(description.pointer(pointer).is_some(), "{reference}");
            used.insert(pointer.to_owned());
        }
        assert!(!fields.contains_key("$defs") && !fields.contains_key("$schema"), "{fields:?}");
    });
    for kind in ["schemas", "parameters", "responses"] {
        for name in description["components"][kind].as_object().unwrap().keys() {
            assert!(used.contains(&format!("/components/{kind}/{name}")), "{kind} {name}");
        }
    }
}

#[tokio::test]
async fn every_operation_is_described_under_a_name_of_its_own() {
    let description = description(&Site::new()).await;
    assert_eq!(description["openapi"], "3.1.0");
    let mut names = BTreeSet::new();
    let paths = description["paths"].as_object().unwrap();
    for (path, methods) in paths {
        for endpoint in methods.as_object().unwrap().values() {
            let name = endpoint["operationId"].as_str().unwrap();
            assert!(names.insert(name.to_owned()), "{path} {name}");
            assert!(!endpoint["summary"].as_str().unwrap().is_empty());
            assert!(endpoint["responses"]["200"].is_object(), "{path}");
        }
    }
    for operation in TABLE.iter().filter(|operation| operation.is_for(CallerKind::Page)) {
        let endpoint = &paths[&format!("/v1/operations/{}", operation.name)]["post"];
        let schema = &endpoint["requestBody"]["content"]["application/json"]["schema"];
        assert_eq!(*schema, (operation.parameters)(), "{}", operation.name);
    }
}

#[tokio::test]
async fn what_is_described_is_there_and_answers_as_described() {
    let site = Site::new();
    let description = description(&site).await;
    site.did("stack_frame_push", json!({"title": "a", "successCriteria": "b"})).await;
    for (path, methods) in description["paths"].as_object().unwrap() {
        for (method, endpoint) in methods.as_object().unwrap() {
            // An event stream has no end.
            let described = &endpoint["responses"]["200"]["content"];
            let Some(media_type) = described.get("application/json") else { continue };
            let method = method.to_uppercase().parse().unwrap();
            let answer = site.send(method, path, &site.headers(), "").await;
            let schema = if answer.status.is_success() {
                media_type["schema"].clone()
            } else {
                let needs = &endpoint["requestBody"]["content"]["application/json"]["schema"];
                assert!(needs.is_object(), "{path}: {answer:?}");
                description["components"]["responses"]["Problem"]["content"]
                    ["application/problem+json"]["schema"]
                    .clone()
            };
            let mut whole = schema;
            whole["components"] = description["components"].clone();
            let validator = jsonschema::validator_for(&whole).unwrap();
            let body = answer.json();
            let wrong: Vec<_> =
                validator.iter_errors(&body).map(|wrong| wrong.to_string()).collect();
            assert!(wrong.is_empty(), "{path}: {wrong:?} in {body}");
        }
    }
}
