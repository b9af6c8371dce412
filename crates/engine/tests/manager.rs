//! The manager as a program uses it that keeps frames by ids of its own.

use callstack_core::frame::{Identity, Status};
use callstack_core::limits::Limits;
use callstack_engine::manager::NewFrame;
use callstack_engine::{FrameMetadata, FrameStateManager, Kind, Settings};

use crate::support::Project;

fn identity(title: &str) -> Identity {
    let success_criteria = format!("{title} is done");
    Identity {
        title: title.to_owned(),
        success_criteria,
        success_criteria_compacted: "done".to_owned(),
    }
}

fn ids(frames: &[FrameMetadata]) -> Vec<&str> {
    frames.iter().map(|frame| frame.session_id.as_str()).collect()
}

/// `ses_root` with a completed, a failed and a planned child and one in progress.
fn filled(manager: &FrameStateManager<'_>) {
    manager.create_frame("ses_root", identity("Root"), None).unwrap();
    for (id, status) in [("ses_done", Status::Completed), ("ses_failed", Status::Failed)] {
        manager.create_frame(id, identity(id), Some("ses_root")).unwrap();
        manager.complete_frame(id, status, "all of it", "all").unwrap();
    }
    manager.create_planned_frame("plan-1", identity("Later"), Some("ses_root")).unwrap();
    manager.create_frame("ses_open", identity("Open"), Some("ses_root")).unwrap();
}

#[test]
fn frames_are_made_ended_and_found_around_one_another() {
    let project = Project::new();
    let manager = FrameStateManager::new(&project.engine, "ses_open", "test");
    filled(&manager);
    let open = manager.get_frame("ses_open").unwrap().unwrap();
    assert_eq!((open.title.as_str(), open.status), ("Open", Status::InProgress));
    assert_eq!(open.parent_session_id.as_deref(), Some("ses_root"));
    assert_eq!(manager.get_frame("ses_nobody").unwrap(), None);
    assert_eq!(manager.get_active_frame().unwrap().unwrap().session_id, "ses_open");
    assert_eq!(ids(&manager.get_ancestors("ses_open").unwrap()), ["ses_root"]);
    assert_eq!(ids(&manager.get_ancestors("ses_root").unwrap()), Vec::<&str>::new());
    assert_eq!(ids(&manager.get_completed_siblings("ses_open").unwrap()), ["ses_done"]);
    assert_eq!(
        ids(&manager.get_all_siblings("ses_open").unwrap()),
        ["ses_done", "ses_failed", "plan-1"]
    );
    assert_eq!(
        ids(&manager.get_children("ses_root").unwrap()),
        ["ses_done", "ses_failed", "ses_open"]
    );
    assert_eq!(manager.get_all_children("ses_root").unwrap().len(), 4);
    assert_eq!(ids(&manager.get_frames_by_status(Status::Planned).unwrap()), ["plan-1"]);
    let state = manager.get_all_frames().unwrap();
    assert_eq!(state, manager.load_state().unwrap());
    assert_eq!(state.frames.len(), 5);
    assert_eq!(state.root_frame_ids, ["ses_root"]);

    let parent = manager.complete_frame("ses_open", Status::Completed, "written", "w").unwrap();
    assert_eq!(parent.as_deref(), Some("ses_root"));
    let done = manager.get_frame("ses_open").unwrap().unwrap();
    assert_eq!(done.results.as_deref(), Some("written"));
    assert_eq!(done.results_compacted.as_deref(), Some("w"));
    assert_eq!(manager.get_active_frame().unwrap(), None);
    assert_eq!(manager.complete_frame("ses_root", Status::Completed, "x", "x").unwrap(), None);
}

#[test]
fn what_the_state_does_not_allow_is_refused() {
    let limits = Limits { children: 4, ..Limits::default() };
    let project = Project::with(Settings { limits, ..Settings::default() });
    let manager = FrameStateManager::new(&project.engine, "ses_open", "test");
    filled(&manager);
    let refused = |outcome: Result<FrameMetadata, callstack_engine::EngineError>| {
        outcome.map(|frame| frame.session_id).unwrap_err().kind
    };
    assert_eq!(
        refused(manager.create_frame("ses_x", identity("x"), Some("ses_root"))),
        Kind::Limit
    );
    assert_eq!(refused(manager.create_frame("ses_done", identity("x"), None)), Kind::Conflict);
    assert_eq!(
        refused(manager.create_frame("ses_x", identity("x"), Some("ses_done"))),
        Kind::Conflict
    );
    assert_eq!(
        refused(manager.create_frame("ses_x", identity("x"), Some("ses_none"))),
        Kind::NotFound
    );
    assert_eq!(refused(manager.create_frame("ses_x", identity(" "), None)), Kind::Invalid);
    assert_eq!(
        refused(manager.create_planned_frame("plan-1", identity("x"), None)),
        Kind::Conflict
    );
    assert_eq!(refused(manager.replace_frame_id("plan-1", "ses_done")), Kind::Conflict);
    assert_eq!(refused(manager.replace_frame_id("plan-1", "")), Kind::Invalid);
    assert_eq!(refused(manager.set_active_frame("plan-1")), Kind::Conflict);
    assert_eq!(refused(manager.activate_frame("ses_done")), Kind::Conflict);
    let to = |status| manager.update_frame_status("ses_done", status, None, None);
    assert_eq!(refused(to(Status::Planned)), Kind::Conflict);
    assert_eq!(refused(to(Status::Failed)), Kind::Conflict);
    let twice = vec![
        NewFrame { id: Some("plan-2".to_owned()), identity: identity("a"), children: Vec::new() },
        NewFrame { id: Some("plan-2".to_owned()), identity: identity("b"), children: Vec::new() },
    ];
    let error = manager.create_planned_children("ses_open", twice).unwrap_err();
    assert_eq!(error.kind, Kind::Conflict);
    let open = manager.complete_frame("ses_root", Status::Completed, "x", "x").unwrap_err();
    assert!(open.message.contains("open children"), "{open}");
    assert_eq!(manager.get_all_frames().unwrap().frames.len(), 5);
}

