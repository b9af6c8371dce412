//! The outcome of a replay in a few lines.

use callstack_replay::{Report, Strategy, StrategyReport, rounded, short};

use crate::page::{BOLD, DIM, PLAIN, Page, WARN};
use crate::wording::{change, counted};

/// Draws the savings and losses of frames, and those of the other ways of working. Fits 80 columns.
pub(crate) fn draw(page: &mut Page, report: &Report) {
    let find = |way: Strategy| report.sum.iter().find(|it| it.way == way);
    let (Some(linear), Some(frames)) = (find(Strategy::Linear), find(Strategy::Frames)) else {
        return;
    };
    let calls = report.sessions.iter().map(|it| it.calls).sum();
    let count: usize = report.sessions.iter().map(|it| it.frames).sum();
    let about = format!(
        "{} in {}, {}; whole requests, with system prompt and tools",
        counted(calls, "call"),
        counted(report.sessions.len() as u64, "session"),
        counted(count as u64, "frame"),
    );
    if report.sessions.iter().any(|it| it.had_frames) {
        page.put(WARN, "callstack was at work here: `callstack status` says what it saved.").end();
        page.put(
            DIM,
            "A replay computes what frames would do to the same session from its beginning.",
        )
        .end()
        .end();
    }
    page.put(BOLD, "With frames").put(DIM, &format!("  {about}")).end();
    let mut row = |name: &str, from: u64, to: u64, note: &str| {
        let sizes = format!("{} → {} tokens", short(from), short(to));
        page.put(PLAIN, &format!("  {name:<16} {sizes:<24}"));
        page.put(BOLD, &format!("{:>6}", change(from, to))).put(DIM, note).end();
    };
    row("Largest request", linear.whole.largest, frames.whole.largest, "");
    row("Tokens sent", linear.whole.input, frames.whole.input, "");
    let bill = |of: &StrategyReport| rounded(of.whole.billed);
    row("Bill", bill(linear), bill(frames), "  new tokens count 1.25, cached 0.1");
    let with_reads = rounded(frames.whole.billed_with_reads);
    let again = format!("  with {}", counted(frames.reads, "more read"));
    row("", bill(linear), with_reads, &again);
    if frames.edits > 0 {
        let line =
            format!("  {:<16} {} of {} edits", "Text at hand", frames.verbatim, frames.edits);
        page.put(PLAIN, &line).put(DIM, "  still had their old text in the request").end();
    }
    page.end().put(BOLD, "Other ways").put(DIM, "  as shares of what was sent as recorded").end();
    page.put(DIM, "              largest    sent    bill  with reads  text at hand").end();
    for of in report.sum.iter().filter(|it| it.way != Strategy::Linear) {
        let sizes = &of.whole.of_linear;
        let at_hand = format!("{}/{}", of.verbatim, of.edits);
        let line = format!(
            "  {:<10} {:>8.2} {:>7.2} {:>7.2} {:>11.2} {at_hand:>13}",
            of.way.name(),
            sizes.largest,
            sizes.input,
            sizes.billed,
            sizes.billed_with_reads,
        );
        page.put(if of.way == Strategy::Frames { BOLD } else { PLAIN }, &line).end();
    }
    page.end().put(DIM, "--verbose shows each session, --html draws them on a page.").end();
}
