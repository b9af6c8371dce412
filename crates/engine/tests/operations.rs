//! Every operation, called rightly and wrongly.

use callstack_core::limits::Limits;
use callstack_engine::operation::{Access, Answer, Caller, CallerKind, Operation, PAGE, TERMINAL};
use callstack_engine::{
    ChildSession, ChildStatus, Kind, Level, Profile, Settings, SubagentFilter, operations, tools,
};
use serde_json::{Map, Value, json};

use crate::support::{Project, caller};

/// A user's root `f1` with the pin `p1`; below it `f2` and `f3` planned, `f4` completed, `f5` failed. And
/// a session `ses_sub` that it has started for a question, without a frame.
pub(crate) fn project() -> Project {
    let project = Project::new();
    seed(&project, "");
    project
}

/// Does all that in a project, with further words in each text.
pub(crate) fn seed(project: &Project, words: &str) {
    let with = |text: &str| format!("{text} {words}").trim_end().to_owned();
    project.user("ses_a", &with("Write the parser for the new format, please"));
    let child = |title: &str| json!({"title": with(title), "successCriteria": with("it is done")});
    project.did("ses_a", "stack_frame_plan", json!({"children": [child("one"), child("two")]}));
    project.did("ses_a", "stack_pin", json!({"text": with("never touch main")}));
    for (title, status) in [("lexer", "completed"), ("tables", "failed")] {
        project.did("ses_a", "stack_frame_push", child(title));
        let results = with(&format!("{title} came out {status}"));
        project.did("ses_a", "stack_frame_pop", json!({"results": results, "status": status}));
    }
    let child = ChildSession {
        session: "ses_sub".to_owned(),
        host: "test".to_owned(),
        parent: "ses_a".to_owned(),
        title: with("a question"),
    };
    project.engine.child_seen(&child).unwrap();
}

/// Arguments with which each operation goes well in that project.
fn right() -> Vec<(&'static str, Value)> {
    let identity = json!({"title": "the goal", "successCriteria": "tests pass"});
    vec![
        ("stack_frame_push", identity.clone()),
        ("stack_frame_pop", json!({"results": "all done"})),
        ("stack_frame_plan", json!({"children": [identity.clone()], "parent": "f2"})),
        ("stack_frame_plan_children", json!({"children": [identity.clone()]})),
        ("stack_frame_activate", json!({"frame": "f2"})),
        ("stack_add_decision", json!({"decision": "recursive descent"})),
        ("stack", json!({"op": "stack_status", "args": {}})),
        ("stack_frame_invalidate", json!({"frame": "f2", "reason": "not needed"})),
        ("stack_frame_replan", json!({"frame": "f3", "title": "deux", "before": "f2"})),
        ("stack_frame_unplan", json!({"frame": "f2"})),
        ("stack_preset", json!({"name": "bugfix", "values": {"bug": "the crash"}})),
        ("stack_navigate", json!({"to": "f2"})),
        ("stack_frame_consolidate", json!({"frame": "f1", "keep": 0})),
        ("stack_frame_reopen", json!({"frame": "f4"})),
        ("stack_frame_retry", json!({"frame": "f5"})),
        ("stack_add_artifact", json!({"artifact": "src/parser.rs", "frame": "f4"})),
        ("stack_frame_summarize", json!({"note": "keep the grammar"})),
        ("stack_compaction_info", json!({})),
        ("stack_get_summary", json!({"frame": "f4"})),
        ("stack_set_goal", identity),
        ("stack_pin", json!({"text": "no network"})),
        ("stack_unpin", json!({"pin": "p1"})),
        ("stack_status", json!({})),
        ("stack_tree", json!({})),
        ("stack_frame_details", json!({"frame": "f4"})),
        ("stack_log", json!({"frame": "f1", "from": 1, "count": 5})),
        ("stack_search", json!({"query": "lexer completed", "limit": 3})),
        ("stack_context_preview", json!({"frame": "f4"})),
        ("stack_context_info", json!({})),
        ("stack_cache_clear", json!({"sessionID": "ses_a"})),
        ("stack_get_state", json!({})),
        ("stack_autonomy", json!({"level": "auto", "pushThreshold": 60})),
        ("stack_should_push", json!({"errorCount": 4})),
        ("stack_should_pop", json!({"noProgressTurns": 2})),
        ("stack_auto_suggest", json!({"enabled": false, "clear": true})),
        ("stack_autonomy_stats", json!({})),
        (
            "stack_config",
            json!({"enabled": true, "minDuration": 9, "minMessages": 9, "autoComplete": true,
                "idleDelay": 9, "patterns": ["job"], "reset": ["patterns"]}),
        ),
        ("stack_stats", json!({})),
        (
            "stack_subagent_list",
            json!({"filter": "active", "subagentsOnly": false, "framedOnly": false,
                "parent": "ses_a"}),
        ),
        (
            "stack_subagent_complete",
            json!({"sessionID": "ses_s", "status": "failed", "results": "no answer",
                "resultsCompacted": "none"}),
        ),
    ]
}

