use proptest::prelude::*;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::*;
use crate::messages::hex;

#[test]
fn the_words_are_what_they_were() {
    // If this fails, stored bodies would be read wrongly: restore the text, and give the new one a file and a code of
    // its own.
    let hash = hex(&Sha256::digest(&*WORDS));
    assert_eq!(hash, "741d1259fa63d8e7785267eab85a347fe8365955aff2197b2b00549eb6f22975");
}

/// Returns an id that is unique among the messages of a session.
fn id(at: u64) -> String {
    let hash = hex(&Sha256::digest(at.to_be_bytes()));
    format!("{}-{}-{}-{}-{}", &hash[..8], &hash[8..12], &hash[12..16], &hash[16..20], &hash[20..32])
}

/// A call and its answer, as several agents write them down.
fn small_messages() -> Vec<(&'static str, Value)> {
    let output = "error: no field `total` on type `Basket`\n --> src/basket.rs:14:9\n";
    vec![
        (
            "OpenCode",
            json!({
            "info": {"id": id(1), "sessionID": id(2), "role": "assistant", "parentID": id(3),
                "mode": "build", "agent": "build", "path": {"cwd": "/home/ada/shop", "root": "/home/ada/shop"},
                "cost": 0, "tokens": {"input": 812, "output": 64, "reasoning": 0, "cache": {"read": 15_104, "write": 0}},
                "modelID": "small", "providerID": "local", "time": {"created": 1_770_000_412_345_u64}},
            "parts": [{"type": "tool", "callID": id(4), "tool": "bash", "state": {"status": "completed",
                "input": {"command": "cargo build", "description": "Builds the shop"}, "output": output,
                "title": "Builds the shop", "metadata": {"output": output, "exit": 101, "truncated": false},
                "time": {"start": 1_770_000_413_000_u64, "end": 1_770_000_417_250_u64}},
                "id": id(5), "sessionID": id(2), "messageID": id(1)}]}),
        ),
        (
            "Claude Code",
            json!({
            "parentUuid": id(1), "isSidechain": false, "userType": "external", "cwd": "/home/ada/shop",
            "sessionId": id(2), "version": "2.1.7", "gitBranch": "basket", "type": "user",
            "message": {"role": "user", "content": [{"tool_use_id": format!("toolu_01{}", &id(3)[..8]),
                "type": "tool_result", "content": output, "is_error": true}]},
            "uuid": id(4), "timestamp": "2026-02-02T09:14:31.412Z",
            "toolUseResult": {"stdout": "", "stderr": output, "interrupted": false, "isImage": false}}),
        ),
        (
            "Codex",
            json!({
            "timestamp": "2026-02-02T09:14:31.412Z", "type": "event_msg", "payload": {
                "type": "exec_command_end", "call_id": id(1), "turn_id": id(2),
                "command": ["/bin/bash", "-lc", "cargo build"], "cwd": "/home/ada/shop",
                "parsed_cmd": [{"type": "unknown", "cmd": "cargo build"}], "source": "unified_exec_startup",
                "stdout": "", "stderr": output, "aggregated_output": output, "exit_code": 101,
                "duration": {"secs": 4, "nanos": 250_112_009}, "formatted_output": output,
                "status": "failed"}}),
        ),
        (
            "pi",
            json!({
            "type": "message", "id": &id(1)[..8], "parentId": &id(2)[..8],
            "timestamp": "2026-02-02T09:14:31.412Z", "message": {"role": "assistant", "content": [
                {"type": "toolCall", "id": format!("toolu_01{}", &id(3)[..8]), "name": "bash",
                    "arguments": {"command": "cargo build"}}],
                "api": "anthropic-messages", "provider": "anthropic", "model": "small", "usage": {
                    "input": 3, "output": 64, "cacheRead": 15_104, "cacheWrite": 812, "cost": {
                        "input": 0.000_009, "output": 0.000_96, "cacheRead": 0.004_531, "cacheWrite": 0.003_045,
                        "total": 0.008_545}},
                "stopReason": "toolUse", "timestamp": 1_770_000_871_412_u64}}),
        ),
    ]
}

#[test]
fn a_small_message_of_any_agent_takes_less_than_half() {
    for (agent, message) in small_messages() {
        let plain = message.to_string();
        let (code, body) = packed(plain.as_bytes());
        assert!(body.len() * 2 < plain.len(), "{agent}: {} bytes take {}", plain.len(), body.len());
        assert_eq!(unpacked(code, body.into_owned(), plain.len()).unwrap(), plain.as_bytes());
    }
}

#[test]
fn what_packing_does_not_make_smaller_stays_as_it_is() {
    assert_eq!(packed(b""), (PLAIN, b"".into()));
    assert_eq!(packed(b"zqxvkj"), (PLAIN, b"zqxvkj".into()));
}

#[test]
fn what_cannot_be_read_is_an_error() {
    let plain = small_messages()[0].1.to_string();
    let (code, body) = packed(plain.as_bytes());
    let whole = body.into_owned();
    assert!(unpacked(code, whole[..whole.len() - 3].to_vec(), plain.len()).is_err());
    assert!(unpacked(code, whole.clone(), plain.len() - 1).is_err());
    assert!(unpacked(code, plain.clone().into_bytes(), plain.len()).is_err());
    // A later callstack's way, or nothing at all.
    for code in [PURGED, 3, -1] {
        assert!(unpacked(code, whole.clone(), plain.len()).is_err());
    }
    // After all of that, it still reads.
    assert_eq!(unpacked(code, whole, plain.len()).unwrap(), plain.as_bytes());
}

/// Bodies with ranges of the words in them, as messages have, and anything else.
fn bodies() -> impl Strategy<Value = Vec<u8>> {
    let words = (0..WORDS.len(), 0..2_000_usize).prop_map(|(from, length)| {
        let to = WORDS.len().min(from + length);
        WORDS.get(from..to).unwrap_or_default().to_vec()
    });
    let noise = proptest::collection::vec(any::<u8>(), 0..300);
    let again = (any::<u8>(), 0..40_000_usize).prop_map(|(byte, length)| vec![byte; length]);
    let piece = prop_oneof![4 => words, 3 => noise, 1 => again];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn every_byte_comes_back(bodies in proptest::collection::vec(bodies(), 1..6)) {
        let stored: Vec<_> = bodies.iter().map(|plain| packed(plain)).collect();
        // In another order than that of packing: no body needs another one.
        for (plain, (code, body)) in bodies.iter().zip(&stored).rev() {
            prop_assert!(body.len() <= plain.len());
            let back = unpacked(*code, body.to_vec(), plain.len()).unwrap();
            prop_assert!(back == *plain, "{} bytes came back otherwise", plain.len());
        }
    }
}
