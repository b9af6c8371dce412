//! Texts that the model reads when a frame is opened, returns, or is forgotten: plain text, marked as callstack's. A
//! text that was sent is kept and replayed byte for byte.

mod asked;
mod files;
mod masked;
mod next;
mod unpushed;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write;

pub use asked::Asked;
pub use masked::{OUTLINES, announced, pressed, replaced, with_log};
pub use unpushed::{Unpushed, unpushed};

use crate::context::ScopedPin;
use crate::dialect::Dialect;
use crate::evidence::Gaps;
use crate::frame::{Frame, FrameNum, Status};
use crate::named_steps::ClosedCalls;
use crate::own_lines::{self, has_own_line, numbered, quoted};
use crate::results::ResultsSource;
use crate::secrets::{cut_to_token_budget, mask};
use crate::text::{CUT, cap};
use crate::xml::{one_line, visible};

/// The version of the texts made here and of the context's XML. It is raised when either changes, and is stored with
/// each text.
pub const RENDERER_VERSION: u32 = 11;

const POP: &str = "stack_frame_pop";

/// The beginning of every text made here.
pub use crate::own_lines::MARK;

/// The beginning of the text for a frame that retries the work of another one.
pub const TRIED: &str = "This was tried before";

/// The heading of the evidence of the earlier frame.
pub const ENDED_AS: &str = "How it stood at its end";

/// The first words of extracted results where there were no words.
pub const UNSAID: &str = "Nothing was said in it.";

/// A frame that was just opened.
#[derive(Clone, Copy, Debug)]
pub struct Pushed<'a> {
    /// The frame.
    pub frame: &'a Frame,
    /// Whether it was planned before.
    pub activated: bool,
    /// Whether the call that opened it, or one beside that, contains its criteria and facts.
    pub goal_is_known: bool,
    /// Its surroundings that are not in the conversation: [`crate::context::render`] with
    /// [`crate::context::Parts::for_push`], pins included.
    pub context: &'a str,
    /// The dialect of the reader.
    pub dialect: Dialect,
}

/// Returns the output of a push or an activation: everything that is new to its reader, and then which frame is open.
pub fn pushed(pushed: &Pushed<'_>) -> String {
    let frame = pushed.frame;
    let mut text = Text::new(pushed.dialect);
    if !pushed.goal_is_known {
        text.criteria(text.aim(), frame);
        text.facts(frame);
    }
    text.opening(frame, pushed.context);
    let news = std::mem::take(&mut text.out);
    if !news.is_empty() {
        let verb = if pushed.activated { "activated" } else { "opened" };
        text.line(format_args!("{MARK} {verb} frame {} (depth {})", frame.num, frame.depth));
        text.out.push_str(&news);
    }
    text.line(open_now(Some(frame)));
    text.out
}

/// Returns the line with which every change of the open frame ends: which one is open now.
pub fn open_now(frame: Option<&Frame>) -> String {
    match frame {
        // Its title is taken from words that may have been answered long ago.
        Some(frame) if frame.identity_derived => {
            format!("{MARK} {} is open now, for the user's latest message", frame.num)
        }
        Some(frame) => {
            let title = shown_title(&frame.identity.title);
            format!("{MARK} {} is open now: {}", frame.num, one_line(&title))
        }
        None => nothing_open(true),
    }
}

/// The line with which a change ends that leaves no frame open; `is_followed` is that of [`Returned`].
pub fn nothing_open(is_followed: bool) -> String {
    let then =
        if is_followed { "the user's next request opens one" } else { "push one before more work" };
    format!("{MARK} no frame is open now: {then}.")
}

/// A frame for which a session of its own is prompted.
#[derive(Clone, Copy, Debug)]
pub struct Entrusted<'a> {
    /// The frame.
    pub frame: &'a Frame,
    /// The frame that waits for it; none for a root.
    pub parent: Option<&'a Frame>,
    /// The user's request, as [`Asked::text`] returns it; empty where there is none.
    pub asked: &'a str,
    /// Its surroundings, as with [`Pushed`]; empty where the session's system prompt has them.
    pub context: &'a str,
    /// The dialect of the reader.
    pub dialect: Dialect,
}

