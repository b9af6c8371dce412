//! Exports for other tools.

use std::fs;
use std::path::{Path, PathBuf};

use callstack_testkit::{Loopback, Reply};
use serde_json::Value;

use super::test_env::{Said, TestEnv, says};

fn recording(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../recordings/tests/recordings").join(name)
}

/// A project with a session of OpenCode's in it.
fn imported() -> TestEnv {
    let desk = TestEnv::new();
    fs::copy(recording("opencode-long.json"), desk.project().join("session.json")).unwrap();
    desk.ok(&["import", "session.json"]);
    desk
}

/// A project with sessions of Claude Code's in it, which started others.
fn with_children() -> TestEnv {
    let desk = TestEnv::new();
    desk.ok(&["import", recording("claude-code").to_str().unwrap()]);
    desk
}

/// Runs a command with variables.
fn with(desk: &TestEnv, variables: &[(&str, &str)], args: &[&str]) -> Said {
    let mut command = desk.command(&desk.project(), args);
    command.envs(variables.iter().copied());
    desk.finish(command)
}

fn rows(csv: &str) -> Vec<Vec<&str>> {
    // No cell of these tables has a comma in it.
    csv.lines().map(|row| row.split(',').collect()).collect()
}

fn column<'a>(rows: &[Vec<&'a str>], name: &str) -> Vec<&'a str> {
    let place = rows[0].iter().position(|it| *it == name).unwrap();
    rows[1..].iter().map(|row| row[place]).collect()
}

