use callstack_core::frame::Status;
use callstack_core::trace::{FrameTrace, ModelCall, ParentTrace, Step, ToolStep, Usage};
use callstack_core::transcript::{CallState, ToolCall};
use proptest::prelude::*;

use super::*;

fn frame(num: u64, parent: Option<u64>) -> FrameTrace {
    let id = |num: u64| format!("frm-{num}");
    let around = |num: u64| ParentTrace { num: FrameNum(num), id: id(num), has_begun: true };
    FrameTrace {
        num: FrameNum(num),
        id: id(num),
        parent: parent.map(around),
        root: id(1),
        title: format!("Frame {num}"),
        is_derived: false,
        status: Status::Completed,
        begun_at: Some(0),
        ended_at: None,
        content: None,
    }
}

fn step(role: Role, from: i64, to: i64, frame: u64) -> Step {
    let call = ModelCall {
        usage: Usage { input: 10, cached: 4, ..Usage::default() },
        ..ModelCall::default()
    };
    Step {
        id: format!("m{from}"),
        role,
        from,
        to,
        frame: Some(FrameNum(frame)),
        tokens: 3,
        call: (role == Role::Assistant).then_some(call),
        tools: Vec::new(),
    }
}

fn tool(from: i64, to: i64, frame: u64) -> ToolStep {
    ToolStep {
        call: ToolCall::new(format!("c{from}"), "bash", CallState::Completed),
        frame: Some(FrameNum(frame)),
        from,
        to,
        tokens: 5,
        has_content: false,
    }
}

fn drawn(changes: &[Change]) -> String {
    let one = |change: &Change| {
        let sign = if change.opens { '(' } else { ')' };
        let entry = match change.entry {
            Entry::Frame(num) => num.to_string(),
            Entry::Leaf(leaf) => format!("{leaf:?}").to_lowercase(),
        };
        format!("{}{sign}{}", change.at, entry.split(' ').next().unwrap_or_default())
    };
    changes.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_push_opens_a_frame_within_its_parent_until_the_pop() {
    let mut working = step(Role::Assistant, 10, 30, 1);
    working.tools = vec![tool(15, 18, 1), tool(20, 30, 2)];
    let session = SessionTrace {
        frames: vec![frame(1, None), frame(2, Some(1))],
        steps: vec![
            step(Role::User, 5, 5, 1),
            working,
            step(Role::Assistant, 31, 40, 2),
            step(Role::User, 100, 100, 1),
            step(Role::Assistant, 100, 110, 1),
        ],
        ..SessionTrace::default()
    };
    assert_eq!(
        drawn(&changes(&session, &over_time(&session, 0))),
        "5(f1 10(model 15)model 15(tool 18)tool 18(model 20)model 20(f2 20(tool 30)tool \
         31(model 40)model 40)f2 40(waiting 100)waiting 100(model 110)model 110)f1"
    );
    assert_eq!(
        drawn(&changes(&session, &over_sent(&session))),
        "0(f1 0(cached 4)cached 4(new 10)new 10(f2 10(cached 14)cached 14(new 20)new 20)f2 \
         20(cached 24)cached 24(new 30)new 30)f1"
    );
    let written = over_written(&session);
    assert_eq!(written.last().map(|slice| slice.to), Some(5 * 3 + 2 * 5));
}

#[test]
fn a_frame_without_a_message_has_its_own_times_and_one_without_time_is_shown() {
    let lone = |num: u64, parent, begun: i64, ended: Option<i64>| FrameTrace {
        begun_at: Some(begun),
        ended_at: ended,
        ..frame(num, parent)
    };
    let open = FrameTrace { status: Status::InProgress, ..lone(1, None, 10, None) };
    let frames = vec![open, lone(2, Some(1), 20, Some(30)), lone(3, Some(1), 40, Some(40))];
    let session = SessionTrace { frames, ..SessionTrace::default() };
    assert_eq!(
        drawn(&changes(&session, &over_time(&session, 50))),
        "10(f1 20(f2 30)f2 40(f3 40)f3 50)f1"
    );
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let role = prop_oneof![Just(Role::User), Just(Role::Assistant)];
    let tools = prop::collection::vec((-5_i64..40, -5_i64..40, 0_u64..9), 0..4);
    let one = (role, -20_i64..200, -5_i64..50, 0_u64..9, tools);
    prop::collection::vec(one, 0..12).prop_map(|them| {
        let made =
            |(role, from, took, frame, tools): (_, i64, i64, u64, Vec<(i64, i64, u64)>)| Step {
                tools: tools
                    .into_iter()
                    .map(|(at, took, of)| tool(from + at, from + at + took, of))
                    .collect(),
                ..step(role, from, from + took, frame)
            };
        them.into_iter().map(made).collect()
    })
}

proptest! {
    /// Whatever the times and frames of a session are, each change closes the entry that was opened last, and time
    /// never decreases.
    #[test]
    fn changes_are_balanced_and_in_order(
        steps in steps(),
        parents in prop::collection::vec(0_u64..9, 8),
        times in prop::collection::vec((0_i64..300, 0_i64..300), 8),
    ) {
        let frames = parents.iter().zip(&times).enumerate().map(|(place, (parent, (begun, ended)))| {
            let num = place as u64 + 1;
            let parent = Some(*parent).filter(|parent| *parent > 0 && *parent < num);
            FrameTrace { begun_at: Some(*begun), ended_at: Some(*ended), ..frame(num, parent) }
        });
        let session = SessionTrace { frames: frames.collect(), steps, ..SessionTrace::default() };
        for slices in [over_time(&session, 250), over_sent(&session), over_written(&session)] {
            let ordered = slices.windows(2).all(|two| two[0].to <= two[1].from);
            prop_assert!(ordered && slices.iter().all(|it| it.from <= it.to), "{slices:?}");
            let (mut open, mut at) = (Vec::new(), 0);
            for change in changes(&session, &slices) {
                prop_assert!(change.at >= at, "{change:?}");
                at = change.at;
                if change.opens {
                    prop_assert!(!open.contains(&change.entry), "{change:?}");
                    open.push(change.entry);
                } else {
                    prop_assert_eq!(open.pop(), Some(change.entry));
                }
            }
            prop_assert!(open.is_empty());
            let shown: HashSet<_> = slices.iter().filter_map(|slice| slice.frame).collect();
            prop_assert!(slices.is_empty() || slices.iter().all(|it| it.frame.is_none()) || !shown.is_empty());
        }
        // Every frame that ever began is somewhere on the time line.
        let shown: HashSet<_> = over_time(&session, 250).iter().filter_map(|slice| slice.frame).collect();
        for frame in &session.frames {
            prop_assert!(shown.contains(&frame.num), "{} is nowhere", frame.num);
        }
    }
}
