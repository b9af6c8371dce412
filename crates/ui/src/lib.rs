//! The tree, full screen in a terminal: the work of agents, the parts of their next request, and the keys that steer
//! them.
//!
//! The view holds no rules. It reads the event feed and the answers of operations, and changes things by the operations
//! that the command line has, too.

mod data;
mod model;
mod options;
mod terminal;
mod view;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use callstack_engine::Engine;
use crossterm::event::Event;

pub use data::worker::CallerNow;
pub use options::Options;

use data::feed::follow;
use data::loads::Load;
use data::worker::Worker;
use model::app::{App, Order};
use terminal::input::Keys;
use terminal::news::News;
use terminal::outside;
use terminal::screen::{Screen, restore};

/// The shortest time between two readings of a store that keeps changing.
const PAUSE: Duration = Duration::from_millis(150);
/// The time after which times on the screen are drawn again.
const TICK: Duration = Duration::from_secs(10);
/// The signal by which a terminal stops a process, and the one that lets it continue.
const STOP: i32 = 20;

/// Shows the tree until somebody quits. Fails if there is no terminal, or it goes away.
///
/// A signal that ends the process does so after the terminal is restored.
pub fn run(engine: Engine, caller: CallerNow, options: Options) -> io::Result<()> {
    let engine = Arc::new(engine);
    let (news, received) = mpsc::channel();
    let (ask, questions) = mpsc::channel();
    let worker = Worker { engine: Arc::clone(&engine), caller };
    let to_worker = news.clone();
    spawn("ui-worker", news.clone(), move || worker.run(&questions, &to_worker))?;
    let to_feed = news.clone();
    let followed = Arc::clone(&engine);
    spawn("ui-feed", news.clone(), move || follow(&followed, &to_feed))?;
    #[cfg(unix)]
    terminal::signals::watch(&news)?;
    let now = engine.world().now();
    let screen = Screen::enter()?;
    let keys = Keys::read(&news)?;
    let mut ui = Ui { app: App::new(options, now), screen, keys, ask, engine, unread: None };
    ui.app.refresh();
    let ended = ui.run(&received);
    drop(ui);
    match ended? {
        Ended::Quit => Ok(()),
        #[cfg(unix)]
        Ended::Signal(signal) => terminal::signals::end_by(signal),
        #[cfg(not(unix))]
        Ended::Signal(_) => Ok(()),
    }
}

/// Starts a thread. If it ends by a panic, the view is notified.
fn spawn(name: &str, news: Sender<News>, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let thread = thread::Builder::new().name(name.to_owned());
    thread.spawn(move || {
        let _notifier = NotifyAtEnd(news);
        work();
    })?;
    Ok(())
}

struct NotifyAtEnd(Sender<News>);

impl Drop for NotifyAtEnd {
    fn drop(&mut self) {
        // Nobody listens once the view has ended.
        drop(self.0.send(News::ThreadGone));
    }
}

enum Ended {
    Quit,
    Signal(i32),
}

struct Ui {
    app: App,
    screen: Screen,
    keys: Keys,
    ask: Sender<Load>,
    engine: Arc<Engine>,
    /// Since when a change of the store waits to be read.
    unread: Option<Instant>,
}

impl Ui {
    fn run(&mut self, news: &Receiver<News>) -> io::Result<Ended> {
        loop {
            if let Some(ended) = self.carry_out()? {
                return Ok(ended);
            }
            self.app.now = self.engine.world().now();
            self.screen.draw(&mut self.app)?;
            let wait = self.unread.map_or(TICK, |since| PAUSE.saturating_sub(since.elapsed()));
            match news.recv_timeout(wait) {
                Ok(first) => {
                    // Whatever came meanwhile is drawn at once.
                    let mut next = Some(first);
                    while let Some(piece) = next {
                        if let Some(ended) = self.take(piece)? {
                            return Ok(ended);
                        }
                        next = news.try_recv().ok();
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(Ended::Quit),
            }
            if self.unread.is_some_and(|since| since.elapsed() >= PAUSE) {
                self.unread = None;
                self.app.refresh();
            }
        }
    }

    fn take(&mut self, piece: News) -> io::Result<Option<Ended>> {
        match piece {
            // A terminal may have lost its content, even if it has its old size again.
            News::Resized | News::Input(Event::Resize(..)) => self.screen.clear()?,
            News::Input(event) => self.app.input(&event),
            News::Loaded(loaded) => self.app.loaded(loaded),
            News::Changed => {
                self.unread.get_or_insert_with(Instant::now);
            }
            News::Disturbed(error) => {
                self.app.notice = Some(error.message);
                self.unread.get_or_insert_with(Instant::now);
            }
            News::Signal(STOP) => self.suspend()?,
            News::Signal(signal) => return Ok(Some(Ended::Signal(signal))),
            News::InputGone => return Ok(Some(Ended::Quit)),
            News::ThreadGone => {
                return Err(io::Error::other("a part of the view has failed; see above"));
            }
        }
        Ok(None)
    }

    fn carry_out(&mut self) -> io::Result<Option<Ended>> {
        for order in std::mem::take(&mut self.app.orders) {
            match order {
                Order::Quit => return Ok(Some(Ended::Quit)),
                Order::Redraw => self.screen.clear()?,
                Order::Suspend => self.suspend()?,
                Order::Load(load) => {
                    // A worker that is gone has said so.
                    drop(self.ask.send(load));
                }
                Order::Run(launch) => {
                    let project = self.app.options.project.clone();
                    let outcome = self.outside(|| outside::run(&launch.words, &project))?;
                    self.app.notice = Some(outcome);
                    self.app.refresh();
                }
            }
        }
        Ok(None)
    }

    fn suspend(&mut self) -> io::Result<()> {
        #[cfg(unix)]
        self.outside(terminal::signals::stop)??;
        Ok(())
    }

    /// Runs something while the terminal is as it was before the view.
    fn outside<T>(&mut self, work: impl FnOnce() -> T) -> io::Result<T> {
        self.keys.pause();
        restore()?;
        let done = work();
        self.screen.come_back()?;
        self.keys.go_on();
        Ok(done)
    }
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod view_tests;
