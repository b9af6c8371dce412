//! Suggestions to a session: which, when, and with what outcome.

mod life;
mod signals;
mod test_env;
mod wanted;
