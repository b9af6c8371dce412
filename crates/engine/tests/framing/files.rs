//! Automatic frames' changes to files can be undone, as far as their earlier state is known.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use callstack_core::transcript::PartBody;
use callstack_engine::{EngineError, Level, Reach, RollbackPlan};

use super::host::{Host, SESSION};
use crate::rollback::{Copies, restored};
use crate::support::{wait, wait_for_end};

/// A host whose project's files are recorded.
fn recorded(level: Level) -> (Host, Copies) {
    let host = Host::with(level);
    let copies = Copies::of(&host.engine);
    host.engine.record_files_with(Box::new(copies.clone()));
    (host, copies)
}

/// Waits for so many states; what is done next is done later.
#[track_caller]
fn later(host: &Host, copies: &Copies, states: usize) {
    wait_for_end(|| copies.recorded() >= states);
    host.pass(1);
}

/// The user speaks, which the host reports before the model is called.
fn user(host: &mut Host, words: &str) {
    let message = format!("msg_{}", host.shown.len() + 1);
    host.user(words);
    host.engine.record_files_at(SESSION, &message).unwrap();
}

fn plan(host: &Host, frame: &str) -> Result<RollbackPlan, EngineError> {
    host.engine.rollback_plan(frame, Reach::Seen)
}

#[track_caller]
fn unknown(host: &Host, frame: &str) {
    let error = plan(host, frame).unwrap_err();
    assert!(error.message.contains("not recorded"), "{error}");
}

#[test]
fn a_turn_is_rolled_back_to_what_the_user_found() {
    let (mut host, copies) = recorded(Level::Auto);
    user(&mut host, "Hello");
    later(&host, &copies, 1);
    host.reply("Hello.");
    fs::write(host.folder.path().join("old.rs"), "by the user").unwrap();
    user(&mut host, "Add dates");
    later(&host, &copies, 2);
    for file in ["old.rs", "new.rs"] {
        host.write(file);
    }
    host.step(&["make", "make test"]);
    host.reply("Dates are in.");
    user(&mut host, "Thank you");
    let plan = plan(&host, "f2").unwrap();
    assert_eq!(restored(&plan), ["new.rs", "old.rs"]);
    host.engine.roll_back(&plan).unwrap();
    let read = |file: &str| fs::read_to_string(host.folder.path().join(file)).ok();
    assert_eq!((read("old.rs").as_deref(), read("new.rs")), (Some("by the user"), None));
}

#[test]
fn an_item_is_rolled_back_to_what_was_there_when_the_list_was_written() {
    let (mut host, copies) = recorded(Level::Auto);
    user(&mut host, "Add dates");
    later(&host, &copies, 1);
    host.write("before.rs");
    host.todos(&[">Write the parser", "Write tests"], "First the parser.");
    later(&host, &copies, 2);
    host.write("parser.rs");
    host.todos(&["+Write the parser", ">Write tests"], "It parses.");
    later(&host, &copies, 3);
    host.write("tests.rs");
    host.step(&["make test"]);
    let restored = ["f1", "f2", "f3"].map(|frame| {
        let plan = plan(&host, frame).unwrap();
        restored(&plan).join(" ")
    });
    assert_eq!(restored, ["before.rs parser.rs tests.rs", "parser.rs", "tests.rs"]);
}

/// It is unknown whether the call had written before the files were recorded.
#[test]
fn a_state_that_was_recorded_during_a_call_does_not_count() {
    let (mut host, copies) = recorded(Level::Auto);
    let gate = copies.gate.lock().unwrap();
    user(&mut host, "Add dates");
    host.step(&["make", "make test"]);
    drop(gate);
    later(&host, &copies, 1);
    host.write("date.rs");
    host.step(&["make", "make test"]);
    unknown(&host, "f1");
}

#[test]
fn nor_does_one_that_was_recorded_while_an_earlier_call_was_going_on() {
    let (mut host, copies) = recorded(Level::Auto);
    user(&mut host, "Hello");
    later(&host, &copies, 1);
    host.step(&["make"]);
    let part = &mut host.shown.last_mut().unwrap().message.parts[0];
    let PartBody::Tool(call) = &mut part.body else { unreachable!() };
    Arc::make_mut(call).ended = None;
    host.show_again_from(1);
    user(&mut host, "Add dates");
    later(&host, &copies, 2);
    host.write("date.rs");
    host.step(&["make", "make test", "make docs"]);
    unknown(&host, "f2");
}

#[test]
fn another_process_does_not_know_how_a_turn_found_the_files() {
    let (mut host, copies) = recorded(Level::Auto);
    user(&mut host, "Add dates");
    later(&host, &copies, 1);
    host.restart();
    host.engine.record_files_with(Box::new(copies.clone()));
    host.write("date.rs");
    host.step(&["make", "make test", "make docs"]);
    unknown(&host, "f1");
}

#[test]
fn states_are_kept_that_a_frame_has_or_may_be_given_and_by_which_a_rollback_is_taken_back() {
    let (mut host, copies) = recorded(Level::Auto);
    host.push("by hand");
    host.pop("done");
    user(&mut host, "Add dates");
    later(&host, &copies, 3);
    host.write("date.rs");
    host.step(&["make", "make test", "make docs"]);
    // One is recorded to see what there is to do, one before it is done, and one afterwards.
    host.engine.roll_back(&plan(&host, "f3").unwrap()).unwrap();
    assert_eq!(copies.recorded(), 6);
    copies.crowded.store(true, Ordering::Relaxed);
    host.reply("Dates are in.");
    user(&mut host, "Thank you");
    wait(|| !copies.kept.lock().unwrap().is_empty());
    let kept = copies.kept.lock().unwrap();
    assert_eq!(kept.iter().collect::<Vec<_>>(), ["0", "1", "2", "4", "5", "6"]);
}

#[test]
fn at_the_level_manual_nothing_is_recorded_for_what_the_user_says() {
    let (mut host, copies) = recorded(Level::Manual);
    user(&mut host, "Add dates");
    host.todos(&[">Write the parser"], "First the parser.");
    host.push("by hand");
    wait(|| copies.recorded() > 0);
    assert_eq!(copies.recorded(), 1, "but for frames that somebody begins");
}
