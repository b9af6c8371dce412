//! The tree as a Mermaid flowchart, which many pages draw from a text.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Write};

use callstack_core::control::escape_line;
use callstack_core::frame::{FrameNum, Status};
use callstack_core::trace::SessionTrace;

use crate::{About, Document, label};

/// The diagram, with the frames drawn so far.
#[derive(Default)]
pub(crate) struct Mermaid {
    drawn: BTreeSet<FrameNum>,
}

/// The looks of a status: a sign and colours that are read on light and dark pages.
fn look(status: Status) -> (&'static str, &'static str) {
    match status {
        Status::Planned => ("○", "fill:#eceff1,stroke:#78909c,color:#263238,stroke-dasharray:4"),
        Status::InProgress => ("▶", "fill:#e3f2fd,stroke:#1565c0,color:#0d2c54"),
        Status::Completed => ("✓", "fill:#e8f5e9,stroke:#2e7d32,color:#14361a"),
        Status::Failed => ("✗", "fill:#ffebee,stroke:#c62828,color:#4a0d0d"),
        Status::Blocked => ("‖", "fill:#fff8e1,stroke:#b26a00,color:#402600"),
        Status::Invalidated => ("⊘", "fill:#f5f5f5,stroke:#9e9e9e,color:#616161"),
    }
}

impl Document for Mermaid {
    fn begin(&mut self, about: &About, to: &mut dyn Write) -> io::Result<()> {
        writeln!(to, "%% {} by callstack {}", escape_line(&about.name), about.version)?;
        writeln!(to, "flowchart LR")
    }

    fn session(&mut self, _: &About, session: &SessionTrace, to: &mut dyn Write) -> io::Result<()> {
        for frame in &session.frames {
            let (sign, _) = look(frame.status);
            let words = text(&format!("{sign} {}", label::frame(frame.num, &frame.title)));
            writeln!(to, "  {}[\"{words}\"]:::{}", frame.num, frame.status)?;
            let parent = frame.parent.as_ref().map(|parent| parent.num);
            if let Some(parent) = parent.filter(|parent| self.drawn.contains(parent)) {
                writeln!(to, "  {parent} --> {}", frame.num)?;
            }
            self.drawn.insert(frame.num);
        }
        Ok(())
    }

    fn end(&mut self, _: &About, to: &mut dyn Write) -> io::Result<()> {
        if self.drawn.is_empty() {
            writeln!(to, "  none[\"There are no frames yet.\"]")?;
        }
        for status in Status::ALL {
            writeln!(to, "  classDef {status} {}", look(status).1)?;
        }
        Ok(())
    }
}

/// Returns the text of a node, in which no character has a meaning for Mermaid, Markdown or HTML.
fn text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        if char.is_alphanumeric()
            || matches!(char, ' ' | '.' | ',' | ':' | '-' | '/' | '(' | ')')
            || !char.is_ascii()
        {
            escaped.push(char);
        } else {
            // Writing to a string can't fail.
            let _ = write!(escaped, "#{};", u32::from(char));
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_sign_of_a_text_means_anything() {
        assert_eq!(text("Fix it: a-b (c/d), 1.2 ä ✓"), "Fix it: a-b (c/d), 1.2 ä ✓");
        let hostile =
            "\"]; click f1 call alert() <img src=x onerror=alert(1)> `**a**` #quot; %%{init}";
        let escaped = text(hostile);
        for sign in ['"', ']', '[', '<', '>', '`', '*', '%', '{', '}', '='] {
            assert!(!escaped.contains(sign), "{escaped}");
        }
        let read = escaped.split('#').enumerate().map(|(place, part)| {
            if place == 0 {
                return part.to_owned();
            }
            let (number, rest) = part.split_once(';').unwrap();
            format!("{}{rest}", char::from_u32(number.parse().unwrap()).unwrap())
        });
        assert_eq!(read.collect::<String>(), hostile);
    }
}
