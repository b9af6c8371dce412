//! The engine's tools as the protocol lists them.

use callstack_engine::Profile;
use callstack_engine::operation::{Access, HostKind};
use callstack_engine::tools::{self, Tool};
use rmcp::model::{self, JsonObject, ToolAnnotations};
use serde_json::Value;

use crate::session::Sessions;

/// Returns the tools that a profile lists.
pub(crate) fn listed(profile: Profile, sessions: &Sessions) -> Vec<model::Tool> {
    tools::listed_by(profile, HostKind::Calling).map(|tool| described(&tool, sessions)).collect()
}

fn described(tool: &Tool, sessions: &Sessions) -> model::Tool {
    let mut parameters = object(tool.parameters());
    sessions.describe(&mut parameters);
    model::Tool::new(tool.name(), tool.summary(), parameters).with_annotations(annotations(tool))
}

/// Returns the properties that a client may assume of a tool. No tool ever loses stored data, and all data stays on
/// this machine.
fn annotations(tool: &Tool) -> ToolAnnotations {
    let reads = tool.operation().access == Access::Read;
    ToolAnnotations::new().read_only(reads).destructive(false).open_world(false)
}

/// Returns a value that is an object by its making.
fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}