#[test]
fn a_planned_frame_begins_under_its_own_id_and_may_get_another() {
    let project = Project::new();
    let manager = FrameStateManager::new(&project.engine, "ses_root", "test");
    manager.create_frame("ses_root", identity("Root"), None).unwrap();
    let inner = NewFrame { id: None, identity: identity("Inner"), children: Vec::new() };
    let outer =
        NewFrame { id: Some("plan-a".to_owned()), identity: identity("A"), children: vec![inner] };
    let planned = manager.create_planned_children("ses_root", vec![outer]).unwrap();
    assert_eq!(planned.len(), 2);
    assert!(planned[1].session_id.starts_with("plan-"));
    let begun = manager.activate_frame("plan-a").unwrap();
    assert_eq!((begun.session_id.as_str(), begun.status), ("plan-a", Status::InProgress));
    assert_eq!(begun.worked_in.as_deref(), Some("ses_root"));
    let named = manager.replace_frame_id("plan-a", "ses_a").unwrap();
    assert_eq!(
        (named.session_id.as_str(), &named.former_ids[..]),
        ("ses_a", &["plan-a".to_owned()][..])
    );
    assert_eq!(manager.get_frame("plan-a").unwrap().unwrap(), named);
    assert_eq!(
        manager.get_all_children("ses_a").unwrap()[0].parent_session_id.as_deref(),
        Some("ses_a")
    );
    let back = manager.replace_frame_id("ses_a", "plan-a").unwrap();
    assert_eq!(back.former_ids, ["ses_a"]);
    let health = project.engine.check().unwrap();
    assert!(health.drifted.is_empty(), "{health:?}");
}

#[test]
fn every_legal_change_of_status_is_one_call() {
    let project = Project::new();
    let manager = FrameStateManager::new(&project.engine, "ses_root", "test");
    manager.create_frame("ses_root", identity("Root"), None).unwrap();
    manager.create_planned_frame("plan-a", identity("A"), Some("ses_root")).unwrap();
    let to = |status, results| manager.update_frame_status("plan-a", status, results, results);
    for (status, results) in [
        (Status::InProgress, None),
        (Status::InProgress, None),
        (Status::Blocked, Some("waits")),
        (Status::InProgress, None),
        (Status::Completed, Some("done")),
        (Status::InProgress, None),
        (Status::Failed, None),
        (Status::InProgress, None),
        (Status::Invalidated, Some("no longer")),
    ] {
        let frame = to(status, results).unwrap();
        assert_eq!(frame.status, status);
        if let Some(results) = results.filter(|_| status != Status::Invalidated) {
            assert_eq!(frame.results.as_deref(), Some(results));
        }
    }
    let frame = manager.get_frame("plan-a").unwrap().unwrap();
    assert_eq!(frame.invalidation_reason.as_deref(), Some("no longer"));
    assert_eq!(frame.results.as_deref(), Some("done"));
}

#[test]
fn an_invalidation_takes_what_is_planned_and_names_what_is_in_progress() {
    let project = Project::new();
    let manager = FrameStateManager::new(&project.engine, "ses_root", "test");
    filled(&manager);
    let changed = manager.invalidate_frame("ses_root", "another way").unwrap();
    assert_eq!(ids(&changed.invalidated), ["ses_root", "plan-1"]);
    assert_eq!(ids(&changed.in_progress), ["ses_open"]);
    assert_eq!(manager.get_frame("ses_done").unwrap().unwrap().status, Status::Completed);
    assert_eq!(manager.get_frame("ses_open").unwrap().unwrap().status, Status::InProgress);
}

#[test]
fn a_session_has_a_frame_once_it_is_made_sure_of() {
    let project = Project::new();
    let manager = FrameStateManager::new(&project.engine, "ses_a", "test");
    let made = manager.ensure_frame("ses_a", Some("Build the parser")).unwrap();
    assert_eq!((made.session_id.as_str(), made.title.as_str()), ("ses_a", "Build the parser"));
    assert_eq!(manager.ensure_frame("ses_a", Some("Another")).unwrap(), made);
    assert_eq!(manager.ensure_frame("ses_b", None).unwrap().title, "Session");
    assert_eq!(manager.get_all_frames().unwrap().active_frame_id.as_deref(), Some("ses_b"));
    assert_eq!(manager.set_active_frame("ses_a").unwrap(), made);
    assert_eq!(manager.get_all_frames().unwrap().active_frame_id.as_deref(), Some("ses_a"));
}
