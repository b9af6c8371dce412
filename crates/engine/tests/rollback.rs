//! The files that a rollback restores, whatever became of the states that it needs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use callstack_core::frame::Status;
use callstack_engine::effect::EffectOutcome;
use callstack_engine::operation::{Answer, Caller, TERMINAL};
use callstack_engine::{
    Engine, EngineError, FileChange, FileChangeKind, FilePatch, FrameStateManager, Kind, LeftAlone,
    Reach, RollbackPlan, Settings, Why, WorkTree, operations,
};
use serde_json::{Value, json};

use crate::support::{Clock, Project, caller};

const A: &str = "ses_a";

type Files = BTreeMap<String, Vec<u8>>;

/// Keeps copies of the files of a folder, without those in folders of it.
#[derive(Clone)]
pub(crate) struct Copies {
    folder: PathBuf,
    states: Arc<Mutex<Vec<Files>>>,
    /// The time that each call would have waited.
    asked: Arc<Mutex<Vec<Duration>>>,
    slow: Arc<AtomicBool>,
    /// Nothing is recorded as long as somebody holds it.
    pub(crate) gate: Arc<Mutex<()>>,
    /// Whether it is time to drop states, and those that were not to be dropped then.
    pub(crate) crowded: Arc<AtomicBool>,
    pub(crate) kept: Arc<Mutex<BTreeSet<String>>>,
}

impl Copies {
    pub(crate) fn of(engine: &Engine) -> Self {
        let folder = engine.project().to_path_buf();
        Self {
            folder,
            states: Arc::default(),
            asked: Arc::default(),
            slow: Arc::default(),
            gate: Arc::default(),
            crowded: Arc::default(),
            kept: Arc::default(),
        }
    }

    /// Returns the number of recorded states.
    pub(crate) fn recorded(&self) -> usize {
        self.states.lock().unwrap().len()
    }

    fn state(&self, name: &str) -> Files {
        self.states.lock().unwrap()[name.parse::<usize>().unwrap()].clone()
    }
}

fn files(folder: &Path) -> Files {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
    files.map(|it| (it.file_name().into_string().unwrap(), fs::read(it.path()).unwrap())).collect()
}

impl WorkTree for Copies {
    fn check(&self, _: Duration) -> Result<(), EngineError> {
        Ok(())
    }

    fn record(&self, patience: Duration) -> Result<Option<String>, EngineError> {
        self.asked.lock().unwrap().push(patience);
        if self.slow.load(Ordering::Relaxed) {
            let (kind, message) = (Kind::Unavailable, "it took too long".to_owned());
            return Err(EngineError::new(kind, message));
        }
        drop(self.gate.lock().unwrap());
        let mut states = self.states.lock().unwrap();
        states.push(files(&self.folder));
        Ok(Some((states.len() - 1).to_string()))
    }

    fn changes(&self, from: &str, to: &str) -> Result<Vec<FileChange>, EngineError> {
        let (from, to) = (self.state(from), self.state(to));
        let paths: BTreeSet<_> = from.keys().chain(to.keys()).collect();
        let change = |path: &&String| {
            let kind = match (from.get(*path), to.get(*path)) {
                (before, after) if before == after => return None,
                (None, _) => FileChangeKind::Created,
                (_, None) => FileChangeKind::Deleted,
                _ => FileChangeKind::Changed,
            };
            Some(FileChange { path: (*path).clone(), kind })
        };
        Ok(paths.iter().filter_map(change).collect())
    }

    fn moved(&self, from: &str, to: &str) -> Result<BTreeSet<String>, EngineError> {
        let (from, to) = (self.state(from), self.state(to));
        let gone: BTreeSet<_> =
            from.iter().filter(|(path, _)| !to.contains_key(*path)).map(|(_, text)| text).collect();
        let came =
            to.iter().filter(|(path, text)| !from.contains_key(*path) && gone.contains(text));
        Ok(came.map(|(path, _)| path.clone()).collect())
    }

