use std::sync::Arc;

use serde_json::json;

use super::*;

fn shown(message: &Value) -> HostMessage {
    decode(&message.to_string(), Path::new("/project")).unwrap()
}

fn assistant(parts: &Value) -> Value {
    json!({ "info": { "id": "msg_2", "role": "assistant" }, "parts": parts })
}

fn tool(name: &str, state: &Value) -> Value {
    json!({ "id": "prt_1", "type": "tool", "tool": name, "callID": "call_1", "state": state })
}

fn call_state(part: &Value) -> CallState {
    let shown = shown(&assistant(&json!([part])));
    shown.message.parts[0].call().unwrap().state
}

#[test]
fn a_user_message_keeps_apart_what_the_user_wrote_and_what_the_host_made() {
    let shown = shown(&json!({
        "info": { "id": "msg_1", "role": "user" },
        "parts": [
            { "id": "a", "type": "text", "text": " look at this " },
            { "id": "b", "type": "text", "text": "Called the Read tool", "synthetic": true },
            { "id": "c", "type": "text", "text": "never sent", "ignored": true },
            { "id": "d", "type": "file", "filename": "plan.png", "mime": "image/png" },
            { "id": "e", "type": "subtask", "prompt": "explore" },
            { "id": "f", "type": "something-new", "text": 3 },
        ],
    }));
    assert_eq!(shown.words, "look at this");
    let bodies: Vec<_> = shown.message.parts.into_iter().map(|part| part.body).collect();
    assert!(matches!(&bodies[0], PartBody::Text { synthetic: false, chars: 12, .. }));
    assert!(matches!(&bodies[1], PartBody::Text { synthetic: true, .. }));
    assert_eq!(bodies[2], PartBody::Other);
    assert!(
        matches!(&bodies[3], PartBody::File { name, mime } if name == "plan.png" && mime == "image/png")
    );
    assert!(matches!(&bodies[4], PartBody::Text { synthetic: false, .. }));
    assert_eq!(bodies[5], PartBody::Other);
}

#[test]
fn compactions_are_distinguished_from_the_conversation() {
    let standing = |message: &Value| shown(message).message.standing;
    let request = json!({
        "info": { "id": "msg_1", "role": "user" },
        "parts": [{ "id": "a", "type": "compaction", "auto": true }],
    });
    assert_eq!(standing(&request), MessageKind::CompactionRequest);
    let mut summary = json!({
        "info": { "id": "msg_2", "role": "assistant", "summary": true, "finish": "stop" },
        "parts": [
            { "id": "a", "type": "text", "text": "What was done" },
            { "id": "b", "type": "text", "text": " and what remains\n" },
        ],
    });
    assert_eq!(standing(&summary), MessageKind::Summary);
    assert_eq!(shown(&summary).summary.as_deref(), Some("What was done\n\nand what remains"));
    summary["info"]["error"] = json!({ "name": "APIError" });
    assert_eq!(standing(&summary), MessageKind::Normal, "one that failed hides nothing");
    assert_eq!(shown(&summary).summary, None);
    summary["info"] = json!({ "id": "msg_2", "role": "assistant", "summary": true });
    assert_eq!(standing(&summary), MessageKind::Normal, "one that is still being made");
    // A user message has a summary of another kind: of the files that its turn changed.
    let user = json!({
        "info": { "id": "msg_3", "role": "user", "summary": { "diffs": [] } },
        "parts": [{ "id": "c", "type": "text", "text": "go on" }],
    });
    assert_eq!(standing(&user), MessageKind::Normal);
}

#[test]
fn calls_are_open_completed_or_failed() {
    assert_eq!(call_state(&tool("bash", &json!({ "status": "running" }))), CallState::Open);
    assert_eq!(call_state(&tool("bash", &json!({ "status": "completed" }))), CallState::Completed);
    assert_eq!(call_state(&tool("bash", &json!({ "status": "error" }))), CallState::Failed);
}

