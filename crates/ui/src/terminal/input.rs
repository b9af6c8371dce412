//! The thread that reads keys. It leaves them alone while another program has the terminal.

use std::io;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crossterm::event::{poll, read};

use super::news::News;

/// The longest time of a check of the terminal, and so of a pause.
const LOOK: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Reads,
    /// Nothing is to be read any more.
    ToPause,
    Pauses,
    Gone,
}

/// The reading of keys.
#[derive(Debug)]
pub(crate) struct Keys(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, state: State) {
        *self.state() = state;
        self.changed.notify_all();
    }

    fn wait_while(&self, is: impl Fn(State) -> bool) -> State {
        let state = self.changed.wait_while(self.state(), |state| is(*state));
        *state.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keys {
    /// Begins to read keys and other events of the terminal.
    pub(crate) fn read(news: &Sender<News>) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let (reader, news) = (Arc::clone(&shared), news.clone());
        let thread = thread::Builder::new().name("ui-keys".to_owned());
        thread.spawn(move || {
            // The view ends without a terminal, and then nobody listens.
            drop(news.send(read_until(&reader, &news)));
            reader.set(State::Gone);
        })?;
        Ok(Self(shared))
    }

    /// Returns once nothing is read any more.
    pub(crate) fn pause(&self) {
        if *self.0.state() == State::Reads {
            self.0.set(State::ToPause);
        }
        self.0.wait_while(|state| state == State::ToPause);
    }

    pub(crate) fn go_on(&self) {
        if *self.0.state() == State::Pauses {
            self.0.set(State::Reads);
        }
    }
}

/// Reads until the terminal is gone, or nobody listens.
fn read_until(shared: &Shared, news: &Sender<News>) -> News {
    loop {
        if *shared.state() == State::ToPause {
            shared.set(State::Pauses);
            shared.wait_while(|state| state == State::Pauses);
        }
        let event = match poll(LOOK) {
            Ok(false) => continue,
            Ok(true) => read(),
            Err(error) => Err(error),
        };
        let is_heard = match event {
            Ok(event) => news.send(News::Input(event)).is_ok(),
            Err(error) => error.kind() == io::ErrorKind::Interrupted,
        };
        if !is_heard {
            return News::InputGone;
        }
    }
}
