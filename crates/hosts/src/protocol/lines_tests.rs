use std::io::BufReader;

use proptest::prelude::*;

use super::super::wire::{OfSession, Sync};
use super::*;
use crate::opencode::OpenCode;
use crate::protocol::Host as _;

fn stand_in(raw: &[u8]) -> String {
    OpenCode::default().stand_in(raw)
}

fn all(input: &[u8], longest: usize, chunk: usize) -> Vec<Line> {
    let mut input = BufReader::with_capacity(chunk.max(1), input);
    let mut lines = Vec::new();
    while let Some(line) = next(&mut input, longest).unwrap() {
        lines.push(line);
    }
    lines
}

#[test]
fn lines_are_taken_up_to_a_length_and_what_follows_a_longer_one_too() {
    let input = b"12345\n123456\n\n1\xff\nlast";
    for chunk in [1, 3, 6, 100] {
        let head = b"123456".to_vec();
        let whole = |text: &[u8]| Line::Whole(text.to_vec());
        assert_eq!(
            all(input, 5, chunk),
            [
                whole(b"12345"),
                Line::TooLong { head, bytes: 6 },
                whole(b""),
                whole(b"1\xff"),
                whole(b"last")
            ]
        );
    }
    assert_eq!(all(b"", 5, 3), []);
}

#[test]
fn of_a_line_that_is_too_long_only_the_beginning_is_kept() {
    let long =
        format!("{{\"id\":7,\"params\":{{\"session\":\"s\",\"x\":\"{}\"}}}}\n", "y".repeat(9_000));
    for (longest, chunk) in [(4_000, 10), (100, 5_000), (4_000, 20_000)] {
        let lines = all(long.as_bytes(), longest, chunk);
        let [Line::TooLong { head, bytes }] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!((head.len(), *bytes), (HEAD, long.len() as u64 - 1));
        assert_eq!(id_of(head), Some(7));
        assert_eq!(session_of(head).as_deref(), Some("s"));
    }
}

#[test]
fn parameters_are_mended_but_messages_stay_as_they_came() {
    let given = br#"{"id":1,"method":"sync","params":{"session":"s\ud83d","keep":0,"keep":0,
        "messages":[{"a":"\ud83d"},5]}}"#;
    let mut mended = String::new();
    let request = request(given, &mut mended, &stand_in).unwrap();
    let raw = request.params.unwrap().get();
    let mut mended = String::new();
    let sync: Sync<'_> = params_with_messages(raw, &mut mended, &stand_in).unwrap();
    assert_eq!(sync.session, "s\u{fffd}");
    let messages: Vec<_> = sync.messages.unwrap().iter().map(|it| it.get()).collect();
    assert_eq!(messages, [r#"{"a":"\ud83d"}"#, "5"]);
    let of: OfSession = params(r#"{"session":"s","session":"t\ude00","x":1e999}"#).unwrap();
    assert_eq!(of.session, "t\u{fffd}");
}

#[test]
fn a_line_that_is_no_utf8_is_read_and_its_message_kept_as_bytes() {
    let line = b"{\"id\":1,\"method\":\"sync\",\"params\":{\"session\":\"s\",\"keep\":0,\"messages\":[
        {\"info\":{\"id\":\"m1\",\"role\":\"user\"},\"parts\":[{\"type\":\"text\",\"text\":\"h\xff\"}]},
        {\"info\":{\"id\":\"m2\"}}, nonsense]}}";
    let mut mended = String::new();
    let request = request(line, &mut mended, &stand_in).unwrap();
    let raw = request.params.unwrap().get();
    let mut mended = String::new();
    let sync: Sync<'_> = params_with_messages(raw, &mut mended, &stand_in).unwrap();
    let messages: Vec<_> = sync.messages.unwrap().iter().map(|it| it.get()).collect();
    assert_eq!(messages[1], "{\"info\":{\"id\":\"m2\"}}");
    let first = OpenCode::default().decode(messages[0].as_bytes(), "".as_ref());
    assert_eq!((first.message.id.as_str(), first.words.as_str()), ("m1", "h\u{fffd}"));
    assert!(first.json.contains("\"unreadable\":{\"hex\":\"7b22696e666f22"), "{}", first.json);
    let third = OpenCode::default().decode(messages[2].as_bytes(), "".as_ref());
    assert!(
        third.json.contains("{\"type\":\"unreadable\",\"text\":\"nonsense\"}"),
        "{}",
        third.json
    );
}

#[test]
fn what_is_no_request_is_refused() {
    for line in
        [&b"nonsense"[..], b"{\"id\":1,\"method\":5}", b"{\"id\":1}", b"\xff", b"[]", b"{\"id\":1"]
    {
        let mut mended = String::new();
        assert!(request(line, &mut mended, &stand_in).is_err(), "{line:?}");
    }
    assert_eq!(id_of(b"{\"id\":1,\"method\":5}"), Some(1));
    assert_eq!(id_of(b"{\"id\":\"1\"}"), None);
}

proptest! {
    /// The lines are those of a splitter that has all of the input before it.
    #[test]
    fn lines_are_split_as_by_hand(input in proptest::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..80),
                                  longest in 0_usize..12, chunk in 1_usize..9) {
        let mut expected: Vec<&[u8]> = input.split(|byte| *byte == b'\n').collect();
        if expected.last().is_some_and(|last| last.is_empty()) {
            expected.pop();
        }
        let got = all(&input, longest, chunk);
        prop_assert_eq!(got.len(), expected.len());
        for (line, expected) in got.iter().zip(expected) {
            match line {
                Line::Whole(line) => prop_assert_eq!(&line[..], expected),
                Line::TooLong { bytes, head } => {
                    prop_assert_eq!(*bytes, expected.len() as u64);
                    prop_assert!(expected.len() > longest && expected.starts_with(head));
                }
            }
        }
    }
}
