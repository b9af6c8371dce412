//! The choice of finished work that is folded, and the time: work that is not worth a fold stays as it was sent.

use callstack_core::transcript::Held;
use callstack_engine::{Level, SyncAnswer, SyncRequest};

use super::host::{Host, SESSION};
use crate::plugin::whole;

impl Host {
    /// Why the newest span of a frame is sent as it is.
    fn held(&self, frame: &str) -> Option<Held> {
        self.span(frame).fold.unwrap().held
    }

    fn is_light(&self, frame: &str) -> bool {
        matches!(self.held(frame), Some(Held::Light { .. }))
    }

    /// Whether the model is sent everything as it was said.
    fn is_sent_whole(&self) -> bool {
        let said: Vec<_> = self.shown.iter().map(|shown| shown.message.id.clone()).collect();
        self.sent() == said
    }
}

#[test]
fn a_small_turn_is_a_frame_but_stays_in_the_request() {
    let mut host = Host::new();
    let mut without = Host::with(Level::Manual);
    for host in [&mut host, &mut without] {
        host.turn("Build it", "Built.");
    }
    assert_eq!(host.held("f1"), Some(Held::Unweighed), "the user has not spoken yet");
    for host in [&mut host, &mut without] {
        host.user("Thanks");
        host.reply("Gladly.");
        host.user("Bye");
    }
    assert_eq!(host.tree(), "Build it in_progress * [turn over]\n");
    assert!(host.is_light("f1"), "{:?}", host.held("f1"));
    assert_eq!(host.sent(), without.sent());
    assert!(host.is_sent_whole());
    assert_eq!(host.returned("f1").as_deref(), Some("Built."));
    assert!(host.folded("f1").contains("- checks: `make`, `make test`"), "{}", host.folded("f1"));
}

#[test]
fn it_is_folded_after_a_pause_and_stays_so() {
    for (in_the_middle_of_a_turn, masks) in [(false, "auto"), (true, "auto"), (true, "off")] {
        let mut host = Host::new();
        host.engine.set_setting("STACK_MASK_OUTPUTS", Some(masks)).unwrap();
        host.turn("Build it", "Built.");
        host.user("Test it");
        host.pass(4);
        host.step(&["test"]);
        assert!(host.is_sent_whole(), "the provider still has it all");
        if !in_the_middle_of_a_turn {
            host.reply("Tested.");
            host.user("Fine");
        }
        assert!(host.is_sent_whole());
        host.pass(6);
        host.step(&["look"]);
        let folded = "msg_5 + [callstack] first turn of frame f1 \"Build it\", which goes on for the user's latest message: its steps have left";
        let sent = host.sent();
        assert_eq!(sent[..2], ["msg_1", "msg_4"]);
        assert!(sent[2].starts_with(folded), "{sent:#?}");
        assert_eq!(host.held("f1"), None);
        host.step(&["look"]);
        assert_eq!(host.sent()[..sent.len()], sent, "what was sent once stays");
    }
}

#[test]
fn a_small_item_stays_until_the_turn_around_it_is_folded() {
    let mut host = Host::new();
    host.user("Add dates");
    host.todos(&[">parser", "tests"], "");
    host.write("date.rs");
    host.todos(&["+parser", ">tests"], "It reads.");
    assert!(host.is_light("f2"), "{:?}", host.held("f2"));
    assert!(host.is_sent_whole());
    let mut host = host.long_outputs();
    host.step(&["test", "test", "test", "test"]);
    host.todos(&["+parser", "+tests"], "They pass.");
    assert_eq!(host.held("f3"), None, "it is large");
    let sent = host.sent();
    assert_eq!(sent[..3], ["msg_1", "msg_2", "msg_3"], "the small one stays in front of it");
    assert!(sent[3].starts_with("msg_4 = [callstack] frame f3 \"tests\" completed"), "{sent:#?}");
    host.step(&["make", "make", "make"]);
    host.reply("Dates are in.");
    assert_eq!(host.sent()[..4], sent[..4]);
    host.user("Thanks");
    let sent = host.sent();
    let turn = "msg_9 + [callstack] first turn of frame f1 \"Add dates\", which goes on for the user's latest message: its steps have left";
    assert_eq!(sent[..2], ["msg_1", "msg_8"]);
    assert!(sent[2].starts_with(turn) && sent.len() == 3, "{sent:#?}");
    assert!(host.folded("f1").contains("- f2 \"parser\" completed: It reads."));
}