#[test]
fn a_push_whose_answer_never_arrived_began_nothing_for_the_model() {
    let marked =
        json!({ "status": "completed", "metadata": { "callstack": { "opened": "frm-1" } } });
    assert_eq!(call_state(&tool("stack_frame_push", &marked)), CallState::Completed);
    let lost = json!({ "status": "completed", "metadata": { "truncated": false } });
    assert_eq!(call_state(&tool("stack_frame_push", &lost)), CallState::Failed);
    assert_eq!(call_state(&tool("stack_frame_activate", &lost)), CallState::Failed);
    for op in ["stack_frame_activate", "frame_push"] {
        let lost = json!({ "status": "completed", "metadata": {}, "input": { "op": op } });
        assert_eq!(call_state(&tool("stack", &lost)), CallState::Failed, "{op}");
    }
    let other = json!({ "status": "completed", "metadata": {}, "input": { "op": "stack_tree" } });
    assert_eq!(call_state(&tool("stack", &other)), CallState::Completed);
    // The text that a pop returned is in the fold, so the model reads it all the same.
    assert_eq!(call_state(&tool("stack_frame_pop", &lost)), CallState::Completed);
}

#[test]
fn facts_and_opened_frames_are_taken_from_the_calls() {
    let shown = shown(&assistant(&json!([
        tool(
            "bash",
            &json!({
                "status": "completed",
                "input": { "command": "make test\necho done" },
                "output": "ok",
                "metadata": { "exit": 2 },
            })
        ),
        tool(
            "read",
            &json!({
                "status": "completed", "input": { "filePath": "/project/src/a.rs" }, "output": "1: x",
            })
        ),
        tool(
            "edit",
            &json!({ "status": "error", "input": {}, "error": "no such text\nat line 3" })
        ),
        tool(
            "edit",
            &json!({
                "status": "completed", "input": { "filePath": "/project/src/b.rs" },
                "metadata": { "diff": "-x" },
            })
        ),
        tool(
            "apply_patch",
            &json!({
                "status": "completed", "input": { "patchText": "…" },
                "metadata": { "files": [
                    { "filePath": "/project/c.rs", "type": "update" },
                    { "filePath": "/project/d.rs", "type": "delete" },
                ] },
            })
        ),
        tool("write", &json!({ "status": "running", "input": { "filePath": "/project/e.rs" } })),
        tool(
            "stack_frame_push",
            &json!({
                "status": "completed", "metadata": { "callstack": { "opened": "frm-7" } },
            })
        ),
    ])));
    let calls: Vec<&ToolCall> = shown.message.calls().map(AsRef::as_ref).collect();
    let [run, read, failed, wrote, patched, running, push] = calls[..] else { panic!("{calls:?}") };
    assert_eq!((&run.action, run.exit), (&Action::Ran("make test …".to_owned()), Some(2)));
    assert_eq!(read.file_read(), Some("src/a.rs"));
    assert_eq!((failed.tool.as_str(), failed.state), ("edit", CallState::Failed));
    assert_eq!(failed.output.as_deref(), Some("no such text …"));
    assert_eq!(
        (wrote.files_written(), patched.files_written()),
        (&["src/b.rs".to_owned()][..], &["c.rs".to_owned()][..])
    );
    assert_eq!((failed.files_written().len(), running.files_written().len()), (0, 0));
    assert_eq!(push.tool, "stack_frame_push");
    let named = |call: &&&ToolCall| call.input_hash.is_some();
    assert_eq!(
        calls.iter().filter(named).collect::<Vec<_>>(),
        [&push],
        "the rest is known by what it did"
    );
    let answers = calls.iter().filter(|call| call.output.is_some()).count();
    assert_eq!(answers, 1, "answers are on the disk");
    assert_eq!(shown.opened, [("call_1".to_owned(), "frm-7".to_owned())]);
}

#[test]
fn an_assistants_words_are_its_last_and_its_tokens_all_that_it_read_and_wrote() {
    let shown = shown(&json!({
        "info": { "id": "msg_2", "role": "assistant",
            "tokens": { "input": 100, "output": 20, "reasoning": 5, "cache": { "read": 1000, "write": 7 } } },
        "parts": [
            { "id": "a", "type": "text", "text": "first" },
            { "id": "b", "type": "reasoning", "text": "hm" },
            { "id": "c", "type": "text", "text": " last " },
        ],
    }));
    assert_eq!(shown.words, "last");
    assert_eq!(shown.tokens, Some(1127));
    assert_eq!(shown.message.parts[1].body, PartBody::Reasoning { sealed: false });
}

#[test]
fn what_is_no_message_is_an_error_and_no_panic() {
    for text in ["", "{", "[]", "null", "{\"info\":{}}", "{\"parts\":[]}"] {
        assert!(decode(text, Path::new("/")).is_none(), "{text}");
    }
}

