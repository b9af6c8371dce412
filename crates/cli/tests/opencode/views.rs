//! Views of requests for people, compared with the requests on the wire.

use callstack_core::transcript::Anchor;
use callstack_engine::operation::{Caller, PAGE};
use callstack_engine::{Engine, Settings, SystemWorld, operations};
use callstack_hosts::import::{activities, decode_stored};
use callstack_scripted_model::{Checks, RecordedRequest, Script, Step, content_text};
use callstack_testkit::{Run, assert_clean};
use serde_json::{Value, json};

use super::project::Project;
use super::seen::our_system;
use super::steps::{bash, pop, push, stack, together, work, write};
use super::talk::Talk;
use super::tree::wait_for;
use super::undo::revert;

/// The largest error of an estimate, in hundredths.
const WITHIN: u64 = 5;

#[test]
fn requests_are_shown_as_they_went_out_and_the_next_one_as_it_will() {
    let Some(project) = Project::new(Script::steps(steps())) else { return };
    project.run(&Run::prompt("Count the lines."));
    project.run(&Run::prompt("Count the others.").continued());
    let viewer = Viewer::of(&project);
    let requests = project.requests();
    let calls = viewer.look("stack_calls", json!({}));
    assert_eq!(calls["total"], requests.len(), "{calls:#}");
    let mut folded = 0;
    for (call, request) in calls["calls"].as_array().unwrap().iter().zip(&requests) {
        assert_eq!(call["tokens"], request.token_estimate(), "{call}");
        let sent = viewer.request(&call["message"]);
        assert_eq!(shown(&sent), on_the_wire(request), "{call}");
        folded += sent.to_string().matches("\"outputOrigin\":\"fold\"").count();
        let system = sent["messages"][0]["parts"][0]["text"].as_str().unwrap();
        assert_eq!(our_system(request), [system], "{call}");
    }
    assert!(folded > 0, "no request held the result of a frame");
    marks_stand_where_requests_became_smaller(&calls, &requests);

    let window = viewer.look("stack_window", json!({}));
    let last = &window["lastRequest"];
    assert_eq!(last["tokens"], requests.last().unwrap().token_estimate());
    assert_about(&last["estimated"], requests.last().unwrap().token_estimate());
    let part = |kind: &str| {
        let parts = window["parts"].as_array().unwrap().iter();
        parts.clone().find(|part| part["kind"] == kind).unwrap().clone()
    };
    assert_eq!(part("pins")["messages"][0]["line"], "No recursion.");
    assert_eq!(part("user")["count"], 2);
    assert_eq!(part("results")["messages"][0]["frame"], "f2");
    assert!(part("live").to_string().contains("between"), "{window:#}");
    project.run(&Run::prompt("Thanks.").continued());
    assert_about(&window["tokens"], project.requests().last().unwrap().token_estimate());
    assert_clean(&project.model);
}

#[test]
fn what_left_with_a_frame_stands_beside_what_it_returned() {
    let Some(project) = Project::new(Script::steps(steps())) else { return };
    project.run(&Run::prompt("Count the lines."));
    project.run(&Run::prompt("Count the others.").continued());
    let viewer = Viewer::of(&project);
    let folded = viewer.look("stack_folded", json!({"frame": "f2"}));
    assert_eq!(folded["folded"], true, "{folded:#}");
    assert!(folded["text"].as_str().unwrap().contains("It has 400 lines."), "{folded:#}");
    assert!(folded["left"].to_string().contains("line 7 of what is shown of one"), "{folded:#}");
    let (before, after) = (&folded["tokensBefore"], &folded["tokensAfter"]);
    assert!(before.as_u64() > after.as_u64().map(|after| after * 5), "{folded:#}");
    let frames = viewer.look("stack_frames", json!({}));
    let frame = &frames["frames"][1];
    assert_eq!(frame["handle"], "f2");
    assert_eq!((&frame["parent"], &frame["agent"]), (&json!("f1"), &json!("build")), "{frame:#}");
    assert!(frame["tokens"].as_u64() > Some(1_000), "{frame:#}");
    assert_eq!((&frame["files"], &frame["added"]), (&json!(["lines.txt"]), &json!(1)), "{frame:#}");
    let since = json!({"since": frames["revision"]});
    assert_eq!(viewer.look("stack_frames", since)["unchanged"], true);
}

