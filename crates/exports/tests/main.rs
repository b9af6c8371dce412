//! Exports of sessions, in every format.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod formats;
mod schema;
mod sending;
mod sessions;
