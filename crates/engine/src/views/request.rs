//! A request of a session: as it was sent for a call, or as the next one would be sent.

use callstack_core::cost::PAUSE;
use callstack_core::fold::{Input, Mask, Note, SentMessage, fold, sent, weigh};
use callstack_core::frame::FrameNum;
use callstack_core::masking::outputs::Weight;
use callstack_core::session_state::StaleReach;
use callstack_core::stored::Part;
use callstack_core::transcript::{Held, Message, MessageKind, PartBody, Role, Span};

use super::session::ReadSession;

/// A request.
pub(crate) struct Request {
    /// Its messages; their places are those of the transcript.
    pub(crate) messages: Vec<SentMessage>,
    /// The transcript that it was made of, by places in the session.
    pub(crate) places: Vec<usize>,
    /// The transcript.
    pub(crate) transcript: Vec<Message>,
    /// The spans whose texts are in it.
    pub(crate) in_effect: Vec<Span>,
    /// The summary that it begins with, by its place in the session.
    pub(crate) summary: Option<usize>,
}

impl ReadSession {
    /// Returns the request that the message at a place answers.
    pub(crate) fn request_for(&self, place: usize) -> Request {
        let before = |id: &Option<String>| {
            id.as_deref().is_none_or(|id| self.place(id).is_none_or(|at| at < place))
        };
        let is_sent = |settled: &Option<String>| settled.is_some() && before(settled);
        let mut spans = Vec::new();
        for span in self.spans.iter().filter(|span| before(&span.open.message)) {
            let mut span = span.clone();
            span.close = span.close.filter(|close| before(&close.message));
            span.fold = span.fold.filter(|fold| span.close.is_some() && is_sent(&fold.settled_at));
            // Its earlier weight no longer matters once it was sent.
            if let Some(fold) = &mut span.fold {
                fold.held = None;
            }
            spans.push(span);
        }
        let masks: Vec<Mask> =
            self.masks.iter().filter(|mask| is_sent(&mask.settled_at)).cloned().collect();
        let said = |note: &&Note| self.place(&note.message).is_some_and(|at| at < place);
        let notes: Vec<Note> = self.notes.iter().filter(said).cloned().collect();
        self.request(place, spans, &notes, &masks)
    }

    /// Returns the next request, as it would be sent now. The finished spans that it leaves out are chosen as they
    /// will be, except that calls beside a pop that still run don't matter.
    pub(crate) fn next_request(&self, now: i64) -> Request {
        if !self.is_framed {
            return self.request(self.messages.len(), Vec::new(), &[], &[]);
        }
        let mut spans = self.spans.clone();
        for span in &mut spans {
            if let Some(fold) = &mut span.fold
                && fold.held == Some(Held::Unfixed)
            {
                fold.held = None;
            }
        }
        let end = self.messages.len();
        let places = self.shown_before(end).0;
        let transcript = self.transcript(&places);
        let weights: Vec<Weight> = places
            .iter()
            .map(|place| {
                let shown = &self.messages[*place].shown;
                Weight { all: shown.said + shown.heard, results: shown.results.clone() }
            })
            .collect();
        let (until, stale) = self.stale(end, &places, None);
        let input = Input {
            transcript: &transcript,
            spans: &spans,
            notes: &self.notes,
            masks: &self.masks,
            reasoning: self.reasoning,
            stale_until: until,
            stale: &stale,
        };
        let is_cached = self.last_recorded.is_some_and(|before| now - before <= PAUSE);
        let weighed = weigh(&input, &weights, is_cached);
        for (num, held) in weighed {
            let span = spans.iter_mut().find(|span| span.num == num);
            if let Some(fold) = span.and_then(|span| span.fold.as_mut()) {
                fold.held = held;
            }
        }
        self.request(end, spans, &self.notes, &self.masks)
    }

    fn request(&self, end: usize, spans: Vec<Span>, notes: &[Note], masks: &[Mask]) -> Request {
        let (places, summary) = self.shown_before(end);
        let transcript = self.transcript(&places);
        let (until, stale) = self.stale(end, &places, summary);
        let folded = fold(&Input {
            transcript: &transcript,
            spans: &spans,
            notes,
            masks,
            reasoning: self.reasoning,
            stale_until: until,
            stale: &stale,
        });
        let messages = sent(&transcript, &folded.ops);
        let is_in_effect = |span: &Span| folded.in_effect.contains(&span.num);
        let in_effect = spans.into_iter().filter(is_in_effect).collect();
        Request { messages, places, transcript, in_effect, summary }
    }

