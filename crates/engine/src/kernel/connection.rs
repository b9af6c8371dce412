//! A connection to the store of a project: reads and changes, each in one transaction.

use std::cell::RefCell;
use std::sync::Arc;

use callstack_core::event::Event;
use callstack_store::{Change, Store, StoreError, Trusted, Turns, View};

/// A connection to the store of a project. Only the kernel has the store itself.
pub(crate) struct Connection(pub(super) Arc<Store>);

impl Connection {
    /// Opens the store of a project.
    pub(super) fn open(trusted: &Trusted) -> Result<Self, StoreError> {
        Ok(Self(Arc::new(Store::open(trusted)?)))
    }

    /// Opens the store of a project again, for a thread of its own.
    pub(crate) fn another(trusted: &Trusted) -> Result<Self, StoreError> {
        Self::open(&trusted.again()?)
    }

    /// Reads in one transaction.
    pub(crate) fn read<T, E: From<StoreError>>(
        &self,
        read: impl FnOnce(&View<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let _inside = Inside::enter(&self.0);
        self.0.read(read)
    }

    /// Changes the store in one transaction, which is on the disk once this returns without an error.
    pub(crate) fn write<T, E: From<StoreError>>(
        &self,
        write: impl FnOnce(&mut Change<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let _inside = Inside::enter(&self.0);
        self.0.write(write)
    }

    /// Calls `observer` with the events of each change by this connection; see [`Store::observe`].
    pub(crate) fn observe(&self, observer: impl Fn(&[(i64, Event)]) + Send + Sync + 'static) {
        self.0.observe(observer);
    }

    /// Returns the state that connections of this process to this store share.
    pub(crate) fn turns(&self) -> Turns {
        self.0.turns()
    }
}

thread_local! {
    /// The connections by which this thread has a transaction, by the addresses of their stores.
    static OPEN: RefCell<Vec<*const Store>> = const { RefCell::new(Vec::new()) };
}

/// A transaction of this thread, while it lasts.
///
/// No transaction begins within another one: it would read another state than the one around it, or wait for that
/// for ever. Whatever is asked within a transaction takes its [`View`] or [`Change`]. This fails in every test that
/// comes along, also where the store would answer by chance.
struct Inside;

impl Inside {
    fn enter(store: &Arc<Store>) -> Self {
        let store = Arc::as_ptr(store);
        OPEN.with_borrow_mut(|open| {
            debug_assert!(!open.contains(&store), "a transaction begins within another one");
            open.push(store);
        });
        Self
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        OPEN.with_borrow_mut(Vec::pop);
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    fn connection() -> Connection {
        Connection(Arc::new(Store::in_memory().unwrap()))
    }

    fn revision_of(view: &View<'_>) -> Result<i64, StoreError> {
        view.revision()
    }

    #[test]
    fn a_transaction_of_another_store_may_begin_within_one() {
        let (one, other) = (connection(), connection());
        let revision = |connection: &Connection| connection.read(revision_of);
        one.write(|_| revision(&other)).unwrap();
        assert_eq!(revision(&one).unwrap(), 0, "the one before is over");
    }

    #[test]
    #[should_panic(expected = "within another one")]
    fn a_read_within_a_change_is_found() {
        let connection = connection();
        drop(connection.write(|_| connection.read(revision_of)));
    }

    #[test]
    #[should_panic(expected = "within another one")]
    fn a_read_within_a_read_is_found() {
        let connection = connection();
        let read = || connection.read(revision_of);
        drop(connection.read(|_| read()));
    }
}
