//! A collector on loopback.

use std::collections::HashSet;

use callstack_core::frame::Status;
use callstack_core::trace::SessionTrace;
use callstack_exports::Format;
use callstack_exports::otlp::{Encoding, Sender};
use callstack_testkit::{Loopback, Reply};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message as _;
use serde_json::json;

use crate::sessions::{about, export, frame, sessions};

const KEY: &str = "dummy-key-of-the-tests-0123456789";

fn sender(server: &Loopback, encoding: Encoding) -> Sender {
    Sender {
        address: format!("{}/v1/traces", server.address()),
        encoding,
        headers: vec![("api-key".to_owned(), KEY.to_owned())],
    }
}

#[test]
fn a_collector_receives_the_spans_of_the_file_in_both_encodings() {
    let written: ExportTraceServiceRequest =
        serde_json::from_str(&export(Format::Otlp, &sessions())).unwrap();
    for (encoding, kind) in
        [(Encoding::Protobuf, "application/x-protobuf"), (Encoding::Json, "application/json")]
    {
        let reply = if encoding == Encoding::Json { "{}" } else { "" };
        let server = Loopback::start(vec![Reply::with(200, reply)]).unwrap();
        let sender = sender(&server, encoding);
        let mut sent = 0;
        for session in sessions() {
            let outcome = sender.send(&about(), &session).unwrap();
            assert_eq!((outcome.rejected, &outcome.why), (0, &None));
            sent += outcome.spans;
        }
        assert_eq!(sent, 10);
        for asked in server.asked() {
            assert!(asked.head.starts_with("post /v1/traces http/1.1"), "{}", asked.head);
            assert!(asked.head.contains(&format!("content-type: {kind}\r\n")), "{}", asked.head);
            assert!(asked.head.contains(&format!("api-key: {KEY}\r\n")), "{}", asked.head);
        }
        let received = server.bodies().into_iter().flat_map(|body| {
            let request = match encoding {
                Encoding::Protobuf => ExportTraceServiceRequest::decode(&body[..]).unwrap(),
                Encoding::Json => serde_json::from_slice(&body).unwrap(),
            };
            request.resource_spans
        });
        assert_eq!(received.collect::<Vec<_>>(), written.resource_spans);
    }
}

#[test]
fn a_collector_that_is_busy_is_asked_again_and_one_that_refuses_is_not() {
    let busy = Reply::With { status: 503, headers: "retry-after: 0\r\n", body: String::new() };
    let server = Loopback::start(vec![busy, Reply::with(200, "")]).unwrap();
    let session = &sessions()[1];
    assert_eq!(sender(&server, Encoding::Protobuf).send(&about(), session).unwrap().spans, 2);
    assert_eq!(server.asked().len(), 2);
    let bodies = server.bodies();
    assert_eq!(bodies[0], bodies[1]);

    let refuses = Reply::with(401, format!("no such key: {KEY}"));
    let server = Loopback::start(vec![refuses]).unwrap();
    let error =
        sender(&server, Encoding::Protobuf).send(&about(), session).unwrap_err().to_string();
    assert!(error.contains("wants another key (401"), "{error}");
    assert!(!error.contains(KEY), "{error}");
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn a_redirection_is_not_followed() {
    let elsewhere = Loopback::start(vec![Reply::with(200, "")]).unwrap();
    let head = format!("location: {}/v1/traces\r\n", elsewhere.address());
    let reply = Reply::With { status: 307, headers: head.leak(), body: String::new() };
    let server = Loopback::start(vec![reply]).unwrap();
    let error = sender(&server, Encoding::Protobuf).send(&about(), &sessions()[1]).unwrap_err();
    assert!(error.to_string().contains("points elsewhere (307)"), "{error}");
    assert!(elsewhere.asked().is_empty());
}

#[test]
fn spans_that_a_collector_did_not_take_are_reported() {
    let partial = json!({"partialSuccess": {"rejectedSpans": 1, "errorMessage": "too\u{1b}old"}});
    let server = Loopback::start(vec![Reply::with(200, partial.to_string())]).unwrap();
    let sent = sender(&server, Encoding::Json).send(&about(), &sessions()[1]).unwrap();
    assert_eq!((sent.spans, sent.rejected, sent.why.as_deref()), (2, 1, Some("too\\u{1b}old")));
}

#[test]
fn many_spans_go_in_several_requests_each_once() {
    let server = Loopback::start(vec![Reply::with(200, "")]).unwrap();
    let frames = (1..=2_500).map(|num| frame(num, None, "Work", Status::Completed)).collect();
    let session = SessionTrace { frames, ..SessionTrace::default() };
    let sent = sender(&server, Encoding::Protobuf).send(&about(), &session).unwrap();
    assert_eq!((sent.spans, server.asked().len()), (2_500, 3));
    let mut ids = HashSet::new();
    for body in server.bodies() {
        let request = ExportTraceServiceRequest::decode(&body[..]).unwrap();
        for span in request.resource_spans.iter().flat_map(|it| &it.scope_spans[0].spans) {
            assert!(ids.insert(span.span_id.clone()));
        }
    }
    assert_eq!(ids.len(), 2_500);
}
