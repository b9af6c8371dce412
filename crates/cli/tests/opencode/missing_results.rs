//! The agent ends frames without results.

use callstack_core::results::ResultsSource;
use callstack_scripted_model::Step;
use callstack_testkit::{Loopback, Reply};
use serde_json::{Value, json};

use super::seen::assert_no_work;
use super::steps::{push, work};
use super::talk::Talk;
use super::tree::frame;

const KEY: &str = "dummy-key-0123456789-of-the-tests";

fn silent_pop() -> Step {
    Step::call("stack_frame_pop", json!({}))
}

/// Lets the agent work in a frame, say something, and end the frame in the next turn without results. Returns the
/// text that the model is sent from then on.
fn worked_on(talk: &Talk, title: &str) -> String {
    let session = talk.session([
        push(title, "it is read"),
        work(title),
        Step::text("The part says 7."),
        silent_pop(),
        Step::text("All is read."),
    ]);
    session.say("Read the part");
    session.say("End it");
    let requests = session.finished();
    let last = requests.last().unwrap();
    assert_no_work(last);
    last.render()
}

fn shown(talk: &Talk, title: &str) -> String {
    let handle = frame(&talk.project.sealed, title).num.to_string();
    let said = talk.project.callstack.run(&talk.project.sealed, &["show", &handle]).unwrap();
    assert!(said.success(), "{said}");
    said.stdout
}

fn set(talk: &Talk, args: &[&str]) {
    let args = [&["config", "summarizer"], args].concat();
    let said = talk.project.callstack.run(&talk.project.sealed, &args).unwrap();
    assert!(said.success(), "{said}");
}

#[test]
fn results_are_extracted_or_written_by_a_model_of_the_users_own() {
    let Some(talk) = Talk::new(&[("STACK_SUMMARIZER_KEY", KEY)]) else { return };
    let sealed = &talk.project.sealed;
    let source = |title: &str| frame(sealed, title).results_source;

    let folded = worked_on(&talk, "First part");
    let heading = "Results (none were given; these are extracted from its steps, without a model)";
    assert!(folded.contains(&format!("{heading}: The part says 7.")), "{folded}");
    assert_eq!(source("First part"), Some(ResultsSource::Extracted));
    let page = shown(&talk, "First part");
    assert!(page.contains("Result, extracted from its steps, without a model"), "{page}");

    let model = Loopback::start(vec![Reply::chat("It says 7, no doubt."), Reply::Silence]).unwrap();
    set(&talk, &["--address", &format!("{}/v1", model.address()), "--model", "small"]);
    let folded = worked_on(&talk, "Second part");
    let heading = "Results (none were given; a model of the user's own wrote these)";
    assert!(folded.contains(&format!("{heading}: It says 7, no doubt.")), "{folded}");
    assert_eq!(source("Second part"), Some(ResultsSource::Model));
    let page = shown(&talk, "Second part");
    assert!(page.contains("Result, by a model of the user's own"), "{page}");
    let [asked] = &model.asked()[..] else { panic!("{:?}", model.asked()) };
    assert!(asked.head.contains(&format!("authorization: bearer {KEY}\r\n")), "{}", asked.head);
    let body: Value = serde_json::from_str(&asked.body).unwrap();
    let user = body["messages"][1]["content"].as_str().unwrap();
    for part in ["\"Second part\"", "it is read", "The part says 7.", "INNERWORK"] {
        assert!(user.contains(part), "{part} is not in {user}");
    }
    assert!(!user.contains("First part"), "{user}");

    // Longer than the plugin waits for an answer of its process.
    set(&talk, &["--time-limit", "6000"]);
    let folded = worked_on(&talk, "Third part");
    assert!(
        folded.contains("extracted from its steps, without a model): The part says 7."),
        "{folded}"
    );
    assert_eq!(source("Third part"), Some(ResultsSource::Extracted));
    let log = sealed.read(".callstack/callstack.log").unwrap();
    assert!(log.contains("Summarizer failed") && log.contains("within 6000 ms"), "{log}");
    assert_eq!(model.asked().len(), 2);

    let kept = sealed.project().join(".callstack");
    for file in std::fs::read_dir(kept).unwrap() {
        let path = file.unwrap().path();
        let Ok(bytes) = std::fs::read(&path) else { continue };
        let holds = bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes());
        assert!(!holds, "the key is in {}", path.display());
    }
}
