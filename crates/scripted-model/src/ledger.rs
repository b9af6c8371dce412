//! The state of the model: the script's state, every request so far, and its violations.

use std::{
    any::Any,
    collections::{BTreeMap, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind},
};

use serde_json::Value;

use crate::{
    answer::Answer,
    check::{self, Finding, MadeReasoning, Violation},
    request::{RecordedRequest, RequestKind, estimate_tokens, prefix_common_bytes},
    script::{Checks, Conversation, Script, Step, Usage},
};

/// A step taken from the script for one request, its closure not yet run.
pub(crate) struct Taken {
    request: usize,
    step: Step,
    cached_bytes: usize,
    refused: Option<String>,
}

struct Session {
    steps: VecDeque<Step>,
    compactions: VecDeque<Step>,
    checks: Checks,
    /// The agent request that the next one has to begin with.
    compare_with: Option<usize>,
    /// The request whose prefix the provider's cache would hold.
    cached: Option<usize>,
}

pub(crate) struct Ledger {
    unclaimed: Vec<Conversation>,
    title: String,
    summary: String,
    sessions: BTreeMap<String, Session>,
    order: Vec<String>,
    requests: Vec<RecordedRequest>,
    made: Vec<MadeReasoning>,
    findings: Vec<Finding>,
}

impl Ledger {
    pub(crate) fn new(script: Script) -> Self {
        Self {
            unclaimed: script.conversations,
            title: script.title,
            summary: script.summary,
            sessions: BTreeMap::new(),
            order: Vec::new(),
            requests: Vec::new(),
            made: Vec::new(),
            findings: Vec::new(),
        }
    }

    pub(crate) fn requests(&self) -> &[RecordedRequest] {
        &self.requests
    }

    pub(crate) fn findings(&self) -> &[Finding] {
        &self.findings
    }

    pub(crate) fn sessions(&self) -> &[String] {
        &self.order
    }

    pub(crate) fn add(&mut self, conversation: Conversation) {
        self.unclaimed.push(conversation);
    }

    pub(crate) fn append(&mut self, session: &str, steps: impl IntoIterator<Item = Step>) -> bool {
        let Some(known) = self.sessions.get_mut(session) else {
            return false;
        };
        known.steps.extend(steps);
        true
    }

    pub(crate) fn set_checks(&mut self, session: &str, checks: Checks) -> bool {
        let Some(known) = self.sessions.get_mut(session) else {
            return false;
        };
        known.checks = checks;
        true
    }

    pub(crate) fn forget_previous(&mut self, session: &str) -> bool {
        let Some(known) = self.sessions.get_mut(session) else {
            return false;
        };
        known.compare_with = None;
        true
    }

    pub(crate) fn unreadable(&mut self, session: String, why: String) {
        self.findings.push(Finding {
            request: self.requests.len(),
            session,
            kind: RequestKind::Other,
            violation: Violation::Unreadable(why),
        });
    }

    /// Records and checks a request and takes the step that answers it.
    pub(crate) fn take(&mut self, request: RecordedRequest) -> Taken {
        let index = self.requests.len();
        let mut found = request.format.well_formed(&request.body, request.messages());
        let mut cached_bytes = 0;
        let step = match request.kind {
            RequestKind::Title => Step::text(self.title.clone()),
            RequestKind::Other => Step::text("ok"),
            RequestKind::Compaction => {
                let own = self.sessions.get_mut(&request.session).and_then(|session| {
                    // A new history begins after the summary.
                    session.compare_with = None;
                    session.compactions.pop_front()
                });
                own.unwrap_or_else(|| Step::text(self.summary.clone()))
            }
            RequestKind::Agent => {
                self.claim(&request);
                let (requests, made) = (&self.requests, &self.made);
                self.sessions.get_mut(&request.session).map_or_else(Step::default, |session| {
                    found.extend(checks_of(session, &request, requests, made));
                    if let Some(before) = session.cached.and_then(|before| requests.get(before)) {
                        cached_bytes = prefix_common_bytes(before, &request);
                    }
                    session.compare_with = Some(index);
                    session.cached = Some(index);
                    session.steps.pop_front().unwrap_or_else(|| {
                        found.push(Violation::ScriptExhausted);
                        Step::text("done")
                    })
                })
            }
        };
        let is_reason = |it: &&Violation| request.format.refuses() && it.is_refused();
        let refused = found.iter().find(is_reason).map(ToString::to_string);
        self.requests.push(request);
        self.report(index, found);
        Taken { request: index, step, cached_bytes, refused }
    }

