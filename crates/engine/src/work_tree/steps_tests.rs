use callstack_core::transcript::{CallState, MessageKind, Part, SpanNum, SpanOrigin};

use super::*;

/// A step of calls, each with its tool and when it began and ended; the push is called `push`.
fn beside(calls: &[(&str, &str, i64, i64)]) -> bool {
    let body = |call: &str, tool: &str| PartBody::Tool {
        call: call.to_owned(),
        tool: tool.to_owned(),
        state: CallState::Completed,
    };
    let parts = calls
        .iter()
        .map(|(call, tool, ..)| Part { id: (*call).to_owned(), body: body(call, tool) });
    let message = Message {
        id: "a1".to_owned(),
        role: Role::Assistant,
        standing: MessageKind::Normal,
        parts: parts.collect(),
    };
    let times = calls.iter().map(|(call, _, began, ended)| CallTimes {
        call: (*call).to_owned(),
        began: Some(*began),
        ended: Some(*ended),
    });
    let times: Vec<_> = times.collect();
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
    writes_beside(&message, &times, &span)
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
