//! A host's additions to the user's words leave with the turn that they began.

use callstack_scripted_model::{RecordedRequest, Step, content_text};
use serde_json::json;

use super::super::seen::{assert_no_work, seen};
use super::super::steps::WORK;
use super::super::talk::Talk;
use super::super::tree::{engine, wait_for_tree};
use super::{AUTO, much};

fn users(request: &RecordedRequest) -> Vec<String> {
    let messages = request.messages().iter().filter(|message| message["role"] == "user");
    messages.map(|message| content_text(&message["content"])).collect()
}

#[test]
fn a_file_and_a_list_that_came_with_the_users_words_leave_with_their_turn() {
    let Some(talk) = Talk::new(&AUTO) else { return };
    let session = talk.session([
        much("the file").reasoning("Look."),
        much("the costs"),
        much("the rest"),
        much("the sum"),
        Step::text("Sales rose by 4 %.").reasoning("Tell."),
        Step::text("Gladly."),
    ]);
    let words = "Sum up @sales.txt, please: I need one figure.";
    let sales = format!("{}\n{WORK}: sales by month\n", "Figures of last year. ".repeat(20));
    let file = talk.project.sealed.write("sales.txt", &sales).unwrap();
    let url = format!("file://{}", file.display());
    let parts = json!({"parts": [
        {"type": "text", "text": words},
        {"type": "file", "mime": "text/plain", "filename": "sales.txt", "url": url},
        {"type": "text", "text": format!("{WORK}: a list of skills"), "synthetic": true},
    ]});
    talk.server.post(&format!("/session/{}/message", session.id), &parts).unwrap();
    session.say("Thank you");
    let requests = session.finished();
    let sealed = &talk.project.sealed;
    wait_for_tree(sealed, &session.id, &format!("{} in_progress *\n", &words[..words.len() - 1]));
    for request in &requests[..5] {
        let request_text = &users(request)[0];
        let all = [words, "sales by month", "a list of skills"];
        assert!(all.iter().all(|text| request_text.contains(text)), "{}", seen(request));
    }
    let last = requests.last().unwrap();
    assert_no_work(last);
    let [request_text, thanks] = &users(last)[..] else { panic!("{}", seen(last)) };
    let pointer =
        "[callstack] Attached here: sales.txt (text/plain). It is in the log of frame f1.";
    assert_eq!(request_text.trim_end(), format!("{words}\n{pointer}"), "{}", seen(last));
    assert!(thanks.contains("\"op\":\"stack_log\""), "{}", seen(last));
    let engine = engine(sealed);
    let log = engine.log(&engine.resolve("f1").unwrap()).unwrap();
    for text in [words, "sales by month", "a list of skills"] {
        assert!(log[0].json.contains(text), "{}", log[0].json);
    }
}
