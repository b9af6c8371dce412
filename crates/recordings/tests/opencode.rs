//! Exports of OpenCode with content that the fixtures do not contain.

use callstack_recordings::Recorded;
use serde_json::{Value, json};

use crate::{of_text, shown};

fn message(id: &str, role: &str, parts: &[Value]) -> Value {
    let tokens = json!({"input": 9, "output": 1, "reasoning": 0, "cache": {"read": 0, "write": 0}});
    let info = json!({"id": id, "role": role, "sessionID": "ses_7", "tokens": tokens,
        "time": {"created": 1000, "completed": 1010}});
    json!({"info": info, "parts": parts})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn export(messages: &[Value]) -> String {
    let info = json!({"id": "ses_7", "directory": "/home/ada/shop", "title": "Basket"});
    json!({"info": info, "messages": messages}).to_string()
}

/// Versions of old say when an answer was finished, not how.
#[test]
fn a_summary_that_does_not_say_how_it_ended_is_one() {
    let mut summary = message("msg_3", "assistant", &[text("The basket is read.")]);
    summary["info"]["summary"] = true.into();
    let messages = [
        message("msg_1", "user", &[text("Read the basket")]),
        message("msg_2", "assistant", &[text("It is read.")]),
        summary.clone(),
        message("msg_4", "user", &[text("Sort it")]),
    ];
    let recording = of_text(&export(&messages));
    assert_eq!(shown(&recording), ["msg_3", "msg_4"]);
    assert_eq!(recording.model_calls(), 1);

    summary["info"]["time"] = json!({"created": 1000});
    let messages = [messages[0].clone(), summary];
    assert_eq!(shown(&of_text(&export(&messages))), ["msg_1", "msg_3"], "it was not finished");
}

#[test]
fn a_command_that_the_user_ran_is_no_call_of_the_model() {
    let call = json!({"type": "tool", "tool": "bash", "callID": "c1", "state": {"status": "completed",
        "input": {"command": "ls"}, "output": "basket.py", "time": {"start": 1, "end": 2}}});
    let mut ran = message("msg_2", "assistant", std::slice::from_ref(&call));
    ran["info"]["tokens"] = json!({"input": 0, "output": 0, "cache": {"read": 0, "write": 0}});
    let synthetic = json!({"type": "text", "synthetic": true, "text": "The user ran a tool"});
    let answered = [json!({"type": "step-start"}), call.clone(), json!({"type": "step-finish"})];
    let recording = of_text(&export(&[
        message("msg_1", "user", &[synthetic]),
        ran,
        message("msg_3", "user", &[text("What is there?")]),
        message("msg_4", "assistant", &answered),
    ]));
    let answers: Vec<bool> = recording.messages.iter().map(Recorded::is_answer).collect();
    assert_eq!(answers, [false, false, false, true]);
    assert_eq!(recording.messages[1].calls().count(), 1, "the model is shown it all the same");
    // Where no tokens are reported it may be the model's.
    let mut unreported = message("msg_1", "assistant", &[call]);
    unreported["info"]["tokens"] = Value::Null;
    assert_eq!(of_text(&export(&[unreported])).model_calls(), 1);
}
