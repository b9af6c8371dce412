//! The instructions about callstack that a client gives its model.

pub(crate) const INSTRUCTIONS: &str = "\
Frames are a call stack for your work. Push one before work with an outcome of its own (a subtask, an investigation, \
an attempt), and pop it as soon as its criteria are met, with results that say all that later work needs: paths, \
names, numbers, commands and their outcome, decisions with reasons, open ends. If it cannot be done, pop it as failed \
or blocked with what you learnt. Plan several parts that lie ahead, then activate one after the other.

What you return stays on the user's disk, also when this conversation is compacted or over: the newest line that \
begins with [callstack] says which frame is open, and the tree and the details of a frame tell the rest. callstack \
does not take the steps of finished frames out of this conversation, and has no log of them here.
";
