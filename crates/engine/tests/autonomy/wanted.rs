//! The settings: each changes something, and at once.

use callstack_core::evidence::Action;
use callstack_core::framing::{Division, Todo, TodoStatus};
use callstack_core::transcript::ToolCall;
use callstack_engine::{Kind, Level, SystemRequest};
use serde_json::json;

use super::test_env::{TestEnv, called, wrote};

fn failing(vars: &[(&str, &str)], times: usize) -> TestEnv {
    failing_at(TestEnv::with(vars), times)
}

/// The same where this was set by an agent.
fn failing_set(changed: serde_json::Value, times: usize) -> TestEnv {
    let desk = TestEnv::new();
    desk.ask("stack_autonomy", changed);
    failing_at(desk, times)
}

fn failing_at(mut desk: TestEnv, times: usize) -> TestEnv {
    desk.user("Make the build pass");
    desk.fail(times);
    desk.sync();
    desk
}

#[test]
fn nothing_is_suggested_with_the_level_manual() {
    let mut desk = failing_set(json!({"level": "manual"}), 6);
    desk.push("A frame");
    desk.tokens = 126_000;
    for words in ["One", "Two", "Three", "Four"] {
        desk.user(words);
        desk.step(&[wrote("src/a.rs")]);
    }
    assert_eq!((desk.said().len(), desk.history().len()), (0, 0));
    let answer = desk.ask("stack_should_pop", json!({}));
    assert_eq!(answer.data["recommended"], true, "but who asks is told: {}", answer.text);
    desk.ask("stack_autonomy", json!({"level": "suggest"}));
    assert!(!desk.said().is_empty(), "and it is never too late");
}

#[test]
fn both_other_levels_suggest() {
    for level in ["suggest", "auto"] {
        let mut desk = failing(&[("STACK_AUTONOMY_LEVEL", level)], 3);
        assert_eq!(desk.said().len(), 1, "{level}");
    }
}

#[test]
fn the_push_threshold_is_reached_or_not() {
    let said = |threshold: &str| failing(&[("STACK_PUSH_THRESHOLD", threshold)], 3).said().len();
    assert_eq!(["75", "76"].map(said), [1, 0]);
    assert_eq!(failing(&[("STACK_PUSH_THRESHOLD", "15")], 1).said().len(), 1);
}

#[test]
fn the_pop_threshold_is_reached_or_not() {
    let said = |threshold: &str| {
        let mut desk = failing(&[("STACK_POP_THRESHOLD", threshold)], 0);
        desk.push("A frame");
        desk.tokens = 96_000;
        for file in ["a", "b", "c"] {
            desk.step(&[wrote(file)]);
        }
        desk.said().len()
    };
    assert_eq!(["75", "79"].map(said), [1, 0]);
}

#[test]
fn only_enabled_heuristics_are_asked() {
    let with = |names: &str| failing(&[("STACK_ENABLED_HEURISTICS", names)], 3);
    assert_eq!(with("duration,stagnation").said().len(), 0);
    let mut desk = with("moods,failure_boundary");
    assert_eq!(desk.said().len(), 1);
    for (tool, arguments) in [("stack_autonomy", json!({})), ("stack_should_push", json!({}))] {
        let answer = desk.ask(tool, arguments);
        assert_eq!(answer.data["unknownHeuristics"], json!(["moods"]), "{tool}");
        assert!(answer.text.contains("No heuristic is called moods"), "{}", answer.text);
    }
}

#[test]
fn suggestions_that_are_not_sent_are_kept() {
    let mut desk = failing_set(json!({"suggestInContext": false}), 3);
    assert_eq!((desk.said().len(), desk.waiting()), (0, vec![1]));
    desk.ask("stack_auto_suggest", json!({"enabled": true}));
    desk.push("Another way");
    desk.fail(3);
    assert_eq!(desk.said().len(), 1, "from now on they are");
    assert_eq!(desk.history()[1], (1, "acted_on".to_owned()));
}

#[test]
fn in_the_system_prompt_they_stand_while_they_wait() {
    let mut desk = failing(&[("STACK_CONTEXT_PLACEMENT", "system")], 3);
    let system = |desk: &TestEnv| {
        let request = SystemRequest { session: desk.session.clone(), limit: None };
        desk.engine.system(&request).unwrap().concat()
    };
    assert_eq!(desk.said().len(), 0, "there and nowhere else");
    assert!(system(&desk).contains("[STACK SUGGESTION: Consider pushing"), "{}", system(&desk));
    desk.ask("stack_auto_suggest", json!({"enabled": false}));
    assert!(!system(&desk).contains("SUGGESTION"));
    desk.ask("stack_auto_suggest", json!({"enabled": true}));
    desk.wait(5 * super::test_env::MINUTE);
    assert!(!system(&desk).contains("SUGGESTION"), "it has expired");
}

