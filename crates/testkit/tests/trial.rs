//! Trials with a reader that follows a script.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use callstack_testkit::OpenCode;
use callstack_testkit::trial::{Next, Part, Plan, Reader, TrialError, Wheel, ledger, run};
use serde_json::json;
use tempfile::TempDir;

fn plan(root: &Path, name: &str, turns: &[&str]) -> Plan {
    let project = root.join(name).join("project");
    std::fs::create_dir_all(&project).unwrap();
    Plan {
        project,
        folder: root.join(name).join("trial"),
        turns: turns.iter().map(|turn| (*turn).to_owned()).collect(),
        callstack: None,
        env: Vec::new(),
        wheel: Wheel::Reader,
        context: 200_000,
        limit: Some(Duration::from_secs(90)),
    }
}

/// Answers with each of the answers in turn. Returns the texts that it was shown.
fn read(folder: PathBuf, answers: Vec<serde_json::Value>) -> thread::JoinHandle<Vec<String>> {
    thread::spawn(move || {
        let (reader, mut shown) = (Reader::of(&folder), Vec::new());
        while !folder.join("trial.json").exists() {
            thread::sleep(Duration::from_millis(20));
        }
        for answer in answers {
            match reader.next(Part::New, Duration::from_mins(1)).unwrap() {
                Next::Shown(text) => shown.push(text),
                other => panic!("{other:?} after {shown:#?}"),
            }
            reader.answer(&answer.to_string()).unwrap();
        }
        shown
    })
}

/// Two trials at once on one machine, each with two turns.
#[test]
fn a_reader_is_the_model_of_a_real_agent() {
    if OpenCode::locate_or_skip().is_none() {
        return;
    }
    let root = TempDir::new().unwrap();
    let trials: Vec<_> = ["one", "two"]
        .into_iter()
        .map(|name| {
            let plan = plan(root.path(), name, &["Write a.txt.", "What did you write?"]);
            let reader = read(
                plan.folder.clone(),
                vec![
                    // Calls of one answer may overlap on a busy machine.
                    json!({"text": "I write it.", "calls": [
                        {"name": "write", "input": {"filePath": "a.txt", "content": "x"}},
                    ]}),
                    json!({"calls": [
                        {"name": "edit", "input":
                            {"filePath": "a.txt", "oldString": "x", "newString": name}},
                    ]}),
                    json!({"calls": [
                        {"name": "bash", "input":
                            {"command": "cat a.txt; echo $GIVEN $HOME", "description": "looks"}},
                    ]}),
                    json!({"text": "Written."}),
                    json!({"text": format!("The word {name}.")}),
                ],
            );
            let mut plan = plan;
            plan.env = vec![("GIVEN".to_owned(), format!("given-{name}"))];
            let trial = thread::spawn(move || {
                let mut lines = Vec::new();
                let ended =
                    run(&plan, &AtomicBool::new(false), &mut |line| lines.push(line.to_owned()));
                (plan, ended, lines)
            });
            (name, trial, reader)
        })
        .collect();
    for (name, trial, reader) in trials {
        let (plan, ended, lines) = trial.join().unwrap();
        ended.unwrap();
        let shown = reader.join().unwrap();
        assert_eq!(std::fs::read_to_string(plan.project.join("a.txt")).unwrap(), name);
        assert!(
            shown[0].contains("* write: ") || shown[0].contains("shown/0001.txt"),
            "{}",
            shown[0]
        );
        let home = plan.folder.canonicalize().unwrap().join("sealed/home");
        let said = format!("{name}given-{name} {}", home.display());
        assert!(shown[3].contains(&said), "{}", shown[3]);
        assert!(shown[4].contains("user\nWhat did you write?"), "{}", shown[4]);
        assert!(lines.last().is_some_and(|line| line.starts_with("turn 2 of 2")), "{lines:?}");
        let over = Reader::of(&plan.folder).next(Part::New, Duration::ZERO).unwrap();
        assert_eq!(over, Next::Over("every turn was said and answered".to_owned()));
        let took = ledger::of(&plan.folder).unwrap();
        assert_eq!((took.requests, took.calls, took.again, took.changes), (5, 3, 0, 0));
        assert!(took.billed < took.sent && took.largest < took.sent);
        assert!(!plan.project.join("opencode.json").exists(), "the project's files are its own");
    }
}

/// The reader of a trial that was stopped is not left waiting.
#[test]
fn a_trial_ends_where_it_is_set_to() {
    if OpenCode::locate_or_skip().is_none() {
        return;
    }
    let root = TempDir::new().unwrap();
    let plan = plan(root.path(), "stopped", &["Write a.txt.", "And again."]);
    let folder = plan.folder.clone();
    let interrupted = AtomicBool::new(false);
    thread::scope(|scope| {
        let trial = scope.spawn(|| run(&plan, &interrupted, &mut |_| {}));
        while !folder.join("request-0001.json").exists() && !trial.is_finished() {
            thread::sleep(Duration::from_millis(20));
        }
        interrupted.store(true, Ordering::SeqCst);
        let ended = trial.join().unwrap();
        assert!(
            matches!(&ended, Err(TrialError::Refused(why)) if why == "stopped in turn 1"),
            "{ended:?}"
        );
    });
    let over = Reader::of(&folder).next(Part::New, Duration::ZERO).unwrap();
    assert_eq!(over, Next::Over("stopped in turn 1".to_owned()));
}
