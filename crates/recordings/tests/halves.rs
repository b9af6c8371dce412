//! Sessions with half an emoji wherever a space stands between two words.

/// Recordings with words in them, of each format.
pub(crate) const NAMES: [&str; 7] = [
    "claude-code-old.jsonl",
    "codex-long.jsonl",
    "codex-old.jsonl",
    "mini-swe-agent.traj.json",
    "opencode.json",
    "pi.jsonl",
    "swe-agent.traj",
];

/// As an escape that strict readers refuse, and as bytes that are no characters.
pub(crate) const HALVES: [&[u8]; 2] = [br"\ud83d", b"\xf0\x9f\x98"];

/// Puts halves between the words of a recording, and none between its fields.
pub(crate) fn damaged(whole: &[u8], half: &[u8]) -> Vec<u8> {
    let words: Vec<_> = whole.split(|byte| *byte == b' ').collect();
    let mut damaged = words[0].to_vec();
    let letter = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphabetic);
    let mut halves = 0;
    for pair in words.windows(2) {
        let inside = letter(pair[0].last()) && letter(pair[1].first());
        halves += usize::from(inside);
        damaged.extend(if inside { [b" ", half, b" "].concat() } else { b" ".to_vec() });
        damaged.extend(pair[1]);
    }
    assert!(halves > 0, "there are no words");
    damaged
}
