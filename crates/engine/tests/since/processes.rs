//! Steps that one process names, and another one closes.

use std::sync::Barrier;
use std::thread;

use callstack_core::transcript::Anchor;
use callstack_engine::operation::Caller;
use callstack_engine::{Engine, Kind, operations};
use serde_json::json;

use super::host::SESSION;
use super::surveyed;

#[test]
fn what_one_process_names_another_one_closes() {
    let (mut plain, _folder) = surveyed();
    plain.since("s1").unwrap();
    plain.reads(2, 100);
    for restarts in [false, true] {
        let (mut host, _other) = surveyed();
        let named = host.names().join("\n");
        let mut first = host.elsewhere();
        if restarts {
            host.restart_process();
        }
        host.since("s1").unwrap();
        host.reads(1, 100);
        if restarts {
            drop(first);
            first = host.elsewhere();
        }
        // The one that named them continues with the messages that the other one has sent.
        let second = host.in_process(first);
        host.reads(1, 100);
        assert_eq!(host.sent(), plain.sent(), "restarts: {restarts}");
        assert_eq!(host.output("msg_02"), plain.output("msg_02"));
        let closed = host.since("s1").unwrap_err();
        assert_eq!(
            (closed.kind, closed.message.contains("closed already")),
            (Kind::Conflict, true)
        );
        assert!(named.contains("s1") && host.engine.resolve("f2").is_ok());
        drop(second);
    }
}

#[test]
fn a_process_that_was_shown_nothing_yet_closes_them() {
    let (mut plain, _folder) = surveyed();
    plain.since("s1").unwrap();
    let (mut host, _other) = surveyed();
    host.restart_process();
    // The host calls the tool before it asks for the next request.
    let arguments = json!({"since": "s1", "title": "Survey", "results": "there are 3 parts"});
    host.calls(&[("stack_frame_pop", "", 0)], &[(0, arguments)]).unwrap();
    host.request();
    assert_eq!(host.sent(), plain.sent());
}

/// Pops steps in a process, from a call of its own.
fn close(engine: &Engine, call: &str) -> Result<String, Kind> {
    let caller = Caller {
        session: SESSION.to_owned(),
        host: "test".to_owned(),
        anchor: Anchor { message: Some("msg_08".to_owned()), call: Some(call.to_owned()) },
        agent: None,
        performs: false,
        reveal: true,
        key: None,
    };
    let pop = operations::find("stack_frame_pop").unwrap();
    let arguments = json!({"since": "s1", "results": "there are 3 parts"});
    pop.run(engine, &caller, arguments).map(|answer| answer.text).map_err(|error| error.kind)
}

#[test]
fn of_two_processes_that_close_them_at_once_one_does() {
    let (mut host, _folder) = surveyed();
    let first = host.elsewhere();
    let second = &host.engine;
    let start = Barrier::new(2);
    let answers = thread::scope(|scope| {
        let start = &start;
        let both = [(&first, "call_a"), (second, "call_b")].map(|(engine, call)| {
            scope.spawn(move || {
                start.wait();
                close(engine, call)
            })
        });
        both.map(|thread| thread.join().unwrap())
    });
    let refused: Vec<_> = answers.iter().filter_map(|it| it.as_ref().err()).collect();
    assert_eq!(refused, [&Kind::Conflict]);
    assert_eq!(first.spans(SESSION).unwrap().len(), 2);
}
