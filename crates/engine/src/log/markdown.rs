//! A log as a document: the frame's purpose and results, then its messages with their calls.
//!
//! No part of a message can look like a message of its own: a heading in it that has the form of ours is escaped, and
//! input and output of tools are in fences that are longer than any in them.

use std::fmt::Write as _;

use callstack_core::evidence::Evidence;
use callstack_core::frame::{Frame, Status};
use callstack_core::secrets::{mask, mask_json, mask_value};
use callstack_core::stored::{Author, Call, Message, Part, PartBody, records, without_records};
use callstack_core::text::{format_duration, iso_time};
use serde_json::Value;

use super::LogEntry;

/// Returns the text before the messages.
pub(super) fn head(frame: &Frame, parent: Option<&Frame>, evidence: &Evidence) -> String {
    let mut text = format!("# {}\n\n", line(&frame.label()));
    // Writing to a string can't fail.
    let _ = writeln!(text, "- status: {}", status(frame));
    let _ = writeln!(text, "- id: {}", line(&frame.id));
    if let Some(parent) = parent {
        let _ = writeln!(text, "- part of: {}", line(&parent.label()));
    }
    if let Some(session) = &frame.session {
        let _ = writeln!(text, "- session: {}", line(session));
    }
    let (what, at) = match frame.status {
        Status::Planned => ("planned", frame.created_at),
        _ => ("begun", frame.begun_at.unwrap_or(frame.created_at)),
    };
    let _ = writeln!(text, "- {what}: {}", iso_time(at));
    if let Some(ended) = frame.ended_at {
        let took = format_duration(frame.worked(ended));
        let _ = writeln!(text, "- ended: {} after {took}", iso_time(ended));
    }
    let mut section = |name: &str, words: &str| {
        if !words.trim().is_empty() {
            let _ = writeln!(text, "\n**{name}**\n\n{}", prose(words.trim()));
        }
    };
    section("Success criteria", &frame.identity.success_criteria);
    let results = match frame.results_source {
        Some(source) => format!("Results, {}", source.for_people()),
        None => "Results".to_owned(),
    };
    section(&results, frame.results.as_deref().unwrap_or_default());
    section("Invalidated because", frame.invalidation_reason.as_deref().unwrap_or_default());
    let listed = |entries: Vec<&str>| {
        entries.iter().map(|entry| format!("- {entry}")).collect::<Vec<_>>().join("\n")
    };
    section("Decisions", &listed(frame.decisions.iter().map(String::as_str).collect()));
    section("Files", &listed(frame.artifacts.iter().map(|it| it.path.as_str()).collect()));
    let files: Vec<_> = frame.artifacts.iter().map(|it| it.path.clone()).collect();
    let seen = evidence.lines_beside(&files);
    section("Evidence", &listed(seen.iter().map(String::as_str).collect()));
    mask(&text).into_owned()
}

fn status(frame: &Frame) -> String {
    let mut status = frame.status.to_string();
    if frame.detached {
        status.push_str(", undone");
    }
    if !frame.status.is_finished() {
        status.push_str(" (this file is written again when the frame ends)");
    }
    status
}

impl LogEntry {
    /// Returns the message as a section of the document, with a blank line before it; with its secrets, or without
    /// them.
    pub fn to_markdown(&self, reveal: bool) -> String {
        if self.message.purged {
            return format!("\n## {} · purged on {}\n", self.position, iso_time(self.message.at));
        }
        let Some(message) = self.body(reveal).map(Message::of) else {
            let plain = self.to_json(reveal);
            return format!("\n## {} · message\n\n{}\n", self.position, fenced("", &plain));
        };
        let mut text = format!("\n## {}\n", self.heading(&message));
        if let Some(why) = self.unreadable() {
            let _ = writeln!(text, "\n*({why})*");
        }
        let Some(parts) = &message.parts else {
            let whole = self.body(reveal).unwrap_or_default();
            let _ = writeln!(text, "\n{}", fenced("json", &format!("{whole:#}")));
            return text;
        };
        for part in parts {
            if let Some(part) = shown(part) {
                let _ = writeln!(text, "\n{part}");
            }
        }
        if let Some(error) = message.error.as_ref().filter(|error| error.is_object()) {
            let _ = writeln!(text, "\n**error**\n\n{}", fenced("json", &error.to_string()));
        }
        text
    }

    /// Returns the host's JSON of the message and its parts, with its secrets, or without them; none where it is no
    /// JSON.
    pub fn body(&self, reveal: bool) -> Option<Value> {
        let mut message = serde_json::from_str::<Value>(&self.message.json).ok()?;
        // They repeat the parts, and are not searched for secrets.
        without_records(&mut message);
        if !reveal {
            mask_value(&mut message);
        }
        Some(message)
    }