pub(crate) fn right_for(operation: &Operation) -> Value {
    let found = right().into_iter().find(|(name, _)| *name == operation.name);
    found.unwrap_or_else(|| panic!("{} is not tried here yet", operation.name)).1
}

/// Checks the effect of each operation after its answer.
fn check(project: &Project, name: &str, answer: &Answer) {
    let frame = |reference: &str| project.engine.resolve(reference).unwrap();
    let text = &answer.text;
    match name {
        "stack_frame_push" => {
            assert_eq!(frame("f6").identity.title, "the goal");
            assert_eq!(answer.opened.map(|it| it.0), Some(6));
            assert!(text.contains("f6"), "{text}");
        }
        "stack_frame_pop" => {
            assert_eq!(project.status("f1"), "completed");
            assert_eq!(answer.closed.map(|it| it.0), Some(1));
            assert!(text.contains("all done"), "{text}");
        }
        "stack_frame_plan" => assert_eq!(frame("f6").parent, Some(frame("f2").num)),
        "stack_frame_plan_children" => assert_eq!(frame("f6").parent, Some(frame("f1").num)),
        "stack_frame_activate" => {
            assert_eq!(project.status("f2"), "in_progress");
            assert_eq!(answer.opened.map(|it| it.0), Some(2));
        }
        "stack_add_decision" => assert_eq!(frame("f1").decisions, ["recursive descent"]),
        "stack" | "stack_status" => {
            assert!(text.contains("f1") && text.contains("2 planned"), "{text}");
        }
        "stack_frame_invalidate" => assert_eq!(project.status("f2"), "invalidated"),
        "stack_frame_replan" => assert_eq!(frame("f3").identity.title, "deux"),
        "stack_frame_unplan" => assert!(frame("f2").detached),
        "stack_preset" => assert_eq!(frame("f8").identity.title, "Fix the crash"),
        "stack_navigate" => assert_eq!(project.engine.active("ses_a").unwrap().unwrap().0, 2),
        "stack_frame_consolidate" => assert_eq!(frame("f5").consolidated, Some(frame("f6").num)),
        "stack_frame_retry" => assert_eq!(frame("f6").identity, frame("f5").identity),
        "stack_frame_reopen" => assert_eq!(project.status("f4"), "in_progress"),
        "stack_add_artifact" => assert_eq!(frame("f4").artifacts[0].path, "src/parser.rs"),
        "stack_frame_summarize" => {
            let pending = project.engine.pending_compaction("ses_a").unwrap().unwrap();
            assert_eq!(pending.note.as_deref(), Some("keep the grammar"));
            assert!(answer.next.is_some() && text.contains("checkpoint"), "{text}");
        }
        "stack_compaction_info" => assert!(text.contains("overflow"), "{text}"),
        "stack_get_summary" => {
            assert!(text.contains("lexer came out completed"), "{text}");
            assert!(answer.data["summary"].is_null(), "nothing was compacted");
        }
        "stack_set_goal" => assert_eq!(frame("f1").identity.title, "the goal"),
        "stack_pin" => assert_eq!(frame("f1").pins[1].text, "no network"),
        "stack_unpin" => assert!(frame("f1").pins.is_empty()),
        "stack_tree" => {
            for handle in ["f1", "f2", "f3", "f4", "f5"] {
                assert!(text.contains(handle), "{text}");
            }
        }
        "stack_frame_details" => assert!(text.contains("lexer came out completed"), "{text}"),
        "stack_log" => assert_eq!(answer.data["total"], 0),
        "stack_search" => {
            assert_eq!(answer.data["places"][0]["frame"]["handle"], "f4");
            assert!(text.contains("lexer came out completed"), "{text}");
        }
        "stack_context_preview" => assert!(text.contains('<') && text.contains("lexer"), "{text}"),
        "stack_context_info" => assert!(answer.data["budget"].is_object()),
        "stack_cache_clear" => assert!(answer.data["cleared"].is_u64()),
        "stack_get_state" => assert_eq!(answer.data["frames"].as_object().unwrap().len(), 5),
        "stack_autonomy" => {
            assert_eq!(project.engine.autonomy().unwrap().level, Level::Auto);
            assert!(text.contains("STACK_PUSH_THRESHOLD: 60 (set here)"), "{text}");
        }
        "stack_should_push" => {
            assert_eq!(
                (&answer.data["confidence"], &answer.data["recommended"]),
                (&json!(60), &json!(false))
            );
            assert!(text.contains("alone it would be 0 %"), "{text}");
        }
        "stack_should_pop" => assert_eq!(answer.data["confidence"], 14),
        "stack_auto_suggest" => {
            assert!(!project.engine.autonomy().unwrap().suggest_in_context);
            assert_eq!(answer.data["pendingSuggestions"], json!([]));
        }
        "stack_autonomy_stats" => assert_eq!(answer.data["total"]["made"], 0),
        "stack_config" => {
            let settings = project.engine.subagent_settings().unwrap();
            assert_eq!((settings.min_messages, settings.patterns), (9, vec!["job".to_owned()]));
            assert!(text.contains("idleDelay: 9 (set here)"), "{text}");
        }
        "stack_stats" => assert_eq!(answer.data["tracked"], 1),
        "stack_subagent_list" => assert_eq!(answer.data["sessions"][0]["sessionID"], "ses_sub"),
        "stack_subagent_complete" => {
            let sessions = project.engine.subagents(&SubagentFilter::default()).unwrap();
            assert_eq!(ChildStatus::of(&sessions[0]), ChildStatus::Completed);
        }
        _ => panic!("{name} is not checked here yet"),
    }
}

