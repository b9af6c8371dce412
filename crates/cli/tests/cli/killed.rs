//! The process that serves the plugin ends at any moment: everything that it had acknowledged is there, and nothing
//! is there twice.
//!
//! The kernel ends the process at a write of its own, without a further instruction (see
//! [`process::Process::start`]), or it is killed after it has carried out a request and before its host gets the
//! answer.

pub(super) mod host;
pub(super) mod process;

use std::sync::atomic::{AtomicUsize, Ordering};

use callstack_store::Store;
use serde_json::{Value, json};

use super::test_env::TestEnv;
use host::{Host, Trouble};

const A: &str = "ses_a";
const C: &str = "ses_c";

fn child(title: &str) -> Value {
    json!({"title": title, "successCriteria": format!("the {title} works")})
}

/// Messages, plans, a push, a pin, a decision, pops with results, another try, an undo of all that, a move over
/// several frames, and a frame that another session works on for this one.
fn work(host: &mut Host) {
    host.user(A, "Write the parser of the configuration");
    host.call(A, "stack_frame_plan", &json!({"children": [child("tables"), child("docs")]}));
    host.call(A, "stack_frame_push", &child("grammar"));
    host.write(A, "grammar.txt");
    host.run(A, "make grammar", 0);
    host.call(A, "stack_add_artifact", &json!({"artifact": "grammar.txt"}));
    host.call(A, "stack_pin", &json!({"text": "never touch main"}));
    host.call(A, "stack_add_decision", &json!({"decision": "LL(1), no tables"}));
    host.call(
        A,
        "stack_frame_pop",
        &json!({"results": "23 rules, no comments", "status": "failed"}),
    );
    host.call(A, "stack_frame_retry", &json!({"frame": "f4"}));
    host.call(A, "stack_frame_pop", &json!({"results": "24 rules in grammar.txt"}));
    let preset = json!({"name": "feature", "values": {"feature": "imports"}, "parent": "f3"});
    host.call(A, "stack", &json!({"op": "stack_preset", "args": preset}));
    let other = |host: &mut Host, op: &str, args: Value| {
        host.call(A, "stack", &json!({"op": op, "args": args}));
    };
    host.call(A, "stack_pin", &json!({"text": "no network"}));
    other(host, "stack_unpin", json!({"pin": "p3"}));
    other(host, "stack_frame_unplan", json!({"frame": "f6"}));
    host.call(A, "stack_frame_push", &child("cache"));
    host.call(A, "stack_frame_push", &child("index"));
    other(host, "stack_navigate", json!({"to": "f1"}));
    other(host, "stack_frame_invalidate", json!({"frame": "f3", "reason": "written already"}));
    other(host, "stack_frame_consolidate", json!({"keep": 0}));
    host.delegate(A, "f2", C, |host| {
        host.run(C, "make tables", 0);
        host.call(C, "stack_frame_push", &child("rows"));
        host.call(C, "stack_frame_pop", &json!({"results": "rows are sorted"}));
        host.call(C, "stack_frame_pop", &json!({"results": "tables.rs has 4 tables"}));
        host.reply(C, "The tables are done.");
    });
    host.reply(A, "The parser is there.");
    host.user(A, "Thanks");
    host.reply(A, "You are welcome.");
}

/// The whole final state, without the parts that differ from run to run: the state, and the text that each session is
/// sent in place of folded messages.
type FinalState = (Value, Vec<String>);

/// Does the work with a process that has trouble, and continues it with others as a host does.
fn worked(trouble: Trouble) -> (FinalState, Host) {
    let mut host = Host::new(trouble);
    work(&mut host);
    // An answer to a hook does not promise that messages are on the disk: those that are missing when a process ends
    // are shown to the next one.
    let mut processes = 0;
    let mut sent = Vec::new();
    while processes != host.starts || !host.close() {
        processes = host.starts;
        sent = [A, C].map(|session| host.sent(session)).to_vec();
    }
    assert!(host.troubles.is_empty(), "{:?}", host.troubles);
    let desk = &host.desk;
    let said = desk.run(&["doctor", "--json"]);
    assert_eq!(said.code, 0, "{trouble:?}: {}{}", said.stdout, said.stderr);
    for session in [A, C] {
        let what = format!("{trouble:?}: messages of {session}");
        assert_same(&what, &host.shown(session), &stored(desk, session));
    }
    ((same(desk.json(&["tree"])), sent), host)
}