#[test]
fn the_tree_is_a_diagram() {
    let desk = TestEnv::with_frames();
    says!(desk, ["export", "--format", "mermaid"], @r#"
    exit 0
    %% project by callstack 0.1.0
    flowchart LR
      f1["▶ f1 Build the parser"]:::in_progress
      f2["✓ f2 Read the grammar"]:::completed
      f1 --> f2
      f3["✗ f3 Try a generator"]:::failed
      f1 --> f3
      f4["○ f4 Document the errors"]:::planned
      f1 --> f4
      f5["▶ f5 Write the parser"]:::in_progress
      f1 --> f5
      classDef planned fill:#eceff1,stroke:#78909c,color:#263238,stroke-dasharray:4
      classDef in_progress fill:#e3f2fd,stroke:#1565c0,color:#0d2c54
      classDef completed fill:#e8f5e9,stroke:#2e7d32,color:#14361a
      classDef failed fill:#ffebee,stroke:#c62828,color:#4a0d0d
      classDef blocked fill:#fff8e1,stroke:#b26a00,color:#402600
      classDef invalidated fill:#f5f5f5,stroke:#9e9e9e,color:#616161
    "#);
    says!(desk, ["export", "f2", "--format", "mermaid", "-o", "tree.mmd"], @r"
    exit 0
    1 frame and 0 calls of 1 session written to $ROOT/project/tree.mmd
    ");
    let written = fs::read_to_string(desk.project().join("tree.mmd")).unwrap();
    assert_eq!(written, desk.ok(&["export", "f2", "--format", "mermaid"]));
}

#[test]
fn a_table_has_a_row_for_each_call_with_what_its_provider_reported() {
    let desk = imported();
    let table = desk.ok(&["export", "--format", "csv"]);
    let rows = rows(&table);
    let replayed = desk.ok(&["replay", "session.json", "--export", "csv"]);
    let replayed = self::rows(&replayed);
    assert!(rows.len() > 5, "{table}");
    for name in ["message", "model", "input_tokens", "cached_tokens", "output_tokens", "tools"] {
        assert_eq!(column(&rows, name), column(&replayed, name), "{name}");
    }
    let report = desk.json(&["replay", "session.json"]);
    let ways = report["sum"].as_array().unwrap();
    let of =
        |name: &str| ways.iter().find(|way| way["way"] == name).unwrap()["whole"]["input"].as_u64();
    let sum =
        |name: &str| column(&replayed, name).iter().map(|it| it.parse::<u64>().unwrap()).sum();
    assert_eq!(of("linear"), Some(sum("tokens_without_frames")));
    assert_eq!(of("frames"), Some(sum("tokens_with_frames")));
}

#[test]
fn a_flame_graph_and_a_trace_hold_the_work_of_imported_sessions() {
    let desk = with_children();
    let json = |args: &[&str]| serde_json::from_str::<Value>(&desk.ok(args)).unwrap();
    let graph = json(&["export", "--format", "speedscope"]);
    let names: Vec<&str> = graph["profiles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].as_str().unwrap().rsplit(": ").next().unwrap())
        .collect();
    assert!(names.starts_with(&["time", "tokens sent", "tokens written"]), "{names:?}");
    let table = desk.ok(&["export", "--format", "csv"]);
    let table = rows(&table);
    let of_first = column(&table, "session").into_iter().zip(column(&table, "input_tokens"));
    let first = column(&table, "session")[0];
    let sent: u64 = of_first
        .filter(|(session, _)| *session == first)
        .map(|(_, tokens)| tokens.parse::<u64>().unwrap())
        .sum();
    assert_eq!(graph["profiles"][1]["endValue"], sent);
    let trace = json(&["export", "--format", "chrome-trace"]);
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |category: &str| events.iter().filter(|event| event["cat"] == category).count();
    assert!(of("frame") > 0 && of("model") > 0 && of("tool") > 0, "{trace}");
    let part = json(&["export", "f2", "--format", "chrome-trace"]);
    assert!(part["traceEvents"].as_array().unwrap().len() < events.len());
}

#[test]
fn spans_go_to_the_collector_of_the_environment_and_nowhere_without_one() {
    let desk = imported();
    let send = ["export", "--format", "otlp", "--send"];
    says!(desk, ["export", "--format", "otlp", "--send"], @r"
    exit 2
    --- stderr
    error: no collector is set to send spans to: OTEL_EXPORTER_OTLP_ENDPOINT is empty
    hint: Set it in your environment: OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318.
    ");
    says!(desk, ["export", "--format", "csv", "--send"], @r"
    exit 2
    --- stderr
    error: --send is for spans only
    hint: Add --format otlp, or leave it out.
    ");
    let server = Loopback::start(vec![Reply::with(200, "")]).unwrap();
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", server.address());
    // Without the option nothing is sent, whatever the environment says.
    assert_eq!(with(&desk, &[endpoint], &["export", "--format", "otlp"]).code, 0);
    assert!(server.asked().is_empty());
    let said = with(&desk, &[endpoint], &send);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let asked = server.asked();
    assert!(!asked.is_empty());
    for asked in asked {
        assert!(asked.head.starts_with("post /v1/traces"), "{}", asked.head);
    }
    let written: Value = serde_json::from_str(&desk.ok(&["export", "--format", "otlp"])).unwrap();
    let spans: usize = written["resourceSpans"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["scopeSpans"][0]["spans"].as_array().unwrap().len())
        .sum();
    assert!(
        said.stdout.starts_with(&format!("{spans} spans of 1 session sent to http://127.0.0.1:")),
        "{}",
        said.stdout
    );
    let refuses = Loopback::start(vec![Reply::with(404, "")]).unwrap();
    let said = with(&desk, &[("OTEL_EXPORTER_OTLP_ENDPOINT", refuses.address())], &send);
    assert_eq!(said.code, 6, "{}", said.stderr);
    assert!(said.stderr.contains("no span was sent: nobody takes traces at"), "{}", said.stderr);
}

#[test]
fn a_recording_is_not_written_over() {
    let desk = imported();
    let before = fs::read(desk.project().join("session.json")).unwrap();
    says!(desk, ["replay", "session.json", "--export", "csv", "-o", "session.json"], @r"
    exit 4
    --- stderr
    error: $ROOT/project/session.json is a recorded session
    hint: Give --output another name, or remove the file first.
    ");
    assert_eq!(fs::read(desk.project().join("session.json")).unwrap(), before);
    let said = desk.run(&["replay", "session.json", "--export", "speedscope", "-o", "graph.json"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stdout.contains("Largest request"), "the figures are shown, too: {}", said.stdout);
    let graph = fs::read_to_string(desk.project().join("graph.json")).unwrap();
    assert!(serde_json::from_str::<Value>(&graph).unwrap()["profiles"].is_array());
}

#[test]
fn a_secret_is_masked_in_every_format_until_it_is_revealed() {
    let desk = TestEnv::new();
    let secret = format!("ghp_{}", "0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R");
    desk.ok(&["push", &format!("Rotate {secret}"), "-c", "rotated"]);
    for format in ["speedscope", "chrome-trace", "otlp", "mermaid"] {
        let export = ["export", "--format", format];
        let masked = desk.ok(&export);
        assert!(!masked.contains(&secret), "{masked}");
        assert!(masked.contains("Rotate"), "{masked}");
        let revealed = desk.ok(&[&export[..], &["--reveal"]].concat());
        assert!(revealed.contains(&secret) || format == "mermaid", "{revealed}");
    }
}