#[test]
fn every_operation_does_what_it_says() {
    for operation in operations::callable_by(CallerKind::Agent) {
        let project = project();
        let answer = project.did("ses_a", operation.name, right_for(operation));
        assert!(!answer.title.is_empty() && !answer.text.is_empty(), "{}", operation.name);
        check(&project, operation.name, &answer);
    }
}

#[test]
fn operations_for_people_are_not_for_agents() {
    let arguments = |name: &str| match name {
        "stack_purge" => json!({"what": "f4", "dryRun": true}),
        "stack_frame_rollback" => json!({"frame": "f4", "dryRun": true}),
        "stack_folded" | "stack_read_frame" | "stack_diff" => json!({"frame": "f4"}),
        _ => json!({}),
    };
    let mut names = Vec::new();
    for operation in operations::TABLE.iter().filter(|it| !it.is_for(CallerKind::Agent)) {
        let (name, project) = (operation.name, project());
        let refused = project.call("ses_a", name, arguments(name)).unwrap_err();
        assert_eq!(refused.message, format!("`{name}` is not for an agent"));
        let reached = json!({"op": name, "args": arguments(name)});
        let refused = project.call("ses_a", "stack", reached).unwrap_err();
        let expected = if operation.on_request {
            format!("`{name}` is not for an agent")
        } else {
            format!("there is no operation `{name}`")
        };
        assert_eq!(refused.message, expected);
        for host in [TERMINAL, PAGE] {
            let person = Caller { host: host.to_owned(), ..caller("ses_a") };
            let answer = operation.run(&project.engine, &person, arguments(name));
            let message = answer.err().map(|error| error.message).unwrap_or_default();
            let refused = format!("`{name}` is not for a page");
            assert_eq!(message == refused, !operation.is_for(person.kind()), "{message}");
        }
        names.push(name);
    }
    let expected = [
        "stack_frame_rollback",
        "stack_export",
        "stack_window",
        "stack_calls",
        "stack_sent",
        "stack_folded",
        "stack_read_frame",
        "stack_diff",
        "stack_frames",
        "stack_settings",
        "stack_purge",
        "stack_report",
        "stack_summarizer",
    ];
    assert_eq!(names, expected);
}

