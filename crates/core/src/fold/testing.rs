//! What the tests of folding share: transcripts in a notation that reads at a glance, and a host that
//! carries operations out.

pub(super) mod host;
pub(super) mod notation;
