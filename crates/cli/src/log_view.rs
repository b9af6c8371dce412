//! A frame's log for reading: messages as they were written, calls with their arguments and results.

use callstack_core::json::UNREADABLE;
use callstack_core::text::format_duration;
use callstack_engine::tree::{LEFT_OPEN, sign};
use callstack_engine::{LoggedMessage, RECORDED, WholeLog};
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
        let Some(Value::Object(mut message)) = entry.message.clone() else {
            page.put(BOLD, &format!("{}  message", entry.position)).end();
            let text = entry.message.as_ref().and_then(Value::as_str).unwrap_or_default();
            page.block(SAID, text);
            return;
        };
        // The records repeat the parts.
        message.remove(RECORDED);
        let message = Value::Object(message);
        self.heading(entry, &message, page);
        if let Some(why) = &entry.notice {
            self.prose(WARN, why, page);
        }
        match message["parts"].as_array() {
            Some(parts) => {
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
            None => given(message.as_object(), SAID, page),
        }
        if let Some(error) = message["info"]["error"].as_object() {
            page.put(BAD, &format!("{SAID}✗ error")).end();
            given(Some(error), GIVEN, page);
        }
    }

    fn heading(&mut self, entry: &LoggedMessage, message: &Value, page: &mut Page) {
        let info = &message["info"];
        let role = info["role"].as_str().unwrap_or("message");
        page.put(BOLD, &entry.position.to_string()).put(PLAIN, "  ");
        page.put(if role == "user" { HINT } else { BOLD }, role);
        let mut words = Vec::new();
        if entry.version > 1 {
            words.push(format!("version {}", entry.version));
        }
        words.push(self.time(info["time"]["created"].as_i64().unwrap_or(entry.at)));
        let model = info["modelID"].as_str().or_else(|| info["model"]["modelID"].as_str());
        words.extend(model.map(str::to_owned));
        let tokens = &info["tokens"];
        if let (Some(read), Some(written)) = (tokens["input"].as_u64(), tokens["output"].as_u64())
            && read.saturating_add(written) > 0
        {
            let read = read.saturating_add(tokens["cache"]["read"].as_u64().unwrap_or(0));
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

    fn part(&self, part: &Value, page: &mut Page) {
        let words = |name: &str| part[name].as_str().unwrap_or_default();
        match words("type") {
            "text" => self.prose(PLAIN, words("text"), page),
            "reasoning" if !words("text").trim().is_empty() => {
                page.put(DIM, &format!("{SAID}thought:")).end();
                self.prose(DIM, words("text"), page);
            }
            "tool" => call(part, page),
            "file" => {
                let name = part["filename"].as_str().unwrap_or("without a name");
                page.put(DIM, &format!("{SAID}file {name}, {}", words("mime"))).end();
            }
            "reasoning" | "step-start" | "step-finish" | "snapshot" => {}
            UNREADABLE => {
                page.block(SAID, words("text"));
            }
            kind => {
                page.put(DIM, &format!("{SAID}{kind}")).end();
                let fields = part.as_object().map(|part| {
                    let own = |(name, _): &(&String, &Value)| {
                        !matches!(name.as_str(), "id" | "type" | "messageID" | "sessionID")
                    };
                    part.iter().filter(own).map(|(name, it)| (name.clone(), it.clone())).collect()
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

fn call(part: &Value, page: &mut Page) {
    let state = &part["state"];
    let tool = part["tool"].as_str().unwrap_or("tool");
    page.put(PLAIN, SAID).put(HINT, tool);
    let input = state["input"].as_object();
    let sole = input.filter(|input| input.len() == 1).and_then(|input| input.values().next());
    let sole = sole.and_then(Value::as_str);
    let beside = sole.filter(|text| !text.contains('\n') && columns(text) <= BESIDE);
    if let Some(text) = beside {
        page.put(PLAIN, &format!("  {text}"));
    }
    let (mark, mark_style) = match state["status"].as_str().unwrap_or("called") {
        "completed" => ("✓", GOOD),
        "error" => ("✗", BAD),
        other => (other, WARN),
    };
    page.put(PLAIN, "  ").put(mark_style, mark);
    let times = (state["time"]["start"].as_i64(), state["time"]["end"].as_i64());
    if let (Some(start), Some(end)) = times {
        page.put(DIM, &format!(" {}", format_duration(end.saturating_sub(start))));
    }
    page.end();
    if beside.is_none() {
        match input {
            Some(_) => given(input, GIVEN, page),
            None if state["input"].is_null() => {}
            None => drop(page.block(GIVEN, &plain(&state["input"]))),
        }
    }
    match state["output"].as_str().or_else(|| state["error"].as_str()) {
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
