//! The ends of child sessions' frames.

use callstack_core::subagent::Completion;
use callstack_engine::{Failure, Kind, World as _, operations};
use serde_json::json;

use super::{CHILD, NAMED, SILENCE, TestEnv};
use crate::support::caller;

#[test]
fn silence_ends_it_after_the_delay_whichever_process_is_there_then() {
    let mut desk = TestEnv::new(&[]);
    desk.subagent(CHILD, NAMED, "It says 6.");
    let reaction = desk.engine.session_idle(CHILD).unwrap();
    assert_eq!(reaction.wake_at, Some(desk.clock.now() + 5_000));
    desk.pass(4_999);
    assert_eq!(desk.engine.wake().unwrap().wake_at, Some(desk.clock.now() + 1));
    assert_eq!(desk.standing(), "idle");
    desk.restart();
    desk.pass(1);
    assert_eq!(desk.engine.wake().unwrap().wake_at, None);
    assert_eq!(desk.frame("f3"), format!("look completed: It says 6.{SILENCE}"));
    assert_eq!(desk.tracked(CHILD).completed_by, Some(Completion::Auto));
    desk.assert_sound();
}

#[test]
fn two_processes_that_wake_at_once_end_it_once() {
    let desk = TestEnv::new(&[]);
    desk.subagent(CHILD, NAMED, "It says 6.");
    desk.engine.session_idle(CHILD).unwrap();
    desk.pass(5_000);
    let others: Vec<_> = (0..3).map(|_| desk.another()).collect();
    std::thread::scope(|scope| {
        for engine in &others {
            scope.spawn(move || engine.wake().unwrap());
        }
    });
    assert_eq!(desk.frame("f3"), format!("look completed: It says 6.{SILENCE}"));
    assert_eq!(desk.engine.subagent_stats().unwrap().auto_completed, 1);
    desk.assert_sound();
}

#[test]
fn work_clears_the_deadline() {
    let mut desk = TestEnv::new(&[]);
    desk.subagent(CHILD, NAMED, "It says 6.");
    desk.engine.session_idle(CHILD).unwrap();
    desk.pass(3_000);
    desk.user(CHILD, "Look again");
    assert_eq!(desk.standing(), "active");
    desk.pass(9_000);
    assert_eq!(desk.engine.wake().unwrap().wake_at, None);
    assert_eq!(desk.frame("f3"), "look in_progress");

    // One that works without a report of that is left alone until it is silent again.
    desk.engine.session_idle(CHILD).unwrap();
    desk.pass(3_000);
    desk.says(CHILD, "msg-2", "Still on it.");
    desk.restart();
    desk.pass(3_000);
    assert!(desk.engine.wake().unwrap().wake_at.is_some());
    assert_eq!(desk.frame("f3"), "look in_progress");
    desk.pass(5_000);
    desk.engine.wake().unwrap();
    assert_eq!(desk.frame("f3"), format!("look completed: Still on it.{SILENCE}"));
}

#[test]
fn without_a_delay_it_ends_at_once() {
    let desk = TestEnv::new(&[("STACK_SUBAGENT_IDLE_DELAY", "0")]);
    desk.subagent(CHILD, NAMED, "It says 6.");
    assert_eq!(desk.engine.session_idle(CHILD).unwrap().wake_at, None);
    assert_eq!(desk.standing(), "completed");
}

#[test]
fn a_parents_pop_does_not_wait_for_the_deadline() {
    let desk = TestEnv::new(&[]);
    for session in [CHILD, "ses_other"] {
        desk.subagent(session, NAMED, "It says 6.");
        desk.engine.session_idle(session).unwrap();
    }
    desk.did("stack_frame_pop", json!({"results": "known"}));
    for frame in ["f3", "f4"] {
        assert_eq!(desk.frame(frame), format!("look completed: It says 6.{SILENCE}"));
    }
    desk.subagent("ses_third", NAMED, "On it.");
    let (kind, sentence) = desk.refused("stack_frame_pop", json!({"results": "all"}));
    assert_eq!(kind, Kind::Conflict, "{sentence}");
    assert!(sentence.contains("f5"), "{sentence}");
}

#[test]
fn what_is_below_a_silent_session_ends_before_it() {
    let desk = TestEnv::new(&[]);
    desk.subagent(CHILD, NAMED, "It says 6.");
    desk.begins("ses_deep", CHILD, "deeper (@general subagent)");
    desk.user("ses_deep", "Look deeper");
    desk.says("ses_deep", "msg-1", "The depth says 6.");
    desk.engine.session_idle("ses_deep").unwrap();
    desk.engine.session_idle(CHILD).unwrap();
    desk.did("stack_frame_pop", json!({"results": "known"}));
    assert_eq!(desk.frame("f4"), format!("deeper completed: The depth says 6.{SILENCE}"));
    assert_eq!(desk.frame("f3"), format!("look completed: It says 6.{SILENCE}"));
}

