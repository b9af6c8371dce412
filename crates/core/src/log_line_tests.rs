use serde_json::json;

use super::*;
use crate::transcript::Outcome;

#[test]
fn a_line_reads_as_the_specification_writes_it() {
    let ended = Event::FrameEnded {
        frame: FrameNum(2),
        outcome: Outcome {
            source: None,
            status: Status::Completed,
            results: Some("It lexes.\nAll of it.".to_owned()),
            results_compacted: None,
        },
        reason: None,
    };
    let line = LogLine::of(&ended).unwrap().to_string();
    assert_eq!(line, r#"Frame completed { frame: "f2", results: "It lexes.\nAll of it." }"#);
    assert_eq!(LogLine::new("Nothing").to_string(), "Nothing");
    let counted = LogLine::new("Counted").with("tokens", 12).with("of", json!(["a"])).to_string();
    assert_eq!(counted, r#"Counted { tokens: 12, of: ["a"] }"#);
}

#[test]
fn a_long_text_is_cut_and_stays_on_one_line() {
    let line = LogLine::new("Said").with("text", "ä\n".repeat(5_000)).to_string();
    assert!(line.len() < 1_000 && line.ends_with("…\" }") && !line.contains('\n'), "{line}");
}

#[test]
fn a_secret_is_masked_also_where_the_text_would_be_cut_in_its_midst() {
    let token = ["gh", "p_", &"a1B2c3".repeat(6)].concat();
    for before in [0, SHOWN - 10] {
        let text = format!("{}: {token}, as told", "x".repeat(before));
        let line = LogLine::new("Said").with("text", text).to_string();
        assert!(line.contains("‹mask") && !line.contains(&token[..8]), "{line}");
    }
}

#[test]
fn what_only_keeps_the_record_is_not_shown() {
    let moved = Event::ActiveSet { session: "ses_1".to_owned(), frame: None };
    assert_eq!(LogLine::of(&moved), None);
}