    /// Records the answer, once the step's closure has run.
    pub(crate) fn settle(&mut self, resolved: Resolved) -> Answer {
        let Resolved { request: index, step, cached_bytes, found } = resolved;
        self.report(index, found);
        let request = self.requests.get(index);
        let estimated = estimated_usage(request, &step, cached_bytes);
        let usage = step.usage.map_or(estimated, |usage| Usage {
            cached_tokens: usage
                .cached_tokens
                .or(estimated.cached_tokens.map(|cached| cached.min(usage.prompt_tokens))),
            ..usage
        });
        let model = request.and_then(|request| request.body["model"].as_str());
        let model = model.unwrap_or("scripted").to_owned();
        let format = request.map(|request| request.format).unwrap_or_default();
        let answer = Answer { id: index.to_string(), model, step, usage };
        self.made.extend(check::made(index, format, &answer.blocks(format)));
        answer
    }

    fn claim(&mut self, request: &RecordedRequest) {
        if self.sessions.contains_key(&request.session) {
            return;
        }
        let position = self
            .unclaimed
            .iter()
            .position(|c| c.when.as_ref().is_some_and(|when| when.matches(request)))
            .or_else(|| self.unclaimed.iter().position(|c| c.when.is_none()));
        let conversation = position.map(|at| self.unclaimed.remove(at)).unwrap_or_default();
        self.order.push(request.session.clone());
        let session = Session {
            steps: conversation.steps.into(),
            compactions: conversation.compactions.into(),
            checks: conversation.checks,
            compare_with: None,
            cached: None,
        };
        self.sessions.insert(request.session.clone(), session);
    }

    fn report(&mut self, index: usize, found: Vec<Violation>) {
        let Some(request) = self.requests.get(index) else {
            return;
        };
        let (session, kind) = (request.session.clone(), request.kind);
        self.findings.extend(found.into_iter().map(|violation| Finding {
            request: index,
            session: session.clone(),
            kind,
            violation,
        }));
    }
}

fn checks_of(
    session: &Session,
    request: &RecordedRequest,
    requests: &[RecordedRequest],
    made: &[MadeReasoning],
) -> Vec<Violation> {
    let mut found = Vec::new();
    if session.checks.prefix
        && let Some(earlier) = session.compare_with.and_then(|index| requests.get(index))
        && earlier.call_ids().is_subset(&request.call_ids())
    {
        found.extend(check::prefix(earlier, request));
    }
    if session.checks.reasoning {
        found.extend(check::reasoning(request, made, requests));
    }
    found
}

fn estimated_usage(request: Option<&RecordedRequest>, step: &Step, cached_bytes: usize) -> Usage {
    let calls: String = step.calls.iter().map(|call| call.arguments.to_string()).collect();
    let between: String = step.calls.iter().filter_map(|call| call.reasoning.as_deref()).collect();
    let said = [step.reasoning.as_deref(), step.text.as_deref(), Some(&between), Some(&calls)];
    Usage {
        prompt_tokens: request.map_or(0, RecordedRequest::token_estimate),
        completion_tokens: said.into_iter().flatten().map(estimate_tokens).sum(),
        cached_tokens: Some((cached_bytes / 4) as u64),
    }
}

/// A step after its closure, and its faults.
pub(crate) struct Resolved {
    request: usize,
    step: Step,
    cached_bytes: usize,
    found: Vec<Violation>,
}

impl Taken {
    /// Returns the provider's reason to refuse the request.
    pub(crate) fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// Runs the step's closure, if there is one, and checks the expectations of the step.
    pub(crate) fn resolve(self, request: &RecordedRequest) -> Resolved {
        let Self { request: index, step, cached_bytes, .. } = self;
        let mut found = Vec::new();
        let step = catch_unwind(AssertUnwindSafe(|| step.resolve(request))).unwrap_or_else(|why| {
            found.push(Violation::ScriptPanicked(panic_text(why.as_ref())));
            Step::text("done")
        });
        if !(step.expect.contains.is_empty() && step.expect.lacks.is_empty()) {
            let text = request.render();
            let missing = step.expect.contains.iter().filter(|t| !text.contains(t.as_str()));
            found.extend(missing.map(|t| Violation::Unexpected(format!("contain {t:?}"))));
            let present = step.expect.lacks.iter().filter(|t| text.contains(t.as_str()));
            found.extend(present.map(|t| Violation::Unexpected(format!("lack {t:?}"))));
        }
        Resolved { request: index, step, cached_bytes, found }
    }
}

fn panic_text(why: &(dyn Any + Send)) -> String {
    why.downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| why.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
        .to_owned()
}

/// The list of models that a client may ask for.
pub(crate) fn models() -> Value {
    serde_json::json!({
        "object": "list",
        "data": [{ "id": "scripted", "object": "model", "created": 0, "owned_by": "callstack" }],
    })
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