    /// Every line of the newer file counts as added.
    fn patches(&self, _: &str, to: &str, paths: &[String]) -> Result<Vec<FilePatch>, EngineError> {
        let state = self.state(to);
        let patch = |path: &String| {
            let content = state.get(path).cloned().unwrap_or_default();
            let text = String::from_utf8(content).ok();
            let lines = text.as_ref().map(|text| (text.lines().count(), 0));
            let text = text.unwrap_or_default();
            let text = text.lines().flat_map(|line| ["+", line, "\n"]).collect();
            FilePatch { path: path.clone(), lines, text }
        };
        Ok(paths.iter().map(patch).collect())
    }

    fn held(&self, state: &str) -> Result<BTreeSet<String>, EngineError> {
        Ok(self.state(state).into_keys().collect())
    }

    fn restore(&self, _: &str, to: &str, paths: &[String]) -> Result<Vec<LeftAlone>, EngineError> {
        let state = self.state(to);
        for path in paths {
            let file = self.folder.join(path);
            match state.get(path) {
                Some(content) => fs::write(file, content).unwrap(),
                None => fs::remove_file(file).unwrap(),
            }
        }
        Ok(Vec::new())
    }

    fn is_crowded(&self) -> bool {
        self.crowded.load(Ordering::Relaxed)
    }

    fn keep_only(&self, needed: &[String], _: Duration) -> Result<(), EngineError> {
        self.kept.lock().unwrap().extend(needed.iter().cloned());
        Ok(())
    }
}

/// A project whose files are recorded, with a root `f1`.
pub(crate) fn project() -> Project {
    let project = Project::new();
    project.engine.record_files_with(Box::new(Copies::of(&project.engine)));
    project.user(A, "Build the parser");
    project
}

pub(crate) fn push(project: &Project) {
    project.did(A, "stack_frame_push", json!({"title": "part", "successCriteria": "done"}));
}

pub(crate) fn write(project: &Project, file: &str, content: &str) {
    fs::write(project.engine.project().join(file), content).unwrap();
}

fn read(project: &Project, file: &str) -> Option<String> {
    fs::read_to_string(project.engine.project().join(file)).ok()
}

/// A tool of the open frame writes a file.
pub(crate) fn writes(project: &Project, file: &str, content: &str) {
    write(project, file, content);
    project.did(A, "stack_add_artifact", json!({ "artifact": file }));
}

pub(crate) fn pop(project: &Project, arguments: Value) {
    project.did(A, "stack_frame_pop", arguments);
}

fn plan(project: &Project, frame: &str, reach: Reach) -> RollbackPlan {
    project.engine.rollback_plan(frame, reach).unwrap()
}

pub(crate) fn restored(plan: &RollbackPlan) -> Vec<&str> {
    plan.restored.iter().map(|file| file.path.as_str()).collect()
}

fn left(plan: &RollbackPlan) -> Vec<(&str, Why)> {
    plan.left.iter().map(|file| (file.path.as_str(), file.why)).collect()
}

/// A frame ends by other means than a call, as it does when its session has fallen silent.
pub(crate) fn ends_unseen(project: &Project, frame: &str) {
    let manager = FrameStateManager::new(&project.engine, A, "test");
    manager.complete_frame(frame, Status::Completed, "done", "done").unwrap();
}

fn asks(project: &Project, arguments: Value) -> Result<Answer, EngineError> {
    project.call(A, "stack_frame_rollback", arguments)
}

#[test]
fn an_agent_is_refused_with_the_command_of_a_person() {
    let project = project();
    push(&project);
    writes(&project, "seen.rs", "mine");
    pop(&project, json!({"results": "done"}));
    for (arguments, command) in [
        (json!({"frame": "f2"}), "rollback f2"),
        (json!({"frame": "F2", "all": true}), "rollback f2 --all"),
        (json!({"frame": "f2", "undo": true}), "rollback f2 --undo"),
        (json!({"frame": "f2; rm -rf x"}), "rollback"),
    ] {
        let error = asks(&project, arguments).unwrap_err();
        assert_eq!((error.kind, &*error.message), (Kind::NotFound, NOT_FOR_AGENTS));
        let hint = format!("Nothing was changed. A person carries it out: `callstack {command}`.");
        assert_eq!(error.hint.unwrap().to_string(), hint);
    }
    assert_eq!(read(&project, "seen.rs").as_deref(), Some("mine"));
}

