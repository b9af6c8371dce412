//! A frame's log for reading: messages as they were written, calls with their arguments and results.

use callstack_core::stored::{Author, Call, Message, Part, PartBody, without_records};
use callstack_core::text::format_duration;
use callstack_engine::tree::{LEFT_OPEN, sign};
use callstack_engine::{LoggedMessage, WholeLog};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde_json::{Map, Value};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::page::{BAD, BOLD, DIM, GOOD, HINT, PLAIN, Page, WARN, columns, style};
use crate::wording::{counted, thousands};

/// The most columns of a line of prose.
const PROSE: usize = 100;
/// The fewest columns of a line of prose.
const LEAST: usize = 20;
/// The prefix of a message's lines.
const SAID: &str = "  ";
/// The prefix of a call's arguments.
const GIVEN: &str = "    ";
/// The prefix of a call's result.
const RETURNED: &str = "  │ ";
/// The most columns of a value that is shown on the line of its call.
const BESIDE: usize = 60;

/// The state of drawing a log.
#[derive(Debug)]
pub(crate) struct LogView {
    width: usize,
    zone: TimeZone,
    /// The day of the message before: each day is shown once.
    day: Option<Date>,
    session: Option<String>,
}

impl LogView {
    pub(crate) fn new(width: Option<usize>) -> Self {
        let width = width.unwrap_or(PROSE).min(PROSE);
        Self { width, zone: TimeZone::system(), day: None, session: None }
    }

    /// Draws the head above the messages.
    pub(crate) fn head(log: &WholeLog, page: &mut Page) {
        if log.left_open {
            page.put(DIM, LEFT_OPEN);
        } else {
            page.put(style(log.status), sign(log.status));
        }
        page.put(PLAIN, &format!(" {} ", log.frame)).put(BOLD, &log.title).end();
        let about = match log.total {
            0 => "no messages are kept".to_owned(),
            total => counted(total, "message"),
        };
        page.put(DIM, &format!("  {about}")).end();
    }

    /// Draws a message.
    pub(crate) fn draw(&mut self, entry: &LoggedMessage, page: &mut Page) {
        if self.session.as_ref().is_some_and(|session| *session != entry.session) {
            page.end().put(DIM, &format!("── session {} ──", entry.session)).end();
        }
        self.session = Some(entry.session.clone());
        page.end();
        if entry.purged {
            page.put(BOLD, &entry.position.to_string());
            let at = self.time(entry.at);
            page.put(WARN, "  purged").put(DIM, &format!("  {at}")).end();
            return;
        }
        let Some(fields @ Value::Object(_)) = &entry.message else {
            page.put(BOLD, &format!("{}  message", entry.position)).end();
            let text = entry.message.as_ref().and_then(Value::as_str).unwrap_or_default();
            page.block(SAID, text);
            return;
        };
        let message = Message::of(fields.clone());
        self.heading(entry, &message, page);
        if let Some(why) = &entry.notice {
            self.prose(WARN, why, page);
        }
        if let Some(parts) = &message.parts {
            self.parts(parts, page);
        } else {
            let mut fields = fields.clone();
            // They repeat the message.
            without_records(&mut fields);
            given(fields.as_object(), SAID, page);
        }
        if let Some(error) = message.error.as_ref().and_then(Value::as_object) {
            page.put(BAD, &format!("{SAID}✗ error")).end();
            given(Some(error), GIVEN, page);
        }
    }

    fn heading(&mut self, entry: &LoggedMessage, message: &Message, page: &mut Page) {
        let role = message.author.as_ref().map_or("message", Author::as_str);
        page.put(BOLD, &entry.position.to_string()).put(PLAIN, "  ");
        page.put(if role == "user" { HINT } else { BOLD }, role);
        let mut words = Vec::new();
        if entry.version > 1 {
            words.push(format!("version {}", entry.version));
        }
        words.push(self.time(message.created.unwrap_or(entry.at)));
        words.extend(message.named_model().map(str::to_owned));
        if let Some((read, written)) = message.tokens.read_and_written() {
            let (read, written) = (thousands(read), thousands(written));
            words.push(format!("{read} tokens read, {written} written"));
        }
        page.put(DIM, &format!("  {}", words.join(" · "))).end();
    }

    /// Returns a time as a local clock shows it, from milliseconds since 1970; with the day if it differs from the one
    /// before.
    fn time(&mut self, ms: i64) -> String {
        let Ok(at) = Timestamp::from_millisecond(ms) else { return String::new() };
        let at: Zoned = at.to_zoned(self.zone.clone());
        let is_new = self.day.replace(at.date()) != Some(at.date());
        at.strftime(if is_new { "%-d %b %Y, %H:%M:%S" } else { "%H:%M:%S" }).to_string()
    }

    /// Draws parts, with an empty line between those that show something.
    fn parts(&self, parts: &[Part], page: &mut Page) {
        let mut is_first = true;
        for part in parts {
            let mut drawn = Page::default();
            self.part(part, &mut drawn);
            if !drawn.as_str().is_empty() {
                if !is_first {
                    page.end();
                }
                page.append(&drawn);
                is_first = false;
            }
        }
    }

