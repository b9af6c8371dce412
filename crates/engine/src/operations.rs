//! The table of operations. A new one is a type in a file of this folder, a line here, and an entry in each list that
//! `CONTRIBUTING.md` names under "A new operation".

mod autonomy;
pub(crate) mod begin;
mod compaction;
mod consolidate;
mod end;
mod export;
pub(crate) mod figures;
pub(crate) mod go;
mod inspect;
mod log;
mod missing_results;
pub(crate) mod near;
mod overview;
mod plan;
mod preset;
mod purge;
mod record;
pub(crate) mod repeated;
mod replan;
mod report;
pub(crate) mod retry;
mod rollback;
mod rows;
mod search;
pub(crate) mod settings;
mod since;
pub(crate) mod stack;
mod subagents;
pub(crate) mod summarizer;
mod views;

use crate::error::{EngineError, Kind};
use crate::operation::{CallerKind, Operation};
use crate::settings::Profile;

/// Every operation, those of the default profile first.
pub const TABLE: &[Operation] = &[
    Operation::of::<begin::Push>(),
    Operation::of::<end::Pop>(),
    Operation::of::<plan::Plan>(),
    Operation::of::<begin::Activate>(),
    Operation::of::<record::AddDecision>(),
    Operation::of::<stack::Stack>(),
    Operation::of::<end::Invalidate>(),
    Operation::of::<plan::PlanChildren>(),
    Operation::of::<replan::Replan>(),
    Operation::of::<replan::Unplan>(),
    Operation::of::<preset::Preset>(),
    Operation::of::<go::Navigate>(),
    Operation::of::<begin::Reopen>(),
    Operation::of::<retry::Retry>(),
    Operation::of::<consolidate::Consolidate>(),
    Operation::of::<record::AddArtifact>(),
    Operation::of::<compaction::Summarize>(),
    Operation::of::<compaction::CompactionInfo>(),
    Operation::of::<compaction::GetSummary>(),
    Operation::of::<record::SetGoal>(),
    Operation::of::<record::PinConstraint>(),
    Operation::of::<record::Unpin>(),
    Operation::of::<overview::StatusOf>(),
    Operation::of::<overview::Tree>(),
    Operation::of::<inspect::Details>(),
    Operation::of::<log::Log>(),
    Operation::of::<search::Search>(),
    Operation::of::<inspect::ContextPreview>(),
    Operation::of::<inspect::ContextInfo>(),
    Operation::of::<inspect::CacheClear>(),
    Operation::of::<overview::GetState>(),
    Operation::of::<autonomy::Autonomy>(),
    Operation::of::<autonomy::ShouldPush>(),
    Operation::of::<autonomy::ShouldPop>(),
    Operation::of::<autonomy::AutoSuggest>(),
    Operation::of::<autonomy::Stats>(),
    Operation::of::<subagents::Config>(),
    Operation::of::<subagents::Stats>(),
    Operation::of::<subagents::List>(),
    Operation::of::<subagents::Complete>(),
    Operation::of::<rollback::Rollback>(),
    Operation::of::<export::Export>(),
    Operation::of::<views::LookAtWindow>(),
    Operation::of::<views::LookAtCalls>(),
    Operation::of::<views::LookAtRequest>(),
    Operation::of::<views::LookAtFold>(),
    Operation::of::<views::ReadFrame>(),
    Operation::of::<views::Diff>(),
    Operation::of::<views::Frames>(),
    Operation::of::<settings::Settings>(),
    Operation::of::<purge::Purge>(),
    Operation::of::<report::WriteReport>(),
    Operation::of::<summarizer::Summarizer>(),
];

/// Returns the operation with a name, if there is one.
pub fn find(name: &str) -> Option<&'static Operation> {
    TABLE.iter().find(|operation| operation.name == name)
}

/// Returns the operation with a name that stands in this program.
pub fn named(name: &str) -> Result<&'static Operation, EngineError> {
    find(name)
        .ok_or_else(|| EngineError::new(Kind::Internal, format!("there is no operation `{name}`")))
}

/// Returns the operations that callers of a kind may carry out, in the order of the table.
pub fn callable_by(caller: CallerKind) -> impl Iterator<Item = &'static Operation> {
    TABLE.iter().filter(move |operation| operation.is_for(caller))
}

/// Returns the operations that an agent may call to ask a person for them. They are listed to it where
/// `STACK_AGENT_REQUESTS` is on.
pub(crate) fn on_request() -> impl Iterator<Item = &'static Operation> {
    TABLE.iter().filter(|operation| operation.on_request)
}

/// Returns the operations that a profile lists for an agent.
pub fn listed(profile: Profile) -> impl Iterator<Item = &'static Operation> {
    callable_by(CallerKind::Agent).filter(move |operation| match profile {
        Profile::Default => operation.listed,
        Profile::Full | Profile::Flame => true,
    })
}
