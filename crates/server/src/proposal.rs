//! The four endpoints of the proposal for a fork of `OpenCode`, with its shapes: a frame is a session with
//! `frame` in it, and a context is a list of messages with their parts.

use std::collections::HashMap;

use axum::Json;
use axum::extract::OriginalUri;
use axum::http::HeaderMap;
use axum::http::header::LINK;
use callstack_core::frame::{Frame, Status};
use callstack_core::framing::title_of;
use callstack_engine::{
    Engine, EngineError, FrameList, FrameMetadata, Hint, Kind, StackState, path_text,
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::body::{Body, Parameters};
use crate::calls::{Behalf, Key};
use crate::problem::Problem;
use crate::project::Asked;

/// A frame, in the shape of a session.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Info {
    /// The frame's id.
    id: String,
    /// The project, by its folder.
    #[serde(rename = "projectID")]
    project: String,
    /// The project's folder.
    directory: String,
    /// The id of the frame above it.
    #[serde(rename = "parentID", skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    title: String,
    time: Times,
    frame: FrameInfo,
    /// The frames below it, in a tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "children")]
    children: Option<Vec<Info>>,
}

/// When something happened; milliseconds since 1970.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct Times {
    created: i64,
    updated: i64,
}

/// The part of a session that makes it a frame.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct FrameInfo {
    status: Status,
    /// The goal.
    goal: String,
    /// The results of the frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    compaction: Option<String>,
    /// The file with all that was said and done in it.
    #[serde(rename = "logPath", skip_serializing_if = "Option::is_none")]
    log_path: Option<String>,
}

/// Arguments of `POST /frame/push`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Push {
    /// The frame to begin below, which has to be the open one of its session; default: the one that worked last.
    #[serde(rename = "parentID")]
    parent: Option<String>,
    /// The goal; its first sentence becomes the title.
    goal: String,
    /// Only plans the frame.
    #[serde(default)]
    planned: bool,
}

/// Arguments of `POST /frame/pop`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pop {
    /// The frame to end; default: the open one of the session that worked last.
    #[serde(rename = "sessionID")]
    frame: Option<String>,
    /// The outcome.
    status: Ending,
    /// The results, for later work. If left out, they are extracted from the work itself, as far as it is known.
    summary: Option<String>,
}

/// The outcome of a frame.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Ending {
    Completed,
    Failed,
    Blocked,
}

/// Parameters of `GET /frame/tree`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rooted {
    #[serde(rename = "rootSessionID")]
    root: Option<String>,
}

/// Parameters of `GET /frame/context`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    #[serde(rename = "sessionID")]
    frame: Option<String>,
    from: Option<u64>,
}

/// A message with its parts.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WithParts {
    info: Value,
    parts: Vec<Value>,
}

/// Begins a frame, or plans it.
pub(crate) async fn push(
    at: Asked,
    key: Key,
    Body(asked): Body<Push>,
) -> Result<Json<Info>, Problem> {
    let info = at.call(move |engine| {
        let mut arguments =
            json!({"title": title_of(&asked.goal), "successCriteria": asked.goal.trim()});
        let parent = asked.parent.as_deref().map(|parent| engine.resolve(parent)).transpose()?;
        let behalf = behalf_in(parent.as_ref(), key);
        let answer = if asked.planned {
            if let Some(parent) = &parent {
                arguments["parent"] = json!(parent.num.to_string());
            }
            behalf.call(engine, "stack_frame_plan", arguments)?.data[0].take()
        } else {
            let check = || parent.as_ref().map_or(Ok(()), |parent| check_open(engine, parent));
            behalf.call_if(check, engine, "stack_frame_push", arguments)?.data
        };
        named(engine, &answer["handle"])
    });
    Ok(Json(info.await?))
}

/// Ends a frame.
pub(crate) async fn pop(
    at: Asked,
    key: Key,
    Body(asked): Body<Pop>,
) -> Result<Json<Info>, Problem> {
    let info = at.call(move |engine| {
        let frame = asked.frame.as_deref().map(|frame| engine.resolve(frame)).transpose()?;
        let mut arguments = json!({"status": asked.status, "results": asked.summary});
        if let Some(frame) = &frame {
            arguments["frame"] = json!(frame.num.to_string());
        }
        let answer = behalf_in(frame.as_ref(), key).call(engine, "stack_frame_pop", arguments)?;
        named(engine, &answer.data["handle"])
    });
    Ok(Json(info.await?))
}

/// Answers with the tree, or a frame with all that is below it.
pub(crate) async fn tree(
    at: Asked,
    Parameters(rooted): Parameters<Rooted>,
) -> Result<Json<Vec<Info>>, Problem> {
    let trees = at.call(move |engine| {
        let root = rooted.root.as_deref().map(|root| engine.resolve(root)).transpose()?;
        let state: StackState = read(engine, "stack_get_state", json!({}))?;
        let list: FrameList = read(engine, "stack_frames", json!({"detail": "titles"}))?;
        let mut below: HashMap<Option<String>, Vec<FrameMetadata>> = HashMap::new();
        for frame in list.frames.iter().filter_map(|it| state.frames.get(&it.id)) {
            below.entry(frame.parent_session_id.clone()).or_default().push(frame.clone());
        }
        let roots = match root {
            Some(root) => state.frames.get(&root.id).cloned().into_iter().collect(),
            None => below.remove(&None).unwrap_or_default(),
        };
        Ok(grown(engine, roots, &mut below))
    });
    Ok(Json(trees.await?))
}

