//! The description of the server for programs: `OpenAPI` 3.1, made from the table of operations.

use axum::Json;
use axum::extract::State;
use callstack_engine::operation::{Access, Operation};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::calls::offered;
use crate::operations::Answered;
use crate::problem::Details;
use crate::project::{Asked, PARAMETER};
use crate::projects::Listed;
use crate::proposal::{Info, Pop, Push, WithParts};

/// The place of named schemas.
const SCHEMAS: &str = "/components/schemas";

/// Answers with the description of everything that a client may ask this server for.
pub(crate) async fn of_server(State(app): State<App>) -> Json<Value> {
    let server = if app.projects.are_many() {
        let about = "The project, by the `id` that `/v1/projects` tells.";
        json!({
            "url": format!("/projects/{{{PARAMETER}}}"),
            "variables": {PARAMETER: {"default": "ID", "description": about}},
        })
    } else {
        json!({"url": "/"})
    };
    Json(description(&server))
}

/// The same for one of several projects.
pub(crate) async fn of_project(asked: Asked) -> Json<Value> {
    Json(description(&json!({"url": format!("/projects/{}", asked.project.id())})))
}

/// Returns the description, for clients of a server at this place.
fn description(server: &Value) -> Value {
    let mut schemas = Schemas::default();
    let mut paths = Map::new();
    for operation in offered() {
        let path = format!("/v1/operations/{}", operation.name);
        paths.insert(path, json!({"post": called(operation, &mut schemas)}));
    }
    paths.extend(others(&mut schemas));
    let problem = schemas.of::<Details<'static>>();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "callstack",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The tree of frames of a project. A server listens on 127.0.0.1 only; \
                `callstack serve` prints its port and its token.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [server],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "parameters": {
                "session": query("session", "The session to act in, by its id or the beginning of it; default: \
                    the one that worked last.", "string"),
                "reveal": query("reveal", "Whether secrets are shown instead of masked.", "boolean"),
                "idempotencyKey": {
                    "name": "Idempotency-Key",
                    "in": "header",
                    "description": "A name for this call. Made again under the same name in the same session, it \
                        is answered as before and changes nothing.",
                    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
                },
            },
            "responses": {
                "Problem": {
                    "description": "The error, and the next step.",
                    "content": {"application/problem+json": {"schema": problem}},
                },
            },
            "schemas": schemas.0,
        },
    })
}

/// The endpoint of an operation.
fn called(operation: &Operation, schemas: &mut Schemas) -> Value {
    let arguments = (operation.parameters)();
    let mut answer = schemas.of::<Answered>();
    let data = schemas.placed(operation.name, (operation.output)());
    answer = json!({"allOf": [
        answer,
        {"type": "object", "properties": {"data": data}, "required": ["data"]},
    ]});
    let second = match operation.access {
        Access::Read => "reveal",
        Access::Write => "idempotencyKey",
    };
    json!({
        "operationId": operation.name,
        "tags": ["operations"],
        "summary": operation.summary,
        "parameters": [parameter("session"), parameter(second)],
        "requestBody": {
            "required": arguments["required"].as_array().is_some_and(|names| !names.is_empty()),
            "content": {"application/json": {"schema": arguments}},
        },
        "responses": answers("The answer.", "application/json", &answer),
    })
}

