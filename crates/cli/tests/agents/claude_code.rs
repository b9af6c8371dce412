//! The real Claude Code.

use std::time::Duration;

use callstack_scripted_model::{RecordedRequest, Script, ScriptedModel, Step};
use serde_json::json;

use super::program::{TestEnv, locate_or_skip, results_of, work};

/// The name of a tool, as its model calls it.
fn tool(name: &str) -> String {
    format!("mcp__callstack__{name}")
}

#[test]
fn claude_code_pushes_works_in_and_pops_a_frame() {
    let installed = "@anthropic-ai/claude-code-linux-x64/claude";
    let Some(claude) = locate_or_skip("claude", "CALLSTACK_CLAUDE", installed) else { return };
    let desk = TestEnv::with_folder(".claude");
    let said = desk.ok(&["init", "mcp"]);
    assert!(said.contains("Claude Code installed: "), "{said}");
    let line = Step::call("Bash", json!({"command": "echo Roses are red > poem.txt"}));
    let model = ScriptedModel::start(Script::steps(work(tool, line))).unwrap();

    let mut command = desk.sealed.command(&claude);
    command
        .args(["-p", "Write a poem", "--output-format", "stream-json", "--verbose"])
        .args(["--mcp-config", ".mcp.json", "--strict-mcp-config"])
        .args(["--allowedTools", "mcp__callstack", "Bash"])
        .env("ANTHROPIC_BASE_URL", model.base_url().trim_end_matches("/v1"))
        .env("ANTHROPIC_API_KEY", "sk-dummy")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_AUTOUPDATER", "1");
    let said = desk.sealed.run("claude", command, Duration::from_secs(90)).unwrap();
    assert!(said.success(), "{said}");

    let session = said
        .json_lines()
        .iter()
        .find_map(|line| line["session_id"].as_str().map(|id| format!("mcp-{id}")));
    desk.has_worked("mcp:claude-code", session.as_deref());
    let requests = model.requests();
    let tools = requests.iter().flat_map(RecordedRequest::tools);
    let listed: Vec<_> = tools.filter(|it| it["name"] == tool("stack_frame_push")).collect();
    assert!(listed.iter().any(|it| it["input_schema"].is_object()), "loaded from the start");
    results_of(&requests);
}
