//! Writes messages after the hook that shows them: on a thread and a connection of their own.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use callstack_core::event::Event;
use callstack_store::{Change, MessageBody, StoreError, Turns};

use crate::error::EngineError;
use crate::kernel::Kernel;
use crate::kernel::connection::Connection;
use crate::search;
use crate::work::pieces;
use crate::world::{Waited, World};

/// The wait after a failed write before the next try.
const RETRY: Duration = Duration::from_secs(1);
/// The time without new messages after which they are indexed for search: a host sends several requests about one
/// call of the model in a row, and so none of them waits for that.
const REST: Duration = Duration::from_millis(250);

/// The time that each wait for a span to be on the disk takes at most, somewhat less than the host waits for an answer.
/// A span that is not there by then is folded at the next call.
pub(crate) const PATIENCE: Duration = Duration::from_millis(150);

/// The place of a batch in the queue; batches are written in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket(u64);

#[cfg(test)]
impl Ticket {
    /// A batch that is never written.
    pub(crate) const NEVER: Self = Self(u64::MAX);
}

/// Writes messages in the order in which they are handed in.
pub(crate) struct Recorder {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    world: Arc<dyn World>,
    turns: Turns,
    /// The generation of the store that the recorded messages belong to.
    generation: Arc<AtomicU64>,
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    batches: VecDeque<Batch>,
    accepted: u64,
    written: u64,
    /// The newest event that was known when messages were last handed in.
    newest: u64,
    /// The place of the last batch that was waited for in vain.
    overdue: u64,
    /// The last of the batches that were dropped because another store had replaced the one that they belong to.
    gone: u64,
    failure: Option<EngineError>,
    closed: bool,
}

#[derive(Debug)]
struct Batch {
    /// The generation of the store that it belongs to.
    generation: u64,
    /// The newest event when it was handed in: a later purge concerns these messages, too.
    since: u64,
    at: i64,
    session: String,
    messages: Vec<MessageBody>,
}

impl Batch {
    fn write(&self, change: &mut Change<'_>) -> Result<(), StoreError> {
        let purges = change.view().purges_after(self.since)?;
        let Some(by) = purges.first().map(|purge| purge.by.clone()) else {
            change.record_messages(self.at, &self.session, &self.messages)?;
            return Ok(());
        };
        change.record_late(self.at, &self.session, &self.messages, &by, |view| {
            if purges.iter().any(|purge| purge.sessions.contains(&self.session)) {
                return Ok(vec![view.whole_session(&self.session)?]);
            }
            let frames: BTreeSet<_> = purges.iter().flat_map(|purge| &purge.frames).collect();
            let mut gone = Vec::new();
            for frame in frames {
                if view.is_placed(*frame)? {
                    gone.extend(pieces(view, *frame)?.into_iter().map(|piece| piece.range));
                }
            }
            Ok(gone)
        })
    }
}

