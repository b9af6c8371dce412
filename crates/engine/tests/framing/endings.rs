//! Turns that end in other ways, and several processes with one session.

use callstack_engine::{Level, SyncAnswer};
use insta::assert_snapshot;
use serde_json::json;

use super::host::{Host, SESSION};
use crate::plugin::whole;

#[test]
fn a_turn_that_the_user_stops_goes_on_with_the_next_message() {
    let mut host = Host::new().long_outputs();
    host.user("Build it");
    host.step(&["make", "make", "make", "make"]);
    host.aborted("I am about to");
    assert_eq!(host.tree(), "Build it in_progress * [turn open]\n");
    host.user("No, the other one");
    assert_eq!(host.sent().len(), host.shown.len(), "nothing is folded that nobody summed up");
    host.step(&["make other"]);
    host.reply("The other one is built.");
    host.user("Thanks");
    assert_eq!(host.tree(), "Build it in_progress * [turn over]\n");
    assert_snapshot!(host.sent().join("\n"), @r#"
    msg_1
    msg_3
    msg_4
    msg_6
    msg_7 + [callstack] first turn of frame f1 "Build it", which goes on for the user's latest message: its steps have left the context; the request and the reply to it stand above.
    "#);
}

#[test]
fn a_message_in_the_middle_of_a_turn_belongs_to_it() {
    let mut host = Host::new();
    host.user("Build it");
    host.step(&["make", "make", "make", "make"]);
    host.user("In red, please");
    host.step(&["paint"]);
    host.reply("Red it is.");
    assert_eq!(host.tree(), "Build it in_progress * [turn over]\n");
}

#[test]
fn an_item_in_progress_stays_open_across_turns() {
    let mut host = Host::new();
    host.user("Add dates");
    host.todos(&[">parser", "tests"], "");
    host.reply("Which format?");
    let open = "Add dates in_progress [turn open]\n  parser in_progress *\n";
    assert_eq!(host.tree(), open);
    host.user("ISO");
    assert_eq!(host.tree(), open);
    host.todos(&["+parser", "xtests"], "ISO is read.");
    host.reply("Done.");
    assert_eq!(host.tree(), "Add dates in_progress * [turn over]\n  parser completed\n");
}

#[test]
fn items_end_as_the_list_says() {
    let mut host = Host::new();
    host.user("Add dates");
    host.todos(&[">parser", "tests", "prose"], "");
    host.todos(&["xparser", ">tests", "prose"], "");
    host.todos(&["xparser", "tests", ">prose"], "");
    host.reply("Later.");
    assert_eq!(
        host.tree(),
        "Add dates in_progress [turn open]\n  parser invalidated\n  tests blocked\n  \
         prose in_progress *\n"
    );
    let parser = host.engine.resolve("f2").unwrap();
    assert_eq!(parser.invalidation_reason.as_deref(), Some("it was cancelled on the todo list"));
}

#[test]
fn where_nobody_reports_the_end_the_next_message_ends_it() {
    let mut host = Host::new().long_outputs();
    host.user("Build it");
    host.step(&["make", "make", "make", "make"]);
    host.reply_unheard("Built.");
    assert_eq!(host.tree(), "Build it in_progress * [turn open]\n");
    host.user("Thanks");
    assert_eq!(host.tree(), "Build it in_progress * [turn over]\n");
    assert_eq!(host.sent().len(), 3);
}

#[test]
fn a_reply_that_comes_after_the_silence_ends_the_turn_too() {
    let mut host = Host::new();
    host.user("Build it");
    host.step(&["make", "make", "make", "make"]);
    host.reply_late("Built.");
    assert_eq!(host.tree(), "Build it in_progress * [turn over]\n");
    assert_eq!(host.returned("f1").as_deref(), Some("Built."));
}

#[test]
fn a_restart_makes_nothing_twice() {
    let mut host = Host::new().long_outputs();
    for restart in [false, true] {
        host.turn("Build it", "Built.");
        host.user("Add dates");
        host.todos(&[">parser"], "");
        if restart {
            host.restart();
        }
        host.step(&["make"]);
        host.todos(&["+parser"], "It reads.");
        host.reply("Done.");
        host.restart();
    }
    host.user("Bye");
    let sent = host.sent();
    assert_snapshot!(host.tree(), @r"
    Build it in_progress * [turn over]
      Add dates completed
        parser completed
      Build it completed
      Add dates completed
        parser completed
    ");
    host.restart();
    host.sync();
    assert_eq!(host.sent(), sent);
}

#[test]
fn what_the_host_shows_again_is_framed_once() {
    let mut host = Host::new();
    host.turn("Build it", "Built.");
    host.turn("Test it", "Tested.");
    let tree = host.tree();
    for message in 0..host.shown.len() {
        host.show_again_from(message);
        host.sync();
        assert_eq!(host.tree(), tree, "from {message}");
    }
}

#[test]
fn two_processes_frame_a_session_once() {
    let mut host = Host::new();
    let other = host.other();
    let sync = |host: &Host| {
        let answer = other.sync(whole(SESSION, host.shown.clone()));
        assert!(matches!(answer, Ok(SyncAnswer::Ops { .. })));
    };
    host.user("Build it");
    host.step(&["make", "make", "make", "make"]);
    sync(&host);
    host.step(&["make"]);
    host.reply_unheard("Built.");
    sync(&host);
    host.user("Thanks");
    sync(&host);
    assert_eq!(host.tree(), "Build it in_progress * [turn over]\n");
}

#[test]
fn a_session_from_before_is_framed_when_the_level_rises() {
    let mut host = Host::with(Level::Manual);
    host.turn("Build it", "Built.");
    host.turn("Test it", "Tested.");
    host.user("Go on");
    host.push("Later");
    assert_eq!(host.tree(), "Build it in_progress\n  Later in_progress *\n");
    host.restart();
    host.step(&["look"]);
    assert_eq!(
        host.tree(),
        "Build it in_progress [turn over]\n  Later in_progress *\n  Test it completed\n"
    );
}

#[test]
fn where_the_level_falls_what_is_open_ends_and_nothing_begins() {
    let mut host = Host::new();
    host.user("Build it");
    host.step(&["make", "make", "make", "make"]);
    host.engine.set_setting("STACK_AUTONOMY_LEVEL", Some("manual")).unwrap();
    host.reply("Built.");
    assert_eq!(host.tree(), "Build it in_progress * [turn over]\n");
    host.turn("Test it", "Tested.");
    assert_eq!(host.tree(), "Build it in_progress * [turn over]\n");
}

#[test]
fn the_log_of_a_turn_holds_its_steps() {
    let mut host = Host::new();
    host.turn("Build it", "Built.");
    host.turn("Test it", "Tested.");
    host.user("Thanks");
    let logged = |frame: &str| {
        let frame = host.engine.resolve(frame).unwrap();
        let log = host.engine.log(&frame).unwrap();
        (json!(frame.status), log.into_iter().map(|message| message.id).collect::<Vec<_>>())
    };
    let of = |messages: std::ops::RangeInclusive<u32>| {
        messages.map(|n| format!("msg_{n}")).collect::<Vec<_>>()
    };
    assert_eq!(logged("f2"), (json!("completed"), of(6..=8)));
    let (status, root) = logged("f1");
    assert_eq!((status, &root[..8]), (json!("in_progress"), &of(1..=8)[..]), "all of the session");
}
