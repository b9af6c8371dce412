//! A call of an operation on behalf of a request.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderName, StatusCode};
use callstack_core::dialect::Dialect;
use callstack_core::transcript::Anchor;
use callstack_engine::operation::{Answer, Caller, CallerKind, Operation, PAGE};
use callstack_engine::{Engine, EngineError, operations, tools};
use serde_json::Value;

use crate::app::App;
use crate::problem::Problem;

/// The header with which a client names a call, so that the same call is carried out once.
pub(crate) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Characters of such a name.
const LONGEST_KEY: usize = 255;

/// Returns the operations that pages may call.
pub(crate) fn offered() -> impl Iterator<Item = &'static Operation> {
    operations::callable_by(CallerKind::Page)
}

/// The name of a call, if the client has given one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Key(Option<String>);

impl FromRequestParts<App> for Key {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Problem> {
        let mut given = parts.headers.get_all(IDEMPOTENCY_KEY).iter();
        let Some(key) = given.next() else { return Ok(Self(None)) };
        let key = key.to_str().map(|key| key.trim_matches('"')).unwrap_or_default();
        if key.is_empty() || key.len() > LONGEST_KEY || given.next().is_some() {
            return Err(Problem::new(
                StatusCode::BAD_REQUEST,
                format!("`Idempotency-Key` has to be one text of 1 to {LONGEST_KEY} characters"),
            ));
        }
        Ok(Self(Some(key.to_owned())))
    }
}

/// On whose behalf operations are called.
#[derive(Clone, Debug, Default)]
pub(crate) struct Behalf {
    /// The session to act in, by its id or the beginning of it; none for the one that worked last.
    pub(crate) session: Option<String>,
    /// True if secrets are shown.
    pub(crate) reveal: bool,
    /// The name of the call.
    pub(crate) key: Key,
}

impl Behalf {
    /// Carries an operation out, unless a call of the same key has done so: then its answer is given again.
    pub(crate) fn call(
        &self,
        engine: &Engine,
        operation: &str,
        arguments: Value,
    ) -> Result<Answer, EngineError> {
        self.call_if(|| Ok(()), engine, operation, arguments)
    }

    /// The same, where it is carried out only if `check` does not refuse it.
    pub(crate) fn call_if(
        &self,
        check: impl FnOnce() -> Result<(), EngineError>,
        engine: &Engine,
        operation: &str,
        arguments: Value,
    ) -> Result<Answer, EngineError> {
        let caller = self.caller(engine, operation)?;
        // An operation that no agent has is safe to run again.
        let tool = tools::find(Dialect::Stack, operation);
        let Some(tool) = tool.filter(|_| caller.key.is_some()) else {
            check()?;
            return operations::named(operation)?.run(engine, &caller, arguments);
        };
        if let Some(answer) = tool.done_before(engine, &caller, &arguments)? {
            return Ok(answer);
        }
        // The same call may have been made meanwhile.
        let done = |error| tool.done_before(engine, &caller, &arguments)?.ok_or(error);
        check().and_then(|()| tool.run(engine, &caller, arguments.clone())).or_else(done)
    }

    /// Returns the caller of an operation.
    fn caller(&self, engine: &Engine, operation: &str) -> Result<Caller, EngineError> {
        let (session, message) = match self.session.as_deref() {
            Some(PAGE) => (PAGE.to_owned(), None),
            Some(reference) => engine.find_session(reference)?,
            None if self.key.0.is_some() => {
                return Err(EngineError::invalid(
                    "a call with an `Idempotency-Key` has to name its session",
                    "The session that worked last may be another one when the call is made again.",
                ));
            }
            None => engine.latest_session()?.unwrap_or_else(|| (PAGE.to_owned(), None)),
        };
        Ok(Caller {
            session,
            host: PAGE.to_owned(),
            anchor: Anchor { message, call: None },
            agent: None,
            performs: false,
            reveal: self.reveal,
            // One key may be used for calls of several operations: they are different calls.
            key: self.key.0.as_ref().map(|key| format!("{operation} {key}")),
        })
    }
}
