//! The lists of tools.

use serde_json::{Value, json};

use crate::wire::TestEnv;

async fn listed(variables: &[(&str, &str)]) -> Vec<Value> {
    let desk = TestEnv::with(variables);
    let mut client = desk.client();
    client.hello("try").await;
    let mut listed = client.request("tools/list", json!({})).await;
    let Value::Array(tools) = listed["tools"].take() else { panic!("{listed}") };
    tools
}

#[tokio::test]
async fn the_tools_are_these() {
    insta::assert_json_snapshot!(listed(&[]).await);
}

#[tokio::test]
async fn all_tools_of_the_profile_full_are_these() {
    insta::assert_json_snapshot!(listed(&[("STACK_TOOLS", "full")]).await);
}

/// Calls `see` with each schema in a schema.
fn each_schema(schema: &Value, see: &mut impl FnMut(&Value)) {
    see(schema);
    for property in schema["properties"].as_object().into_iter().flatten().map(|(_, it)| it) {
        each_schema(property, see);
    }
    if !schema["items"].is_null() {
        each_schema(&schema["items"], see);
    }
}

#[tokio::test]
async fn every_schema_is_one_that_all_clients_read() {
    for profile in ["default", "full", "flame"] {
        for tool in listed(&[("STACK_TOOLS", profile)]).await {
            let name = tool["name"].as_str().unwrap();
            assert_eq!(tool["inputSchema"]["type"], "object", "{name}");
            assert!(tool["inputSchema"]["properties"].is_object(), "{name}");
            each_schema(&tool["inputSchema"], &mut |schema| {
                const KNOWN: [&str; 6] =
                    ["type", "properties", "required", "items", "enum", "description"];
                for key in schema.as_object().unwrap().keys() {
                    assert!(KNOWN.contains(&key.as_str()), "{profile} {name}: {key} in {schema}");
                }
                assert!(schema["type"].is_string(), "{profile} {name}: {schema}");
                assert_ne!(schema["type"], "null", "{profile} {name}");
            });
        }
    }
}

#[tokio::test]
async fn no_tool_promises_what_a_client_that_folds_nothing_can_not_do() {
    for profile in ["default", "full"] {
        for tool in listed(&[("STACK_TOOLS", profile)]).await {
            let text = tool.to_string();
            for promise in [
                "leave your context",
                "leave your \\ncontext",
                "Compact the",
                "another session works",
            ] {
                assert!(!text.contains(promise), "{promise}: {text}");
            }
        }
    }
}