#[test]
fn secrets_are_masked_unless_the_caller_may_see_them() {
    const KEY: &str =
        "sk-ant-api03-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-AAAAAAAA";
    let project = project();
    project.did("ses_a", "stack_add_decision", json!({"decision": format!("use {KEY}")}));
    for operation in operations::TABLE.iter().filter(|it| it.access == Access::Read) {
        let arguments = match operation.name {
            "stack_export" | "stack_window" | "stack_calls" | "stack_sent" | "stack_frames"
            | "stack_report" | "stack_summarizer" => json!({}),
            "stack_folded" | "stack_read_frame" | "stack_diff" | "stack_frame_details" => {
                json!({"frame": "f1"})
            }
            _ => right_for(operation),
        };
        for host in ["test", TERMINAL, PAGE] {
            let stranger = Caller { host: host.to_owned(), reveal: false, ..caller("ses_a") };
            let Ok(answer) = operation.run(&project.engine, &stranger, arguments.clone()) else {
                assert!(!operation.is_for(stranger.kind()), "{}", operation.name);
                continue;
            };
            assert!(!format!("{answer:?}").contains(KEY), "{}: {answer:?}", operation.name);
        }
    }
    let details = |reveal| {
        let caller = Caller { reveal, ..caller("ses_a") };
        let operation = operations::find("stack_frame_details").unwrap();
        operation.run(&project.engine, &caller, json!({"frame": "f1"})).unwrap()
    };
    assert!(details(true).data["decisions"][0].as_str().unwrap().contains(KEY));
    assert!(
        details(false).data["decisions"][0].as_str().unwrap().starts_with("use \u{2039}masked")
    );
    let unknown = operations::find("stack_frame_details").unwrap();
    let stranger = Caller { reveal: false, ..caller("ses_a") };
    let error = unknown.run(&project.engine, &stranger, json!({"frame": KEY})).unwrap_err();
    assert!(!format!("{error:?}").contains(KEY), "{error:?}");
}

#[test]
fn every_operation_is_reached_through_the_one_tool() {
    for operation in operations::callable_by(CallerKind::Agent).filter(|it| it.name != "stack") {
        for name in [operation.name, operation.name.strip_prefix("stack_").unwrap()] {
            let project = project();
            let arguments = json!({"op": name, "args": right_for(operation)});
            let answer = project.did("ses_a", "stack", arguments);
            check(&project, operation.name, &answer);
        }
    }
}

#[test]
fn the_one_tool_lists_every_operation_with_what_it_takes() {
    let answer = project().did("ses_a", "stack", json!({"op": "all"}));
    for operation in operations::callable_by(CallerKind::Agent).filter(|it| it.name != "stack") {
        let line = format!("- {}({})", operation.name, operation.signature());
        assert!(answer.text.contains(&line), "{line} is missing in\n{}", answer.text);
        assert!(answer.text.contains(operation.summary));
    }
}

#[test]
fn without_a_name_the_one_tool_lists_what_fits_the_moment() {
    let project = Project::new();
    project.user("ses_a", "Write the parser");
    let listed = |text: &str| text.lines().filter(|line| line.starts_with("- stack_")).count();
    let first = project.did("ses_a", "stack", json!({})).text;
    assert_eq!(listed(&first), 10, "{first}");
    assert!(!first.contains("stack_frame_unplan"), "{first}");
    let child = json!({"title": "lexer", "successCriteria": "it lexes"});
    project.did("ses_a", "stack_frame_plan", json!({"children": [child]}));
    let second = project.did("ses_a", "stack", json!({})).text;
    assert_eq!(listed(&second), 10, "{second}");
    assert!(second.contains("- stack_frame_unplan(frame)"), "{second}");
}

