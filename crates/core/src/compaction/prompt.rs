//! The request to a summariser.

use std::fmt::Write as _;

use super::{CompactionType, REST_OF_SESSION};
use crate::dialect::Dialect;
use crate::frame::{Frame, Status};
use crate::own_lines;
use crate::returned::{given, label};
use crate::secrets::{cut_to_token_budget, mask};
use crate::text::{CUT, iso_time};
use crate::xml::{one_line, visible};

/// Ancestors, siblings, artifacts and decisions that are named; of each the newest or nearest.
const ANCESTORS: usize = 6;
const SIBLINGS: usize = 8;
const ARTIFACTS: usize = 40;
const DECISIONS: usize = 40;
/// Tokens of a sibling's dense results.
const SIBLING_RESULTS: usize = 60;
/// Tokens of criteria of a parent.
const PARENT_CRITERIA: usize = 200;

/// The prompt, line by line.
#[derive(Default)]
struct Text(String);

impl Text {
    fn line(&mut self, line: impl std::fmt::Display) {
        // Writing to a string cannot fail.
        let _infallible = writeln!(self.0, "{line}");
    }
}

/// The input of a prompt.
#[derive(Clone, Copy, Debug)]
pub struct PromptInput<'a> {
    /// The words for frames.
    pub dialect: Dialect,
    /// The purpose of the compaction.
    pub kind: CompactionType,
    /// Now, in milliseconds since 1970.
    pub now: i64,
    /// The frame that is summarised.
    pub frame: &'a Frame,
    /// Frames above it, its parent first.
    pub ancestors: &'a [Frame],
    /// Frames beside it that have finished.
    pub siblings: &'a [Frame],
    /// The status with which the frame is to end, for [`CompactionType::FrameCompletion`].
    pub ending: Option<Status>,
    /// Results in the words of the agent, which the summary is added to.
    pub results: Option<&'a str>,
    /// The focus of the summary.
    pub note: Option<&'a str>,
    /// The summary of an earlier compaction, which is gone once this one is made. Only for types that replace the
    /// host's prompt, which would contain it.
    pub earlier: Option<&'a str>,
    /// Further knowledge for the summariser: the tree, as its reader will need it.
    pub around: &'a str,
}

/// Returns the prompt for a compaction in which a frame is open: its purpose, its state, its artifacts, and the
/// purpose of the summary. Foreign text is shown so that none of it can pass for a line of the prompt.
pub fn generate_frame_compaction_prompt(input: &PromptInput<'_>) -> String {
    let frame = input.frame;
    let mut text = Text::default();
    text.line(match input.dialect {
        Dialect::Stack => "## Stack Frame Compaction",
        Dialect::Flame => "## Flame Frame Compaction",
    });
    text.line("");
    text.line(format_args!("**Compaction Type:** {}", input.kind));
    text.line(format_args!("**Timestamp:** {}", iso_time(input.now)));
    text.line("");
    text.line("### Current Frame");
    text.line(format_args!("- **Frame:** {}", label(frame)));
    quoted(&mut text, "- **Goal:**", &frame.identity.success_criteria);
    text.line(format_args!("- **Status:** {}", frame.status));
    if let Some(ending) = input.ending {
        text.line(format_args!("- **Is ending as:** {ending}"));
    }
    text.line(format_args!("- **Created:** {}", iso_time(frame.created_at)));
    if let Some(results) = given(input.results) {
        quoted(&mut text, "- **Results in the agent's own words:**", results);
    }
    if let Some((parent, above)) = input.ancestors.split_first() {
        text.line("");
        text.line("### Parent Frame Context");
        text.line(format_args!("- **Parent:** {} ({})", label(parent), parent.status));
        let criteria = &parent.identity.success_criteria;
        quoted(
            &mut text,
            "- **Goal of the parent:**",
            &cut_to_token_budget(criteria, PARENT_CRITERIA, CUT),
        );
        for ancestor in above.iter().take(ANCESTORS) {
            text.line(format_args!("- **Above it:** {} ({})", label(ancestor), ancestor.status));
        }
    }
    if !input.siblings.is_empty() {
        text.line("");
        text.line("### Finished Siblings");
        for sibling in input.siblings.iter().take(SIBLINGS) {
            let results = given(sibling.results_compacted.as_deref())
                .or(given(sibling.results.as_deref()))
                .unwrap_or("no results were given");
            let dense = cut_to_token_budget(results, SIBLING_RESULTS, CUT);
            let heading = format!("- {} {}:", label(sibling), sibling.status);
            quoted(&mut text, &heading, &dense);
        }
    }
    let newest = frame.artifacts.len().saturating_sub(ARTIFACTS);
    section(
        &mut text,
        "### Artifacts Produced",
        frame.artifacts.iter().skip(newest).map(|artifact| artifact.path.as_str()),
    );
    let newest = frame.decisions.len().saturating_sub(DECISIONS);
    section(
        &mut text,
        "### Key Decisions Made",
        frame.decisions.iter().skip(newest).map(String::as_str),
    );
    if input.kind.replaces_prompt()
        && let Some(earlier) = given(input.earlier)
    {
        text.line("");
        text.line("### Summary of what came before the conversation below");
        text.line("It is dropped after this: carry over what is still needed.");
        quoted(&mut text, "", earlier);
    }
    if !input.around.trim().is_empty() {
        text.line("");
        text.line("### The tree of frames");
        text.line(input.around.trim());
    }
    text.line("");
    instructions(&mut text, input);
    text.0
}

