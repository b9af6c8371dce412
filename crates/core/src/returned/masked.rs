//! What stands for the output of a call that has left the context while its frame goes on.

use super::MARK;

/// The line for one output; `evidence` is told at the last of those that are masked together.
pub fn masked(tokens: usize, evidence: &[String]) -> String {
    let mut text = format!(
        "{MARK} This output of about {tokens} tokens has left the context. The same call shows it again."
    );
    if !evidence.is_empty() {
        text.push_str("\nIn it and those that left with it, recorded by the machine:");
        for line in evidence {
            text.push_str("\n- ");
            text.push_str(line);
        }
    }
    text
}