#[test]
fn changes_of_files_are_shown_line_by_line() {
    let edit = json!({"filePath": "list.txt", "oldString": "two", "newString": "2"});
    let script = Script::steps([
        push("Write the list", "It is there"),
        write("list.txt", "one\ntwo\nthree\n"),
        Step::call("edit", edit),
        pop("Three lines."),
        Step::text("Done."),
    ]);
    let Some(project) = Project::new(script) else { return };
    project.run(&Run::prompt("Write a list."));
    assert_clean(&project.model);
    // The project is no git work tree, so no states are recorded.
    let diff = Viewer::of(&project).look("stack_diff", json!({"frame": "f2"}));
    assert_eq!(diff["source"], "calls", "{diff:#}");
    let file = &diff["files"][0];
    assert_eq!((&file["path"], &file["added"]), (&json!("list.txt"), &json!(4)), "{diff:#}");
    let patch = file["patch"].as_str().unwrap();
    assert!(patch.contains("+one\n+two\n+three\n"), "{patch}");
    assert!(patch.contains("-two\n") && patch.contains("+2\n"), "{patch}");
}

#[test]
fn requests_after_a_compaction_and_an_undo_are_shown_as_they_went_out() {
    let Some(talk) = Talk::new(&[]) else { return };
    // The request after an undo begins like the one before it, and ends differently.
    let checks = Checks { prefix: false, ..Checks::default() };
    let steps = [
        push("First part", "it is read").reasoning("A subtask."),
        work("the first part").reasoning("Read."),
        pop("The first part says 7.").reasoning("Done."),
        Step::text("Half way.").reasoning("Tell."),
        work("the rest").reasoning("Go on."),
        Step::text("All is read.").reasoning("Tell."),
        Step::text("Nobody will know.").reasoning("This is taken back."),
        Step::text("You are welcome.").reasoning("Polite."),
    ];
    let session = talk.session_with(checks, steps);
    session.say("Read the parts");
    talk.server.summarize(&session.id).unwrap();
    session.say("Go on");
    session.say("Say a secret");
    revert(&session, "Say a secret");
    session.say("Thanks");
    let requests = session.finished();
    let viewer = Viewer::of(&talk.project);
    // The last answer is stored once OpenCode has reported it.
    let total = || [viewer.look("stack_calls", json!({}))["total"].as_u64().unwrap()];
    wait_for(&[requests.len() as u64][..], total);
    let calls = viewer.look("stack_calls", json!({}));
    assert_eq!(calls["calls"][4]["compacted"], true, "{calls:#}");
    for (call, request) in calls["calls"].as_array().unwrap().iter().zip(&requests) {
        let sent = viewer.request(&call["message"]);
        assert_eq!(shown(&sent), on_the_wire(request), "{call}");
    }
    let next = viewer.look("stack_sent", json!({"count": 100})).to_string();
    assert!(next.contains("Thanks") && !next.contains("Say a secret"), "{next}");
    let window = viewer.look("stack_window", json!({}));
    let parts = window["parts"].as_array().unwrap();
    let summary = parts.iter().find(|part| part["kind"] == "summary").unwrap();
    assert!(summary["tokens"].as_u64() > Some(0), "{window:#}");
}

fn steps() -> Vec<Step> {
    vec![
        stack("stack_pin", &json!({"text": "No recursion."})),
        together([push("First part", "counted"), look("one"), look("two")]),
        together([look("three"), write("lines.txt", "400\n")]),
        together([pop("It has 400 lines."), look("between")]),
        Step::text("Counted."),
        push("Second part", "counted"),
        look("four"),
        pop("It has 200 lines."),
        Step::text("Counted, too."),
        Step::text("You are welcome."),
    ]
}

/// A call with an output of 20,000 characters.
fn look(topic: &str) -> Step {
    bash(&format!(
        "for line in $(seq 400); do printf 'line %s of what is shown of {topic:12}\\n' $line; done"
    ))
}

/// A process that shows views, which is not the one that answers OpenCode.
struct Viewer {
    engine: Engine,
    session: String,
}

