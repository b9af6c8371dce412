//! Calls that are repeated because their process ended before it had answered.

use callstack_core::autonomy::{Heuristic, Suggestion};
use callstack_core::dialect::Dialect;
use callstack_core::event::Event;
use callstack_core::frame::FrameNum;
use callstack_core::transcript::Anchor;
use callstack_engine::operation::{Answer, Caller, CallerKind, PAGE};
use callstack_engine::{Engine, EngineError, Kind, Profile, Settings, operations, tools};
use callstack_store::Store;
use serde_json::{Value, json};

use crate::operations::{project, right_for};
use crate::support::{Patient, Project, caller};

/// Operations that change nothing which another process could find.
const READ_ONLY: [&str; 17] = [
    "stack",
    "stack_compaction_info",
    "stack_get_summary",
    "stack_status",
    "stack_tree",
    "stack_frame_details",
    "stack_log",
    "stack_search",
    "stack_context_preview",
    "stack_context_info",
    "stack_cache_clear",
    "stack_get_state",
    "stack_should_push",
    "stack_should_pop",
    "stack_autonomy_stats",
    "stack_stats",
    "stack_subagent_list",
];

/// All that is known in the end.
fn known(project: &Project) -> String {
    let state = project.engine.state().unwrap();
    let settings = project.engine.stored_settings().unwrap();
    let pending = project.engine.pending_compaction("ses_a").unwrap();
    format!("{:#?}\n{settings:#?}\n{pending:#?}", state.frames)
}

fn events(project: &Project) -> i64 {
    let store = Store::open_unchecked(project.engine.store_path().parent().unwrap()).unwrap();
    store.read(|view| Ok::<_, EngineError>(view.revision()?)).unwrap()
}

fn at(call: &str) -> Caller {
    let anchor = Anchor { message: Some(format!("msg-{call}")), call: Some(call.to_owned()) };
    Caller { anchor, ..caller("ses_a") }
}

/// A person whose call no transcript shows, with a key.
fn keyed(key: &str) -> Caller {
    let anchor = Anchor { message: Some("msg-last".to_owned()), call: None };
    Caller { anchor, host: PAGE.to_owned(), key: Some(key.to_owned()), ..caller("ses_a") }
}

/// Returns whether a call changes something. If it does, it is repeated to another process, as by a host that has
/// lost the answer: the answer is the same, and nothing changes.
fn changes_once(project: &Project, at: fn(&str) -> Caller, name: &str, arguments: &Value) -> bool {
    let tool = tools::find(Dialect::Stack, name).unwrap();
    let caller = at("the-call");
    let before = events(project);
    let first = tool.run(&project.engine, &caller, arguments.clone()).unwrap();
    if events(project) == before {
        return false;
    }
    let (done, after) = (events(project), known(project));
    let other = project.another();
    let again = match tool.done_before(&other, &caller, arguments).unwrap() {
        Some(answer) => {
            assert_eq!(events(project), done, "{name} {arguments} has changed something");
            answer
        }
        None => tool.run(&other, &caller, arguments.clone()).unwrap(),
    };
    // Only for a call in a transcript the span shows which frame it opened.
    let opened = first.opened.filter(|_| caller.key.is_none());
    let first = Answer { opened, ..first };
    assert_eq!(format!("{again:#?}"), format!("{first:#?}"), "{name} {arguments}");
    assert_eq!(known(project), after, "{name} {arguments}");
    // Another call is not answered by what this one did.
    let tool = tools::find(Dialect::Stack, name).unwrap();
    let foreign = tool.done_before(&other, &at("another-call"), arguments).unwrap();
    assert!(foreign.is_none(), "{name} {arguments}: {foreign:?}");
    true
}

#[test]
fn every_operation_that_changes_something_answers_as_before() {
    let mut looks = Vec::new();
    for operation in operations::callable_by(CallerKind::Agent) {
        let arguments = right_for(operation);
        let changed = changes_once(&project(), at, operation.name, &arguments);
        let reached = json!({"op": operation.name, "args": arguments});
        if changed {
            assert!(changes_once(&project(), at, "stack", &reached), "{}", operation.name);
            assert!(changes_once(&project(), keyed, operation.name, &arguments));
        } else {
            looks.push(operation.name);
        }
    }
    assert_eq!(looks, READ_ONLY);
}

