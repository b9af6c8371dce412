//! Finding things again, folded away or not.

use serde_json::{Value, json};

use super::test_env::{TestEnv, says};

/// A session whose agent read a file in a frame, popped it, and went on.
fn with_session() -> TestEnv {
    let desk = TestEnv::new();
    let message = |id: &str, role: &str, parts: Value| json!({"info": {"id": id, "role": role, "sessionID": "ses_a"}, "parts": parts});
    let text = |words: &str| json!([{"id": format!("prt_{words}"), "type": "text", "text": words}]);
    let read = json!([{"id": "prt_read", "type": "tool", "tool": "read", "callID": "call_read",
        "state": {"status": "completed", "input": {"filePath": "src/wire/header.rs"},
            "output": "const MAGIC: u32 = 0xFEED_BEEF;\nfn parse_header() {}"}}]);
    let record = |messages: &[Value]| json!({"method": "record", "params": {"session": "ses_a", "messages": messages}});
    let tool = |id: u64, name: &str, message: &str, args: Value| {
        json!({"id": id, "method": "tool", "params": {"name": name, "args": args,
            "session": "ses_a", "message": message, "call": format!("call_{id}")}})
    };
    let said = json!({"session": "ses_a", "message": "msg_1", "text": "Speed up the reader"});
    let requests = [
        json!({"id": 1, "method": "message", "params": said}),
        record(&[message("msg_1", "user", text("Speed up the reader"))]),
        record(&[message("msg_2", "assistant", text("I look first"))]),
        tool(
            2,
            "stack_frame_push",
            "msg_2",
            json!({"title": "Read the code", "successCriteria": "Every caller is known"}),
        ),
        record(&[message("msg_3", "assistant", read)]),
        record(&[message("msg_4", "assistant", text("parse_header has no other caller"))]),
        tool(3, "stack_frame_pop", "msg_4", json!({"results": "parse_header is called once."})),
        record(&[message("msg_5", "assistant", text("Now the reader itself"))]),
    ];
    let lines: Vec<_> = requests.iter().map(|request| format!("{request}\n")).collect();
    let served = desk.run_with(&["host", "opencode"], lines.concat().as_bytes());
    assert_eq!(
        served.stdout.matches("\"result\"").count(),
        3,
        "{}{}",
        served.stdout,
        served.stderr
    );
    desk
}

/// The places that a search finds; where there is none it ends with 3.
fn places(desk: &TestEnv, args: &[&str]) -> Value {
    let said = desk.run(&[args, &["--json"]].concat());
    let found: Value = serde_json::from_str(&said.stdout).unwrap();
    let places = found["places"].clone();
    assert_eq!(said.code, if places == json!([]) { 3 } else { 0 }, "{args:?}: {}", said.stderr);
    places
}

