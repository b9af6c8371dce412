//! `kill -9` in the middle of the work.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use callstack_scripted_model::{Script, Step};

use super::super::project::Project;
use super::super::seen::{assert_no_work, seen};
use super::super::steps::{WORK, pop, push, work};
use super::super::talk::Talk;
use super::super::tree::{frame, tree};
use super::{kill_host, program, wait_for_host};

/// A step during which the host process of the `OpenCode` in `opencode` is killed.
pub(super) fn killing(opencode: &Arc<AtomicU32>, step: Step) -> Step {
    let opencode = Arc::clone(opencode);
    Step::from_request(move |_| {
        kill_host(opencode.load(Ordering::SeqCst));
        // A call that is under way when the process dies is not answered; this is about the next one.
        wait_for_host(opencode.load(Ordering::SeqCst));
        step.clone()
    })
}

#[test]
fn a_killed_host_process_costs_the_agent_nothing() {
    let Some(mut talk) = Talk::new(&[]) else { return };
    let pid = Arc::new(AtomicU32::new(talk.server.process().pid()));
    let sealed = &talk.project.sealed;
    let session = talk.session([
        push("Read parts", "the parts are read").reasoning("A subtask."),
        killing(&pid, work("the first part")),
        work("the second part").reasoning("Read on."),
        killing(&pid, pop("The parts say 7.")),
        killing(&pid, push("Read more", "more is read")).reasoning("On."),
        work("the third part").reasoning("Read more."),
        pop("More says 8.").reasoning("Done."),
        killing(&pid, Step::text("All is read.").reasoning("Tell.")),
        Step::text("Nothing else.").reasoning("Tell again."),
    ]);
    session.say("Read the parts");
    let done = "Read the parts in_progress *\n  Read parts completed\n  Read more completed\n";
    assert_eq!(tree(sealed, &session.id), done);
    session.say("Anything else?");
    assert_eq!(tree(sealed, &session.id), done);
    assert_eq!(frame(sealed, "Read parts").results.as_deref(), Some("The parts say 7."));
    let requests = session.finished();
    assert!(requests[3].render().contains(WORK));
    for after in [&requests[7], &requests[8]] {
        assert_no_work(after);
        assert!(after.render().contains("The parts say 7."), "{}", seen(after));
    }
    let output = talk.server.process().output();
    assert!(!output.contains("without frames"), "the kills were felt:\n{output}");
}

/// Stands between `OpenCode` and the binary. The file `mode` beside it chooses the fate of the next call of a tool,
/// or of the next `continue`: `lose` ends both after the tool's work and before its answer, `die` after its answer,
/// `hang` never answers anything more. Each happens once.
pub(super) const BETWEEN: &str = r#"#!/usr/bin/env node
const { spawn } = require("node:child_process")
const { readFileSync, writeFileSync } = require("node:fs")
const { createInterface } = require("node:readline")
const mode = `${__filename}.mode`
const child = spawn(readFileSync(`${__filename}.binary`, "utf8"), process.argv.slice(2), { stdio: ["pipe", "pipe", "ignore"] })
const tools = new Map()
let hanging = false
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line)
  if (method === "tool") tools.set(id, params.name)
  if (method === "continue") tools.set(id, "continue")
  child.stdin.write(line + "\n")
}).on("close", () => child.stdin.end())
const die = () => { child.kill("SIGKILL"); process.kill(process.pid, "SIGKILL") }
createInterface({ input: child.stdout }).on("line", (line) => {
  const name = tools.get(JSON.parse(line).id)
  const [what, which] = readFileSync(mode, "utf8").split(" ")
  const now = name && name === which
  if (now) writeFileSync(mode, "pass")
  if (now && what === "lose") die()
  hanging ||= now && what === "hang"
  if (!hanging) process.stdout.write(line + "\n", () => now && what === "die" && die())
})
child.on("exit", () => process.exit(0))
"#;

pub(super) fn set(mode: &std::path::Path, text: &str) {
    std::fs::write(mode, text).unwrap();
}

#[test]
fn what_was_decided_counts_though_the_answer_is_late_or_lost() {
    let Some(project) = Project::new(Script::new()) else { return };
    let between = program(&project.sealed.root().join("between"), BETWEEN);
    let mode = project.sealed.root().join("between.mode");
    set(&mode, "pass");
    set(&project.sealed.root().join("between.binary"), project.callstack.path().to_str().unwrap());
    let env = [("CALLSTACK_BIN", between.to_str().unwrap())];
    let server = project.opencode.serve_with(&project.sealed, &env).unwrap();
    let talk = Talk { project, server };
    let sealed = &talk.project.sealed;
    let mode_of = |text: &'static str, step: Step| {
        let mode = mode.clone();
        Step::from_request(move |_| {
            set(&mode, text);
            step.clone()
        })
    };
    let session = talk.session([
        push("First part", "it is read").reasoning("A subtask."),
        work("the first part").reasoning("Read."),
        mode_of("die stack_frame_pop", pop("It says 1.").reasoning("Done.")),
        mode_of("lose stack_frame_push", push("Second part", "it is read").reasoning("Next.")),
        work("the second part").reasoning("Read."),
        mode_of("lose stack_frame_pop", pop("It says 2.").reasoning("Done.")),
        Step::text("Both are read.").reasoning("Tell."),
        push("Third part", "it is read").reasoning("Last."),
        work("the third part").reasoning("Read."),
        mode_of("hang stack_frame_pop", pop("It says 3.").reasoning("Done.")),
        Step::text("It did not answer.").reasoning("Tell."),
        Step::text("You are welcome.").reasoning("Polite."),
    ]);
    session.say("Read the parts");
    session.say("Read the third one");
    session.say("Thanks");
    assert_eq!(
        tree(sealed, &session.id),
        "Read the parts in_progress *\n  First part completed\n  Second part completed\n  \
         Third part completed\n"
    );
    let requests = session.finished();
    let pushed = requests[4].render();
    assert!(pushed.contains("f3 is open now: Second part"), "{pushed}");
    let last = requests.last().unwrap();
    assert_no_work(last);
    for results in ["It says 1.", "It says 2.", "It says 3."] {
        assert!(last.render().contains(results), "{}", seen(last));
    }
}
