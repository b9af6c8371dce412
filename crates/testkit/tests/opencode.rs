use std::collections::BTreeSet;

use callstack_scripted_model::{
    Conversation, RecordedRequest, RequestKind, Script, ScriptedModel, Step, When, check,
};
use callstack_testkit::{OpenCode, Run, Sealed, assert_clean};
use serde_json::json;

fn assert_grows(requests: &[RecordedRequest]) {
    for pair in requests.windows(2) {
        assert_eq!(check::prefix(&pair[0], &pair[1]), []);
        assert!(pair[0].raw_messages().len() < pair[1].raw_messages().len());
    }
}

/// Two turns in two processes: reasoning, a call, two parallel calls, and words.
#[test]
fn a_session_without_a_plugin_only_ever_grows() {
    let Some(opencode) = OpenCode::locate_or_skip() else {
        return;
    };
    let sealed = Sealed::new().unwrap();
    let model = ScriptedModel::start(Script::steps([
        Step::text("I write it.")
            .and_call("write", json!({"filePath": "a.txt", "content": "hello from the script"}))
            .reasoning("A file is wanted."),
        Step::call("read", json!({"filePath": "a.txt"}))
            .and_call("bash", json!({"command": "echo parallel", "description": "says it"}))
            .reasoning("Now both at once.")
            .expect_contains("Wrote file successfully."),
        Step::text("All done.")
            .reasoning("That was it.")
            .expect_contains("1: hello from the script"),
        Step::text("You said it.").expect_contains("A file is wanted."),
    ]))
    .unwrap();
    opencode.configure(&sealed, &model.base_url()).unwrap();

    let first = opencode.run(&sealed, &Run::prompt("write a.txt and look at it").json()).unwrap();
    assert!(first.success(), "{first}");
    let types: Vec<String> = first
        .json_lines()
        .iter()
        .map(|line| line["type"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert!(types.iter().any(|kind| kind == "tool_use"), "{types:?}");
    assert_eq!(sealed.read("a.txt").unwrap(), "hello from the script");
    let second = opencode.run(&sealed, &Run::prompt("what did I say?").continued()).unwrap();
    assert!(second.success(), "{second}");
    assert!(second.stdout.contains("You said it."), "{second}");

    assert_clean(&model);
    let [session] = &model.sessions()[..] else { panic!("{:?}", model.sessions()) };
    let requests = model.agent_requests(session);
    assert_eq!(requests.len(), 4);
    assert_grows(&requests);
    assert_eq!(requests[0].first_user_text().as_deref(), Some("write a.txt and look at it"));
    assert_eq!(requests[3].last_user_text().as_deref(), Some("what did I say?"));
    let shown = requests[3].render();
    for reasoning in ["A file is wanted.", "Now both at once.", "That was it."] {
        assert!(shown.contains(&format!("[assistant reasoning] {reasoning}")), "{shown}");
    }
    let titles = model.requests().iter().filter(|r| r.kind == RequestKind::Title).count();
    assert_eq!(titles, 1);
}

/// A start with a plugin must not install anything, and the plugin finds its package.
#[test]
fn a_plugin_loads_without_an_installation() {
    let Some(opencode) = OpenCode::locate_or_skip() else {
        return;
    };
    let sealed = Sealed::new().unwrap();
    let script = Script::steps([Step::call("shout", json!({"word": "hey"})), Step::text("done")]);
    let model = ScriptedModel::start(script).unwrap();
    opencode.configure(&sealed, &model.base_url()).unwrap();
    let plugin = sealed
        .write(
            "shout.ts",
            r#"import { tool } from "@opencode-ai/plugin"
export const Shout = async () => ({
  tool: {
    shout: tool({
      description: "shouts",
      args: { word: tool.schema.string() },
      async execute(args) { return args.word.toUpperCase() + "!" },
    }),
  },
})
"#,
        )
        .unwrap();
    sealed.install_plugin("shout.ts", &plugin).unwrap();
    let run = opencode.run(&sealed, &Run::prompt("shout it")).unwrap();
    assert!(run.success(), "{run}");
    assert_clean(&model);
    let requests = model.agent_requests(&model.sessions()[0]);
    assert_eq!(requests[1].last_result_of("shout").as_deref(), Some("HEY!"), "{run}");
}

/// The features of the server that the tests of undo, forks, compaction and child sessions need.
#[test]
fn a_server_does_what_the_tests_need() {
    let Some(opencode) = OpenCode::locate_or_skip() else {
        return;
    };
    let sealed = Sealed::new().unwrap();
    let child = json!({"description": "sub", "prompt": "child work", "subagent_type": "general"});
    let model = ScriptedModel::start(
        Script::new()
            .conversation(Conversation::new([
                Step::call("task", child),
                Step::text("the child has answered").expect_contains("child's words"),
                Step::call("write", json!({"filePath": "b.txt", "content": "b"})),
                Step::text("second turn's end"),
                Step::text("after the undo").expect_lacks("write b"),
                Step::text("after the compaction").expect_contains("SUMMARY OF IT ALL"),
            ]))
            .conversation(Conversation::when(When::Child, [Step::text("child's words")]))
            .conversation(Conversation::when(
                When::LastUser("in the fork".into()),
                [Step::text("fork's words").expect_contains("child work")],
            ))
            .summary("SUMMARY OF IT ALL"),
    )
    .unwrap();
    opencode.configure(&sealed, &model.base_url()).unwrap();
    sealed.git_init().unwrap();
    let server = opencode.serve(&sealed).unwrap();
    let mut events = server.events().unwrap();
    let session = server.create_session().unwrap();

    let answer = server.prompt(&session, "start").unwrap();
    assert_eq!(answer["info"]["finish"], "stop", "{answer}");
    assert_eq!(model.sessions().len(), 2, "the child has a session of its own");
    assert_eq!(server.sessions().unwrap().as_array().map(Vec::len), Some(2));

    server.prompt_async(&session, "write b").unwrap();
    events
        .wait("the write", |e| {
            e["type"] == "file.edited"
                && e["properties"]["file"].as_str().is_some_and(|f| f.ends_with("b.txt"))
        })
        .unwrap();
    events.wait_idle(&session).unwrap();
    assert!(sealed.project().join("b.txt").exists());

    let forked = server.fork(&session, None).unwrap();
    server.prompt(&forked, "in the fork").unwrap();

    let undone = server.messages(&session).unwrap();
    let undone = undone.iter().rfind(|m| m["info"]["role"] == "user").unwrap();
    let undone = undone["info"]["id"].as_str().unwrap();
    server.revert(&session, undone).unwrap();
    assert!(!sealed.project().join("b.txt").exists(), "the undo takes the file away");
    server.unrevert(&session).unwrap();
    assert!(sealed.project().join("b.txt").exists(), "the redo brings it back");
    server.revert(&session, undone).unwrap();
    assert!(model.skip_next_prefix_check(&session));
    server.prompt(&session, "something else").unwrap();

    server.summarize(&session).unwrap();
    server.prompt(&session, "go on").unwrap();

    assert_clean(&model);
    let kinds: BTreeSet<String> =
        model.requests().iter().map(|r| format!("{:?}", r.kind)).collect();
    assert_eq!(Vec::from_iter(kinds), ["Agent", "Compaction", "Title"]);
}
