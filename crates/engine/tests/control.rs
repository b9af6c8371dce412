//! Changes of the tree by people and agents besides working in it: changing plans, moving between frames, presets,
//! limits, invalidation.

use callstack_core::limits::Limits;
use callstack_engine::{FrameStateManager, Kind, Settings};
use serde_json::{Value, json};

use crate::support::{Project, caller};

fn planned() -> Project {
    let project = Project::new();
    project.user("ses_a", "Build the shop");
    let child =
        |title: &str| json!({"title": title, "successCriteria": format!("{title} is done")});
    let mut first = child("one");
    first["children"] = json!([child("one.a"), child("one.b")]);
    project.did(
        "ses_a",
        "stack_frame_plan",
        json!({"children": [first, child("two"), child("three")]}),
    );
    project
}

/// The tree, a title a line, indented.
fn tree(project: &Project) -> String {
    let lines = project.engine.tree(Some("ses_a")).unwrap();
    let described = lines.iter().skip(1).map(|line| {
        let mark = if line.active { "*" } else { "" };
        format!("{}{mark}", line.frame.identity.title)
    });
    described.collect::<Vec<_>>().join(" ")
}

fn refused(project: &Project, name: &str, arguments: Value) -> (Kind, String) {
    let error = project.call("ses_a", name, arguments).unwrap_err();
    assert!(error.hint.as_ref().is_some_and(|hint| !hint.to_string().is_empty()), "{error:?}");
    (error.kind, error.sentence())
}

#[test]
fn a_plan_is_changed_put_in_another_order_and_cut() {
    let project = planned();
    assert_eq!(tree(&project), "one one.a one.b two three");
    project.did(
        "ses_a",
        "stack_frame_replan",
        json!({"frame": "f5", "title": "deux", "before": "f2"}),
    );
    project.did(
        "ses_a",
        "stack_frame_replan",
        json!({"frame": "f4", "successCriteria": "b", "before": "f3"}),
    );
    assert_eq!(tree(&project), "deux one one.b one.a three");
    let changed = project.engine.resolve("f4").unwrap().identity;
    assert_eq!((changed.title.as_str(), changed.success_criteria.as_str()), ("one.b", "b"));
    assert_eq!(changed.success_criteria_compacted, "b");
    let gone = project.did("ses_a", "stack_frame_unplan", json!({"frame": "f2"}));
    assert_eq!(gone.data["removed"], json!(["f2", "f3", "f4"]));
    assert_eq!(tree(&project), "deux three");
    project.engine.rebuild().unwrap();
    assert_eq!(tree(&project), "deux three");
    let health = project.engine.check().unwrap();
    assert!(health.drifted.is_empty() && health.damage.is_empty(), "{health:?}");
    project.did("ses_a", "stack_frame_activate", json!({"frame": "f5"}));
    let popped = project.did("ses_a", "stack_frame_pop", json!({"results": "done"}));
    assert!(popped.text.contains("start f6"), "{}", popped.text);
}

#[test]
fn only_plans_can_be_changed() {
    let project = planned();
    project.did("ses_a", "stack_frame_activate", json!({"frame": "f5"}));
    for (name, arguments, expected) in [
        ("stack_frame_replan", json!({"frame": "f5", "title": "x"}), "no plan any more"),
        ("stack_frame_unplan", json!({"frame": "f1"}), "no plan any more"),
        ("stack_frame_replan", json!({"frame": "f6", "before": "f3"}), "does not stand beside"),
        ("stack_frame_replan", json!({"frame": "f6", "before": "f6"}), "does not stand beside"),
    ] {
        let (kind, sentence) = refused(&project, name, arguments);
        assert_eq!(kind, Kind::Conflict, "{sentence}");
        assert!(sentence.contains(expected), "{sentence}");
    }
    for arguments in [json!({"frame": "f6"}), json!({"frame": "f6", "title": " "})] {
        assert_eq!(refused(&project, "stack_frame_replan", arguments).0, Kind::Invalid);
    }
    assert_eq!(refused(&project, "stack_frame_unplan", json!({"frame": "f99"})).0, Kind::NotFound);
}

