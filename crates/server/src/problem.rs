//! Errors as clients get them: problem details (RFC 9457).

use axum::Json;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use callstack_core::secrets::mask;
use callstack_engine::{EngineError, Kind};
use schemars::JsonSchema;
use serde::Serialize;

/// An error with its status.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    kind: Option<&'static str>,
    detail: String,
    hint: Option<String>,
}

/// The members of problem details. `type` is left out, which says that the status tells all.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(crate) struct Details<'a> {
    /// The name of the status.
    title: &'a str,
    /// The status of the response.
    status: u16,
    /// The error, in one sentence.
    detail: &'a str,
    /// Whose problem it is, of an error of callstack itself: `invalid`, `not_found`, `conflict`, `limit`,
    /// `untrusted`, `unavailable` or `internal`.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    /// The next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

impl Problem {
    /// An error that the protocol itself is the reason of.
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, kind: None, detail: detail.into(), hint: None }
    }

    /// Adds the next step for the user.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// The status of each kind of error.
pub(crate) fn status(kind: Kind) -> StatusCode {
    match kind {
        Kind::Invalid => StatusCode::BAD_REQUEST,
        Kind::NotFound => StatusCode::NOT_FOUND,
        Kind::Conflict => StatusCode::CONFLICT,
        Kind::Limit => StatusCode::UNPROCESSABLE_ENTITY,
        Kind::Untrusted => StatusCode::FORBIDDEN,
        Kind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Kind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Self {
        Self {
            status: status(error.kind),
            kind: Some(error.kind.as_str()),
            detail: mask(&error.message).into_owned(),
            hint: error.hint.map(|hint| mask(&hint.to_string()).into_owned()),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let details = Details {
            title: self.status.canonical_reason().unwrap_or("Error"),
            status: self.status.as_u16(),
            detail: &self.detail,
            kind: self.kind,
            hint: self.hint.as_deref(),
        };
        let mut response = (self.status, Json(details)).into_response();
        let media_type = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(CONTENT_TYPE, media_type);
        response
    }
}
