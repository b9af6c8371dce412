//! Finished spans that are still sent as they were.

use callstack_core::compaction::{Compaction, CompactionType};
use callstack_core::event::Event;
use callstack_core::frame::FrameNum;
use callstack_core::limits::Limits;
use callstack_core::transcript::{Anchor, Fold, Held, Outcome, Span};
use callstack_store::Store;

use crate::support::{Project, append, assert_sound, carry_out, push, record, root};

const LIGHT: Held = Held::Light { span: 400, stands: 300 };

/// Adds a session with a span that ended after its second message.
fn ended(store: &Store) -> Span {
    carry_out(store, &root("ses_a", None), &Limits::default()).unwrap();
    carry_out(store, &push("ses_a", "frm-1", "small"), &Limits::default()).unwrap();
    record(store, "ses_a", &[("msg-1", "{}"), ("msg-2", "{}"), ("msg-3", "{}")]);
    let span = store.read(|view| view.frame_spans(FrameNum(2))).unwrap().remove(0);
    let close = Anchor { message: Some("msg-2".to_owned()), call: None };
    let outcome = Outcome::without_results(callstack_core::frame::Status::Completed);
    append(store, &[Event::SpanClosed { span: span.num, close, outcome }]);
    span
}

fn hold(store: &Store, span: &Span, held: Option<Held>) {
    let fold = Fold { held, ..Fold::new("what stands for it".to_owned(), 1) };
    append(store, &[Event::FoldSet { span: span.num, fold }]);
}

fn light(store: &Store, frame: Option<u64>) -> Vec<Option<Held>> {
    let spans = store.read(|view| view.light_spans(frame.map(FrameNum))).unwrap();
    spans.into_iter().map(|span| span.fold.unwrap().held).collect()
}

#[test]
fn why_a_span_is_held_is_kept_until_it_is_not() {
    let project = Project::new();
    let store = project.open();
    let span = ended(&store);
    let kept = || store.read(|view| view.span_row(span.num)).unwrap().fold.unwrap().held;
    for held in [Some(Held::Unweighed), Some(LIGHT), None, Some(LIGHT)] {
        hold(&store, &span, held);
        assert_eq!(kept(), held);
        let expected = if held == Some(LIGHT) { vec![held] } else { Vec::new() };
        assert_eq!(light(&store, None), expected);
        assert_eq!(light(&store, Some(2)), expected);
        assert_eq!(light(&store, Some(1)), []);
    }
    let undone = |undone| append(&store, &[Event::CloseUndone { span: span.num, undone }]);
    undone(true);
    assert_eq!(light(&store, None), []);
    undone(false);
    assert_eq!(light(&store, None), [Some(LIGHT)]);
    assert_sound(&store);
}

#[test]
fn what_a_summary_stands_for_is_not_sent_any_more() {
    let project = Project::new();
    let store = project.open();
    let span = ended(&store);
    hold(&store, &span, Some(LIGHT));
    let summarised = |message: &str| {
        let compaction = Compaction {
            session: "ses_a".to_owned(),
            kind: CompactionType::Overflow,
            frame: None,
            message: Some(message.to_owned()),
            summary: Some("all so far".to_owned()),
            failure: None,
            notice: None,
        };
        append(&store, &[Event::CompactionSettled { compaction: Box::new(compaction) }]);
    };
    summarised("msg-1");
    assert_eq!(light(&store, None), [Some(LIGHT)], "the summary stands in front of it");
    summarised("msg-3");
    assert_eq!(light(&store, None), []);
}