/// The endpoints that are no operations.
fn others(schemas: &mut Schemas) -> Map<String, Value> {
    let key = || json!([parameter("idempotencyKey")]);
    let text = json!({"type": "string"});
    let info = schemas.of::<Info>();
    let mut paths = Map::new();
    let mut put = |path: &str, method: &str, endpoint: Value| {
        paths.insert(path.to_owned(), json!({method: endpoint}));
    };
    put(
        "/v1/events",
        "get",
        json!({
            "operationId": "events",
            "tags": ["events"],
            "summary": "The events of all processes that write to the store, as server-sent events.",
            "description": "Each has its place as `id` and a JSON object as `data`. The first one is called `open` and \
                tells where the stream begins. One that is called `gap` says that the place is not in the log: \
                what is known is to be read again.",
            "parameters": [
                query("after", "The place after which events are wanted, 0 for all; default: those to come.", "string"),
                {"name": "Last-Event-ID", "in": "header", "description": "The same; it counts before `after`.",
                    "schema": text},
            ],
            "responses": answers("The events, without an end.", "text/event-stream", &text),
        }),
    );
    put(
        "/frame/push",
        "post",
        json!({
            "operationId": "framePush",
            "tags": ["frames"],
            "summary": "Begins a frame, or plans it.",
            "parameters": key(),
            "requestBody": body(&schemas.of::<Push>()),
            "responses": answers("The frame.", "application/json", &info),
        }),
    );
    put(
        "/frame/pop",
        "post",
        json!({
            "operationId": "framePop",
            "tags": ["frames"],
            "summary": "Ends a frame.",
            "parameters": key(),
            "requestBody": body(&schemas.of::<Pop>()),
            "responses": answers("The frame.", "application/json", &info),
        }),
    );
    let trees = schemas.of::<Vec<Info>>();
    put(
        "/frame/tree",
        "get",
        json!({
            "operationId": "frameTree",
            "tags": ["frames"],
            "summary": "All frames, or one with those below it.",
            "parameters": [query("rootSessionID", "The frame at the top; default: all.", "string")],
            "responses": answers("The frames, each with its children.", "application/json", &trees),
        }),
    );
    let messages = schemas.of::<Vec<WithParts>>();
    put(
        "/frame/context",
        "get",
        json!({
            "operationId": "frameContext",
            "tags": ["frames"],
            "summary": "A frame's context and its own messages; the address of more is in `Link`.",
            "parameters": [
                query("sessionID", "The frame; default: the open one of the session that worked last.", "string"),
                query("from", "The first message, from 1; default: the context and the first message.", "integer"),
            ],
            "responses": answers("The messages.", "application/json", &messages),
        }),
    );
    let projects = schemas.of::<Vec<Listed>>();
    put(
        "/v1/projects",
        "get",
        json!({
            "operationId": "projects",
            "tags": ["projects"],
            "summary": "The projects that this server serves, the one that changed last first.",
            "servers": [{"url": "/"}],
            "responses": answers("The projects.", "application/json", &projects),
        }),
    );
    put(
        "/openapi.json",
        "get",
        json!({
            "operationId": "description",
            "tags": ["description"],
            "summary": "This description.",
            "responses": answers("OpenAPI 3.1.", "application/json", &json!({"type": "object"})),
        }),
    );
    paths
}

fn query(name: &str, description: &str, kind: &str) -> Value {
    json!({"name": name, "in": "query", "description": description, "schema": {"type": kind}})
}

fn parameter(name: &str) -> Value {
    json!({"$ref": format!("#/components/parameters/{name}")})
}

fn body(schema: &Value) -> Value {
    json!({"required": true, "content": {"application/json": {"schema": schema}}})
}

fn answers(description: &str, media_type: &str, schema: &Value) -> Value {
    json!({
        "200": {"description": description, "content": {media_type: {"schema": schema}}},
        "default": {"$ref": "#/components/responses/Problem"},
    })
}

/// The named schemas of a description.
#[derive(Default)]
struct Schemas(Map<String, Value>);

impl Schemas {
    /// Returns a reference to the schema of a type of this crate.
    fn of<T: JsonSchema>(&mut self) -> Value {
        let mut generator = SchemaSettings::draft2020_12().into_generator();
        let mut schema = generator.subschema_for::<T>().to_value();
        if let Some(schema) = schema.as_object_mut() {
            schema.insert("$defs".to_owned(), generator.take_definitions(true).into());
        }
        self.placed("http", schema)
    }

    /// Takes the definitions out of a schema and returns the rest, which refers to them at their new place.
    /// Definitions that say something else than those of their names get the name of their owner besides.
    fn placed(&mut self, owner: &str, mut schema: Value) -> Value {
        let definitions = schema.as_object_mut().and_then(|schema| schema.remove("$defs"));
        let Some(Value::Object(definitions)) = definitions else { return schema };
        let at = |own: bool, mut schema: Value| {
            refer(&mut schema, &|name| named(owner, name, own));
            schema
        };
        // Names stay as they are, unless one of them already has another meaning.
        let taken = definitions.iter().any(|(name, definition)| {
            let known = self.0.get(name);
            known.is_some_and(|known| *known != at(false, definition.clone()))
        });
        for (name, definition) in definitions {
            self.0.insert(named(owner, &name, taken), at(taken, definition));
        }
        at(taken, schema)
    }
}

fn named(owner: &str, name: &str, own: bool) -> String {
    if own { format!("{owner}_{name}") } else { name.to_owned() }
}

/// Has references to definitions lead to where named schemas stand, under the names that `placed` gives them.
fn refer(schema: &mut Value, placed: &dyn Fn(&str) -> String) {
    match schema {
        Value::Object(fields) => {
            for (name, value) in fields {
                let definition = value.as_str().and_then(|value| value.strip_prefix("#/$defs/"));
                match definition.filter(|_| name == "$ref") {
                    Some(definition) => {
                        *value = format!("#{SCHEMAS}/{}", placed(definition)).into();
                    }
                    None => refer(value, placed),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| refer(value, placed)),
        _ => {}
    }
}
