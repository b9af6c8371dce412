//! Messages: what was said and done.

use callstack_core::frame::FrameNum;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::theme::{BOLD, DIM, PLAIN, Theme};
use super::writer::{Writer, short};
use crate::data::messages::{Message, Paged, Part};

/// The prefix of a message's lines.
const SAID: &str = "  ";
/// The prefix of a call's result.
const RETURNED: &str = "  │ ";
/// The most characters of a call's arguments on its line.
const BESIDE: usize = 200;

/// Writes messages; those of the frame `of` are not marked with their frame.
pub(crate) fn write(writer: &mut Writer, paged: &Paged, of: Option<FrameNum>, theme: Theme) {
    if paged.messages.is_empty() {
        writer.text(DIM, "", "No messages are kept.");
    }
    if paged.first() > 0 {
        let line = format!("… {} messages before; scrolling up shows them", paged.first());
        writer.text(DIM, "", &line);
        writer.gap();
    }
    for message in &paged.messages {
        write_message(writer, message, of, theme);
    }
    if paged.more.is_some() {
        let last = paged.messages.last().map_or(0, |message| message.place + 1);
        let line = format!("… {} more messages", paged.total.saturating_sub(last));
        writer.text(DIM, "", &line);
    }
}

fn write_message(writer: &mut Writer, message: &Message, of: Option<FrameNum>, theme: Theme) {
    writer.gap();
    writer.mark();
    let role = match message.role.as_str() {
        "user" => theme.hint().patch(BOLD),
        _ => BOLD,
    };
    let mut about = Vec::new();
    let own = of.map(|frame| frame.to_string());
    about.extend(message.frame.clone().filter(|frame| Some(frame) != own.as_ref()));
    about.extend(message.at.and_then(clock));
    if message.tokens > 0 {
        about.push(format!("{} tokens", short(message.tokens)));
    }
    writer.line(&[(role, &message.role), (DIM, &format!("  {}", about.join(" · ")))]);
    for part in &message.parts {
        write_part(writer, part, theme);
    }
}

fn write_part(writer: &mut Writer, part: &Part, theme: Theme) {
    let text = part.text.as_deref().unwrap_or_default();
    match part.kind.as_str() {
        "tool" => write_call(writer, part, theme),
        "reasoning" => {
            if !text.trim().is_empty() {
                writer.text(DIM, SAID, &format!("thought: {}", text.trim()));
            }
        }
        "text" if part.origin == "callstack" => writer.text(theme.good(), SAID, text.trim()),
        "text" => writer.text(PLAIN, SAID, text.trim()),
        kind => writer.text(DIM, SAID, &format!("{kind}: {text}")),
    }
    if part.cut {
        let line = format!("… {} characters in all; `callstack log` shows them", part.chars);
        writer.text(DIM, SAID, &line);
    }
}

fn write_call(writer: &mut Writer, part: &Part, theme: Theme) {
    let tool = part.tool.as_deref().unwrap_or("tool");
    let (mark, style) = match part.state.as_deref().unwrap_or("called") {
        "completed" => ("✓", theme.good()),
        "error" => ("✗", theme.bad()),
        other => (other, theme.warn()),
    };
    let input: String = part.input.as_deref().unwrap_or_default().chars().take(BESIDE).collect();
    writer.line(&[
        (PLAIN, SAID),
        (style, mark),
        (PLAIN, " "),
        (theme.hint(), tool),
        (PLAIN, " "),
        (DIM, &input),
    ]);
    let output = part.output.as_deref().unwrap_or_default();
    match part.output_origin.as_deref() {
        Some("fold") => {
            let frame = part.frame.as_deref().unwrap_or("a frame");
            writer.text(theme.good(), SAID, &format!("in place of the steps of {frame}:"));
            writer.code(theme.good(), RETURNED, output);
        }
        Some("mask") => writer.code(DIM, RETURNED, output),
        _ => writer.code(PLAIN, RETURNED, output),
    }
}

/// Returns a time as a local clock shows it.
fn clock(at: i64) -> Option<String> {
    let at = Timestamp::from_millisecond(at).ok()?.to_zoned(TimeZone::system());
    Some(at.strftime("%H:%M:%S").to_string())
}
