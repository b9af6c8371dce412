//! The end of processes while a session works on a frame for another one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use callstack_core::frame::Status;
use callstack_scripted_model::{Script, Step};
use callstack_testkit::assert_clean;

use super::super::delegations::{children, times, wait_until, works_on};
use super::super::project::Project;
use super::super::seen::seen;
use super::super::steps::{delegate, plan, pop, work};
use super::super::talk::Talk;
use super::super::tree::frame;
use super::killed::{BETWEEN, killing, set};
use super::program;

#[test]
fn a_killed_host_process_costs_a_delegation_nothing() {
    let Some(mut talk) = Talk::new(&[]) else { return };
    let pid = Arc::new(AtomicU32::new(talk.server.process().pid()));
    talk.project.model.add(works_on(
        "Read parts",
        [
            killing(&pid, work("the first part")),
            killing(&pid, pop("The parts say 7.")),
            killing(&pid, Step::text("Read.")),
        ],
    ));
    talk.project.model.add(works_on("Read more", [killing(&pid, Step::text("More says 8."))]));
    let session = talk.session([
        plan(&children(&["Read parts", "Read more"])),
        killing(&pid, delegate("Read parts")),
        delegate("Read more"),
        killing(&pid, Step::text("All is read.")),
        Step::text("Nothing else."),
    ]);
    session.say("Read the parts");
    session.say("Anything else?");
    let requests = session.finished();
    for request in &requests[3..] {
        assert_eq!(times(request, "Results: The parts say 7."), 1, "{}", seen(request));
        assert_eq!(times(request, "Results:\nMore says 8."), 1, "{}", seen(request));
    }
    assert_eq!(pid.load(Ordering::SeqCst), talk.server.process().pid());
}

#[test]
fn an_answer_that_is_lost_between_two_steps_is_given_again() {
    let Some(project) = Project::new(Script::new()) else { return };
    let between = program(&project.sealed.root().join("between"), BETWEEN);
    let mode = project.sealed.root().join("between.mode");
    set(&mode, "lose continue");
    set(&project.sealed.root().join("between.binary"), project.callstack.path().to_str().unwrap());
    let env = [("CALLSTACK_BIN", between.to_str().unwrap())];
    let server = project.opencode.serve_with(&project.sealed, &env).unwrap();
    let talk = Talk { project, server };
    let lose_next = mode.clone();
    talk.project.model.add(works_on(
        "Read parts",
        [
            pop("The parts say 7."),
            Step::from_request(move |_| {
                set(&lose_next, "lose continue");
                Step::text("Read.")
            }),
        ],
    ));
    let session = talk.session([
        plan(&children(&["Read parts"])),
        delegate("Read parts"),
        Step::text("They say 7."),
        Step::text("Still 7."),
    ]);
    session.say("Read the parts");
    assert_eq!(std::fs::read_to_string(&mode).unwrap(), "pass", "both answers were lost");
    session.say("Sure?");
    for request in &session.finished()[2..] {
        assert_eq!(times(request, "Results: The parts say 7."), 1, "{}", seen(request));
    }
}

#[test]
fn what_was_going_on_when_opencode_ended_can_be_taken_up_again() {
    let Some(mut talk) = Talk::new(&[]) else { return };
    talk.project.model.add(works_on(
        "Read parts",
        [
            work("the first part"),
            Step::text("Never said.").delay(Duration::from_mins(1)),
            pop("The parts say 7."),
            Step::text("Read."),
        ],
    ));
    let steps = [
        plan(&children(&["Read parts"])),
        delegate("Read parts"),
        delegate("Read parts"),
        Step::text("They say 7."),
    ];
    let id = talk.session(steps).id;
    talk.server.prompt_async(&id, "Read the parts").unwrap();
    let model = &talk.project.model;
    wait_until("the second step of the work", || {
        let sessions = model.sessions();
        sessions.last().is_some_and(|last| *last != id && model.agent_requests(last).len() == 2)
    });
    talk.server.process().kill();
    let worker = frame(&talk.project.sealed, "Read parts").session;
    talk.server = talk.project.opencode.serve(&talk.project.sealed).unwrap();
    talk.server.prompt(&id, "Go on").unwrap();
    assert_clean(&talk.project.model);
    let requests = talk.project.model.agent_requests(&id);
    let [.., resumed, last] = &requests[..] else { unreachable!() };
    assert_eq!(times(resumed, "returned: blocked"), 1, "{}", seen(resumed));
    assert_eq!(times(last, "Results: The parts say 7."), 1, "{}", seen(last));
    let done = frame(&talk.project.sealed, "Read parts");
    assert_eq!((done.status, done.session), (Status::Completed, worker));
}
