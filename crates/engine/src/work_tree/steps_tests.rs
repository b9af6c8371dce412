use callstack_core::transcript::{
    CallState, MessageKind, Part, PartBody, SpanNum, SpanOrigin, ToolCall,
};

use super::*;

/// A step of calls, each with its tool and when it began and ended; the push is called `push`.
fn beside(calls: &[(&str, &str, i64, i64)]) -> bool {
    let part = |(call, tool, began, ended): &(&str, &str, i64, i64)| {
        let made = ToolCall::new(*call, *tool, CallState::Completed);
        let (began, ended) = (Some(*began), Some(*ended));
        let body = PartBody::from(ToolCall { began, ended, ..made });
        Part { id: (*call).to_owned(), body }
    };
    let message = Message {
        id: "a1".to_owned(),
        role: Role::Assistant,
        standing: MessageKind::Normal,
        parts: calls.iter().map(part).collect(),
    };
    let span = Span {
        num: SpanNum(1),
        frame: FrameNum(2),
        session: "ses_a".to_owned(),
        open: Anchor { message: Some("a1".to_owned()), call: Some("push".to_owned()) },
        origin: SpanOrigin::Push,
        close: None,
        outcome: None,
        close_undone: false,
        detached: false,
        foldable: true,
        fold: None,
    };
    writes_beside(&message, &span)
}

#[test]
fn only_calls_that_may_write_and_went_on_beside_the_push_count() {
    let push = ("push", "stack_frame_push", 10, 20);
    assert!(!beside(&[push]));
    assert!(!beside(&[push, ("r", "read", 10, 30), ("g", "grep", 11, 15)]));
    assert!(beside(&[push, ("w", "write", 15, 30)]));
    assert!(beside(&[("b", "bash", 5, 15), push]));
    assert!(!beside(&[("b", "bash", 5, 9), push]));
    assert!(!beside(&[push, ("w", "write", 21, 30)]));
    assert!(beside(&[push, ("m", "some_mcp_tool", 12, 30)]));
    assert!(!beside(&[push, ("t", "todowrite", 12, 30)]));
}
