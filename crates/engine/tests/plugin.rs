//! A host's plugin at a call of the model, for one session: it shows everything that its process does not know yet,
//! and holds the operations of the answers.

use callstack_core::transcript::FoldOp;
use callstack_engine::{Engine, EngineError, HostMessage, SyncAnswer, SyncRequest};

#[derive(Clone, Default)]
pub(crate) struct Plugin {
    /// Messages that the process has acknowledged; empty where another one has taken over.
    pub(crate) known: Vec<String>,
    pub(crate) ops: Vec<FoldOp>,
    /// The serial of the answer that the last call went out with.
    pub(crate) applied: i64,
    /// The largest serial that was ever answered.
    pub(crate) newest: i64,
}

/// An answer: its serial, how many operations stay, and those after these.
type Answer = (i64, usize, Vec<FoldOp>);

/// A request that shows all, of a plugin that holds nothing.
pub(crate) fn whole(session: &str, shown: Vec<HostMessage>) -> SyncRequest {
    SyncRequest {
        session: session.to_owned(),
        host: "test".to_owned(),
        compacting: false,
        keep: 0,
        shown,
        ops: 0,
        applied: 0,
        newest: 0,
    }
}

impl Plugin {
    /// Asks before a call of the model, and takes over the answer.
    #[track_caller]
    pub(crate) fn sync(&mut self, engine: &Engine, session: &str, shown: &[HostMessage]) {
        let (serial, keep, ops) = self.ask(engine, session, shown).unwrap();
        self.ops.truncate(keep);
        self.ops.extend(ops);
        self.applied = serial;
        self.known = shown.iter().map(|shown| shown.message.id.clone()).collect();
    }

    /// Asks, and asks again with all messages where the engine needs them. The answer comes too late.
    pub(crate) fn ask(
        &mut self,
        engine: &Engine,
        session: &str,
        shown: &[HostMessage],
    ) -> Result<Answer, EngineError> {
        let same = shown.iter().zip(&self.known);
        let mut keep = same.take_while(|(shown, known)| shown.message.id == **known).count();
        loop {
            let request = SyncRequest {
                keep,
                ops: self.ops.len(),
                applied: self.applied,
                newest: self.newest,
                ..whole(session, shown[keep..].to_vec())
            };
            match engine.sync(request)? {
                SyncAnswer::All => {
                    keep = 0;
                    self.ops.clear();
                }
                SyncAnswer::Ops { serial, keep, ops } => {
                    assert!(serial > self.newest, "serials fell: {} to {serial}", self.newest);
                    self.newest = serial;
                    return Ok((serial, keep, ops));
                }
            }
        }
    }
}
