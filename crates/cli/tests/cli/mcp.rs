//! Agents that reach frames over the Model Context Protocol.

mod client;

use client::Client;
use serde_json::{Value, json};

use super::test_env::{TestEnv, says};

/// The arguments of a push.
fn frame(title: &str) -> Value {
    json!({"title": title, "successCriteria": "It is done"})
}

#[test]
fn an_agent_pushes_and_pops_in_a_project_without_a_store() {
    let desk = TestEnv::without_store();
    let mut agent = Client::start(&desk, "try");
    let tools = agent.request("tools/list", &json!({}));
    let names: Vec<_> = tools["tools"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert!(names.contains(&&json!("stack_frame_push")), "{names:?}");
    assert!(names.contains(&&json!("stack")), "{names:?}");
    assert!(!desk.project().join(".callstack").exists(), "nobody has worked yet");

    let root = json!({"title": "Build the parser", "successCriteria": "All fixtures parse"});
    assert_eq!(agent.tool("stack_frame_push", &root)["handle"], "f1");
    let child = json!({"title": "Read the grammar", "successCriteria": "Every rule is known"});
    assert_eq!(agent.tool("stack_frame_push", &child)["handle"], "f2");
    let popped = agent.tool("stack_frame_pop", &json!({"results": "23 rules"}));
    assert_eq!((&popped["handle"], &popped["status"]), (&json!("f2"), &json!("completed")));
    assert_eq!(desk.json(&["show", "f2"])["results"], "23 rules");
    assert_eq!(desk.json(&["show", "f1"])["status"], "in_progress");
    assert!(agent.close().success());
}

#[test]
fn what_is_asked_right_before_the_end_of_input_is_answered() {
    let desk = TestEnv::new();
    let lines = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
            "capabilities": {}, "clientInfo": {"name": "try", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "stack_frame_push", "arguments": frame("Build the parser")}}),
    ];
    let lines: Vec<_> = lines.iter().map(|line| format!("{line}\n")).collect();
    let said = desk.run_with(&["mcp"], lines.concat().as_bytes());
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stdout.contains("f1 is open now"), "{}", said.stdout);
    desk.is_whole(&["f1"]);
}

#[test]
fn two_clients_work_on_one_store_at_a_time() {
    let desk = TestEnv::new();
    let mut clients = [Client::start(&desk, "one"), Client::start(&desk, "two")];
    for client in &mut clients {
        client.tool("stack_frame_push", &frame("Root"));
    }
    for turn in 0..20 {
        // Both are asked before either has answered.
        for client in &mut clients {
            let title = format!("Part {turn}");
            client.ask(
                "tools/call",
                &json!({"name": "stack_frame_push", "arguments": frame(&title)}),
            );
        }
        for client in &mut clients {
            let popped = client.tool("stack_frame_pop", &json!({"results": format!("of {turn}")}));
            assert_eq!(popped["status"], "completed");
        }
    }
    for client in clients {
        assert!(client.close().success());
    }
    assert_eq!(desk.handles().len(), 42);
    let state = desk.json(&["tree"]);
    for frame in state["frames"].as_object().unwrap().values().filter(|it| it["title"] != "Root") {
        let turn = frame["title"].as_str().unwrap().strip_prefix("Part ").unwrap();
        assert_eq!(
            frame["results"],
            format!("of {turn}"),
            "the calls of one do not mix with the other's"
        );
    }
}

#[test]
fn a_client_whose_server_was_killed_goes_on_in_its_session() {
    let desk = TestEnv::new();
    let session = [("CLAUDE_CODE_SESSION_ID", "5eba2e90")];
    let mut client = Client::start_with(&desk, "claude-code", &session);
    client.tool("stack_frame_push", &frame("Root"));
    client.tool("stack_frame_push", &frame("Part"));
    // It may be at work on this when it is killed.
    client
        .ask("tools/call", &json!({"name": "stack_add_decision", "arguments": {"decision": "x"}}));
    client.kill();
    let mut client = Client::start_with(&desk, "claude-code", &session);
    assert_eq!(client.tool("stack_frame_pop", &json!({"results": "done"}))["handle"], "f2");
    assert_eq!(desk.json(&["show", "f2"])["workedIn"], "mcp-5eba2e90");
    drop(client);
    desk.is_whole(&["f1", "f2"]);
}

#[test]
fn a_store_that_can_not_be_used_is_reported_with_each_call_and_tried_again() {
    let desk = TestEnv::without_store();
    desk.sealed.write(".callstack/callstack.db", &"no database ".repeat(600)).unwrap();
    let mut client = Client::start(&desk, "try");
    for _ in 0..2 {
        let refused = client.call("stack_frame_push", &frame("Root"));
        assert_eq!(refused["isError"], true, "{refused}");
        assert!(refused["content"][0]["text"].as_str().unwrap().contains("store"), "{refused}");
    }
    std::fs::remove_dir_all(desk.project().join(".callstack")).unwrap();
    assert_eq!(client.tool("stack_frame_push", &frame("Root"))["handle"], "f1");
}