    fn part(&self, part: &Part, page: &mut Page) {
        match &part.body {
            PartBody::Text { text, .. } => self.prose(PLAIN, text, page),
            PartBody::Reasoning { text, .. } if !text.trim().is_empty() => {
                page.put(DIM, &format!("{SAID}thought:")).end();
                self.prose(DIM, text, page);
            }
            PartBody::Call(made) => call(made, page),
            PartBody::File { name, mime } => {
                let name = name.as_deref().unwrap_or("without a name");
                let mime = mime.as_deref().unwrap_or_default();
                page.put(DIM, &format!("{SAID}file {name}, {mime}")).end();
            }
            PartBody::Reasoning { .. } | PartBody::Mark => {}
            PartBody::Unreadable(text) => {
                page.block(SAID, text);
            }
            PartBody::Asked(_, fields) | PartBody::Other(fields) => {
                let kind = fields["type"].as_str().unwrap_or_default();
                page.put(DIM, &format!("{SAID}{kind}")).end();
                let fields = fields.as_object().map(|fields| {
                    let own = |(name, _): &(&String, &Value)| {
                        !matches!(name.as_str(), "id" | "type" | "messageID" | "sessionID")
                    };
                    fields.iter().filter(own).map(|(name, it)| (name.clone(), it.clone())).collect()
                });
                given(fields.as_ref(), GIVEN, page);
            }
        }
    }

    /// Draws lines of prose, broken between words where they are wider than the page.
    fn prose(&self, style: anstyle::Style, text: &str, page: &mut Page) {
        let room = self.width.saturating_sub(SAID.len()).max(LEAST);
        for line in text.trim().lines() {
            for part in wrapped(line, room) {
                if part.is_empty() {
                    page.end();
                } else {
                    page.put(PLAIN, SAID).put_text(style, part).end();
                }
            }
        }
    }
}

fn call(call: &Call, page: &mut Page) {
    let made = &call.made;
    page.put(PLAIN, SAID).put(HINT, call.tool());
    let input = made.input.as_object();
    let sole = input.filter(|input| input.len() == 1).and_then(|input| input.values().next());
    let sole = sole.and_then(Value::as_str);
    let beside = sole.filter(|text| !text.contains('\n') && columns(text) <= BESIDE);
    if let Some(text) = beside {
        page.put(PLAIN, &format!("  {text}"));
    }
    let (mark, mark_style) = match call.status.as_deref().unwrap_or("called") {
        "completed" => ("✓", GOOD),
        "error" => ("✗", BAD),
        other => (other, WARN),
    };
    page.put(PLAIN, "  ").put(mark_style, mark);
    if let (Some(began), Some(ended)) = (made.began, made.ended) {
        page.put(DIM, &format!(" {}", format_duration(ended.saturating_sub(began))));
    }
    page.end();
    if beside.is_none() {
        match input {
            Some(_) => given(input, GIVEN, page),
            None if made.input.is_null() => {}
            None => drop(page.block(GIVEN, &plain(&made.input))),
        }
    }
    match call.result() {
        Some("") => {}
        Some(result) => result.lines().for_each(|line| {
            let before = if line.is_empty() { RETURNED.trim_end() } else { RETURNED };
            page.put(DIM, before).put_text(PLAIN, line).end();
        }),
        None => {
            page.put(DIM, RETURNED).put(DIM, "no result").end();
        }
    }
}

/// Draws values by name, each on a line, or a longer text on the lines below its name.
fn given(fields: Option<&Map<String, Value>>, indent: &str, page: &mut Page) {
    for (name, value) in fields.into_iter().flatten() {
        page.put(DIM, &format!("{indent}{name}:"));
        let text = plain(value);
        if text.contains('\n') {
            page.end().block(&format!("{indent}  "), &text);
        } else {
            page.put(PLAIN, &format!(" {text}")).end();
        }
    }
}

/// Returns a value without quotes and braces, unless it is nested.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) if items.iter().all(|it| !it.is_object() && !it.is_array()) => {
            items.iter().map(plain).collect::<Vec<_>>().join(", ")
        }
        Value::Array(items) => {
            items.iter().map(|it| format!("- {}", plain(it))).collect::<Vec<_>>().join("\n")
        }
        Value::Object(fields) => {
            let parts = fields.iter().map(|(name, value)| format!("{name}: {}", plain(value)));
            parts.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// Returns the pieces of a line, each of at most `room` columns where its words allow it. A line that begins with
/// spaces is code or a list, and is not broken.
fn wrapped(line: &str, room: usize) -> Vec<&str> {
    let line = line.trim_end();
    if line.starts_with([' ', '\t', '|']) {
        return vec![line];
    }
    let mut pieces = Vec::new();
    let (mut start, mut used, mut space) = (0, 0, None);
    for (at, char) in line.char_indices() {
        if char == ' ' {
            space = Some(at);
        }
        used += char.width().unwrap_or(1);
        if used > room
            && let Some(end) = space.take()
        {
            pieces.push(line.get(start..end).unwrap_or_default());
            start = end + 1;
            used = line.get(start..at + char.len_utf8()).unwrap_or_default().width();
        }
    }
    pieces.push(line.get(start..).unwrap_or_default());
    pieces
}

#[cfg(test)]
#[path = "log_view_tests.rs"]
mod tests;