const NOT_FOR_AGENTS: &str = "`stack_frame_rollback` is not for an agent";

#[test]
fn an_agent_may_ask_where_that_is_set_and_nothing_is_restored_until_a_person_does_it() {
    let project = project();
    push(&project);
    writes(&project, "seen.rs", "mine");
    pop(&project, json!({"results": "done"}));
    let list = || project.did(A, "stack", json!({"op": "all"})).text;
    assert!(!list().contains("stack_frame_rollback("));
    project.engine.set_setting("STACK_AGENT_REQUESTS", Some("on")).unwrap();
    assert!(list().contains("stack_frame_rollback("));
    let files = json!({"frame": "f2", "files": ["other.rs"]});
    let reached = json!({"op": "frame_rollback", "args": {"frame": "f2"}});
    let answers = [
        asks(&project, json!({"frame": "f2"})).unwrap(),
        asks(&project, files).unwrap(),
        project.did(A, "stack", reached),
    ];
    for answer in answers {
        assert_eq!(
            answer.text,
            "Would restore 1 files of f2.\n- seen.rs: removed\n\
             Nothing was changed: a person confirms it with `callstack rollback f2`."
        );
        assert_eq!(read(&project, "seen.rs").as_deref(), Some("mine"));
    }
    let person = Caller { host: TERMINAL.to_owned(), ..caller(A) };
    let rollback = operations::find("stack_frame_rollback").unwrap();
    rollback.run(&project.engine, &person, json!({"frame": "f2"})).unwrap();
    assert_eq!(read(&project, "seen.rs"), None);
    let none = asks(&project, json!({"frame": "f2"})).unwrap().text;
    assert!(!none.contains("`callstack rollback"), "{none}");
}

#[test]
fn where_an_end_was_not_recorded_nothing_unseen_is_restored() {
    let project = project();
    push(&project);
    writes(&project, "seen.rs", "mine");
    write(&project, "built", "by a command");
    ends_unseen(&project, "f2");
    write(&project, "theirs", "later work");
    for reach in [Reach::Seen, Reach::All] {
        let plan = plan(&project, "f2", reach);
        assert_eq!(restored(&plan), ["seen.rs"], "{reach:?}");
        assert_eq!(left(&plan), [("built", Why::EndUnknown), ("theirs", Why::EndUnknown)]);
    }
    project.engine.roll_back(&plan(&project, "f2", Reach::All)).unwrap();
    assert_eq!(read(&project, "seen.rs"), None);
    assert_eq!(read(&project, "theirs").as_deref(), Some("later work"));
}

/// The work of a frame that has ended, and what somebody else did later.
#[track_caller]
fn knows_its_end(project: &Project, frame: &str) {
    write(project, "theirs", "later work");
    let plan = plan(project, frame, Reach::All);
    assert_eq!((restored(&plan), left(&plan)), (vec!["built"], Vec::new()));
}

#[test]
fn with_a_summary_a_frame_ends_where_that_was_asked_for() {
    for fails in [false, true] {
        let project = project();
        push(&project);
        write(&project, "built", "by a command");
        pop(&project, json!({"results": "done", "generateSummary": true}));
        if fails {
            let outcome = EffectOutcome::Error { message: "no model".to_owned(), aborted: false };
            let pop = operations::find("stack_frame_pop").unwrap();
            drop(pop.resume(&project.engine, &caller(A), json!({}), outcome).unwrap());
            knows_its_end(&project, "f2");
        } else {
            write(&project, "theirs", "while the summary was made");
            project.engine.compaction_gone(A).unwrap();
            knows_its_end(&project, "f2");
        }
    }
}

