//! Suggestions that nobody asked for, made by watching the work.

use std::sync::Arc;

use callstack_core::autonomy::{
    Heuristic, LIFETIME, QUIET, Reading, Signals, Suggestion, SuggestionKind, judge,
};
use callstack_core::event::Event;
use callstack_core::frame::{Frame, FrameNum};
use callstack_core::transcript::Span;
use callstack_store::{Change, StoreError, StoredSuggestion, View};

use crate::conversation::Conversation;
use crate::error::EngineError;
use crate::kernel::Kernel;
use crate::queries::Queries;
use crate::settings::{AutonomySettings, Level};

/// The place of the newest message in the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Boundary {
    /// At the beginning of a piece: the first step of a user's turn, or one that wrote the todo list.
    Begins,
    /// In the middle of one.
    Within,
    /// After the last one: every item of the turn's todo list is over.
    Done,
}

/// A suggestion of a heuristic that it has not made recently.
#[derive(Clone, Debug)]
pub(crate) struct Proposal {
    frame: FrameNum,
    heuristic: Heuristic,
    confidence: u8,
    subject: Option<String>,
    reason: String,
}

impl Proposal {
    /// Returns the readings above the thresholds, the surest first. The surest heuristic of a kind has the joint
    /// confidence of all of the kind; another one, which counts where that one has made a suggestion recently, has
    /// its own.
    pub(crate) fn of(
        frame: FrameNum,
        kinds: &[SuggestionKind],
        settings: &AutonomySettings,
        signals: &Signals,
    ) -> Vec<Self> {
        let mut proposals = Vec::new();
        for kind in kinds {
            let judgement = judge(*kind, &settings.heuristics, signals);
            for (place, reading) in judgement.readings.iter().enumerate() {
                let together = if place == 0 { judgement.confidence } else { reading.confidence };
                if reading.confidence > 0 && together >= threshold(settings, *kind) {
                    proposals.push(Self::from(frame, reading, together, signals));
                }
            }
        }
        proposals.sort_by_key(|proposal| std::cmp::Reverse(proposal.confidence));
        proposals
    }

    fn from(frame: FrameNum, reading: &Reading, confidence: u8, signals: &Signals) -> Self {
        let subject = match reading.heuristic {
            Heuristic::FailureBoundary => signals.failing.as_deref(),
            Heuristic::ContextSwitch => signals.topic.as_deref(),
            _ => None,
        };
        Self {
            frame,
            heuristic: reading.heuristic,
            confidence,
            subject: subject.map(|subject| subject.trim_matches('`').to_owned()),
            reason: [Some(reading.reason()), saving(reading.heuristic.kind(), signals)]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join("; "),
        }
    }

    /// Whether following it saves something at a place. A frame for the next piece of work is opened before it; an
    /// attempt that failed, a goal that is reached and a context that is full are boundaries themselves.
    pub(crate) fn belongs_at(&self, boundary: Boundary) -> bool {
        match self.heuristic {
            Heuristic::ContextSwitch | Heuristic::Complexity | Heuristic::Duration => {
                boundary == Boundary::Begins
            }
            Heuristic::FailureBoundary => boundary != Boundary::Done,
            Heuristic::GoalCompletion | Heuristic::Stagnation | Heuristic::ContextOverflow => true,
        }
    }

    /// Whether it may be made: nothing of its kind waits for this frame, and its heuristic has suggested nothing
    /// about the frame recently. A context that is nearly full does not wait for anything else.
    fn is_due(&self, earlier: &[StoredSuggestion]) -> bool {
        let (kind, urgent) = (self.heuristic.kind(), self.heuristic == Heuristic::ContextOverflow);
        !earlier.iter().any(|earlier| {
            let waits = earlier.end.is_none() && earlier.suggestion.kind() == kind;
            earlier.suggestion.heuristic == self.heuristic || (waits && !urgent)
        })
    }
}

/// The fewest saved tokens that are worth a remark.
const WORTH_SAYING: u64 = 500;

