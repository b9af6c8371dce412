//! Frames that end without results in the call that ends them.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use callstack_core::dialect::Dialect;
use callstack_core::evidence::{Action, Activity};
use callstack_core::results::ResultsSource;
use callstack_core::transcript::{Anchor, CallState, Message, MessageKind, Role, ToolCall};
use callstack_engine::effect::{Effect, EffectOutcome};
use callstack_engine::operation::{Answer, Caller};
use callstack_engine::{
    Engine, EngineError, HostMessage, Kind, Settings, Summarizer, SummarizerError,
    SummarizerSettings, SummaryRequest, UserMessage, operations, tools,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::Patient;

const A: &str = "ses_a";
const POP: &str = "stack_frame_pop";
const KEY: &str = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";

/// Stored messages of these tests are lists of activities: `["said", words]` or `["ran", command]`.
fn read(json: &str, _: &Path) -> Vec<(String, Activity)> {
    let stored: Vec<(String, String)> = serde_json::from_str(json).unwrap_or_default();
    let activity = |(what, text): (String, String)| match what.as_str() {
        "said" => Activity::Said(text),
        _ => Activity::called(ToolCall {
            exit: Some(0),
            action: Action::Ran(text),
            ..ToolCall::new("", "bash", CallState::Completed)
        }),
    };
    stored.into_iter().enumerate().map(|(at, it)| (at.to_string(), activity(it))).collect()
}

/// A model with given answers, which it gives once it may.
#[derive(Default)]
struct Fake {
    answer: Mutex<Option<Result<String, SummarizerError>>>,
    may: Condvar,
    asked: Mutex<Vec<SummaryRequest>>,
}

impl Fake {
    fn saying(text: &str) -> Arc<Self> {
        let fake = Arc::new(Self::default());
        fake.answer(Ok(text.to_owned()));
        fake
    }

    fn failing(why: &str) -> Arc<Self> {
        let fake = Arc::new(Self::default());
        fake.answer(Err(SummarizerError(why.to_owned())));
        fake
    }

    fn answer(&self, answer: Result<String, SummarizerError>) {
        *self.answer.lock().unwrap() = Some(answer);
        self.may.notify_all();
    }

    fn requests(&self) -> Vec<SummaryRequest> {
        self.asked.lock().unwrap().clone()
    }
}

impl Summarizer for Fake {
    fn summarize(&self, request: &SummaryRequest) -> Result<String, SummarizerError> {
        self.asked.lock().unwrap().push(request.clone());
        let answer = self.answer.lock().unwrap();
        let answer = self.may.wait_while(answer, |answer| answer.is_none()).unwrap();
        answer.clone().unwrap()
    }
}

struct TestEnv {
    engine: Engine,
    folder: TempDir,
    settings: Settings,
    messages: usize,
}

impl TestEnv {
    /// A session with a root `f1` and the open frame `f2`.
    fn new() -> Self {
        Self::with(Settings::default(), None)
    }

    fn asking(fake: &Arc<Fake>) -> Self {
        let summarizer = SummarizerSettings {
            address: Some("http://127.0.0.1:9/v1".to_owned()),
            model: Some("small".to_owned()),
            ..SummarizerSettings::default()
        };
        Self::with(Settings { summarizer, ..Settings::default() }, Some(fake))
    }

    fn with(settings: Settings, fake: Option<&Arc<Fake>>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = open(folder.path(), &settings, fake);
        let mut desk = Self { engine, folder, settings, messages: 0 };
        let (session, host, text) = (A.to_owned(), "test".to_owned(), "Read it".to_owned());
        desk.engine.user_message(&UserMessage { session, host, text }).unwrap();
        desk.shows(&[]);
        desk.did("stack_frame_push", json!({"title": "part", "successCriteria": "it is read"}));
        desk
    }

    fn restart(&mut self, fake: Option<&Arc<Fake>>) {
        self.engine = open(self.folder.path(), &self.settings, fake);
    }

    /// The session's transcript grows.
    fn shows(&mut self, activities: &[(&str, &str)]) {
        self.messages += 1;
        let shown = HostMessage::of(
            Message {
                id: format!("msg_{}", self.messages),
                role: Role::Assistant,
                standing: MessageKind::Normal,
                parts: Vec::new(),
            },
            json!(activities).to_string(),
        );
        self.engine.record(A, vec![shown]).unwrap();
    }

    fn caller(&self, performs: bool) -> Caller {
        Caller {
            session: A.to_owned(),
            host: "test".to_owned(),
            anchor: Anchor {
                message: Some(format!("msg_{}", self.messages)),
                call: Some(format!("call_{}", self.messages)),
            },
            agent: None,
            performs,
            reveal: true,
            key: None,
        }
    }

    fn call(&self, name: &str, arguments: Value, performs: bool) -> Result<Answer, EngineError> {
        operations::find(name).unwrap().run(&self.engine, &self.caller(performs), arguments)
    }

    fn did(&self, name: &str, arguments: Value) -> Answer {
        self.call(name, arguments, false).unwrap_or_else(|error| panic!("{name}: {error:?}"))
    }

    /// Goes on with a pop that waits.
    fn resume(&self, token: &Value, outcome: EffectOutcome) -> Answer {
        let pop = operations::find(POP).unwrap();
        pop.resume(&self.engine, &self.caller(true), token.clone(), outcome).unwrap()
    }

    /// Waits as a host does until there is an answer.
    fn until_answered(&self, mut answer: Answer) -> Answer {
        while let Some(next) = answer.next {
            let Effect::Wait { ms } = next.effect else { panic!("{:?}", next.effect) };
            std::thread::sleep(Duration::from_millis(ms));
            answer = self.resume(&next.token, EffectOutcome::Ok(json!({})));
        }
        answer
    }

    /// Returns the results of a frame and their author.
    fn results(&self, frame: &str) -> (Option<ResultsSource>, String) {
        let frame = self.engine.resolve(frame).unwrap();
        (frame.results_source, frame.results.unwrap_or_default())
    }

    fn status(&self) -> String {
        self.engine.resolve("f2").unwrap().status.to_string()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join(".callstack/callstack.log")).unwrap()
    }
}

