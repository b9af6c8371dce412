//! Too many finished children of a frame become one.

use std::collections::BTreeSet;

use callstack_core::frame::Status;
use callstack_engine::{Kind, Settings};
use proptest::prelude::*;
use serde_json::json;

use crate::support::Project;

fn child(project: &Project, title: &str) {
    project.did("ses_a", "stack_frame_push", json!({"title": title, "successCriteria": title}));
    project.did("ses_a", "stack_add_artifact", json!({"artifact": format!("{title}.rs")}));
    project.did("ses_a", "stack_frame_pop", json!({"results": format!("{title} is there")}));
}

fn with(children: usize, above: u64) -> Project {
    let project = Project::with(Settings { consolidate_above: above, ..Settings::default() });
    project.user("ses_a", "Build the shop");
    for n in 1..=children {
        child(&project, &format!("part {n}"));
    }
    project
}

fn tree(project: &Project) -> String {
    let lines = project.engine.tree(Some("ses_a")).unwrap();
    let described = lines.iter().map(|line| {
        let depth = line.branches.chars().count() / 3;
        format!("{}{} {}", "  ".repeat(depth), line.frame.num, line.frame.identity.title)
    });
    described.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_older_children_stand_below_one_that_says_what_they_returned() {
    let project = with(5, 0);
    let answer = project.did("ses_a", "stack_frame_consolidate", json!({"keep": 2}));
    assert_eq!(answer.data["consolidated"], json!(["f2", "f3", "f4"]));
    insta::assert_snapshot!(tree(&project), @r"
    f1 Build the shop
      f7 Earlier work: 3 frames
        f2 part 1
        f3 part 2
        f4 part 3
      f5 part 4
      f6 part 5
    ");
    let one = project.engine.resolve("f7").unwrap();
    assert_eq!(one.status, Status::Completed);
    insta::assert_snapshot!(one.results.unwrap(), @r#"
    - f2 "part 1" [completed]: part 1 is there
    - f3 "part 2" [completed]: part 2 is there
    - f4 "part 3" [completed]: part 3 is there
    "#);
    let paths: Vec<_> = one.artifacts.into_iter().map(|artifact| artifact.path).collect();
    assert_eq!(paths, ["part 1.rs", "part 2.rs", "part 3.rs"]);
    // Their whole state is there.
    let third = project.engine.resolve("f4").unwrap();
    assert_eq!(third.results.as_deref(), Some("part 3 is there"));
    assert_eq!(
        project.engine.frame(third.parent.unwrap()).unwrap().identity.title,
        "Build the shop"
    );
    let state = project.engine.state().unwrap();
    assert_eq!(state.frames[&third.id].consolidated_into.as_ref(), Some(&one.id));
    // The next frame sees the one and the newest, each once.
    project.did("ses_a", "stack_frame_push", json!({"title": "part", "successCriteria": "part 9"}));
    let context = project.did("ses_a", "stack_context_preview", json!({})).text;
    assert!(
        context.contains("Earlier work: 3 frames") && !context.contains("id=\"f3\""),
        "{context}"
    );
}

#[test]
fn it_happens_by_itself_once_there_are_too_many() {
    let project = with(4, 4);
    assert_eq!(tree(&project).lines().count(), 5);
    child(&project, "part 5");
    insta::assert_snapshot!(tree(&project), @r"
    f1 Build the shop
      f7 Earlier work: 3 frames
        f2 part 1
        f3 part 2
        f4 part 3
      f5 part 4
      f6 part 5
    ");
    for n in 6..=8 {
        child(&project, &format!("part {n}"));
    }
    insta::assert_snapshot!(tree(&project), @r"
    f1 Build the shop
      f10 Earlier work: 3 frames
        f7 Earlier work: 3 frames
          f2 part 1
          f3 part 2
          f4 part 3
        f5 part 4
        f6 part 5
      f8 part 6
      f9 part 7
      f11 part 8
    ");
}

#[test]
fn one_that_is_opened_again_stands_beside_its_siblings_again() {
    let project = with(4, 0);
    project.did("ses_a", "stack_frame_consolidate", json!({"keep": 0}));
    project.did("ses_a", "stack_frame_reopen", json!({"frame": "f3"}));
    insta::assert_snapshot!(tree(&project), @r"
    f1 Build the shop
      f6 Earlier work: 4 frames
        f2 part 1
        f4 part 3
        f5 part 4
      f3 part 2
    ");
    project.did("ses_a", "stack_frame_pop", json!({"results": "better"}));
    assert_eq!(project.engine.resolve("f3").unwrap().consolidated, None);
    assert_eq!(project.engine.rebuild().unwrap(), project.another().rebuild().unwrap());
    insta::assert_snapshot!(tree(&project), @r"
    f1 Build the shop
      f6 Earlier work: 4 frames
        f2 part 1
        f4 part 3
        f5 part 4
      f3 part 2
    ");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let project = with(2, 0);
    let refused = |name: &str, arguments| {
        let error = project.call("ses_a", name, arguments).unwrap_err();
        assert!(error.hint.is_some());
        (error.kind, error.message)
    };
    let few = refused("stack_frame_consolidate", json!({"keep": 1}));
    assert_eq!(few.0, Kind::Conflict);
    project.did("ses_a", "stack_frame_consolidate", json!({"keep": 0}));
    assert_eq!(refused("stack_frame_consolidate", json!({})).0, Kind::Conflict);
    let again = refused("stack_frame_reopen", json!({"frame": "f4"}));
    assert!(again.1.contains("stands for several"), "{again:?}");
}

/// An action. One that the state does not allow is refused, which changes nothing.
#[derive(Clone, Debug)]
enum Act {
    Push,
    Pop,
    Consolidate(u64),
    Reopen(u64),
    Invalidate(u64),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        4 => Just(Act::Push),
        4 => Just(Act::Pop),
        2 => (0..3u64).prop_map(Act::Consolidate),
        4 => (2..9u64).prop_map(Act::Reopen),
        1 => (1..20u64).prop_map(Act::Invalidate),
    ];
    prop::collection::vec(act, 1..60)
}

fn act(project: &Project, act: &Act) {
    let (name, arguments) = match act {
        Act::Push => ("stack_frame_push", json!({"title": "part", "successCriteria": "done"})),
        Act::Pop => ("stack_frame_pop", json!({"results": "done"})),
        Act::Consolidate(keep) => ("stack_frame_consolidate", json!({"keep": keep})),
        Act::Reopen(num) => ("stack_frame_reopen", json!({"frame": format!("f{num}")})),
        Act::Invalidate(num) => {
            ("stack_frame_invalidate", json!({"frame": format!("f{num}"), "reason": "no"}))
        }
    };
    // A refusal does not matter here. The pop of a root would end everything.
    let root = |num| project.engine.frame(num).unwrap().parent.is_none();
    if !matches!(act, Act::Pop) || !project.engine.active("ses_a").unwrap().is_some_and(root) {
        drop(project.call("ses_a", name, arguments));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_frame_stands_once_in_the_tree_below_one_that_may_stand_for_it(acts in acts()) {
        let project = Project::with(Settings { consolidate_above: 4, ..Settings::default() });
        project.user("ses_a", "Build the shop");
        for it in &acts {
            act(&project, it);
            let lines = project.engine.tree(Some("ses_a")).unwrap();
            let shown: BTreeSet<_> = lines.iter().map(|line| line.frame.num).collect();
            prop_assert_eq!(lines.len(), shown.len());
            prop_assert_eq!(lines.len(), project.engine.state().unwrap().frames.len());
            for frame in lines.iter().map(|line| &line.frame) {
                let Some(into) = frame.consolidated else { continue };
                let into = project.engine.frame(into).unwrap();
                prop_assert!(frame.status.is_terminal() && into.status == Status::Completed);
                prop_assert_eq!(frame.parent, into.parent);
            }
        }
        let state = project.engine.state().unwrap();
        let before = tree(&project);
        project.engine.rebuild().unwrap();
        prop_assert_eq!(before, tree(&project));
        prop_assert_eq!(state, project.engine.state().unwrap());
    }
}
