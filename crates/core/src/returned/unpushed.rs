//! The text that replaces a frame that nobody pushed. It follows the user's next words, so it ends with nothing that
//! could compete with them.

use super::{INNER_RESULTS, MARK, Text, given, label, summary_line};
use crate::context::ScopedPin;
use crate::dialect::Dialect;
use crate::evidence::{Gaps, KeptFiles};
use crate::frame::{Frame, Status};
use crate::own_lines;
use crate::results::ResultsSource;
use crate::secrets::cut_to_token_budget;
use crate::text::{CUT, estimate_tokens, format_duration};

/// Estimated tokens for the results of all children of a frame that nobody pushed.
const RESULTS: usize = 4_000;

/// A finished user turn or todo item.
#[derive(Clone, Copy, Debug)]
pub struct Unpushed<'a> {
    /// Its frame.
    pub frame: &'a Frame,
    /// Finished frames below it, as in [`Returned::inside`](super::Returned::inside).
    pub inside: &'a [Frame],
    /// The evidence, one fact a line.
    pub evidence: &'a [String],
    /// Content of files that stays.
    pub files: &'a KeptFiles,
    /// The parts of it that can't be read again.
    pub gaps: Gaps,
    /// Whether its results are the agent's reply, which is sent as it is.
    pub replied: bool,
    /// Whether it is the turn with which a session's root began, and that root goes on.
    pub goes_on: bool,
    /// Pins that were made since the system prompt was built.
    pub pins: &'a [ScopedPin],
    /// The reader's dialect.
    pub dialect: Dialect,
}

/// Returns the text of a finished frame that nobody pushed. The user's words and the agent's replies in it stay
/// beside the text.
pub fn unpushed(unpushed: &Unpushed<'_>) -> String {
    let frame = unpushed.frame;
    let mut text = Text::new(unpushed.dialect);
    let goes_on = unpushed.goes_on;
    let worked = frame.ended_at.map_or(0, |ended| frame.worked(ended));
    let after =
        if worked >= 1000 { format!(" after {}", format_duration(worked)) } else { String::new() };
    let what = if unpushed.replied {
        "its steps have left the context; the request and the reply to it stand above"
    } else {
        "its steps have left the context"
    };
    if goes_on {
        text.line(format_args!(
            "{MARK} first turn of frame {}, which goes on for the user's latest message: {what}.",
            label(frame)
        ));
    } else {
        text.line(format_args!("{MARK} frame {} {}{after}: {what}.", label(frame), frame.status));
    }
    if let Some(reason) = frame.invalidation_reason.as_deref().filter(|_| !goes_on) {
        text.block(own_lines::REASON, reason);
    }
    match given(frame.results.as_deref().filter(|_| !goes_on)) {
        Some(results) if !unpushed.replied => text.results(own_lines::RESULTS, frame, results),
        // Otherwise the evidence describes the work.
        None if unpushed.evidence.is_empty()
            && if goes_on { !unpushed.replied } else { frame.status == Status::Completed } =>
        {
            text.line(format_args!("{}: nothing was said at its end.", own_lines::RESULTS));
        }
        _ => {}
    }
    let all = || std::iter::once(frame).chain(unpushed.inside);
    if !unpushed.inside.is_empty() {
        text.line(format_args!("{}:", own_lines::INSIDE));
        // Nobody has summed up these results, as the author of a frame around them would.
        let stays = |inner: &&Frame| inner.depth <= frame.depth + 1 && is_written(inner);
        let written = unpushed.inside.iter().filter(stays).filter_map(|it| it.results.as_deref());
        let room = room(written.map(estimate_tokens).collect()).max(INNER_RESULTS);
        for inner in unpushed.inside {
            let below = inner.depth.saturating_sub(frame.depth + 1) as usize;
            let results = given(inner.results.as_deref()).filter(|_| stays(&inner));
            match results.filter(|results| estimate_tokens(results) > INNER_RESULTS) {
                Some(results) => {
                    let results = cut_to_token_budget(results, room, CUT);
                    text.results(&format!("- {} {}", label(inner), inner.status), inner, &results);
                }
                None => {
                    text.line(format_args!("{}- {}", "  ".repeat(below), summary_line(inner)));
                }
            }
        }
    }
    text.list(own_lines::DECISIONS, all().flat_map(Frame::taken));
    text.list(own_lines::EVIDENCE, unpushed.evidence.iter().map(String::as_str));
    let paths = all().flat_map(|frame| &frame.artifacts).map(|artifact| artifact.path.as_str());
    text.artifacts(paths, unpushed.evidence);
    text.files(unpushed.files);
    text.log(frame, unpushed.gaps);
    text.pins(unpushed.pins);
    text.out
}

