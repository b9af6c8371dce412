//! Several sessions and several processes at work in one project.

use std::thread;
use std::time::Duration;

use callstack_scripted_model::{Conversation, Script, Step, When};
use callstack_testkit::{Run, assert_clean};

use super::project::Project;
use super::seen::{assert_no_work, seen};
use super::steps::{pop, push, work};
use super::talk::Talk;
use super::tree::tree;

/// Works in two nested frames and ends; each step takes a moment, so that two conversations interleave. Their pushes
/// have the same call ids, as with providers that restart the numbers of calls.
fn conversation(name: &str) -> Conversation {
    let steps = [
        push(&format!("Outer {name}"), "all is read").reasoning("A subtask."),
        push(&format!("Inner {name}"), "the part is read").reasoning("A part of it."),
        work(name).reasoning("Read."),
        pop(&format!("{name} says 1.")).reasoning("Inner done."),
        pop(&format!("{name} says 2.")).reasoning("Outer done."),
        Step::text(format!("{name} is read.")).reasoning("Tell."),
    ];
    let slow = steps.map(|step| step.delay(Duration::from_millis(100)));
    Conversation::when(When::FirstUser(format!("Read {name}")), slow)
}

fn of(name: &str) -> String {
    format!("Read {name} in_progress\n  Outer {name} completed\n    Inner {name} completed\n")
}

fn assert_apart(project: &Project) {
    assert_clean(&project.model);
    let sessions = project.model.sessions();
    let [one, two] = &sessions[..] else { panic!("{sessions:?}") };
    let trees = tree(&project.sealed, one).replace(" *", "");
    assert!(
        trees == of("Alpha") + &of("Beta") || trees == of("Beta") + &of("Alpha"),
        "the trees are\n{trees}"
    );
    for session in [one, two] {
        let requests = project.model.agent_requests(session);
        let last = requests.last().unwrap();
        assert_eq!(requests.len(), 6);
        assert_no_work(last);
        let text = last.render();
        let both = ["Alpha", "Beta"].map(|name| text.contains(&format!("Outer {name}")));
        assert_ne!(both[0], both[1], "one is in the other:\n{}", seen(last));
    }
}

#[test]
fn two_sessions_of_one_process_leave_each_others_frames_alone() {
    let Some(talk) = Talk::new(&[]) else { return };
    for name in ["Alpha", "Beta"] {
        talk.project.model.add(conversation(name));
    }
    thread::scope(|scope| {
        for name in ["Alpha", "Beta"] {
            let server = &talk.server;
            scope.spawn(move || {
                let session = server.create_session().unwrap();
                server.prompt(&session, &format!("Read {name}")).unwrap();
            });
        }
    });
    assert_apart(&talk.project);
}

#[test]
fn two_processes_leave_each_others_frames_alone() {
    let script =
        Script::new().conversation(conversation("Alpha")).conversation(conversation("Beta"));
    let Some(project) = Project::new(script) else { return };
    // Two processes that make OpenCode's own database at the same time get in each other's way.
    drop(project.opencode.serve(&project.sealed).unwrap());
    let start = |name: &str| {
        project.opencode.start(&project.sealed, &Run::prompt(format!("Read {name}"))).unwrap()
    };
    let running = ["Alpha", "Beta"].map(start);
    for one in running {
        let finished = one.wait(Duration::from_secs(90)).unwrap();
        assert!(finished.success(), "{finished}");
    }
    assert_apart(&project);
}