impl Viewer {
    fn of(project: &Project) -> Self {
        let folder = project.sealed.project();
        let engine =
            Engine::open_unchecked(&folder, Settings::default(), Box::new(SystemWorld)).unwrap();
        engine.read_messages_with(activities);
        engine.decode_messages_with(decode_stored);
        let (session, _) = engine.latest_session().unwrap().unwrap();
        Self { engine, session }
    }

    /// The request that a message answers, with all of its bodies.
    fn request(&self, call: &Value) -> Value {
        let mut sent = self.look("stack_sent", json!({"call": call, "count": 100}));
        for message in sent["messages"].as_array_mut().unwrap() {
            if message.to_string().contains("\"cut\":true") {
                let arguments = json!({"call": call, "message": message["id"]});
                *message = self.look("stack_sent", arguments)["messages"][0].take();
            }
        }
        sent
    }

    fn look(&self, name: &str, arguments: Value) -> Value {
        let caller = Caller {
            session: self.session.clone(),
            host: PAGE.to_owned(),
            anchor: Anchor { message: None, call: None },
            agent: None,
            performs: false,
            reveal: false,
            key: None,
        };
        let operation = operations::find(name).unwrap();
        operation.run(&self.engine, &caller, arguments).unwrap().data
    }
}

#[track_caller]
fn assert_about(estimated: &Value, wanted: u64) {
    let estimated = estimated.as_u64().unwrap();
    let wrong = estimated.abs_diff(wanted);
    assert!(wrong * 100 <= wanted * WITHIN, "estimated {estimated}, it was {wanted}");
}

/// The first call after a mark was sent less than the one before.
fn marks_stand_where_requests_became_smaller(calls: &Value, requests: &[RecordedRequest]) {
    let marks = calls["folds"].as_array().unwrap();
    assert_eq!(marks.iter().map(|mark| &mark["frame"]).collect::<Vec<_>>(), ["f2", "f3"]);
    for mark in marks {
        let call = usize::try_from(mark["call"].as_u64().unwrap()).unwrap();
        let (before, after) =
            (requests[call - 1].token_estimate(), requests[call].token_estimate());
        assert!(after < before, "{mark}: {before}, {after}");
        assert!(mark["tokensBefore"].as_u64() > mark["tokensAfter"].as_u64(), "{mark}");
    }
}

/// The words, calls and results of a request, in order.
type Said = Vec<(&'static str, String)>;

fn say(said: &mut Said, who: &'static str, text: &str) {
    let text: String = text.split_whitespace().collect();
    match said.last_mut() {
        _ if text.is_empty() => {}
        Some((last, before)) if *last == who => before.push_str(&text),
        _ => said.push((who, text)),
    }
}

fn on_the_wire(request: &RecordedRequest) -> Said {
    let mut said = Said::new();
    for message in request.messages() {
        let text = content_text(&message["content"]);
        match message["role"].as_str().unwrap() {
            "system" => {}
            // OpenCode requests a summary in words that its message does not contain.
            "user" => say(&mut said, "user", &text.replace("What did we do so far?", "")),
            "tool" => say(&mut said, "result", &text),
            _ => {
                let thought = message["reasoning_content"].as_str().unwrap_or_default();
                say(&mut said, "thinks", thought);
                say(&mut said, "agent", &text);
                for call in message["tool_calls"].as_array().into_iter().flatten() {
                    say(&mut said, "calls", call["function"]["name"].as_str().unwrap());
                }
            }
        }
    }
    said
}

fn shown(sent: &Value) -> Said {
    let mut said = Said::new();
    for message in sent["messages"].as_array().unwrap() {
        let parts = message["parts"].as_array().unwrap();
        let mut say_all = |kind: Option<&str>, who: &'static str, field: &str| {
            let is_it = |part: &&Value| kind.is_none_or(|kind| part["kind"] == kind);
            for part in parts.iter().filter(is_it) {
                say(&mut said, who, part[field].as_str().unwrap_or_default());
            }
        };
        match message["role"].as_str().unwrap() {
            "system" => {}
            "user" => say_all(None, "user", "text"),
            _ => {
                say_all(Some("reasoning"), "thinks", "text");
                say_all(Some("text"), "agent", "text");
                say_all(Some("tool"), "calls", "tool");
                say_all(Some("tool"), "result", "output");
            }
        }
    }
    said
}
