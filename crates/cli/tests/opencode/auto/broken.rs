//! Turns that the user stops, takes back or forks.

use std::thread::sleep;
use std::time::Duration;

use callstack_scripted_model::{Checks, Conversation, Step, When};

use super::super::seen::{assert_no_work, seen};
use super::super::steps::{pop, push};
use super::super::talk::{Session, Talk};
use super::super::tree::{tree, wait_for};
use super::{AUTO, much, todos};

#[test]
fn turns_that_are_stopped_or_taken_back() {
    let Some(talk) = Talk::new(&AUTO) else { return };
    a_turn_that_is_stopped_goes_on_with_the_next_message(&talk);
    an_undone_turn_takes_its_frame_with_it(&talk);
    pushes_of_the_agent_come_first(&talk);
    a_fork_has_frames_of_its_own(&talk);
}

/// Waits until the session's own part of the tree is as given: its root stands in the first line.
#[track_caller]
fn wait_for_own_tree(talk: &Talk, session: &str, expected: &str) {
    let root = expected.split(" in_progress").next().unwrap();
    wait_for(expected, || {
        let tree = tree(&talk.project.sealed, session);
        let own = tree.lines().skip_while(|line| !line.starts_with(root)).enumerate();
        let own = own.take_while(|(at, line)| *at == 0 || line.starts_with(' '));
        own.flat_map(|(_, line)| [line, "\n"]).collect::<String>()
    });
}

fn whole_turn(reply: &str) -> [Step; 5] {
    [
        much("one").reasoning("Look."),
        much("two"),
        much("three"),
        much("four"),
        Step::text(reply).reasoning("Tell."),
    ]
}

fn a_turn_that_is_stopped_goes_on_with_the_next_message(talk: &Talk) {
    let session = talk.session([
        todos(&[">Clear the cache", "Test"], "first the cache"),
        much("the cache").reasoning("Look."),
        Step::text("Never said.").delay(Duration::from_mins(1)),
        todos(&["+Clear the cache", "+Test"], "it is clear"),
        Step::text("The cache is clear.").reasoning("Tell."),
        Step::text("Gladly."),
    ]);
    let mut events = talk.server.events().unwrap();
    talk.server.prompt_async(&session.id, "Clean up please").unwrap();
    while session.requests().len() < 3 {
        sleep(Duration::from_millis(10));
    }
    talk.server.abort(&session.id).unwrap();
    events.wait_idle(&session.id).unwrap();
    let open = "Clean up please in_progress\n  Clear the cache in_progress *\n";
    wait_for_own_tree(talk, &session.id, open);
    session.say("Go on");
    session.say("Thank you");
    let requests = session.finished();
    wait_for_own_tree(
        talk,
        &session.id,
        "Clean up please in_progress *\n  Clear the cache completed\n",
    );
    assert!(requests[3].render().contains("INNERWORK the cache"), "{}", seen(&requests[3]));
    let last = requests.last().unwrap();
    assert!(!last.render().contains("INNERWORK the cache"), "{}", seen(last));
    for words in ["Clean up please", "Go on", "The cache is clear."] {
        assert!(last.render().contains(words), "{}", seen(last));
    }
}

fn message(session: &Session<'_>, words: &str) -> String {
    let messages = session.talk.server.messages(&session.id).unwrap();
    let found = messages.iter().find(|message| {
        message["info"]["role"] == "user"
            && message["parts"].as_array().unwrap().iter().any(|part| part["text"] == words)
    });
    found.and_then(|message| message["info"]["id"].as_str()).unwrap().to_owned()
}

fn an_undone_turn_takes_its_frame_with_it(talk: &Talk) {
    let mut steps = whole_turn("Built.").to_vec();
    steps.extend(whole_turn("Tested."));
    steps.extend(whole_turn("Painted."));
    let session = talk.session(steps);
    session.say("Build it");
    session.say("Test it");
    let built = "Build it in_progress *\n";
    wait_for_own_tree(talk, &session.id, &format!("{built}  Test it completed\n"));
    talk.server.revert(&session.id, &message(&session, "Test it")).unwrap();
    wait_for_own_tree(talk, &session.id, built);
    talk.server.unrevert(&session.id).unwrap();
    wait_for_own_tree(talk, &session.id, &format!("{built}  Test it completed\n"));
    talk.server.revert(&session.id, &message(&session, "Test it")).unwrap();
    talk.project.model.skip_next_prefix_check(&session.id);
    session.say("Paint it");
    session.finished();
    wait_for_own_tree(talk, &session.id, &format!("{built}  Paint it completed\n"));
}

fn pushes_of_the_agent_come_first(talk: &Talk) {
    let mut steps = vec![push("The build", "it is fast").reasoning("A frame.")];
    steps.extend(whole_turn("unused").into_iter().take(4));
    steps.extend([pop("3 s."), Step::text("It takes 3 s.").reasoning("Tell."), Step::text("Bye.")]);
    let session = talk.session(steps);
    session.say("Make the build fast");
    session.say("Thank you");
    let requests = session.finished();
    wait_for_own_tree(
        talk,
        &session.id,
        "Make the build fast in_progress *\n  The build completed\n",
    );
    assert_no_work(requests.last().unwrap());
}

fn a_fork_has_frames_of_its_own(talk: &Talk) {
    let session = talk.session(whole_turn("Built."));
    session.say("Build the fork");
    let framed = "Build the fork in_progress *\n";
    wait_for_own_tree(talk, &session.id, framed);
    let checks = Checks { prefix: true, reasoning: true };
    let last = When::LastUser("Go on in the fork".to_owned());
    let conversation = Conversation::when(last, [Step::text("Forked.")]).checks(checks);
    talk.project.model.add(conversation);
    let fork = talk.server.fork(&session.id, None).unwrap();
    talk.server.prompt(&fork, "Go on in the fork").unwrap();
    session.finished();
    let requests = talk.project.model.agent_requests(&fork);
    assert_no_work(&requests[0]);
    assert!(requests[0].render().contains("Built."), "{}", seen(&requests[0]));
    let of_fork = "Go on in the fork in_progress *\n  Build the fork completed\n";
    wait_for_own_tree(talk, &fork, of_fork);
}
