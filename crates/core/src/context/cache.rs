//! A cache of rendered contexts.

use std::sync::Arc;

use super::RenderedContext;

/// A cache of rendered contexts by session and state. A context is taken out when it is older than
/// its lifetime (its scores depend on the time) or when it is the least recently used of too many.
#[derive(Debug)]
pub struct ContextCache {
    capacity: usize,
    lifetime_ms: i64,
    /// The most recently used last.
    entries: Vec<Entry>,
    hits: u64,
    misses: u64,
}

#[derive(Debug)]
struct Entry {
    session: String,
    hash: u64,
    /// The key by which its state was last found.
    mark: Option<u64>,
    made_at: i64,
    context: Arc<RenderedContext>,
}

/// Statistics of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct CacheStats {
    /// Questions that it answered.
    pub hits: u64,
    /// Questions that it could not answer.
    pub misses: u64,
    /// Contexts it holds, expired ones included.
    pub entries: usize,
}

impl Default for ContextCache {
    fn default() -> Self {
        Self::new(Self::CAPACITY, Self::LIFETIME_MS)
    }
}

impl ContextCache {
    /// The number of contexts that are kept by default.
    pub const CAPACITY: usize = 50;

    /// The lifetime of a context by default, in milliseconds.
    pub const LIFETIME_MS: i64 = 30_000;

    /// Makes a cache of at most `capacity` contexts, each valid for `lifetime_ms` milliseconds.
    pub fn new(capacity: usize, lifetime_ms: i64) -> Self {
        Self { capacity, lifetime_ms, entries: Vec::new(), hits: 0, misses: 0 }
    }

    /// The context of `session` in the state `hash` ([`super::ContextInput::state_hash`]), if it is still valid at
    /// `now`, in milliseconds.
    pub fn get(&mut self, session: &str, hash: u64, now: i64) -> Option<Arc<RenderedContext>> {
        let found = self.position(session, hash).and_then(|at| self.take(at, now));
        self.misses += u64::from(found.is_none());
        found
    }

    /// Returns the context of `session` that was last marked with `mark` ([`Self::mark`]), if it is still valid. A
    /// miss is not counted, since the caller then looks up the state.
    pub fn marked(&mut self, session: &str, mark: u64, now: i64) -> Option<Arc<RenderedContext>> {
        let marked = |entry: &Entry| entry.mark == Some(mark) && entry.session == session;
        let at = self.entries.iter().position(marked)?;
        self.take(at, now)
    }

    /// Marks the entry of a state with a key that finds it faster. Its age does not change.
    pub fn mark(&mut self, session: &str, hash: u64, mark: u64) {
        if let Some(at) = self.position(session, hash) {
            self.entries[at].mark = Some(mark);
        }
    }

    /// Returns the context at a place, which becomes the most recently used one. One that is too old is dropped.
    fn take(&mut self, at: usize, now: i64) -> Option<Arc<RenderedContext>> {
        let entry = self.entries.remove(at);
        // A clock that was set back would otherwise keep it for ever.
        if !(0..self.lifetime_ms).contains(&now.saturating_sub(entry.made_at)) {
            return None;
        }
        self.hits += 1;
        let context = Arc::clone(&entry.context);
        self.entries.push(entry);
        Some(context)
    }

    /// Keeps `context`, made at `now`.
    pub fn put(&mut self, session: &str, hash: u64, now: i64, context: Arc<RenderedContext>) {
        if self.capacity == 0 {
            return;
        }
        if let Some(at) = self.position(session, hash) {
            self.entries.remove(at);
        } else if self.entries.len() >= self.capacity {
            self.entries.remove(0);
        }
        let session = session.to_owned();
        self.entries.push(Entry { session, hash, mark: None, made_at: now, context });
    }

    /// Drops the entries of one session and returns their number.
    pub fn invalidate(&mut self, session: &str) -> usize {
        let before = self.entries.len();
        self.entries.retain(|entry| entry.session != session);
        before - self.entries.len()
    }

    /// Drops everything and returns the number of contexts. The counters go on.
    pub fn clear(&mut self) -> usize {
        let dropped = self.entries.len();
        self.entries.clear();
        dropped
    }

    /// Returns its statistics.
    pub fn stats(&self) -> CacheStats {
        CacheStats { hits: self.hits, misses: self.misses, entries: self.entries.len() }
    }

    fn position(&self, session: &str, hash: u64) -> Option<usize> {
        self.entries.iter().position(|entry| entry.hash == hash && entry.session == session)
    }
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
