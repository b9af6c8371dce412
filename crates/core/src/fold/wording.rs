//! The lines that folding itself puts into a request.
//!
//! Words that were sent are never changed: these are the words of renderer 1
//! ([`Fold::renderer`](crate::transcript::Fold::renderer)). Other words need another renderer number and stand beside
//! these.

use crate::frame::FrameNum;

/// Characters of a text or a name that a pointer shows.
const SHOWN: usize = 60;

/// The result of a push whose frame returned further down.
pub(super) fn returned_below(frame: FrameNum) -> String {
    format!(
        "[callstack] The work that this call began has ended. What frame {frame} returned stands \
         further down, behind the last message that the user wrote during it."
    )
}

/// The result of a push whose frame ended inside another one, pushed in the same step, that has
/// ended, too.
pub(super) fn ended_inside(frame: FrameNum, outer: FrameNum) -> String {
    format!(
        "[callstack] Frame {frame} has ended, and {outer} around it, too. What came of both is in what \
         {outer} returned."
    )
}

/// Stands at a user message whose turn was broken off.
pub(super) fn taken_up(frame: FrameNum) -> String {
    format!(
        "[callstack] Taken up in frame {frame}; this turn ended without a closing reply. What came \
         of it is in what the frame returned, further down."
    )
}

/// Stands for a file that the user attached.
pub(super) fn attached(frame: FrameNum, name: &str, mime: &str) -> String {
    format!(
        "[callstack] Attached here: {} ({}). It is in the log of frame {frame}.",
        one_line(name),
        one_line(mime)
    )
}

/// Returns the line that replaces the host's additions to the user's words.
pub(super) fn added(frame: FrameNum, chars: usize, head: &str) -> String {
    format!(
        "[callstack] Added here by the host: {chars} characters, beginning \"{}\". They are in the \
         log of frame {frame}.",
        one_line(head)
    )
}

/// The beginning of a text on one line, without control characters.
fn one_line(text: &str) -> String {
    let mut words =
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let mut line = String::new();
    let mut shown = 0;
    while let Some(word) = words.next() {
        if shown > 0 {
            line.push(' ');
            shown += 1;
        }
        for c in word.chars() {
            if shown >= SHOWN {
                line.push('…');
                return line;
            }
            line.push(c);
            shown += 1;
        }
        if shown >= SHOWN && words.next().is_some() {
            line.push('…');
            return line;
        }
    }
    line
}