/// Returns the prompt of a session that works on one frame for another session.
pub fn entrusted(entrusted: &Entrusted<'_>) -> String {
    let frame = entrusted.frame;
    let mut text = Text::new(entrusted.dialect);
    text.line(format_args!(
        "{MARK} this session is for frame {} (depth {})",
        label(frame),
        frame.depth
    ));
    if let Some(parent) = entrusted.parent {
        text.line(format_args!("Frame {} waits for what it returns.", label(parent)));
    }
    text.out.push_str(entrusted.asked);
    text.criteria(text.aim(), frame);
    text.facts(frame);
    text.opening(frame, entrusted.context);
    text.line(format_args!(
        "Work on this frame only. When its criteria are met, or cannot be, call {} with the results, \
         and then end your turn with one sentence: the results are all that the caller gets. No user \
         reads along. If you need something from outside, pop {} as blocked and say what.",
        entrusted.dialect.tool(POP),
        frame.num
    ));
    text.out
}

/// Returns a pin's words as they are, except that nothing in them can steer a terminal or begin a line like one of
/// ours; further lines are indented.
pub(crate) fn word_for_word(words: &str) -> String {
    quoted(&visible(&mask(words.trim()))).replace('\n', "\n  ")
}

/// Returns the line of a pin in what stands for finished work, word for word; only its further lines are indented.
pub fn pin_line(pin: &ScopedPin) -> String {
    let begin = numbered(own_lines::PIN, &[pin.pin.num, pin.owner.0]);
    format!("{begin}: {}", word_for_word(&pin.pin.text))
}

/// Returns the text for a caller whose call was cut off before it could be answered.
pub fn returned_late(returned: &str) -> String {
    let returned = returned.trim_end();
    let returned = returned.strip_prefix(MARK).unwrap_or(returned).trim_start();
    format!(
        "{MARK} the call that waited for this was cut off, so it is told now:\n{MARK} {returned}\n"
    )
}

/// Where work continues after a frame's end.
#[derive(Clone, Copy, Debug, Default)]
pub enum WentOn<'a> {
    /// In its parent.
    #[default]
    Parent,
    /// In another frame, which was opened since, or which is open because the parent has ended, too.
    In(&'a Frame),
    /// In none.
    Nowhere,
}

/// A frame that ended, and its surroundings at that time.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "one a question")]
pub struct Returned<'a> {
    /// The frame.
    pub frame: &'a Frame,
    /// Whether its criteria stand in the call that opened it, which the reader still has in the conversation.
    pub opened_above: bool,
    /// Finished frames below it, which leave the request together with it: children and their descendants, in order;
    /// perhaps not all.
    pub inside: &'a [Frame],
    /// The evidence, one fact a line.
    pub evidence: &'a [String],
    /// Files that the reader had read before the frame changed them.
    pub outdated: &'a [String],
    /// Whether the reader's conversation is known here: its steps are stored, and its user's requests open frames.
    pub is_followed: bool,
    /// The parts of it that can't be read again.
    pub gaps: Gaps,
    /// Calls made together with the end that failed, or whose outcome is not known.
    pub unseen: &'a [String],
    /// The calls that it closed after the fact; none where it had been opened.
    pub closed: Option<&'a ClosedCalls>,
    /// The frame in which work continues; none after a root.
    pub parent: Option<&'a Frame>,
    /// Where work in fact continued.
    pub went_on: WentOn<'a>,
    /// Whether the parent's criteria stand earlier in the reader's conversation.
    pub parent_above: bool,
    /// Whether the parent is worked on in another session than the reader's, which has nothing left to do then.
    pub elsewhere: bool,
    /// Planned frames that come next: the parent's planned children, in order; after a root, its unfinished
    /// descendants.
    pub planned: &'a [Frame],
    /// Their number, if it is larger than that of `planned`.
    pub planned_count: usize,
    /// Pins that were made since the system prompt was built.
    pub pins: &'a [ScopedPin],
    /// The dialect of the reader.
    pub dialect: Dialect,
}

