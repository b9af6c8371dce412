//! Sessions that started each other, and sessions that grew, imported one after the other.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use callstack_core::frame::Frame;
use callstack_hosts::import::import;
use callstack_recordings::{read, read_all};
use serde_json::Value;
use tempfile::TempDir;

use crate::fixture;
use crate::importing::Project;

/// The tree without handles: children in the order in which their work began.
fn shape(project: &Project) -> String {
    let state = project.engine.state().unwrap();
    let mut frames: Vec<Frame> =
        state.frames.keys().map(|id| project.engine.resolve(id).unwrap()).collect();
    frames.sort_by_key(|frame| (frame.created_at, frame.depth, frame.id.clone()));
    let mut out = String::new();
    let roots: Vec<&Frame> = frames.iter().filter(|frame| frame.parent.is_none()).collect();
    for root in roots {
        branch(&frames, root, 0, &mut out);
    }
    out
}

fn branch(frames: &[Frame], frame: &Frame, depth: u32, out: &mut String) {
    assert_eq!(frame.depth, depth, "{frame:?}");
    let files: Vec<&str> = frame.artifacts.iter().map(|it| it.path.as_str()).collect();
    // A frame that goes on has returned nothing yet; one that had ended before has its earlier results.
    let results = frame.results.as_deref().filter(|_| frame.status.is_finished());
    writeln!(
        out,
        "{}{} {} of {:?} from {} to {:?}: {results:?} {files:?}",
        "  ".repeat(depth as usize),
        frame.identity.title,
        frame.status,
        frame.session,
        frame.created_at,
        frame.ended_at,
    )
    .unwrap();
    for child in frames.iter().filter(|child| child.parent == Some(frame.num)) {
        branch(frames, child, depth + 1, out);
    }
}

fn at_once(files: &[PathBuf]) -> Project {
    let project = Project::new();
    let recordings = read_all(files, &mut |_| {}).unwrap();
    import(&project.engine, &recordings, &mut |_, _| {}).unwrap();
    project
}

/// Files of a session and of those that it started, each where nothing leads to the others.
fn families() -> (TempDir, Vec<Vec<PathBuf>>) {
    let folder = tempfile::tempdir().unwrap();
    let alone = |name: &str, place: &str| {
        let place = folder.path().join(place);
        fs::create_dir_all(&place).unwrap();
        let file = place.join(Path::new(name).file_name().unwrap());
        fs::copy(fixture(name), &file).unwrap();
        file
    };
    let families = vec![
        vec![
            alone("claude-code/5e55-0001.jsonl", "1"),
            alone("claude-code/5e55-0001/subagents/agent-b1.jsonl", "2"),
        ],
        vec![alone("opencode.json", "1"), alone("opencode-child.json", "2")],
        vec![alone("codex.jsonl", "1"), alone("codex-child.jsonl", "2")],
    ];
    (folder, families)
}

#[test]
fn sessions_of_subagents_may_come_before_and_after_those_that_started_them() {
    let (_folder, families) = families();
    for files in families {
        let whole = shape(&at_once(&files));
        assert!(whole.lines().count() > 2, "{whole}");
        let mut reversed = files.clone();
        reversed.reverse();
        for order in [&files, &reversed] {
            let project = Project::new();
            for file in order {
                let counts = project.import(file);
                assert_eq!((counts.sessions, counts.known), (1, 0), "{order:?}");
            }
            assert_eq!(shape(&project), whole, "{order:?}");
            let checked = format!("{:?}", project.engine.check().unwrap());
            for again in [&order[..], &files[..1], &files[1..]] {
                let recordings = read_all(again, &mut |_| {}).unwrap();
                let counts = import(&project.engine, &recordings, &mut |_, _| {}).unwrap();
                assert_eq!((counts.sessions, counts.frames), (0, 0), "{again:?}");
            }
            assert_eq!(format!("{:?}", project.engine.check().unwrap()), checked, "{order:?}");
            assert_eq!(shape(&project), whole, "{order:?}");
            project.engine.rebuild().unwrap();
            assert_eq!(shape(&project), whole, "{order:?}, derived anew");
        }
    }
}

/// A session whose work had all ended continues in its own frame.
#[test]
fn a_session_that_has_grown_has_the_tree_of_the_whole() {
    let mut ended = 0;
    for name in ["claude-code/5e55-0001.jsonl", "pi.jsonl", "codex.jsonl"] {
        let text = text(name);
        let lines: Vec<&str> = text.lines().collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        fs::write(&path, &text).unwrap();
        let whole = shape(&at_once(std::slice::from_ref(&path)));
        for cut in 3..lines.len() {
            let project = Project::new();
            fs::write(&path, lines[..cut].join("\n")).unwrap();
            if read(&path).is_err() {
                continue;
            }
            project.import(&path);
            ended += usize::from(project.engine.resolve("f1").unwrap().status.is_finished());
            fs::write(&path, &text).unwrap();
            project.import(&path);
            assert_eq!(shape(&project), whole, "{name} cut at {cut}");
            assert_eq!(project.import(&path).sessions, 0, "{name} cut at {cut}");
        }
    }
    assert!(ended > 5, "{ended}");
}

#[test]
fn a_trajectory_that_has_grown_goes_on_in_its_frame() {
    for (name, list) in [("swe-agent.traj", "history"), ("mini-swe-agent.traj.json", "messages")] {
        let document: Value = serde_json::from_str(&text(name)).unwrap();
        // The compared parts contain no times.
        let shape = |project: &Project| {
            let shape = shape(project);
            let (begin, rest) = shape.split_once(" from ").unwrap();
            [begin, rest.split_once(": ").unwrap().1].join(" ")
        };
        let whole = shape(&at_once(&[fixture(name)]));
        assert_eq!(whole.matches("completed").count(), 1, "{whole}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        for cut in 3..document[list].as_array().unwrap().len() {
            let mut begun = document.clone();
            begun[list].as_array_mut().unwrap().truncate(cut);
            fs::write(&path, begun.to_string()).unwrap();
            let project = Project::new();
            project.import(&path);
            fs::copy(fixture(name), &path).unwrap();
            project.import(&path);
            assert_eq!(shape(&project), whole, "{name} cut at {cut}");
            assert_eq!(project.import(&path).sessions, 0, "{name} cut at {cut}");
        }
    }
}

fn text(name: &str) -> String {
    fs::read_to_string(fixture(name)).unwrap()
}
