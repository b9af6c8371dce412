//! Records of mini-swe-agent that the fixture does not contain.

use callstack_core::evidence::Action;
use callstack_recordings::{Recorded, RecordedPart};
use serde_json::{Value, json};

use crate::of_text;

/// Older versions have the action in the words, and tell its result as the user.
#[test]
fn the_action_may_stand_in_the_words() {
    let said = |role: &str, text: &str| json!({"role": role, "content": text});
    let messages = [
        said("system", "You work in a shell."),
        said("user", "The discount is wrong."),
        said("assistant", "I look.\n\n```bash\ncat basket.py\n```"),
        said("user", "<returncode>0</returncode>\n<output>\nRATE = 9\n</output>"),
        said("assistant", "```bash\nls\n```\nor\n```bash\npwd\n```"),
        said("user", "Exactly one action, please."),
        said("assistant", "```bash\nmake check\n```"),
        said("user", "<returncode>2</returncode>\n<output>\none fails\n</output>"),
    ];
    let info = json!({"model_stats": {"api_calls": 3}});
    let document = |count: usize, format: Value| json!({"info": info, "messages": messages[..count], "trajectory_format": format});
    let recording = of_text(&format!("{:#}", document(8, "mini-swe-agent-1".into())));
    let calls: Vec<_> = recording.messages.iter().flat_map(Recorded::calls).collect();
    let ran = |call: usize| {
        calls[call].action == Action::Ran(["cat basket.py", "make check"][call].to_owned())
    };
    assert!(calls.len() == 2 && ran(0) && ran(1));
    assert_eq!((calls[0].exit, calls[1].exit), (Some(0), Some(2)));
    let words = RecordedPart::Text { text: "I look.".to_owned(), synthetic: false };
    assert_eq!(recording.messages[1].parts[0], words);
    let of_user: Vec<bool> = recording.messages.iter().map(Recorded::is_of_user).collect();
    assert_eq!(of_user, [true, false, false, false, false]);
    // It says what it is in one way or the other, and is the same one as it grows.
    assert_eq!(of_text(&document(4, Value::Null).to_string()).session, recording.session);
}