/// Returns the text that replaces a finished frame's steps. It says what was done, what remains and why to a reader
/// who sees nothing else.
pub fn returned(returned: &Returned<'_>) -> String {
    let frame = returned.frame;
    let mut text = Text::new(returned.dialect);
    text.line(format_args!("{MARK} frame {} returned: {}", label(frame), frame.status));
    if let Some(meaning) = meaning(frame.status) {
        text.line(returned.dialect.words(meaning));
    }
    if let Some(ClosedCalls { count, first, last }) = returned.closed {
        text.line(match count {
            1 => format!("It closed the call in whose place this stands, `{first}`."),
            _ => format!(
                "It closed {count} calls, from the one in whose place this stands, `{first}`, to `{last}`."
            ),
        });
    }
    if !returned.opened_above {
        text.criteria(own_lines::GOAL, frame);
    }
    if let Some(reason) = frame.invalidation_reason.as_deref() {
        text.block(own_lines::REASON, reason);
    }
    match given(frame.results.as_deref()).or_else(|| given(frame.results_compacted.as_deref())) {
        Some(results) => text.results(own_lines::RESULTS, frame, results),
        None => text.line(format_args!(
            "{}: none were given; the evidence and the log are all there is.",
            own_lines::RESULTS
        )),
    }
    let all = || std::iter::once(frame).chain(returned.inside);
    text.list(own_lines::UNSEEN, returned.unseen.iter().map(String::as_str));
    if !returned.inside.is_empty() {
        text.line(format_args!("{}:", own_lines::INSIDE));
    }
    for inner in returned.inside {
        // The text of a sibling that was swallowed leaves with this one.
        let beside = inner.depth <= frame.depth;
        if let Some(results) = given(inner.results.as_deref()).filter(|_| beside) {
            text.results(&format!("- {} {}", label(inner), inner.status), inner, results);
            continue;
        }
        let below = inner.depth.saturating_sub(frame.depth + 1) as usize;
        text.line(format_args!("{}- {}", "  ".repeat(below), summary_line(inner)));
    }
    text.list(own_lines::DECISIONS, all().flat_map(Frame::taken));
    text.list(own_lines::EVIDENCE, returned.evidence.iter().map(String::as_str));
    let paths = all().flat_map(|frame| &frame.artifacts).map(|artifact| artifact.path.as_str());
    text.artifacts(paths, returned.evidence);
    if !returned.outdated.is_empty() {
        text.line(format_args!(
            "{} changed it, so out of date further up: {}",
            numbered(own_lines::OUTDATED, &[frame.num.0]),
            named(returned.outdated)
        ));
    }
    if returned.is_followed {
        text.log(frame, returned.gaps);
    }
    text.pins(returned.pins);
    text.line("");
    text.now(returned);
    text.out
}

fn meaning(status: Status) -> Option<&'static str> {
    match status {
        Status::Completed => None,
        Status::Failed => Some(
            "It ended without meeting its criteria. Do not repeat the attempt unchanged: use what was \
             learnt, choose another way, or tell the user that it cannot be done.",
        ),
        Status::Blocked => Some(
            "It waits for something from outside and is not done. Go on with what does not depend on \
             it; get what it waits for (ask the user if need be), then take it up with \
             stack_frame_activate.",
        ),
        Status::Invalidated => Some(
            "It is no longer relevant. Do not go on with it, nor rely on what it was to achieve.",
        ),
        Status::Planned | Status::InProgress => Some("It is still open."),
    }
}

/// Tokens of an inner frame's dense results.
const INNER_RESULTS: usize = 60;

pub(crate) fn summary_line(frame: &Frame) -> String {
    let results = given(frame.results_compacted.as_deref()).or(given(frame.results.as_deref()));
    let results = mask(results.unwrap_or("no results were given"));
    let results = one_line(&results);
    let dense = cut_to_token_budget(&results, INNER_RESULTS, CUT);
    format!("{} {}: {dense}", label(frame), frame.status)
}

/// The number of files up to which each is named.
fn named(files: &[String]) -> String {
    const MOST: usize = 8;
    let shown: Vec<_> = files.iter().take(MOST).map(|file| one_line(&mask(file))).collect();
    match files.len().saturating_sub(MOST) {
        0 => shown.join(", "),
        more => format!("{} and {more} more files", shown.join(", ")),
    }
}

pub(crate) fn given(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

/// The longest title that is shown, in bytes.
const TITLE_BYTES: usize = 200;

fn shown_title(title: &str) -> Cow<'_, str> {
    match mask(title) {
        title if title.len() <= TITLE_BYTES => title,
        title => cap(&title, TITLE_BYTES).to_owned().into(),
    }
}

pub(crate) fn label(frame: &Frame) -> String {
    format!("{} \"{}\"", frame.num, one_line(&shown_title(&frame.identity.title)))
}

/// Lines of ours with foreign text in between, which cannot pass for ours.
struct Text {
    out: String,
    dialect: Dialect,
}

