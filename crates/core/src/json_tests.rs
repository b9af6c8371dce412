use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn nested(levels: usize) -> String {
    format!("{}1{}", "[".repeat(levels), "]".repeat(levels))
}

#[test]
fn what_every_reader_takes_stays_as_it_is() {
    let whole = [
        r#"{"a":[1,-2.5e3,null,true],"b":"\ud83d\ude00 \\ud83d \" 😀","c":{}}"#,
        " [ ] ",
        "\"\\u00e4\"",
        &nested(DEPTH),
    ];
    for text in whole {
        assert!(matches!(mended(text), Cow::Borrowed(same) if same == text), "{text}");
        read(text);
    }
}

#[test]
fn half_a_character_is_replaced_wherever_it_stands() {
    let broken = r#"{"\ud83d":"a\ud83d","b":["\ude00\ud83d\ude00\ud83d\ud83d"],"c":"\uDC00"}"#;
    assert!(serde_json::from_str::<Value>(broken).is_err());
    let whole = r#"{"�":"a�","b":["�😀��"],"c":"�"}"#;
    assert_eq!(read(&mended(broken)), read(whole));
}

#[test]
fn a_number_out_of_every_range_is_no_number() {
    let digits = "9".repeat(400);
    let broken = format!(r#"{{"a":1e400,"b":-{digits},"c":[1e308,18446744073709551616]}}"#);
    assert!(serde_json::from_str::<Value>(&broken).is_err());
    let mended = read(&mended(&broken));
    assert_eq!(mended["a"], Value::Null);
    assert_eq!(mended["b"], Value::Null);
    assert_eq!(mended["c"][0], 1e308);
    assert!(mended["c"][1].is_f64());
}

#[test]
fn what_stands_too_deep_is_left_out_and_what_follows_it_is_not() {
    let broken = format!(r#"{{"deep":{},"next":"there"}}"#, nested(100_000));
    let mended = read(&mended(&broken));
    assert_eq!(mended["next"], "there");
    let mut value = &mended["deep"];
    let mut levels = 1;
    while let Some(inner) = value.get(0) {
        (value, levels) = (inner, levels + 1);
    }
    assert_eq!((levels, value), (DEPTH, &Value::from("…")));
}

#[test]
fn bare_control_characters_become_spaces() {
    assert_eq!(read(&mended("\"a\u{1}b\nc\"")), "a b c");
}

#[test]
fn objects_and_arrays_are_taken_apart_without_being_read() {
    let line = b" { \"a\" : [1, \"]\xff\\\"\"] , \"b\":{\"c\":[{}]},\"a\":-1.5e3 } ";
    let all: [(&[u8], &[u8]); 3] =
        [(b"a", b"[1, \"]\xff\\\"\"]"), (b"b", b"{\"c\":[{}]}"), (b"a", b"-1.5e3")];
    assert_eq!(fields(line).unwrap(), all);
    let elements_of_a: [&[u8]; 2] = [b"1", b"\"]\xff\\\"\""];
    assert_eq!(elements(all[0].1).unwrap(), elements_of_a);
    assert_eq!(elements(b"[]").unwrap(), Vec::<&[u8]>::new());
    let broken_off: [&[u8]; 7] =
        [b"{", b"{\"a\"", b"{\"a\":", b"{\"a\":[1}", b"{\"a\":\"", b"", b"[1"];
    for broken_off in broken_off {
        assert_eq!(fields(broken_off), None);
        assert_eq!(elements(broken_off), None);
    }
}

#[test]
fn the_beginning_of_an_object_says_what_it_has() {
    let line = b"{\"id\": 7,\"params\":{\"session\":\"ses_a\",\"messages\":[{\"info\":{\"id\":\"ms";
    assert_eq!(begun(line, "id").unwrap(), b"7");
    let params = begun(line, "params").unwrap();
    assert_eq!(begun(params, "session").unwrap(), b"\"ses_a\"");
    assert_eq!(begun(params, "purpose"), None);
    assert_eq!(begun(b"[1]", "id"), None);
}

/// JSON of every kind, as a text.
fn any_json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<f64>().prop_map(|number| serde_json::json!(number).to_string()),
        "[a-z\\\\\"]{0,6}".prop_map(|text| serde_json::json!(text).to_string()),
        "(\\\\u[dD][89ab-f][0-9a-f]{2}|\\\\ud83d\\\\ude00|é){0,4}"
            .prop_map(|it| format!("\"{it}\"")),
        Just("1e999".to_owned()),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            proptest::collection::vec(inner, 0..4).prop_map(|all| format!("[{}]", all.join(" , "))),
            pair.prop_map(|(a, b)| format!("{{\"a\":{a},\"a\": {b}}}")),
        ]
    })
}

proptest! {
    #[test]
    fn mended_json_is_taken_by_a_strict_reader(text in any_json()) {
        let mended = mended(&text);
        prop_assert!(serde_json::from_str::<Value>(&mended).is_ok(), "{text} became {mended}");
        prop_assert_eq!(&super::mended(&mended), &mended);
        if serde_json::from_str::<Value>(&text).is_ok() {
            prop_assert_eq!(&*mended, &text);
        }
    }

    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(
        prop_oneof![Just(b'"'), Just(b'\\'), Just(b'{'), Just(b']'), Just(b','), Just(b'u'), Just(b'd'),
                    Just(b'8'), any::<u8>()], 0..60)) {
        let text = String::from_utf8_lossy(&bytes);
        mended(&text);
        fields(&bytes);
        elements(&bytes);
        begun(&bytes, "d8");
    }
}
