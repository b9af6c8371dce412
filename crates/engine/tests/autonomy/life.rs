//! From the making of a suggestion to its end.

use serde_json::json;

use super::test_env::{MINUTE, TestEnv, ran, wrote};

fn failing() -> TestEnv {
    let mut desk = TestEnv::new();
    desk.user("Make the build pass");
    desk.fail(3);
    desk
}

#[test]
fn it_is_said_once_and_stays_where_it_was_said() {
    let mut desk = TestEnv::new();
    desk.user("Make the build pass");
    desk.fail(2);
    assert_eq!(desk.said(), [""; 0]);
    desk.fail(1);
    let said = desk.said();
    let [text] = &said[..] else { panic!("{said:?}") };
    assert!(
        text.starts_with("[callstack] f1 is open. [STACK SUGGESTION: Consider pushing"),
        "{text}"
    );
    assert!(text.contains("for \"make\"") && text.contains("Reason: 3 failures"), "{text}");
    assert!(text.ends_with(']') && !text.contains('%'), "{text}");
    let ops = desk.sync().to_vec();
    desk.fail(2);
    desk.wait(6 * MINUTE);
    desk.fail(1);
    assert_eq!(desk.sync(), ops, "what was sent stays, and nothing comes to it");
    desk.user("And now?");
    assert_eq!(desk.said(), said);
}

#[test]
fn after_half_an_hour_it_may_be_said_again() {
    let mut desk = failing();
    let said = desk.said();
    desk.wait(29 * MINUTE);
    desk.fail(1);
    assert_eq!(desk.said(), said);
    desk.wait(2 * MINUTE);
    desk.fail(1);
    let again = desk.said();
    assert_eq!((again.len(), &again[..1]), (2, &said[..]));
    assert_eq!(desk.history(), [(2, "waiting".into()), (1, "expired".into())]);
}

#[test]
fn it_expires_after_five_minutes() {
    let mut desk = failing();
    desk.sync();
    desk.wait(5 * MINUTE - 1);
    assert_eq!((desk.waiting(), desk.history()), (vec![1], vec![(1, "waiting".to_owned())]));
    desk.wait(1);
    assert_eq!((desk.waiting(), desk.history()), (vec![], vec![(1, "expired".to_owned())]));
    desk.push("Late");
    assert_eq!(desk.history(), [(1, "expired".to_owned())], "a push that comes late is not for it");
    let stats = desk.ask("stack_autonomy_stats", json!({}));
    assert_eq!(stats.data["byHeuristic"]["failure_boundary"]["expired"], 1);
    assert_eq!(
        stats.data["push"],
        json!({"made": 1, "actedOn": 0, "expired": 1, "cleared": 0, "pending": 0})
    );
    assert!(
        stats.text.contains("failure_boundary (push): 1 made, 0 acted on, 1 expired"),
        "{}",
        stats.text
    );
}

#[test]
fn a_push_in_its_frame_acts_on_it() {
    let mut desk = failing();
    desk.sync();
    desk.push("Another way");
    assert_eq!(desk.history(), [(1, "acted_on".to_owned())]);
    assert_eq!(desk.ask("stack_autonomy_stats", json!({})).data["push"]["actedOn"], 1);
}

#[test]
fn so_does_starting_what_was_planned_and_no_push_elsewhere() {
    let mut desk = failing();
    desk.sync();
    let child = json!({"children": [{"title": "Later", "successCriteria": "done"}]});
    desk.call("stack_frame_plan", child);
    assert_eq!(desk.history(), [(1, "waiting".to_owned())]);
    let session = std::mem::replace(&mut desk.session, "ses_b".to_owned());
    desk.ask("stack_frame_push", json!({"title": "Elsewhere", "successCriteria": "done"}));
    desk.session = session;
    assert_eq!(desk.history(), [(1, "waiting".to_owned())]);
    desk.call("stack_frame_activate", json!({"frame": "f2"}));
    assert_eq!(desk.history(), [(1, "acted_on".to_owned())]);
}

#[test]
fn a_pop_acts_on_one_for_a_pop_and_clears_the_others() {
    let mut desk = TestEnv::new();
    desk.user("Make the build pass");
    desk.push("The build");
    desk.fail(3);
    desk.sync();
    for _ in 0..6 {
        desk.step(&[ran("make", 2)]);
    }
    let said = desk.said();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[1].contains("popping f2 \"The build\" (stack_frame_pop)"), "{said:?}");
    assert_eq!(desk.waiting(), [1, 2]);
    desk.pop();
    assert_eq!(desk.history(), [(2, "acted_on".into()), (1, "cleared".into())]);
    assert_eq!(desk.waiting(), [0; 0]);
}

#[test]
fn an_invalidated_frame_has_nothing_waiting() {
    let mut desk = failing();
    desk.push("Doomed");
    desk.fail(3);
    desk.sync();
    assert_eq!(desk.waiting(), [2]);
    desk.ask("stack_frame_invalidate", json!({"frame": "f2", "reason": "wrong way"}));
    assert_eq!(desk.history(), [(2, "cleared".into()), (1, "acted_on".into())]);
}

#[test]
fn what_is_cleared_does_not_come_back() {
    let mut desk = failing();
    let said = desk.said();
    let answer = desk.ask("stack_auto_suggest", json!({"clear": true}));
    assert_eq!(
        (&answer.data["cleared"], &answer.data["pendingSuggestions"]),
        (&json!(1), &json!([]))
    );
    desk.fail(2);
    assert_eq!(desk.said(), said);
    assert_eq!(desk.history(), [(1, "cleared".to_owned())]);
}

#[test]
fn a_restart_changes_nothing() {
    let mut desk = failing();
    let before = desk.sync().to_vec();
    let seen = |desk: &TestEnv| desk.ask("stack_should_push", json!({})).data["observed"].clone();
    let (signals, history, waiting) = (seen(&desk), desk.history(), desk.waiting());
    desk.restart();
    assert_eq!(desk.sync(), before);
    assert_eq!((seen(&desk), desk.history(), desk.waiting()), (signals, history, waiting));
    desk.fail(1);
    assert_eq!(desk.sync(), before, "it is not said again");
    desk.push("Another way");
    assert_eq!(desk.history(), [(1, "acted_on".to_owned())], "by the process that did not make it");
    assert!(desk.engine.check().unwrap().drifted.is_empty());
}

#[test]
fn two_processes_say_it_once() {
    let mut desk = failing();
    let before = desk.sync().to_vec();
    let first = std::mem::replace(&mut desk.engine, TestEnv::new().engine);
    desk.restart();
    desk.fail(1);
    assert_eq!(desk.sync(), before);
    drop(first);
    assert_eq!(desk.history().len(), 1);
}

#[test]
fn a_fork_is_given_the_notes_of_its_original() {
    let mut desk = TestEnv::new();
    desk.user("Make the build pass");
    desk.push("The build");
    desk.fail(3);
    let said = desk.said();
    desk.step(&[wrote("src/b.rs")]);
    desk.session = "ses_fork".to_owned();
    for shown in &mut desk.shown {
        shown.message.id = shown.message.id.replace("msg_", "fork_");
    }
    desk.restart();
    assert_eq!(desk.said()[..1], said, "what may follow is about frames of its own");
}
