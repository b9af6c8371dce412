//! Recorded sessions, measured.

use std::fs;

use serde_json::{Value, json};

use super::report::{document, is_answer_of};
use super::test_env::{TestEnv, says};

/// A session file of Claude Code's: some reading and a reply, thanks, and a question.
fn session() -> String {
    let mut lines = Vec::new();
    let mut parent = Value::Null;
    let mut add = |kind: &str, message: Value| {
        let number = lines.len() + 1;
        let uuid = format!("00000000-0000-4000-8000-{number:012}");
        lines.push(
            json!({
                "parentUuid": parent, "isSidechain": false, "userType": "external",
                "cwd": "/home/me/app", "sessionId": "11111111-1111-4111-8111-111111111111",
                "version": "2.1.0", "type": kind, "message": message, "uuid": uuid,
                "timestamp": format!("2026-01-01T10:{:02}:{:02}.000Z", number / 60, number % 60),
            })
            .to_string(),
        );
        parent = json!(uuid);
    };
    let user = |text: &str| json!({"role": "user", "content": text});
    let said = |id: &str, text: &str| json!({"role": "assistant", "id": id, "model": "m", "content": [{"type": "text", "text": text}]});
    add("user", user("Find out what parses dates."));
    for at in 0..12 {
        let (id, call) = (format!("msg_{at}"), format!("toolu_{at}"));
        add(
            "assistant",
            json!({"role": "assistant", "id": id, "model": "m", "content": [{
                "type": "tool_use", "id": call, "name": "Read",
                "input": {"file_path": format!("/home/me/app/src/file_{at}.rs")},
            }]}),
        );
        let content: String = (0..80)
            .fold(String::new(), |text, line| text + &format!("fn parse_{at}_{line}() {{}}\n"));
        add(
            "user",
            json!({"role": "user", "content": [{
                "type": "tool_result", "tool_use_id": call, "content": content,
            }]}),
        );
    }
    add("assistant", said("msg_a", "parse_3_7 in src/file_3.rs does."));
    add("user", user("Thanks. Is it tested?"));
    add("assistant", said("msg_b", "parse_3_7 is not tested."));
    lines.join("\n") + "\n"
}

fn desk() -> TestEnv {
    let desk = TestEnv::new();
    fs::write(desk.project().join("session.jsonl"), session()).unwrap();
    desk
}

