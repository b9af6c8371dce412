//! What is suggested to a session, when, and what becomes of it.

mod desk;
mod life;
mod signals;
mod wanted;
