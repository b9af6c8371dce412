//! Slash commands: a person's changes to the tree from inside a session.

use callstack_scripted_model::{Checks, RecordedRequest, Step, content_text};
use callstack_testkit::Sealed;
use serde_json::Value;

use super::seen::{assert_no_work, our_system, tools};
use super::steps::{pop, push, work};
use super::talk::{Session, Talk};
use super::tree::{tree, wait_for_tree};

/// A server with the plugin and the commands that `callstack init` installs.
fn talk() -> Option<Talk> {
    Talk::with(&[], |project| {
        let done = project.callstack.run(&project.sealed, &["init", "opencode"]).unwrap();
        assert!(done.success(), "{done}");
        project.sealed.write(".opencode/command/tidy.md", "Tidy up $ARGUMENTS, please.\n").unwrap();
    })
}

fn callstack(talk: &Talk, args: &[&str]) -> String {
    let done = talk.project.callstack.run(&talk.project.sealed, args).unwrap();
    assert!(done.success(), "{done}");
    done.stdout
}

/// The texts of the newest user message of a request.
fn said(request: &RecordedRequest) -> Vec<String> {
    let user = request.messages().iter().rfind(|message| message["role"] == "user").unwrap();
    match &user["content"] {
        Value::Array(parts) => {
            parts.iter().map(|part| part["text"].as_str().unwrap().to_owned()).collect()
        }
        content => vec![content_text(content)],
    }
}

fn command(session: &Session<'_>, name: &str, words: &str) {
    session.talk.server.command(&session.id, name, words).unwrap();
}

fn sealed(talk: &Talk) -> &Sealed {
    &talk.project.sealed
}

/// The session's own part of the tree.
#[track_caller]
fn assert_tree(session: &Session<'_>, expected: &str) {
    let tree = tree(sealed(session.talk), &session.id);
    assert!(tree.ends_with(expected), "{tree}");
}

/// The system prompt comes and goes with the mode, and nothing else of the checks.
const MODES: Checks = Checks { prefix: false, reasoning: true };

#[test]
fn people_control_the_tree_from_inside_a_session() {
    let Some(talk) = talk() else { return };
    a_frame_is_opened_worked_in_and_ended_with_the_persons_results(&talk);
    a_pop_without_results_ends_the_frame_with_what_was_said_in_it(&talk);
    frames_are_planned_and_shown(&talk);
    what_cannot_be_done_is_said(&talk);
    a_changed_command_keeps_its_words_and_a_foreign_one_is_left_alone(&talk);
}

fn a_frame_is_opened_worked_in_and_ended_with_the_persons_results(talk: &Talk) {
    let session = talk.session([
        Step::text("Hello.").reasoning("Greet."),
        work("the login").reasoning("Look at it."),
        Step::text("INNERWORK: it fails without a password.").reasoning("Tell it."),
        Step::text("The frame is ended.").reasoning("Done."),
        Step::text("Gladly.").reasoning("Nice."),
    ]);
    session.say("Let us look after the shop.");
    command(&session, "push", "Fix the login of the shop: it must not fail");
    let opened = "Let us look after the shop in_progress\n  Fix the login of the shop: it must not fail \
                  in_progress *\n";
    assert_tree(&session, opened);
    let requests = session.requests();
    let [words, note] = &said(&requests[1])[..] else { panic!("{:?}", said(&requests[1])) };
    assert_eq!(words, "/push Fix the login of the shop: it must not fail");
    assert!(note.starts_with("[callstack] opened frame f"), "{note}");
    assert!(note.contains("opened it with /push"), "{note}");
    command(&session, "pop", "The password may be empty now.");
    let ended = "Let us look after the shop in_progress *\n  Fix the login of the shop: it must not fail \
                 completed\n";
    assert_tree(&session, ended);
    session.say("Thank you.");
    let requests = session.finished();
    let after = &requests[3];
    assert!(!after.render().contains("the login\\n") && !after.render().contains("it: the login"));
    let texts = said(after);
    assert_eq!(texts[0], "/pop The password may be empty now.", "{texts:?}");
    assert!(texts.iter().any(|text| text.contains("returned: completed")), "{texts:?}");
    assert!(texts.iter().any(|text| text.contains("/pop; the words above")), "{texts:?}");
    let kept = after.render();
    assert!(kept.contains("/push Fix the login"), "the user's words stay: {kept}");
    assert!(kept.contains("it fails without a password"), "and the closing reply: {kept}");
}