#[test]
fn the_outcome_comes_first() {
    says!(desk(), ["replay", "session.jsonl"], @"
    exit 0
    With frames  14 calls in 1 session, 1 frame; whole requests, with system prompt and tools
      Largest request  23k → 24k tokens          +6 %
      Tokens sent      270k → 283k tokens        +5 %
      Bill             53k → 57k tokens          +6 %  new tokens count 1.25, cached 0.1
                       53k → 57k tokens          +6 %  with 0 more reads

    Other ways  as shares of what was sent as recorded
                  largest    sent    bill  with reads  text at hand
      compaction     1.00    1.00    1.00        1.00           0/0
      masking        1.00    1.00    1.00        1.00           0/0
      window         1.00    1.00    1.00        1.00           0/0
      frames         1.06    1.05    1.06        1.06           0/0

    --verbose shows each session, --html draws them on a page.
    ");
}

#[test]
fn a_session_is_shown_as_a_table() {
    says!(desk(), ["replay", "session.jsonl", "--verbose"], @"
    exit 0
    11111111-1111-4111-8111-111111111111
      Claude Code, 14 calls, 1 frame
      tokens as estimated: the recording reports none
                     mean    median   largest of lin.         input         billed of lin.    kept
      linear        4,251     4,627     7,948   1.000        59,519         15,092   1.000 100.0 %
      compaction    4,251     4,627     7,948   1.000        59,519         15,092   1.000 100.0 %
      masking       4,251     4,627     7,948   1.000        59,519         15,092   1.000 100.0 %
      window        4,251     4,627     7,948   1.000        59,519         15,092   1.000 100.0 %
      frames        3,697     3,967     7,927   0.997        51,757         14,498   0.961 100.0 %
      whole requests, with 15,000 tokens of system prompt and tools (assumed), and at most 1,500 of callstack's
                  largest of lin.        billed of lin.    with reads of lin. reads    verbatim  no pauses: largest  with reads
      linear       22,948   1.000        53,342   1.000        53,342   1.000     0         0/0              1.000       1.000
      compaction   22,948   1.000        53,342   1.000        53,342   1.000     0         0/0              1.000       1.000
      masking      22,948   1.000        53,342   1.000        53,342   1.000     0         0/0              1.000       1.000
      window       22,948   1.000        53,342   1.000        53,342   1.000     0         0/0              1.000       1.000
      frames       24,427   1.064        56,573   1.061        56,573   1.061     0         0/0              1.064       1.061
    ");
}

#[test]
fn all_figures_are_there_for_programs() {
    let desk = desk();
    let data = desk.json(&["replay", "session.jsonl"]);
    let [session] = &data["sessions"].as_array().unwrap()[..] else { panic!("{data:#}") };
    assert_eq!((&session["calls"], &session["frames"]), (&json!(14), &json!(1)));
    let ways = session["ways"].as_array().unwrap();
    let names: Vec<_> = ways.iter().map(|way| way["way"].as_str().unwrap()).collect();
    assert_eq!(names, ["linear", "compaction", "masking", "window", "frames"]);
    assert_eq!(ways[0]["ofLinear"]["billed"], json!(1.0));
    assert_eq!(ways[0]["retention"], json!(1.0));
    assert!(ways[4]["input"].as_u64() < ways[0]["input"].as_u64(), "{ways:#?}");
    for (sum, way) in data["sum"].as_array().unwrap().iter().zip(ways) {
        assert_eq!((&sum["input"], &sum["kept"]), (&way["input"], &way["kept"]));
    }
}

#[test]
fn a_session_counts_once_however_often_it_is_named() {
    let desk = desk();
    let data = desk.json(&["replay", "session.jsonl"]);
    assert_eq!(desk.json(&["replay", "session.jsonl", "session.jsonl"]), data);
    // Two of them are twice the sum.
    let other = session().replace("11111111-1111", "22222222-2222");
    fs::write(desk.project().join("other.jsonl"), other).unwrap();
    let both = desk.json(&["replay", "session.jsonl", "other.jsonl"]);
    let sum = |data: &Value| data["sum"][4]["input"].as_u64().unwrap();
    assert_eq!(sum(&both), 2 * sum(&data));
    let files: Vec<_> = both["sessions"].as_array().unwrap().iter().map(|it| &it["file"]).collect();
    assert_eq!(files, ["session.jsonl", "other.jsonl"]);
}

#[test]
fn what_a_star_stands_for_is_read_as_the_folder_is() {
    let desk = TestEnv::new();
    let folder = desk.project().join("past");
    let id = "11111111-1111-4111-8111-111111111111";
    fs::create_dir_all(folder.join(id).join("subagents")).unwrap();
    fs::create_dir_all(folder.join("memory")).unwrap();
    fs::write(folder.join(format!("{id}.jsonl")), session()).unwrap();
    fs::write(folder.join("index.json"), "{\"sessions\": []}").unwrap();
    let agent = session()
        .replace("\"isSidechain\":false", "\"isSidechain\":true,\"agentId\":\"a1\"")
        .replace("what parses dates", "what parses times");
    fs::write(folder.join(id).join("subagents").join("agent-a1.jsonl"), agent).unwrap();
    let whole = desk.json(&["replay", "past"]);
    assert_eq!(whole["sessions"].as_array().unwrap().len(), 2, "{whole:#}");
    let named = [&format!("{id}.jsonl"), id, "memory", "index.json"].map(|it| format!("past/{it}"));
    let [file, subagents, memory, index] = named.each_ref().map(String::as_str);
    let said = desk.run(&["replay", file, subagents, memory, index, "--json"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let data: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(data["sum"], whole["sum"]);
    assert!(
        said.stderr.contains("past/memory: there is no recorded session in this folder")
            && said.stderr.contains("past/index.json"),
        "{}",
        said.stderr
    );
    let said = desk.run(&["replay", memory, memory]);
    assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{}", said.stderr);
    // Taking them over takes the same for granted.
    let said = desk.run(&["import", file, subagents, memory]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stdout.contains("2 sessions imported"), "{}", said.stdout);
    assert!(said.stderr.contains("past/memory: there is no recorded session"), "{}", said.stderr);
}

#[test]
fn everything_that_was_sent_can_be_had() {
    let desk = desk();
    let data = desk.json(&["replay", "session.jsonl", "--dump", "sent"]);
    let files: Vec<_> = fs::read_dir(desk.project().join("sent")).unwrap().flatten().collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    assert_eq!(file.file_name(), "01-11111111-1111-4111-8111-111111111111.jsonl");
    let lines: Vec<Value> = fs::read_to_string(file.path())
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let calls = data["sessions"][0]["calls"].as_u64().unwrap();
    assert_eq!(lines.len() as u64, 5 * calls);
    let first = json!({
        "session": "11111111-1111-4111-8111-111111111111", "call": 0, "way": "linear",
        "items": [{"id": "00000000-0000-4000-8000-000000000001/0", "text": "Find out what parses dates."}],
        "output": "/home/me/app/src/file_0.rs",
    });
    assert_eq!(lines[0], first);
    let last = &lines[lines.len() - 1];
    assert_eq!((&last["way"], &last["call"]), (&json!("frames"), &json!(calls - 1)));
    let text = last["items"].to_string();
    assert!(
        text.contains("[callstack] first turn of frame f1") && !text.contains("fn parse_1_1()"),
        "{text}"
    );
}

#[test]
fn the_page_is_one_file() {
    let desk = desk();
    let printed = desk.ok(&["replay", "session.jsonl", "--html", "page.html"]);
    assert!(printed.contains("frames"), "{printed}");
    let page = fs::read_to_string(desk.project().join("page.html")).unwrap();
    let document = document(&page);
    assert_eq!((&document["source"], &document["version"]), (&json!("recording"), &json!(1)));
    let frames = document["frames"]["frames"].as_array().unwrap();
    assert!(!frames.is_empty());
    is_answer_of("stack_frames", &document["frames"]);
    for frame in frames {
        let handle = frame["handle"].as_str().unwrap();
        is_answer_of("stack_frame_details", &document["details"][handle]);
        is_answer_of("stack_read_frame", &document["logs"][handle]);
    }
    let calls = &document["replay"]["report"]["sessions"][0]["calls"];
    assert!(calls.as_u64() > Some(0), "{calls}");
}

#[test]
fn what_is_written_down_is_for_its_owner_and_without_secrets() {
    let desk = TestEnv::new();
    let token = ["gh", "p_", &"a1B2c3".repeat(6)].concat();
    let words = format!("Find out what parses dates. {token}");
    let text = session().replace("Find out what parses dates.", &words);
    let text = text.replace("parse_3_7 in", &format!("DB_PASSWORD={token} parse_3_7 in"));
    fs::write(desk.project().join("session.jsonl"), text).unwrap();
    // A page that is there already may be for everybody.
    fs::write(desk.project().join("page.html"), "<title>callstack replay</title>").unwrap();
    let args = ["replay", "session.jsonl", "--html", "page.html", "--dump", "sent"];
    let printed = desk.ok(&args);
    let sent = fs::read_dir(desk.project().join("sent")).unwrap().next().unwrap().unwrap().path();
    let page = desk.project().join("page.html");
    let texts = || [&sent, &page].map(|file| fs::read_to_string(file).unwrap());
    for text in texts().iter().chain([&printed]) {
        assert!(!text.contains(&token), "{text}");
    }
    assert!(texts()[0].contains("Find out what parses dates. ‹masked: GitHub token›"));
    #[cfg(unix)]
    for file in [&sent, &page] {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    desk.ok(&[&args[..], &["--reveal"]].concat());
    assert!(texts()[0].contains(&words));
}

#[test]
fn a_page_takes_the_place_of_an_older_page_only() {
    let desk = desk();
    let recording = fs::read_to_string(desk.project().join("session.jsonl")).unwrap();
    for _ in 0..2 {
        desk.ok(&["replay", "session.jsonl", "--html", "page.html"]);
    }
    says!(desk, ["replay", "session.jsonl", "--html", "session.jsonl"], @"
    exit 4
    --- stderr
    error: $ROOT/project/session.jsonl is there already, and is no page of callstack
    hint: Name another file with --html, or remove that one first.
    ");
    assert_eq!(fs::read_to_string(desk.project().join("session.jsonl")).unwrap(), recording);
}

#[test]
fn nothing_is_kept_of_a_session_that_is_measured() {
    let desk = desk();
    fs::remove_dir(desk.project().join(".callstack")).unwrap();
    desk.ok(&["replay", "session.jsonl"]);
    assert!(!desk.project().join(".callstack").exists());
}

#[test]
fn what_is_no_session_is_said_to_be_none() {
    let desk = desk();
    let files = [("empty", ""), ("other.json", "{\"a\": 1}"), ("text", "hello")];
    for (name, content) in files {
        fs::write(desk.project().join(name), content).unwrap();
        let said = desk.run(&["replay", name]);
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{name}: {}", said.stderr);
        assert!(
            said.stderr.starts_with("error: ") && said.stderr.contains(name),
            "{}",
            said.stderr
        );
    }
    let said = desk.run(&["replay", "nowhere.jsonl"]);
    assert_eq!(said.code, 3, "{}", said.stderr);
    let said = desk.run(&["replay", "text", "--json"]);
    let error: Value = serde_json::from_str(&said.stdout)
        .unwrap_or_else(|_| serde_json::from_str(&said.stderr).unwrap());
    assert!(error.to_string().contains("Known are the session files of Claude Code"), "{error:#}");
    let said = desk.run(&["replay", "session.jsonl", "--html", "no/such/page.html"]);
    assert_eq!(said.code, 6, "{}", said.stderr);
    let said = desk.run(&["replay"]);
    assert_eq!(said.code, 3, "{}", said.stderr);
}

#[test]
fn a_last_line_that_was_cut_off_is_counted() {
    let desk = desk();
    let whole = session();
    fs::write(desk.project().join("cut.jsonl"), &whole[..whole.len() - 40]).unwrap();
    let data = desk.json(&["replay", "cut.jsonl"]);
    assert_eq!(data["sessions"][0]["unreadable"], json!(1), "{data:#}");
    assert_eq!(data["sessions"][0]["calls"], json!(13));
}
