//! The work that becomes a frame, and the requests with it.

use callstack_core::decide::{Command, Enframe, decide};
use callstack_core::frame::FrameNum;
use callstack_core::framing::identity_of;
use callstack_core::limits::Limits;
use callstack_core::transcript::{Anchor, SpanOrigin};
use callstack_engine::Level;
use callstack_store::Store;
use insta::assert_snapshot;

use super::host::{CHILD, Host, SESSION};

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
      Make the build fast, please, it takes long completed
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
    msg_7 + [callstack] frame f2 "Make the build fast, please, it takes long" completed: its steps have left the context; the request and the reply to it stand above.
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
    - written: date.rs
    - checks: `make test`: exit 0
    - remains on the todo list: Tell the user
    Every step of it can be read again: stack {"op":"stack_log","args":{"frame":"f3"}}
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
    assert_eq!(host.tree(), "Fix it in_progress * [turn open]\n");
    host.write("late.rs");
    let artifacts = host.engine.resolve("f1").unwrap().artifacts;
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
        "Have it looked at in_progress * [turn open]\n  Look at it in_progress\n"
    );
    // A child session's turns are its parent's business.
    host.engine.session_idle(CHILD).unwrap();
    host.step(&["look", "look", "look", "look"]);
    host.reply("It is fine.");
    assert_eq!(
        host.tree(),
        "Have it looked at in_progress * [turn over]\n  Look at it completed\n"
    );
}

#[test]
fn a_frame_below_that_goes_on_is_waited_for() {
    let mut host = Host::new();
    host.user("Have it looked at");
    host.hand_on("Look at it");
    host.reply("They are looking at it.");
    host.user("Thanks");
    host.reply("Gladly.");
    assert!(host.tree().starts_with("Have it looked at in_progress * [turn open]\n"));
    host.engine.session_idle(CHILD).unwrap();
    host.user("And now?");
    assert!(host.tree().starts_with("Have it looked at in_progress * [turn over]\n"));
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
fn a_pop_of_the_agent_in_the_first_turn_ends_the_root() {
    let mut host = Host::new();
    host.user("Build it");
    host.step(&["make", "make", "make", "make"]);
    host.pop("Built with 3 warnings.");
    host.step(&["make", "make", "make", "make"]);
    host.reply("Built.");
    host.user("Thanks");
    assert_eq!(host.tree(), "Build it completed [turn over]\nThanks in_progress *\n");
    let folded = host.folded("f1");
    assert!(folded.contains("Results: Built with 3 warnings.\n"), "{folded}");
    assert!(!folded.contains("Next:"), "{folded}");
}

#[test]
fn a_pop_of_the_agent_ends_the_frame_of_a_later_turn() {
    let mut host = Host::new();
    host.user("Hello");
    host.reply("Hello.");
    host.user("Build it");
    host.step(&["make", "make", "make", "make"]);
    host.pop("Built with 3 warnings.");
    host.step(&["make", "make", "make", "make"]);
    host.reply("Built.");
    host.user("Thanks");
    assert_eq!(host.tree(), "Hello in_progress *\n  Build it completed\n");
    let folded = host.folded("f2");
    assert!(folded.contains("Results: Built with 3 warnings.\n"), "{folded}");
    assert!(!folded.contains("Next:"), "{folded}");
}

#[test]
fn only_the_first_turn_of_a_root_is_its_own() {
    let mut host = Host::new().long_outputs();
    host.turn("Build it. In red, please.", "Built.");
    host.turn("Build it. In red, please.", "Built again.");
    host.user("Thanks");
    assert_eq!(host.tree(), "Build it in_progress * [turn over]\n  Build it completed\n");
    assert_eq!(host.returned("f1").as_deref(), Some("Built."));
    assert_snapshot!(host.folded("f1"), @r#"
    [callstack] first turn of frame f1 "Build it", which goes on for the user's latest message: its steps have left the context; the request and the reply to it stand above.
    Evidence, recorded by the machine:
    - checks: `make`, `make test`, `make lint`: exit 0
    Every step of it can be read again: stack {"op":"stack_log","args":{"frame":"f1"}}
    "#);
    // A reopened frame has a first turn of its own.
    host.call("stack_frame_pop", serde_json::json!({"results": "All is built."}));
    host.turn("Test it", "Tested.");
    host.user("Thanks");
    assert_eq!(
        host.tree(),
        "Build it completed [turn over]\n  Build it completed\nTest it in_progress * [turn over]\n"
    );
}

/// As earlier versions had it.
#[test]
fn a_first_turn_that_has_a_frame_below_the_root_keeps_it() {
    let mut host = Host::new().long_outputs();
    host.user("Build it");
    let store = Store::open_unchecked(&host.folder.path().join(".callstack")).unwrap();
    let first_turn = Command::Enframe(Enframe {
        session: SESSION.to_owned(),
        parent: FrameNum(1),
        origin: SpanOrigin::Turn,
        anchor: Anchor { message: Some("msg_1".to_owned()), call: None },
        identity: identity_of("Build it"),
        id: "frm-before".to_owned(),
        goes_on: true,
    });
    let made = store.write(|change| {
        let decision = decide(&change.view(), &first_turn, &Limits::default(), 0).unwrap();
        change.append(0, &decision.events)
    });
    made.unwrap();
    host.restart();
    host.step(&["make", "make", "make", "make"]);
    assert_eq!(host.tree(), "Build it in_progress\n  Build it in_progress *\n");
    host.reply("Built.");
    host.turn("Test it", "Tested.");
    host.user("Thanks");
    assert_eq!(host.tree(), "Build it in_progress *\n  Build it completed\n  Test it completed\n");
    assert!(host.sent()[2].contains("frame f2 \"Build it\" completed"), "{:#?}", host.sent());
}