#[test]
fn what_is_set_counts_until_it_is_reset() {
    let mut desk = TestEnv::with(&[("STACK_PUSH_THRESHOLD", "90"), ("STACK_POP_THRESHOLD", "80")]);
    let changed = json!({
        "level": "auto", "pushThreshold": 55, "enabledHeuristics": ["duration", "luck"],
        "suggestInContext": false,
    });
    let answer = desk.ask("stack_autonomy", changed);
    for line in [
        "STACK_AUTONOMY_LEVEL: auto (set here)",
        "STACK_PUSH_THRESHOLD: 90 (from the environment; `55` is set here, and counts once the variable is gone)",
        "STACK_POP_THRESHOLD: 80 (from the environment)",
        "STACK_SUGGEST_IN_CONTEXT: off (set here)",
        "STACK_ENABLED_HEURISTICS: duration,luck (set here)",
        "Heuristics that are asked: duration.",
        "No heuristic is called luck",
    ] {
        assert!(answer.text.contains(line), "{line} is missing in\n{}", answer.text);
    }
    desk.restart();
    let settings = desk.engine.autonomy().unwrap();
    assert_eq!(
        (settings.level, settings.push_threshold, settings.pop_threshold),
        (Level::Auto, 90, 80)
    );
    let answer = desk.ask("stack_autonomy", json!({"reset": true, "popThreshold": 10}));
    let settings = desk.engine.autonomy().unwrap();
    assert_eq!(
        (settings.level, settings.push_threshold, settings.pop_threshold),
        (Level::Suggest, 90, 80)
    );
    assert!(answer.text.contains("STACK_AUTONOMY_LEVEL: suggest (default)"), "{}", answer.text);
    let answer = desk.ask("stack_autonomy", json!({"enabledHeuristics": []}));
    assert!(answer.text.contains("Heuristics that are asked: none."), "{}", answer.text);
}

#[test]
fn one_value_that_cannot_be_changes_nothing() {
    use callstack_core::transcript::Anchor;
    use callstack_engine::operation::Caller;
    use callstack_engine::operations;

    let desk = TestEnv::new();
    let before = desk.engine.autonomy().unwrap();
    let caller = Caller {
        agent: None,
        performs: false,
        reveal: true,
        key: None,
        session: desk.session.clone(),
        host: "test".to_owned(),
        anchor: Anchor { message: None, call: None },
    };
    let operation = operations::find("stack_autonomy").unwrap();
    let wrong = json!({"level": "auto", "pushThreshold": 101});
    let error = operation.run(&desk.engine, &caller, wrong).unwrap_err();
    assert_eq!(error.kind, Kind::Invalid);
    assert!(error.sentence().contains("from 0 to 100"), "{}", error.sentence());
    assert_eq!(desk.engine.autonomy().unwrap(), before);
}

#[test]
fn a_frame_for_what_comes_next_is_suggested_where_that_begins() {
    let vars = [("STACK_PUSH_THRESHOLD", "20"), ("STACK_ENABLED_HEURISTICS", "complexity")];
    let mut desk = TestEnv::with(&vars);
    desk.user("Write the parts");
    for file in 0..8 {
        desk.step(&[wrote(&format!("src/{file}.rs"))]);
    }
    assert_eq!(desk.said(), [""; 0], "in the middle of work");
    desk.user("And now the documentation of all of them");
    assert_eq!(desk.said(), [""; 0], "the user's message is no place for it");
    desk.step(&[wrote("README.md")]);
    assert_eq!(desk.said().len(), 1);
    desk.step(&[wrote("docs/a.md")]);
    assert_eq!(desk.said().len(), 1);
}

#[test]
fn nothing_is_suggested_for_work_when_the_list_is_done() {
    for (status, said) in [(TodoStatus::InProgress, 1), (TodoStatus::Completed, 0)] {
        let mut desk = failing(&[], 2);
        let items = vec![Todo { id: None, content: "Make it pass".to_owned(), status }];
        let division = Some(Division::Todos(items));
        desk.step(&[ToolCall { division, ..called("todowrite", Action::Other) }]);
        desk.fail(1);
        assert_eq!(desk.said().len(), said, "{status:?}");
    }
}