    /// The messages that the host shows before a place, in its order, and its newest summary among them. What a
    /// compaction hides is left out.
    fn shown_before(&self, end: usize) -> (Vec<usize>, Option<usize>) {
        let shown = |at: &usize| self.is_shown_before(*at, end);
        let is = |place: &usize, standing: MessageKind| {
            self.messages[*place].shown.message.standing == standing
        };
        let summary = (0..end).rev().filter(shown).find(|at| is(at, MessageKind::Summary));
        let Some(summary) = summary else { return ((0..end).filter(shown).collect(), None) };
        let request = (0..summary).rev().find(|at| is(at, MessageKind::CompactionRequest));
        let begin = request.unwrap_or(summary);
        let kept = request.and_then(|request| self.kept_after_summary(request));
        let kept = kept.unwrap_or(begin)..begin;
        let places = (begin..=summary).chain(kept).chain(summary + 1..end);
        (places.filter(shown).collect(), Some(summary))
    }

    /// Whether a message was not undone yet when the request before the message at `end` was made. That one may have
    /// been undone since, with those before it.
    fn is_shown_before(&self, place: usize, end: usize) -> bool {
        let is_undone = |place: usize| self.undone.get(place).copied().unwrap_or_default();
        !is_undone(place) || (place..=end).all(is_undone)
    }

    /// The first of the messages that the host keeps word for word after the summary that it asks for.
    fn kept_after_summary(&self, request: usize) -> Option<usize> {
        let kept = self.messages[request].stored.kept_from()?;
        self.place(kept).filter(|kept| *kept < request)
    }

    fn transcript(&self, places: &[usize]) -> Vec<Message> {
        places.iter().map(|place| self.messages[*place].shown.message.clone()).collect()
    }

    /// The message up to which everything was written after another prefix, and further such steps.
    fn stale(
        &self,
        end: usize,
        places: &[usize],
        summary: Option<usize>,
    ) -> (Option<&str>, Vec<String>) {
        let marked = |wanted: StaleReach| {
            let marks = self.stale.iter().filter(move |(reach, _)| *reach == wanted);
            marks.filter_map(|(_, message)| self.place(message)).filter(move |place| *place < end)
        };
        let until = marked(StaleReach::Until).max();
        let bound = until.max(summary.and_then(|summary| summary.checked_sub(1)));
        let last = places.iter().rfind(|place| Some(**place) <= bound);
        let steps = marked(StaleReach::Step).map(|place| self.messages[place].id().to_owned());
        (last.map(|place| self.messages[*place].id()), steps.collect())
    }
}

/// The kind of a part of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The user's words, and what the user attached.
    User,
    /// The host's additions to the user's words.
    Host,
    /// Words, thoughts and calls of the agent, with the results of calls.
    Agent,
    /// The summary of the host's last compaction, and the request for it.
    Summary,
    /// The text that a finished frame returned.
    Fold(Option<FrameNum>),
    /// A line that replaces an older output.
    Mask,
    /// A text of callstack's own beside these.
    Note,
}

impl Request {
    /// Returns the message of the session in which a part was made.
    pub(crate) fn place_of(&self, message: usize) -> usize {
        self.places[message]
    }

    /// Returns the kind of a text of ours: one that a frame returned, or another one.
    pub(crate) fn source_of_text(&self, text: &str) -> Source {
        match self.fold_in(text) {
            Some(span) => Source::Fold(Some(span.frame)),
            None => Source::Note,
        }
    }

    /// Returns the kind of a text that replaces a call's output.
    pub(crate) fn source_of_output(&self, text: &str, opened: Option<&str>) -> Source {
        let opens = |span: &&Span| opened.is_some() && span.open.call.as_deref() == opened;
        match self.fold_in(text).or_else(|| self.in_effect.iter().find(opens)) {
            Some(span) => Source::Fold(Some(span.frame)),
            None => Source::Mask,
        }
    }

    fn fold_in(&self, text: &str) -> Option<&Span> {
        let is_in = |span: &&Span| {
            let fold = span.fold.as_ref();
            fold.is_some_and(|fold| !fold.text.is_empty() && text.contains(&fold.text))
        };
        self.in_effect.iter().find(is_in)
    }
}

/// Returns the kind of a part of a message.
pub(crate) fn source_of(message: &Message, part: usize) -> Source {
    match (message.standing, message.role, &message.parts[part].body) {
        (MessageKind::Summary | MessageKind::CompactionRequest, _, _) => Source::Summary,
        (_, Role::Assistant, _) => Source::Agent,
        (_, Role::User, PartBody::Text { synthetic: true, .. }) => Source::Host,
        (_, Role::User, _) => Source::User,
    }
}

/// The result of a call as its host sends it, unless something replaces it.
pub(crate) fn result(part: &Part) -> Option<&str> {
    let call = part.call()?;
    if call.is_cleared { Some("[Old tool result content cleared]") } else { call.result() }
}

/// The output that is sent for a part of the transcript, with what was added to it.
pub(crate) fn output_of(part: &Part, replaced: Option<&str>, added: &[String]) -> Option<String> {
    let own = replaced.or_else(|| result(part))?;
    let texts = std::iter::once(own).chain(added.iter().map(String::as_str));
    Some(texts.collect::<Vec<_>>().join("\n\n"))
}
