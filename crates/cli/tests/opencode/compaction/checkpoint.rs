//! Summaries of frames that stay open.

use callstack_scripted_model::Step;
use serde_json::json;

use super::super::seen::{seen, snapshot};
use super::super::steps::{bash, pop, push, stack, work};
use super::super::talk::Talk;
use super::super::tree::{frame, tree};
use super::compactions;

#[test]
fn a_checkpoint_is_stored_and_the_agent_goes_on_by_itself() {
    let Some(talk) = Talk::new(&[]) else { return };
    let sealed = &talk.project.sealed;
    let session = talk.session_compacting(
        [Step::text("Half is read: 7.\n\n## Rest of the session\n\nNothing else was asked.")],
        [
            push("Read parts", "both are read"),
            work("the first part"),
            stack("stack_frame_summarize", &json!({"note": "keep the figures"})),
            stack("stack_get_summary", &json!({})),
            stack("stack_compaction_info", &json!({})),
            pop("They say 7 and 8."),
            Step::text("All is read."),
        ],
    );
    session.say("Read the parts");
    assert_eq!(tree(sealed, &session.id), "Read the parts in_progress *\n  Read parts completed\n");
    let requests = session.finished();
    let [summarised] = &compactions(&session)[..] else { panic!("not one compaction") };
    snapshot("compaction_manual_summary", &seen(summarised));
    snapshot("compaction_manual_summary_behind", &seen(&requests[3]));
    let request = requests[5].render();
    assert!(request.contains("results: Half is read: 7."), "{request}");
    assert!(request.contains("Next compaction of this session: overflow"), "{request}");
    assert!(request.contains("1 manual_summary (0 failed)"), "{request}");
    assert_eq!(frame(sealed, "Read parts").results.as_deref(), Some("They say 7 and 8."));
}

/// Two of these outputs are more than `OpenCode` keeps after a summary.
const COUNT: &str = "seq 1 1900 | sed 's/$/ counted up to the end/'";

/// The second turn is what `OpenCode` keeps word for word, so the summariser would not see it.
#[test]
fn the_summariser_sees_the_frame_though_its_steps_are_kept_after_the_summary() {
    let Some(talk) = Talk::new(&[]) else { return };
    let sealed = &talk.project.sealed;
    let session = talk.session_compacting(
        [Step::text("The part says 7.\n## Rest of the session\nMuch was counted.")],
        [
            bash(COUNT).and_text("COUNTED"),
            bash(COUNT),
            Step::text("Counted."),
            push("First part", "it is read"),
            work("the first part"),
            super::completion::pop_with_summary("It says 7."),
            Step::text("All is read."),
        ],
    );
    session.say("Count");
    session.say("Read the part");
    let requests = session.finished();
    let [summarised] = &compactions(&session)[..] else { panic!("not one compaction") };
    let (asked, shown) = (summarised.render(), requests[6].render());
    assert!(asked.contains("COUNTED") && asked.contains("INNERWORK: I look"), "{asked}");
    assert!(!shown.contains("COUNTED") && shown.contains("Read the part"), "{shown}");
    assert!(!shown.contains("INNERWORK"), "{shown}");
    let (_, last) = shown.rsplit_once("Continue if you have next steps").unwrap();
    assert!(last.contains("\"First part\" has returned: completed. You are now in"), "{last}");
    assert!(!last.contains("It says 7."), "the push's result says it already: {last}");
    let results = frame(sealed, "First part").results.unwrap();
    assert!(results.ends_with("The part says 7."), "{results}");
}

#[test]
fn an_overflow_adds_the_frame_to_the_prompt_and_keeps_its_summary_as_a_checkpoint() {
    let Some(talk) = Talk::new(&[]) else { return };
    let sealed = &talk.project.sealed;
    let session = talk.session_compacting(
        [Step::text("So far the first half was read.")],
        [
            push("Big part", "it is read"),
            work("the first half").usage(126_600, 120),
            Step::text("The first half is read."),
            work("the second half"),
            pop("It says 9."),
            Step::text("It says 9."),
        ],
    );
    session.say("Read the big part");
    assert_eq!(
        frame(sealed, "Big part").results.as_deref(),
        Some("So far the first half was read.")
    );
    let [summarised] = &compactions(&session)[..] else { panic!("not one compaction") };
    let asked = summarised.render();
    for part in [
        "**Compaction Type:** overflow",
        "- **Goal:** it is read",
        "### Compaction Instructions (Overflow)",
        "## Next Move",
    ] {
        assert!(asked.contains(part), "{part} is missing in\n{asked}");
    }
    session.say("Go on");
    session.finished();
    assert_eq!(frame(sealed, "Big part").results.as_deref(), Some("It says 9."));
}
