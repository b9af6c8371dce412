//! Exports of a session of the real `OpenCode`, beside its requests on the wire.

use callstack_scripted_model::{Checks, Conversation, RecordedRequest, Script, Step};
use callstack_testkit::{Run, assert_clean};
use serde_json::Value;

use super::project::Project;
use super::steps::{bash, pop, push, together};

#[test]
fn calls_and_tools_stand_in_the_frames_that_they_were_made_in() {
    let checks = Checks { prefix: false, ..Checks::default() };
    let steps = vec![
        together([push("Count", "counted"), bash("echo one")]),
        bash("echo two"),
        pop("Two lines."),
        bash("echo three"),
        Step::text("Counted."),
    ];
    let script = Script::new().conversation(Conversation::new(steps).checks(checks));
    let Some(project) = Project::new(script) else { return };
    project.run(&Run::prompt("Count the lines."));
    assert_clean(&project.model);
    let export = |format: &str| {
        let said = project.callstack.run(&project.sealed, &["export", "--format", format]).unwrap();
        assert!(said.success(), "{said}");
        said.stdout
    };

    let table = export("csv");
    let rows: Vec<Vec<&str>> = table.lines().map(|row| row.split(',').collect()).collect();
    let column = |name: &str| -> Vec<&str> {
        let place = rows[0].iter().position(|it| *it == name).unwrap();
        rows[1..].iter().map(|row| row[place]).collect()
    };
    assert_eq!(column("frame"), ["f1", "f2", "f2", "f1", "f1"], "{table}");
    let sent: Vec<u64> = project.requests().iter().map(RecordedRequest::token_estimate).collect();
    let exported = column("input_tokens");
    assert_eq!(exported, sent.iter().map(u64::to_string).collect::<Vec<_>>());
    assert_eq!(column("tokens_with_frames"), exported);
    let status = project.callstack.run(&project.sealed, &["status", "--json"]).unwrap();
    let status: Value = serde_json::from_str(&status.stdout).unwrap();
    let without = column("tokens_without_frames");
    let without: u64 = without.iter().map(|tokens| tokens.parse::<u64>().unwrap()).sum();
    assert_eq!(status["requests"]["session"]["estimatedWithout"]["sent"], without, "{table}");

    let graph: Value = serde_json::from_str(&export("speedscope")).unwrap();
    assert_eq!(graph["profiles"][1]["endValue"], sent.iter().sum::<u64>());

    let spans: Value = serde_json::from_str(&export("otlp")).unwrap();
    let spans = spans["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone();
    let attribute = |span: &Value, key: &str| -> Option<String> {
        let found = span["attributes"].as_array().unwrap().iter().find(|it| it["key"] == key)?;
        found["value"]["stringValue"].as_str().map(str::to_owned)
    };
    let frame = |handle: &str| {
        let is_it = |it: &&Value| {
            attribute(it, "gen_ai.operation.name").as_deref() == Some("invoke_agent")
                && attribute(it, "callstack.frame").as_deref() == Some(handle)
        };
        spans.iter().find(is_it).unwrap()["spanId"].clone()
    };
    let commands: Vec<_> = spans.iter().filter(|it| it["name"] == "execute_tool bash").collect();
    let parents: Vec<_> = commands.iter().map(|it| it["parentSpanId"].clone()).collect();
    assert_eq!(parents, [frame("f2"), frame("f2"), frame("f1")]);
    let nano = |span: &Value, name: &str| span[name].as_str().unwrap().parse::<u64>().unwrap();
    for span in &spans {
        assert!(nano(span, "startTimeUnixNano") <= nano(span, "endTimeUnixNano"), "{span}");
    }
    assert!(commands.iter().all(|it| nano(it, "endTimeUnixNano") > 1_700_000_000_000_000_000));
}
