//! A model on loopback with given answers.

use std::net::TcpListener;
use std::time::Duration;

use callstack_core::results::SummaryPrompt;
use callstack_engine::{Summarizer as _, SummarizerSettings, SummaryRequest, WireFormat};
use callstack_summarizer::HttpSummarizer;
use callstack_testkit::{Asked, Loopback, Reply};
use serde_json::{Value, json};

const KEY: &str = "dummy-key-of-the-tests-0123456789";

fn start(replies: Vec<Reply>) -> Loopback {
    Loopback::start(replies).unwrap()
}

fn error(status: u16, message: &str) -> Reply {
    Reply::with(status, json!({"error": {"message": message}}).to_string())
}

fn settings(address: &str) -> SummarizerSettings {
    SummarizerSettings {
        address: Some(address.to_owned()),
        model: Some("small".to_owned()),
        ..SummarizerSettings::default()
    }
}

fn key(name: &str) -> Option<String> {
    (name == "STACK_SUMMARIZER_KEY").then(|| format!(" {KEY}\n"))
}

fn keyless(_: &str) -> Option<String> {
    None
}

fn ask_for(settings: SummarizerSettings, ms: u64) -> Result<String, String> {
    let prompt = SummaryPrompt { system: "Sum up.".to_owned(), user: "The steps".to_owned() };
    let time_limit = Duration::from_millis(ms);
    let request = SummaryRequest { prompt, settings, time_limit };
    HttpSummarizer::new(key).summarize(&request).map_err(|error| error.to_string())
}

fn ask(settings: SummarizerSettings) -> Result<String, String> {
    ask_for(settings, 20_000)
}

#[test]
fn both_formats_are_spoken_with_the_key_in_their_header() {
    let anthropic = json!({"content": [{"type": "text", "text": "All green."}]}).to_string();
    for (format, reply, path, header) in [
        (
            None,
            Reply::chat("All green."),
            "post /v1/chat/completions http/1.1",
            "authorization: bearer ",
        ),
        (
            Some(WireFormat::Anthropic),
            Reply::with(200, anthropic),
            "post /v1/messages http/1.1",
            "x-api-key: ",
        ),
    ] {
        let server = start(vec![reply]);
        let address = format!("{}/v1", server.address());
        let answer = ask(SummarizerSettings { format, ..settings(&address) });
        assert_eq!(answer.as_deref(), Ok("All green."));
        let [Asked { head, body }] = &server.asked()[..] else { panic!("{:?}", server.asked()) };
        assert!(head.starts_with(path), "{head}");
        assert!(head.contains(&format!("{header}{KEY}\r\n")), "{head}");
        assert!(head.contains("content-type: application/json"), "{head}");
        assert_eq!(head.contains("anthropic-version: 2023-06-01"), format.is_some(), "{head}");
        let body: Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["model"], "small");
        assert!(!body.to_string().contains(KEY));
    }
}

#[test]
fn without_a_key_none_is_sent() {
    let server = start(vec![Reply::chat("All green.")]);
    let prompt = SummaryPrompt { system: String::new(), user: String::new() };
    let (settings, time_limit) = (settings(server.address()), Duration::from_secs(20));
    let request = SummaryRequest { prompt, settings, time_limit };
    HttpSummarizer::new(keyless).summarize(&request).unwrap();
    let [Asked { head, .. }] = &server.asked()[..] else { panic!() };
    assert!(!head.contains("authorization"), "{head}");
}

#[test]
fn a_server_that_is_ill_is_asked_again() {
    for ill in [
        error(500, "out of memory"),
        error(529, "overloaded"),
        Reply::With { status: 429, headers: "retry-after: 0.1\r\n", body: String::new() },
        Reply::Close,
    ] {
        let server = start(vec![ill, Reply::chat("All green.")]);
        assert_eq!(ask(settings(server.address())).as_deref(), Ok("All green."));
        assert_eq!(server.asked().len(), 2);
    }
}

#[test]
fn no_more_often_than_is_allowed() {
    for retries in [0, 1] {
        let server = start(vec![error(500, "out of memory")]);
        let fault = ask(SummarizerSettings { retries, ..settings(server.address()) }).unwrap_err();
        assert!(fault.ends_with("answered 500: out of memory"), "{fault}");
        assert_eq!(server.asked().len(), retries as usize + 1);
    }
}

#[test]
fn who_wants_to_be_left_alone_for_too_long_is() {
    let busy = Reply::With { status: 429, headers: "retry-after: 60\r\n", body: String::new() };
    let server = start(vec![busy, Reply::chat("All green.")]);
    let fault = ask(settings(server.address())).unwrap_err();
    assert!(fault.contains("answered 429, and the next attempt, 60000 ms later,"), "{fault}");
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn who_says_nothing_is_given_up_when_the_time_is_over() {
    let server = start(vec![Reply::Silence]);
    let settings = SummarizerSettings { time_limit: 300, ..settings(server.address()) };
    let fault = ask_for(settings, 300).unwrap_err();
    assert!(fault.starts_with("it did not answer within 300 ms"), "{fault}");
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn what_no_further_attempt_mends_is_reported_at_once() {
    let redirect = Reply::With {
        status: 307,
        headers: "location: http://127.0.0.1:9/\r\n",
        body: String::new(),
    };
    for (reply, reason) in [
        (
            error(401, "who are you"),
            "refuses the key of the variable STACK_SUMMARIZER_KEY (401: who",
        ),
        (error(404, "no such model"), "there is nothing at http://127.0.0.1:"),
        (error(400, "bad request"), "answered 400: bad request"),
        (redirect, "points elsewhere (307)"),
        (Reply::with(200, "<html>".to_owned()), "does not speak as openai does"),
        (Reply::with(200, "{\"choices\":[]}".to_owned()), "does not speak as openai does"),
    ] {
        let server = start(vec![reply, Reply::chat("never")]);
        let fault = ask(settings(server.address())).unwrap_err();
        assert!(fault.contains(reason), "{fault}");
        assert_eq!(server.asked().len(), 1, "{fault}");
    }
}

#[test]
fn a_key_that_is_missing_is_named() {
    let server = start(vec![error(401, "no key")]);
    let settings =
        SummarizerSettings { key_variable: "MY_KEY".to_owned(), ..settings(server.address()) };
    let fault = ask(settings).unwrap_err();
    assert!(
        fault.contains("wants a key, and the variable MY_KEY holds none (401: no key)"),
        "{fault}"
    );
}

#[test]
fn a_server_that_repeats_the_key_does_not_have_it_shown() {
    let long = "x".repeat(5_000);
    let server = start(vec![error(401, &format!("wrong key {KEY}\nsee {long}"))]);
    let fault = ask(settings(server.address())).unwrap_err();
    assert!(!fault.contains(KEY) && fault.contains("wrong key [the key] see"), "{fault}");
    assert!(!fault.contains('\n') && fault.len() < 1_000, "{}", fault.len());
}

#[test]
fn nobody_at_an_address_is_reported() {
    // The port was free a moment ago.
    let address = {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let fault = ask(SummarizerSettings { retries: 0, ..settings(&address) }).unwrap_err();
    assert!(fault.contains("can't be reached"), "{fault}");
    let fault = ask(SummarizerSettings { address: None, ..settings(&address) }).unwrap_err();
    assert_eq!(fault, "STACK_SUMMARIZER_ADDRESS is not set");
}