#[test]
fn what_still_works_below_a_silent_session_is_waited_for() {
    let desk = TestEnv::new(&[]);
    desk.subagent(CHILD, NAMED, "It says 6.");
    desk.begins("ses_deep", CHILD, "deeper (@general subagent)");
    desk.user("ses_deep", "Look deeper");
    desk.engine.session_idle(CHILD).unwrap();
    desk.pass(5_000);
    assert_eq!(desk.engine.wake().unwrap().wake_at, Some(desk.clock.now() + 5_000));
    assert_eq!(desk.frame("f3"), "look in_progress");
}

#[test]
fn a_task_ends_with_what_it_returned() {
    for (outcome, frame) in [
        (Ok("It says 6."), "look completed: It says 6."),
        (Err((false, "no way")), "look failed: It failed: no way.\n\nIts last words: On it."),
        (
            Err((true, "Stopped")),
            "look blocked: It was stopped: Stopped.\n\nIts last words: On it.",
        ),
    ] {
        let desk = TestEnv::new(&[]);
        desk.subagent(CHILD, NAMED, "On it.");
        desk.engine.session_idle(CHILD).unwrap();
        desk.returns("msg-a", outcome);
        assert_eq!(desk.frame("f3"), frame);
        assert_eq!(desk.tracked(CHILD).completed_by, Some(Completion::Returned));
        assert_eq!(desk.engine.wake().unwrap().wake_at, None);
        desk.did("stack_frame_pop", json!({"results": "known"}));
        desk.assert_sound();
    }
}

#[test]
fn a_task_whose_caller_died_with_it_is_ended_at_the_next_call() {
    let mut desk = TestEnv::new(&[]);
    desk.subagent(CHILD, NAMED, "On it.");
    desk.restart();
    desk.returns("msg-a", Err((true, "its caller was interrupted")));
    assert!(desk.frame("f3").starts_with("look blocked: It was stopped"), "{}", desk.frame("f3"));
}

#[test]
fn a_return_that_was_shown_before_ends_nothing_again() {
    let mut desk = TestEnv::new(&[]);
    desk.subagent(CHILD, NAMED, "It says 6.");
    desk.returns("msg-a", Ok("It says 6."));
    desk.user(CHILD, "And now?");
    assert_eq!(desk.frame("f4"), "look in_progress");
    assert_eq!(desk.standing(), "active");
    desk.restart();
    desk.returns("msg-a", Ok("It says 6."));
    assert_eq!(desk.frame("f4"), "look in_progress");
    assert_eq!(desk.engine.resolve("f4").unwrap().parent.map(|it| it.0), Some(2));
}

#[test]
fn its_own_pop_stands() {
    let desk = TestEnv::new(&[]);
    desk.subagent(CHILD, NAMED, "It says 6.");
    let pop = operations::find("stack_frame_pop").unwrap();
    pop.run(&desk.engine, &caller(CHILD), json!({"results": "Six."})).unwrap();
    desk.engine.session_idle(CHILD).unwrap();
    desk.returns("msg-a", Ok("It says 6."));
    assert_eq!(desk.frame("f3"), "look completed: Six.");
    assert_eq!(desk.tracked(CHILD).completed_by, Some(Completion::Popped));
}

#[test]
fn a_deleted_session_is_over() {
    let desk = TestEnv::new(&[]);
    desk.subagent(CHILD, NAMED, "On it.");
    desk.engine.session_deleted(CHILD).unwrap();
    assert!(desk.frame("f3").contains("its session was deleted"), "{}", desk.frame("f3"));
    desk.did("stack_frame_pop", json!({"results": "known"}));
}

#[test]
fn what_broke_it_off_survives_a_restart() {
    let mut desk = TestEnv::new(&[]);
    desk.subagent(CHILD, NAMED, "On it.");
    desk.engine
        .session_failed(CHILD, Failure { stopped: false, message: "no way".to_owned() })
        .unwrap();
    desk.engine.session_idle(CHILD).unwrap();
    // A host may report it twice.
    desk.engine.session_idle(CHILD).unwrap();
    desk.restart();
    desk.pass(5_000);
    desk.engine.wake().unwrap();
    assert_eq!(desk.frame("f3"), "look failed: It failed: no way.\n\nIts last words: On it.");
}
