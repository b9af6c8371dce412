//! Steps of a session that are named where closing them would pay, and whether they are still sent when they are
//! closed. They are named in a later call, and never inside a pushed frame: they will leave with that.

mod overtaken;

use callstack_core::decide::nearest_chosen;
use callstack_core::event::Event;
use callstack_core::evidence::{Action, Activity};
use callstack_core::fold::{Folded, Placement, since};
use callstack_core::frame::{FrameNum, Status};
use callstack_core::masking::outputs::Request;
use callstack_core::named_steps::{Doing, NamedSteps, Step, name_of, naming, steps_to_name};
use callstack_core::rendered_slot::NoteKey;
use callstack_core::transcript::{
    Anchor, CallState, FoldOp, Message, Role, Span, SpanOrigin, ToolCall,
};
use callstack_store::View;

use super::Conversation;
use super::folding::live;
use super::stored_notes::note;
use crate::conversation::files_before::StepQueries;
use crate::conversation::folding::Folding;
use crate::error::EngineError;
use crate::evidence::SpanReader;
use crate::lock::lock;
use crate::recorder::PATIENCE;
use crate::settings::Settings;
use crate::work::message_of;

/// Characters of output between two searches for steps to name.
const LOOK: usize = 4_000;

/// Calls of the model in which a turn usually ends once its last planned frame has ended: the whole is checked,
/// committed and told to the user. For that the steps in front may be needed, and closing them saves little.
const LAST_CALLS: usize = 8;
/// The same once it has committed.
const AFTER_COMMIT: usize = 3;

/// Steps that are to be named.
struct Unnamed {
    first: Anchor,
    last: Anchor,
    calls: usize,
    chars: usize,
}

/// Whether a frame is open that somebody began, and whose steps leave when it is popped.
fn is_worked_in(span: &Span) -> bool {
    span.live_close().is_none() && span.foldable && !span.origin.is_automatic()
}

/// The events that name the same steps in another session, where messages have other ids.
pub(super) fn marks<'a>(
    named: &[NamedSteps],
    session: &str,
    moved: impl Fn(&str) -> Option<&'a str>,
) -> Vec<Event> {
    let moved = |anchor: &Anchor| {
        let message = moved(anchor.message.as_deref()?)?.to_owned();
        Some(Anchor { message: Some(message), call: anchor.call.clone() })
    };
    let steps = named.iter().filter_map(|it| {
        Some(NamedSteps { num: it.num, first: moved(&it.first)?, last: moved(&it.last)? })
    });
    steps.map(|steps| Event::StepsNamed { session: session.to_owned(), steps }).collect()
}

/// Whether a call is work that has a result, and not one of ours or the todo list's.
fn is_work(call: &ToolCall) -> bool {
    call.state == CallState::Completed && Doing::of(std::iter::once(call.tool.as_str())).is_some()
}

/// Whether a call's command makes a commit.
fn commits(call: &ToolCall) -> bool {
    matches!(&call.action, Action::Ran(command) if command.contains("git commit"))
}

impl Conversation {
    /// Characters that calls returned in so many messages at the beginning.
    fn returned_up_to(&self, messages: usize) -> usize {
        let last = messages.checked_sub(1).and_then(|last| self.transcript.get(last));
        last.map_or(0, |last| last.returned)
    }

    /// Whether the output before the newest message, which is never among the named steps, is enough for a search.
    fn may_have_unnamed_steps(&self) -> bool {
        let looks = |messages: usize| self.returned_up_to(messages.saturating_sub(1)) / LOOK;
        let (all, old) = (self.transcript.len(), self.naming.looked.old);
        all > old && looks(all) > looks(old)
    }

    /// Returns the steps that are to be named in the newest one; `ops` are the request's. The output of the newest
    /// one has not been read yet, so it is not among them.
    fn unnamed(&self, ops: &[FoldOp]) -> Option<Unnamed> {
        if !self.may_have_unnamed_steps() || self.has_gap {
            return None;
        }
        let last = self.newest_call()?;
        let live = live(&self.spans);
        if live.iter().any(is_worked_in) {
            return None;
        }
        let request = Request::of(&self.transcript, ops, self.weights());
        let unnamed = self.first_unnamed(&request);
        let in_front = 0..self.transcript.len() - 1;
        let read: Vec<Read> = in_front.filter_map(|at| self.read(&live, &request, at)).collect();
        let unnamed = read.iter().take_while(|it| it.at < unnamed).count();
        let steps: Vec<Step> = read.iter().map(|it| it.step).collect();
        let (tokens, calls) = self.weight(&request);
        let named = &read[steps_to_name(&steps, unnamed, tokens, calls)?..];
        let unnamed = Unnamed {
            first: named.first()?.first.clone()?,
            last,
            calls: named.iter().map(|it| it.calls).sum(),
            chars: named.iter().map(|it| it.step.chars).sum(),
        };
        self.may_be_closed(&live, &unnamed.first, &unnamed.last).then_some(unnamed)
    }

