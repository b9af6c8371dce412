//! Frames from elsewhere, and frames for elsewhere.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use callstack_core::frame::Status;
use callstack_core::limits::Limits;
use callstack_engine::{FrameMetadata, ImportSummary, Kind, Settings, StackState};
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::Project;

/// A folder with these files in it.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn take(project: &Project, state: &Value) -> ImportSummary {
    let file = folder(&[("tree.json", &state.to_string())]);
    project.engine.import(&[file.path().join("tree.json")]).unwrap()
}

fn state(project: &Project) -> StackState {
    project.engine.state().unwrap()
}

fn worked() -> Project {
    let project = Project::new();
    project.user("ses_a", "Build the parser for our configuration files");
    project.did("ses_a", "stack_pin", json!({"text": "no generator"}));
    project.did("ses_a", "stack_frame_push", json!({"title": "Read", "successCriteria": "read"}));
    project.did("ses_a", "stack_add_decision", json!({"decision": "by hand"}));
    project.did("ses_a", "stack_add_artifact", json!({"artifact": "src/a.rs"}));
    project.did("ses_a", "stack_frame_pop", json!({"results": "23 rules, see f1"}));
    project.did(
        "ses_a",
        "stack_frame_plan",
        json!({"children": [
        {"title": "Document", "successCriteria": "each has a page", "children": [
            {"title": "Draw", "successCriteria": "a picture"}]},
        {"title": "Drop", "successCriteria": "x"}, {"title": "Write", "successCriteria": "y"}]}),
    );
    project.did("ses_a", "stack_frame_invalidate", json!({"frame": "f5", "reason": "no longer"}));
    project.did("ses_a", "stack_frame_activate", json!({"frame": "f6"}));
    project.did("ses_a", "stack_pin", json!({"text": "two\nlines"}));
    project.user("ses_b", "Something else");
    project
}

/// A plan that was put in another order stays in it, below a frame and among roots.
#[test]
fn the_order_of_a_plan_survives_an_export() {
    let project = worked();
    let child = |title: &str| json!({"title": title, "successCriteria": title});
    let children: Vec<Value> = ["One", "Two", "Three", "Four"].map(child).into();
    project.did("ses_a", "stack_frame_plan", json!({ "children": children }));
    let handles = |project: &Project, frame: &str| {
        let frame = project.engine.resolve(frame).unwrap();
        let planned = project.engine.metadata(&frame).unwrap().planned_children;
        let handle = |id: &String| project.engine.resolve(id).unwrap().num.to_string();
        planned.iter().map(handle).collect::<Vec<_>>().join(" ")
    };
    let parent = project.engine.resolve("f8").unwrap().parent.unwrap().to_string();
    for (frame, before) in [("f11", "f8"), ("f10", "f9")] {
        project.did("ses_a", "stack_frame_replan", json!({"frame": frame, "before": before}));
    }
    let order = handles(&project, &parent);
    assert!(order.ends_with("f11 f8 f10 f9"), "{order}");
    let exported = project.engine.export(None).unwrap();
    let document = exported.to_markdown();
    let places = ["f11", "f8", "f10", "f9"].map(|it| document.find(&format!("# {it} ")).unwrap());
    assert!(places.is_sorted(), "{document}");
    let second = Project::new();
    take(&second, &json!(exported));
    assert_eq!(handles(&second, &parent), order);
    assert_eq!(second.engine.export(None).unwrap(), exported);
}

#[test]
fn what_is_exported_is_the_same_tree_in_an_empty_store() {
    let from = worked();
    let into = Project::new();
    let outcome = take(&into, &json!(from.engine.export(None).unwrap()));
    assert_eq!(outcome.counts.imported, 7);
    assert_eq!(outcome.skipped, []);
    assert_eq!(state(&into), state(&from));
    assert_eq!(into.engine.resolve("f6").unwrap().id, from.engine.resolve("f6").unwrap().id);
    let former = &state(&from).frames[&from.engine.resolve("f6").unwrap().id].former_ids[0];
    assert_eq!(into.engine.resolve(former).unwrap().num.0, 6);
    let health = into.engine.check().unwrap();
    assert!(health.damage.is_empty() && health.drifted.is_empty(), "{health:?}");
    // It goes on where it was.
    into.did("ses_a", "stack_frame_pop", json!({"results": "written"}));
    into.did("ses_a", "stack_frame_push", json!({"title": "More", "successCriteria": "x"}));
    assert_eq!(into.status("f6"), "completed");
    assert_eq!(into.engine.resolve("f8").unwrap().parent.unwrap().0, 1);
}

