//! A pop with `generateSummary`, the whole way.

use callstack_scripted_model::Step;
use serde_json::json;

use super::super::seen::{assert_no_work, seen, snapshot};
use super::super::steps::{WORK, pop, push, work};
use super::super::talk::Talk;
use super::super::tree::{frame, tree};
use super::compactions;

pub(super) fn pop_with_summary(results: &str) -> Step {
    Step::call("stack_frame_pop", json!({"results": results, "generateSummary": true}))
}

#[test]
fn a_frame_ends_with_its_summary_and_the_agent_goes_on_by_itself() {
    let Some(talk) = Talk::new(&[]) else { return };
    let sealed = &talk.project.sealed;
    let session = talk.session_compacting(
        [Step::text(
            "The part says 7, which was read from part.txt.\n\n## Rest of the session\n\nThe user \
             wants the parts to be read.",
        )],
        [
            push("First part", "it is read").reasoning("A subtask."),
            work("the first part").reasoning("Read."),
            pop_with_summary("It says 7.").reasoning("Done."),
            push("Second part", "it is read").reasoning("On by myself."),
            work("the second part").reasoning("Read."),
            pop("It says 8.").reasoning("Done."),
            Step::text("All is read.").reasoning("Tell."),
        ],
    );
    session.say("Read the parts");
    assert_eq!(
        tree(sealed, &session.id),
        "Read the parts in_progress *\n  First part completed\n  Second part completed\n"
    );
    assert_eq!(
        frame(sealed, "First part").results.as_deref(),
        Some(
            "It says 7.\n\nSummary generated at its end:\nThe part says 7, which was read from \
             part.txt."
        )
    );
    let requests = session.finished();
    let [summarised] = &compactions(&session)[..] else { panic!("not one compaction") };
    snapshot("compaction_frame_completion", &seen(summarised));
    assert!(summarised.render().contains(&format!("{WORK} the first part")));
    snapshot("compaction_frame_completion_behind", &seen(&requests[3]));
    for after in &requests[3..5] {
        assert!(!after.render().contains("the first part\""), "{}", seen(after));
    }
    assert_no_work(&requests[3]);
}