#[test]
fn written_files_are_those_that_a_tool_names_first_in_its_result() {
    let args = json!({ "filePath": "/project/a.txt" });
    assert_eq!(written(&args, &json!({})), ["/project/a.txt"]);
    assert_eq!(written(&args, &json!({ "filepath": "/project/b.txt" })), ["/project/b.txt"]);
    let files = json!({ "files": [
        { "filePath": "x", "type": "update" },
        { "filePath": "y", "movePath": "z", "type": "move" },
        { "filePath": "gone", "type": "delete" },
    ] });
    assert_eq!(written(&json!({}), &files), ["x", "z"]);
    assert_eq!(written(&json!({}), &Value::Null), Vec::<String>::new());
}

#[test]
fn how_work_is_divided_is_recognized() {
    let todos = json!({ "todos": [
        { "content": "parser", "status": "in_progress", "priority": "high", "id": "1" },
        { "content": "tests", "status": "pending" },
        { "content": "prose", "status": "cancelled" },
        { "content": "readme", "status": "completed" },
        { "content": "odd", "status": "shelved" },
        { "status": "pending" },
        7,
    ] });
    let list = tool("todowrite", &json!({ "status": "completed", "input": todos }));
    let refused = tool("todowrite", &json!({ "status": "error", "input": todos, "error": "no" }));
    let task = json!({
        "status": "completed",
        "input": { "description": "look", "prompt": "Look into it", "subagent_type": "general" },
        "output": "It is fine.",
    });
    let shown = shown(&assistant(&json!([list, refused, tool("task", &task)])));
    let divided: Vec<_> = shown.message.calls().filter(|call| call.division.is_some()).collect();
    let [list, task] = &divided[..] else { panic!("{divided:?}") };
    let (Some(Division::Todos(items)), Some(Division::Subagent { title, prompt })) =
        (&list.division, &task.division)
    else {
        panic!("{divided:?}")
    };
    assert_eq!(list.id, "call_1");
    let items: Vec<_> = items.iter().map(|it| (it.content.as_str(), it.status)).collect();
    let expected = [
        ("parser", TodoStatus::InProgress),
        ("tests", TodoStatus::Pending),
        ("prose", TodoStatus::Cancelled),
        ("readme", TodoStatus::Completed),
        ("odd", TodoStatus::Pending),
    ];
    assert_eq!(items, expected);
    assert_eq!((title.as_str(), prompt.as_str()), ("look", "Look into it"));
    assert_eq!(task.output.as_deref(), Some("It is fine."));
}

#[test]
fn a_message_that_was_broken_off_is_distinguished_from_a_reply() {
    let message = |error: Value| {
        json!({
            "info": { "id": "msg_2", "role": "assistant", "error": error },
            "parts": [{ "id": "a", "type": "text", "text": "I am about to" }],
        })
    };
    let aborted = json!({ "name": "MessageAbortedError", "data": {} });
    assert!(shown(&message(aborted)).broken_off);
    assert!(!shown(&message(Value::Null)).broken_off);
}

#[test]
fn files_that_were_written_are_named_relative_to_the_project() {
    let written = json!({
        "status": "completed",
        "input": { "filePath": "/project/src/a.rs", "content": "" },
        "metadata": { "filepath": "/project/src/a.rs" },
    });
    let failed = json!({ "status": "error", "input": { "filePath": "/project/b.rs" } });
    let shown = shown(&assistant(&json!([tool("write", &written), tool("edit", &failed)])));
    let wrote: Vec<_> = shown.message.calls().flat_map(|call| call.files_written()).collect();
    assert_eq!(wrote, ["src/a.rs"]);
}