impl Text {
    fn new(dialect: Dialect) -> Self {
        Self { out: String::new(), dialect }
    }

    fn line(&mut self, line: impl std::fmt::Display) {
        // Writing to a string cannot fail.
        let _infallible = writeln!(self.out, "{line}");
    }

    /// Returns the name of a frame's criteria.
    fn aim(&self) -> &'static str {
        match self.dialect {
            Dialect::Stack => own_lines::CRITERIA,
            Dialect::Flame => own_lines::GOAL,
        }
    }

    /// Adds foreign text after its heading. The text is unchanged, except that nothing in it can steer a terminal or
    /// begin a line like one of ours.
    fn block(&mut self, heading: &str, foreign: &str) {
        let foreign = mask(foreign.trim());
        let shown = visible(&foreign);
        let shown = quoted(&shown);
        if shown.contains('\n') {
            self.line(format_args!("{heading}:"));
        } else {
            let _infallible = write!(self.out, "{heading}: ");
        }
        for line in shown.lines() {
            self.line(line);
        }
    }

    /// Adds results, with their author where the reader has to know.
    fn results(&mut self, heading: &str, frame: &Frame, results: &str) {
        match frame.results_source.and_then(ResultsSource::caveat) {
            Some(caveat) => self.block(&format!("{heading} ({caveat})"), results),
            None => self.block(heading, results),
        }
    }

    fn facts(&mut self, frame: &Frame) {
        let facts: Vec<_> = frame.facts().collect();
        if !facts.is_empty() {
            self.block(own_lines::CONTEXT, &facts.join("\n"));
        }
    }

    fn opening(&mut self, frame: &Frame, context: &str) {
        if let Some(results) = given(frame.results.as_deref()) {
            self.line("It was worked on before: go on from there, do not start over.");
            self.results(own_lines::RESULTS_SO_FAR, frame, results);
            self.log(frame, Gaps::default());
        }
        if !context.trim().is_empty() {
            self.line("");
            self.line(context.trim_end());
            self.line("");
        }
    }

    fn criteria(&mut self, heading: &str, frame: &Frame) {
        if let Some(criteria) = given(Some(&frame.identity.success_criteria)) {
            self.block(heading, criteria);
        }
    }

    fn list<'a>(&mut self, heading: &str, items: impl Iterator<Item = &'a str>) {
        let items = items.map(|item| one_line(&mask(item)));
        let mut items = items.filter(|item| !item.is_empty()).peekable();
        if items.peek().is_none() {
            return;
        }
        self.line(format_args!("{heading}:"));
        for item in items {
            self.item(&item);
        }
    }

    /// Adds a foreign line to a list.
    fn item(&mut self, item: &str) {
        let line = format!("- {item}");
        if has_own_line(&line) {
            self.line(format_args!("- \\{item}"));
        } else {
            self.line(line);
        }
    }

    /// Adds paths that no line of evidence names, each once.
    fn artifacts<'a>(&mut self, paths: impl Iterator<Item = &'a str>, evidence: &[String]) {
        let mut seen = BTreeSet::new();
        let is_new = |path: &&'a str| {
            seen.insert(*path) && !evidence.iter().any(|line| line.contains(*path))
        };
        self.list(own_lines::ARTIFACTS, paths.filter(is_new));
    }

    fn log(&mut self, frame: &Frame, gaps: Gaps) {
        let Some(sentence) = gaps.sentence() else {
            return self.log_of(own_lines::WHOLE_LOG, frame.num);
        };
        self.line(format_args!("{} can be read again: {sentence}.", own_lines::GAPS));
        self.log_of(own_lines::PARTIAL_LOG, frame.num);
    }

    fn log_of(&mut self, what: &str, num: FrameNum) {
        self.line(format_args!(
            "{what} can be read again: {tool} {{\"op\":\"{log}\",\"args\":\
             {{\"{argument}\":\"{num}\"}}}}",
            tool = self.dialect.one_tool(),
            log = self.dialect.tool("stack_log"),
            argument = self.dialect.argument("frame"),
        ));
    }

    fn pins(&mut self, pins: &[ScopedPin]) {
        if pins.is_empty() {
            return;
        }
        self.line(format_args!("{}:", own_lines::PINS));
        for pin in pins {
            self.line(pin_line(pin));
        }
    }
}

#[cfg(test)]
mod forged_tests;
#[cfg(test)]
#[path = "returned_tests.rs"]
mod tests;
