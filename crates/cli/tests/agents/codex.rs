//! The real Codex.

use std::time::Duration;

use callstack_scripted_model::{Script, ScriptedModel, Step};
use serde_json::json;

use super::program::{TestEnv, locate_or_skip, results_of, work};

/// The name of a tool, as its model calls it.
fn tool(name: &str) -> String {
    format!("mcp__callstack.{name}")
}

#[test]
fn codex_pushes_works_in_and_pops_a_frame() {
    let installed = "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex";
    let Some(codex) = locate_or_skip("codex", "CALLSTACK_CODEX", installed) else { return };
    let desk = TestEnv::with_folder(".codex");
    let line = Step::call("exec_command", json!({"cmd": "echo Roses are red > poem.txt"}));
    let model = ScriptedModel::start(Script::steps(work(tool, line))).unwrap();
    let provider = format!(
        "model_provider = \"scripted\"\n\n[model_providers.scripted]\nname = \"scripted\"\nbase_url = {:?}\n\
         env_key = \"SCRIPTED_KEY\"\nwire_api = \"responses\"\n",
        model.base_url()
    );
    let config = desk.sealed.home().join(".codex/config.toml");
    std::fs::write(&config, &provider).unwrap();
    let said = desk.ok(&["init", "mcp"]);
    assert!(said.contains("Codex installed: "), "{said}");

    let mut command = desk.sealed.command(&codex);
    command
        .args(["exec", "--json", "--skip-git-repo-check", "-m", "scripted"])
        .args(["--sandbox", "workspace-write", "Write a poem"])
        .env("SCRIPTED_KEY", "sk-dummy");
    let said = desk.sealed.run("codex", command, Duration::from_secs(90)).unwrap();
    assert!(said.success(), "{said}");

    let thread = said
        .json_lines()
        .iter()
        .find_map(|line| line["thread_id"].as_str().map(|id| format!("mcp-{id}")));
    desk.has_worked("mcp:codex-mcp-client", thread.as_deref());
    results_of(&model.requests());
    desk.ok(&["init", "mcp", "--remove"]);
    assert_eq!(std::fs::read_to_string(config).unwrap(), provider);
}