#[test]
fn a_task_that_has_come_back_says_what_of_it() {
    let metadata = json!({"parentSessionId": "ses_a", "sessionId": "ses_b"});
    let background = json!({"sessionId": "ses_b", "background": true});
    let output = "<task id=\"ses_b\" state=\"completed\">\n<task_result>\nIt is </task_result> 6.\n\
                  </task_result>\n</task>";
    let returned = |state: Value| {
        let tasks = shown(&assistant(&json!([tool("task", &state)]))).tasks;
        tasks.into_iter().map(|task| (task.session, task.outcome)).next()
    };
    let stopped = |aborted: bool, message: &str| {
        Some(("ses_b".to_owned(), Err(Trouble { aborted, message: message.to_owned() })))
    };
    let with = |status: &str, key: &str, text: &str| json!({"status": status, "metadata": metadata, key: text});
    let answer = |text: &str| Some(("ses_b".to_owned(), Ok(text.to_owned())));
    assert_eq!(returned(with("completed", "output", output)), answer("It is </task_result> 6."));
    assert_eq!(returned(with("completed", "output", "bare ")), answer("bare"));
    let failed = "Subagent failed (task_id: ses_b): no way (really): none";
    assert_eq!(returned(with("error", "error", failed)), stopped(false, "no way (really): none"));
    let aborted = "Tool execution aborted";
    assert_eq!(returned(with("error", "error", aborted)), stopped(true, aborted));
    let open = returned(json!({"status": "running", "metadata": metadata}));
    assert_eq!(open, stopped(true, "its caller was interrupted"));
    let in_background = json!({"status": "completed", "metadata": background, "output": "running"});
    assert_eq!(returned(in_background), None);
    assert_eq!(returned(json!({"status": "error", "error": "unknown agent"})), None);
    assert_eq!(
        shown(&assistant(&json!([tool("bash", &with("completed", "output", ""))]))).tasks,
        []
    );
}

#[test]
fn results_that_may_leave_the_context_are_weighed_and_others_are_not() {
    let output = "four words of output";
    let results =
        |name: &str, state: Value| shown(&assistant(&json!([tool(name, &state)]))).results;
    let done = json!({ "status": "completed", "input": {}, "output": output });
    let weighed = estimate_tokens(output);
    let subject = Some(Subject::called("bash", "{}"));
    let part = "prt_1".to_owned();
    assert_eq!(results("bash", done.clone()), [ResultWeight { part, tokens: weighed, subject }]);
    let of_file =
        json!({ "status": "completed", "input": { "filePath": "/p/a" }, "output": output });
    let subject = |name: &str| results(name, of_file.clone())[0].subject.unwrap();
    assert_eq!(subject("write"), Subject::written("/p/a"));
    assert!(matches!(subject("read"), Subject::Read { lines: None, .. }));
    for name in ["stack_frame_push", "stack", "flame_push", "task", "todowrite", "skill"] {
        assert_eq!(results(name, done.clone()), [], "{name}");
    }
    let with = |name: &str, value: Value| {
        let mut state = done.clone();
        state[name] = value;
        results("read", state).len()
    };
    assert_eq!(with("status", "error".into()), 0);
    assert_eq!(with("status", "running".into()), 0);
    assert_eq!(with("output", Value::Null), 0);
    assert_eq!(with("attachments", json!([{ "type": "file", "mime": "image/png" }])), 0);
    assert_eq!(with("attachments", json!([])), 1);
    assert_eq!(with("attachments", Value::Null), 1);
    assert_eq!(with("time", json!({ "start": 1, "end": 2, "compacted": 3 })), 0);
    assert_eq!(with("time", json!({ "start": 1, "end": 2 })), 1);
}

