//! Changes of the frames by a person from outside a session, for the agent that works in it.

use crate::event::Event;
use crate::frame::{self, Frame, FrameNum, Status};
use crate::returned::{MARK, given, label, open_now, word_for_word};
use crate::secrets::{cut_to_token_budget, mask};
use crate::text::CUT;
use crate::transcript::{Span, SpanOrigin};
use crate::xml::one_line;

/// Tokens of criteria, results and the like in one line.
const WORDS: usize = 150;
/// Paths that one line names.
const PATHS: usize = 12;

/// One change, as its line says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutsideChange {
    /// The frame that it changed.
    pub frame: FrameNum,
    /// The line.
    pub text: String,
    /// Whether it matters to the work around the frame although the frame is over.
    pub outlasts: bool,
}

/// Returns the changes among the events of a command about `named`, the first frame that it names. `frame` reads a
/// frame as it is afterwards. Automatic frames and changes that only the tables need are left out.
pub fn outside_changes<E>(
    events: &[Event],
    named: &[FrameNum],
    frame: impl Fn(FrameNum) -> Result<Frame, E>,
) -> Result<Vec<OutsideChange>, E> {
    let mut changes = Vec::new();
    for event in events {
        let Some(num) = subject(event, named) else { continue };
        let frame = frame(num)?;
        if let Some(text) = line(event, &frame, events, named) {
            let outlasts = matches!(event, Event::FrameEnded { .. } | Event::FilesRestored { .. });
            changes.push(OutsideChange { frame: num, text, outlasts });
        }
    }
    Ok(changes)
}

fn subject(event: &Event, named: &[FrameNum]) -> Option<FrameNum> {
    match event {
        Event::FrameCreated { frame } => Some(frame.num),
        Event::FrameStarted { frame, .. }
        | Event::FrameEnded { frame, .. }
        | Event::FrameReopened { frame, .. }
        | Event::PlanOrdered { frame, .. }
        | Event::IdentitySet { frame, .. }
        | Event::ArtifactRecorded { frame, .. }
        | Event::DecisionRecorded { frame, .. }
        | Event::PinSet { frame, .. }
        | Event::FilesRestored { frame, .. } => Some(*frame),
        Event::PinRemoved { .. } => named.first().copied(),
        _ => None,
    }
}

fn line(event: &Event, frame: &Frame, all: &[Event], named: &[FrameNum]) -> Option<String> {
    let name = label(frame);
    let is_first = named.first() == Some(&frame.num);
    Some(match event {
        Event::FrameCreated { frame: made } => match made.status {
            Status::Planned => format!("planned {name}{}{}", below(frame), criteria(frame)),
            Status::InProgress if !began_by_itself(made, all) => {
                format!("opened {name}{}{}", below(frame), criteria(frame))
            }
            _ => return None,
        },
        Event::FrameStarted { .. } => format!("started {name}{}", criteria(frame)),
        Event::FrameEnded { outcome, reason, .. } if outcome.status == Status::Invalidated => {
            let reason = reason.as_deref().map(|reason| format!(". The reason: {}", short(reason)));
            let reason = reason.filter(|_| is_first).unwrap_or_default();
            if is_first {
                format!("invalidated {name}: do not go on with it{reason}")
            } else {
                format!("with it went {name}")
            }
        }
        Event::FrameEnded { outcome, .. } if named.contains(&frame.num) => {
            let results = given(outcome.results.as_deref());
            let results = results.map(|results| format!(": {}", short(results)));
            format!("ended {name} as {}{}", outcome.status, results.unwrap_or_default())
        }
        Event::FrameReopened { status, .. } => {
            format!("brought {name} back, which is {status} again")
        }
        Event::PlanOrdered { before, .. } => format!("put {name} before {before}"),
        Event::IdentitySet { derived: false, .. } => {
            format!("said what {} is for: {name}{}", frame.num, criteria(frame))
        }
        Event::ArtifactRecorded { artifact, .. } => {
            format!("noted {} as made in {name}", one_line(&mask(&artifact.path)))
        }
        Event::DecisionRecorded { text, .. } => match facts(frame, text) {
            Some(facts) => format!("gave {name} this to know: {}", short(facts)),
            None => format!("decided in {name}: {}", short(text)),
        },
        Event::PinSet { pin, .. } => format!(
            "pinned p{} in {name}, which holds there and below: {}",
            pin.num,
            word_for_word(&pin.text)
        ),
        Event::PinRemoved { pin } => format!("took back the pin p{pin} of {name}"),
        Event::FilesRestored { restore, .. } if !restore.paths.is_empty() => format!(
            "changed files by a rollback of {name}, so read them again before you rely on them: {}",
            paths(&restore.paths)
        ),
        _ => return None,
    })
}

/// Returns the note about changes for a session's agent, with the frame that is open now. `again` where an earlier
/// note has left the context since.
pub fn changes_note(lines: &[&str], open: Option<&Frame>, again: bool) -> String {
    let beginning = if again { "Told before, and still so: the user" } else { "The user" };
    let mut text = format!("{MARK} {beginning} changed frames from outside this session:\n");
    text.extend(lines.iter().map(|line| item(line)));
    text.push_str(&open_now(open));
    text
}

/// Whether such a note contains a change.
pub fn note_contains(note: &str, line: &str) -> bool {
    note.contains(&item(line))
}

fn item(line: &str) -> String {
    format!("- {line}\n")
}

/// Whether a frame is automatic: a root that is named by its session's first words, or a turn.
fn began_by_itself(made: &Frame, all: &[Event]) -> bool {
    let by_itself = |span: &Span| {
        span.frame == made.num && (span.origin.is_automatic() || span.origin == SpanOrigin::Since)
    };
    let opened =
        all.iter().any(|event| matches!(event, Event::SpanOpened { span } if by_itself(span)));
    made.identity_derived || opened
}

/// Returns the facts in a text among a frame's decisions, unless it is a decision.
fn facts<'f>(frame: &'f Frame, text: &str) -> Option<&'f str> {
    frame.facts().find(|facts| frame::given(facts).as_deref() == Some(text))
}

fn below(frame: &Frame) -> String {
    frame.parent.map(|parent| format!(" in {parent}")).unwrap_or_default()
}

fn criteria(frame: &Frame) -> String {
    let criteria = given(Some(&frame.identity.success_criteria));
    criteria.map(|it| format!("; done means: {}", short(it))).unwrap_or_default()
}

fn short(text: &str) -> String {
    one_line(&cut_to_token_budget(&mask(text.trim()), WORDS, CUT))
}

fn paths(paths: &[String]) -> String {
    let named: Vec<_> = paths.iter().take(PATHS).map(|path| one_line(&mask(path))).collect();
    match paths.len().saturating_sub(PATHS) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}