#[test]
fn an_invalidation_takes_what_is_planned_along_and_leaves_what_is_done() {
    let project = planned();
    project.did("ses_a", "stack_frame_activate", json!({"frame": "f2"}));
    project.did("ses_a", "stack_frame_activate", json!({"frame": "f3"}));
    project.did("ses_a", "stack_frame_pop", json!({"results": "done"}));
    project.did("ses_a", "stack_frame_invalidate", json!({"frame": "f2", "reason": "no shop"}));
    let statuses = ["f2", "f3", "f4", "f5"].map(|frame| project.status(frame));
    assert_eq!(statuses, ["invalidated", "completed", "invalidated", "planned"]);
    let below = project.engine.resolve("f4").unwrap();
    assert!(below.invalidation_reason.unwrap().contains("no shop"));
}

#[test]
fn what_is_worked_in_below_is_ended_before_a_frame_is_invalidated() {
    let project = planned();
    project.did("ses_a", "stack_frame_activate", json!({"frame": "f2"}));
    project.did("ses_a", "stack_frame_push", json!({"title": "runs", "successCriteria": "x"}));
    project.did("ses_a", "stack_frame_push", json!({"title": "deeper", "successCriteria": "x"}));
    let arguments = json!({"frame": "f2", "reason": "no shop"});
    let (kind, sentence) = refused(&project, "stack_frame_invalidate", arguments.clone());
    assert_eq!(kind, Kind::Conflict);
    for part in ["f7 \"runs\", f8 \"deeper\"", "Pop or invalidate f8 first, then f2."] {
        assert!(sentence.contains(part), "{sentence}");
    }
    assert_eq!(project.status("f2"), "in_progress");
    for frame in ["f8", "f7", "f2"] {
        let arguments = json!({"frame": frame, "reason": "no shop"});
        project.did("ses_a", "stack_frame_invalidate", arguments);
    }
    assert_eq!(project.engine.active("ses_a").unwrap().unwrap().to_string(), "f1");
}

#[test]
fn a_pop_below_an_invalidated_frame_names_the_frame_that_is_really_open() {
    let project = planned();
    project.did("ses_a", "stack_frame_activate", json!({"frame": "f2"}));
    project.did("ses_a", "stack_frame_push", json!({"title": "runs", "successCriteria": "x"}));
    // Programs that know frames by ids of their own only warn of running ones.
    let id = project.engine.resolve("f2").unwrap().id;
    FrameStateManager::new(&project.engine, "ses_a", "test")
        .invalidate_frame(&id, "no shop")
        .unwrap();
    let answer = project.did("ses_a", "stack_frame_pop", json!({"results": "done"})).text;
    assert!(answer.contains("[callstack] f1 is open now"), "{answer}");
    assert!(!answer.contains("f2 is open now") && !answer.contains("f2 \""), "{answer}");
    assert_eq!(project.engine.active("ses_a").unwrap().unwrap().to_string(), "f1");
}

#[test]
fn the_depth_of_the_tree_is_limited() {
    let limits = Limits { depth: 3, ..Limits::default() };
    let project = Project::with(Settings { limits, ..Settings::default() });
    project.user("ses_a", "Dig");
    let deeper = json!({"title": "deeper", "successCriteria": "x"});
    project.did("ses_a", "stack_frame_push", deeper.clone());
    project.did("ses_a", "stack_frame_push", deeper.clone());
    for name in ["stack_frame_push", "stack_frame_plan"] {
        let mut arguments = deeper.clone();
        if name == "stack_frame_plan" {
            arguments = json!({"children": [arguments]});
        }
        let (kind, sentence) = refused(&project, name, arguments);
        assert_eq!(kind, Kind::Limit);
        assert!(
            sentence.contains("the depth of the tree would be 4, and the limit is 3"),
            "{sentence}"
        );
    }
}