fn instructions(text: &mut Text, input: &PromptInput<'_>) {
    let num = input.frame.num;
    match input.kind {
        CompactionType::FrameCompletion => {
            text.line("### Compaction Instructions (Frame Completion)");
            text.line("");
            text.line(format_args!(
                "Frame {num} is being completed. Write a comprehensive summary of it, which becomes \
                 its results for its parent. In it:"
            ));
            text.line("1. Summarize the progress toward the goal of the frame: which criteria are met, which are not");
            text.line("2. List the key outcomes: what exists or is known now");
            text.line("3. Document the decisions that were taken, with their reasons");
            text.line("4. Note dependencies: what this rests on, and what later work rests on");
            text.line("5. Record blockers and what is still open");
        }
        CompactionType::ManualSummary => {
            text.line("### Compaction Instructions (Manual Summary)");
            text.line("");
            text.line(format_args!(
                "This is a checkpoint of frame {num}, which stays open. Write a summary from which \
                 its work can be resumed. In it:"
            ));
            text.line("1. Say how far the goal of the frame is reached");
            text.line("2. Say what was done, and what was tried without success");
            text.line("3. Document the decisions that were taken, with their reasons");
            text.line("4. Say what is being done just now, and what comes next");
            text.line("5. Record blockers and open questions");
        }
        CompactionType::Overflow => {
            text.line("### Compaction Instructions (Overflow)");
            text.line("");
            text.line(format_args!(
                "The context is full and the work in frame {num} goes on right behind the summary. \
                 Preserve what is needed to continue it seamlessly:"
            ));
            text.line("1. What is being done just now, and the very next step");
            text.line("2. What is already done and must not be done again");
            text.line("3. Decisions, constraints and the user's wishes that still hold");
            text.line(
                "4. State that exists outside of the conversation: changed files, running commands",
            );
            text.line("5. Errors that are not solved yet");
        }
    }
    text.line("");
    text.line(
        "Keep the handles of frames (such as f12) and every file path, name, number and command as \
         they are. Words that begin with [callstack] are callstack's own, among them the results of \
         finished frames: keep what matters of them.",
    );
    if let Some(note) = given(input.note) {
        quoted(text, "Pay heed to this:", note);
    }
    if input.kind.replaces_prompt() {
        text.line(format_args!(
            "Behind the summary of the frame, write the line `{REST_OF_SESSION}`, and under it all \
             else that the session needs to go on, since this takes the place of the conversation: \
             the user's requests in their own words as far as they still count, what was done before \
             this frame, and what remains to be done after it. Output nothing but this."
        ));
    }
}

fn section<'a>(text: &mut Text, heading: &str, items: impl Iterator<Item = &'a str>) {
    let mut items = items.peekable();
    if items.peek().is_none() {
        return;
    }
    text.line("");
    text.line(heading);
    for item in items {
        text.line(format_args!("- {}", one_line(&mask(item))));
    }
}

/// Adds foreign text after a heading of ours. Further lines are quoted, so that none can pass for a heading or an
/// instruction.
fn quoted(text: &mut Text, heading: &str, foreign: &str) {
    let foreign = mask(foreign.trim());
    let shown = visible(&foreign);
    let shown = own_lines::quoted(&shown);
    if heading.is_empty() || shown.contains('\n') {
        if !heading.is_empty() {
            text.line(heading);
        }
        for line in shown.lines() {
            text.line(format_args!("  > {line}"));
        }
    } else {
        text.line(format_args!("{heading} {shown}"));
    }
}
