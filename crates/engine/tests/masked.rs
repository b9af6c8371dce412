//! Secrets in what operations answer: each of them, for each kind of caller, on a store with one in every text.

use std::fs;

use callstack_engine::operation::{Access, Caller, CallerKind, Operation, PAGE, TERMINAL};
use callstack_engine::{Engine, Settings, SystemWorld, operations};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::logs::record;
use crate::operations::{right_for, seed};
use crate::support::{Project, caller};

/// Returns a fake that looks like a token and stands in no source as a whole.
fn token() -> String {
    ["gh", "p_", &"a1B2c3".repeat(6)].concat()
}

/// The texts of a frame.
const TEXTS: [&str; 9] = [
    "title",
    "successCriteria",
    "successCriteriaCompacted",
    "results",
    "resultsCompacted",
    "artifacts",
    "decisions",
    "pins",
    "invalidationReason",
];

/// A folder with the project of the other tests, with a token in each of its texts, a frame f6 that has what the others
/// lack, an invalidated f7, and messages. Its process has ended.
fn seeded() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let token = token();
    let project = Project::at(folder.path(), Settings::default());
    seed(&project, &token);
    let with = |words: &str| format!("{words} {token}");
    record(&project, "ses_a", &[("msg-before", &with("before"))]);
    let push = json!({"title": with("scanner"), "successCriteria": with("it scans"),
        "successCriteriaCompacted": with("scans")});
    project.did_in("msg-push", "ses_a", "stack_frame_push", push);
    project.did("ses_a", "stack_add_decision", json!({"decision": with("by hand")}));
    project.did("ses_a", "stack_add_artifact", json!({"artifact": with("src/s.rs")}));
    project.did("ses_a", "stack_pin", json!({"text": with("no macros")}));
    record(&project, "ses_a", &[("msg-inside", &with("inside"))]);
    let pop = json!({"results": with("scanned"), "resultsCompacted": with("done")});
    project.did_in("msg-pop", "ses_a", "stack_frame_pop", pop);
    let child = json!({"title": with("later"), "successCriteria": "it is done"});
    project.did("ses_a", "stack_frame_plan", json!({"children": [child], "parent": "f2"}));
    let reason = json!({"frame": "f7", "reason": with("not needed")});
    project.did("ses_a", "stack_frame_invalidate", reason);
    drop(project);
    folder
}

/// Opens the project in a folder.
fn open(folder: &TempDir) -> Project {
    let world = Box::new(SystemWorld);
    Project::of(Engine::open_unchecked(folder.path(), Settings::default(), world).unwrap())
}

/// Returns a folder with the same store.
fn copied(folder: &TempDir) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    let [from, to] = [folder, &copy].map(|folder| folder.path().join(".callstack"));
    fs::create_dir(&to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
    copy
}

/// Arguments with which an operation is tried: those with which it goes well, and others that show more.
fn tried(operation: &Operation) -> Vec<Value> {
    let frame = || json!({"frame": "f6"});
    let mut tried = match operation.name {
        "stack_purge" => vec![json!({"what": "f6", "dryRun": true}), json!({"what": "f6"})],
        "stack_frame_rollback" => vec![json!({"frame": "f6", "dryRun": true})],
        "stack_folded" | "stack_read_frame" | "stack_diff" => vec![frame()],
        _ if operation.is_for(CallerKind::Agent) => vec![right_for(operation)],
        _ => vec![json!({})],
    };
    tried.extend(match operation.name {
        "stack_frame_details" | "stack_context_preview" | "stack_get_summary" | "stack_log" => {
            vec![frame(), json!({"frame": "f7"})]
        }
        "stack_export" | "stack_report" => vec![frame(), json!({"session": "ses_a"})],
        "stack_frames" => vec![frame(), json!({"detail": "titles"}), json!({"detail": "whole"})],
        "stack_search" => vec![json!({"query": "scanned"}), json!({"query": token()})],
        "stack_frame_reopen" | "stack_frame_retry" => vec![frame()],
        "stack_navigate" => vec![json!({"to": "f3"})],
        "stack_preset" => vec![json!({})],
        _ => Vec::new(),
    });
    // The user's words may have any secret, too.
    for arguments in &mut tried {
        for name in ["title", "successCriteria", "results", "decision", "reason", "text", "note"] {
            if let Some(Value::String(text)) = arguments.get_mut(name) {
                *text = format!("{text} {}", token());
            }
        }
    }
    tried
}