#[test]
fn of_two_calls_with_one_key_at_the_same_time_one_is_done() {
    let project = project();
    // Processes give no ids twice.
    let other = || {
        let world = Box::<Patient>::default();
        Engine::open_unchecked(project.engine.project(), Settings::default(), world).unwrap()
    };
    let engines = [other(), other()];
    let before = project.engine.tree(None).unwrap().len();
    let arguments = json!({"title": "once", "successCriteria": "it is"});
    let answers = std::thread::scope(|scope| {
        let calls = engines.each_ref().map(|engine| {
            let tool = tools::find(Dialect::Stack, "stack_frame_push").unwrap();
            let arguments = arguments.clone();
            scope.spawn(move || tool.run(engine, &keyed("key"), arguments))
        });
        calls.map(|call| call.join().unwrap())
    });
    assert_eq!(project.engine.tree(None).unwrap().len(), before + 1);
    let refused: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
    assert_eq!(refused.iter().map(|error| error.kind).collect::<Vec<_>>(), [Kind::Conflict]);
    let tool = tools::find(Dialect::Stack, "stack_frame_push").unwrap();
    let again = tool.done_before(&project.engine, &keyed("key"), &arguments).unwrap().unwrap();
    assert_eq!(again.text, answers.iter().find_map(|it| it.as_ref().ok()).unwrap().text);
}

/// `f6` is being worked on, and in it `f7`; below `f6` is planned `f8`.
fn deep() -> Project {
    let project = project();
    let child = |title: &str| json!({"title": title, "successCriteria": "it is done"});
    for title in ["outer", "inner"] {
        project.did("ses_a", "stack_frame_push", child(title));
    }
    project.did("ses_a", "stack_frame_plan", json!({"children": [child("later")], "parent": "f6"}));
    project
}

#[test]
fn what_it_did_at_once_is_answered_as_a_whole() {
    let results = "half of it";
    for (name, arguments) in [
        ("stack_navigate", json!({"to": "f1", "results": results})),
        ("stack_navigate", json!({"to": "parent"})),
        ("stack_frame_pop", json!({"generateSummary": true})),
        ("stack_frame_pop", json!({"results": results, "status": "blocked", "frame": "f7"})),
        ("stack_frame_invalidate", json!({"frame": "f7", "reason": "not needed"})),
        ("stack_frame_invalidate", json!({"frame": "f8", "reason": "not needed"})),
        ("stack_frame_unplan", json!({"frame": "f8"})),
        ("stack_frame_push", json!({"title": "x", "successCriteria": "y", "in": "session"})),
        ("stack_pin", json!({"text": "never touch main", "frame": "f1"})),
        ("stack_set_goal", json!({"title": "x", "successCriteria": "y", "current": true})),
    ] {
        assert!(changes_once(&deep(), at, name, &arguments), "{name} {arguments}");
    }
}

#[test]
fn what_it_ended_elsewhere_is_known_too() {
    let project = deep();
    project.user("ses_b", "Do another thing");
    let pop = json!({"frame": "f9", "results": "it is not needed here"});
    assert!(changes_once(&project, at, "stack_frame_pop", &pop));
    assert_eq!(project.status("f9"), "completed");
}

#[test]
fn suggestions_are_cleared_once() {
    let project = project();
    let store = Store::open_unchecked(project.engine.store_path().parent().unwrap()).unwrap();
    let made = |num: u64, heuristic| Event::SuggestionMade {
        suggestion: Box::new(Suggestion {
            num,
            session: "ses_a".to_owned(),
            frame: FrameNum(1),
            heuristic,
            confidence: 75,
            subject: None,
            reason: "3 failures were not put right".to_owned(),
            created_at: 1,
            expires_at: i64::MAX,
        }),
    };
    let both = [made(1, Heuristic::FailureBoundary), made(2, Heuristic::Stagnation)];
    store.write(|change| change.append(1, &both)).unwrap();
    assert!(changes_once(&project, at, "stack_auto_suggest", &json!({"clear": true})));
    let tool = tools::find(Dialect::Stack, "stack_auto_suggest").unwrap();
    let again = tool.done_before(&project.engine, &at("the-call"), &json!({"clear": true}));
    assert_eq!(again.unwrap().unwrap().data["cleared"], 2);
}

