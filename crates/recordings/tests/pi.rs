//! Records of pi that the fixtures do not contain.

use serde_json::{Value, json};

use crate::{of_lines, shown};

fn header() -> Value {
    json!({"type": "session", "version": 3, "id": "161803", "cwd": "/home/ada/shop"})
}

fn message(id: &str, parent: Option<&str>, role: &str, text: &str) -> Value {
    let message = json!({"role": role, "content": [{"type": "text", "text": text}]});
    json!({"type": "message", "id": id, "parentId": parent, "message": message})
}

fn compaction(kept: &str) -> Value {
    json!({"type": "compaction", "id": "c", "parentId": "5", "summary": "The basket is read.",
        "firstKeptEntryId": kept, "tokensBefore": 900})
}

fn session(kept: &str) -> [Value; 9] {
    [
        header(),
        message("1", None, "user", "Read the basket"),
        message("2", Some("1"), "assistant", "It is read."),
        json!({"type": "model_change", "id": "3", "parentId": "2", "provider": "p", "modelId": "m"}),
        json!({"type": "thinking_level_change", "id": "3b", "parentId": "3", "thinkingLevel": "low"}),
        message("4", Some("3b"), "user", "Sort it"),
        message("5", Some("4"), "assistant", "It is sorted."),
        compaction(kept),
        message("6", Some("c"), "user", "Print it"),
    ]
}

#[test]
fn a_compaction_keeps_what_is_after_the_record_that_it_names() {
    for kept in ["3", "3b", "4"] {
        assert_eq!(shown(&of_lines(&session(kept))), ["c", "4", "5", "6"], "from {kept}");
    }
    assert_eq!(shown(&of_lines(&session("5"))), ["c", "5", "6"]);
    assert_eq!(shown(&of_lines(&session("gone"))), ["c", "6"]);
}

#[test]
fn a_summary_replaces_the_one_before_it_also_where_it_keeps_what_stood_before_that() {
    let mut lines = session("4").to_vec();
    let mut second = compaction("5");
    (second["id"], second["parentId"]) = ("d".into(), "6".into());
    lines.extend([second, message("7", Some("d"), "user", "Thanks")]);
    assert_eq!(shown(&of_lines(&lines)), ["d", "5", "6", "7"]);
}

#[test]
fn files_of_old_name_what_a_compaction_keeps_by_its_line() {
    let bare = |role: &str, text: &str| json!({"type": "message", "message": {"role": role, "content": text}});
    let answer = json!({"role": "assistant", "content": [{"type": "text", "text": "It is read."}]});
    let lines = |kept: u64| {
        [
            json!({"type": "session", "id": "1618", "cwd": "/home/ada/shop"}),
            bare("user", "Read the basket"),
            json!({"type": "message", "message": answer}),
            json!({"type": "model_change", "provider": "p", "modelId": "m"}),
            bare("user", "Sort it"),
            json!({"type": "compaction", "summary": "Read.", "firstKeptEntryIndex": kept}),
            bare("user", "Print it"),
        ]
    };
    let texts = |kept| {
        let recording = of_lines(&lines(kept));
        let ids: Vec<String> = shown(&recording).into_iter().map(str::to_owned).collect();
        ids.join(" ")
    };
    assert_eq!(texts(1), "#5 #1 #2 #4 #6");
    assert_eq!(texts(2), "#5 #2 #4 #6");
    assert_eq!(texts(3), "#5 #4 #6");
    assert_eq!(texts(4), "#5 #4 #6");
    assert_eq!(texts(0), "#5 #6", "the first line is no message");
}
