//! Malicious clients, on real sockets: they get nothing and stop no other client.

use std::time::Duration;

use callstack_server::{Limits, Options};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::live::Live;

/// The longest wait before the test fails.
const PATIENCE: Duration = Duration::from_mins(1);

/// Waits until the server has closed a connection. Returns its earlier output.
async fn closed(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    // A connection that is reset is closed, too.
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut bytes)).await;
    drop(read.expect("the connection stays open"));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether somebody with the token is answered.
async fn is_served(live: &Live) {
    let mut stream = live.connect().await;
    let head = live.head("POST /v1/operations/stack_status", "Connection: close\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let answer = closed(stream).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

async fn with(limits: Limits) -> Live {
    Live::start(Options { limits, ..Options::default() }).await
}

#[tokio::test]
async fn many_who_say_nothing_crowd_nobody_out() {
    // They would have all the time they want.
    let head = Duration::from_hours(1);
    let live = with(Limits { strangers: 4, head, ..Limits::default() }).await;
    // One who has shown the token stays, whatever comes.
    let mut events = live.follow("/v1/events", "").await;
    events.next().await.unwrap();
    let mut silent = Vec::new();
    for _ in 0..50 {
        silent.push(live.connect().await);
        is_served(&live).await;
    }
    for stream in silent.drain(..40) {
        assert_eq!(closed(stream).await, "");
    }
    let engine = live.another();
    engine.set_setting("STACK_LOG", Some("on")).unwrap();
    events.next().await.unwrap();
    live.stop().await;
}

#[tokio::test]
async fn ten_thousand_connections_stop_nobody() {
    let live = with(Limits::default()).await;
    let mut events = live.follow("/v1/events", "").await;
    events.next().await.unwrap();
    // In portions of as many connections as one process may usually have open.
    for _ in 0..25 {
        let mut silent = Vec::new();
        for number in 0..400 {
            let mut stream = live.connect().await;
            if number % 2 == 0 {
                // It may be closed already.
                drop(stream.write_all(b"GET /v1/events HTTP/1.1\r\nHost: ").await);
            }
            silent.push(stream);
        }
        is_served(&live).await;
    }
    live.another().set_setting("STACK_LOG", Some("on")).unwrap();
    events.next().await.unwrap();
    live.stop().await;
}

#[tokio::test]
async fn a_head_that_never_ends_is_cut_off() {
    let live = with(Limits { head: Duration::from_millis(50), ..Limits::default() }).await;
    let mut slow = live.connect().await;
    slow.write_all(b"GET / HTTP/1.1\r\nHost: 127").await.unwrap();
    let answer = closed(slow).await;
    assert!(!answer.contains("200"), "{answer}");
    let mut endless = live.connect().await;
    let head = format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(1 << 20));
    // It may be closed before all is written.
    drop(endless.write_all(head.as_bytes()).await);
    let answer = closed(endless).await;
    assert!(!answer.contains("200"), "{answer}");
    is_served(&live).await;
    live.stop().await;
}

#[tokio::test]
async fn a_body_that_never_comes_is_not_waited_for() {
    let live = with(Limits { request: Duration::from_millis(50), ..Limits::default() }).await;
    let mut slow = live.connect().await;
    let headers = "Content-Type: application/json\r\nContent-Length: 100\r\n";
    let head = live.head("POST /v1/operations/stack_frame_push", headers);
    slow.write_all(head.as_bytes()).await.unwrap();
    slow.write_all(b"{").await.unwrap();
    let mut answer = [0; 12];
    slow.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 503");
    live.stop().await;
}

#[tokio::test]
async fn without_the_token_no_body_is_read() {
    let live = with(Limits::default()).await;
    let mut stream = live.connect().await;
    let head = format!(
        "POST /v1/operations/stack_frame_push HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Length: 1000000000\r\n\r\n",
        live.port
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let answer = closed(stream).await;
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    live.stop().await;
}

#[tokio::test]
async fn one_who_takes_nothing_is_cut_off() {
    let limits = Limits { write: Duration::from_millis(100), ..Limits::default() };
    let idle = Some(Duration::from_secs(1));
    let live = Live::start(Options { limits, idle, ..Options::default() }).await;
    let engine = live.another();
    // More than the buffers of a connection hold.
    for number in 0..200 {
        engine.set_setting(&format!("NOTE_{number}"), Some(&"x".repeat(100_000))).unwrap();
    }
    let mut stuck = live.connect().await;
    stuck.write_all(live.head("GET /v1/events?after=0", "").as_bytes()).await.unwrap();
    // A client counts as present as long as its connection exists.
    let ended = tokio::time::timeout(PATIENCE, live.running).await;
    ended.expect("the server waits for it").unwrap();
}

#[tokio::test]
async fn what_is_no_http_is_not_answered_with_anything_of_ours() {
    let live = with(Limits::default()).await;
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00"[..],
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
        b"GET\r\n\r\n",
    ] {
        let mut stream = live.connect().await;
        stream.write_all(bytes).await.unwrap();
        let answer = closed(stream).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{answer}");
    }
    is_served(&live).await;
    live.stop().await;
}