#[test]
fn every_frame_that_is_set_aside_has_its_end() {
    let project = project();
    push(&project);
    push(&project);
    write(&project, "built", "by a command");
    project.did(A, "stack_navigate", json!({"to": "f1"}));
    assert_eq!([project.status("f2"), project.status("f3")], ["blocked", "blocked"]);
    knows_its_end(&project, "f2");
    knows_its_end(&project, "f3");
}

#[test]
fn an_end_counts_until_work_goes_on() {
    let project = project();
    push(&project);
    pop(&project, json!({"results": "for now", "status": "blocked"}));
    project.did(A, "stack_frame_activate", json!({"frame": "f2"}));
    writes(&project, "seen.rs", "in the second stretch");
    ends_unseen(&project, "f2");
    assert_eq!(restored(&plan(&project, "f2", Reach::Seen)), ["seen.rs"]);
}

#[test]
fn a_frame_whose_session_returns_without_a_pop_has_its_end() {
    let project = project();
    project.did(
        A,
        "stack_frame_plan",
        json!({"children": [{"title": "part", "successCriteria": "done"}]}),
    );
    let activate = operations::find("stack_frame_activate").unwrap();
    let caller = Caller { performs: true, ..caller(A) };
    let go_on = |answer: Answer, outcome: Value| {
        let token = answer.next.unwrap().token;
        activate.resume(&project.engine, &caller, token, EffectOutcome::Ok(outcome)).unwrap()
    };
    let begun =
        activate.run(&project.engine, &caller, json!({"frame": "f2", "in": "session"})).unwrap();
    let prompted = go_on(begun, json!({"session": "ses_b"}));
    let inner = json!({"title": "inner", "successCriteria": "done"});
    project.did("ses_b", "stack_frame_push", inner);
    write(&project, "built", "by a command");
    let returned = go_on(prompted, json!({"text": "It is built."}));
    assert_eq!(returned.returned.map(|it| it.to_string()).as_deref(), Some("f2"));
    knows_its_end(&project, "f2");
    knows_its_end(&project, "f3");
}

#[test]
fn what_a_frame_writes_after_one_below_it_is_seen() {
    let project = project();
    push(&project);
    push(&project);
    writes(&project, "a.rs", "below");
    pop(&project, json!({"results": "done"}));
    writes(&project, "a.rs", "above, and later");
    pop(&project, json!({"results": "done"}));
    let whole = plan(&project, "f2", Reach::Seen);
    assert_eq!((restored(&whole), left(&whole)), (vec!["a.rs"], Vec::new()));
    let inner = plan(&project, "f3", Reach::Seen);
    assert_eq!(left(&inner), [("a.rs", Why::ChangedSince)]);
}

#[test]
fn what_takes_too_long_is_not_tried_again_for_ten_minutes() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Clock::default();
    let world = Box::new(clock.clone());
    let project =
        Project::of(Engine::open_unchecked(folder.path(), Settings::default(), world).unwrap());
    let copies = Copies::of(&project.engine);
    project.engine.record_files_with(Box::new(copies.clone()));
    project.user(A, "Build the parser");
    copies.slow.store(true, Ordering::Relaxed);
    let asked = || copies.asked.lock().unwrap().len();
    push(&project);
    pop(&project, json!({"results": "done"}));
    push(&project);
    assert_eq!(asked(), 1);
    clock.pass(10 * 60 * 1000 - 1);
    push(&project);
    assert_eq!(asked(), 1);
    clock.pass(1);
    copies.slow.store(false, Ordering::Relaxed);
    push(&project);
    pop(&project, json!({"results": "done"}));
    assert_eq!(asked(), 3);
    assert!(copies.asked.lock().unwrap().iter().all(|it| *it <= Duration::from_secs(2)));
    assert!(project.engine.rollback_plan("f5", Reach::Seen).is_ok());
    let error = project.engine.rollback_plan("f4", Reach::Seen).unwrap_err();
    assert!(error.message.contains("not recorded"), "{error}");
}
