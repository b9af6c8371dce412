//! The engine from outside, as hosts and the command line use it.

#[cfg(test)]
mod alone;
mod answers;
#[cfg(test)]
mod arguments;
#[cfg(test)]
mod autonomy;
#[cfg(test)]
mod batches;
#[cfg(test)]
mod beside;
#[cfg(test)]
mod cache;
#[cfg(test)]
mod callers;
#[cfg(test)]
mod changed_files;
#[cfg(test)]
mod compaction;
#[cfg(test)]
mod consolidation;
#[cfg(test)]
mod control;
#[cfg(test)]
mod delegations;
#[cfg(test)]
mod diff;
#[cfg(test)]
mod evidence;
#[cfg(test)]
mod feed;
#[cfg(test)]
mod figures;
#[cfg(test)]
mod files;
#[cfg(test)]
mod flame;
#[cfg(test)]
mod forged;
#[cfg(test)]
mod framing;
#[cfg(test)]
mod held;
#[cfg(test)]
mod idempotency;
#[cfg(test)]
mod import;
#[cfg(test)]
mod log_file;
mod logs;
#[cfg(test)]
mod manager;
#[cfg(test)]
mod masked;
#[cfg(test)]
mod masking;
#[cfg(test)]
mod missing_results;
#[cfg(test)]
mod operations;
#[cfg(test)]
mod outside;
#[cfg(test)]
mod past;
#[cfg(test)]
mod plans;
#[cfg(test)]
mod plugin;
#[cfg(test)]
mod reasoning;
#[cfg(test)]
mod restarts;
#[cfg(test)]
mod retry;
#[cfg(test)]
mod rollback;
#[cfg(test)]
mod schemas;
#[cfg(test)]
mod search;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod since;
#[cfg(test)]
mod subagents;
#[cfg(test)]
mod support;
#[cfg(test)]
mod witness;
