//! The binary goes away in mid-session and comes back.

use std::fs;
use std::os::unix::fs::symlink;

use callstack_scripted_model::{Conversation, Script, Step, check};
use callstack_testkit::{Run, assert_clean};

use super::super::project::Project;
use super::super::seen::{assert_no_work, seen};
use super::super::steps::{WORK, pop, push, work};
use super::super::talk::Talk;
use super::super::tree::{engine, wait_for};
use super::kill_host;

/// Waits until the end of the turn is in the store: it is written in the background.
fn wait_until_recorded(talk: &Talk, session: &str) {
    let messages = talk.server.messages(session).unwrap();
    let last = messages.last().unwrap()["info"]["id"].as_str().unwrap();
    let engine = engine(&talk.project.sealed);
    wait_for(last, || engine.latest_session().unwrap().unwrap().1.unwrap());
}

#[test]
fn frames_stay_folded_while_the_binary_is_away_and_once_it_is_back() {
    let Some(project) = Project::new(Script::new()) else { return };
    let binary = project.sealed.root().join("callstack");
    symlink(project.callstack.path(), &binary).unwrap();
    let env = [("CALLSTACK_BIN", binary.to_str().unwrap())];
    let server = project.opencode.serve_with(&project.sealed, &env).unwrap();
    let mut talk = Talk { project, server };
    let session = talk.server.create_session().unwrap();
    talk.project.model.add(Conversation::new([
        push("Read parts", "they were read").reasoning("A subtask."),
        work("the parts").reasoning("Read."),
        pop("The parts say 7.").reasoning("Done."),
        Step::text("They say 7.").reasoning("Tell."),
        Step::text("Still 7.").reasoning("Tell while it is away."),
        Step::text("Seven.").reasoning("Tell after a start without it."),
        Step::text("Seven it is.").reasoning("Tell once it is back."),
        Step::text("Seven it stays.").reasoning("Tell at the end."),
    ]));
    talk.server.prompt(&session, "Read the parts").unwrap();

    wait_until_recorded(&talk, &session);
    fs::remove_file(&binary).unwrap();
    kill_host(talk.server.process().pid());
    // Without the binary the tools are missing, and so the cache is lost.
    talk.project.model.skip_next_prefix_check(&session);
    talk.server.prompt(&session, "What did they say?").unwrap();
    let Talk { project, server } = talk;
    drop(server);

    let again = |prompt: &str| {
        project.model.skip_next_prefix_check(&session);
        let run = Run::prompt(prompt).session(&session);
        project.run(&run.env("CALLSTACK_BIN", binary.to_str().unwrap()))
    };
    again("And without frames?");
    symlink(project.callstack.path(), &binary).unwrap();
    again("And with them?");
    project.run(
        &Run::prompt("And now?").session(&session).env("CALLSTACK_BIN", binary.to_str().unwrap()),
    );

    let requests = project.model.agent_requests(&session);
    assert_clean(&project.model);
    let [.., before, away, without, back, end] = &requests[..] else {
        panic!("{}", requests.len())
    };
    let messages = before.raw_messages().len();
    for folded in [away, back, end] {
        assert_no_work(folded);
        assert_eq!(&folded.raw_messages()[..messages], before.raw_messages(), "{}", seen(folded));
    }
    assert_eq!(
        &back.raw_messages()[messages..away.raw_messages().len()],
        &away.raw_messages()[messages..]
    );
    assert!(without.render().contains(WORK));
    assert!(!without.render().contains("reasoning]"), "{}", seen(without));
    assert_eq!(check::prefix(back, end), []);
}
