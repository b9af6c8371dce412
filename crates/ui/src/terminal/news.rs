//! The events that the view waits for.

use callstack_engine::EngineError;
use crossterm::event::Event;

use crate::data::loads::Loaded;

/// A piece of news.
#[derive(Debug)]
pub(crate) enum News {
    /// A key, the mouse, pasted text or a new size.
    Input(Event),
    /// The terminal has another size, or had one for a moment.
    Resized,
    /// The terminal is gone.
    InputGone,
    /// Something changed in the store.
    Changed,
    /// The store can't be followed just now.
    Disturbed(EngineError),
    Loaded(Loaded),
    /// A signal, by its number.
    Signal(i32),
    /// A thread ended that the view can't do without.
    ThreadGone,
}