#[test]
fn importing_twice_changes_nothing() {
    let from = worked();
    let exported = json!(from.engine.export(None).unwrap());
    let into = Project::new();
    into.user("ses_own", "Work of its own");
    let outcome = take(&into, &exported);
    assert_eq!((outcome.counts.imported, outcome.counts.known), (7, 0));
    let once = state(&into);
    let revision = into.engine.check().unwrap().events;
    let outcome = take(&into, &exported);
    assert_eq!((outcome.counts.imported, outcome.counts.known), (0, 7));
    assert_eq!(state(&into), once);
    assert_eq!(into.engine.check().unwrap().events, revision);
    // The session that worked here last stays the one that worked last.
    assert_eq!(once.active_frame_id.as_deref(), Some("ses_own"));
    assert_eq!(into.engine.latest_session().unwrap().unwrap().0, "ses_own");
}

#[test]
fn a_subtree_is_a_tree_of_its_own() {
    let from = worked();
    let plan = from.engine.resolve("f3").unwrap();
    let exported = from.engine.export(Some(plan.num)).unwrap();
    assert_eq!(exported.root_frame_ids, std::slice::from_ref(&plan.id));
    let into = Project::new();
    let outcome = take(&into, &json!(exported));
    assert_eq!((outcome.counts.imported, outcome.counts.orphans), (2, 0));
    let tree = into.engine.tree(None).unwrap();
    let titles: Vec<_> = tree.iter().map(|line| line.frame.identity.title.as_str()).collect();
    assert_eq!(titles, ["Document", "Draw"]);
}