#[test]
fn an_agent_goes_up_by_setting_aside_and_down_by_beginning() {
    let project = planned();
    let go = |to: &str| project.did("ses_a", "stack_navigate", json!({"to": to}));
    assert_eq!(go("f2").data["status"], "in_progress");
    go("f3");
    assert_eq!(tree(&project), "one one.a* one.b two three");
    assert!(go("f3").text.contains("the open one already"));
    let (_, sentence) = refused(&project, "stack_navigate", json!({"to": "next"}));
    assert!(sentence.contains("Go to f2 first, then to f4"), "{sentence}");
    go("f1");
    assert_eq!(tree(&project), "one one.a one.b two three", "the root is the open one");
    assert_eq!(["f2", "f3"].map(|frame| project.status(frame)), ["blocked", "blocked"]);
    assert!(project.engine.resolve("f3").unwrap().results.unwrap().contains("went on in f1"));
    go("f2");
    let again = go("f3");
    assert!(again.text.contains("Results so far"), "{}", again.text);
    project.did("ses_a", "stack_navigate", json!({"to": "parent", "results": "Half of it."}));
    assert_eq!(project.engine.resolve("f3").unwrap().results.as_deref(), Some("Half of it."));
    assert!(tree(&project).starts_with("one*"));
}

/// A failed later step of a move undoes the earlier ones.
#[test]
fn a_way_over_several_frames_is_gone_wholly_or_not_at_all() {
    let project = planned();
    for frame in ["f2", "f3"] {
        project.did("ses_a", "stack_frame_activate", json!({"frame": frame}));
    }
    let other = FrameStateManager::new(&project.engine, "ses_b", "test");
    let identity = project.engine.resolve("f4").unwrap().identity;
    other.create_frame("ses_b", identity, Some("f2")).unwrap();
    let before = project.engine.state().unwrap();
    for call in [Project::call, Project::by_hand] {
        for to in ["f1", "f5"] {
            let error = call(&project, "ses_a", "stack_navigate", json!({"to": to})).unwrap_err();
            assert_eq!(error.kind, Kind::Conflict, "{error}");
        }
    }
    assert_eq!(project.engine.state().unwrap().frames, before.frames);
    assert_eq!(
        project.engine.active("ses_a").unwrap(),
        project.engine.resolve("f3").ok().map(|it| it.num)
    );
}

#[test]
fn people_go_to_siblings_at_once() {
    let project = planned();
    let go = |to: &str| project.by_hand("ses_a", "stack_navigate", json!({"to": to}));
    go("f5").unwrap();
    go("next").unwrap();
    assert_eq!(tree(&project), "one one.a one.b two three*");
    go("previous").unwrap();
    assert_eq!(tree(&project), "one one.a one.b two* three");
    go("previous").unwrap();
    assert_eq!(tree(&project), "one* one.a one.b two three");
    let statuses = ["f2", "f5", "f6"].map(|frame| project.status(frame));
    assert_eq!(statuses, ["in_progress", "blocked", "blocked"]);
    for (to, expected) in
        [("previous", "no planned or blocked frame stands previous"), ("f99", "f99")]
    {
        let error = go(to).unwrap_err();
        assert!(error.message.contains(expected), "{error}");
    }
}

#[test]
fn what_is_elsewhere_or_over_is_not_gone_to() {
    let project = planned();
    project.user("ses_b", "Another thing");
    project.did("ses_a", "stack_frame_activate", json!({"frame": "f5"}));
    project.did("ses_a", "stack_frame_pop", json!({"results": "done"}));
    for (to, expected) in [
        ("f7", "is worked in by session ses_b"),
        ("f5", "is completed"),
        ("f3", "Go to f2 first"),
        ("parent", "is a root"),
    ] {
        let (kind, sentence) = refused(&project, "stack_navigate", json!({"to": to}));
        assert_eq!(kind, Kind::Conflict);
        assert!(sentence.contains(expected), "{sentence}");
    }
}

