//! Sessions to export.

use callstack_core::frame::{FrameNum, Status};
use callstack_core::trace::{
    FrameContent, FrameTrace, ModelCall, ParentTrace, SessionTrace, Step, ToolStep, Usage,
    WeighedCall,
};
use callstack_core::transcript::{CallState, Role, ToolCall};
use callstack_exports::{About, Export, Format};
use serde_json::json;

/// The time at which the sessions begin.
pub(crate) const BEGAN: i64 = 1_764_163_200_000;

/// A title that every format has to take for words.
pub(crate) const HOSTILE: &str = "=1+1 \"]; <b>\u{1b}[2J\u{202e} | # `x` --> f1";

pub(crate) fn about() -> About {
    About { name: "parser".to_owned(), version: "0.0.0".to_owned(), at: BEGAN + 60_000 }
}

fn id(num: u64) -> String {
    format!("frm-{num}")
}

pub(crate) fn frame(num: u64, parent: Option<u64>, title: &str, status: Status) -> FrameTrace {
    let around = |num: u64| ParentTrace { num: FrameNum(num), id: id(num), has_begun: true };
    FrameTrace {
        num: FrameNum(num),
        id: id(num),
        parent: parent.map(around),
        root: id(1),
        title: title.to_owned(),
        is_derived: false,
        status,
        begun_at: (status != Status::Planned).then_some(BEGAN),
        ended_at: status.is_finished().then_some(BEGAN + 30_000),
        content: None,
    }
}

fn user(at: i64, frame: u64) -> Step {
    Step {
        id: format!("msg_{at}"),
        role: Role::User,
        from: BEGAN + at,
        to: BEGAN + at,
        frame: Some(FrameNum(frame)),
        tokens: 12,
        call: None,
        tools: Vec::new(),
    }
}

fn step(from: i64, to: i64, frame: u64, input: u64, tools: Vec<ToolStep>) -> Step {
    let usage =
        Usage { input, cached: input / 2, cache_written: input / 4, output: 120, reasoning: 20 };
    let weighed = WeighedCall {
        with: input,
        billed_with_hundredths: input * 70,
        without: input * 2,
        billed_without_hundredths: input * 150,
    };
    let call = ModelCall {
        model: Some("claude-x".to_owned()),
        provider: Some("anthropic".to_owned()),
        agent: Some("build".to_owned()),
        finish: Some("tool-calls".to_owned()),
        usage,
        weighed: Some(weighed),
        ..ModelCall::default()
    };
    let (from, to) = (BEGAN + from, BEGAN + to);
    Step { from, to, role: Role::Assistant, call: Some(call), tools, ..user(from, frame) }
}

fn tool(name: &str, from: i64, to: i64, frame: u64) -> ToolStep {
    ToolStep {
        call: ToolCall::new(format!("call_{from}"), name, CallState::Completed),
        frame: Some(FrameNum(frame)),
        from: BEGAN + from,
        to: BEGAN + to,
        tokens: 300,
        has_content: false,
    }
}

/// A session with a frame in it, a child session of that frame, and a frame that is only planned.
pub(crate) fn sessions() -> Vec<SessionTrace> {
    let push = tool("stack_frame_push", 4_000, 4_100, 1);
    let read = tool("read", 4_100, 5_000, 2);
    let mut failed = tool("bash", 9_000, 12_000, 2);
    failed.call.state = CallState::Failed;
    let broken = ModelCall { error: Some("APIError".to_owned()), ..ModelCall::default() };
    let parent = SessionTrace {
        id: "ses_1".to_owned(),
        host: "opencode".to_owned(),
        frames: vec![
            FrameTrace {
                is_derived: true,
                ..frame(1, None, "Mend the parser", Status::InProgress)
            },
            frame(2, Some(1), HOSTILE, Status::Failed),
            frame(4, Some(1), "Document the errors", Status::Planned),
        ],
        guests: Vec::new(),
        steps: vec![
            user(0, 1),
            step(100, 5_000, 1, 20_000, vec![push, read]),
            step(5_100, 12_000, 2, 24_000, vec![failed]),
            user(40_000, 1),
            Step { call: Some(broken), ..step(40_100, 41_000, 1, 0, vec![]) },
        ],
    };
    let child = SessionTrace {
        id: "ses_2".to_owned(),
        host: "opencode".to_owned(),
        frames: vec![frame(3, Some(2), "Explore", Status::Completed)],
        guests: Vec::new(),
        steps: vec![user(9_100, 3), step(9_200, 11_000, 3, 8_000, vec![])],
    };
    vec![parent, child]
}

/// The same with what was said.
pub(crate) fn with_content() -> Vec<SessionTrace> {
    let mut sessions = sessions();
    for session in &mut sessions {
        for frame in &mut session.frames {
            let criteria = format!("{} is done", frame.num);
            frame.content = Some(FrameContent { criteria, results: Some("Done.".to_owned()) });
        }
        for step in &mut session.steps {
            for tool in &mut step.tools {
                tool.has_content = true;
                tool.call.input = json!({"path": "src/a.rs"});
                tool.call.output = Some("fn a()".to_owned());
            }
            if let Some(call) = &mut step.call {
                call.words = Some("I look.".to_owned());
            }
        }
    }
    sessions
}

/// A document of some sessions.
pub(crate) fn export(format: Format, sessions: &[SessionTrace]) -> String {
    let (about, mut text) = (about(), Vec::new());
    let mut export = Export::begin(format, &about, &mut text).unwrap();
    for session in sessions {
        export.session(session).unwrap();
    }
    let counts = export.end().unwrap();
    assert_eq!(counts.sessions, sessions.len());
    String::from_utf8(text).unwrap()
}
