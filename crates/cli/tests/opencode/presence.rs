//! Our presence changes nothing for the agent's other tools.

use callstack_scripted_model::{RecordedRequest, Script, Step};
use callstack_testkit::{Run, assert_clean};
use serde_json::json;

use super::budget;
use super::project::Project;
use super::seen::tools;
use super::steps::{bash, together, write};

fn script() -> Script {
    let read = |path: &str| Step::call("read", json!({"filePath": path}));
    let edit = |old: &str, new: &str| {
        let change = json!({"filePath": "notes/a.txt", "oldString": old, "newString": new});
        Step::call("edit", change)
    };
    let todo = json!([{"content": "Look", "status": "pending", "priority": "high"}]);
    Script::steps([
        write("notes/a.txt", "one\ntwo\nthree\n").reasoning("Write."),
        together([read("notes/a.txt"), edit("two", "2"), bash("wc -l < notes/a.txt")]),
        edit("no such line", "x"),
        together([read("missing.txt"), bash("echo wrong >&2; exit 3")]),
        Step::call("glob", json!({"pattern": "**/*.txt"})),
        Step::call("glob", json!({"pattern": "**/*callstack*.db*"})),
        Step::call("grep", json!({"pattern": "three"})),
        Step::call("todowrite", json!({"todos": todo})),
        bash("ls; git status --short 2>/dev/null"),
        Step::text("Done.").reasoning("Tell."),
        read("notes/a.txt"),
        Step::text("As before."),
    ])
}

fn requests(project: &Project) -> Vec<RecordedRequest> {
    project.run(&Run::prompt("Write a few notes."));
    project.run(&Run::prompt("Read them again.").continued());
    assert_clean(&project.model);
    project.requests()
}

/// The messages but for our system message, with the project's folder named the same.
fn messages(project: &Project, request: &RecordedRequest) -> Vec<String> {
    let root = project.sealed.root().display().to_string();
    let ours = |message: &&String| !message.contains("# Frames (callstack)");
    request.raw_messages().iter().filter(ours).map(|it| it.replace(&root, "ROOT")).collect()
}

/// The tools but for ours, with the project's folder named the same.
fn others_tools(project: &Project, request: &RecordedRequest) -> Vec<String> {
    let root = project.sealed.root().display().to_string();
    let others = tools(request).into_iter().filter(|(name, _)| !name.starts_with("stack"));
    others.map(|(_, entry)| entry.replace(&root, "ROOT")).collect()
}

#[test]
fn without_a_stack_call_only_our_system_message_and_our_tools_are_there_besides() {
    let Some(with) = Project::new(script()) else { return };
    let Some(without) = Project::without_plugin(script()) else { return };
    let (seen, plain) = (requests(&with), requests(&without));
    assert_eq!((seen.len(), plain.len()), (12, 12));
    for (number, (seen, plain)) in seen.iter().zip(&plain).enumerate() {
        assert_eq!(seen.raw_messages().len(), plain.raw_messages().len() + 1);
        let (ours, theirs) = (messages(&with, seen), messages(&without, plain));
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_eq!(ours, theirs, "request {number}");
        }
        assert_eq!(ours.len(), theirs.len());
        assert_eq!(others_tools(&with, seen), others_tools(&without, plain), "request {number}");
    }
    budget::check(&seen[0]);
}
