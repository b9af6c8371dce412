//! Suggestions to a session: their content, times and outcomes.

mod life;
mod signals;
mod test_env;
mod wanted;
