//! What the fuzz targets do with the bytes that they are given. CONTRIBUTING.md says how to run them.

mod evidence;
mod importers;
mod masking;
mod protocol;
mod store;

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use callstack_engine::World;

pub use evidence::evidence;
pub use importers::importers;
pub use masking::masking;
pub use protocol::protocol;
pub use store::store;

/// A clock and ids that only depend on how often they were asked, so that an input can be repeated.
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