fn a_pop_without_results_ends_the_frame_with_what_was_said_in_it(talk: &Talk) {
    let session = talk.session([
        push("Count the beans", "their number is known"),
        work("the beans"),
        Step::text("31 so far."),
        Step::text("It is ended."),
    ]);
    session.say("How many beans are there?");
    command(&session, "pop", "failed");
    assert_tree(&session, "How many beans are there? in_progress *\n  Count the beans failed\n");
    let requests = session.finished();
    let note = said(&requests[3]).pop().unwrap();
    let results =
        "Count the beans\" failed with /pop; its results are what was said in it last: 31 so far.";
    assert!(note.contains(results), "{note}");
    assert!(note.ends_with("is open now, for the user's latest message"), "{note}");
    assert_no_work(&requests[3]);
}

fn frames_are_planned_and_shown(talk: &Talk) {
    let session =
        talk.session([Step::text("Planned."), Step::text("Shown."), Step::text("Right.")]);
    command(&session, "plan", "Read the code | Write the tests |");
    let planned = "Read the code Write the tests in_progress *\n  Read the code planned\n  \
                   Write the tests planned\n";
    assert_tree(&session, planned);
    command(&session, "frame-status", "");
    assert_tree(&session, planned);
    session.say("Go on.");
    let requests = session.finished();
    assert!(said(&requests[0])[1].contains("planned frames with /plan"));
    let shown = said(&requests[1]);
    assert_eq!(shown.len(), 1, "the model is not sent the tree: {shown:?}");
    assert!(shown[0].contains("\"Shown.\""), "{shown:?}");
    let messages = talk.server.messages(&session.id).unwrap();
    let seen = messages.iter().flat_map(|message| message["parts"].as_array().unwrap());
    let seen: Vec<_> = seen.filter(|part| part["ignored"] == true).collect();
    let [part] = &seen[..] else { panic!("{seen:?}") };
    assert!(part["text"].as_str().unwrap().contains("Write the tests [planned]"), "{part}");
}

fn what_cannot_be_done_is_said(talk: &Talk) {
    let session = talk.session([Step::text("One can't."), Step::text("Nor that.")]);
    command(&session, "pop", "All done.");
    command(&session, "push", "");
    let requests = session.finished();
    let note = &said(&requests[0])[1];
    assert!(note.contains("/pop was refused: no frame is open in this session"), "{note}");
    let note = &said(&requests[1])[1];
    assert!(note.contains("/push was refused: it is not said what the frame is for"), "{note}");
}

fn a_changed_command_keeps_its_words_and_a_foreign_one_is_left_alone(talk: &Talk) {
    let session = talk.session([Step::text("Planned.")]);
    command(&session, "tidy", "the shed");
    let requests = session.finished();
    assert_eq!(said(&requests[0]), ["Tidy up the shed, please."]);
}