#[test]
fn frames_that_somebody_pushed_or_popped_are_folded_however_small_they_are() {
    let mut host = Host::new();
    host.user("Build it");
    host.push("The build");
    host.step(&["make"]);
    host.pop("It is built.");
    assert_eq!(host.held("f2"), None);
    assert!(host.sent()[1].starts_with("msg_2 = [callstack]"), "{:#?}", host.sent());

    let mut host = Host::new();
    host.user("Build it");
    host.step(&["make", "make", "make", "make"]);
    host.pop("It is built.");
    host.user("Thanks");
    assert_eq!(host.held("f1"), None);
    assert!(!host.is_sent_whole());
}

/// Plays small work with a pause in it; with `restarts`, the process ends after each step. Returns the messages that
/// are sent for each call of the model.
fn sent_of_small_work(restarts: bool) -> Vec<Vec<String>> {
    let mut host = Host::new();
    let mut sent = Vec::new();
    let mut step = |step: &dyn Fn(&mut Host), calls: bool| {
        step(&mut host);
        if calls {
            sent.push(host.sent());
        }
        if restarts {
            host.restart();
        }
    };
    step(&|host| host.user("Build it"), true);
    step(&|host| host.step(&["make", "make", "make"]), true);
    step(&|host| host.reply("Built."), false);
    step(&|host| host.user("Add dates"), true);
    step(&|host| host.todos(&[">parser", "tests"], ""), true);
    step(&|host| host.write("date.rs"), true);
    step(&|host| host.todos(&["+parser", ">tests"], "It reads."), true);
    step(&|host| host.step(&["test"]), true);
    step(&|host| host.pass(6), false);
    step(&|host| host.step(&["test"]), true);
    step(&|host| host.todos(&["+parser", "+tests"], "They pass."), true);
    step(&|host| host.reply("Dates are in."), false);
    step(&|host| host.user("Thanks"), true);
    sent
}

#[test]
fn a_restart_between_any_two_steps_changes_nothing() {
    let sent = sent_of_small_work(false);
    let ours =
        |request: &Vec<String>| request.iter().filter(|line| line.contains("[callstack]")).count();
    assert_eq!(sent.iter().map(ours).collect::<Vec<_>>(), [0, 0, 0, 0, 0, 0, 0, 1, 2, 2]);
    assert_eq!(sent_of_small_work(true), sent);
}

#[test]
fn what_one_process_has_weighed_another_one_does_not_weigh_again() {
    let mut host = Host::new();
    host.turn("Build it", "Built.");
    host.user("Thanks");
    let held = host.held("f1");
    let sent = host.sent();
    // By the other one's clock the provider has forgotten everything, and the host has continued.
    host.reply("Gladly.");
    host.user("Test it");
    host.pass(6);
    host.restart();
    host.step(&["look"]);
    assert_eq!(host.held("f1"), None, "{held:?}");
    let folded = host.sent();
    assert_ne!(folded[..sent.len() - 1], sent[..sent.len() - 1]);
    host.restart();
    host.step(&["look"]);
    assert_eq!(host.sent()[..folded.len()], folded);
}

#[test]
fn an_undo_leaves_what_was_weighed() {
    let mut host = Host::new();
    host.turn("Build it", "Built.");
    let end = host.shown.len();
    host.user("Thanks");
    let light = host.held("f1");
    assert!(host.is_light("f1"));
    host.undo(end);
    host.user("Otherwise");
    assert_eq!(host.held("f1"), light);
    assert!(host.is_sent_whole());
    // With its end undone the turn goes on, and is weighed again at another end.
    host.undo(end - 1);
    let mut host = host.long_outputs();
    host.user("Go on");
    host.step(&["make", "make", "make", "make"]);
    host.reply("Built anew.");
    host.user("Thanks");
    assert_eq!(host.held("f1"), None);
    assert!(host.folded("f1").contains("its steps have left"), "{:#?}", host.sent());
    assert!(!host.is_sent_whole());
}

#[test]
fn what_a_summary_is_made_of_has_small_work_whole() {
    let mut host = Host::new();
    host.turn("Build it", "Built.");
    host.user("Thanks");
    let request = SyncRequest { compacting: true, ..whole(SESSION, host.shown.clone()) };
    let answer = host.engine.sync(request);
    let Ok(SyncAnswer::Ops { ops, .. }) = answer else { panic!("{answer:?}") };
    assert_eq!(ops, []);
}