#[test]
fn facts_are_kept_with_what_is_planned_and_given_to_whoever_works_on_it() {
    let project = Project::new();
    project.user("ses_a", "Write the parser");
    let inner =
        json!({"title": "tables", "successCriteria": "they are small", "context": "see t.rs"});
    let child = json!({"title": "lexer", "successCriteria": "\"all\" lexes",
        "context": "run `make t`", "children": [inner]});
    project.did("ses_a", "stack_frame_plan", json!({"children": [child]}));
    let arguments = json!({"frame": "f2", "in": "here", "context": "and `make u`"});
    let text = project.did_in("msg-2", "ses_a", "stack_frame_activate", arguments).text;
    assert_eq!(text.matches("Success criteria: \"all\" lexes\n").count(), 1, "{text}");
    assert!(text.contains("Context:\nrun `make t`\nand `make u`\n"), "{text}");
    let around = project.did("ses_a", "stack_context_preview", json!({})).text;
    assert!(around.contains("<context>run `make t`\nand `make u`</context>"), "{around}");
    let text =
        project.did_in("msg-3", "ses_a", "stack_frame_activate", json!({"frame": "f3"})).text;
    assert!(text.contains("Context: see t.rs\n"), "{text}");
    for results in ["small tables", "it lexes"] {
        let text = project.did("ses_a", "stack_frame_pop", json!({"results": results})).text;
        assert!(!text.contains("make t") && !text.contains("see t.rs"), "{text}");
    }
}

#[test]
fn what_only_the_full_profile_lists_is_taken_by_every_one() {
    let has = |profile, name: &str, argument: &str| {
        let tool = tools::listed(profile).find(|tool| tool.name() == name).unwrap();
        tool.parameters()["properties"].get(argument).is_some()
    };
    let project = Project::new();
    project.user("ses_a", "Write the parser");
    for (name, argument) in [
        ("stack_frame_plan", "title"),
        ("stack_frame_push", "successCriteriaCompacted"),
        ("stack_frame_pop", "resultsCompacted"),
        ("stack_frame_pop", "generateSummary"),
    ] {
        assert!(has(Profile::Full, name, argument) && !has(Profile::Default, name, argument));
    }
    let child =
        json!({"title": "a", "successCriteria": "b", "successCriteriaCompacted": "dense b"});
    project.did("ses_a", "stack_frame_push", child);
    let identity = project.engine.resolve("f2").unwrap().identity;
    assert_eq!(identity.success_criteria_compacted, "dense b");
    project.did("ses_a", "stack_frame_pop", json!({"results": "c", "resultsCompacted": "dense c"}));
    let done = project.engine.resolve("f2").unwrap();
    assert_eq!(done.results_compacted.as_deref(), Some("dense c"));
}

/// Wrong arguments: the fault, and the arguments.
fn wrong(operation: &Operation) -> Vec<(String, Value)> {
    let schema = (operation.parameters)();
    let whole = right_for(operation);
    let whole = whole.as_object().unwrap();
    let mut found = vec![("no object".to_owned(), json!("f1")), ("a list".to_owned(), json!([7]))];
    for required in schema["required"].as_array().unwrap() {
        let name = required.as_str().unwrap();
        let mut part: Map<_, _> = whole.clone();
        part.remove(name);
        found.push((format!("`{name}`"), part.into()));
    }
    for (name, property) in schema["properties"].as_object().unwrap() {
        let values = match property["type"].as_str().unwrap() {
            "string" if property.get("enum").is_some() => vec![json!(5), json!("unheard of")],
            "string" => vec![json!(5), json!({"a": 1})],
            "integer" => vec![json!("many"), json!(-1), json!(1.5)],
            "boolean" => vec![json!("perhaps"), json!(2)],
            "array" | "object" => vec![json!(true), json!("text")],
            other => panic!("{}: {other} is not tried here yet", operation.name),
        };
        for value in values {
            let mut changed = whole.clone();
            changed.insert(name.clone(), value.clone());
            found.push((format!("{name} is {value}"), changed.into()));
        }
    }
    found
}