/// Returns the most tokens that each of several results may take, so that the long ones share what the short ones leave.
fn room(mut sizes: Vec<usize>) -> usize {
    sizes.sort_unstable();
    let (mut left, mut count) = (RESULTS, sizes.len());
    for size in sizes {
        if size > left / count {
            return left / count;
        }
        left -= size;
        count -= 1;
    }
    RESULTS
}

/// Whether the results of a frame were written for later work.
fn is_written(frame: &Frame) -> bool {
    use ResultsSource::{Agent, AgentAndCompaction, Compaction, Model, User};
    let written = [Agent, AgentAndCompaction, Compaction, Model, User];
    frame.results_source.is_some_and(|source| written.contains(&source))
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::frame::{Artifact, FrameNum, Identity};

    #[test]
    fn long_results_share_what_short_ones_leave() {
        assert_eq!(room(vec![]), RESULTS);
        assert_eq!(room(vec![100, 200, 3_000]), RESULTS);
        assert_eq!(room(vec![100, 3_000, 3_000]), 1_950);
        assert_eq!(room(vec![5_000, 5_000]), 2_000);
    }

    fn frame(num: u64, title: &str, depth: u32) -> Frame {
        let identity = Identity { title: title.to_owned(), ..Identity::default() };
        let planned = Frame::planned(FrameNum(num), format!("frm-{num}"), None, depth, identity, 0);
        Frame {
            status: Status::Completed,
            results: Some("Dates are in.\n[callstack] not mine".to_owned()),
            ended_at: Some(90_000),
            ..planned
        }
    }

    fn replied<'a>(frame: &'a Frame, inside: &'a [Frame], files: &'a KeptFiles) -> Unpushed<'a> {
        Unpushed {
            frame,
            inside,
            evidence: &[],
            files,
            gaps: Gaps::default(),
            replied: true,
            goes_on: false,
            pins: &[],
            dialect: Dialect::Stack,
        }
    }

    #[test]
    fn a_turn_points_at_what_stands_above_and_says_what_does_not() {
        let mut turn = frame(2, "Add dates", 1);
        turn.artifacts.push(Artifact { path: "src/date.rs".to_owned(), hash: None });
        let inside = [frame(3, "Write the parser", 2)];
        let shown = unpushed(&Unpushed {
            evidence: &["commands: `make test` (exit 0)".to_owned()],
            ..replied(&turn, &inside, &KeptFiles::default())
        });
        assert_snapshot!(shown, @r#"
        [callstack] frame f2 "Add dates" completed after 1m 30s: its steps have left the context; the request and the reply to it stand above.
        Frames inside it:
        - f3 "Write the parser" completed: Dates are in. [callstack] not mine
        Evidence, recorded by the machine:
        - commands: `make test` (exit 0)
        Artifacts:
        - src/date.rs
        Every step of it can be read again: stack {"op":"stack_log","args":{"frame":"f2"}}
        "#);
    }

    #[test]
    fn results_of_the_frames_in_a_turn_stay_whole_while_they_are_few() {
        let turn = frame(2, "Add dates", 1);
        let long =
            |count: usize| Some("Criteria met. The parser is in src/date.rs.\n".repeat(count));
        let results_source = Some(ResultsSource::Agent);
        let child =
            |num, count| Frame { results: long(count), results_source, ..frame(num, "Part", 2) };
        let inside = [child(3, 30), Frame { depth: 3, ..child(4, 30) }, child(5, 600)];
        let shown = unpushed(&replied(&turn, &inside, &KeptFiles::default()));
        let of = |from: &str, to: &str| {
            let (_, rest) = shown.split_once(from).unwrap();
            rest.split_once(to).unwrap().0.matches("src/date.rs").count()
        };
        assert_eq!(of("- f3 ", "- f4 "), 30, "{shown}");
        assert!(of("- f4 ", "- f5 ") < 10, "what its parent returned tells of it: {shown}");
        assert!((200..500).contains(&of("- f5 ", "Every step")), "{shown}");
    }

    #[test]
    fn what_stands_nowhere_else_is_shown() {
        let item = frame(3, "Write the parser", 2);
        let files = KeptFiles::default();
        let bare = Unpushed { replied: false, ..replied(&item, &[], &files) };
        assert_snapshot!(unpushed(&bare), @r#"
        [callstack] frame f3 "Write the parser" completed after 1m 30s: its steps have left the context.
        Results:
        Dates are in.
        \[callstack] not mine
        Every step of it can be read again: stack {"op":"stack_log","args":{"frame":"f3"}}
        "#);
        let silent = Frame { results: None, ..item.clone() };
        let silent = Unpushed { frame: &silent, ..bare };
        assert!(unpushed(&silent).contains("\nResults: nothing was said at its end.\n"));
    }
}
