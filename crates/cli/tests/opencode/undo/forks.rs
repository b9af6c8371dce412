//! A fork takes the frames along as copies.

use callstack_scripted_model::{Conversation, Step, check};
use serde_json::Value;

use super::super::seen::{assert_no_work, seen};
use super::super::steps::{pop, push, work};
use super::super::talk::Talk;
use super::super::tree::tree;

#[test]
fn a_fork_works_in_frames_of_its_own() {
    let Some(talk) = Talk::new(&[]) else { return };
    let sealed = &talk.project.sealed;
    let session = talk.session([
        push("Finished part", "it is read").reasoning("A subtask."),
        work("the finished part"),
        pop("The finished part says 7.").reasoning("Done."),
        push("Open part", "it is read too").reasoning("Another subtask."),
        work("the open part").reasoning("Read."),
        Step::text("Half way.").reasoning("Tell."),
        Step::text("Still half way.").reasoning("Tell again."),
    ]);
    session.say("Read both parts");
    let original =
        "Read both parts in_progress\n  Finished part completed\n  Open part in_progress *\n";
    assert_eq!(tree(sealed, &session.id), original);

    let steps = [
        work("the rest").reasoning("In the fork."),
        pop("The open part says 8.").reasoning("Done in the fork."),
        Step::text("Read to the end.").reasoning("Tell the fork."),
    ];
    talk.project.model.add(Conversation::new(steps));
    let fork = talk.server.fork(&session.id, None).unwrap();
    talk.server.prompt(&fork, "Go on in the fork").unwrap();
    session.say("And you?");

    let ours = session.finished();
    let theirs = talk.project.model.agent_requests(&fork);
    let [first, .., last] = &theirs[..] else { panic!("{}", theirs.len()) };
    assert_eq!(
        check::prefix(&ours[5], first),
        [],
        "the fork is sent something else than its original"
    );
    assert_no_work(last);
    assert!(last.render().contains("The open part says 8."), "{}", seen(last));
    assert!(ours[6].render().contains("the open part"), "the original's frame is still open");
    let both = format!(
        "{original}Go on in the fork in_progress\n  Finished part completed\n  Open part completed\n"
    );
    assert_eq!(tree(sealed, &session.id), both);
    let evidence = |handle: &str| {
        let shown = talk.project.callstack.run(sealed, &["show", handle, "--json"]).unwrap();
        serde_json::from_str::<Value>(&shown.stdout).unwrap()["evidence"].clone()
    };
    assert_eq!(evidence("f5"), evidence("f2"), "what was seen in it goes with the copy");
}
