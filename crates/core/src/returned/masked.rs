//! What stands for the output of a call that has left the context while its frame goes on.

use super::{MARK, Text};
use crate::dialect::Dialect;
use crate::frame::FrameNum;

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

/// The line for the last of the outputs that leave together from work in a frame, whose log has them.
pub fn masked_in(frame: FrameNum, dialect: Dialect, tokens: usize, evidence: &[String]) -> String {
    let mut text = Text::new(dialect);
    text.line(format_args!("{}", masked(tokens, evidence)));
    text.log_of("What has left", frame);
    text.out.truncate(text.out.trim_end().len());
    text.out
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn the_last_of_a_batch_tells_the_evidence_and_where_the_whole_is() {
        let evidence = ["commands: `make test` (exit 2)".to_owned()];
        assert_snapshot!(masked_in(FrameNum(3), Dialect::Stack, 1_200, &evidence), @r#"
        [callstack] This output of about 1200 tokens has left the context. The same call shows it again.
        In it and those that left with it, recorded by the machine:
        - commands: `make test` (exit 2)
        What has left can be read again: stack {"op":"stack_log","args":{"frame":"f3"}} (at a terminal: callstack log f3)
        "#);
    }
}
