//! Every operation through the one tool that reaches them all: a right call and a wrong one.

use callstack_engine::operation::CallerKind;
use callstack_engine::operations;
use std::fmt::Write as _;

use callstack_scripted_model::{Script, Step};
use callstack_testkit::{Run, assert_clean};
use serde_json::{Value, json};

use super::project::Project;
use super::seen::{result_of, snapshot};
use super::steps::{named, stack, write};

/// Calls and what is expected of their answers.
fn calls() -> Vec<(&'static str, Value, &'static str)> {
    let child = json!({"title": "Second draft", "successCriteria": "It reads well"});
    vec![
        ("stack_set_goal", json!({"title": "Write a poem", "successCriteria": "It rhymes"}), "f1"),
        ("stack_set_goal", json!({"title": "Write a poem"}), "successCriteria"),
        ("stack_frame_plan", json!({"children": [child]}), "f2"),
        ("stack_frame_plan", json!({"children": []}), "nothing to plan"),
        (
            "stack_frame_push",
            json!({"title": "First draft", "successCriteria": "It is there"}),
            "f3",
        ),
        ("stack_frame_push", json!({"title": " ", "successCriteria": "It is there"}), "title"),
        ("stack_pin", json!({"text": "No more than 14 lines."}), "f3"),
        ("stack_pin", json!({"words": "No more than 14 lines."}), "text"),
        ("stack_add_decision", json!({"decision": "It is a sonnet: short."}), "f3"),
        ("stack_add_decision", json!({"decision": 4}), "decision"),
        ("stack_add_artifact", json!({"artifact": "poem.txt"}), "f3"),
        ("stack_add_artifact", json!({"artifact": "poem.txt", "frame": "f99"}), "f99"),
        ("stack_status", json!({}), "First draft"),
        ("stack_tree", json!({}), "○ f2 Second draft"),
        ("stack_tree", json!("f1"), "Error"),
        ("stack_frame_details", json!({}), "14 lines"),
        ("stack_frame_details", json!({"frame": "frm-none"}), "frm-none"),
        ("stack_context_preview", json!({}), "<stack-context"),
        ("stack_context_preview", json!({"frame": "x"}), "`x`"),
        ("stack_context_info", json!({}), "tokens"),
        ("stack_context_info", json!({"frame": 3}), "frame"),
        ("stack_cache_clear", json!({}), "forgotten"),
        ("stack_cache_clear", json!({"sessionID": 1}), "sessionID"),
        ("stack_get_state", json!({}), "\"rootFrameIDs\""),
        ("stack_compaction_info", json!({}), "Pending: none"),
        ("stack_compaction_info", json!({"of": 1}), "no arguments"),
        ("stack_get_summary", json!({}), "no generated summary"),
        ("stack_get_summary", json!({"frame": "f99"}), "f99"),
        ("stack_frame_summarize", json!({"note": 1}), "note"),
        ("stack_autonomy", json!({"popThreshold": 80}), "STACK_POP_THRESHOLD: 80 (set here)"),
        ("stack_autonomy", json!({"popThreshold": 101}), "from 0 to 100"),
        ("stack_should_push", json!({"messageCount": 4}), "Observed in f3"),
        ("stack_should_push", json!({"messages": 4}), "messageCount"),
        ("stack_should_pop", json!({"successSignals": ["it rhymes"]}), "goal_completion"),
        ("stack_should_pop", json!({"tokenUsage": 170}), "100 percent"),
        ("stack_auto_suggest", json!({"enabled": true}), "Suggestions are on"),
        ("stack_auto_suggest", json!({"enabled": "maybe"}), "enabled"),
        ("stack_autonomy_stats", json!({}), "0 made"),
        ("stack_autonomy_stats", json!({"all": true}), "no arguments"),
        ("stack_config", json!({"idleDelay": 7_000}), "idleDelay: 7000 (set here)"),
        ("stack_config", json!({"patterns": ["a,b"]}), "contains a comma"),
        ("stack_stats", json!({}), "Child sessions: 0"),
        ("stack_stats", json!({"all": true}), "no arguments"),
        ("stack_subagent_list", json!({}), "None."),
        ("stack_subagent_list", json!({"filter": "busy"}), "active"),
        ("stack_subagent_complete", json!({"sessionID": "ses_no"}), "no session and no frame"),
        ("stack_unpin", json!({"pin": "p1"}), "f3"),
        ("stack_unpin", json!({"pin": "p7"}), "p7"),
        ("stack_frame_pop", json!({"results": "", "frame": "f2"}), "planned"),
        ("stack_frame_pop", json!({"results": "Done.", "status": "done"}), "completed"),
        ("stack_frame_pop", json!({"results": "14 lines, rhymed abab."}), "rhymed abab"),
        ("stack_log", json!({"frame": "f3", "from": 2, "count": 1}), "messages 2 to 2"),
        ("stack_log", json!({"frame": "f3", "count": "all"}), "count"),
        ("stack_search", json!({"query": "roses"}), "Roses are red"),
        ("stack_search", json!({"words": "rhymed"}), "query"),
        ("stack_frame_reopen", json!({"frame": "f3"}), "f3"),
        ("stack_frame_reopen", json!({"frame": "f2"}), "Error"),
        ("stack_frame_pop", json!({"results": "The last word is changed."}), "last word"),
        ("stack_frame_activate", json!({"frame": "f3"}), "Error"),
        ("stack_frame_retry", json!({"frame": "f2"}), "was not tried yet"),
        ("stack_frame_activate", json!({"frame": "f2", "in": "here"}), "f2 is open now"),
        ("stack_frame_invalidate", json!({"frame": "f2"}), "reason"),
        ("stack_frame_invalidate", json!({"frame": "f2", "reason": "One is enough."}), "f2"),
        (
            "stack_frame_plan_children",
            json!({"parentSessionID": "f1", "children": [{"title": "Rhymes", "successCriteria": "x"}]}),
            "\"Rhymes\"",
        ),
        (
            "stack_frame_plan_children",
            json!({"children": [{"title": "Rhymes"}]}),
            "successCriteria",
        ),
        (
            "stack_frame_replan",
            json!({"frame": "f4", "title": "Good rhymes"}),
            "\"Good rhymes\" is",
        ),
        ("stack_frame_replan", json!({"frame": "f4"}), "nothing to change"),
        ("stack_preset", json!({"name": "review", "values": {"change": "it"}}), "Review it"),
        ("stack_preset", json!({"name": "review"}), "no value is given for change"),
        ("stack_frame_unplan", json!({"frame": "f4"}), "is out of the plan"),
        ("stack_frame_unplan", json!({"frame": "f1"}), "no plan any more"),
        ("stack_navigate", json!({"to": "f1"}), "the open one already"),
        ("stack_navigate", json!({"to": "f3"}), "is completed"),
        ("stack_frame_consolidate", json!({}), "less than two"),
        ("stack_frame_consolidate", json!({"keep": 0}), "stands for 2 frames: f2, f3"),
        ("stack_frame_fly", json!({}), "no operation"),
        ("tree", json!({}), "⊘ f2 Second draft"),
    ]
}

