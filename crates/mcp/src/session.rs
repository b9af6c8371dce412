//! On whose behalf a client's calls are made.

use callstack_engine::operation::Caller;
use callstack_engine::{EngineError, SystemWorld, World as _};
use rmcp::RoleServer;
use rmcp::model::JsonObject;
use rmcp::service::RequestContext;
use serde_json::{Value, json};

/// The keys of `_meta` under which clients send the id of the conversation that calls, the narrowest first: the
/// threads of a session are conversations of their own.
const SESSION_KEYS: [&str; 2] = ["threadId", "sessionId"];
/// The keys of `_meta` under which clients send the id that the model gave the call.
const CALL_KEYS: [&str; 2] = ["claudecode/toolUseId", "callId"];
/// The argument with the id of the conversation, where nothing else shows it.
const ARGUMENT: &str = "session";
/// Bytes of an id or a name that a client gives.
const LONGEST: usize = 200;

/// The session of a call whose `_meta` names none.
#[derive(Clone, Debug)]
pub enum Sessions {
    /// This one: the client has a process of the server for each conversation.
    Process(String),
    /// The one that the call names in an argument of its own: clients share the server.
    Argument,
}

impl Sessions {
    /// Adds the argument to a tool's schema that names the session, where calls have one.
    pub(crate) fn describe(&self, schema: &mut JsonObject) {
        let Self::Argument = self else { return };
        let about = json!({
            "type": "string",
            "description": "An id for this conversation that you make up once, the same in each call",
        });
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            properties.insert(ARGUMENT.to_owned(), about);
        }
        if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
            required.push(ARGUMENT.into());
        }
    }

    /// Returns the caller of a request, and takes the argument that names its session.
    pub(crate) fn caller(
        &self,
        context: &RequestContext<RoleServer>,
        arguments: &mut JsonObject,
    ) -> Result<Caller, EngineError> {
        let named = of_meta(context, &SESSION_KEYS);
        let session = match self {
            Self::Process(process) => named.map_or_else(|| process.clone(), |id| session_of(&id)),
            Self::Argument => {
                let given = arguments.shift_remove(ARGUMENT);
                let given = given.as_ref().and_then(Value::as_str).and_then(usable);
                let named = named.or(given).ok_or_else(|| {
                    EngineError::invalid(
                        "the call names no session",
                        "Give `session`: an id for this conversation, the same in each call.",
                    )
                })?;
                session_of(&named)
            }
        };
        let call = of_meta(context, &CALL_KEYS).unwrap_or_else(|| SystemWorld.id("call-"));
        Ok(Caller::of_client(session, &client(context), call))
    }

    /// Returns the caller for what belongs to no session.
    pub(crate) fn reader(context: &RequestContext<RoleServer>) -> Caller {
        Caller::of_client(session_of("reader"), &client(context), SystemWorld.id("call-"))
    }
}

/// Returns the session for a conversation that a client names. The client's own recording of it, which may be imported
/// later, is a session beside it.
pub fn session_of(conversation: &str) -> String {
    format!("mcp-{conversation}")
}

/// Returns the name of the client that asks.
fn client(context: &RequestContext<RoleServer>) -> String {
    let client = context.client_info().and_then(|client| usable(&client.name));
    client.unwrap_or_else(|| "client".to_owned())
}

/// Returns the first text in `_meta` that stands under one of these keys.
fn of_meta(context: &RequestContext<RoleServer>, keys: &[&str]) -> Option<String> {
    keys.iter().find_map(|key| usable(context.meta.get(*key)?.as_str()?))
}

/// Returns a text if it can be an id: neither empty nor too long, and in one line.
fn usable(text: &str) -> Option<String> {
    let fits = !text.is_empty() && text.len() <= LONGEST && !text.contains(char::is_control);
    fits.then(|| text.to_owned())
}