#[test]
fn a_document_says_what_came_out_of_each_frame() {
    let text = worked().engine.export(None).unwrap().to_markdown();
    for part in [
        "# f1 Build the parser for our configuration files\n\n*in_progress*\n",
        "## f2 Read\n\n*completed*\n\n**Success criteria**\n\n> read\n",
        "**Results, by the agent**\n\n> 23 rules, see f1\n",
        "**Decisions**\n\n- by hand\n",
        "**Artifacts**\n\n- src/a.rs\n",
        "**Pins**\n\n- no generator\n",
        "- two\n  lines\n",
        "### f4 Draw\n",
        "**Why it was invalidated**\n\n> no longer\n",
        "\n# f7 Something else\n",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    let hostile = json!({"frames": {"a": {"status": "planned", "title": "a\n# f9 \u{1b}[2J",
        "successCriteria": "x\n# f8"}}, "rootFrameIDs": ["a"]});
    let project = Project::new();
    take(&project, &hostile);
    let text = project.engine.export(None).unwrap().to_markdown();
    assert_eq!(text.lines().filter(|line| line.starts_with('#')).count(), 1, "{text}");
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn both_generations_are_taken_over() {
    let flame = json!({"version": 1, "updatedAt": 5, "activeFrameID": "ses_2",
        "rootFrameIDs": ["ses_1"], "frames": {
        "ses_1": {"sessionID": "ses_1", "status": "in_progress", "goal": "Build a parser that reads all",
            "createdAt": 1, "updatedAt": 1, "artifacts": ["a.rs"], "decisions": ["by hand"]},
        "ses_2": {"sessionID": "ses_2", "parentSessionID": "ses_1", "status": "in_progress",
            "goal": "Read the grammar", "createdAt": 2, "updatedAt": 3, "artifacts": [], "decisions": []},
        "ses_3": {"sessionID": "ses_3", "parentSessionID": "ses_1", "status": "completed", "goal": "Look",
            "compactionSummary": "It has 23 rules.", "createdAt": 3.0, "updatedAt": 4, "artifacts": [],
            "decisions": [], "plannedChildren": ["plan-9"]},
        "plan-9": {"sessionID": "plan-9", "parentSessionID": "ses_3", "status": "invalidated",
            "goal": "Later", "invalidationReason": "no", "invalidatedAt": 4, "createdAt": 4,
            "updatedAt": 4, "artifacts": [], "decisions": []}}});
    let source = folder(&[
        (".opencode/flame/state.json", &flame.to_string()),
        (".opencode/flame/frames/ses_1.json", &flame["frames"]["ses_1"].to_string()),
        (
            ".opencode/stack/frames/plan-7.json",
            r#"{"sessionID":"plan-7","status":"planned","title":"Alone",
            "successCriteria":"done","successCriteriaCompacted":"d","createdAt":9,"updatedAt":9}"#,
        ),
    ]);
    let project = Project::new();
    let outcome = project.engine.import(&[source.path().to_path_buf()]).unwrap();
    assert_eq!((outcome.counts.imported, outcome.skipped.len(), outcome.counts.orphans), (5, 0, 0));
    assert_eq!(outcome.sources[0].format, "flame");
    let all = state(&project).frames;
    let of = |id: &str| all[id].clone();
    assert_eq!(of("ses_1").title, "Build a parser that reads all");
    assert_eq!(of("ses_1").success_criteria, "Build a parser that reads all");
    assert_eq!(
        (of("ses_1").artifacts, of("ses_1").decisions),
        (vec!["a.rs".into()], vec!["by hand".into()])
    );
    assert_eq!(of("ses_3").results.as_deref(), Some("It has 23 rules."));
    assert_eq!(of("ses_3").results_compacted.as_deref(), Some("It has 23 rules."));
    assert_eq!(of("plan-9").invalidation_reason.as_deref(), Some("no"));
    assert_eq!(of("plan-9").parent_session_id.as_deref(), Some("ses_3"));
    assert_eq!(of("plan-7").success_criteria_compacted, "d");
    assert_eq!(
        project.engine.active("ses_2").unwrap().unwrap(),
        project.engine.resolve("ses_2").unwrap().num
    );
    project.did("ses_2", "stack_frame_pop", json!({"results": "read"}));
    assert_eq!(project.status("ses_2"), "completed");
}

#[test]
fn what_does_not_fit_is_put_where_it_does_no_harm_and_counted() {
    let frame = |parent: Option<&str>, status: &str| json!({"title": "t", "status": status, "parentSessionID": parent, "createdAt": 1});
    let mut frames = json!({
        "root": frame(None, "in_progress"),
        "orphan": frame(Some("nowhere"), "planned"),
        "loop1": frame(Some("loop2"), "planned"),
        "loop2": frame(Some("loop3"), "planned"),
        "loop3": frame(Some("loop1"), "planned"),
        "below loop": frame(Some("loop1"), "planned"),
        "self": frame(Some("self"), "planned"),
        "new status": frame(Some("root"), "archived"),
        "below new": frame(Some("new status"), "planned"),
        "no title": {"status": "planned"},
        "no status": {"title": "t"},
        "wrong": {"title": 3, "status": "planned"},
        "no object": 7,
        "": frame(None, "planned"),
    });
    for depth in 0..10 {
        let parent = if depth == 0 { "root".to_owned() } else { format!("d{}", depth - 1) };
        frames[format!("d{depth}")] = frame(Some(&parent), "in_progress");
    }
    let limits = Limits { depth: 6, live_frames: 8, ..Limits::default() };
    let project = Project::with(Settings { limits, ..Settings::default() });
    let outcome = take(&project, &json!({"frames": frames}));
    let skipped: BTreeMap<_, _> =
        outcome.skipped.iter().map(|it| (it.what.as_str(), it.why.as_str())).collect();
    assert_eq!(skipped.len(), 6, "{skipped:?}");
    assert!(skipped["new status"].contains("`archived` is no status"), "{skipped:?}");
    assert!(skipped["wrong"].contains("expected a string"), "{skipped:?}");
    let counts = outcome.counts;
    assert_eq!((counts.imported, counts.orphans, counts.cycles), (18, 1, 2));
    assert_eq!((counts.raised, counts.blocked), (5, 3));
    let state = state(&project);
    let parent = |id: &str| state.frames[id].parent_session_id.as_deref();
    assert_eq!(parent("orphan"), None);
    assert_eq!(parent("self"), None);
    assert_eq!(parent("below new"), Some("root"));
    assert_eq!(parent("below loop"), Some("loop1"));
    assert_eq!(["loop1", "loop2", "loop3"].iter().filter(|id| parent(id).is_none()).count(), 1);
    assert_eq!(parent("d9"), Some("d3"));
    assert_eq!(state.frames.values().filter(|it| it.status == Status::Blocked).count(), 3);
    let health = project.engine.check().unwrap();
    assert!(health.damage.is_empty() && health.drifted.is_empty(), "{health:?}");
}

#[test]
fn a_very_deep_and_a_very_wide_tree_are_no_trouble() {
    let mut frames = serde_json::Map::new();
    for n in 0..20_000_u32 {
        let parent = if n % 2 == 0 { n.saturating_sub(2) } else { 1 };
        let parent = (n > 1).then(|| format!("n{parent}"));
        let frame = json!({"title": "t", "status": "completed", "parentSessionID": parent});
        frames.insert(format!("n{n}"), frame);
    }
    let project = Project::new();
    let outcome = take(&project, &json!({"frames": frames}));
    assert_eq!(outcome.counts.imported, 20_000);
    assert_eq!(project.engine.tree(None).unwrap().len(), 20_000);
}

#[test]
fn what_is_no_tree_is_an_error_that_changes_nothing() {
    let good = r#"{"frames":{"a":{"title":"t","status":"planned"}}}"#;
    for (files, path, kind, words) in [
        (&[][..], "", Kind::Invalid, "no frames are in"),
        (&[], "nowhere", Kind::NotFound, "can't be read"),
        (&[("a.json", "{\"frames\":{\"a\":{\"ti")], "a.json", Kind::Invalid, "not whole JSON"),
        (&[("a.json", "")], "a.json", Kind::Invalid, "not whole JSON"),
        (&[("a.json", "[1,2]")], "a.json", Kind::Invalid, "no frames are in"),
        (
            &[("a.json", "{\"name\":\"npm\",\"frames\":60}")],
            "a.json",
            Kind::Invalid,
            "no frames are in",
        ),
        (
            &[("package.json", "{\"name\":\"x\",\"version\":\"1\"}")],
            "package.json",
            Kind::Invalid,
            "no frames",
        ),
        (&[("state.json", "{\"ui\":true}")], "", Kind::Invalid, "no frames are in"),
        (&[("state.json", "{\"fra")], "", Kind::Invalid, "not whole JSON"),
    ] {
        let folder = folder(files);
        let project = Project::new();
        let fine = self::folder(&[("good.json", good)]);
        let paths: Vec<PathBuf> = vec![fine.path().join("good.json"), folder.path().join(path)];
        let error = project.engine.import(&paths).unwrap_err();
        assert_eq!(error.kind, kind, "{path}: {error}");
        assert!(error.message.contains(words), "{path}: {error}");
        assert!(state(&project).frames.is_empty(), "{path}");
    }
}

#[test]
fn a_state_that_was_cut_short_is_made_up_for_by_the_frames_files() {
    let source = folder(&[
        ("state.json", "{\"version\":1,\"frames\":{\"ses_1\":{\"se"),
        (
            "frames/ses_1.json",
            r#"{"sessionID":"ses_1","status":"completed","title":"One","updatedAt":1}"#,
        ),
        ("frames/ses_2.json", "{\"sessionID\":\"ses_2\",\"sta"),
        ("frames/notes.json", "{\"a\":1}"),
    ]);
    let project = Project::new();
    let outcome = project.engine.import(&[source.path().to_path_buf()]).unwrap();
    assert_eq!(outcome.counts.imported, 1);
    assert_eq!(outcome.skipped.len(), 3, "{:?}", outcome.skipped);
    let error = Project::new().engine.import(&[]).unwrap_err();
    assert_eq!(error.kind, Kind::NotFound);
}

/// A frame as a tree of any shape may hold it: number, parent's number, status, texts.
fn any_frame() -> impl Strategy<Value = (usize, usize, String, Vec<String>, bool)> {
    (
        0..400_usize,
        0..6_usize,
        any::<String>(),
        prop::collection::vec(any::<String>(), 0..3),
        any::<bool>(),
    )
}

/// The state that such frames make; each stands below one before it, or is a root.
fn tree(frames: Vec<(usize, usize, String, Vec<String>, bool)>) -> StackState {
    let mut state = StackState::default();
    for (n, (place, status, text, texts, named)) in frames.into_iter().enumerate() {
        let id = if named { format!("ses_{n}") } else { format!("{text}{n}") };
        let parent = state.frames.keys().nth(place % (n + 4)).cloned();
        let results = texts.first().cloned();
        let frame = json!({"sessionID": id, "parentSessionID": parent, "status": Status::ALL[status],
            "title": format!("t{text}"), "successCriteria": text, "successCriteriaCompacted": text,
            "results": results, "resultsCompacted": results, "decisions": texts, "artifacts": [],
            "createdAt": n, "updatedAt": n + 1, "formerIDs": texts.iter().map(|it| format!("{it}-{n}"))
                .collect::<std::collections::BTreeSet<_>>(),
            "pins": {format!("p{}", n + 1): text}});
        let frame: FrameMetadata = serde_json::from_value(frame).unwrap();
        state.frames.insert(id, frame);
    }
    state
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn export_and_import_are_each_others_opposite(
        frames in prop::collection::vec(any_frame(), 0..24)
    ) {
        let given = tree(frames);
        let first = Project::new();
        let outcome = take(&first, &json!(given));
        prop_assert_eq!(outcome.counts.imported, given.frames.len() as u64);
        prop_assert_eq!(outcome.skipped.len(), 0);
        let exported = first.engine.export(None).unwrap();
        for (id, frame) in &given.frames {
            let found = &exported.frames[id];
            prop_assert_eq!(&found.results, &frame.results);
            prop_assert_eq!(&found.parent_session_id, &frame.parent_session_id);
            prop_assert_eq!(&found.pins, &frame.pins);
            prop_assert_eq!(found.status, frame.status);
        }
        let second = Project::new();
        take(&second, &json!(exported));
        prop_assert_eq!(second.engine.export(None).unwrap(), exported);
    }
}
