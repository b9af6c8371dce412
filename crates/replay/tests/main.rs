//! Replaying, on sessions that are written here.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod figures;
mod page;
mod properties;
mod sessions;
