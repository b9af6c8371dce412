//! Replaying, on sessions that are written here.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod document;
mod figures;
mod oracle;
mod properties;
mod sessions;