fn open(folder: &Path, settings: &Settings, fake: Option<&Arc<Fake>>) -> Engine {
    let engine =
        Engine::open_unchecked(folder, settings.clone(), Box::<Patient>::default()).unwrap();
    engine.read_messages_with(read);
    if let Some(fake) = fake {
        let fake: Arc<dyn Summarizer> = Arc::clone(fake) as _;
        engine.summarize_with(fake);
    }
    engine
}

const WORK: &[(&str, &str)] = &[("ran", "make test"), ("said", "All 31 tests pass now.")];

#[test]
fn who_ends_it_comes_before_a_model_and_a_model_before_extraction() {
    use ResultsSource::{Agent, Extracted, Model};
    for (given, answers, work, source, results) in [
        (Some("mine"), true, WORK, Agent, "mine"),
        (None, true, WORK, Model, "It is read."),
        (Some("  "), true, WORK, Model, "It is read."),
        (None, false, WORK, Extracted, "All 31 tests pass now."),
        (
            None,
            false,
            &[("ran", "make test")][..],
            Extracted,
            "Nothing was said in it.\nchecks: `make test`: exit 0",
        ),
    ] {
        let fake = if answers { Fake::saying("It is read.") } else { Fake::failing("it is ill") };
        let mut desk = TestEnv::asking(&fake);
        desk.shows(work);
        let answer = desk.did(POP, json!({"results": given, "status": "failed"}));
        assert_eq!(desk.results("f2"), (Some(source), results.to_owned()));
        assert_eq!(desk.status(), "failed");
        assert_eq!(answer.data["resultsSource"], source.as_str());
        assert_eq!(answer.data["summarizerFailure"].as_str(), (!answers).then_some("it is ill"));
        assert_eq!(answer.text.contains("did not: it is ill."), !answers, "{}", answer.text);
        assert_eq!(fake.requests().len(), usize::from(source != Agent));
        // It is in the store, and in what is derived from its events.
        for _ in 0..2 {
            desk.restart(None);
            assert_eq!(desk.results("f2"), (Some(source), results.to_owned()));
            let details = desk.did("stack_frame_details", json!({"frame": "f2"}));
            assert_eq!(details.data["resultsSource"], source.as_str());
            assert!(details.text.contains(source.for_people()), "{}", details.text);
            desk.engine.rebuild().unwrap();
        }
    }
}