/// Returns the saving from following a suggestion, in tokens of every later request, where that is worth a remark.
fn saving(kind: SuggestionKind, signals: &Signals) -> Option<String> {
    match kind {
        SuggestionKind::Pop if signals.tokens >= WORTH_SAYING => {
            Some(format!("its steps, of about {} tokens, leave then", signals.tokens))
        }
        SuggestionKind::Push => {
            let step = signals.tokens / u64::from(signals.steps.max(1));
            (step >= WORTH_SAYING / 5).then(|| {
                format!(
                    "a step took about {step} tokens so far, and those of a frame leave at its end"
                )
            })
        }
        SuggestionKind::Pop => None,
    }
}

/// The confidence from which on something of a kind is suggested.
pub(crate) fn threshold(settings: &AutonomySettings, kind: SuggestionKind) -> u8 {
    match kind {
        SuggestionKind::Push => settings.push_threshold,
        SuggestionKind::Pop => settings.pop_threshold,
    }
}

impl Queries {
    /// Returns the present settings for what callstack does unasked.
    pub(crate) fn autonomy(&self) -> Result<AutonomySettings, EngineError> {
        Ok(self.kernel.read(|view| self.kernel.settings_in(view))?.autonomy.clone())
    }
}

/// Suggests frames where the work looks as if it needs one.
pub(crate) struct Suggestions {
    kernel: Arc<Kernel>,
    queries: Arc<Queries>,
}

impl Suggestions {
    pub(crate) fn new(kernel: &Arc<Kernel>, queries: &Arc<Queries>) -> Self {
        Self { kernel: Arc::clone(kernel), queries: Arc::clone(queries) }
    }

    /// Returns the signals of the work in an open span of a session.
    pub(crate) fn signals(
        &self,
        conversation: &mut Conversation,
        span: &Span,
    ) -> Result<Signals, EngineError> {
        let (used, limit) = (conversation.used, conversation.limit);
        let observer = conversation.watch(span, || self.queries.frame(span.frame))?;
        Ok(observer.signals(used, limit))
    }

    /// The suggestions that wait in a session, for a system prompt that is rebuilt with every change.
    pub(crate) fn suggestions_in_system(&self, session: &str) -> Result<Vec<String>, EngineError> {
        self.kernel.read(|view| {
            let settings = self.kernel.settings_in(view)?;
            let autonomy = &settings.autonomy;
            if autonomy.level == Level::Manual || !autonomy.suggest_in_context {
                return Ok(Vec::new());
            }
            let waiting = view.pending_suggestions(session, self.kernel.now())?;
            let texts = waiting.iter().map(|suggestion| {
                let frame = view.frame(suggestion.frame)?;
                Ok(suggestion.text(&frame, self.kernel.dialect()))
            });
            texts.collect()
        })
    }

    /// Returns the first proposal that may be made, with its frame.
    pub(crate) fn first_due(
        &self,
        proposals: &[Proposal],
    ) -> Result<Option<(Proposal, Frame)>, EngineError> {
        self.kernel.read(|view| {
            for proposal in proposals {
                if proposal.is_due(&self.lately(view, proposal.frame)?) {
                    return Ok(Some((proposal.clone(), view.frame(proposal.frame)?)));
                }
            }
            Ok(None)
        })
    }

    /// Keeps a suggestion, unless another process was faster.
    pub(crate) fn suggest(
        &self,
        change: &mut Change<'_>,
        session: &str,
        proposal: Proposal,
    ) -> Result<Option<Suggestion>, StoreError> {
        if !proposal.is_due(&self.lately(&change.view(), proposal.frame)?) {
            return Ok(None);
        }
        let now = self.kernel.now();
        let suggestion = Suggestion {
            num: change.view().next_suggestion()?,
            session: session.to_owned(),
            frame: proposal.frame,
            heuristic: proposal.heuristic,
            confidence: proposal.confidence,
            subject: proposal.subject,
            reason: proposal.reason,
            created_at: now,
            expires_at: now + LIFETIME,
        };
        let event = Event::SuggestionMade { suggestion: Box::new(suggestion.clone()) };
        change.append(now, &[event])?;
        Ok(Some(suggestion))
    }

    fn lately(
        &self,
        view: &View<'_>,
        frame: FrameNum,
    ) -> Result<Vec<StoredSuggestion>, StoreError> {
        let now = self.kernel.now();
        view.frame_suggestions(frame, now.saturating_sub(QUIET), now)
    }
}
