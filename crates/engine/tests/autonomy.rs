//! Suggestions to a session: which, when, and with what outcome.

mod desk;
mod life;
mod signals;
mod wanted;