#[test]
fn frames_of_a_client_are_distinguished_in_the_tree() {
    let desk = TestEnv::new();
    let mut client =
        Client::start_with(&desk, "claude-code", &[("CLAUDE_CODE_SESSION_ID", "5eba2e90")]);
    client.tool("stack_frame_push", &frame("Root"));
    says!(desk, ["tree"], @r#"
    exit 0
    Claude Code · mcp-5eba2e90 · DATE
    ▶ f1 Root  TIME  ← open
    "#);
}

#[test]
fn the_entry_is_written_for_programs_that_are_there_and_taken_out_again() {
    let desk = TestEnv::without_store();
    desk.sealed.write("src/main.rs", "fn main() {}\n").unwrap();
    let before = desk.files();
    says!(desk, ["init", "mcp"], @r#"
    exit 0
    Claude Code was not found.
    Codex was not found.
    Any other program, where it keeps its MCP servers:
      {"mcpServers":{"callstack":{"command":"$BINARY","args":["mcp"]}}}
    "#);
    for folder in [".claude", ".codex"] {
        std::fs::create_dir(desk.sealed.home().join(folder)).unwrap();
    }
    says!(desk, ["init", "mcp"], @r#"
    exit 0
    Claude Code installed: $ROOT/project/.mcp.json
    Codex installed: $ROOT/home/.codex/config.toml
    Any other program, where it keeps its MCP servers:
      {"mcpServers":{"callstack":{"command":"$BINARY","args":["mcp"]}}}
    Restart the program in this project. `callstack tree` shows what its agent does.
    "#);
    says!(desk, ["init", "mcp"], @r#"
    exit 0
    Claude Code is there: $ROOT/project/.mcp.json
    Codex is there: $ROOT/home/.codex/config.toml
    Any other program, where it keeps its MCP servers:
      {"mcpServers":{"callstack":{"command":"$BINARY","args":["mcp"]}}}
    Restart the program in this project. `callstack tree` shows what its agent does.
    "#);
    let servers: Value = serde_json::from_str(&desk.sealed.read(".mcp.json").unwrap()).unwrap();
    assert_eq!(servers["mcpServers"]["callstack"]["args"], json!(["mcp"]));
    assert_eq!(servers["mcpServers"]["callstack"]["alwaysLoad"], true);
    says!(desk, ["init", "mcp", "--remove"], @r#"
    exit 0
    Claude Code removed: $ROOT/project/.mcp.json
    Codex removed: $ROOT/home/.codex/config.toml
    "#);
    assert_eq!(desk.files(), before);
    assert!(!desk.sealed.home().join(".codex/config.toml").exists());
    says!(desk, ["init", "mcp", "--remove"], @r#"
    exit 0
    Claude Code absent: $ROOT/project/.mcp.json
    Codex absent: $ROOT/home/.codex/config.toml
    "#);
    says!(desk, ["init", "mcp", "--remove", "--with-store", "--yes"], @r#"
    exit 2
    --- stderr
    error: `callstack init mcp` makes no store, and removes none
    hint: `callstack init opencode --remove --with-store` deletes the store.
    "#);
}

/// It may hold the keys of other servers.
#[cfg(unix)]
#[test]
fn a_file_that_is_there_keeps_its_mode() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt as _;
    let desk = TestEnv::without_store();
    let (claude, codex) = (desk.sealed.home().join(".claude"), desk.sealed.home().join(".codex"));
    std::fs::create_dir(claude).unwrap();
    std::fs::create_dir(&codex).unwrap();
    let files = [desk.project().join(".mcp.json"), codex.join("config.toml")];
    std::fs::write(&files[0], "{\"mcpServers\": {\"other\": {\"command\": \"x\"}}}\n").unwrap();
    std::fs::write(&files[1], "model = \"x\"\n").unwrap();
    for args in [&["init", "mcp"][..], &["init", "mcp", "--remove"]] {
        for file in &files {
            set_permissions(file, Permissions::from_mode(0o600)).unwrap();
        }
        desk.ok(args);
        for file in &files {
            let mode = std::fs::metadata(file).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, 0o600, "{args:?}: {}", file.display());
        }
    }
}

#[test]
fn the_entry_names_the_command_where_the_path_leads_to_it() {
    let desk = TestEnv::without_store();
    std::fs::create_dir(desk.sealed.home().join(".claude")).unwrap();
    desk.sealed.put_on_path("callstack", std::path::Path::new(super::test_env::BINARY)).unwrap();
    let said = desk.json(&["init", "mcp"]);
    assert_eq!(said["snippet"]["mcpServers"]["callstack"]["command"], "callstack");
    assert!(desk.sealed.read(".mcp.json").unwrap().contains("\"command\": \"callstack\""));
}

#[cfg(unix)]
#[test]
fn an_entry_is_written_through_no_link_out_of_the_project_and_over_nothing_unreadable() {
    let desk = TestEnv::without_store();
    std::fs::create_dir(desk.sealed.home().join(".claude")).unwrap();
    let outside = desk.sealed.root().join("outside.json");
    std::fs::write(&outside, "{}").unwrap();
    let file = desk.project().join(".mcp.json");
    std::os::unix::fs::symlink(&outside, &file).unwrap();
    says!(desk, ["init", "mcp"], @r#"
    exit 4
    --- stderr
    error: $ROOT/project/.mcp.json is a link that leads out of the project, to $ROOT/outside.json
    hint: Nothing was changed. Put what belongs to the project in its place, and try again.
    "#);
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "{}");
    std::fs::remove_file(&file).unwrap();
    std::fs::write(&file, "{ // mine\n}").unwrap();
    says!(desk, ["init", "mcp"], @r#"
    exit 4
    --- stderr
    error: $ROOT/project/.mcp.json can't be changed: it is no JSON object: key must be a string at line 1 column 3
    hint: It is left as it is. Claude Code does not read it either: mend it.
    "#);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{ // mine\n}");
}
