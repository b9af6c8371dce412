//! The content of a request: the arguments in its body, and the parameters after its path.

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::app::App;
use crate::problem::Problem;

/// A JSON object; an empty one where there is no body.
#[derive(Debug)]
pub(crate) struct Arguments(pub(crate) Value);

impl FromRequest<App> for Arguments {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let is_json = request.headers().get(CONTENT_TYPE).is_some_and(is_json);
        let bytes = Bytes::from_request(request, app)
            .await
            .map_err(|refused| Problem::new(refused.status(), refused.body_text()))?;
        if bytes.is_empty() {
            return Ok(Self(Value::Object(serde_json::Map::new())));
        }
        if !is_json {
            return Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "the body has to be of the type application/json",
            ));
        }
        match serde_json::from_slice(&bytes) {
            Ok(arguments @ Value::Object(_)) => Ok(Self(arguments)),
            Ok(_) => Err(Problem::new(StatusCode::BAD_REQUEST, "the body is no JSON object")),
            Err(error) => {
                Err(Problem::new(StatusCode::BAD_REQUEST, format!("the body is no JSON: {error}")))
            }
        }
    }
}

fn is_json(value: &axum::http::HeaderValue) -> bool {
    let named = value.to_str().ok().and_then(|value| value.split(';').next());
    named.is_some_and(|named| named.trim().eq_ignore_ascii_case("application/json"))
}

/// Arguments of a type of their own.
#[derive(Debug)]
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let Arguments(arguments) = Arguments::from_request(request, app).await?;
        let read = serde_json::from_value(arguments).map(Self);
        read.map_err(|error| {
            Problem::new(StatusCode::BAD_REQUEST, format!("the arguments are not right: {error}"))
                .hint("`/openapi.json` describes them.")
        })
    }
}

/// The parameters after the path.
#[derive(Debug)]
pub(crate) struct Parameters<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<App> for Parameters<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Problem> {
        match Query::try_from_uri(&parts.uri) {
            Ok(Query(parameters)) => Ok(Self(parameters)),
            Err(refused) => Err(Problem::new(refused.status(), refused.body_text())),
        }
    }
}
