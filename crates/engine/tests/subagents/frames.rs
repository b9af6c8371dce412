//! The sessions that get frames.

use callstack_core::transcript::Role;
use callstack_engine::{World as _, operations};
use serde_json::json;

use super::{CHILD, NAMED, PARENT, TestEnv, message};
use crate::support::{caller, wait};

#[test]
fn a_subagent_gets_a_frame_below_the_one_that_its_caller_worked_in() {
    let desk = TestEnv::new(&[]);
    desk.begins(CHILD, PARENT, NAMED);
    // Whatever else is in the caller's step, the call was made in f2.
    desk.did("stack_frame_push", json!({"title": "Meanwhile", "successCriteria": "done"}));
    desk.user(CHILD, "Look into it");
    assert_eq!(desk.frame("f4"), "look in_progress");
    let frame = desk.engine.resolve("f4").unwrap();
    assert_eq!(frame.parent.map(|it| it.0), Some(2));
    assert_eq!(frame.identity.success_criteria, "Look into it");
    let tracked = desk.tracked(CHILD);
    assert_eq!((tracked.is_subagent, tracked.has_frame), (true, true));
    assert_eq!(tracked.caller.map(|it| it.0), Some(2));
    desk.assert_sound();
}

#[test]
fn the_record_has_the_specifications_names() {
    let desk = TestEnv::new(&[]);
    desk.subagent(CHILD, NAMED, "It says 6.");
    desk.engine.session_idle(CHILD).unwrap();
    wait(|| desk.tracked(CHILD).message_count == 1);
    let record = serde_json::to_value(desk.tracked(CHILD)).unwrap();
    for (name, value) in [
        ("sessionID", json!(CHILD)),
        ("parentSessionID", json!(PARENT)),
        ("title", json!(NAMED)),
        ("createdAt", json!(1_700_000_000_000_i64)),
        ("lastActivityAt", json!(1_700_000_000_000_i64)),
        ("isSubagent", json!(true)),
        ("hasFrame", json!(true)),
        ("messageCount", json!(1)),
        ("isIdle", json!(true)),
        ("isCompleted", json!(false)),
    ] {
        assert_eq!(record[name], value, "{name}");
    }
}

#[test]
fn a_small_session_of_another_name_gets_no_frame() {
    let desk = TestEnv::new(&[]);
    desk.subagent(CHILD, "a question", "It says 6.");
    desk.calls(CHILD, vec![message("msg-0", Role::User, "Look into it")]);
    desk.engine.session_idle(CHILD).unwrap();
    assert_eq!(desk.engine.active(CHILD).unwrap(), None);
    let stats = desk.engine.subagent_stats().unwrap();
    assert_eq!((stats.tracked, stats.detected, stats.with_frames, stats.skipped), (1, 0, 0, 1));
    desk.did("stack_frame_pop", json!({"results": "known"}));
}

#[test]
fn a_session_proves_itself_by_messages_by_its_length_or_by_a_push() {
    let words = || message("msg-0", Role::User, "Look into it");
    let step = |id: &str| message(id, Role::Assistant, "on it");

    let desk = TestEnv::new(&[]);
    desk.subagent(CHILD, "a question", "It says 6.");
    desk.calls(CHILD, vec![words(), step("msg-1")]);
    assert_eq!(desk.engine.active(CHILD).unwrap(), None);
    desk.calls(CHILD, vec![words(), step("msg-1"), step("msg-2")]);
    assert_eq!(desk.frame("f3"), "Look into it in_progress");

    let desk = TestEnv::new(&[]);
    desk.subagent(CHILD, "a question", "It says 6.");
    desk.pass(60_000);
    let reaction = desk.engine.session_idle(CHILD).unwrap();
    assert_eq!(desk.engine.resolve("f3").unwrap().parent.map(|it| it.0), Some(2));
    assert_eq!(reaction.wake_at, Some(desk.clock.now() + 5_000));

    let desk = TestEnv::new(&[]);
    desk.subagent(CHILD, "a question", "It says 6.");
    let push = operations::find("stack_frame_push").unwrap();
    let arguments = json!({"title": "Deep", "successCriteria": "found"});
    push.run(&desk.engine, &caller(CHILD), arguments).unwrap();
    let deep = desk.engine.resolve("f4").unwrap();
    assert_eq!((deep.identity.title.as_str(), deep.depth), ("Deep", 3));
}

#[test]
fn switched_off_nobody_is_looked_at() {
    let desk = TestEnv::new(&[("STACK_SUBAGENT_ENABLED", "false")]);
    desk.subagent(CHILD, NAMED, "It says 6.");
    desk.calls(CHILD, vec![message("msg-0", Role::User, "Look into it")]);
    desk.engine.session_idle(CHILD).unwrap();
    assert_eq!(desk.engine.active(CHILD).unwrap(), None);
    assert_eq!(desk.engine.subagent_stats().unwrap().tracked, 0);
    desk.did("stack_frame_pop", json!({"results": "known"}));
}