#[test]
fn a_reader_is_warned_of_results_that_the_agent_did_not_write() {
    for (fake, heading) in [
        (
            None,
            "Results (none were given; these are extracted from its steps, without a model): All",
        ),
        (
            Some("It is read."),
            "Results (none were given; a model of the user's own wrote these): It",
        ),
    ] {
        let fake = fake.map(Fake::saying);
        let mut desk = fake.as_ref().map_or_else(TestEnv::new, TestEnv::asking);
        desk.shows(WORK);
        let answer = desk.did(POP, json!({}));
        assert!(answer.text.contains(heading), "{}", answer.text);
    }
}

#[test]
fn where_nothing_was_done_a_pop_without_results_is_refused() {
    let fake = Fake::saying("It is read.");
    let desk = TestEnv::asking(&fake);
    let error = desk.call(POP, json!({"results": ""}), false).unwrap_err();
    assert_eq!(error.kind, Kind::Invalid);
    assert!(error.message.starts_with("no results were given, and nothing was recorded in f"));
    assert_eq!(desk.status(), "in_progress");
    assert!(fake.requests().is_empty(), "there is nothing to tell a model");
}

#[test]
fn dense_results_alone_are_results() {
    let fake = Fake::saying("It is read.");
    let mut desk = TestEnv::asking(&fake);
    desk.shows(WORK);
    desk.did(POP, json!({"resultsCompacted": "green"}));
    assert_eq!(desk.results("f2"), (Some(ResultsSource::Agent), "green".to_owned()));
}

#[test]
fn nobody_is_asked_for_a_frame_that_can_not_end() {
    let fake = Fake::saying("It is read.");
    let mut desk = TestEnv::asking(&fake);
    desk.shows(WORK);
    let error = desk.call(POP, json!({"frame": "f1"}), true).unwrap_err();
    assert!(error.message.contains("f2 \"part\""), "{error}");
    assert!(fake.requests().is_empty());
}

#[test]
fn a_model_is_given_the_work_without_its_secrets() {
    let fake = Fake::saying("It is read.");
    let mut desk = TestEnv::asking(&fake);
    desk.shows(&[("ran", &format!("curl -H 'x-api-key: {KEY}'")), ("said", "Read.")]);
    desk.did(POP, json!({}));
    let [request] = &fake.requests()[..] else { panic!() };
    let user = &request.prompt.user;
    for part in ["f2 \"part\"", "It is done when: it is read", "It ends as: completed", "curl -H"] {
        assert!(user.contains(part), "{part} is not in {user}");
    }
    assert!(!user.contains("sk-ant-api03"), "{user}");
    assert!(!desk.log().contains("sk-ant-api03"));
    assert!(request.time_limit <= Duration::from_secs(30));
}

#[test]
fn a_host_is_not_kept_waiting() {
    let fake = Arc::new(Fake::default());
    let mut desk = TestEnv::asking(&fake);
    desk.shows(WORK);
    let answer = desk.call(POP, json!({"status": "blocked"}), true).unwrap();
    let waits = answer.next.clone().unwrap();
    assert!(matches!(waits.effect, Effect::Wait { .. }), "{:?}", waits.effect);
    assert_eq!(desk.status(), "in_progress");
    let again = desk.resume(&waits.token, EffectOutcome::Ok(json!({})));
    assert!(again.next.is_some(), "the model has not answered yet");
    fake.answer(Ok("<think>Hm.</think> It is read.".to_owned()));
    let answer = desk.until_answered(again);
    assert_eq!(answer.closed.map(|num| num.0), Some(2));
    assert_eq!(desk.results("f2"), (Some(ResultsSource::Model), "It is read.".to_owned()));
    assert_eq!(desk.status(), "blocked");
    assert_eq!(fake.requests().len(), 1);
    let log = desk.log();
    assert!(log.contains("Summarizer asked { frame: \"f2\", model: \"small\" }"), "{log}");
    assert!(log.contains("source: \"model\""), "{log}");
}

