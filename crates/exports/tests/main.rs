//! Exports of sessions, in every format.

mod formats;
mod schema;
mod sending;
mod sessions;
