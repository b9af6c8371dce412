//! Agents whose tools are those of the specification's first generation.

mod criteria;

use std::fmt::Write as _;

use callstack_engine::operation::CallerKind;
use callstack_engine::operations;
use callstack_scripted_model::{RecordedRequest, Step};
use serde_json::{Value, json};

use super::seen::{our_system, result_of, snapshot, tools};
use super::steps::{named, write};
use super::talk::Talk;

pub(crate) const FLAME: (&str, &str) = ("STACK_TOOLS", "flame");

/// A right and a wrong call of every tool, with an expected part of each answer.
fn calls() -> Vec<(&'static str, Value, &'static str)> {
    let children = json!([{"goal": "A title is found"}, {"goal": "It is set in type"}]);
    vec![
        ("flame_set_goal", json!({"goal": "A poem about the sea is there"}), "f1"),
        ("flame_set_goal", json!({"title": "A poem"}), "It takes: goal."),
        ("flame_plan", json!({"goal": "The poem is read aloud"}), "f2"),
        ("flame_plan", json!({"goal": " "}), "the goal is empty"),
        ("flame_plan_children", json!({"children": children}), "f4"),
        ("flame_plan_children", json!({"children": []}), "nothing to plan"),
        ("flame_push", json!({"goal": "A first draft of the poem is there"}), "f5 is open now"),
        ("flame_push", json!({}), "`goal` is missing"),
        ("flame_add_decision", json!({"decision": "It is a sonnet: short."}), "f5"),
        ("flame_add_decision", json!({"decision": 4}), "4 is no string"),
        ("flame_add_artifact", json!({"artifact": "poem.txt"}), "f5"),
        ("flame_add_artifact", json!({"artifact": "poem.txt", "sessionID": "f99"}), "`flame_tree`"),
        ("flame_status", json!({}), "A first draft of the poem is there"),
        ("flame_status", json!({"of": "f1"}), "no arguments"),
        ("flame_tree", json!({}), "○ f2 The poem is read aloud"),
        ("flame_tree", json!({"depth": 2}), "no arguments"),
        (
            "flame_context_preview",
            json!({}),
            "<decisions by=\"f5\" for=\"f5 and below\">It is a sonnet: short.</decisions>",
        ),
        ("flame_context_preview", json!({"sessionID": "x"}), "`x`"),
        ("flame_context_info", json!({}), "tokens"),
        ("flame_context_info", json!({"frame": "f1"}), "It takes: [sessionID]."),
        ("flame_cache_clear", json!({}), "forgotten"),
        ("flame_cache_clear", json!({"sessionID": 1}), "1 is no string"),
        ("flame_get_state", json!({}), "\"rootFrameIDs\""),
        ("flame_get_state", json!({"pretty": true}), "no arguments"),
        ("flame_compaction_info", json!({}), "Pending: none"),
        ("flame_compaction_info", json!({"of": 1}), "no arguments"),
        ("flame_get_summary", json!({}), "this frame has no generated summary"),
        ("flame_get_summary", json!({"sessionID": "f99"}), "`flame_tree`"),
        (
            "flame_autonomy_config",
            json!({"popThreshold": 80}),
            "FLAME_POP_THRESHOLD: 80 (set here)",
        ),
        ("flame_autonomy_config", json!({"level": "wild"}), "level"),
        ("flame_should_push", json!({"messageCount": 4}), "Observed in f5"),
        ("flame_should_push", json!({"messages": 4}), "messageCount"),
        ("flame_should_pop", json!({"successSignals": ["it rhymes"]}), "goal_completion"),
        ("flame_should_pop", json!({"tokenUsage": 170}), "100 percent"),
        ("flame_auto_suggest", json!({"enabled": true}), "Suggestions are on"),
        ("flame_auto_suggest", json!({"enabled": "maybe"}), "enabled"),
        ("flame_autonomy_stats", json!({}), "0 made"),
        ("flame_autonomy_stats", json!({"all": true}), "no arguments"),
        ("flame_subagent_config", json!({"idleDelay": 7_000}), "idleDelay: 7000 (set here)"),
        ("flame_subagent_config", json!({"patterns": ["a,b"]}), "contains a comma"),
        ("flame_subagent_stats", json!({}), "Child sessions: 0"),
        ("flame_subagent_stats", json!({"all": true}), "no arguments"),
        ("flame_subagent_list", json!({}), "None."),
        ("flame_subagent_list", json!({"filter": "busy"}), "active"),
        ("flame_subagent_complete", json!({"sessionID": "ses_no"}), "no session and no frame"),
        ("flame_subagent_complete", json!({}), "`sessionID` is missing"),
        ("flame", json!({"op": "flame_pin", "args": {"text": "14 lines."}}), "f5"),
        ("flame", json!({"op": "flame_fly"}), "Call `flame` with op `all`"),
        ("flame_pop", json!({"status": "done", "summary": "x"}), "completed, failed, blocked"),
        ("flame_pop", json!({"status": "completed", "summary": "Rhymed abab."}), "Rhymed abab."),
        ("flame_summarize", json!({"note": 1}), "1 is no string"),
        ("flame_activate", json!({"sessionID": "f5"}), "`flame_reopen`"),
        ("flame_activate", json!({"sessionID": "f2", "in": "here"}), "f2 is open now"),
        ("flame_invalidate", json!({"sessionID": "f2"}), "`reason` is missing"),
        ("flame_invalidate", json!({"sessionID": "f2", "reason": "Nobody is there."}), "f2"),
    ]
}

