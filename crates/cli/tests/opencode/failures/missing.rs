//! A binary that is not there, or is not what it should be, when `OpenCode` starts.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use callstack_scripted_model::{Conversation, RecordedRequest, Script, Step, check};
use callstack_testkit::{Run, assert_clean};
use serde_json::{Value, json};

use super::super::project::Project;
use super::super::seen::{assert_no_work, our_system, tools};
use super::super::steps::{bash, named, pop, push, work};
use super::super::talk::Talk;
use super::super::tree::tree;
use super::program;

const LINE: &str = "this session goes on without frames";

/// The plugin as `callstack init opencode` leaves it: it knows its tools without asking.
fn embed_tools(project: &Project) {
    let mut hello = project.sealed.command(project.callstack.path());
    hello.args(["host", "opencode"]);
    let request = json!({"id": 1, "method": "hello", "params": {"protocol": 1}});
    let input = project.sealed.write("hello.json", &format!("{request}\n")).unwrap();
    hello.stdin(fs::File::open(&input).unwrap());
    let said = project.sealed.run("hello", hello, Duration::from_secs(10)).unwrap();
    fs::remove_file(input).unwrap();
    let answer: Value = serde_json::from_str(&said.stdout).unwrap();
    let path = ".opencode/plugin/callstack.ts";
    let plugin = project.sealed.read(path).unwrap();
    let line = "const TOOLS: ToolSpec[] = []";
    assert!(plugin.contains(line));
    let known = format!("const TOOLS: ToolSpec[] = {}", answer["result"]["tools"]);
    project.sealed.write(path, &plugin.replace(line, &known)).unwrap();
    fs::remove_dir_all(project.sealed.project().join(".callstack")).unwrap();
}

fn conversation() -> Conversation {
    Conversation::new([
        named(bash("echo looking"), "look").reasoning("Look."),
        Step::text("It is there.").reasoning("Tell."),
    ])
}

fn same(with: &[RecordedRequest], without: &[RecordedRequest]) {
    assert_eq!(with.len(), without.len());
    for (with, without) in with.iter().zip(without) {
        assert_eq!(check::prefix(without, with), []);
        assert_eq!(with.raw_messages().len(), without.raw_messages().len());
    }
}

#[test]
fn without_a_working_binary_the_agent_works_as_without_the_plugin() {
    let Some(project) = Project::new(Script::new()) else { return };
    embed_tools(&project);
    let sealed = &project.sealed;
    let plugin = sealed.project().join(".opencode/plugin/callstack.ts");
    let aside = sealed.root().join("plugin.ts");
    fs::rename(&plugin, &aside).unwrap();
    project.model.add(conversation());
    let alone = project.run(&Run::prompt("Look around"));
    fs::rename(&aside, &plugin).unwrap();

    let binary = |name: &str, text: &str| program(&sealed.root().join(name), text);
    let cases = [
        ("not found", sealed.root().join("nowhere/callstack")),
        ("did not answer", binary("hanging", "#!/bin/sh\nexec cat >/dev/null\n")),
        ("exit code 7", binary("crashing", "#!/bin/sh\nexit 7\n")),
        (
            "did not answer",
            binary("babbling", "#!/bin/sh\nwhile read -r _; do echo '{what?'; done\n"),
        ),
    ];
    for (reason, binary) in cases {
        project.model.add(conversation());
        let run = Run::prompt("Look around").env("CALLSTACK_BIN", binary.to_str().unwrap());
        let done = project.run(&run);
        let lines: Vec<_> = done.stderr.lines().filter(|line| line.contains("callstack")).collect();
        let [line] = lines[..] else { panic!("{}: {lines:?}", binary.display()) };
        assert!(line.contains(reason) && line.contains(LINE), "{}: {line}", binary.display());
        let sessions = project.model.sessions();
        let requests = project.model.agent_requests(sessions.last().unwrap());
        same(&requests, &project.model.agent_requests(&sessions[0]));
        // 3 s for the greeting and a quarter of a second for each of five hooks, on a busy machine.
        let added = done.took.saturating_sub(alone.took);
        assert!(added < Duration::from_secs(12), "{}: {added:?}", binary.display());
    }
    assert_clean(&project.model);
}

#[test]
fn frames_begin_when_the_binary_appears() {
    let Some(project) = Project::new(Script::new()) else { return };
    embed_tools(&project);
    let binary = project.sealed.root().join("later");
    let env = [("CALLSTACK_BIN", binary.to_str().unwrap())];
    let server = project.opencode.serve_with(&project.sealed, &env).unwrap();
    let talk = Talk { project, server };
    let sealed = &talk.project.sealed;
    let session = talk.session([
        bash("echo looking").reasoning("Look."),
        Step::text("It is there.").reasoning("Tell."),
        push("Look closer", "it was read").reasoning("A subtask."),
        work("the thing").reasoning("Read."),
        pop("It says 5.").reasoning("Done."),
        Step::text("It says 5.").reasoning("Tell."),
    ]);
    session.say("Look around");
    symlink(talk.project.callstack.path(), &binary).unwrap();
    // Tools and system prompt are new in this request.
    talk.project.model.skip_next_prefix_check(&session.id);
    session.say("Now look closer");
    let requests = session.finished();
    for without in &requests[..2] {
        assert!(our_system(without).is_empty());
        assert!(tools(without).iter().all(|(name, _)| !name.starts_with("stack")));
    }
    assert_eq!(our_system(&requests[2]).len(), 1);
    assert_no_work(&requests[5]);
    assert_eq!(
        tree(sealed, &session.id),
        "Now look closer in_progress *\n  Look closer completed\n"
    );
}
