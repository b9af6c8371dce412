//! The evidence of the work in frames.

use callstack_core::event::Event;
use callstack_core::evidence::Evidence;
use callstack_core::frame::FrameNum;
use callstack_core::limits::Limits;
use callstack_core::transcript::SpanNum;
use callstack_store::{MessageRange, Purge, Store, StoreError};

use crate::golden::witnessed;
use crate::support::{Project, append, assert_sound, carry_out, pop, push, record, root};

fn taken(frame: u64, span: Option<u64>, evidence: Evidence) -> Event {
    let span = span.map(SpanNum);
    Event::EvidenceTaken { frame: FrameNum(frame), span, evidence: Box::new(evidence) }
}

fn of(store: &Store, frame: u64) -> Evidence {
    store.read(|view| view.evidence(FrameNum(frame))).unwrap()
}

/// A frame below the root with one closed span.
fn popped(store: &Store) -> u64 {
    let done = |command| carry_out(store, &command, &Limits::default()).unwrap();
    done(root("ses_a", None));
    done(push("ses_a", "frm-1", "inner"));
    done(pop("ses_a", "done"));
    store.read(|view| view.frame_spans(FrameNum(2))).unwrap()[0].num.0
}

#[test]
fn a_span_has_what_was_taken_last_and_a_frame_what_its_spans_have() {
    let project = Project::new();
    let store = project.open();
    let span = popped(&store);
    append(&store, &[taken(2, Some(span), witnessed("make", 2))]);
    append(&store, &[taken(2, Some(span), witnessed("make", 0))]);
    assert_eq!(of(&store, 2), witnessed("make", 0));
    assert_eq!(store.read(|view| view.span_evidence(SpanNum(span))).unwrap(), of(&store, 2));
    append(&store, &[taken(2, None, witnessed("cargo test", 0))]);
    assert_eq!(of(&store, 2), witnessed("make", 0).then(witnessed("cargo test", 0)));
    let briefs = store.read(|view| view.evidence_briefs([FrameNum(1), FrameNum(2)])).unwrap();
    assert_eq!(Vec::from_iter(briefs), [(FrameNum(2), "`cargo test`: exit 0".to_owned())]);
    assert_eq!(store.read(|view| view.all_evidence()).unwrap().len(), 1);
    assert_sound(&store);
}

#[test]
fn what_was_undone_was_not_seen_until_it_is_redone() {
    let project = Project::new();
    let store = project.open();
    let span = popped(&store);
    append(&store, &[taken(2, Some(span), witnessed("make", 0))]);
    let undo = |undone| Event::CloseUndone { span: SpanNum(span), undone };
    append(&store, &[undo(true)]);
    assert!(of(&store, 2).is_empty());
    append(&store, &[undo(false)]);
    assert_eq!(of(&store, 2), witnessed("make", 0));
    let detach = |detached| Event::SpanDetached { span: SpanNum(span), detached };
    append(&store, &[detach(true)]);
    assert!(of(&store, 2).is_empty());
    append(&store, &[detach(false)]);
    assert!(!of(&store, 2).is_empty());
    assert_sound(&store);
}

#[test]
fn it_is_found_and_goes_with_the_messages_that_it_was_taken_from() {
    let project = Project::new();
    let store = project.open();
    record(&store, "ses_a", &[("m1", "{}"), ("m2", "{}")]);
    let span = popped(&store);
    append(&store, &[taken(2, Some(span), witnessed("make zqxvkj", 2))]);
    append(&store, &[taken(2, Some(span), witnessed("make zqxvkj", 0))]);
    // Of another session, whose messages stay.
    carry_out(&store, &root("ses_b", None), &Limits::default()).unwrap();
    carry_out(&store, &pop("ses_b", "done"), &Limits::default()).unwrap();
    let other = store.read(|view| view.frame_spans(FrameNum(3))).unwrap()[0].num.0;
    append(&store, &[taken(3, Some(other), witnessed("make yplumbus", 0))]);
    let index = || while store.write(|change| change.index(1 << 20, &str::to_owned)).unwrap() {};
    index();
    let found = |word: &str| {
        let known = callstack_core::search::Query::words(word).unwrap().known();
        store.read(|view| view.frames_known_by(&view.narrowed(&known)?, 10)).unwrap()
    };
    assert_eq!((found("zqxvkj"), found("yplumbus")), (vec![FrameNum(2)], vec![FrameNum(3)]));
    assert!(!project.holding("zqxvkj").is_empty(), "it can be found while it is there");
    let range = MessageRange { session: "ses_a".to_owned(), first: 0, last: 2 };
    let purge = Purge { frames: vec![FrameNum(2)], ranges: vec![range], ..Purge::default() };
    store.purge(5_000, |_| Ok(purge), &|_, _| Ok::<_, StoreError>(String::new())).unwrap();
    store.erase().unwrap();
    assert!(of(&store, 2).is_empty());
    assert_eq!(project.holding("zqxvkj"), Vec::<String>::new());
    assert_eq!((found("zqxvkj"), found("yplumbus")), (vec![], vec![FrameNum(3)]));
    index();
    store.rebuild().unwrap();
    index();
    assert_eq!(project.holding("zqxvkj"), Vec::<String>::new());
    assert_eq!(of(&store, 3), witnessed("make yplumbus", 0));
    assert_eq!((found("zqxvkj"), found("inner")), (vec![], vec![FrameNum(2)]));
    assert_sound(&store);
}