    /// The newest call, where it is work that has a result.
    fn newest_call(&self) -> Option<Anchor> {
        let newest = self.last().filter(|message| message.is_step())?;
        let last = newest.calls().rfind(|call| is_work(call))?;
        Some(Anchor { message: Some(newest.id.clone()), call: Some(last.id.clone()) })
    }

    /// Estimated tokens of a request with the newest message, and the calls of the model since the user spoke last.
    fn weight(&self, request: &Request<'_>) -> (usize, usize) {
        let agent = |message: &&Message| message.role == Role::Assistant;
        let calls = self.messages().rev().take_while(agent).count();
        let newest = self.transcript.last().map_or(0, |entry| entry.weight.all);
        (request.up_to(self.transcript.len()) + newest, calls)
    }

    /// Whether a planned frame ended or a commit was made a few calls ago, and the user has not spoken since.
    fn is_coming_to_its_end(&self) -> bool {
        let ends = live(&self.spans).into_iter().filter(|it| it.origin == SpanOrigin::Activate);
        let ends: Vec<String> = ends.filter_map(|it| it.live_close()?.message.clone()).collect();
        let agent = |message: &&Message| message.role == Role::Assistant;
        let newest = || self.messages().rev().take_while(agent);
        newest().take(LAST_CALLS).any(|message| ends.contains(&message.id))
            || newest().take(AFTER_COMMIT).any(|message| message.calls().any(|call| commits(call)))
    }

    /// Whether the steps from a call on up to another one are sent, and no frame that somebody chose began in them
    /// and is open.
    fn may_be_closed(&self, live: &[Span], first: &Anchor, last: &Anchor) -> bool {
        let Some(since) = since(&self.input(live), first, last) else { return false };
        let chosen = |span: &Span| !span.origin.is_automatic() && since.begun.contains(&span.frame);
        !live.iter().any(chosen)
    }

    /// Returns the first message after the last named steps in the request.
    fn first_unnamed(&self, request: &Request<'_>) -> usize {
        let place = |id: &str| self.messages().rposition(|message| message.id == id);
        let at = |anchor: &Anchor| place(anchor.message.as_deref()?);
        let named = self.naming.named.iter().filter_map(|steps| at(&steps.last));
        named.filter(|at| !request.cut[*at]).max().unwrap_or(0)
    }

    /// A message as a step; none of one that is no step.
    fn read(&self, live: &[Span], request: &Request<'_>, at: usize) -> Option<Read> {
        let entry = &self.transcript[at];
        let message = &entry.message;
        if !message.is_step() {
            return None;
        }
        let all = entry.weight.all;
        let length = request.in_front.get(at + 1).map(|length| length - request.in_front[at]);
        let tokens = if request.cut[at] { 0 } else { length.unwrap_or(all) };
        let returned = entry.returned - self.returned_up_to(at);
        let chars = returned * tokens.min(all) / all.max(1);
        // After frames that begin or end in the step.
        let edges = live.iter().flat_map(|span| [Some(&span.open), span.live_close()]).flatten();
        let edges = edges.filter(|edge| edge.message.as_deref() == Some(&message.id));
        let edges: Vec<&str> = edges.filter_map(|edge| edge.call.as_deref()).collect();
        let calls: Vec<&ToolCall> = message.calls().map(AsRef::as_ref).collect();
        let edge = calls.iter().rposition(|call| edges.contains(&call.id.as_str()));
        let made = &calls[edge.map_or(0, |edge| edge + 1)..];
        let anchor = |call: &ToolCall| Anchor {
            message: Some(message.id.clone()),
            call: Some(call.id.clone()),
        };
        let first = made.iter().find(|it| is_work(it)).map(|call| anchor(call));
        let before = at.checked_sub(1).map(|before| &self.transcript[before].message);
        let step = Step {
            doing: Doing::of(made.iter().map(|call| call.tool.as_str())),
            begins: edge.is_some() || before.is_none_or(|before| begins_after(live, before)),
            may_be_first: first.is_some() && !request.cut[at],
            tokens,
            chars,
        };
        let calls = if request.cut[at] { 0 } else { made.iter().filter(|it| is_work(it)).count() };
        Some(Read { at, step, first, calls })
    }

    /// The frames that are open and began in the steps from a call on; none where the steps are not sent any more.
    fn begun_since(&self, first: &Anchor, last: &Anchor) -> Option<Vec<FrameNum>> {
        let live = live(&self.spans);
        if !self.transcript.is_empty() {
            return since(&self.input(&live), first, last).map(|since| since.begun);
        }
        // The host has shown nothing yet to this process.
        let place = |anchor: &Anchor| self.order.get(anchor.message.as_ref()?).copied();
        let at = place(first)?;
        let open = live.iter().filter(|span| span.live_close().is_none());
        let begins = |span: &Span| match &span.open.message {
            Some(_) => place(&span.open).is_none_or(|place| place > at),
            None => false,
        };
        Some(open.filter(|span| begins(span)).map(|span| span.frame).collect())
    }
}

