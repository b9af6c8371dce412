//! The time at which work in a frame first began.

use callstack_core::decide::{Activate, Command, Plan, PlannedChild, decide};
use callstack_core::event::Event;
use callstack_core::frame::{Frame, FrameNum, Status};
use callstack_store::Store;

use crate::child::WIDE;
use crate::support::{Project, assert_sound, identity, nowhere, root};

fn at(store: &Store, now: i64, command: &Command) {
    let done = store.write(|change| {
        let decision = decide(&change.view(), command, &WIDE, now).unwrap();
        change.append(now, &decision.events)
    });
    done.unwrap();
}

fn frame(store: &Store, num: u64) -> Frame {
    store.read(|view| view.frame(FrameNum(num))).unwrap()
}

#[test]
fn work_in_a_planned_frame_begins_when_it_is_activated() {
    let project = Project::new();
    let store = project.open();
    at(&store, 1_000, &root("ses_a", None));
    let children =
        vec![PlannedChild { id: "plan-a".to_owned(), identity: identity("A"), children: vec![] }];
    let plan = Plan { parent: Some(FrameNum(1)), children };
    at(&store, 2_000, &Command::Plan(plan));
    assert_eq!((frame(&store, 2).begun_at, frame(&store, 2).worked(9_000)), (None, 0));

    let activate = Command::Activate(Activate {
        frame: FrameNum(2),
        session: "ses_a".to_owned(),
        anchor: nowhere(),
        id: "frm-a".to_owned(),
    });
    at(&store, 62_000, &activate);
    assert_eq!(frame(&store, 1).begun_at, Some(1_000));
    assert_eq!((frame(&store, 2).begun_at, frame(&store, 2).worked(65_000)), (Some(62_000), 3_000));
    assert_sound(&store);

    let undone = Event::FrameReopened { frame: FrameNum(2), status: Status::Planned };
    store.write(|change| change.append(70_000, &[undone])).unwrap();
    assert_eq!(frame(&store, 2).begun_at, None);
    assert_sound(&store);
}