#[test]
fn another_process_asks_again_for_what_is_left_of_the_time() {
    let silent = Arc::new(Fake::default());
    let mut desk = TestEnv::asking(&silent);
    desk.shows(WORK);
    let waits = desk.call(POP, json!({}), true).unwrap().next.unwrap();
    let fake = Fake::saying("It is read.");
    desk.restart(Some(&fake));
    let answer = desk.resume(&waits.token, EffectOutcome::Ok(json!({})));
    desk.until_answered(answer);
    assert_eq!(desk.results("f2"), (Some(ResultsSource::Model), "It is read.".to_owned()));
    assert_eq!(fake.requests().len(), 1);
    silent.answer(Ok("Too late.".to_owned()));
}

#[test]
fn an_answer_that_is_lost_after_the_wait_is_given_again() {
    let fake = Fake::saying("It is read.");
    let mut desk = TestEnv::asking(&fake);
    desk.shows(WORK);
    let waits = desk.call(POP, json!({}), true).unwrap().next.unwrap();
    let answer = desk.resume(&waits.token, EffectOutcome::Ok(json!({})));
    let first = desk.until_answered(answer);
    desk.restart(Some(&fake));
    let pop = tools::find(Dialect::Stack, POP).unwrap();
    let again = pop.done_before(&desk.engine, &desk.caller(true), &Value::Null).unwrap().unwrap();
    assert_eq!(format!("{again:?}"), format!("{first:?}"));
}

#[test]
fn when_the_time_is_over_results_are_extracted() {
    let silent = Arc::new(Fake::default());
    let mut desk = TestEnv::asking(&silent);
    desk.shows(WORK);
    let waits = desk.call(POP, json!({}), true).unwrap().next.unwrap();
    let mut late = waits.token.clone();
    late["until"] = json!(1);
    let answer = desk.resume(&late, EffectOutcome::Ok(json!({})));
    assert!(answer.text.contains("it did not answer in time"), "{}", answer.text);
    let extracted = (Some(ResultsSource::Extracted), "All 31 tests pass now.".to_owned());
    assert_eq!(desk.results("f2"), extracted);
    silent.answer(Ok("Too late.".to_owned()));

    let mut desk = TestEnv::asking(&silent);
    desk.shows(WORK);
    let mut token = desk.call(POP, json!({}), true).unwrap().next.unwrap().token;
    token["until"] = json!(1);
    desk.restart(Some(&silent));
    let answer = desk.resume(&token, EffectOutcome::Ok(json!({})));
    assert!(answer.text.contains("the process that asked it ended"), "{}", answer.text);
    assert_eq!(desk.results("f2"), extracted);
}

#[test]
fn a_call_that_is_cancelled_leaves_the_frame_open() {
    let fake = Arc::new(Fake::default());
    let mut desk = TestEnv::asking(&fake);
    desk.shows(WORK);
    let waits = desk.call(POP, json!({}), true).unwrap().next.unwrap();
    let stopped = EffectOutcome::Error { message: "stopped".to_owned(), aborted: true };
    let answer = desk.resume(&waits.token, stopped);
    assert!(answer.text.starts_with("Cancelled"), "{}", answer.text);
    assert_eq!(desk.status(), "in_progress");
    fake.answer(Ok("It is read.".to_owned()));
    let answer = desk.call(POP, json!({}), true).unwrap();
    desk.until_answered(answer);
    assert_eq!(desk.status(), "completed");
}