/// A step, with the call that steps from it on begin with.
struct Read {
    /// The place of its message.
    at: usize,
    step: Step,
    first: Option<Anchor>,
    calls: usize,
}

/// Whether steps begin after a message: the user spoke, a frame ended or the todo list changed in it.
fn begins_after(live: &[Span], message: &Message) -> bool {
    let closes = |span: &Span| {
        let close = span.live_close().filter(|_| !span.origin.is_automatic());
        close.and_then(|close| close.message.as_deref()) == Some(&message.id)
    };
    message.role == Role::User
        || live.iter().any(closes)
        || message.calls().any(|call| call.tool.starts_with("todo"))
}

impl Folding {
    /// Whether steps would be named, or offered again, if the session's next request went out as its last one.
    pub(super) fn would_name_steps(
        &self,
        conversation: &Conversation,
        settings: &Settings,
    ) -> Result<bool, EngineError> {
        let named = settings.names_steps()
            && conversation.step_frame.is_some()
            && (conversation.unnamed(&conversation.sent).is_some()
                || conversation.overtaken(&conversation.sent).is_some());
        Ok(named && !self.may_still_be_needed(conversation)?)
    }

    /// Whether planned frames come next in the open frame, for which reads before they begin are made, or the turn
    /// comes to its end.
    fn may_still_be_needed(&self, conversation: &Conversation) -> Result<bool, EngineError> {
        if conversation.is_coming_to_its_end() {
            return Ok(true);
        }
        self.kernel.read(|view| {
            let Some(below) = nearest_chosen(view, conversation.step_frame)? else {
                return Ok(false);
            };
            Ok(!view.children_with(Some(below), Status::Planned, 1)?.is_empty())
        })
    }

    /// Names the steps that are to be named at the end of a request, once all of it is on the disk; `folded` are the
    /// operations without that.
    pub(super) fn named(
        &self,
        conversation: &mut Conversation,
        session: &str,
        settings: &Settings,
        folded: Folded,
    ) -> Result<Folded, EngineError> {
        if !settings.names_steps() || conversation.step_frame.is_none() {
            return Ok(folded);
        }
        let unnamed = conversation.unnamed(&folded.ops);
        let overtaken = conversation.overtaken(&folded.ops);
        if (unnamed.is_none() && overtaken.is_none()) || self.may_still_be_needed(conversation)? {
            return Ok(folded);
        }
        let Some(unnamed) = unnamed else {
            return self.offered_again(conversation, session, overtaken, folded);
        };
        if !self.sessions.recorder()?.flush(conversation.ticket, PATIENCE) {
            return Ok(folded);
        }
        let Unnamed { first, last, calls, chars } = unnamed;
        let (Some(message), Some(call)) = (first.message.clone(), last.call.clone()) else {
            return Ok(folded);
        };
        let made = self.kernel.read(|view| self.span_reader.call_at(view, session, &first))?;
        let Some(made) = made else { return Ok(folded) };
        self.sessions.write(conversation, session, |_, change| {
            let num = change.view().next_named_steps()?;
            let text = naming(num, &made, calls, chars, self.kernel.dialect());
            let key = NoteKey::About { name: name_of(num), message };
            let place = (last.message.as_deref().unwrap_or_default(), Placement::Output(call));
            let note = note(session, place, key, text);
            let steps = NamedSteps { num, first, last: last.clone() };
            let named = Event::StepsNamed { session: session.to_owned(), steps };
            Ok(change.append(self.kernel.now(), &[named, note])?)
        })?;
        Ok(conversation.fold())
    }
}

impl SpanReader {
    /// A call as it is stored; none where it can't be read.
    fn call_at(
        &self,
        view: &View<'_>,
        session: &str,
        at: &Anchor,
    ) -> Result<Option<ToolCall>, EngineError> {
        let (Some(reader), Some(message), Some(call)) =
            (self.reader.get(), at.message.as_deref(), at.call.as_deref())
        else {
            return Ok(None);
        };
        let Some(message) = message_of(view, session, message)? else { return Ok(None) };
        let parts = crate::work::Parts::of(&message.json);
        let activities = reader(&message.json, self.env.project()).into_iter();
        let made = activities.filter(|(part, _)| parts.is_of(part, call));
        Ok(made.map(|(_, activity)| activity).find_map(|it| match it {
            Activity::Called(call) => Some(*call),
            Activity::Said(_) | Activity::Thought(_) => None,
        }))
    }
}

impl StepQueries {
    /// The frames of a session that are open and began in the steps from a call on up to another one; none where the
    /// steps are not sent any more.
    pub(crate) fn begun_since(
        &self,
        session: &str,
        first: &Anchor,
        last: &Anchor,
    ) -> Result<Option<Vec<FrameNum>>, EngineError> {
        let conversation = self.sessions.conversation(session);
        let mut conversation = lock(&conversation);
        self.sessions.load(&mut conversation, session)?;
        Ok(conversation.begun_since(first, last))
    }
}
