//! `POST /v1/operations/{name}`: every operation of the engine's table that pages may call.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::StatusCode;
use callstack_engine::operation::{Access, Answer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::body::{Arguments, Parameters};
use crate::calls::{Behalf, Key, offered};
use crate::problem::Problem;
use crate::project::Asked;

/// The part of a path that names an operation.
#[derive(Debug, Deserialize)]
pub(crate) struct Named {
    name: String,
}

/// The parameters of a call.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Options {
    session: Option<String>,
    #[serde(default)]
    reveal: bool,
}

/// The answer of an operation.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Answered {
    /// A short title of the answer.
    title: String,
    /// The answer as text, for people.
    text: String,
    /// The answer as data, for programs.
    data: Value,
}

/// Carries out an operation.
pub(crate) async fn run(
    asked: Asked,
    path: Result<Path<Named>, PathRejection>,
    Parameters(options): Parameters<Options>,
    key: Key,
    Arguments(arguments): Arguments,
) -> Result<Json<Answered>, Problem> {
    let name = path.ok().map(|Path(Named { name })| name);
    let operation = offered().find(|operation| Some(operation.name) == name.as_deref());
    let operation = operation.ok_or_else(|| {
        Problem::new(StatusCode::NOT_FOUND, "there is no operation of this name")
            .hint("`/openapi.json` lists them.")
    })?;
    if options.reveal && operation.access != Access::Read {
        return Err(Problem::new(StatusCode::BAD_REQUEST, "`reveal` is for operations that read"));
    }
    let Options { session, reveal } = options;
    let behalf = Behalf { session, reveal, key };
    let answer = asked.call(move |engine| behalf.call(engine, operation.name, arguments)).await?;
    let Answer { title, text, data, .. } = answer;
    Ok(Json(Answered { title, text, data }))
}
