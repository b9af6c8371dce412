//! The fuzz targets' handling of their bytes. CONTRIBUTING.md describes how to run them.

mod evidence;
mod importers;
mod masking;
mod protocol;
mod session;
mod store;

use std::hash::{DefaultHasher, Hasher as _};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use callstack_engine::World;

pub use evidence::evidence;
pub use importers::importers;
pub use masking::masking;
pub use protocol::protocol;
pub use session::session;
pub use store::store;

/// Whether an input is one of the few with which something slow is done, too: about one in `n`, and always the same
/// ones. A mark in the input would not work: a fuzzer looks for slow inputs and soon puts the mark into all of them.
fn is_one_in(n: u64, data: &[u8]) -> bool {
    let mut hasher = DefaultHasher::new();
    hasher.write(data);
    hasher.finish().is_multiple_of(n)
}

/// A clock and ids that depend only on the number of calls, so that an input can be repeated.
#[derive(Debug, Default)]
struct Counted {
    now: AtomicI64,
    ids: AtomicU64,
}

impl World for Counted {
    fn now(&self) -> i64 {
        1_700_000_000_000 + self.now.fetch_add(1, Ordering::Relaxed)
    }

    fn id(&self, prefix: &str) -> String {
        format!("{prefix}{:032x}", self.ids.fetch_add(1, Ordering::Relaxed))
    }
}
