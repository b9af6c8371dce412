//! Undo, redo and forks.

mod forks;

use callstack_scripted_model::{Step, check};
use serde_json::Value;

use super::seen::{assert_no_work, seen};
use super::steps::{pop, push, work, write};
use super::talk::{Session, Talk};
use super::tree::{artifacts, tree, wait_for, wait_for_tree};

/// The id of the user's message that says `words`.
#[track_caller]
fn message(session: &Session<'_>, words: &str) -> String {
    let messages = session.talk.server.messages(&session.id).unwrap();
    let found = messages.iter().find(|message| {
        message["info"]["role"] == "user"
            && message["parts"].as_array().unwrap().iter().any(|part| part["text"] == words)
    });
    found.and_then(|message| message["info"]["id"].as_str()).unwrap().to_owned()
}

pub(crate) fn revert(session: &Session<'_>, words: &str) {
    let before = message(session, words);
    let reverted: Value = session.talk.server.revert(&session.id, &before).unwrap();
    assert_eq!(reverted["revert"]["messageID"], before.as_str(), "{reverted}");
}

#[test]
fn an_undo_takes_frames_back_and_a_redo_brings_them_again() {
    let Some(talk) = Talk::new(&[]) else { return };
    let sealed = &talk.project.sealed;
    sealed.write("notes.txt", "as committed\n").unwrap();
    sealed.git_init().unwrap();
    let session = talk.session([
        push("Draft notes", "notes.txt is drafted").reasoning("A subtask."),
        write("notes.txt", "drafted\n").reasoning("Draft it."),
        Step::text("The draft stands.").reasoning("Tell."),
        push("Check notes", "the draft was read"),
        work("the notes"),
        pop("They are fine.").reasoning("Inner done."),
        write("notes.txt", "final\n"),
        pop("notes.txt is drafted and checked.").reasoning("Outer done."),
        Step::text("All is done.").reasoning("Tell the end."),
        Step::text("Nothing more."),
    ]);
    let unknown = "  Check notes completed\n";
    session.say("Draft the notes please");
    let drafted = artifacts(sealed, "Draft notes");
    let in_draft = "Draft the notes please in_progress\n  Draft notes in_progress *\n";
    assert_eq!(tree(sealed, &session.id), in_draft);
    session.say("Now check and finish");
    let finished = artifacts(sealed, "Draft notes");
    assert_ne!(drafted, finished);
    let done =
        format!("Draft the notes please in_progress *\n  Draft notes completed\n  {unknown}");
    assert_eq!(tree(sealed, &session.id), done);

    revert(&session, "Now check and finish");
    wait_for_tree(sealed, &session.id, in_draft);
    assert_eq!(sealed.read("notes.txt").unwrap(), "drafted\n");
    wait_for(&drafted[..], || artifacts(sealed, "Draft notes"));

    revert(&session, "Draft the notes please");
    wait_for_tree(sealed, &session.id, "Draft the notes please in_progress *\n");
    assert_eq!(sealed.read("notes.txt").unwrap(), "as committed\n");

    talk.server.unrevert(&session.id).unwrap();
    wait_for_tree(sealed, &session.id, &done);
    assert_eq!(sealed.read("notes.txt").unwrap(), "final\n");
    wait_for(&finished[..], || artifacts(sealed, "Draft notes"));

    session.say("Anything else?");
    assert_eq!(tree(sealed, &session.id), done);
    let requests = session.finished();
    let [.., before, after] = &requests[..] else { unreachable!() };
    assert_no_work(after);
    assert_eq!(check::prefix(before, after), [], "the redo brought something else back");
}

#[test]
fn what_follows_an_undo_is_a_history_of_its_own() {
    let Some(talk) = Talk::new(&[]) else { return };
    let sealed = &talk.project.sealed;
    sealed.git_init().unwrap();
    let session = talk.session([
        push("Read parts", "the parts were read").reasoning("A subtask."),
        work("the first part").reasoning("Read the first."),
        Step::text("Half is read.").reasoning("Tell."),
        work("the second part"),
        pop("Both parts were read.").reasoning("Done."),
        Step::text("All is read.").reasoning("Tell the end."),
        work("the other part").reasoning("Another way."),
        pop("Another part was read.").reasoning("Done in another way."),
        Step::text("The other part is read.").reasoning("Tell another end."),
        Step::text("You are welcome."),
    ]);
    session.say("Read the first part");
    session.say("Read the second part");
    let open = "Read the first part in_progress\n  Read parts in_progress *\n";
    let done = "Read the first part in_progress *\n  Read parts completed\n";
    assert_eq!(tree(sealed, &session.id), done);

    revert(&session, "Read the second part");
    wait_for_tree(sealed, &session.id, open);
    // When the user continues, OpenCode removes undone messages for good.
    talk.project.model.skip_next_prefix_check(&session.id);
    session.say("Read the other part instead");
    assert_eq!(tree(sealed, &session.id), done);
    session.say("Thanks");

    let requests = session.finished();
    let unfolded = &requests[6];
    assert!(unfolded.render().contains("WORK the first part"), "{}", seen(unfolded));
    assert!(!unfolded.render().contains("second part"), "{}", seen(unfolded));
    let last = requests.last().unwrap();
    assert_no_work(last);
    assert!(last.render().contains("Another part was read."), "{}", seen(last));
    assert!(!last.render().contains("Both parts were read."), "{}", seen(last));
}
