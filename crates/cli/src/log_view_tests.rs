use serde_json::json;

use super::*;

fn entry(position: u64, message: &Value) -> LoggedMessage {
    LoggedMessage {
        position,
        session: "ses_1".to_owned(),
        version: 1,
        at: 0,
        purged: false,
        notice: None,
        message: Some(message.clone()),
        markdown: None,
        stored_lines: None,
    }
}

fn drawn(width: usize, messages: &[Value]) -> String {
    let zone = TimeZone::fixed(jiff::tz::offset(2));
    let mut view = LogView { zone, ..LogView::new(Some(width)) };
    let mut page = Page::default();
    for (at, message) in (1..).zip(messages) {
        view.draw(&entry(at, message), &mut page);
    }
    anstream::adapter::strip_str(page.as_str()).to_string()
}

fn said(role: &str, at: i64, parts: &Value) -> Value {
    json!({"info": {"role": role, "time": {"created": at}}, "parts": parts})
}

fn ran(tool: &str, input: &Value, output: &str) -> Value {
    let time = json!({"start": 1_000, "end": 4_000});
    let state = json!({"status": "completed", "input": input, "output": output, "time": time});
    json!({"type": "tool", "tool": tool, "callID": "call_1", "state": state})
}

#[test]
fn calls_are_shown_without_fences_and_json() {
    let todos = json!([{"content": "Lex", "status": "completed"}, {"content": "Parse"}]);
    let parts = json!([
        {"type": "step-start"},
        {"type": "reasoning", "text": "It may be the lexer."},
        {"type": "text", "text": "Let me look."},
        ran("bash", &json!({"command": "cargo test"}), "running 2 tests\n\n\tok"),
        ran("edit", &json!({"filePath": "src/a.rs", "newString": "let a = 1;\nlet b = 2;"}), ""),
        ran("todowrite", &json!({"todos": todos}), "2 items"),
        {"type": "tool", "tool": "read", "state": {"status": "error", "input": {}, "error": "no such file"}},
        {"type": "tool", "tool": "bash", "state": {"status": "running", "input": {"command": "make"}}},
        {"type": "patch", "id": "prt_1", "files": ["a.rs", "b.rs"]},
    ]);
    let mut answer = said("assistant", 1_700_000_030_000, &parts);
    answer["info"]["modelID"] = json!("large-1");
    answer["info"]["tokens"] = json!({"input": 12_000, "output": 345, "cache": {"read": 1_000}});
    answer["info"]["error"] = json!({"name": "Aborted", "data": {"message": "stopped"}});
    let asked =
        said("user", 1_700_000_000_000, &json!([{"type": "text", "text": "Fix the build"}]));
    insta::assert_snapshot!(drawn(80, &[asked, answer]), @"

    1  user  15 Nov 2023, 00:13:20
      Fix the build

    2  assistant  00:13:50 · large-1 · 13,000 tokens read, 345 written
      thought:
      It may be the lexer.

      Let me look.

      bash  cargo test  ✓ 3s
      │ running 2 tests
      │
      │ 	ok

      edit  ✓ 3s
        filePath: src/a.rs
        newString:
          let a = 1;
          let b = 2;

      todowrite  ✓ 3s
        todos:
          - content: Lex, status: completed
          - content: Parse
      │ 2 items

      read  ✗
      │ no such file

      bash  make  running
      │ no result

      patch
        files: a.rs, b.rs
      ✗ error
        name: Aborted
        data: message: stopped
    ");
}

#[test]
fn prose_is_broken_between_words_and_code_is_not() {
    let text = "one two three four five six seven\n\n    let code = \"stays on one line\";\nwide 日本語 日本語\n\
                Pneumonoultramicroscopicsilicovolcanoconiosis is long";
    let shown = drawn(22, &[said("user", 0, &json!([{"type": "text", "text": text}]))]);
    insta::assert_snapshot!(shown, @r#"

    1  user  1 Jan 1970, 02:00:00
      one two three four
      five six seven

          let code = "stays on one line";
      wide 日本語 日本語
      Pneumonoultramicroscopicsilicovolcanoconiosis
      is long
    "#);
}

#[test]
fn the_day_is_shown_once_and_as_clocks_here_have_it() {
    let at = |at: i64| said("user", at, &json!([]));
    let shown = drawn(80, &[at(1_700_000_000_000), at(1_700_000_060_000), at(1_700_090_000_000)]);
    insta::assert_snapshot!(shown, @"

    1  user  15 Nov 2023, 00:13:20

    2  user  00:14:20

    3  user  16 Nov 2023, 01:13:20
    ");
}

#[test]
fn what_is_no_message_steers_no_terminal() {
    let evil = "\u{1b}[2J evil";
    let call = ran(evil, &json!({"command": evil, "b\u{1b}": [evil]}), evil);
    let shown = drawn(80, &[said("user", 0, &json!([{"type": "text", "text": evil}, call]))]);
    assert!(!shown.contains('\u{1b}') && shown.contains("\\u{1b}[2J evil"), "{shown}");
    let broken = entry(1, &json!("no json \u{1b}[2J"));
    let mut page = Page::default();
    LogView::new(None).draw(&broken, &mut page);
    let shown = anstream::adapter::strip_str(page.as_str()).to_string();
    assert!(shown.contains("no json \\u{1b}[2J"), "{shown}");
}