#[test]
fn what_is_of_another_kind_than_it_should_be_counts_as_not_there() {
    let base = json!({
        "info": { "id": "m", "role": "assistant", "finish": "stop",
            "tokens": { "input": 5, "output": 6, "cache": { "read": 7, "write": 8 } } },
        "parts": [
            { "id": "p", "type": "text", "text": "the answer" },
            { "id": "t", "type": "tool", "tool": "bash", "callID": "c", "state": { "status": "completed",
                "input": { "command": "make" }, "output": "built", "metadata": { "exit": 0 } } },
        ],
    });
    assert_eq!(shown(&base).tokens, Some(26));
    let changed = |path: &str, value: Value| {
        let mut message = base.clone();
        let (holder, name) = path.rsplit_once('/').unwrap();
        let holder = message.pointer_mut(holder).unwrap();
        match name.parse::<usize>() {
            Ok(place) => holder[place] = value,
            Err(_) => holder[name] = value,
        }
        shown(&message)
    };
    let nested = (0..130).fold(json!(1), |inner, _| json!([inner]));
    let odd =
        [json!(-5), json!(1.5), json!(null), json!("7"), json!(1e30), json!({ "a": [] }), nested];
    for value in odd {
        for path in ["/info/tokens/input", "/info/tokens/cache", "/info/tokens"] {
            let tokens = changed(path, value.clone()).tokens;
            let rest =
                [("/info/tokens/input", 21), ("/info/tokens/cache", 11), ("/info/tokens", 0)];
            let rest = rest.iter().find(|it| it.0 == path).map(|it| it.1);
            assert_eq!(tokens, rest.filter(|rest| *rest > 0), "{path} {value}");
        }
        for path in
            ["/parts/0", "/parts/0/id", "/parts/0/text", "/parts/0/synthetic", "/info/finish"]
        {
            let shown = changed(path, value.clone());
            let ran = |call: &&Arc<ToolCall>| call.action == Action::Ran("make".to_owned());
            let commands = shown.message.calls().filter(ran).count();
            assert_eq!((shown.message.parts.len(), commands), (2, 1), "{path} {value}");
        }
        for path in ["/parts/1/state/metadata", "/parts/1/state/output", "/parts/1/state"] {
            assert_eq!(changed(path, value.clone()).words, "the answer", "{path} {value}");
        }
        let without_parts = changed("/parts", value.clone());
        let parts = value.as_array().map_or(0, Vec::len);
        assert_eq!((without_parts.message.parts.len(), without_parts.tokens), (parts, Some(26)));
        assert_eq!(changed("/info/role", value).message.role, Role::Assistant);
    }
    assert_eq!(changed("/info/tokens/input", json!(u64::MAX)).tokens, Some(21));
}

#[test]
fn half_a_character_is_read_as_one_that_is_unknown_and_kept_as_it_came() {
    let raw = r#"{"info":{"id":"m","role":"assistant"},"parts":[{"id":"p\ud83d","type":"text","text":"a\ud83d"},
        {"id":"t","type":"tool","tool":"bash","callID":"c","state":{"status":"completed","output":"x\ude00",
        "input":{"\ud83d":1,"command":"make"},"metadata":{"exit":1e999}}}]}"#;
    let shown = decode_any(raw.as_bytes(), Path::new("/project"));
    assert_eq!(shown.json, raw);
    assert_eq!(shown.words, "a\u{fffd}");
    assert_eq!(shown.message.parts[0].id, "p\u{fffd}");
    let call = shown.message.parts[1].call().unwrap();
    assert_eq!((&call.action, call.exit), (&Action::Ran("make".to_owned()), None));
}

#[test]
fn what_is_no_message_is_stood_for_by_one_that_holds_it() {
    for raw in ["null", "5", "[]", "{}", r#"{"info":{"role":"user"}}"#, r#""\ud83d""#, "nonsense"] {
        let shown = decode_any(raw.as_bytes(), Path::new("/project"));
        assert!(shown.message.id.starts_with("unreadable_"), "{shown:?}");
        let kept: Value = serde_json::from_str(&shown.json).unwrap();
        assert_eq!(kept["parts"], json!([{ "type": "unreadable", "text": raw }]));
        assert_eq!(kept["info"]["id"], shown.message.id);
        let again = decode_any(raw.as_bytes(), Path::new("/project"));
        assert_eq!(again.json, shown.json, "the same comes to the same");
    }
    let named = decode_any(br#"{"info":{"id":"m1","role":"user"},"parts":[}"#, Path::new("/"));
    assert_eq!((named.message.id.as_str(), named.message.role), ("m1", Role::User));
}

#[test]
fn reasoning_that_a_provider_signed_or_encrypted_is_known() {
    for (metadata, sealed) in [
        (json!({"anthropic": {"signature": "c2ln"}}), true),
        (json!({"anthropic": {"redactedData": "eA"}}), true),
        (json!({"openai": {"itemId": "rs_1", "reasoningEncryptedContent": "eA"}}), true),
        (json!({"openai": {"itemId": "rs_1", "reasoningEncryptedContent": null}}), false),
        (json!({"anthropic": {}}), false),
        (Value::Null, false),
    ] {
        let part = json!({"id": "p", "type": "reasoning", "text": "so", "metadata": metadata});
        let message = json!({"info": {"id": "m", "role": "assistant"}, "parts": [part]});
        let shown = decode(&message.to_string(), Path::new("/p")).unwrap();
        assert_eq!(shown.message.parts[0].body, PartBody::Reasoning { sealed }, "{metadata}");
    }
}