#[test]
fn wrong_arguments_are_refused_with_what_is_right_and_change_nothing() {
    let project = project();
    let before = project.engine.state().unwrap();
    for operation in operations::callable_by(CallerKind::Agent) {
        let takes_nothing = operation.signature().is_empty();
        for (what, arguments) in wrong(operation) {
            if takes_nothing && arguments.is_array() {
                continue;
            }
            let error = match project.call("ses_a", operation.name, arguments) {
                Err(error) => error,
                Ok(answer) => panic!("{}: {what} was taken: {}", operation.name, answer.text),
            };
            assert_eq!(error.kind, Kind::Invalid, "{}: {what}: {error:?}", operation.name);
            let sentence = error.sentence();
            // A missing argument is named; otherwise the error names the operation with all of its arguments.
            if what.starts_with('`') {
                assert!(sentence.contains(&what), "{sentence} does not name {what}");
                continue;
            }
            assert!(sentence.contains(&format!("`{}`", operation.name)), "{what}: {sentence}");
            let signature = operation.signature();
            let takes = if takes_nothing { "no arguments" } else { signature.as_str() };
            assert!(sentence.contains(takes), "{what}: {sentence}");
        }
    }
    assert_eq!(project.engine.state().unwrap(), before);
}

#[test]
fn frames_that_do_not_exist_or_could_be_several_are_refused() {
    let project = project();
    let before = project.engine.state().unwrap();
    let mut tried = 0;
    for operation in operations::callable_by(CallerKind::Agent) {
        let schema = (operation.parameters)();
        for name in ["frame", "parent", "parentSessionID"] {
            if schema["properties"].get(name).is_none() {
                continue;
            }
            for (reference, expected) in
                [("f99", "no frame `f99`"), ("plan-", "f2 (plan-"), ("nonsense", "no frame")]
            {
                let mut arguments = right_for(operation);
                arguments[name] = reference.into();
                let error = project.call("ses_a", operation.name, arguments).unwrap_err();
                assert_eq!(error.kind, Kind::NotFound, "{}: {error:?}", operation.name);
                assert!(error.message.contains(expected), "{}: {error}", operation.name);
                assert!(
                    error.hint.is_some_and(|hint| !hint.to_string().is_empty()),
                    "{}",
                    operation.name
                );
                tried += 1;
            }
        }
    }
    assert!(tried > 20, "hardly any operation takes a frame");
    assert_eq!(project.engine.state().unwrap(), before);
}

#[test]
fn a_pin_is_shown_by_its_number_and_what_it_costs() {
    let project = project();
    let pinned = |text: &str| project.did("ses_a", "stack_pin", json!({"text": text}));
    let short = pinned("no network");
    assert_eq!(short.data["pin"], "p2");
    assert!(!short.text.contains("tokens"), "{}", short.text);
    assert_eq!(pinned("no network").data["pin"], "p2", "it is there already");
    let long = pinned(&"never ever do that. ".repeat(700));
    assert!(long.text.contains("of the 4000 tokens of a context"), "{}", long.text);
}

#[test]
fn what_is_empty_or_unheard_of_is_refused() {
    let project = project();
    for (name, arguments, expected) in [
        ("stack_frame_push", json!({"title": "  ", "successCriteria": "x"}), "title"),
        ("stack_frame_push", json!({"title": "x", "successCriteria": " "}), "criteria"),
        (
            "stack_frame_plan",
            json!({"children": [{"title": "x", "successCriteria": "y",
                "children": [{"title": "inner", "successCriteria": ""}]}]}),
            "criteria of \"inner\"",
        ),
        ("stack_set_goal", json!({"title": "x", "successCriteria": ""}), "criteria"),
        ("stack_frame_pop", json!({"results": " \n"}), "results"),
        ("stack_frame_plan", json!({"children": []}), "nothing to plan"),
        ("stack_frame_plan_children", json!({"children": []}), "nothing to plan"),
        ("stack_set_goal", json!({"title": "", "successCriteria": "x"}), "title"),
        ("stack", json!({"op": "stack_everything"}), "stack_everything"),
        ("stack", json!({"op": "stack"}), "`stack`"),
        ("stack_unpin", json!({"pin": "first"}), "first"),
        ("stack_pin", json!({"text": " "}), "pin"),
        ("stack_add_decision", json!({"decision": ""}), "decision"),
        ("stack_add_artifact", json!({"artifact": "\t"}), "artifact"),
    ] {
        let error = project.call("ses_a", name, arguments).unwrap_err();
        assert_eq!(error.kind, Kind::Invalid, "{name}: {error:?}");
        assert!(error.message.contains(expected), "{name}: {error}");
        assert!(error.hint.is_some(), "{name}");
    }
}