/// Operations that answer with times, measurements and paths of the machine.
const UNSTEADY: [&str; 6] = [
    "stack_get_state",
    "stack_context_info",
    "stack_cache_clear",
    "stack_should_push",
    "stack_should_pop",
    "stack_search",
];

#[test]
fn each_operation_answers_and_a_wrong_call_says_what_is_right() {
    let listed = named(Step::call("stack", json!({"op": "all"})), "list");
    let numbered = calls().into_iter().enumerate();
    let asked = numbered.map(|(at, (op, args, _))| named(stack(op, &args), &format!("call-{at}")));
    let first = [write("poem.txt", "Roses are red"), listed];
    let closing = [Step::text("A poem.")];
    let Some(project) = Project::new(Script::steps(first.into_iter().chain(asked).chain(closing)))
    else {
        return;
    };
    project.run(&Run::prompt("Write me a poem, please."));
    assert_clean(&project.model);
    let requests = project.requests();
    let list = result_of(&requests[2], "list");
    for operation in operations::callable_by(CallerKind::Agent) {
        let named = operation.name == "stack" || list.contains(&format!("- {}(", operation.name));
        assert!(named, "{} is not listed", operation.name);
        let called = operation.name == "stack" || calls().iter().any(|it| it.0 == operation.name);
        assert!(called, "{} is not called here", operation.name);
    }
    let mut text = format!("── stack all\n{}\n", list.trim_end());
    let mut wrong = Vec::new();
    for (at, (op, args, expected)) in calls().into_iter().enumerate() {
        // The first form of the answer, which a later pop folds away. The answer of a pop stands at its push.
        let request = &requests[at + 3];
        let own = Some(result_of(request, &format!("call-{at}"))).filter(|own| !own.is_empty());
        let answer = own.or_else(|| request.last_tool_text()).unwrap();
        if !UNSTEADY.contains(&op) {
            writeln!(text, "── stack {op} {args}\n{}", answer.trim_end()).unwrap();
        }
        if !answer.contains(expected) {
            wrong.push(format!("{op} {args}: {expected:?} is not in {answer:?}"));
        }
    }
    snapshot("operations", &text);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
