//! Copies that callstack made of messages are purged with them wherever they are, and nothing else is.

use callstack_core::compaction::{Compaction, CompactionType, Notice};
use callstack_core::decide::{Command, Consolidate, OpenRoot, Pop, Push};
use callstack_core::event::{Event, GivenAnswer, MaskedOutput};
use callstack_core::frame::{Frame, FrameNum, Identity, Status};
use callstack_core::limits::Limits;
use callstack_core::rendered_slot::RenderedSlot;
use callstack_core::results::ResultsSource;
use callstack_core::transcript::{Fold, Outcome, Span, SpanNum, SpanOrigin};
use callstack_store::{MessageRange, Purge, Store, StoreError, View};
use serde_json::Value;

use crate::support::{
    Project, append, assert_sound, carry_out, identity, nowhere, push, record, root,
};

const SAID_AGAIN: &str = "said anew";

fn done(store: &Store, command: &Command) -> FrameNum {
    carry_out(store, command, &Limits::default()).unwrap()
}

fn ended(results: &str, source: ResultsSource) -> Outcome {
    Outcome::with(Status::Completed, results.to_owned(), None, source)
}

/// Returns an outcome that was extracted from messages.
fn extracted(results: &str) -> Outcome {
    ended(results, ResultsSource::Extracted)
}

fn pop(store: &Store, session: &str, results: &str, source: ResultsSource) -> FrameNum {
    done(
        store,
        &Command::Pop(Pop {
            session: session.to_owned(),
            frame: None,
            anchor: nowhere(),
            outcome: ended(results, source),
        }),
    )
}

fn span_of(store: &Store, frame: FrameNum) -> Span {
    store.read(|view| view.frame_spans(frame)).unwrap().pop().unwrap()
}

/// Purges frames with all messages of a session.
fn purge(store: &Store, session: &str, frames: Vec<FrameNum>) {
    let ranges = vec![MessageRange { session: session.to_owned(), first: 0, last: 99 }];
    let purge = Purge { by: "somebody".to_owned(), frames, ranges, ..Purge::default() };
    let returned = |_: &View<'_>, _: &Span| Ok::<_, StoreError>(SAID_AGAIN.to_owned());
    store.purge(5_000, |_| Ok(purge), &returned).unwrap();
    store.erase().unwrap();
    assert_sound(store);
}

fn purge_session(store: &Store, session: &str) {
    purge(store, session, store.read(|view| view.frames_in(session)).unwrap());
}