#[test]
fn words_are_found_in_results_and_messages_with_the_way_back() {
    let desk = with_session();
    says!(desk, ["search", "parse", "header"], @r"
    exit 0
    f2 Read the code
      Every caller is known parse_header is called once.
      callstack show f2
    f2 Read the code, message 1 (assistant)
      read src/wire/header.rs const MAGIC: u32 = 0xFEED_BEEF; fn parse_header() {}
      callstack log f2 --from 1
    f2 Read the code, message 2 (assistant)
      parse_header has no other caller
      callstack log f2 --from 2
    ");
    says!(desk, ["search", "magic", "--frame", "f2"], @r"
    exit 0
    f2 Read the code, message 1 (assistant)
      read src/wire/header.rs const MAGIC: u32 = 0xFEED_BEEF; fn parse_header() {}
      callstack log f2 --from 1
    ");
    says!(desk, ["search", "reader", "--frame", "f2"], @r"
    exit 3
    no text that is kept in f2 or below it holds reader
    --raw looks through ids and encoded data, too
    ");
    let found = desk.json(&["search", "src/wire/header.rs"]);
    assert_eq!(found["places"][0]["message"]["id"], "msg_3");
    assert_eq!(found["places"][0]["message"]["position"], 1);
    assert_eq!(found["places"][0]["frame"]["handle"], "f2");
    let seen = &found["places"].as_array().unwrap().last().unwrap();
    assert_eq!((&seen["kind"], &seen["frame"]["handle"]), (&json!("evidence"), &json!("f2")));
    says!(desk, ["search", "wire/header.rs"], @"
    exit 0
    f2 Read the code, message 1 (assistant)
      read src/wire/header.rs const MAGIC: u32 = 0xFEED_BEEF; fn parse_header() {}
      callstack log f2 --from 1
    f2 Read the code, evidence
      read whole: src/wire/header.rs
      callstack show f2 --evidence
    ");
    let absolute = desk.project().join("src/wire/header.rs");
    assert_eq!(desk.json(&["search", absolute.to_str().unwrap()])["places"], found["places"]);
}

#[test]
fn an_exact_string_is_found_within_words_too() {
    let desk = with_session();
    let place = |query: &str| places(&desk, &["search", "--exact", query]);
    for query in ["xFEED_BE", "0xFEED_BEEF;\nfn", "MAGIC: u32 = 0", "_", "eade"] {
        assert!(!place(query).as_array().unwrap().is_empty(), "{query:?}");
    }
    for query in ["0xfeed", "MAGIC : u32", "zzz"] {
        assert_eq!(place(query), json!([]), "{query:?}");
    }
    assert_eq!(desk.json(&["search", "feed_beef"])["places"][0]["message"]["id"], "msg_3");
}

#[test]
fn a_limit_is_kept_and_said() {
    let desk = with_session();
    let found = desk.json(&["search", "reader", "--limit", "1"]);
    assert_eq!(found["places"].as_array().unwrap().len(), 1);
    assert_eq!(found["more"], true);
}

#[test]
fn nothing_to_look_for_is_refused() {
    let desk = with_session();
    says!(desk, ["search", "?"], @r#"
    exit 2
    --- stderr
    error: there is nothing to search for
    hint: Give words, a "quoted string", an identifier or a file's path.
    "#);
    says!(desk, ["search", "word", "--frame", "f9"], @r"
    exit 3
    --- stderr
    error: there is no frame `f9`
    hint: See all frames with `callstack tree`.
    ");
    says!(desk, ["search", "unheard-of"], @r"
    exit 3
    no text that is kept holds unheard-of
    --raw looks through ids and encoded data, too
    ");
}

#[test]
fn ids_and_encoded_data_are_found_where_messages_are_looked_through_as_they_are() {
    let desk = with_session();
    let encoded = "iVBOR/w0KGgo+AAAA".repeat(20);
    let part =
        json!({"id": "prt_pic", "type": "file", "url": format!("data:image/png;base64,{encoded}")});
    let message =
        json!({"info": {"id": "msg_6", "role": "user", "sessionID": "ses_a"}, "parts": [part]});
    let token = ["gh", "p_", &"a1B2c3".repeat(6)].concat();
    let secret = json!({"info": {"id": token, "role": "user", "sessionID": "ses_a"}, "parts": []});
    let record =
        json!({"method": "record", "params": {"session": "ses_a", "messages": [message, secret]}});
    assert_eq!(desk.run_with(&["host", "opencode"], format!("{record}\n").as_bytes()).code, 0);
    for query in ["prt_pic", "\"callID\":\"call_read\"", "w0KGgo+AAAAiVBOR/w0K"] {
        assert_eq!(places(&desk, &["search", "--exact", query]), json!([]), "{query}");
        let found = desk.json(&["search", "--exact", "--raw", query]);
        assert_eq!(found["places"].as_array().unwrap().len(), 1, "{query}");
    }
    says!(desk, ["search", "--raw", "call_read"], @r#"
    exit 0
    f2 Read the code, message 1 (assistant)
      …ssistant","sessionID":"ses_a"},"parts":[{"id":"prt_read","type":"tool","tool":"read","callID":"call_read","state":{"status":"completed","input":{"filePath":"src/wire/header.rs"},"output":"const MAGIC…
      callstack log f2 --from 1 --raw
    "#);
    says!(desk, ["search", "--raw", "no-such-id"], @r"
    exit 3
    no message that is kept holds no-such-id
    ");
    for (args, is_there) in [(&["--raw"][..], false), (&["--raw", "--reveal"], true)] {
        let args = [&["search", &token], args].concat();
        assert_eq!(places(&desk, &args) != json!([]), is_there, "{args:?}");
    }
}

#[test]
fn a_part_of_a_log_says_where_it_goes_on_and_search_leads_to_what_was_changed() {
    let desk = with_session();
    let part = desk.ok(&["log", "f2", "--count", "1"]);
    assert!(part.ends_with("there is more: go on with --from 2\n"), "{part}");
    assert!(!desk.ok(&["log", "f2", "--count", "1", "--raw"]).contains("there is more"));
    assert!(!desk.ok(&["log", "f2"]).contains("there is more"));
    let beyond = desk.ok(&["log", "f2", "--from", "99"]);
    assert!(beyond.ends_with("no such message\n"), "{beyond}");
    let text = json!([{"id": "prt_4", "type": "text", "text": "said otherwise"}]);
    let info = json!({"id": "msg_4", "role": "assistant", "sessionID": "ses_a"});
    let messages = json!([{"info": info, "parts": text}]);
    let record = json!({"method": "record", "params": {"session": "ses_a", "messages": messages}});
    assert_eq!(desk.run_with(&["host", "opencode"], format!("{record}\n").as_bytes()).code, 0);
    let found = desk.ok(&["search", "\"no other caller\""]);
    assert!(found.contains("message 2 (assistant, changed since)"), "{found}");
    assert!(found.contains("  callstack log f2 --from 2 --versions\n"), "{found}");
    assert!(desk.ok(&["log", "f2", "--from", "2", "--versions"]).contains("no other caller"));
}