#[test]
fn with_frame_mode_off_a_session_goes_on_as_without_callstack_and_on_again_it_continues() {
    let Some(talk) = talk() else { return };
    let steps = [
        push("Count the beans", "their number is known").reasoning("A frame."),
        work("the beans").reasoning("Count."),
        pop("There are 31 beans.").reasoning("Enough."),
        push("Cook the beans", "they are soft").reasoning("The next."),
        Step::text("They cook.").reasoning("Wait."),
        Step::text("Without frames.").reasoning("Alone."),
        Step::text("Still without.").reasoning("Quite alone."),
        pop("They are soft.").reasoning("With frames again."),
        Step::text("Eat.").reasoning("Done."),
    ];
    let session = talk.session_with(MODES, steps);
    let sealed = sealed(&talk);
    session.say("Beans, please.");
    let open =
        "Beans, please in_progress\n  Count the beans completed\n  Cook the beans in_progress *\n";
    assert_tree(&session, open);
    callstack(&talk, &["config", "frame-mode", "off"]);
    session.say("And without frames?");
    command(&session, "push", "A frame");
    assert_tree(&session, open);
    callstack(&talk, &["config", "frame-mode", "on"]);
    session.say("Are they soft?");
    wait_for_tree(
        sealed,
        &session.id,
        "Beans, please in_progress *\n  Count the beans completed\n  Cook the beans completed\n",
    );
    let requests = session.finished();
    for without in &requests[5..7] {
        assert!(our_system(without).is_empty(), "{:?}", our_system(without));
        assert!(!tools(without).iter().any(|(name, _)| name.starts_with("stack")));
        assert!(without.render().contains("INNERWORK"), "nothing is folded");
    }
    let refused = &said(&requests[6])[1];
    assert!(refused.contains("/push was refused: frame mode is off"), "{refused}");
    for with in &requests[7..] {
        assert!(our_system(with)[0].contains("# Frames (callstack)"));
        assert!(tools(with).iter().any(|(name, _)| name == "stack_frame_pop"));
        assert_no_work(with);
    }
}

/// The names of the slash commands that people are offered.
fn offered(talk: &Talk) -> Vec<String> {
    let commands = talk.server.get("/command").unwrap();
    let names = commands.as_array().unwrap().iter();
    names.map(|command| command["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_project_may_switch_frames_off_and_then_no_command_of_ours_is_offered() {
    let with = |mode: &str| {
        Talk::with(&[], |project| {
            let done = project.callstack.run(&project.sealed, &["init", "opencode"]).unwrap();
            assert!(done.success(), "{done}");
            let config = format!("{{\"experimental\": {{\"frameMode\": {mode}}}}} // no more\n");
            project.sealed.write(".opencode/opencode.jsonc", &config).unwrap();
            project.sealed.write(".opencode/command/tidy.md", "Tidy up, please.\n").unwrap();
        })
    };
    let (Some(off), Some(on)) = (with("false"), with("true")) else { return };
    let is_ours = |name: &String| ["push", "pop", "plan", "frame-status"].contains(&name.as_str());
    assert!(!offered(&off).iter().any(is_ours), "{:?}", offered(&off));
    assert!(offered(&off).contains(&"tidy".to_owned()), "{:?}", offered(&off));
    assert_eq!(offered(&on).iter().filter(|name| is_ours(name)).count(), 4, "{:?}", offered(&on));
    let session = off.session([Step::text("Without frames.")]);
    session.say("Is anybody there?");
    let requests = session.finished();
    assert!(!tools(&requests[0]).iter().any(|(name, _)| name.starts_with("stack")));
    assert!(our_system(&requests[0]).is_empty());
}

#[test]
fn a_session_from_before_has_a_root_without_a_goal() {
    let Some(talk) = talk() else { return };
    callstack(&talk, &["config", "frame-mode", "off"]);
    let steps = [
        Step::text("Hello.").reasoning("Greet."),
        Step::text("Gladly.").reasoning("Help."),
        Step::text("Yes."),
    ];
    let session = talk.session_with(MODES, steps);
    session.say("Who are you?");
    assert_eq!(tree(sealed(&talk), &session.id), "");
    callstack(&talk, &["config", "frame-mode", "--reset"]);
    session.say("Help me with the shop.");
    let root = super::tree::frame(sealed(&talk), "Session");
    assert_eq!(
        (root.status.as_str(), root.identity.success_criteria.as_str()),
        ("in_progress", "")
    );
    assert!(root.identity_derived);
    callstack(&talk, &["doctor"]);
    session.say("Is that right?");
    assert_eq!(tree(sealed(&talk), &session.id), "Session in_progress *\n");
    session.finished();
}