/// Returns the events after one, with their numbers.
fn events(store: &Store, after: i64) -> Vec<(i64, String)> {
    let raw = rusqlite::Connection::open(store.path()).unwrap();
    let mut events =
        raw.prepare("SELECT seq, body FROM events WHERE seq > ?1 ORDER BY seq").unwrap();
    let rows = events.query_map([after], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(|row| row.unwrap()).collect()
}

fn events_about(session: &str, title: &str, span: &Span) -> Vec<Event> {
    let note = format!(
        "[callstack] the summary above is stored as a checkpoint of frame f1 \"{title}\". The frame \
         is still open: go on with it."
    );
    let summary =
        "## Progress toward the goal of the frame\nAll of the dates are read as they are.";
    let message = Some(format!("{session}-m1"));
    vec![
        Event::FoldSet {
            span: span.num,
            fold: Fold::new(format!("[callstack] frame returned\n{EXTRACTED}"), 1),
        },
        Event::CompactionSettled {
            compaction: Box::new(Compaction {
                session: session.to_owned(),
                kind: CompactionType::ManualSummary,
                frame: None,
                message: message.clone(),
                summary: Some(summary.to_owned()),
                failure: None,
                notice: Some(Notice {
                    whole: note.clone(),
                    brief: note.clone(),
                    call: None,
                    awaited: true,
                }),
            }),
        },
        Event::Rendered {
            session: session.to_owned(),
            slot: "note:append:later|compaction".into(),
            text: note,
            renderer: 1,
        },
        Event::Rendered {
            session: session.to_owned(),
            slot: "note:append:last|compaction".into(),
            text: summary.to_owned(),
            renderer: 1,
        },
        Event::OutputsMasked {
            session: session.to_owned(),
            masks: vec![MaskedOutput {
                message: "later".to_owned(),
                part: "later.0".to_owned(),
                text: format!("[callstack] Gone:\n- {title}"),
            }],
            settled_at: "later".to_owned(),
            settled_serial: 1,
        },
        Event::CallAnswered {
            session: session.to_owned(),
            call: nowhere(),
            answer: Box::new(GivenAnswer {
                title: title.to_owned(),
                text: format!("opened \"{title}\""),
                data: Value::from(title),
                closed: None,
            }),
        },
    ]
}

const EXTRACTED: &str = "Nothing was said in it.\nran make (exit 0)";

/// Adds a session whose frames are named by the user's words, with its agent's prompts.
fn worked(store: &Store, session: &str, title: &str) {
    done(
        store,
        &Command::OpenRoot(OpenRoot {
            session: session.to_owned(),
            host: "test".to_owned(),
            parent_session: None,
            caller: None,
            identity: identity(title),
            derived: true,
            spare_id: format!("frm-spare-{session}"),
            anchor: nowhere(),
        }),
    );
    record(store, session, &[(&format!("{session}-m1"), "{}")]);
    done(store, &push(session, &format!("frm-{session}"), "inner"));
    let frame = pop(store, session, EXTRACTED, ResultsSource::Extracted);
    let span = span_of(store, frame);
    append(store, &events_about(session, title, &span));
}

#[test]
fn another_session_with_the_same_words_keeps_every_byte() {
    let project = Project::new();
    let store = project.open();
    let title = "cargo test --workspace";
    worked(&store, "ses_a", title);
    let of_a = events(&store, 0).len();
    worked(&store, "ses_b", title);
    let (before, last) = (events(&store, 0), events(&store, 0).last().unwrap().0);
    purge_session(&store, "ses_a");
    let after: Vec<_> = events(&store, 0).into_iter().filter(|(seq, _)| *seq <= last).collect();
    assert_eq!(after[of_a..], before[of_a..]);
    for (_, event) in &after[..of_a] {
        for gone in [title, "ran make", "dates are read", "the summary above"] {
            assert!(!event.contains(gone), "{event}");
        }
    }
    let last = "note:append:last|compaction".into();
    let note = |session: &str| store.read(|view| view.render(session, &last)).unwrap();
    assert_eq!(note("ses_a").as_deref(), Some("[purged]"));
    assert!(note("ses_b").unwrap().contains("dates"));
}

#[test]
fn a_note_goes_with_its_message_and_not_with_one_whose_id_begins_like_it() {
    let project = Project::new();
    let store = project.open();
    done(&store, &root("ses_a", None));
    record(&store, "ses_a", &[("msg_1", "{}"), ("msg_12", "{}")]);
    let notes = [
        "note:append:msg_1|leaving",
        "note:output:msg_12|call_9|s4|msg_1",
        "note:append:msg_12|leaving",
        "note:output:msg_12|call_msg_1|s5|msg_12",
    ]
    .map(RenderedSlot::from);
    let rendered = notes.clone().map(|slot| Event::Rendered {
        session: "ses_a".to_owned(),
        slot,
        text: "A note of ours.".to_owned(),
        renderer: 1,
    });
    append(&store, &rendered);
    let ranges = vec![MessageRange { session: "ses_a".to_owned(), first: 0, last: 1 }];
    let purge = Purge { by: "somebody".to_owned(), ranges, ..Purge::default() };
    let returned = |_: &View<'_>, _: &Span| Ok::<_, StoreError>(SAID_AGAIN.to_owned());
    store.purge(5_000, |_| Ok(purge), &returned).unwrap();
    assert_sound(&store);
    let texts = notes.map(|slot| store.read(|view| view.render("ses_a", &slot)).unwrap().unwrap());
    assert_eq!(texts, ["[purged]", "[purged]", "A note of ours.", "A note of ours."]);
}

#[test]
fn a_span_whose_fold_was_given_up_gets_none() {
    let project = Project::new();
    let store = project.open();
    done(&store, &root("ses_a", None));
    record(&store, "ses_a", &[("m1", "{}")]);
    done(&store, &push("ses_a", "frm-1", "inner"));
    let frame = pop(&store, "ses_a", "zqxvkj", ResultsSource::Extracted);
    let span = span_of(&store, frame).num;
    append(
        &store,
        &[
            Event::FoldSet { span, fold: Fold::new("zqxvkj".to_owned(), 1) },
            Event::CloseUndone { span, undone: true },
            Event::SpanClosed { span, close: nowhere(), outcome: extracted("zqxvkj") },
        ],
    );
    purge_session(&store, "ses_a");
    assert_eq!(span_of(&store, frame).fold, None);
    assert_eq!(project.holding("zqxvkj"), Vec::<String>::new());
}

#[test]
fn a_fork_has_its_ends_and_folds_with_its_beginnings() {
    let project = Project::new();
    let store = project.open();
    let parent = done(&store, &root("ses_fork", None));
    record(&store, "ses_fork", &[("m1", "{}")]);
    let begun = span_of(&store, parent);
    let (num, span) = (FrameNum(parent.0 + 1), SpanNum(begun.num.0 + 1));
    let outcome = extracted("zqxvkj was done in the session that was forked");
    let planned =
        Frame::planned(num, "frm-1".to_owned(), Some(parent), 1, identity("inner"), 1_000);
    let frame = Frame {
        session: Some("ses_fork".to_owned()),
        status: Status::InProgress,
        results: outcome.results.clone(),
        results_compacted: outcome.results_compacted.clone(),
        results_source: outcome.source,
        ..planned
    };
    let opened = Span {
        num: span,
        frame: num,
        origin: SpanOrigin::Push,
        close: Some(nowhere()),
        outcome: Some(outcome.clone()),
        foldable: true,
        fold: Some(Fold::new("f9 returned: zqxvkj".to_owned(), 1)),
        ..begun
    };
    append(
        &store,
        &[
            Event::FrameCreated { frame: Box::new(frame) },
            Event::FrameEnded { frame: num, outcome, reason: None },
            Event::SpanOpened { span: Box::new(opened) },
        ],
    );
    purge_session(&store, "ses_fork");
    assert_eq!(project.holding("zqxvkj"), Vec::<String>::new());
    assert_eq!(span_of(&store, num).fold.map(|fold| fold.text).as_deref(), Some(SAID_AGAIN));
    store.rebuild().unwrap();
    assert_eq!(span_of(&store, num).fold.map(|fold| fold.text).as_deref(), Some(SAID_AGAIN));
}

#[test]
fn what_is_tried_again_forgets_what_it_was_given_of_the_first_try() {
    let project = Project::new();
    let store = project.open();
    done(&store, &root("ses_a", None));
    record(&store, "ses_a", &[("m1", "{}")]);
    let named = Identity { title: "zqxvkj it".to_owned(), ..identity("zqxvkj") };
    let tried = done(&store, &push("ses_a", "frm-1", "inner"));
    append(&store, &[Event::IdentitySet { frame: tried, identity: named.clone(), derived: true }]);
    pop(&store, "ses_a", "zqxvkj came of it", ResultsSource::Extracted);
    let again = Command::Push(Push {
        session: "ses_a".to_owned(),
        anchor: nowhere(),
        identity: named,
        id: "frm-2".to_owned(),
    });
    let fresh = done(&store, &again);
    let third = done(&store, &push("ses_a", "frm-3", "third"));
    let retry_text = |of: FrameNum, rest: &str| {
        format!("This was tried before in {of} \"zqxvkj it\", which is completed{rest}")
    };
    let nested = format!("\nDecided in it: yes; {}", retry_text(tried, ": zqxvkj came of it"));
    let own = "This was tried before, and it is wrong.".to_owned();
    append(
        &store,
        &[
            Event::DecisionRecorded {
                frame: fresh,
                text: retry_text(tried, ": zqxvkj came of it"),
            },
            Event::DecisionRecorded { frame: fresh, text: own.clone() },
            Event::DecisionRecorded {
                frame: third,
                text: format!("This was tried before in f99 \"x\", which is failed: no{nested}"),
            },
        ],
    );
    purge(&store, "ses_a", vec![tried]);
    let frame = |num| store.read(|view| view.frame(num)).unwrap();
    let removed = format!("This was tried before in {tried}: [purged]");
    assert_eq!(frame(fresh).identity.title, "[purged]");
    assert_eq!(frame(fresh).decisions, [removed.clone(), own]);
    assert_eq!(frame(third).identity.title, "third");
    assert_eq!(
        frame(third).decisions.concat(),
        format!(
            "This was tried before in f99 \"x\", which is failed: no\nDecided in it: yes; {removed}"
        )
    );
    assert_eq!(project.holding("zqxvkj"), Vec::<String>::new());
}

#[test]
fn what_stands_for_frames_that_stand_for_others_is_followed() {
    let project = Project::new();
    let store = project.open();
    let parent = done(&store, &root("ses_a", None));
    record(&store, "ses_a", &[("m1", "{}")]);
    let child = |id: &str, results: &str, source| {
        done(&store, &push("ses_a", id, "inner"));
        pop(&store, "ses_a", results, source)
    };
    let sum = |children: Vec<FrameNum>, id: &str, results: &str| {
        done(
            &store,
            &Command::Consolidate(Consolidate {
                parent,
                children,
                id: id.to_owned(),
                identity: identity("Earlier work"),
                results: results.to_owned(),
                results_compacted: results.to_owned(),
                artifacts: Vec::new(),
            }),
        )
    };
    let first = child("frm-1", "zqxvkj", ResultsSource::Extracted);
    let second = child("frm-2", "two", ResultsSource::Agent);
    let third = child("frm-3", "three", ResultsSource::Agent);
    let inner = sum(vec![first, second], "sum-1", "- zqxvkj\n- two");
    let outer = sum(vec![inner, third], "sum-2", "- zqxvkj, two\n- three");
    purge(&store, "ses_a", vec![first]);
    let results = |num| store.read(|view| view.frame(num)).unwrap().results.unwrap();
    assert_eq!((results(second).as_str(), results(third).as_str()), ("two", "three"));
    assert_eq!((results(inner).as_str(), results(outer).as_str()), ("[purged]", "[purged]"));
    assert_eq!(project.holding("zqxvkj"), Vec::<String>::new());
}
