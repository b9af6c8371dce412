//! Changes to files in steps that were closed after the fact can be undone, as far as their earlier state is known.

use std::fs;

use callstack_engine::{Level, Reach, RollbackPlan, Why};
use serde_json::json;
use tempfile::TempDir;

use super::host::{Host, SESSION, at_level};
use crate::rollback::{Copies, restored};
use crate::support::wait_for_end;

/// A host whose project's files are recorded, in which the user has asked for something.
fn recorded() -> (Host, Copies, TempDir) {
    let folder = TempDir::new().unwrap();
    let mut host = Host::new(folder.path(), at_level(Level::Suggest));
    let copies = Copies::of(&host.engine);
    records(&host, &copies);
    fs::write(folder.path().join("old.rs"), "by the user").unwrap();
    host.user("Build it");
    host.engine.record_files_at(SESSION, "msg_01").unwrap();
    wait_for_end(|| copies.recorded() == 1);
    host.pass(1);
    (host, copies, folder)
}

fn records(host: &Host, copies: &Copies) {
    host.engine.record_files_with(Box::new(copies.clone()));
}

/// A step that writes a file.
fn writes(host: &mut Host, file: &str, chars: usize) {
    fs::write(host.engine.project().join(file), "by the agent").unwrap();
    host.engine.files_written(SESSION, &[file.to_owned()]).unwrap();
    host.call("edit", file, chars);
}

fn makes(host: &mut Host, times: usize) {
    for _ in 0..times {
        host.call("bash", "make", 6_000);
    }
}

fn plan(host: &Host, frame: &str, reach: Reach) -> RollbackPlan {
    host.engine.rollback_plan(frame, reach).unwrap()
}

fn left(plan: &RollbackPlan) -> Vec<(&str, Why)> {
    plan.left.iter().map(|file| (file.path.as_str(), file.why)).collect()
}

#[test]
fn they_are_rolled_back_to_what_the_user_found() {
    let (mut host, _copies, folder) = recorded();
    writes(&mut host, "old.rs", 6_000);
    writes(&mut host, "new.rs", 6_000);
    fs::write(folder.path().join("built"), "by a command").unwrap();
    makes(&mut host, 4);
    host.since("s1").unwrap();
    let plan_all = plan(&host, "f2", Reach::All);
    assert_eq!(restored(&plan_all), ["built", "new.rs", "old.rs"]);
    let plan = plan(&host, "f2", Reach::Seen);
    assert_eq!((restored(&plan), plan.from_before), (vec!["new.rs", "old.rs"], false));
    host.engine.roll_back(&plan).unwrap();
    let read = |file: &str| fs::read_to_string(folder.path().join(file)).ok();
    assert_eq!((read("old.rs").as_deref(), read("new.rs")), (Some("by the user"), None));
}

#[test]
fn what_is_changed_after_the_pop_stays() {
    let (mut host, _copies, _folder) = recorded();
    writes(&mut host, "old.rs", 6_000);
    writes(&mut host, "new.rs", 6_000);
    makes(&mut host, 4);
    host.since("s1").unwrap();
    fs::write(host.engine.project().join("old.rs"), "later").unwrap();
    let plan = plan(&host, "f2", Reach::All);
    assert_eq!(
        (restored(&plan), left(&plan)),
        (vec!["new.rs"], vec![("old.rs", Why::ChangedSince)])
    );
}

#[test]
fn where_nothing_was_recorded_before_them_an_older_state_counts_and_is_named() {
    let (mut host, _copies, folder) = recorded();
    writes(&mut host, "earlier.rs", 10);
    host.call("todowrite", "", 10);
    writes(&mut host, "old.rs", 6_000);
    makes(&mut host, 5);
    host.since("s1").unwrap();
    for reach in [Reach::Seen, Reach::All] {
        let plan = plan(&host, "f2", reach);
        assert_eq!((restored(&plan), plan.from_before), (vec!["old.rs"], true));
        assert_eq!(left(&plan), [("earlier.rs", Why::BeginUnknown)]);
    }
    host.engine.roll_back(&plan(&host, "f2", Reach::Seen)).unwrap();
    assert_eq!(fs::read_to_string(folder.path().join("old.rs")).unwrap(), "by the user");
}

#[test]
fn a_look_around_after_work_is_a_place_from_which_steps_are_rolled_back() {
    let (mut host, copies, folder) = recorded();
    writes(&mut host, "old.rs", 10);
    host.reads(1, 6_000);
    wait_for_end(|| copies.recorded() == 2);
    host.pass(1);
    host.reads(5, 6_000);
    assert!(host.names()[0].contains("from `read"), "{:?}", host.names());
    fs::write(folder.path().join("old.rs"), "by the agent, and later").unwrap();
    writes(&mut host, "new.rs", 10);
    host.engine.files_written(SESSION, &["old.rs".to_owned()]).unwrap();
    host.call("edit", "old.rs", 10);
    host.since("s1").unwrap();
    let plan = plan(&host, "f2", Reach::All);
    assert_eq!((restored(&plan), plan.from_before), (vec!["new.rs", "old.rs"], false));
    host.engine.roll_back(&plan).unwrap();
    assert_eq!(fs::read_to_string(folder.path().join("old.rs")).unwrap(), "by the agent");
}

#[test]
fn another_process_goes_by_the_ends_of_frames() {
    let (mut host, copies, _folder) = recorded();
    host.push("Probe");
    writes(&mut host, "old.rs", 10);
    host.pop();
    host.restart_process();
    records(&host, &copies);
    writes(&mut host, "new.rs", 6_000);
    makes(&mut host, 5);
    host.since("s1").unwrap();
    let plan = plan(&host, "f3", Reach::All);
    assert_eq!((restored(&plan), plan.from_before), (vec!["new.rs"], false));
}

#[test]
fn where_no_state_is_known_the_reason_is_given() {
    let (mut host, copies, _folder) = recorded();
    host.restart_process();
    records(&host, &copies);
    writes(&mut host, "new.rs", 6_000);
    makes(&mut host, 5);
    host.ours("stack_frame_pop", json!({"since": "s1", "results": "it is built"})).unwrap();
    let refused = host.engine.rollback_plan("f2", Reach::Seen).unwrap_err();
    assert_eq!(
        refused.message,
        "the files were not recorded before the first call of frame f2 \"it is built\""
    );
    assert!(
        refused.hint.unwrap().to_string().contains("The process that knew of it may have ended")
    );
}
