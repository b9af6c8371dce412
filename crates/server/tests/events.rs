//! The event stream: every event once and in order, whichever process writes and however often a client returns.

use std::thread;
use std::time::Duration;

use callstack_core::transcript::Anchor;
use callstack_engine::operation::Caller;
use callstack_engine::{Engine, operations};
use callstack_server::Options;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::live::Live;

/// Carries an operation out as another process does.
fn call(engine: &Engine, session: &str, name: &str, arguments: Value) {
    let anchor = Anchor { message: None, call: None };
    let (session, host) = (session.to_owned(), "test".to_owned());
    let caller =
        Caller { session, host, anchor, agent: None, performs: false, reveal: false, key: None };
    operations::find(name).unwrap().run(engine, &caller, arguments).unwrap();
}

/// Pushes a frame and records so many decisions in it.
fn work(engine: &Engine, session: &str, count: usize) {
    call(engine, session, "stack_frame_push", json!({"title": "work", "successCriteria": "done"}));
    for number in 0..count {
        call(engine, session, "stack_add_decision", json!({"decision": format!("the {number}th")}));
    }
}

fn newest(engine: &Engine) -> u64 {
    engine.newest_event().unwrap().seq
}

#[tokio::test]
async fn what_several_processes_write_comes_once_and_in_order_also_to_those_who_come_back() {
    let live = Live::start(Options::default()).await;
    let engines = [live.another(), live.another()];
    let begun = newest(&engines[0]);
    let mut steady = live.follow("/v1/events", "").await;
    let open = steady.next().await.unwrap();
    assert_eq!(
        (open.name.as_deref(), open.id),
        (Some("open"), open.data["cursor"].as_str().unwrap().to_owned())
    );
    let writing: Vec<_> = engines
        .into_iter()
        .zip(["ses_a", "ses_b"])
        .map(|(engine, session)| thread::spawn(move || work(&engine, session, 30)))
        .collect();
    // A client that is cut off after every few events, and continues where it was.
    let (mut last, mut seen) = (None::<String>, Vec::new());
    while seen.len() < 60 {
        let header =
            last.as_ref().map_or_else(String::new, |id| format!("Last-Event-ID: {id}\r\n"));
        let mut events = live.follow(&format!("/v1/events?after={begun}"), &header).await;
        for _ in 0..7 {
            let sent = events.next().await.unwrap();
            if sent.name.is_none() {
                assert_eq!(sent.id, sent.data["cursor"]);
                seen.push(sent.data["seq"].as_u64().unwrap());
                last = Some(sent.id);
            }
        }
    }
    for thread in writing {
        thread.join().unwrap();
    }
    let end = newest(&live.another());
    let all: Vec<_> = (begun + 1..=end).collect();
    assert_eq!(seen, all[..seen.len()]);
    assert_eq!(steady.numbers(all.len()).await, all);
    live.stop().await;
    assert_eq!(steady.next().await, None);
}

#[tokio::test]
async fn from_the_beginning_all_that_ever_was() {
    let live = Live::start(Options::default()).await;
    work(&live.another(), "ses_a", 300);
    let end = newest(&live.another());
    assert!(end > 256, "more than one batch: {end}");
    let mut events = live.follow("/v1/events?after=0", "").await;
    assert_eq!(events.next().await.unwrap().name.as_deref(), Some("open"));
    assert_eq!(events.numbers(usize::try_from(end).unwrap()).await, (1..=end).collect::<Vec<_>>());
    live.stop().await;
}

#[tokio::test]
async fn a_place_of_another_log_is_a_gap_after_which_it_goes_on() {
    let live = Live::start(Options::default()).await;
    let engine = live.another();
    work(&engine, "ses_a", 1);
    let mut events = live.follow("/v1/events", "Last-Event-ID: 1-7\r\n").await;
    assert_eq!(events.next().await.unwrap().name.as_deref(), Some("open"));
    let gap = events.next().await.unwrap();
    let place = engine.newest_event().unwrap();
    assert_eq!((gap.name.as_deref(), gap.id), (Some("gap"), place.to_string()));
    work(&engine, "ses_b", 1);
    assert_eq!(events.numbers(1).await, [place.seq + 1]);
    live.stop().await;
}

#[tokio::test]
async fn a_reader_that_takes_nothing_stops_nobody() {
    let live = Live::start(Options::default()).await;
    let mut stuck = live.connect().await;
    stuck.write_all(live.head("GET /v1/events?after=0", "").as_bytes()).await.unwrap();
    // Its answer has begun.
    stuck.read_u8().await.unwrap();
    let engine = live.another();
    let mut events = live.follow("/v1/events", "").await;
    events.next().await.unwrap();
    let begun = newest(&engine);
    thread::spawn(move || work(&engine, "ses_a", 60)).join().unwrap();
    let end = newest(&live.another());
    let all: Vec<_> = (begun + 1..=end).collect();
    assert_eq!(events.numbers(all.len()).await, all);
    live.stop().await;
}

#[tokio::test]
async fn secrets_in_events_are_masked() {
    let live = Live::start(Options::default()).await;
    let engine = live.another();
    let mut events = live.follow("/v1/events?after=0", "").await;
    let token = ["ghp_", "abcdefghijklmnopqrstuvwxyz", "0123456789"].concat();
    let arguments = json!({"title": "t", "successCriteria": format!("with {token}")});
    call(&engine, "ses_a", "stack_frame_push", arguments);
    let mut all = String::new();
    for _ in 0..newest(&engine) {
        all.push_str(&events.next().await.unwrap().data.to_string());
    }
    assert!(all.contains("masked") && !all.contains(&token), "{all}");
    live.stop().await;
}

#[tokio::test]
async fn it_ends_when_nobody_has_been_there_for_long() {
    let idle = Some(Duration::from_millis(20));
    let live = Live::start(Options { idle, ..Options::default() }).await;
    live.running.await.unwrap();
}