#[track_caller]
pub(super) fn assert_same<T: std::fmt::Debug>(what: &str, expected: &T, found: &T) {
    let (expected, found) = (format!("{expected:#?}"), format!("{found:#?}"));
    let mut lines = expected.lines().zip(found.lines());
    let differs = lines.position(|(expected, found)| expected != found);
    let around = |text: &str| {
        let first = differs.unwrap_or(text.lines().count()).saturating_sub(12);
        text.lines().skip(first).take(20).collect::<Vec<_>>().join("\n")
    };
    assert!(expected == found, "{what}\n{}\n--- but is\n{}", around(&expected), around(&found));
}

/// Returns the stored messages of a session: each version of each message, in order.
pub(super) fn stored(desk: &TestEnv, session: &str) -> Vec<Value> {
    let store = Store::open_unchecked(&desk.project().join(".callstack")).unwrap();
    let messages = store.read(|view| {
        let last = view.whole_session(session)?.last;
        view.messages_between(session, (0, last), true)
    });
    messages.unwrap().iter().map(|it| serde_json::from_str(&it.json).unwrap()).collect()
}

/// The state without times, and with handles for ids.
pub(super) fn same(mut state: Value) -> Value {
    let handles: Vec<(String, String)> = state["frames"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(id, frame)| (id.clone(), frame["handle"].as_str().unwrap().to_owned()))
        .collect();
    for frame in state["frames"].as_object_mut().unwrap().values_mut() {
        for time in ["createdAt", "updatedAt", "begunAt", "endedAt", "invalidatedAt"] {
            frame[time] = Value::Null;
        }
        // Planned before it was given a session.
        frame["formerIDs"] = frame["formerIDs"].as_array().map_or(0, Vec::len).into();
    }
    for name in ["updatedAt", "store", "revision"] {
        state[name] = Value::Null;
    }
    let mut text = state.to_string();
    for (id, handle) in handles {
        text = text.replace(&format!("\"{id}\""), &format!("\"{handle}\""));
    }
    let mut state: Value = serde_json::from_str(&text).unwrap();
    let mut frames: Vec<Value> = state["frames"].as_object().unwrap().values().cloned().collect();
    frames.sort_by_key(|frame| frame["handle"].to_string());
    state["frames"] = frames.into();
    state
}

/// Tries several troubles at a time; returns how many of them ended a process.
fn each(troubles: &[Trouble], expected: &FinalState) -> usize {
    let (next, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let workers = std::thread::available_parallelism().map_or(2, usize::from).min(4);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(trouble) = troubles.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (state, host) = worked(*trouble);
                    assert_same(&format!("{trouble:?}"), expected, &state);
                    ended.fetch_add(usize::from(host.starts > 1), Ordering::Relaxed);
                }
            });
        }
    });
    ended.into_inner()
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "the signal is kept by a library of Linux")]
fn at_every_write_nothing_acknowledged_is_lost_or_doubled() {
    let (expected, undisturbed) = worked(Trouble::None);
    let ends = undisturbed.transactions;
    assert!(ends.len() > 25, "{ends:?}");
    // Alternately the last write of a transaction, which completes it, and one in the middle.
    let begins = std::iter::once(&undisturbed.start).chain(&ends);
    let places = begins.zip(&ends).enumerate();
    let troubles: Vec<_> = places
        .map(|(n, (begin, end))| if n % 2 == 0 { end - 1 } else { begin.midpoint(*end) })
        .map(Trouble::Write)
        .collect();
    let ended = each(&troubles, &expected);
    // Background writes differ from run to run, so the last places may not be reached.
    assert!(ended * 4 >= troubles.len() * 3, "{ended} of {}", troubles.len());
}

#[test]
fn after_every_answer_that_is_lost_nothing_is_done_twice() {
    let (expected, undisturbed) = worked(Trouble::None);
    let troubles: Vec<_> = (1..=undisturbed.answers).map(Trouble::Answer).collect();
    assert!(troubles.len() > 25, "{}", troubles.len());
    let ended = each(&troubles, &expected);
    assert_eq!(ended, troubles.len());
}
