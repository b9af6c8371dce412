//! The connections of one store object. A call that finds the first one in use takes a further one, so that a long
//! read stops no write, and a read within a read does not wait for itself.
//!
//! Reads and writes share the first one, since a connection loses what it has cached whenever another one writes.

use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use crate::connect::{Open, connect, connect_read_only, refuse_emptied};
use crate::error::StoreError;
use crate::handle::Handle;
use crate::restore::open_overwritten;
use crate::trust::Trusted;
use crate::write_turns::Turns;

/// Further connections that are kept while nobody uses them.
const KEPT: usize = 4;

/// How further connections are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    ReadWrite,
    ReadOnly,
    /// There is only one connection: a call that finds it in use waits.
    Single,
}

#[derive(Debug)]
pub(crate) struct Connections {
    path: PathBuf,
    access: Access,
    /// None for a store that nothing is asked about.
    trusted: Option<Trusted>,
    first: Arc<Mutex<Open>>,
    /// Further ones that are not in use.
    idle: Mutex<Vec<Open>>,
}

/// A connection that nobody else uses. One that is not given back is closed, or free again if it is the first one.
pub(crate) enum Taken<'s> {
    First(MutexGuard<'s, Open>),
    Further(Box<Open>),
}

impl Deref for Taken<'_> {
    type Target = Open;

    fn deref(&self) -> &Open {
        match self {
            Self::First(open) => open,
            Self::Further(open) => open,
        }
    }
}

impl DerefMut for Taken<'_> {
    fn deref_mut(&mut self) -> &mut Open {
        match self {
            Self::First(open) => open,
            Self::Further(open) => open,
        }
    }
}

impl Connections {
    pub(crate) fn new(
        path: PathBuf,
        first: Open,
        access: Access,
        trusted: Option<Trusted>,
    ) -> Self {
        Self { path, access, trusted, first: Arc::new(Mutex::new(first)), idle: Mutex::default() }
    }

    /// The proof with which the store was opened.
    pub(crate) fn trusted(&self) -> Option<&Trusted> {
        self.trusted.as_ref()
    }

    /// The connection that is there from the beginning.
    pub(crate) fn first(&self) -> &Arc<Mutex<Open>> {
        &self.first
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.access == Access::ReadOnly
    }

    /// Takes a connection that nobody else uses. It does not wait for one, unless the files of the store are currently
    /// missing: only an existing connection can restore them. A caller may hold the write lock, since nobody waits for
    /// that lock while holding a connection.
    pub(crate) fn take(&self, turns: &Turns) -> Result<Taken<'_>, StoreError> {
        until_undisturbed(|| self.try_to_take(turns))
    }

    pub(crate) fn give_back(&self, taken: Taken<'_>) {
        let Taken::Further(open) = taken else { return };
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < KEPT {
            idle.push(*open);
        }
    }

    fn try_to_take(&self, turns: &Turns) -> Result<Taken<'_>, StoreError> {
        // A panic in a transaction rolls it back; the connection itself stays sound.
        if self.access == Access::Single {
            let first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
            return Ok(Taken::First(first));
        }
        match self.first.try_lock() {
            Ok(first) => return Ok(Taken::First(first)),
            Err(TryLockError::Poisoned(first)) => return Ok(Taken::First(first.into_inner())),
            Err(TryLockError::WouldBlock) => {}
        }
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let open = match idle {
            Some(open) => open,
            None => self.open_further(turns)?,
        };
        Ok(Taken::Further(Box::new(open)))
    }

    fn open_further(&self, turns: &Turns) -> Result<Open, StoreError> {
        let path = &self.path;
        if self.access == Access::ReadOnly {
            return Ok(connect_read_only(path, self.trusted())?.into());
        }
        if !Handle::is_open_at(path) {
            return Err(StoreError::Disturbed { path: path.clone() });
        }
        if refuse_emptied(path).is_err() {
            // Another connection of this process, which has it open, makes it again.
            return Err(StoreError::Disturbed { path: path.clone() });
        }
        open_overwritten(path, self.trusted(), turns)?;
        connect(path, self.trusted())
    }
}

/// Tries again for a while where somebody deletes or exchanges the files at that moment.
pub(crate) fn until_undisturbed<T>(
    mut act: impl FnMut() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    const PATIENCE: Duration = Duration::from_secs(2);
    const PAUSE: Duration = Duration::from_millis(5);
    let begun = Instant::now();
    loop {
        match act() {
            Err(StoreError::Disturbed { .. }) if begun.elapsed() < PATIENCE => {
                std::thread::sleep(PAUSE);
            }
            outcome => return outcome,
        }
    }
}
