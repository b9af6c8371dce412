//! Frames that are worked on in sessions of their own.

use std::thread::sleep;
use std::time::{Duration, Instant};

use callstack_core::frame::Status;
use callstack_scripted_model::{Conversation, RecordedRequest, Script, Step, When};
use callstack_testkit::assert_clean;
use serde_json::{Value, json};

use super::project::Project;
use super::seen::{assert_no_work, our_system, result_of, seen, snapshot};
use super::steps::{bash, delegate, plan, pop, together, work};
use super::talk::Talk;
use super::tree::{engine, frame, tree};

/// The session that works on the frame of this title.
pub(crate) fn works_on(title: &str, steps: impl IntoIterator<Item = Step>) -> Conversation {
    Conversation::when(When::FirstUser(format!("\"{title}\" (depth")), steps)
}

pub(crate) fn children(titles: &[&str]) -> Value {
    let child = |title: &&str| json!({"title": title, "successCriteria": format!("{title}: done")});
    titles.iter().map(child).collect()
}

/// The requests of the session that works on the frame of this title.
pub(crate) fn requests_for(talk: &Talk, title: &str) -> Vec<RecordedRequest> {
    let session = frame(&talk.project.sealed, title).session.unwrap();
    talk.project.model.agent_requests(&session)
}

/// Returns the number of times that a text stands in a request.
pub(crate) fn times(request: &RecordedRequest, text: &str) -> usize {
    request.render().matches(text).count()
}

pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_mins(1), "it never came to this: {what}");
        sleep(Duration::from_millis(10));
    }
}

#[test]
fn activated_frames_run_in_sessions_of_their_own_and_come_back() {
    let Some(talk) = Talk::new(&[]) else { return };
    frames_come_back_one_by_one_and_side_by_side(&talk);
    an_error_of_the_model_blocks_the_frame(&talk);
    a_pushed_frame_may_have_a_session_too(&talk);
}

fn frames_come_back_one_by_one_and_side_by_side(talk: &Talk) {
    let sealed = &talk.project.sealed;
    for conversation in [
        works_on(
            "Lexer",
            [
                plan(&children(&["Token list"])).reasoning("A part of it first."),
                delegate("Token list").reasoning("Have it made."),
                work("the lexer").reasoning("The rest."),
                pop("lexer.rs has 12 tokens.").reasoning("Done."),
                Step::text("The lexer is there.").reasoning("Tell."),
            ],
        ),
        works_on(
            "Token list",
            [work("the tokens"), pop("The tokens are listed in TOKENS."), Step::text("Listed.")],
        ),
        works_on("Parser", [work("the parser"), Step::text("parser.rs is recursive descent.")]),
        works_on("Printer", [work("the printer"), pop("printer.rs is there."), Step::text("Ok.")]),
    ] {
        talk.project.model.add(conversation);
    }
    let session = talk.session([
        plan(&children(&["Lexer", "Parser", "Printer"])).reasoning("Three parts."),
        delegate("Lexer").reasoning("The first one."),
        together([delegate_now("f3", "activate-parser"), delegate_now("f4", "activate-printer")])
            .reasoning("The others side by side."),
        Step::text("All three are there.").reasoning("Tell."),
    ]);
    session.say("Write a compiler.");
    let requests = session.finished();
    assert_eq!(
        tree(sealed, &session.id),
        "Write a compiler in_progress *\n  Lexer completed\n    Token list completed\n  Parser \
         completed\n  Printer completed\n"
    );
    let [.., last] = &requests[..] else { unreachable!() };
    assert_no_work(last);
    for results in ["Results: lexer.rs has 12 tokens.", "Results:\nparser.rs is recursive descent."]
    {
        assert_eq!(times(last, results), 1, "{results}:\n{}", seen(last));
    }
    assert_eq!(times(last, "Results: printer.rs is there."), 1, "{}", seen(last));
    assert!(result_of(last, "activate-parser").contains("fell silent without a pop"));
    snapshot("errand_returned", &result_of(last, "activate-lexer"));

    let lexer = frame(sealed, "Lexer");
    assert_eq!(Some(&lexer.id), lexer.session.as_ref());
    assert!(lexer.id.starts_with("ses_"), "{}", lexer.id);
    let worked = requests_for(talk, "Lexer");
    assert_eq!(worked[0].parent.as_ref(), Some(&session.id));
    assert_eq!(worked[0].body["model"], requests[0].body["model"]);
    let context = our_system(&worked[0]).concat();
    assert!(
        context.contains("<title>Write a compiler</title>")
            && context.contains("<open-when-written"),
        "{context}"
    );
    assert_eq!(times(&worked[0], "<stack-context"), 1, "{}", worked[0].render());
    assert_eq!(times(&worked[0], "Write a compiler."), 1, "{}", worked[0].render());
    assert!(!worked[0].render().contains("Three parts."), "the caller's history stays there");
    snapshot("errand_prompted", &seen(&worked[0]));
    let log = engine(sealed).log(&lexer).unwrap();
    assert!(log.iter().any(|message| message.json.contains("WORK the lexer")));
}

