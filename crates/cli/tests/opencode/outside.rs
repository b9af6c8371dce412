//! Changes by a person at the command line while a session goes on reach its agent.

use callstack_scripted_model::{Checks, Step, content_text};
use serde_json::json;

use super::talk::Talk;
use super::tree::{from_outside, tree, wait_for_tree};

const PIN: &str = "Never touch main.\nNot even to fix it.";

fn push_pin_and_invalidation_are_announced(env: &[(&str, &str)], checks: Checks) {
    let Some(talk) = Talk::new(env) else { return };
    let session = talk.session_with(
        checks,
        [
            Step::text("Hello."),
            Step::text("I see."),
            Step::text("Gone."),
            Step::text("Nothing new."),
        ],
    );
    let sealed = &talk.project.sealed;
    session.say("Let us look after the shop.");
    let outside = |name, arguments| from_outside(sealed, &session.id, name, arguments);
    outside("stack_pin", json!({"text": PIN}));
    outside(
        "stack_frame_push",
        json!({"title": "Check the till", "successCriteria": "it adds up"}),
    );
    session.say("Go on.");
    let pushed = "Let us look after the shop in_progress\n  Check the till in_progress *\n";
    assert_eq!(tree(sealed, &session.id), pushed);
    outside("stack_frame_invalidate", json!({"frame": "f2", "reason": "It is counted already."}));
    session.say("And now?");
    session.say("Is that all?");
    wait_for_tree(
        sealed,
        &session.id,
        "Let us look after the shop in_progress *\n  Check the till invalidated\n",
    );
    let requests = session.finished();
    let texts = |request: usize| {
        let messages = requests[request].messages().iter().filter(|it| it["role"] == "user");
        messages.map(|message| content_text(&message["content"])).collect::<Vec<_>>()
    };
    assert!(!texts(0).concat().contains("[callstack]"));
    let text = texts(1).pop().unwrap();
    for line in [
        "[callstack] The user changed frames from outside this session:",
        "- pinned p1 in f1 \"Let us look after the shop\", which holds there and below: Never touch main.\n  \
         Not even to fix it.",
        "- opened f2 \"Check the till\" in f1; done means: it adds up",
        "[callstack] f2 is open now: Check the till",
    ] {
        assert!(text.contains(line), "{line}\nis not in\n{text}");
    }
    let gone = texts(2).pop().unwrap();
    let line = "- invalidated f2 \"Check the till\": do not go on with it. The reason: It is counted already.";
    assert!(gone.contains(line), "{gone}");
    assert!(gone.ends_with("[callstack] f1 is open now, for the user's latest message"), "{gone}");
    let last = texts(3);
    assert!(!last.last().unwrap().contains("[callstack]"), "{last:?}");
    let count = |words: &str| last.concat().matches(words).count();
    assert_eq!((count("- pinned p1"), count("- invalidated f2")), (1, 1), "{last:?}");
}

#[test]
fn what_is_done_at_the_command_line_is_announced_at_the_next_request() {
    push_pin_and_invalidation_are_announced(&[], Checks::default());
}

#[test]
fn it_is_announced_where_the_context_stands_in_the_system_prompt_too() {
    let checks = Checks { prefix: false, reasoning: true };
    push_pin_and_invalidation_are_announced(&[("STACK_CONTEXT_PLACEMENT", "system")], checks);
}