#[test]
fn a_frame_that_somebody_else_ended_meanwhile_keeps_what_they_said() {
    let fake = Arc::new(Fake::default());
    let mut desk = TestEnv::asking(&fake);
    desk.shows(WORK);
    let waits = desk.call(POP, json!({}), true).unwrap().next.unwrap();
    desk.did(POP, json!({"results": "mine"}));
    fake.answer(Ok("It is read.".to_owned()));
    let pop = operations::find(POP).unwrap();
    let mut token = waits.token;
    let error = loop {
        match pop.resume(&desk.engine, &desk.caller(true), token, EffectOutcome::Ok(json!({}))) {
            Ok(Answer { next: Some(next), .. }) => token = next.token,
            Ok(answer) => panic!("{}", answer.text),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind, Kind::Conflict);
    assert_eq!(desk.results("f2"), (Some(ResultsSource::Agent), "mine".to_owned()));
}

#[test]
fn a_compaction_comes_before_a_model_and_a_model_where_the_host_can_not_compact() {
    let pop = operations::find(POP).unwrap();
    let unable = EffectOutcome::Error { message: "no model".to_owned(), aborted: false };
    for (given, answers, source, results) in [
        (Some("mine"), true, ResultsSource::Agent, "mine"),
        (None, true, ResultsSource::Model, "It is read."),
        (None, false, ResultsSource::Extracted, "All 31 tests pass now."),
    ] {
        let fake = if answers { Fake::saying("It is read.") } else { Fake::failing("it is ill") };
        let mut desk = TestEnv::asking(&fake);
        desk.shows(WORK);
        let arguments = json!({"results": given, "generateSummary": true});
        let asked = desk.call(POP, arguments, true).unwrap().next.unwrap();
        assert!(matches!(asked.effect, Effect::Summarize { .. }), "{:?}", asked.effect);
        assert!(fake.requests().is_empty(), "the host's compaction comes first");
        let answer =
            pop.resume(&desk.engine, &desk.caller(true), asked.token, unable.clone()).unwrap();
        let answer = desk.until_answered(answer);
        assert_eq!(desk.results("f2"), (Some(source), results.to_owned()));
        assert!(answer.text.contains("No summary could be generated: no model"), "{}", answer.text);
        assert!(desk.engine.pending_compaction(A).unwrap().is_none());
    }
    // Nobody waits for a model where a call has already returned.
    let fake = Fake::saying("It is read.");
    let mut desk = TestEnv::asking(&fake);
    desk.shows(WORK);
    desk.call(POP, json!({"generateSummary": true}), true).unwrap();
    desk.engine.compaction_over(A).unwrap();
    let extracted = (Some(ResultsSource::Extracted), "All 31 tests pass now.".to_owned());
    assert_eq!(desk.results("f2"), extracted);
    assert!(fake.requests().is_empty());
}

#[test]
fn a_store_switches_the_model_off_at_once_and_never_on() {
    const ADDRESS: &str = "STACK_SUMMARIZER_ADDRESS";
    let address = "http://127.0.0.1:9/v1";
    let fake = Fake::saying("It is read.");
    let mut desk = TestEnv::with(Settings::default(), Some(&fake));
    desk.shows(WORK);
    desk.engine.set_setting(ADDRESS, Some(address)).unwrap();
    desk.engine.set_setting("STACK_SUMMARIZER_MODEL", Some("small")).unwrap();
    desk.did(POP, json!({"frame": "f2"}));
    assert_eq!(desk.results("f2").0, Some(ResultsSource::Extracted));
    assert!(fake.requests().is_empty());

    let of_user = Settings::from_vars(|name| match name {
        ADDRESS => Some(address.to_owned()),
        "STACK_SUMMARIZER_MODEL" => Some("small".to_owned()),
        _ => None,
    });
    let mut desk = TestEnv::with(of_user.unwrap(), Some(&fake));
    desk.shows(WORK);
    desk.engine.set_setting(ADDRESS, Some("none")).unwrap();
    desk.did(POP, json!({"frame": "f2"}));
    assert_eq!(desk.results("f2").0, Some(ResultsSource::Extracted));
    desk.did("stack_frame_push", json!({"title": "more", "successCriteria": "read"}));
    desk.engine.set_setting(ADDRESS, None).unwrap();
    desk.shows(WORK);
    desk.did(POP, json!({}));
    assert_eq!(desk.results("f3").0, Some(ResultsSource::Model));
}

#[test]
fn what_a_model_says_of_messages_that_were_purged_meanwhile_is_not_kept() {
    let fake = Arc::new(Fake::default());
    let mut desk = TestEnv::asking(&fake);
    desk.shows(&[("ran", "make quartz"), ("said", "The quartz is made.")]);
    let answer = desk.call(POP, json!({}), true).unwrap();
    assert!(answer.next.is_some(), "{answer:?}");
    let person = open(desk.folder.path(), &desk.settings, None);
    person.purge(person.purge_plan(A).unwrap(), "somebody").unwrap();
    desk.shows(&[("ran", "make marble"), ("said", "The marble is made.")]);
    fake.answer(Ok("It made quartz.".to_owned()));
    let answer = desk.until_answered(answer);
    assert_eq!(answer.data["summarizerFailure"], "messages were purged while it was asked");
    let results = (Some(ResultsSource::Extracted), "The marble is made.".to_owned());
    assert_eq!(desk.results("f2"), results);
}
