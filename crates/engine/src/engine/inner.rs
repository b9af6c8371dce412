//! Temporary.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use callstack_core::compaction::Notice;
use callstack_core::context::{Parts, RenderedContext};
use callstack_core::decide::{Command, Decision, PlannedChild, Pop};
use callstack_core::event::FileMoment;
use callstack_core::evidence::{Evidence, Happening};
use callstack_core::frame::{Artifact, Frame, FrameNum, Identity, Status};
use callstack_core::subagent::{Completion, SubagentSession};
use callstack_core::transcript::{Anchor, Span};
use callstack_store::{Change, StoreError, View};
use serde_json::Value;

use crate::assembly::Contexts;
use crate::compaction::Came;
use crate::conversation::Conversation;
use crate::effect::EffectOutcome;
use crate::engine::Engine;
use crate::generator::{Asking, Made, Making};
use crate::operation::{Answer, Caller};
use crate::staleness::{Looks, Since};
use crate::subagents::ending::Ending as SubagentEnding;
use crate::{EngineError, Settings, World};

impl Engine {
    pub(crate) fn answering(
        &self,
        caller: &Caller,
        work: impl FnOnce(&mut Change<'_>) -> Result<Answer, EngineError>,
    ) -> Result<Answer, EngineError> {
        self.idempotency.answering(caller, work)
    }

    pub(crate) fn keep_answer(
        &self,
        change: &mut Change<'_>,
        caller: &Caller,
        answer: &Answer,
    ) -> Result<(), EngineError> {
        self.idempotency.keep_answer(change, caller, answer)
    }

    pub(crate) fn keep_answer_if_elsewhere(
        &self,
        change: &mut Change<'_>,
        caller: &Caller,
        ended: &[FrameNum],
        answer: &Answer,
    ) -> Result<(), EngineError> {
        self.idempotency.keep_answer_if_elsewhere(change, caller, ended, answer)
    }

    pub(crate) fn context(
        &self,
        view: &View<'_>,
        session: &str,
        num: FrameNum,
        parts: Parts,
    ) -> Result<Arc<RenderedContext>, EngineError> {
        self.contexts.context(view, session, num, parts)
    }

    pub(crate) fn began(
        &self,
        view: &View<'_>,
        caller: &Caller,
        num: FrameNum,
        goal_is_known: bool,
    ) -> Result<Answer, EngineError> {
        self.contexts.began(view, caller, num, goal_is_known)
    }

    pub(crate) fn returned(
        &self,
        view: &View<'_>,
        num: FrameNum,
        left: &[Frame],
        evidence: &Evidence,
        reader: &str,
    ) -> Result<String, EngineError> {
        self.contexts.returned(view, num, left, evidence, reader)
    }

    pub(crate) fn last_ended(
        view: &View<'_>,
        ended: Vec<(FrameNum, String)>,
    ) -> Result<Answer, EngineError> {
        Contexts::last_ended(view, ended)
    }

    pub(crate) fn ended(
        view: &View<'_>,
        num: FrameNum,
        text: String,
    ) -> Result<Answer, EngineError> {
        Contexts::ended(view, num, text)
    }

    pub(crate) fn register_pending_completion(
        &self,
        caller: &Caller,
        ending: crate::compaction::Ending,
        requested: bool,
    ) -> Result<Frame, EngineError> {
        self.compaction.register_pending_completion(caller, ending, requested)
    }

    pub(crate) fn mark_pending_compaction(
        &self,
        caller: &Caller,
        note: Option<String>,
        requested: bool,
    ) -> Result<Frame, EngineError> {
        self.compaction.mark_pending_compaction(caller, note, requested)
    }

    pub(crate) fn check_nothing_ends(&self, session: &str) -> Result<(), EngineError> {
        self.lifecycle.check_nothing_ends(session)
    }

    pub(crate) fn settings_in(&self, view: &View<'_>) -> Result<Arc<Settings>, EngineError> {
        self.kernel.env().settings_in(view)
    }

    pub(crate) fn consolidate_if_many(
        &self,
        change: &mut Change<'_>,
        ended: FrameNum,
    ) -> Result<(), EngineError> {
        self.commands.consolidate_if_many(change, ended)
    }

    pub(crate) fn consolidate_in(
        &self,
        change: &mut Change<'_>,
        parent: FrameNum,
        keep: u64,
    ) -> Result<Option<FrameNum>, EngineError> {
        self.commands.consolidate_in(change, parent, keep)
    }

    pub(crate) fn session_root(&self, session: &str) -> Result<FrameNum, EngineError> {
        self.queries.session_root(session)
    }

    pub(crate) fn open_session(&self, caller: &Caller) -> Result<(), EngineError> {
        self.lifecycle.open_session(caller)
    }

    pub(crate) fn anchor_in(&self, caller: &Caller, frame: &Frame) -> Result<Anchor, EngineError> {
        self.queries.anchor_in(caller, frame)
    }

    pub(crate) fn change(&self, command: &Command) -> Result<Decision, EngineError> {
        self.frames.change(command)
    }

    pub(crate) fn carry_out(
        &self,
        change: &mut Change<'_>,
        command: &Command,
    ) -> Result<Decision, EngineError> {
        self.commands.carry_out(change, command)
    }

    pub(crate) fn begin(
        &self,
        caller: &Caller,
        goal_is_known: bool,
        command: impl FnOnce(&dyn World) -> Command,
    ) -> Result<Answer, EngineError> {
        self.lifecycle.begin(caller, goal_is_known, command)
    }

    pub(crate) fn end(&self, caller: &Caller, pop: Pop) -> Result<Answer, EngineError> {
        self.lifecycle.end(caller, pop)
    }

    pub(crate) fn end_in_turn<T>(
        &self,
        caller: &Caller,
        pops: Vec<Pop>,
        then: impl FnOnce(&mut Change<'_>, Vec<(FrameNum, String)>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.lifecycle.end_in_turn(caller, pops, then)
    }

    pub(crate) fn check_end(&self, pop: Pop) -> Result<Frame, EngineError> {
        self.lifecycle.check_end(pop)
    }

    pub(crate) fn ensure_root(
        &self,
        session: &str,
        host: &str,
        identity: Identity,
        anchor: Anchor,
    ) -> Result<FrameNum, EngineError> {
        self.frames.ensure_root(session, host, identity, anchor)
    }

    pub(crate) fn project_file(&self, file: &str) -> (String, Option<String>) {
        self.kernel.env().project_file(file)
    }

    pub(crate) fn now(&self) -> i64 {
        self.kernel.env().now()
    }

    pub(crate) fn conversation(&self, session: &str) -> Arc<Mutex<Conversation>> {
        self.sessions.conversation(session)
    }

    pub(crate) fn delegate(&self, caller: &Caller, num: FrameNum) -> Result<Answer, EngineError> {
        self.delegation.delegate(caller, num)
    }

    pub(crate) fn delegate_new(
        &self,
        caller: &Caller,
        child: PlannedChild,
    ) -> Result<Answer, EngineError> {
        self.delegation.delegate_new(caller, child)
    }

    pub(crate) fn errand_goes_on(
        &self,
        caller: &Caller,
        token: Value,
        outcome: EffectOutcome,
    ) -> Result<Answer, EngineError> {
        self.delegation.errand_goes_on(caller, token, outcome)
    }

    pub(crate) fn worked_in_place(&self, frame: &Frame) -> Result<bool, EngineError> {
        self.queries.worked_in_place(frame)
    }

    pub(crate) fn evidence_since(&self, span: &Span, results: Option<&str>) -> Evidence {
        self.spans.evidence_since(span, results)
    }

    pub(crate) fn make_results(
        &self,
        frame: &Frame,
        ending: Status,
        later: bool,
    ) -> Result<Making, EngineError> {
        self.results.make_results(frame, ending, later)
    }

    pub(crate) fn making_goes_on(
        &self,
        frame: &Frame,
        ending: Status,
        asking: Asking,
    ) -> Result<Making, EngineError> {
        self.results.making_goes_on(frame, ending, asking)
    }

    pub(crate) fn making_stopped(&self, asking: &Asking) {
        self.results.making_stopped(asking);
    }

    pub(crate) fn extracted(&self, span: &[Happening]) -> Option<Made> {
        self.span_reader.extracted(span)
    }

    pub(crate) fn happenings_of(&self, frame: &Frame) -> Result<Vec<Happening>, EngineError> {
        self.spans.happenings_of(frame)
    }

    pub(crate) fn changed_since(
        &self,
        view: &View<'_>,
        frame: &Frame,
        looks: &mut Looks,
    ) -> Result<BTreeMap<String, Since>, EngineError> {
        self.contexts.changed_since(view, frame, looks)
    }

    pub(crate) fn record_files_of(&self, answer: &Answer) {
        self.files.record_files_of(answer);
    }

    pub(crate) fn record_ends(&self, frames: &[FrameNum]) {
        self.files.record_ends(frames);
    }

    pub(crate) fn settle(
        &self,
        session: &str,
        came: Came<'_>,
        made: Option<&Made>,
    ) -> Result<Option<Notice>, EngineError> {
        self.compaction.settle(session, came, made)
    }

    pub(crate) fn files_before(
        &self,
        session: &str,
        first: &Anchor,
    ) -> Result<Option<(FileMoment, String)>, EngineError> {
        self.steps.files_before(session, first)
    }

    pub(crate) fn artifacts_since(
        &self,
        view: &View<'_>,
        steps: &Span,
        evidence: &Evidence,
    ) -> Result<Vec<Artifact>, StoreError> {
        self.steps.artifacts_since(view, steps, evidence)
    }

    pub(crate) fn begun_since(
        &self,
        session: &str,
        first: &Anchor,
        last: &Anchor,
    ) -> Result<Option<Vec<FrameNum>>, EngineError> {
        self.steps.begun_since(session, first, last)
    }

    pub(crate) fn told_of_compactions(&self, session: &str) -> Result<(), EngineError> {
        self.compaction.told_of_compactions(session)
    }

    pub(crate) fn complete_session_and<T>(
        &self,
        session: &str,
        by: Completion,
        ending: &SubagentEnding,
        and: impl Fn(&mut Change<'_>, Vec<FrameNum>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.subagents.complete_session_and(session, by, ending, and)
    }

    pub(crate) fn last_words(
        &self,
        tracked: &SubagentSession,
    ) -> Result<SubagentEnding, EngineError> {
        self.subagents.last_words(tracked)
    }

    pub(crate) fn find_subagent(&self, reference: &str) -> Result<SubagentSession, EngineError> {
        self.queries.find_subagent(reference)
    }

    pub(crate) fn reconsider_silent(&self) -> Result<(), EngineError> {
        self.subagents.reconsider_silent()
    }
}
