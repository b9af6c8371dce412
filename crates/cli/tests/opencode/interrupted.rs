//! Steps that are broken off, calls that are refused, subagents, and changes by others in between.

use std::time::Duration;

use callstack_scripted_model::{Conversation, Script, Step, When};
use callstack_testkit::{Run, assert_clean};
use serde_json::json;

use super::project::Project;
use super::seen::{assert_no_work, seen};
use super::steps::{bash, pop, push, work};
use super::talk::Talk;
use super::tree::{from_outside, tree, wait_for_tree};

#[test]
fn an_aborted_step_and_a_refused_call_leave_the_frame_as_it_is() {
    let Some(project) = Project::new(Script::new()) else { return };
    let rules = json!({"permission": {"bash": {"*": "allow", "rm *": "deny"}}});
    project.opencode.configure_with(&project.sealed, &project.model.base_url(), &rules).unwrap();
    let server = project.opencode.serve(&project.sealed).unwrap();
    let talk = Talk { project, server };
    let sealed = &talk.project.sealed;
    let session = talk.session([
        push("Clean up", "the rest is gone").reasoning("A subtask."),
        bash("rm -r nothing").reasoning("Remove."),
        work("the rest").reasoning("Look."),
        Step::text("Never said.").delay(Duration::from_mins(1)),
        pop("It may not be removed.").reasoning("Done."),
        Step::text("It stays.").reasoning("Tell."),
    ]);
    let mut events = talk.server.events().unwrap();
    talk.server.prompt_async(&session.id, "Clean up please").unwrap();
    let busy = || session.requests().len() == 4;
    while !busy() {
        std::thread::sleep(Duration::from_millis(10));
    }
    talk.server.abort(&session.id).unwrap();
    events.wait_idle(&session.id).unwrap();
    let open = "Clean up please in_progress\n  Clean up in_progress *\n";
    assert_eq!(tree(sealed, &session.id), open);
    session.say("Go on");
    assert_eq!(tree(sealed, &session.id), "Clean up please in_progress *\n  Clean up completed\n");
    let requests = session.finished();
    let last = requests.last().unwrap();
    assert_no_work(last);
    assert!(last.render().contains("[user] Go on"), "{}", seen(last));
}

#[test]
fn a_subagents_frame_ends_with_it() {
    let Some(talk) = Talk::new(&[]) else { return };
    let sealed = &talk.project.sealed;
    let delegation =
        json!({"description": "look", "prompt": "Look into it", "subagent_type": "general"});
    let session = talk.session([
        push("Ask around", "it is known").reasoning("A subtask."),
        Step::call("task", delegation).reasoning("Let another one look."),
        pop("It says 6.").reasoning("Done."),
        Step::text("It says 6.").reasoning("Tell."),
    ]);
    talk.project.model.add(Conversation::when(
        When::Child,
        [
            push("Look deep", "it is found").reasoning("My own subtask."),
            work("the deep").reasoning("Look."),
            Step::text("The depth says 6.").reasoning("Tell my caller."),
        ],
    ));
    session.say("Ask around please");
    let requests = session.finished();
    assert!(requests[2].render().contains("The depth says 6."), "{}", seen(&requests[2]));
    let last = requests.last().unwrap();
    assert_no_work(last);
    for line in ["Results: It says 6.", "\"look\" completed: The depth says 6."] {
        assert!(last.render().contains(line), "{}", seen(last));
    }
    assert_eq!(
        tree(sealed, &session.id),
        "Ask around please in_progress *\n  Ask around completed\n    look completed\n      \
         Look deep completed\n"
    );
}

#[test]
fn frames_from_outside_fold_at_the_users_next_turn() {
    let script = Script::steps([
        work("the beginning").reasoning("Begin."),
        Step::text("Begun.").reasoning("Tell."),
        work("the middle").reasoning("Go on."),
        Step::text("The middle is done.").reasoning("Tell on."),
        Step::text("The end.").reasoning("Tell at last."),
        Step::text("Nothing more."),
    ]);
    let Some(project) = Project::new(script) else { return };
    project.run(&Run::prompt("Begin"));
    let session = project.model.sessions()[0].clone();
    let push = json!({"title": "From outside", "successCriteria": "the middle is done"});
    from_outside(&project.sealed, &session, "stack_frame_push", push);
    project.run(&Run::prompt("Do the middle").continued());
    let results = json!({"results": "The middle was done from outside."});
    from_outside(&project.sealed, &session, "stack_frame_pop", results);
    project.model.skip_next_prefix_check(&session);
    project.run(&Run::prompt("And the end?").continued());
    project.run(&Run::prompt("Anything else?").continued());
    assert_clean(&project.model);
    let requests = project.requests();
    let [.., last] = &requests[..] else { unreachable!() };
    let text = last.render();
    assert!(text.contains("WORK the beginning"), "{}", seen(last));
    assert!(!text.contains("WORK the middle"), "{}", seen(last));
    for stays in
        ["[user] Do the middle", "The middle is done.", "The middle was done from outside."]
    {
        assert!(text.contains(stays), "{}", seen(last));
    }
    wait_for_tree(&project.sealed, &session, "Begin in_progress *\n  From outside completed\n");
}