/// Tools that answer with times and measurements.
const UNSTEADY: [&str; 5] = [
    "flame_get_state",
    "flame_context_info",
    "flame_cache_clear",
    "flame_should_push",
    "flame_should_pop",
];

/// Asserts that nothing that the model is sent names a tool that it does not have.
fn assert_flame_only(request: &RecordedRequest) {
    let text = request.render();
    for foreign in ["stack_", "<stack-"] {
        let at = text.find(foreign);
        let around =
            at.map(|at| text[at.saturating_sub(200)..].chars().take(400).collect::<String>());
        assert_eq!(around, None, "{foreign} is in a request");
    }
}

#[test]
fn every_flame_tool_answers_and_a_wrong_call_says_what_is_right() {
    let Some(talk) = Talk::new(&[FLAME]) else { return };
    let numbered = calls().into_iter().enumerate();
    let asked =
        numbered.map(|(at, (tool, args, _))| named(Step::call(tool, args), &format!("call-{at}")));
    let first = [
        write("poem.txt", "Roses are red"),
        named(Step::call("flame", json!({"op": "all"})), "list"),
    ];
    let session = talk.session(first.into_iter().chain(asked).chain([Step::text("A poem.")]));
    session.say("Write me a poem, please.");
    let requests = session.finished();
    let listed: Vec<_> = tools(&requests[0]).into_iter().map(|(name, _)| name).collect();
    assert!(!listed.iter().any(|name| name.starts_with("stack")), "{listed:?}");
    for tool in callstack_engine::tools::listed(callstack_engine::Profile::Flame) {
        let name = tool.name();
        assert!(listed.iter().any(|it| *it == name), "{name} is not listed");
        // The summary has a conversation of its own.
        let often = calls().iter().filter(|it| it.0 == name).count();
        assert!(often > 1 || name == "flame_summarize", "{name} is called {often} times");
    }
    let system = our_system(&requests[0]).join("\n");
    assert!(system.contains("flame_push") && system.contains("<flame-context"), "{system}");
    requests.iter().for_each(assert_flame_only);
    let list = result_of(&requests[2], "list");
    for operation in operations::callable_by(CallerKind::Agent) {
        let name = callstack_core::dialect::Dialect::Flame.tool(operation.name);
        let named = name == "flame" || list.contains(&format!("- {name}("));
        assert!(named, "{name} is not in the list of all");
    }
    let mut text = String::new();
    let mut wrong = Vec::new();
    for (at, (tool, args, expected)) in calls().into_iter().enumerate() {
        // A pop's answer stands where its push is.
        let request = &requests[at + 3];
        let own = Some(result_of(request, &format!("call-{at}"))).filter(|own| !own.is_empty());
        let answer = own.or_else(|| request.last_tool_text()).unwrap();
        if !UNSTEADY.contains(&tool) {
            writeln!(text, "── {tool} {args}\n{}", answer.trim_end()).unwrap();
        }
        if !answer.contains(expected) {
            wrong.push(format!("{tool} {args}: {expected:?} is not in {answer:?}"));
        }
    }
    snapshot("flame_tools", &text);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn flame_variables_count_in_a_session_and_the_context_has_its_own_elements() {
    let env = [
        FLAME,
        ("STACK_CONTEXT_PLACEMENT", "system"),
        ("FLAME_TOKEN_BUDGET_TOTAL", "3000"),
        ("FLAME_TOKEN_BUDGET_ANCESTORS", "900"),
        ("STACK_TOKEN_BUDGET_SIBLINGS", "800"),
        ("FLAME_TOKEN_BUDGET_SIBLINGS", "700"),
        ("FLAME_TOKEN_BUDGET_CURRENT", "600"),
    ];
    let Some(talk) = Talk::new(&env) else { return };
    let checks = callstack_scripted_model::Checks { prefix: false, reasoning: false };
    let steps = [
        Step::call("flame_push", json!({"goal": "The lexer of the parser is tested"})),
        Step::call("flame_pop", json!({"summary": "31 tests of the lexer pass"})),
        Step::call("flame_push", json!({"goal": "The parser's lexer is fast"})),
        Step::call("flame_add_artifact", json!({"artifact": "src/lexer.rs"})),
        Step::call("flame_add_decision", json!({"decision": "No regex"})),
        Step::text("It is faster now."),
    ];
    let session = talk.session_with(checks, steps);
    session.say("Write the parser, please");
    let requests = session.finished();
    let context = our_system(&requests[5]).join("\n");
    for element in [
        "<flame-context session=\"ses_",
        "<budget total=\"3000\" ancestors=\"900\" siblings=\"800\" current=\"600\" />",
        "<ancestors count=\"1\">",
        "goal=\"the request of the user, in this conversation\"",
        "<completed-siblings count=\"1\">",
        "summary=\"above\"",
        "31 tests of the lexer pass",
        "<open-when-written id=\"f3\" status=\"in_progress\">",
        "<goal>The parser's lexer is fast</goal>",
        "<artifacts>src/lexer.rs</artifacts>",
        "<decisions by=\"f3\" for=\"f3 and below\">No regex</decisions>",
    ] {
        assert!(context.contains(element), "{element} is missing in\n{context}");
    }
    requests.iter().for_each(assert_flame_only);
}