impl Recorder {
    /// Starts writing to a store; `observer` is called with the messages that were written.
    pub(crate) fn start(
        kernel: &Kernel,
        observer: impl Fn(&[(i64, Event)]) + Send + Sync + 'static,
    ) -> Result<Self, StoreError> {
        let (trusted, generation) = (kernel.trusted(), Arc::clone(kernel.generation()));
        let connection = Connection::another(trusted)?;
        connection.observe(observer);
        let newest = connection.read(|view| view.newest_event().map(|newest| newest.seq))?;
        let queue = Mutex::new(Queue { newest, ..Queue::default() });
        let (turns, changed) = (connection.turns(), Condvar::new());
        let world = kernel.env().shared_world();
        let shared = Arc::new(Shared { world, turns, generation, queue, changed });
        let writer = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("recorder".to_owned())
            .spawn(move || writer.write_all(&connection))
            .map_err(|source| StoreError::Io { path: trusted.folder(), source })?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Hands messages in; returns at once. `newest` is the newest event of the store, where it is known.
    pub(crate) fn record(
        &self,
        (at, newest): (i64, Option<u64>),
        session: &str,
        messages: Vec<MessageBody>,
    ) -> Ticket {
        let mut queue = self.shared.lock();
        if !messages.is_empty() {
            queue.accepted += 1;
            queue.newest = newest.unwrap_or(queue.newest);
            let since = queue.newest;
            let generation = self.shared.generation.load(Ordering::Relaxed);
            queue.batches.push_back(Batch {
                generation,
                since,
                at,
                session: session.to_owned(),
                messages,
            });
            self.shared.changed.notify_all();
        }
        Ticket(queue.accepted)
    }

    /// Waits until everything up to `ticket` is on the disk. False if that takes longer than `patience`; the writing
    /// goes on all the same. A ticket that was waited for in vain is not waited for again: several stages of a request
    /// ask for it, and together they may not take longer than the host waits.
    pub(crate) fn flush(&self, ticket: Ticket, patience: Duration) -> bool {
        let until = self.shared.world.elapsed() + patience;
        let mut queue = self.shared.lock();
        while queue.written < ticket.0 {
            if ticket.0 <= queue.gone || ticket.0 == queue.overdue {
                return false;
            }
            let (after, waited) = self.shared.wait(queue, until);
            queue = after;
            if waited == Waited::Over {
                queue.overdue = ticket.0;
                return false;
            }
        }
        ticket.0 > queue.gone || ticket.0 == 0
    }

    /// Why the last write failed, until one succeeds.
    pub(crate) fn failure(&self) -> Option<EngineError> {
        self.shared.lock().failure.clone()
    }
}

impl Drop for Recorder {
    /// Writes pending messages: a host that ends its child in order loses nothing.
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A writer that panicked has nothing more to write.
            drop(thread.join());
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'q>(
        &self,
        queue: MutexGuard<'q, Queue>,
        until: Duration,
    ) -> (MutexGuard<'q, Queue>, Waited) {
        self.world.wait(&self.changed, queue, until)
    }

    /// Waits after a failed write, unless something is handed in meanwhile.
    fn rest<'q>(&self, mut queue: MutexGuard<'q, Queue>) -> MutexGuard<'q, Queue> {
        let (until, accepted) = (self.world.elapsed() + RETRY, queue.accepted);
        while queue.accepted == accepted && !queue.closed {
            let (after, waited) = self.wait(queue, until);
            queue = after;
            if waited == Waited::Over {
                break;
            }
        }
        queue
    }

    fn write_all(&self, connection: &Connection) {
        let mut is_behind = false;
        while let Some(batches) = self.next(connection, &mut is_behind) {
            // A host shows everything again to a store that has replaced another one.
            let now = self.turns.generation();
            let handed = batches.len() as u64;
            let batches: Vec<_> =
                batches.into_iter().filter(|batch| batch.generation == now).collect();
            let dropped = handed - batches.len() as u64;
            let outcome =
                connection.write(|change| batches.iter().try_for_each(|batch| batch.write(change)));
            let mut queue = self.lock();
            if dropped > 0 {
                queue.written += dropped;
                queue.gone = queue.written;
            }
            match outcome {
                Ok(()) => {
                    queue.written += batches.len() as u64;
                    queue.failure = None;
                }
                Err(error) => {
                    for batch in batches.into_iter().rev() {
                        queue.batches.push_front(batch);
                    }
                    // The next attempt goes on with the other one.
                    if matches!(error, StoreError::Replaced { .. }) {
                        continue;
                    }
                    queue.failure = Some(error.into());
                    if queue.closed {
                        return;
                    }
                    queue = self.rest(queue);
                }
            }
            drop(queue);
            is_behind = true;
            self.changed.notify_all();
        }
    }

    /// Returns all waiting batches, for one transaction: a whole backlog takes one sync of the disk. None at the end.
    fn next(&self, connection: &Connection, is_behind: &mut bool) -> Option<Vec<Batch>> {
        let mut queue = self.lock();
        let until = self.world.elapsed() + REST;
        while queue.batches.is_empty() {
            if queue.closed {
                return None;
            }
            if !*is_behind {
                queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let (after, waited) = self.wait(queue, until);
            queue = after;
            if waited == Waited::Over {
                drop(queue);
                self.index(connection);
                *is_behind = false;
                queue = self.lock();
            }
        }
        Some(queue.batches.drain(..).collect())
    }

    /// Indexes written messages, as long as none waits to be written.
    fn index(&self, connection: &Connection) {
        let more_urgent = || {
            let queue = self.lock();
            queue.closed || !queue.batches.is_empty()
        };
        // The next search catches up with messages that can't be indexed now.
        drop(search::index(connection, search::SHORT_STEP, more_urgent));
    }
}

#[cfg(test)]
#[path = "recorder_tests.rs"]
mod tests;
