//! A constraint that is stated once holds for good.

use callstack_scripted_model::{Checks, Conversation, Step};
use serde_json::json;

use super::delegations::{children, requests_for, works_on};
use super::steps::{delegate, plan, pop, push, stack};
use super::talk::Talk;

const PIN: &str = "Never touch <main>, not even to fix it.";
/// The pin as XML says it.
const SENT_PIN: &str = "Never touch &lt;main&gt;, not even to fix it.";
const COMPACTIONS: usize = 3;
const FRAMES_EACH: usize = 10;

#[test]
fn a_pin_of_the_first_turn_outlives_frames_and_compactions_and_holds_in_a_childs_child() {
    let Some(talk) = Talk::new(&[]) else { return };
    for conversation in [
        works_on(
            "Outer part",
            [
                plan(&children(&["Inner part"])),
                delegate("Inner part"),
                pop("The outer part is done."),
                Step::text("Outer done."),
            ],
        ),
        works_on("Inner part", [pop("The inner part is done."), Step::text("Inner done.")]),
    ] {
        talk.project.model.add(conversation);
    }
    let mut steps = vec![stack("stack_pin", &json!({"text": PIN}))];
    for round in 1..=COMPACTIONS {
        for part in 1..=FRAMES_EACH {
            steps.push(push(&format!("Part{round}x{part} of it"), "it is there"));
            steps.push(pop(&format!("Part {round}x{part} is there.")));
        }
        steps.push(stack("stack_frame_summarize", &json!({})));
    }
    steps.extend([plan(&children(&["Outer part"])), delegate("Outer part"), Step::text("Done.")]);
    let summaries = (1..=COMPACTIONS).map(|round| {
        Step::text(format!(
            "Round {round} is over.\n## Rest of the session\nNothing else was asked."
        ))
    });
    let session = talk.converse(
        Conversation::new(steps)
            // Each pop rewrites the result of its push, which does not matter here.
            .checks(Checks { prefix: false, reasoning: true })
            .compactions(summaries),
    );
    session.say("Build it in thirty parts");
    let requests = session.finished();
    let [.., last] = &requests[..] else { unreachable!() };
    assert!(last.render().contains(SENT_PIN), "{}", last.render());
    assert!(!last.render().contains("Part1x1"), "it was compacted");
    for title in ["Outer part", "Inner part"] {
        for request in requests_for(&talk, title) {
            assert!(request.render().contains(SENT_PIN), "{title}: {}", request.render());
        }
    }
}
