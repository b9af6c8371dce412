//! Logs of frames as files, and secrets in the output of tools.

use std::fs;

use callstack_scripted_model::{Script, Step};
use callstack_testkit::{Run, assert_clean};
use serde_json::json;

use super::project::Project;
use super::seen::result_of;
use super::steps::{bash, named, pop, push, stack};

#[test]
fn a_popped_frame_leaves_its_log_without_the_secrets_that_a_tool_printed() {
    let (start, end) = ("gh", ["p_", &"a1B2c3".repeat(6)].concat());
    let token = [start, &end].concat();
    let script = Script::steps([
        push("Look at the settings", "They are known"),
        bash(&format!("printf 'the parakeet says %s%s' {start} {end}")),
        pop("They are known."),
        named(stack("stack_log", &json!({"frame": "f2", "query": "parakeet"})), "call-log"),
        named(stack("stack_search", &json!({"query": "parakeet says"})), "call-search"),
        Step::text("Done."),
    ]);
    let Some(project) = Project::new(script) else { return };
    project.run(&Run::prompt("Look at the settings."));
    assert_clean(&project.model);
    let sealed = &project.sealed;
    let folder = sealed.project();
    let log = fs::read_to_string(folder.join(".callstack/logs/f2.md")).unwrap();
    let masked = "the parakeet says ‹masked: GitHub token›";
    assert!(log.starts_with("# f2 \"Look at the settings\"\n\n- status: completed\n"), "{log}");
    assert!(log.contains(masked) && !log.contains(&token), "{log}");
    assert!(
        log.contains("**stack_frame_pop** (completed"),
        "the step that ended it is in it: {log}"
    );
    let shown = |args: &[&str]| project.callstack.run(sealed, args).unwrap().stdout;
    assert!(shown(&["show", "f2", "--json"]).contains("\"logPath\": \".callstack/logs/f2.md\""));
    let search = ["search", "parakeet says"];
    assert!(shown(&search).contains(masked), "{}", shown(&search));
    assert!(!shown(&search).contains(&token));
    assert!(shown(&["log", "f2"]).contains(masked));
    assert!(shown(&["log", "f2", "--reveal"]).contains(&token));
    let requests = project.requests();
    let last = requests.last().unwrap();
    for call in ["call-log", "call-search"] {
        let answer = result_of(last, call);
        assert!(answer.contains(masked) && !answer.contains(&token), "{call}: {answer}");
    }
}