/// Plans with a tool, and repeats the call. Returns the number of frames that are planned then.
fn planned_twice(profile: Profile, tool: &str, arguments: &Value) -> usize {
    let project = Project::with(Settings { profile, ..Settings::default() });
    project.user("ses_a", "Build the parser");
    let tool = tools::find(profile.dialect(), tool).unwrap();
    let caller = caller("ses_a");
    tool.run(&project.engine, &caller, arguments.clone()).unwrap();
    let again = tool.done_before(&project.engine, &caller, arguments).unwrap();
    assert!(again.is_some(), "{arguments} is not known again");
    project.engine.state().unwrap().frames.len() - 1
}

#[test]
fn a_plan_is_known_again_however_it_was_called() {
    let plan = json!({"title": " Lexer ", "successCriteria": "tokens"});
    let children = json!({"children": [plan, {"title": "Tables", "successCriteria": "rows"}]});
    assert_eq!(planned_twice(Profile::Default, "stack_frame_plan", &plan), 1);
    assert_eq!(planned_twice(Profile::Default, "stack_frame_plan_children", &children), 2);
    for op in ["stack_frame_plan", "frame_plan"] {
        let reached = json!({"op": op, "args": plan});
        assert_eq!(planned_twice(Profile::Default, "stack", &reached), 1, "{op}");
    }
    let goal = json!({"goal": "the lexer gives tokens"});
    assert_eq!(planned_twice(Profile::Flame, "flame_plan", &goal), 1);
}

/// Returns the answer of a call, and the answer of another process when it is repeated.
fn twice(project: &Project, tool: &str, arguments: &Value) -> [Answer; 2] {
    let tool = tools::find(Dialect::Stack, tool).unwrap();
    let caller = caller("ses_a");
    let first = tool.run(&project.engine, &caller, arguments.clone()).unwrap();
    let again = tool.done_before(&project.another(), &caller, arguments).unwrap();
    [first, again.unwrap_or_else(|| panic!("{arguments} is not known again"))]
}

#[test]
fn a_preset_is_known_again_with_what_it_planned_below() {
    let project = Project::new();
    project.user("ses_a", "Build the parser");
    let known = |name: &str, arguments: &Value| {
        let [first, again] = twice(&project, name, arguments);
        assert_eq!((again.text, again.data), (first.text, first.data));
        project.engine.state().unwrap().frames.len() - 1
    };
    let feature = json!({"name": "feature", "values": {"feature": "imports"}});
    assert_eq!(known("stack_preset", &feature), 5);
    let below = json!({"name": "bugfix", "values": {"bug": "it"}, "parent": "f2"});
    assert_eq!(known("stack", &json!({"op": "stack_preset", "args": below})), 9);
}

#[test]
fn another_try_is_known_again_with_what_was_learnt() {
    let project = Project::new();
    project.user("ses_a", "Build the parser");
    let push = json!({"title": "Lexer", "successCriteria": "tokens"});
    let run = |call: &str, tool: &str, arguments: &Value| {
        tools::find(Dialect::Stack, tool).unwrap().run(
            &project.engine,
            &at(call),
            arguments.clone(),
        )
    };
    run("c1", "stack_frame_push", &push).unwrap();
    let failed = json!({"results": "It knows no comments.", "status": "failed"});
    run("c2", "stack_frame_pop", &failed).unwrap();
    for (call, tool, arguments) in [
        ("c3", "stack_frame_retry", json!({"frame": "f2"})),
        ("c5", "stack", json!({"op": "frame_retry", "args": {"frame": "f2"}})),
    ] {
        let first = run(call, tool, &arguments).unwrap();
        let found = tools::find(Dialect::Stack, tool).unwrap();
        let again = found.done_before(&project.another(), &at(call), &arguments).unwrap().unwrap();
        assert_eq!((&again.text, &again.data), (&first.text, &first.data));
        assert!(again.text.contains("It knows no comments."), "{}", again.text);
        let other = found.done_before(&project.engine, &at("c9"), &arguments).unwrap();
        assert!(other.is_none(), "another call is another try");
        run(&format!("{call}-end"), "stack_frame_pop", &json!({"results": "done"})).unwrap();
    }
    assert_eq!(project.engine.state().unwrap().frames.len(), 4);
}