    /// Returns a notice that a message is not the original, and where that is kept.
    pub fn unreadable(&self) -> Option<String> {
        if self.message.is_whole() {
            return None;
        }
        Some(match &self.message.as_it_came {
            Some(bytes) if bytes.is_empty() => "this message is lost".to_owned(),
            Some(bytes) => format!(
                "this message can't be read as it came; it is kept byte for byte, {} bytes, and this is \
                 what can be read of it",
                bytes.len()
            ),
            None => "this can't be read as a message of the host; it is kept as it came".to_owned(),
        })
    }

    /// The host's JSON, mended where it has to be; without the secrets in it, or with them.
    pub fn to_json(&self, reveal: bool) -> String {
        let stored = &self.message.json;
        if reveal {
            return stored.clone();
        }
        mask_json(stored).into_owned()
    }

    /// Returns the source of the message: the host's JSON, or the records of the program that recorded it, a line
    /// each; without the secrets in it, or byte for byte.
    pub fn to_raw(&self, reveal: bool) -> String {
        let as_it_came = self.message.as_it_came.as_deref().filter(|_| reveal);
        let stored = as_it_came.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok());
        let stored = stored.unwrap_or_else(|| self.to_json(reveal));
        let Some(records) = records(&stored) else { return stored };
        records.join("\n")
    }

    fn heading(&self, message: &Message) -> String {
        let role = message.author.as_ref().map_or("message", Author::as_str);
        let mut words = vec![self.position.to_string(), role.to_owned()];
        if self.message.version > 1 {
            words.push(format!("version {}", self.message.version));
        }
        words.push(iso_time(message.created.unwrap_or(self.message.at)));
        words.extend(message.named_model().map(str::to_owned));
        if let Some((read, written)) = message.tokens.read_and_written() {
            words.push(format!("{read} tokens read, {written} written"));
        }
        line(&words.join(" · "))
    }
}

/// A part of a message; none for bookkeeping of the host.
fn shown(part: &Part) -> Option<String> {
    match &part.body {
        PartBody::Text { text, .. } => Some(prose(text)).filter(|text| !text.trim().is_empty()),
        PartBody::Reasoning { text, .. } => {
            let text = text.trim();
            (!text.is_empty()).then(|| format!("*(reasoning)*\n\n{}", quoted(text)))
        }
        PartBody::Call(made) => Some(call(made)),
        PartBody::File { name, mime } => {
            let name = name.as_deref().unwrap_or("without a name");
            Some(format!("*(file {}, {})*", line(name), line(mime.as_deref().unwrap_or_default())))
        }
        PartBody::Mark => None,
        PartBody::Unreadable(text) => Some(fenced("", text)),
        PartBody::Asked(_, fields) | PartBody::Other(fields) => {
            Some(fenced("json", &fields.to_string()))
        }
    }
}

fn call(call: &Call) -> String {
    let made = &call.made;
    let mut about = vec![call.status.clone().unwrap_or_else(|| "called".to_owned())];
    if let (Some(began), Some(ended)) = (made.began, made.ended) {
        about.push(format_duration(ended.saturating_sub(began)));
    }
    let mut text = format!(
        "**{}** ({})\n\n{}",
        line(call.tool()),
        line(&about.join(", ")),
        fenced("json", &made.input.to_string())
    );
    match call.result() {
        Some(result) => {
            let _ = write!(text, "\n\n{}", fenced("", result));
        }
        None => text.push_str("\n\n*(no result)*"),
    }
    text
}

/// Puts a fence around a text that none of its lines can end.
fn fenced(language: &str, text: &str) -> String {
    let longest = text
        .lines()
        .map(|line| line.trim_start().bytes().take_while(|byte| *byte == b'`').count())
        .max();
    let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// Returns words unchanged, except that a heading in the form of ours is escaped.
fn prose(text: &str) -> String {
    let ours = |line: &str| {
        let rest = line
            .strip_prefix("## ")
            .map(|rest| rest.trim_start_matches(|char: char| char.is_ascii_digit()));
        rest.is_some_and(|rest| rest.starts_with(" · "))
    };
    let lines =
        text.lines().map(|line| if ours(line) { format!("\\{line}") } else { line.to_owned() });
    lines.collect::<Vec<_>>().join("\n")
}

fn quoted(text: &str) -> String {
    text.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
}

fn line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}