#[test]
fn presets_are_planned_with_values_in_their_places() {
    let project = Project::new();
    project.user("ses_a", "Mend it");
    let list = project.did("ses_a", "stack_preset", json!({}));
    for name in ["bugfix(bug)", "feature(feature)", "refactor(code, goal)", "review(change)"] {
        assert!(list.text.contains(name), "{}", list.text);
    }
    let values = json!({"name": "feature", "values": {"feature": "search {it}"}});
    project.did("ses_a", "stack_preset", values);
    assert_eq!(
        tree(&project),
        "Design search {it} Build search {it} Write the tests Write the code Document search {it}"
    );
    for (arguments, expected) in [
        (json!({"name": "bugfix"}), "no value is given for bug. The preset `bugfix` takes bug=…"),
        (json!({"name": "bugfix", "values": {"bug": " "}}), "no value is given for bug"),
        (json!({"name": "bugfix", "values": {"bug": "x", "bugs": "y"}}), "no placeholder `bugs`"),
        (json!({"name": "dance"}), "there is no preset `dance`"),
        (json!({"name": "../../secret"}), "there is no preset `../../secret`"),
    ] {
        let (_, sentence) = refused(&project, "stack_preset", arguments);
        assert!(sentence.contains(expected), "{sentence}");
    }
}

#[test]
fn a_project_has_presets_of_its_own_and_faults_in_them_are_found() {
    let project = Project::new();
    project.user("ses_a", "Mend it");
    let folder = project.engine.project().join(callstack_engine::presets::PRESETS);
    std::fs::create_dir_all(&folder).unwrap();
    let write = |text: &str| std::fs::write(folder.join("bugfix.toml"), text).unwrap();
    write("[[frames]]\ntitle = \"Mend {what}\"\n");
    project.did("ses_a", "stack_preset", json!({"name": "bugfix", "values": {"what": "the hut"}}));
    assert_eq!(tree(&project), "Mend the hut");
    let origin = ".opencode/stack/presets/bugfix.toml, a file of the project, in place of the built-in preset";
    let listed = project.did("ses_a", "stack_preset", json!({})).text;
    assert!(listed.contains(&format!("- bugfix(what) (from {origin}): \n")), "{listed}");
    // In a later message: beside the plan, the call is taken to contain the frame's purpose.
    let mut later = caller("ses_a");
    later.anchor.message = Some("msg-later".to_owned());
    let activate = callstack_engine::operations::find("stack_frame_activate").unwrap();
    let begun = activate.run(&project.engine, &later, json!({"frame": "f2"})).unwrap().text;
    let said = format!("\nContext: Title and criteria are from {origin}.\n");
    assert!(begun.contains(&said), "{begun}");
    for (text, expected) in [
        ("[[frames]]\ntitle = \"x\"\ncolour = \"red\"\n", "line 3: unknown field `colour`"),
        ("[[frames]]\n\ntitel\n", "line 3"),
        ("description = \"x\"\nframes = []\n", "there are no frames"),
        ("description = \"x\"\n", "missing field `frames`"),
        (
            "[[frames]]\ntitle = \"a\"\ncriteria = \"{not this}\"\n",
            "line 3: `{not this}` is no placeholder",
        ),
    ] {
        write(text);
        let (kind, sentence) = refused(&project, "stack_preset", json!({"name": "bugfix"}));
        assert_eq!(kind, Kind::Invalid);
        assert!(
            sentence.contains("bugfix.toml, line") && sentence.contains(expected),
            "{sentence}"
        );
        assert!(sentence.contains("`[[frames]]`, each with `title`"), "{sentence}");
    }
    // A link may lead anywhere: to a device without an end, or to a pipe that blocks its reader.
    std::fs::remove_file(folder.join("bugfix.toml")).unwrap();
    std::os::unix::fs::symlink("/dev/null", folder.join("bugfix.toml")).unwrap();
    let (_, sentence) = refused(&project, "stack_preset", json!({"name": "bugfix"}));
    assert!(sentence.contains("bugfix.toml: it is a link, not a file"), "{sentence}");
}

#[test]
fn a_preset_that_can_not_be_read_keeps_no_other_one_from_being_listed() {
    let project = Project::new();
    project.user("ses_a", "Mend it");
    let folder = project.engine.project().join(callstack_engine::presets::PRESETS);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("broken.toml"), "frames = 3\n").unwrap();
    std::fs::write(folder.join("ours.toml"), "[[frames]]\ntitle = \"Mend\"\n").unwrap();
    let text = project.did("ses_a", "stack_preset", json!({})).text;
    assert!(text.contains("- \"broken\" is not usable: "), "{text}");
    for name in ["bugfix", "feature", "refactor", "review", "ours"] {
        assert!(text.contains(&format!("- {name}(")), "{name}: {text}");
    }
}
