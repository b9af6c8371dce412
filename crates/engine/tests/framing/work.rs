//! What becomes a frame, and what the model is sent of it.

use callstack_engine::Level;
use insta::assert_snapshot;

use super::host::{CHILD, Host};

/// Chat, work, a list, a follow-up.
fn session(host: &mut Host) {
    host.user("Hello");
    host.reply("Hello.");
    host.turn("Make the build fast, please, it takes long", "The build takes 3 s now.");
    host.user("Add dates");
    host.todos(&[">Write the parser", "Write tests", "Tell the user"], "First the parser.");
    host.write("date.rs");
    host.todos(&["+Write the parser", ">Write tests", "Tell the user"], "It reads dates.");
    host.step(&["make test"]);
    host.todos(&["+Write the parser", "+Write tests", "Tell the user"], "All pass.");
    host.reply("Dates are in.");
    host.user("Thank you");
    host.reply("Gladly.");
}

#[test]
fn work_becomes_frames_and_chat_does_not() {
    let mut host = Host::new();
    session(&mut host);
    assert_snapshot!(host.tree(), @r"
    Hello in_progress *
      Make the build fast please… completed
      Add dates completed
        Write the parser completed
        Write tests completed
    ");
    let turn = host.engine.resolve("f2").unwrap();
    assert_eq!(turn.results.as_deref(), Some("The build takes 3 s now."));
    assert_eq!(turn.identity.success_criteria, "Make the build fast, please, it takes long");
    assert_eq!(host.engine.resolve("f4").unwrap().results.as_deref(), Some("It reads dates."));
    let files = |frame: &str| host.engine.resolve(frame).unwrap().artifacts;
    assert_eq!(files("f4")[0].path, "date.rs");
}

#[test]
fn finished_turns_are_folded_when_the_user_speaks_again() {
    let mut host = Host::new().long_outputs();
    session(&mut host);
    host.user("Bye");
    assert_snapshot!(host.sent().join("\n"), @r#"
    msg_1
    msg_2
    msg_3
    msg_6
    msg_7 + [callstack] frame f2 "Make the build fast please…" completed: its steps have left the context; the request and the reply to it stand above.
    msg_13
    msg_14 + [callstack] frame f3 "Add dates" completed: its steps have left the context; the request and the reply to it stand above.
    msg_15
    msg_16
    "#);
    assert_snapshot!(host.folded("f3"), @r#"
    [callstack] frame f3 "Add dates" completed: its steps have left the context; the request and the reply to it stand above.
    Frames inside it:
    - f4 "Write the parser" completed: It reads dates.
    - f5 "Write tests" completed: All pass.
    Evidence, recorded by the machine:
    - written (reread to edit): date.rs
    - commands: `make test` (exit 0)
    - remains on the todo list: Tell the user
    Every step of it can be read again: stack {"op":"stack_log","args":{"frame":"f3"}} (at a terminal: callstack log f3)
    "#);
}

#[test]
fn nothing_of_it_happens_at_the_other_levels() {
    for level in [Level::Manual, Level::Suggest] {
        let mut host = Host::with(level);
        session(&mut host);
        host.user("Bye");
        assert_eq!(host.tree(), "Hello in_progress *\n");
        assert_eq!(host.sent().len(), host.shown.len());
    }
}

#[test]
fn a_turn_is_a_frame_as_soon_as_it_is_clear_that_it_is_work() {
    let mut host = Host::new();
    host.user("Fix it");
    host.step(&["look", "look again"]);
    host.write("early.rs");
    assert_eq!(host.tree(), "Fix it in_progress *\n");
    host.step(&["make test"]);
    assert_eq!(host.tree(), "Fix it in_progress\n  Fix it in_progress *\n");
    host.write("late.rs");
    let artifacts = host.engine.resolve("f2").unwrap().artifacts;
    let of = |path: &str| artifacts.iter().find(|artifact| artifact.path == path).unwrap();
    assert_eq!(artifacts.len(), 2, "what was written before it began is its work too");
    assert!(of("early.rs").hash.is_some() && of("late.rs").hash.is_some());
}

#[test]
fn what_a_turn_hands_on_stands_below_it() {
    let mut host = Host::new();
    host.user("Have it looked at");
    host.hand_on("Look at it");
    assert_eq!(
        host.tree(),
        "Have it looked at in_progress\n  Have it looked at in_progress *\n    Look at it in_progress\n"
    );
    // A child session's turns are its parent's business.
    host.engine.session_idle(CHILD).unwrap();
    host.step(&["look", "look", "look", "look"]);
    host.reply("It is fine.");
    assert!(host.tree().contains("  Have it looked at completed\n    Look at it completed\n"));
}

#[test]
fn a_frame_below_that_goes_on_is_waited_for() {
    let mut host = Host::new();
    host.user("Have it looked at");
    host.hand_on("Look at it");
    host.reply("They are looking at it.");
    host.user("Thanks");
    host.reply("Gladly.");
    assert!(host.tree().contains("  Have it looked at in_progress *\n"), "{}", host.tree());
    host.engine.session_idle(CHILD).unwrap();
    host.user("And now?");
    assert!(host.tree().contains("  Have it looked at completed\n"), "{}", host.tree());
}

#[test]
fn pushes_of_the_agent_come_first() {
    let mut host = Host::new();
    host.user("Build it");
    host.push("The build");
    host.step(&["make", "make", "make", "make"]);
    host.todos(&[">one"], "");
    host.pop("It is built.");
    host.step(&["make", "make", "make", "make"]);
    host.reply("Built.");
    assert_eq!(host.tree(), "Build it in_progress *\n  The build completed\n");

    host.user("Test it");
    host.step(&["test", "test", "test", "test"]);
    host.push("More tests");
    host.step(&["test"]);
    host.pop("They pass.");
    host.reply("Tested.");
    assert_eq!(
        host.tree(),
        "Build it in_progress *\n  The build completed\n  Test it completed\n    More tests completed\n"
    );
}

#[test]
fn a_pop_of_the_agent_ends_the_frame_of_its_turn() {
    let mut host = Host::new();
    host.user("Build it");
    host.step(&["make", "make", "make", "make"]);
    host.pop("Built with 3 warnings.");
    host.step(&["make", "make", "make", "make"]);
    host.reply("Built.");
    host.user("Thanks");
    assert_eq!(host.tree(), "Build it in_progress *\n  Build it completed\n");
    let folded = host.folded("f2");
    assert!(folded.contains("Results: Built with 3 warnings.\n"), "{folded}");
    assert!(!folded.contains("Next:"), "{folded}");
}
