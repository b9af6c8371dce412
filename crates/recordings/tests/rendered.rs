//! A recording as a text that a snapshot holds: all that is read, but its records.

use std::fmt::Write as _;

use callstack_core::framing::Division;
use callstack_core::transcript::{MessageKind, Role, ToolCall};
use callstack_recordings::{Left, Recorded, RecordedPart, Recording};

pub(crate) fn rendered(recordings: &[Recording]) -> String {
    let mut text = String::new();
    for recording in recordings {
        let Recording { format, session, parent, project, title, messages, left, skipped } =
            recording;
        let title = title.as_deref().unwrap_or("-");
        writeln!(text, "{format:?} {session} in {project}, {title}").unwrap();
        if let Some(parent) = parent {
            writeln!(text, "started by {parent:?}").unwrap();
        }
        for message in messages {
            text.push_str(&of_message(message));
        }
        for Left { before, message } in left {
            write!(text, "left before {}: {}", messages[*before].id, of_message(message)).unwrap();
        }
        writeln!(text, "skipped {:?}, {} unreadable\n", skipped.kinds, skipped.unreadable).unwrap();
    }
    text
}

fn of_message(message: &Recorded) -> String {
    let role = match (message.role, message.standing) {
        (Role::User, MessageKind::Normal) => "user",
        (Role::Assistant, MessageKind::Normal) => "agent",
        (_, MessageKind::CompactionRequest) => "compaction",
        (_, MessageKind::Summary) => "summary",
    };
    let mut text = format!("- {role} {}", message.id);
    if let Some(at) = message.at {
        write!(text, " at {at}").unwrap();
    }
    if let Some(model) = &message.model {
        write!(text, " by {model}").unwrap();
    }
    if let Some(usage) = message.usage {
        write!(text, " {}+{} ({})", usage.input, usage.output, usage.cached).unwrap();
    }
    if !message.kept.is_empty() {
        write!(text, " keeps {}", message.kept.join(" ")).unwrap();
    }
    if message.of_program {
        text.push_str(" by the program");
    }
    if message.broken_off {
        text.push_str(" broken off");
    }
    writeln!(text, ", {} records", message.records.len()).unwrap();
    for part in &message.parts {
        match part {
            RecordedPart::Text { text: words, synthetic: false } => {
                writeln!(text, "    says {words:?}").unwrap();
            }
            RecordedPart::Text { text: words, .. } => {
                writeln!(text, "    shows {words:?}").unwrap();
            }
            RecordedPart::Reasoning(words) => writeln!(text, "    thinks {words:?}").unwrap(),
            RecordedPart::File { name, mime } => {
                writeln!(text, "    attaches {name:?} {mime:?}").unwrap();
            }
            RecordedPart::Call(call) => text.push_str(&of_call(call)),
        }
    }
    text
}

fn of_call(call: &ToolCall) -> String {
    let ToolCall { id, tool, input, output, state, exit, ended, action, division, .. } = call;
    let mut text = format!("    calls {tool} {id} {input}\n      {action:?}, {state:?}");
    if let Some(exit) = exit {
        write!(text, ", exit {exit}").unwrap();
    }
    if let Some(at) = ended {
        write!(text, ", at {at}").unwrap();
    }
    writeln!(text, ": {output:?}").unwrap();
    match division {
        Some(Division::Todos(items)) => {
            let items: Vec<_> = items
                .iter()
                .map(|item| {
                    let id = item.id.as_deref().unwrap_or("-");
                    format!("{id} {} {:?}", item.content, item.status)
                })
                .collect();
            writeln!(text, "      todos: {}", items.join("; ")).unwrap();
        }
        Some(Division::Subagent { title, prompt }) => {
            writeln!(text, "      subagent {title:?}: {prompt:?}").unwrap();
        }
        None => {}
    }
    text
}