#[test]
fn what_the_state_does_not_allow_is_a_conflict_with_a_way_out() {
    let project = project();
    project.did("ses_a", "stack_frame_activate", json!({"frame": "f2"}));
    for (name, arguments, expected, way) in [
        ("stack_frame_activate", json!({"frame": "f3"}), "f2", "pop f2 first"),
        ("stack_frame_activate", json!({"frame": "f4"}), "completed", "stack_frame_reopen"),
        ("stack_frame_pop", json!({"frame": "f1", "results": "x"}), "open children", "Pop f2"),
        ("stack_frame_pop", json!({"frame": "f3", "results": "x"}), "planned", "Activate f3"),
        ("stack_frame_invalidate", json!({"frame": "f4", "reason": "x"}), "f4", "reopen"),
        (
            "stack_set_goal",
            json!({"frame": "f4", "title": "x", "successCriteria": "y"}),
            "fixed",
            "Push or plan",
        ),
        (
            "stack_frame_plan",
            json!({"parent": "f4", "children": [{"title": "x", "successCriteria": "y"}]}),
            "no further children",
            "Reopen f4",
        ),
    ] {
        let error = project.call("ses_a", name, arguments).unwrap_err();
        assert_eq!(error.kind, Kind::Conflict, "{name}: {error:?}");
        assert!(error.message.contains(expected), "{name}: {error}");
        let hint = error.hint.unwrap().to_string();
        assert!(hint.contains(way), "{name}: {hint}");
    }
}

#[test]
fn limits_refuse_with_the_limit_and_a_hint() {
    let tight = |limits: Limits| {
        let project = Project::with(Settings { limits, ..Settings::default() });
        project.user("ses_a", "Do it");
        project
    };
    let child = || json!({"title": "more", "successCriteria": "done"});
    let refused = |project: &Project, name: &str, arguments: Value, what: &str| {
        let error = project.call("ses_a", name, arguments).unwrap_err();
        assert_eq!(error.kind, Kind::Limit, "{error:?}");
        assert!(error.message.contains(what) && error.message.contains('2'), "{error}");
        assert!(error.hint.is_some_and(|hint| hint.to_string().contains("Pop")), "{what}");
    };

    let project = tight(Limits { depth: 2, ..Limits::default() });
    project.did("ses_a", "stack_frame_push", child());
    refused(&project, "stack_frame_push", child(), "depth");
    let nested = json!({"parent": "f1", "children": [
        {"title": "a", "successCriteria": "b", "children": [child()]}]});
    refused(&project, "stack_frame_plan", nested, "depth");

    let project = tight(Limits { children: 2, ..Limits::default() });
    for _ in 0..2 {
        project.did("ses_a", "stack_frame_push", child());
        project.did("ses_a", "stack_frame_pop", json!({"results": "done"}));
    }
    refused(&project, "stack_frame_push", child(), "children");
    refused(&project, "stack_frame_plan", json!({"children": [child()]}), "children");

    let project = tight(Limits { live_frames: 2, ..Limits::default() });
    project.did("ses_a", "stack_frame_plan", json!({"children": [child()]}));
    project.did("ses_a", "stack_frame_push", child());
    refused(&project, "stack_frame_push", child(), "in progress");
    project.did("ses_a", "stack_frame_pop", json!({"results": "done"}));
    project.did("ses_a", "stack_frame_activate", json!({"frame": "f2"}));
}
