//! Recorded sessions, measured.

use std::fs;

use serde_json::{Value, json};

use super::desk::{Desk, says};

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

fn desk() -> Desk {
    let desk = Desk::new();
    fs::write(desk.project().join("session.jsonl"), session()).unwrap();
    desk
}

#[test]
fn a_session_is_told_as_a_table() {
    says!(desk(), ["replay", "session.jsonl"], @r"
    exit 0
    11111111-1111-4111-8111-111111111111
      Claude Code, 14 calls, 1 frame
      tokens as estimated: the recording reports none
                     mean    median   largest of lin.         input         billed of lin.    kept
      linear        4,251     4,627     7,948   1.000        59,519         15,092   1.000 100.0 %
      compaction    4,251     4,627     7,948   1.000        59,519         15,092   1.000 100.0 %
      masking       4,251     4,627     7,948   1.000        59,519         15,092   1.000 100.0 %
      window        4,251     4,627     7,948   1.000        59,519         15,092   1.000 100.0 %
      frames        3,736     3,967     7,927   0.997        52,305         15,183   1.006 100.0 %
    ");
}

#[test]
fn all_figures_are_there_for_programs() {
    let desk = desk();
    let told = desk.json(&["replay", "session.jsonl"]);
    let [session] = &told["sessions"].as_array().unwrap()[..] else { panic!("{told:#}") };
    assert_eq!((&session["calls"], &session["frames"]), (&json!(14), &json!(1)));
    let ways = session["ways"].as_array().unwrap();
    let names: Vec<_> = ways.iter().map(|way| way["way"].as_str().unwrap()).collect();
    assert_eq!(names, ["linear", "compaction", "masking", "window", "frames"]);
    assert_eq!(ways[0]["ofLinear"]["billed"], json!(1.0));
    assert_eq!(ways[0]["retention"], json!(1.0));
    assert!(ways[4]["input"].as_u64() < ways[0]["input"].as_u64(), "{ways:#?}");
    for (sum, way) in told["sum"].as_array().unwrap().iter().zip(ways) {
        assert_eq!((&sum["input"], &sum["kept"]), (&way["input"], &way["kept"]));
    }
    // Twice the same session is twice the sum.
    let twice = desk.json(&["replay", "session.jsonl", "session.jsonl"]);
    let sum = |told: &Value| told["sum"][4]["input"].as_u64().unwrap();
    assert_eq!(sum(&twice), 2 * sum(&told));
}

#[test]
fn everything_that_was_sent_can_be_had() {
    let desk = desk();
    let told = desk.json(&["replay", "session.jsonl", "--dump", "sent"]);
    let files: Vec<_> = fs::read_dir(desk.project().join("sent")).unwrap().flatten().collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    assert_eq!(file.file_name(), "01-11111111-1111-4111-8111-111111111111.jsonl");
    let lines: Vec<Value> = fs::read_to_string(file.path())
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let calls = told["sessions"][0]["calls"].as_u64().unwrap();
    assert_eq!(lines.len() as u64, 5 * calls);
    let first = json!({
        "session": "11111111-1111-4111-8111-111111111111", "call": 0, "way": "linear",
        "items": [{"id": "00000000-0000-4000-8000-000000000001/0", "text": "Find out what parses dates."}],
        "output": "Read\n/home/me/app/src/file_0.rs",
    });
    assert_eq!(lines[0], first);
    let last = &lines[lines.len() - 1];
    assert_eq!((&last["way"], &last["call"]), (&json!("frames"), &json!(calls - 1)));
    let text = last["items"].to_string();
    assert!(text.contains("[callstack] frame f2") && !text.contains("fn parse_1_1()"), "{text}");
}

#[test]
fn the_page_is_one_file() {
    let desk = desk();
    let told = desk.ok(&["replay", "session.jsonl", "--html", "page.html"]);
    assert!(told.contains("frames"), "{told}");
    let page = fs::read_to_string(desk.project().join("page.html")).unwrap();
    assert!(
        page.starts_with("<!doctype html>") && page.contains("<polyline") && page.contains("<rect")
    );
    assert!(
        !page.contains("http")
            || page.matches("http").count() == page.matches("http-equiv").count()
    );
}

#[test]
fn nothing_is_kept_of_a_session_that_is_measured() {
    let desk = desk();
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
    let said = desk.run(&["replay", "session.jsonl", "--html", "no/such/page.html"]);
    assert_eq!(said.code, 6, "{}", said.stderr);
    let said = desk.run(&["replay"]);
    assert_eq!(said.code, 2, "{}", said.stderr);
}

#[test]
fn a_last_line_that_was_cut_off_is_counted() {
    let desk = desk();
    let whole = session();
    fs::write(desk.project().join("cut.jsonl"), &whole[..whole.len() - 40]).unwrap();
    let told = desk.json(&["replay", "cut.jsonl"]);
    assert_eq!(told["sessions"][0]["unreadable"], json!(1), "{told:#}");
    assert_eq!(told["sessions"][0]["calls"], json!(13));
}