/// Arguments with which an operation is tried at a terminal, beside those for everybody.
fn at_terminal(operation: &Operation) -> Vec<Value> {
    match operation.name {
        "stack_status" => vec![json!({"own": true, "figures": true})],
        "stack_tree" => vec![json!({"frame": "f2"}), json!({"session": "ses_a"})],
        "stack_frame_details" => vec![json!({"frame": "f6", "near": true}), json!({"near": true})],
        "stack_log" => ["json", "markdown", "stored"]
            .map(|form| json!({"frame": "f1", "whole": true, "form": form}))
            .into(),
        "stack_search" => vec![
            json!({"query": "scanned", "thorough": true}),
            json!({"query": "inside", "session": "ses_a"}),
            json!({"query": "inside", "raw": true}),
        ],
        _ => Vec::new(),
    }
}

#[test]
fn a_store_has_one_in_every_text_of_its_frames() {
    let state = json!(open(&seeded()).engine.state().unwrap());
    let frames = state["frames"].as_object().unwrap();
    for text in TEXTS {
        let has = frames.values().any(|frame| frame[text].to_string().contains(&token()));
        assert!(has, "{text}");
    }
}

/// What an operation answers, or why it does not.
fn shown(project: &Project, operation: &Operation, caller: &Caller, arguments: &Value) -> String {
    match operation.run(&project.engine, caller, arguments.clone()) {
        Ok(it) => format!("{} {} {}", it.title, it.text, it.data),
        // There is nothing that could be rolled back.
        Err(it) if operation.name == "stack_frame_rollback" => format!("{it:?}"),
        Err(it) => panic!("{} {arguments} by {}: {it:?}", operation.name, caller.host),
    }
}

#[test]
fn no_operation_shows_one_to_who_may_not_see_it_and_those_that_read_do_to_others() {
    let (token, folder) = (token(), seeded());
    let copy = copied(&folder);
    let whole = open(&copy);
    let mut revealed = Vec::new();
    for operation in operations::TABLE {
        let (name, extras) = (operation.name, at_terminal(operation));
        for argument in operation.terminal_arguments {
            let is_tried = extras.iter().any(|extra| extra.get(argument).is_some());
            assert!(is_tried, "{argument} of {name} is not tried here yet");
        }
        for host in ["test", TERMINAL, PAGE] {
            let may_see = Caller { host: host.to_owned(), ..caller("ses_a") };
            if !operation.is_for(may_see.kind()) {
                continue;
            }
            let stranger = Caller { reveal: false, ..may_see.clone() };
            let extras = extras.iter().filter(|_| host == TERMINAL).cloned();
            for arguments in tried(operation).into_iter().chain(extras) {
                let answer = if operation.access == Access::Read {
                    if shown(&whole, operation, &may_see, &arguments).contains(&token) {
                        revealed.push(name);
                    }
                    shown(&whole, operation, &stranger, &arguments)
                } else {
                    let copy = copied(&folder);
                    shown(&open(&copy), operation, &stranger, &arguments)
                };
                assert!(!answer.contains(&token), "{name} {arguments} by {host}: {answer}");
            }
        }
    }
    for name in [
        "stack_status",
        "stack_tree",
        "stack_frames",
        "stack_frame_details",
        "stack_log",
        "stack_search",
        "stack_context_preview",
        "stack_get_state",
        "stack_export",
        "stack_read_frame",
        "stack_report",
    ] {
        assert!(revealed.contains(&name), "{name} shows none to anybody: {revealed:?}");
    }
}
