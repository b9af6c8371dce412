//! Maps an event to the rows that it changes. Nothing else writes the derived tables, so that they can be rebuilt
//! from the log.

mod frames;
mod placed;
mod spans;

use callstack_core::event::Event;
use callstack_core::frame::FrameNum;
use callstack_core::session_state::SessionState;
use rusqlite::{ToSql, params};

use crate::compactions;
use crate::error::StoreError;
use crate::evidence;
use crate::file_states;
use crate::logs;
use crate::masks;
use crate::plan;
use crate::store::View;
use crate::subagents;

/// Stands in `frame_counts` for the parent of roots and for the whole store.
pub(crate) const ROOTS: i64 = 0;
pub(crate) const WHOLE: i64 = -1;

#[expect(clippy::too_many_lines, reason = "one arm an event")]
pub(crate) fn apply(view: &View<'_>, seq: i64, at: i64, event: &Event) -> Result<(), StoreError> {
    let writer = Writer { view, seq, at };
    match event {
        Event::SessionOpened { session } => writer.run(
            // An imported session that is continued is worked in from now on.
            "INSERT INTO sessions (id, host, parent, root, active, active_seq, changed_seq)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)
             ON CONFLICT (id) DO UPDATE SET host = excluded.host, recorded = 0, figures = NULL,
               active_seq = excluded.active_seq, changed_seq = excluded.changed_seq
             WHERE recorded = 1",
            params![
                session.id,
                session.host,
                session.parent,
                session.root.map(sql),
                session.active.map(sql),
                seq
            ],
        ),
        Event::RootSet { session, frame } => {
            writer.run("UPDATE sessions SET root = ?2 WHERE id = ?1", params![session, sql(*frame)])
        }
        Event::SessionRecorded { session, figures } => {
            // Plain numbers, whose serialization can't fail.
            let figures = figures.and_then(|figures| serde_json::to_string(&figures).ok());
            writer.run(
                "UPDATE sessions SET recorded = 1, figures = coalesce(?2, figures) WHERE id = ?1",
                params![session, figures],
            )
        }
        Event::ActiveSet { session, frame } => {
            writer.run(
                "UPDATE sessions SET active = ?2, active_seq = ?3, changed_seq = ?3 WHERE id = ?1",
                params![session, frame.map(sql), seq],
            )?;
            subagents::active_set(view, at, session, frame.is_some())
        }
        Event::FrameCreated { frame } => writer.create(frame),
        Event::FrameStarted { frame, id, session } => writer.start(*frame, id, session),
        Event::FrameRenamed { frame, id } => {
            writer.rename(*frame, id)?;
            writer.touch(*frame)?;
            logs::changed(&writer, *frame)
        }
        Event::FrameEnded { frame, outcome, reason } => {
            writer.end(*frame, outcome, reason.as_deref())?;
            logs::ended(&writer, *frame)
        }
        Event::FrameReopened { frame, status } => {
            writer.reopen(*frame, *status)?;
            logs::changed(&writer, *frame)
        }
        Event::FrameDetached { frame } => {
            writer.detach(*frame, true)?;
            logs::changed(&writer, *frame)
        }
        Event::FrameAttached { frame } => {
            writer.detach(*frame, false)?;
            logs::changed(&writer, *frame)
        }
        Event::FramePlaced { frame, parent } => {
            writer.place(*frame, *parent)?;
            writer.touch(*frame)?;
            logs::changed(&writer, *frame)
        }
        Event::FrameConsolidated { frame, into } => writer.consolidate(*frame, Some(*into)),
        Event::PlanOrdered { frame, before } => plan::order(view, *frame, *before),
        Event::IdentitySet { frame, identity, derived } => writer
            .run(
                "UPDATE frames SET title = ?2, criteria = ?3, criteria_compacted = ?4,
               identity_derived = ?5, updated_at = ?6 WHERE num = ?1",
                params![
                    sql(*frame),
                    identity.title,
                    identity.success_criteria,
                    identity.success_criteria_compacted,
                    derived,
                    at
                ],
            )
            // The purpose of the frame matters to suggestions in it.
            .and_then(|()| {
                writer.run(
                    "UPDATE sessions SET changed_seq = ?2
                 WHERE id = (SELECT session FROM frames WHERE num = ?1)",
                    params![sql(*frame), seq],
                )
            })
            .and_then(|()| logs::changed(&writer, *frame)),
        Event::ArtifactRecorded { frame, artifact } => {
            writer.artifact(*frame, &artifact.path, artifact.hash.as_deref())?;
            writer.touch(*frame)?;
            logs::changed(&writer, *frame)
        }
        Event::DecisionRecorded { frame, text } => {
            writer.decision(*frame, text)?;
            writer.touch(*frame)?;
            logs::changed(&writer, *frame)
        }
        Event::PinSet { frame, pin } => {
            writer.run(
                "INSERT INTO pins (num, frame, text, seq, removed) VALUES (?1, ?2, ?3, ?4, 0)",
                params![signed(pin.num), sql(*frame), pin.text, seq],
            )?;
            writer.touch(*frame)
        }
        Event::PinRemoved { pin } => {
            writer.run("UPDATE pins SET removed = 1 WHERE num = ?1", params![signed(*pin)])
        }
        Event::SpanOpened { span } => writer.open_span(span),
        Event::SpanClosed { span, close, outcome } => {
            writer.close_span(span.0, close, outcome)?;
            writer.session_changed(*span)
        }
        Event::CloseUndone { span, undone } => {
            writer.run(
                "UPDATE spans SET close_undone = ?2 WHERE num = ?1",
                params![signed(span.0), undone],
            )?;
            writer.session_changed(*span)
        }
        Event::SpanDetached { span, detached } => {
            writer.run(
                "UPDATE spans SET detached = ?2 WHERE num = ?1",
                params![signed(span.0), detached],
            )?;
            writer.session_changed(*span)
        }
        Event::FoldSet { span, fold } => writer.set_fold(*span, fold),
        Event::EvidenceTaken { frame, span, evidence } => {
            evidence::apply(&writer, *frame, *span, evidence)
        }
        Event::Rendered { session, slot, text, renderer } => {
            if let Some(state) = SessionState::of_slot(slot, text) {
                return writer.set_session_state(session, &state);
            }
            writer.run(
                "INSERT INTO renders (session, slot, text, renderer, seq)
                 VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (session, slot) DO UPDATE
                   SET text = excluded.text, renderer = excluded.renderer, seq = excluded.seq",
                params![session, slot.to_string(), text, renderer, seq],
            )?;
            // Every other process has to send the texts that one process has sent.
            writer.run("UPDATE sessions SET changed_seq = ?2 WHERE id = ?1", params![session, seq])
        }
        Event::SessionStateSet { session, state } => writer.set_session_state(session, state),
        Event::OutputsMasked { session, masks, settled_at, settled_serial } => {
            masks::add(&writer, session, masks, (settled_at, *settled_serial))
        }
        Event::StepsNamed { session, steps } => crate::named_steps::add(&writer, session, steps),
        Event::Subagent { session, change } => subagents::apply(view, at, session, change),
        Event::Purged { frames, messages, .. } => logs::purged(&writer, frames, messages),
        // The log has references; the bodies are written beside it.
        Event::MessagesRecorded { session, messages } => {
            writer.place_spans(session)?;
            logs::recorded(&writer, session, messages)
        }
        Event::SuggestionMade { suggestion } => crate::suggestions::add(view, suggestion),
        Event::SuggestionEnded { suggestion, end } => {
            crate::suggestions::end(view, *suggestion, *end, at)
        }
        Event::CompactionAsked { .. }
        | Event::CompactionDropped { .. }
        | Event::CompactionSettled { .. }
        | Event::CompactionTold { .. }
        | Event::CheckpointSet { .. } => compactions::apply(&writer, event),
        Event::FilesRecorded { .. }
        | Event::FilesRestoring { .. }
        | Event::FilesCorrected { .. }
        | Event::FilesRestored { .. } => file_states::apply(&writer, event),
        Event::DelegationBegun { delegation } => {
            crate::delegations::begin(view, delegation)?;
            writer.caller_changed(delegation.span)
        }
        Event::DelegationDelivered { span } => {
            crate::delegations::deliver(view, *span)?;
            writer.caller_changed(*span)
        }
        Event::CallAnswered { session, call, answer } => {
            crate::answers::give(view, session, call, answer)
        }
        Event::SettingSet { name, value: None } => {
            writer.run("DELETE FROM settings WHERE name = ?1", params![name])
        }
        Event::SettingSet { name, value: Some(value) } => writer.run(
            "INSERT INTO settings (name, value) VALUES (?1, ?2)
             ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            params![name, value],
        ),
    }
}

/// SQLite's integers are signed; handles and numbers start at 1 and never come near the sign.
pub(crate) fn signed(num: u64) -> i64 {
    i64::try_from(num).unwrap_or(i64::MAX)
}

pub(crate) fn sql(num: FrameNum) -> i64 {
    signed(num.0)
}

pub(crate) struct Writer<'a, 'c> {
    view: &'a View<'c>,
    pub(crate) seq: i64,
    pub(crate) at: i64,
}

impl Writer<'_, '_> {
    pub(crate) fn run(&self, statement: &str, params: &[&dyn ToSql]) -> Result<(), StoreError> {
        self.view.run(statement, params)
    }
}
