//! The script of the built-in model: a small task with three nested frames, a mistake and its repair.

use callstack_scripted_model::{Script, Step};
use serde_json::json;

/// The user's request.
pub(super) const PROMPT: &str = "Write a shell script greet.sh that greets the person named by its \
    first argument, or the world, and a test for it. Make sure that the test passes.";

/// An addition for a real model, which does not know the purpose of the demo.
pub(super) const HINT: &str = "\n\nUse frames: one for the script, inside it one for the test, and \
    one more for anything that goes wrong on the way.";

const GREET: &str = "#!/bin/sh\n# Greets the person named by the first argument, or the world.\n\
    name=${1-world}\necho \"Hello, $name\"\n";
const TEST: &str = "#!/bin/sh\nset -eu\ncheck() {\n  if [ \"$1\" = \"$2\" ]; then echo \"ok: $2\"; \
    else echo \"FAILED: wanted '$2', got '$1'\"; exit 1; fi\n}\ncheck \"$(sh greet.sh)\" 'Hello, \
    world!'\ncheck \"$(sh greet.sh Ada)\" 'Hello, Ada!'\ncheck \"$(sh greet.sh '')\" 'Hello, \
    world!'\necho 'all 3 passed'\n";

fn push(title: &str, criteria: &str) -> Step {
    Step::call("stack_frame_push", json!({ "title": title, "successCriteria": criteria }))
}

fn pop(results: &str, dense: &str) -> Step {
    Step::call("stack_frame_pop", json!({ "results": results, "resultsCompacted": dense }))
}

fn bash(command: &str, why: &str) -> Step {
    Step::call("bash", json!({ "command": command, "description": why }))
}

fn write(file: &str, content: &str) -> Step {
    Step::call("write", json!({ "filePath": file, "content": content }))
}

fn edit(file: &str, old: &str, new: &str) -> Step {
    Step::call("edit", json!({ "filePath": file, "oldString": old, "newString": new }))
}

pub(super) fn script() -> Script {
    Script::steps([
        push("Greeting script", "greet.sh greets its first argument, or the world")
            .reasoning("The task has a script and a test. I begin with a frame for the script."),
        write("greet.sh", GREET).reasoning("A default in the shell's own way."),
        bash("sh greet.sh && sh greet.sh Ada", "Try the script").reasoning("See what it prints."),
        push("Test of the script", "test.sh covers no name, a name and an empty name, and passes")
            .reasoning("It works by hand; now the test, in a frame of its own."),
        write("test.sh", TEST).reasoning("Three cases."),
        bash("sh test.sh", "Run the test").reasoning("Run it."),
        push("Find the failure", "the cause of the failing case is known and fixed")
            .reasoning("It fails. The hunt for the cause gets a frame, so that it does not stay."),
        Step::call("read", json!({ "filePath": "greet.sh" }))
            .reasoning("Look at the script again."),
        bash("sh -x greet.sh ''", "Trace the empty name").reasoning("Trace the odd case."),
        edit("greet.sh", "echo \"Hello, $name\"", "echo \"Hello, $name!\"")
            .reasoning("The exclamation mark is missing."),
        bash("sh test.sh", "Run the test again").reasoning("Again."),
        edit("greet.sh", "${1-world}", "${1:-world}")
            .reasoning("An empty name must count as none: `:-` instead of `-`."),
        bash("sh test.sh", "Run the test again").reasoning("And again."),
        pop(
            "Two causes, both in greet.sh: the greeting lacked its exclamation mark (line 4), and \
             `${1-world}` keeps an empty name (line 3), so it is `${1:-world}` now. `sh test.sh` \
             prints `all 3 passed`.",
            "greet.sh fixed: exclamation mark, `${1:-world}` for an empty name; 3 of 3 pass",
        )
        .reasoning("Both are fixed."),
        pop(
            "test.sh covers no name, a name and an empty name; `sh test.sh` prints `all 3 passed` \
             after two fixes in greet.sh.",
            "test.sh: 3 cases, all pass",
        )
        .reasoning("The criteria of the test are met."),
        pop(
            "greet.sh greets its first argument, or the world when there is none or it is empty; \
             test.sh proves it with 3 cases (`sh test.sh` → `all 3 passed`).",
            "greet.sh and test.sh done, 3 of 3 pass",
        )
        .reasoning("And so are those of the script."),
        Step::text(
            "greet.sh greets the person you name, or the world, and test.sh checks it: all 3 cases \
             pass. On the way I fixed a missing exclamation mark and the case of an empty name.",
        )
        .reasoning("Tell the user."),
    ])
}
