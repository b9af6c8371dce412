//! The observations of a frame's work.

use callstack_core::evidence::Action;
use callstack_core::transcript::{CallState, ToolCall};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::test_env::{TestEnv, called, ran, wrote};

fn observed(desk: &mut TestEnv) -> Value {
    desk.sync();
    desk.ask("stack_should_push", json!({})).data["observed"].clone()
}

#[test]
fn only_the_frames_own_messages_count() {
    let mut desk = TestEnv::new();
    desk.user("Make the build pass");
    desk.step(&[wrote("src/a.rs"), ran("make", 2)]);
    desk.push("Inner");
    assert_eq!(observed(&mut desk)["messages"], 0);
    desk.fail(2);
    desk.push("Innermost");
    desk.step(&[wrote("b"), wrote("c")]);
    desk.pop();
    let inner = observed(&mut desk);
    assert_eq!((&inner["filesChanged"], &inner["errors"]), (&json!(1), &json!(2)), "{inner}");
    desk.pop();
    let outer = observed(&mut desk);
    assert_eq!((&outer["filesChanged"], &outer["errors"]), (&json!(1), &json!(1)), "{outer}");
    assert_eq!((&outer["steps"], &outer["userTurns"]), (&json!(2), &json!(1)), "{outer}");
    desk.restart();
    assert_eq!(observed(&mut desk), outer);
}

#[test]
fn what_an_agent_says_is_added_to_what_is_seen_and_kept_apart() {
    let mut desk = TestEnv::new();
    desk.user("Make the build pass");
    desk.fail(2);
    desk.sync();
    let plain = desk.ask("stack_should_push", json!({}));
    assert_eq!(
        (&plain.data["confidence"], &plain.data["recommended"]),
        (&json!(35), &json!(false))
    );
    assert!(plain.text.contains("2 failures not put right"), "{}", plain.text);
    let hinted = desk.ask(
        "stack_should_push",
        json!({"errorCount": 1, "messageCount": 90, "fileChanges": 9, "newGoal": "Write release notes about invoices"}),
    );
    assert_eq!(hinted.data["observed"], plain.data["observed"]);
    assert_eq!(
        (&hinted.data["observedConfidence"], &hinted.data["recommended"]),
        (&json!(35), &json!(true))
    );
    assert!(hinted.text.contains("alone it would be 35 %"), "{}", hinted.text);
    let pop = desk.ask(
        "stack_should_pop",
        json!({"successSignals": ["all green", "reviewed"], "artifacts": ["a", "b"]}),
    );
    let goal = &pop.data["readings"][0];
    assert_eq!(goal["heuristic"], "goal_completion");
    let failed = desk.ask(
        "stack_should_pop",
        json!({"failureSignals": ["no", "no", "no"], "noProgressTurns": 8, "tokenUsage": 30}),
    );
    assert_eq!(failed.data["readings"][0]["heuristic"], "stagnation");
    assert_eq!(failed.data["recommended"], true, "{}", failed.text);
}

#[test]
fn a_goal_that_is_set_later_is_what_counts() {
    let mut desk = TestEnv::new();
    desk.user("Hello there");
    desk.step(&[ran("cat docs/invoices.md", 0)]);
    assert_eq!(observed(&mut desk)["coverage"], 0);
    desk.call("stack_set_goal", json!({"title": "Invoices", "successCriteria": "docs invoices"}));
    assert_eq!(observed(&mut desk)["coverage"], 100);
}

#[derive(Clone, Debug)]
enum Act {
    Say(&'static str),
    Do(Vec<ToolCall>),
    Push,
    Pop,
}

fn act() -> impl Strategy<Value = Act> {
    let fact = prop_oneof![
        (0..3_u8, 0..2_i64).prop_map(|(n, exit)| ran(&format!("make {n}"), exit)),
        (0..4_u8).prop_map(|n| wrote(&format!("d{}/f{n}", n % 2))),
        (0..3_u8).prop_map(|n| called("read", Action::Read(format!("f{n}")))),
        Just(ToolCall {
            output: Some("no".to_owned()),
            ..ToolCall::new("", "edit", CallState::Failed)
        }),
        (0..2_u64).prop_map(|input| ToolCall {
            input_hash: Some(input),
            ..called("glob", Action::Other)
        }),
    ];
    let words =
        ["Go on", "Migrate database tables towards postgres clusters", "Make it pass"].to_vec();
    prop_oneof![
        1 => proptest::sample::select(words).prop_map(Act::Say),
        4 => proptest::collection::vec(fact, 0..4).prop_map(Act::Do),
        1 => Just(Act::Push),
        1 => Just(Act::Pop),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// A process that saw the messages one by one has the same observations as one that is shown everything at once.
    #[test]
    fn a_restart_sees_the_same(acts in proptest::collection::vec(act(), 1..25)) {
        let mut desk = TestEnv::new();
        desk.user("Make the build pass");
        let mut depth = 0;
        for act in acts {
            match act {
                Act::Say(words) => desk.user(words),
                Act::Do(calls) => desk.step(&calls),
                Act::Push => {
                    depth += 1;
                    desk.push("Inner");
                }
                Act::Pop if depth > 0 => {
                    depth -= 1;
                    desk.pop();
                }
                Act::Pop => {}
            }
        }
        let (before, said) = (observed(&mut desk), desk.said());
        desk.restart();
        prop_assert_eq!(observed(&mut desk), before);
        prop_assert_eq!(desk.said(), said);
    }
}
