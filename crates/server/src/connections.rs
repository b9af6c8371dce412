//! Keeps connections of strangers from crowding out those of clients.
//!
//! A stranger is a connection that has not shown the token yet. Only so many are held at a time, and the oldest of
//! too many is closed: a client shows its token with its first request, before that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::app::Limits;

/// The open connections of a server.
#[derive(Debug)]
pub(crate) struct Connections {
    limits: Limits,
    open: Mutex<Open>,
}

#[derive(Debug)]
struct Open {
    next: u64,
    /// By their numbers, which is by age.
    strangers: BTreeMap<u64, Arc<Notify>>,
    clients: BTreeSet<u64>,
    /// The time at which a client was last connected.
    seen: Instant,
}

impl Connections {
    pub(crate) fn new(limits: Limits) -> Arc<Self> {
        let open = Open {
            next: 0,
            strangers: BTreeMap::new(),
            clients: BTreeSet::new(),
            seen: Instant::now(),
        };
        Arc::new(Self { limits, open: Mutex::new(open) })
    }

    /// Admits a new connection, for which the oldest of too many strangers is closed.
    pub(crate) fn admit(self: &Arc<Self>) -> Connection {
        let closed = Arc::new(Notify::new());
        let mut open = self.open();
        let number = open.next;
        open.next += 1;
        open.strangers.insert(number, Arc::clone(&closed));
        if open.strangers.len() > self.limits.strangers
            && let Some((_, oldest)) = open.strangers.pop_first()
        {
            oldest.notify_one();
        }
        Connection { proof: Proof { number, connections: Arc::clone(self) }, closed }
    }

    /// Returns the time since a client was last connected; zero while one is.
    pub(crate) fn idle(&self) -> Duration {
        let open = self.open();
        if open.clients.is_empty() { open.seen.elapsed() } else { Duration::ZERO }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One open connection.
#[derive(Debug)]
pub(crate) struct Connection {
    proof: Proof,
    closed: Arc<Notify>,
}

impl Connection {
    /// Resolves when the connection has to give way to others.
    pub(crate) async fn closed(&self) {
        self.closed.notified().await;
    }

    /// Returns the value by which requests mark this connection as a client's.
    pub(crate) fn proof(&self) -> Proof {
        self.proof.clone()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut open = self.proof.connections.open();
        open.strangers.remove(&self.proof.number);
        if open.clients.remove(&self.proof.number) {
            open.seen = Instant::now();
        }
    }
}

/// Marks a connection as a client's.
#[derive(Clone, Debug)]
pub(crate) struct Proof {
    number: u64,
    connections: Arc<Connections>,
}

impl Proof {
    /// Counts the connection among the clients'; false if there are too many of them.
    pub(crate) fn accept(&self) -> bool {
        let mut open = self.connections.open();
        if open.clients.contains(&self.number) {
            return true;
        }
        if open.clients.len() >= self.connections.limits.clients {
            return false;
        }
        open.strangers.remove(&self.number);
        open.clients.insert(self.number);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(strangers: usize, clients: usize) -> Arc<Connections> {
        Connections::new(Limits { strangers, clients, ..Limits::default() })
    }

    fn is_closed(connection: &Connection) -> bool {
        let mut closed = std::pin::pin!(connection.closed());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        closed.as_mut().poll(&mut context).is_ready()
    }

    #[test]
    fn the_oldest_stranger_goes_and_no_client() {
        let connections = connections(2, 9);
        let client = connections.admit();
        assert!(client.proof().accept());
        let strangers: Vec<_> = (0..3).map(|_| connections.admit()).collect();
        assert!(!is_closed(&client));
        assert_eq!(strangers.iter().map(is_closed).collect::<Vec<_>>(), [true, false, false]);
    }

    #[test]
    fn there_is_room_again_when_a_client_has_gone() {
        let connections = connections(9, 1);
        let first = connections.admit();
        let second = connections.admit();
        assert!(first.proof().accept() && first.proof().accept());
        assert!(!second.proof().accept());
        assert_eq!(connections.idle(), Duration::ZERO);
        drop(first);
        assert!(second.proof().accept());
    }
}