/// Answers with the input of a frame's model: the context, and the frame's own messages. Further ones are at the
/// address in `Link`.
pub(crate) async fn context(
    at: Asked,
    OriginalUri(uri): OriginalUri,
    Parameters(wanted): Parameters<Wanted>,
) -> Result<(HeaderMap, Json<Vec<WithParts>>), Problem> {
    let answer = at.call(move |engine| {
        let behalf = Behalf::default();
        let frame = json!({"frame": wanted.frame});
        let mut context = behalf.call(engine, "stack_context_preview", frame)?.data;
        let handle = context["frame"].take();
        let arguments = json!({"frame": handle, "from": wanted.from});
        let mut log = behalf.call(engine, "stack_log", arguments)?.data;
        let id = named(engine, &handle)?.id;
        let mut messages = Vec::new();
        if wanted.from.is_none() {
            messages.push(WithParts {
                info: json!({"id": format!("context-{id}"), "sessionID": id, "role": "user"}),
                parts: vec![json!({"type": "text", "text": context["xml"].take()})],
            });
        }
        let Value::Array(logged) = log["messages"].take() else { return Ok((None, messages)) };
        messages.extend(logged.into_iter().map(with_parts));
        let next = log["next"].as_u64();
        let next =
            next.map(|next| format!("<{}?sessionID={id}&from={next}>; rel=\"next\"", uri.path()));
        Ok::<_, EngineError>((next, messages))
    });
    let (next, messages) = answer.await?;
    let link = next.and_then(|next| next.parse().ok()).map(|next| (LINK, next));
    Ok((link.into_iter().collect(), Json(messages)))
}

/// Acts in the session that works in a frame.
fn behalf_in(frame: Option<&Frame>, key: Key) -> Behalf {
    let session = frame.and_then(|frame| frame.session.clone());
    Behalf { session, reveal: false, key }
}

/// Refuses a push below a frame that is not the open one of its session: work in it would begin elsewhere.
fn check_open(engine: &Engine, parent: &Frame) -> Result<(), EngineError> {
    let active = match &parent.session {
        Some(session) => engine.active(session)?,
        None => None,
    };
    if active == Some(parent.num) {
        return Ok(());
    }
    Err(EngineError::new(
        Kind::Conflict,
        format!("{} is not the open frame of a session", parent.num),
    )
    .with_hint(
        Hint::from("Go there first with ").and("stack_navigate").then(", or plan the frame."),
    ))
}

/// The frame that an answer names by its handle.
fn named(engine: &Engine, handle: &Value) -> Result<Info, EngineError> {
    Ok(info(engine, read(engine, "stack_frame_details", json!({"frame": handle}))?))
}

/// Reads the data of an operation that changes nothing.
fn read<T: DeserializeOwned>(
    engine: &Engine,
    operation: &str,
    arguments: Value,
) -> Result<T, EngineError> {
    let data = Behalf::default().call(engine, operation, arguments)?.data;
    serde_json::from_value(data).map_err(|error| {
        EngineError::new(
            Kind::Internal,
            format!("the answer of `{operation}` is not as agreed: {error}"),
        )
        .caused_by(error)
    })
}

fn info(engine: &Engine, frame: FrameMetadata) -> Info {
    let directory = path_text(engine.project()).into_owned();
    let goal = Some(frame.success_criteria).filter(|criteria| !criteria.trim().is_empty());
    Info {
        id: frame.session_id,
        project: directory.clone(),
        directory,
        parent: frame.parent_session_id,
        frame: FrameInfo {
            status: frame.status,
            goal: goal.unwrap_or_else(|| frame.title.clone()),
            compaction: frame.results,
            log_path: frame.log_path,
        },
        title: frame.title,
        time: Times { created: frame.created_at, updated: frame.updated_at },
        children: None,
    }
}

/// Frames with those below each. Trees are as deep as their limit allows.
fn grown(
    engine: &Engine,
    frames: Vec<FrameMetadata>,
    below: &mut HashMap<Option<String>, Vec<FrameMetadata>>,
) -> Vec<Info> {
    let mut grown_frames = Vec::new();
    for frame in frames {
        let children = below.remove(&Some(frame.session_id.clone())).unwrap_or_default();
        let children = Some(grown(engine, children, below));
        grown_frames.push(Info { children, ..info(engine, frame) });
    }
    grown_frames
}

fn with_parts(mut message: Value) -> WithParts {
    let parts = match message["parts"].take() {
        Value::Array(parts) => parts,
        _ => Vec::new(),
    };
    WithParts { info: message["info"].take(), parts }
}

fn children(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    generator.subschema_for::<Vec<Info>>()
}