fn delegate_now(handle: &str, id: &str) -> Step {
    let call = Step::call("stack_frame_activate", json!({ "frame": handle, "in": "session" }));
    super::steps::named(call, id)
}

fn an_error_of_the_model_blocks_the_frame(talk: &Talk) {
    let failing = [work("the key"), Step::fail(400, "the model is out of credit")];
    talk.project.model.add(works_on("Signer", failing));
    let session = talk.session([
        plan(&children(&["Signer"])),
        delegate("Signer"),
        Step::text("It could not be signed."),
    ]);
    session.say("Sign it.");
    let requests = session.finished();
    let result = result_of(&requests[2], "activate-signer");
    assert!(result.contains("returned: blocked") && result.contains("out of credit"), "{result}");
    assert_eq!(frame(&talk.project.sealed, "Signer").status, Status::Blocked);
}

fn a_pushed_frame_may_have_a_session_too(talk: &Talk) {
    talk.project.model.add(works_on("Survey", [pop("Nobody answered."), Step::text("Ok.")]));
    let push = json!({"title": "Survey", "successCriteria": "there is an answer", "in": "session"});
    let session = talk
        .session([super::steps::stack("stack_frame_push", &push), Step::text("Nobody answered.")]);
    session.say("Ask around.");
    let requests = session.finished();
    assert_eq!(times(&requests[1], "Results: Nobody answered."), 1, "{}", seen(&requests[1]));
}

#[test]
fn a_session_that_waits_for_a_permission_is_not_idle_and_an_aborted_one_goes_on_later() {
    let Some(project) = Project::new(Script::new()) else { return };
    let rules = json!({"permission": {"bash": {"*": "allow", "rm *": "ask"}}});
    project.opencode.configure_with(&project.sealed, &project.model.base_url(), &rules).unwrap();
    let server = project.opencode.serve(&project.sealed).unwrap();
    let talk = Talk { project, server };
    it_waits_for_a_permission(&talk);
    it_is_stopped_with_its_caller(&talk);
}

fn it_waits_for_a_permission(talk: &Talk) {
    let sealed = &talk.project.sealed;
    talk.project.model.add(works_on(
        "Clean up",
        [bash("rm -f nothing"), pop("Nothing is left."), Step::text("Clean.")],
    ));
    let session =
        talk.session([plan(&children(&["Clean up"])), delegate("Clean up"), Step::text("Done.")]);
    let mut events = talk.server.events().unwrap();
    talk.server.prompt_async(&session.id, "Clean up please").unwrap();
    let asked =
        events.wait("permission.asked", |event| event["type"] == "permission.asked").unwrap();
    let asked = &asked["properties"];
    assert_eq!(frame(sealed, "Clean up").status, Status::InProgress);
    assert_eq!(frame(sealed, "Clean up").session.as_deref(), asked["sessionID"].as_str());
    assert!(
        !events.seen().iter().any(|event| event["type"] == "session.idle"),
        "a session that waits is no idle one"
    );
    let reply = format!("/permission/{}/reply", asked["id"].as_str().unwrap());
    talk.server.post(&reply, &json!({"reply": "once"})).unwrap();
    events.wait_idle(&session.id).unwrap();
    let requests = session.finished();
    assert_eq!(times(&requests[2], "Results: Nothing is left."), 1, "{}", seen(&requests[2]));
}

fn it_is_stopped_with_its_caller(talk: &Talk) {
    let sealed = &talk.project.sealed;
    talk.project.model.add(works_on(
        "Long work",
        [
            work("the beginning"),
            Step::text("Never said.").delay(Duration::from_mins(1)),
            pop("The work is done."),
            Step::text("Done."),
        ],
    ));
    let session = talk.session([
        plan(&children(&["Long work"])),
        delegate("Long work"),
        delegate("Long work"),
        Step::text("It is done."),
    ]);
    let mut events = talk.server.events().unwrap();
    talk.server.prompt_async(&session.id, "Do the long work").unwrap();
    wait_until("the second step of the work", || {
        let sessions = talk.project.model.sessions();
        sessions.last().is_some_and(|last| {
            *last != session.id && talk.project.model.agent_requests(last).len() == 2
        })
    });
    talk.server.abort(&session.id).unwrap();
    events.wait_idle(&session.id).unwrap();
    wait_until("the frame is blocked", || frame(sealed, "Long work").status == Status::Blocked);
    let worker = frame(sealed, "Long work").session.unwrap();
    session.say("Go on");
    assert_clean(&talk.project.model);
    let requests = session.requests();
    let [.., resumed, last] = &requests[..] else { unreachable!() };
    assert_eq!(times(resumed, "returned: blocked"), 1, "{}", seen(resumed));
    assert_eq!(times(last, "Results: The work is done."), 1, "{}", seen(last));
    assert_eq!(frame(sealed, "Long work").session.as_ref(), Some(&worker), "it went on there");
    assert_eq!(frame(sealed, "Long work").status, Status::Completed);
}
