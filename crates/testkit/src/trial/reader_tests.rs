use tempfile::TempDir;

use super::*;
use crate::trial::folder::About;

/// A trial's folder with requests as the relay would write them.
struct Trial {
    _temporary: TempDir,
    folder: Folder,
}

impl Trial {
    fn new() -> Self {
        let temporary = TempDir::new().unwrap();
        let about = About { level: None, turns: vec!["begin".to_owned()] };
        let folder = Folder::begin(&temporary.path().join("trial"), &about).unwrap();
        Self { _temporary: temporary, folder }
    }

    fn reader(&self) -> Reader {
        Reader::of(self.folder.path())
    }

    fn asks(&self, number: usize, session: &str, messages: &[Value]) {
        let tool = json!({"type": "function", "function": {"name": "bash", "description": "runs",
            "parameters": {"type": "object"}}});
        let body = json!({"model": "m", "messages": messages, "tools": [tool]}).to_string();
        let headers = vec![("x-session-id".to_owned(), session.to_owned())];
        let request = RecordedRequest::parse(headers, &body).unwrap();
        self.folder.record(number, &request, &body).unwrap();
    }

    fn next(&self, part: Part) -> Next {
        self.reader().next(part, Duration::ZERO).unwrap()
    }

    fn shown(&self, part: Part) -> String {
        match self.next(part) {
            Next::Shown(text) => text,
            other => panic!("{other:?}"),
        }
    }
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn call(id: &str) -> Value {
    let function = json!({"name": "bash", "arguments": "{\"command\":\"ls\"}"});
    json!({"role": "assistant", "content": "I look.", "tool_calls":
        [{"id": id, "type": "function", "function": function}]})
}

fn result(id: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

const CALLS: &str =
    r#"{"text": "I look.", "calls": [{"name": "bash", "input": {"command": "ls"}}]}"#;

#[test]
fn a_reader_sees_what_is_new_and_the_same_again_until_it_has_answered() {
    let trial = Trial::new();
    assert_eq!(trial.next(Part::New), Next::NothingYet);
    trial.asks(1, "ses_a", &[user("begin")]);
    let first = "REQUEST 1, 1 messages\n\nTOOLS (name, description, JSON schema of the input)\n\
                 * bash: runs\n  {\"type\":\"object\"}\n\nCONVERSATION\n--- [0] user\nbegin\n";
    assert_eq!(trial.shown(Part::New), first);
    assert_eq!(trial.shown(Part::New), first);
    assert_eq!(trial.reader().answer(CALLS).unwrap(), 1);
    assert_eq!(trial.next(Part::New), Next::NothingYet);

    trial.asks(2, "ses_a", &[user("begin"), call("c1"), result("c1", "a.txt")]);
    let second = "REQUEST 2, 3 messages, new from [1] on\n--- [1] you\nI look.\n\
                  > bash {\"command\":\"ls\"} (c1)\n--- [2] result of bash (c1)\na.txt\n";
    assert_eq!(trial.shown(Part::New), second);
    assert!(trial.shown(Part::Whole).contains("--- [0] user\nbegin\n--- [1] you"));
}

#[test]
fn a_past_that_changed_is_handed_over_to_someone_else() {
    let trial = Trial::new();
    trial.asks(1, "ses_a", &[user("begin"), call("c1"), result("c1", "a long list")]);
    trial.shown(Part::New);
    trial.reader().answer(CALLS).unwrap();
    trial.asks(2, "ses_a", &[user("begin"), call("c1"), result("c1", "it returned")]);

    let handover = Next::Handover(
        "request 2: of the 3 messages before, those from [2] on are gone or changed".to_owned(),
    );
    assert_eq!(trial.next(Part::New), handover);
    assert_eq!(trial.next(Part::New), handover);
    let unseen = trial.reader().answer(CALLS).unwrap_err().to_string();
    assert!(unseen.contains("was not shown yet"), "{unseen}");

    let changed = trial.shown(Part::Changed);
    assert!(changed.contains("new from [2] on"), "{changed}");
    assert!(!changed.contains("--- [1]"), "{changed}");
    let whole = trial.shown(Part::Whole);
    assert!(whole.contains("--- [0] user") && whole.contains("it returned"), "{whole}");
    assert_eq!(trial.reader().answer(CALLS).unwrap(), 2);
}

#[test]
fn sessions_are_kept_apart_and_a_request_that_comes_again_is_no_handover() {
    let trial = Trial::new();
    trial.asks(1, "ses_a", &[user("begin")]);
    trial.shown(Part::New);
    trial.reader().answer(CALLS).unwrap();
    trial.asks(2, "ses_b", &[user("a part of it")]);
    assert!(
        trial.shown(Part::New).contains("TOOLS"),
        "a session of its own begins with everything"
    );
    trial.folder.give_up(2).unwrap();
    trial.asks(3, "ses_b", &[user("a part of it")]);
    assert_eq!(
        trial.shown(Part::New),
        "REQUEST 3, 1 messages, the same as before: its answer did not arrive\n"
    );
    trial.reader().answer(CALLS).unwrap();
    trial.asks(4, "ses_a", &[user("begin"), call("c1"), result("c1", "a.txt")]);
    assert!(trial.shown(Part::New).starts_with("REQUEST 4, 3 messages, new from [1] on\n"));
}

#[test]
fn long_outputs_stand_whole_in_files() {
    let trial = Trial::new();
    let long = "a line of an output\n".repeat(2_000);
    trial.asks(1, "ses_a", &[user("begin"), call("c1"), result("c1", &long)]);
    let shown = trial.shown(Part::New);
    assert!(shown.chars().count() < 4_000, "{}", shown.chars().count());
    assert!(shown.contains("--- [0] user\nbegin"), "{shown}");
    let file = trial.folder.path().join("shown/0001-2.txt");
    assert!(shown.contains(&format!("read all of it: {}", file.display())), "{shown}");
    assert!(std::fs::read_to_string(file).unwrap().contains(&long));
    let all = std::fs::read_to_string(trial.folder.path().join("shown/0001.txt")).unwrap();
    assert!(all.contains("* bash: runs") && all.contains(&long));
}

#[test]
fn an_answer_that_nobody_could_send_is_refused_with_a_reason() {
    let trial = Trial::new();
    trial.asks(1, "ses_a", &[user("begin")]);
    trial.shown(Part::New);
    let refused = |json: &str| trial.reader().answer(json).unwrap_err().to_string();
    assert!(refused("{").contains("not an answer"));
    assert!(refused(r#"{"say": "hi"}"#).contains("unknown field `say`"));
    assert!(refused(r#"{"text": " "}"#).contains("the answer is empty"));
    assert_eq!(
        refused(r#"{"calls": [{"name": "run", "input": {}}]}"#),
        "no tool is called \"run\"; there are bash"
    );
    assert!(refused(r#"{"calls": [{"name": "bash", "input": "ls"}]}"#).contains("not an answer"));
    assert_eq!(trial.reader().answer(r#"{"text": "Done."}"#).unwrap(), 1);
    let late = trial.reader().answer(r#"{"text": "Done."}"#).unwrap_err().to_string();
    assert!(late.contains("no request is waiting"), "{late}");
}

#[test]
fn a_trial_that_is_over_asks_for_nothing_more() {
    let trial = Trial::new();
    trial.asks(1, "ses_a", &[user("begin")]);
    trial.shown(Part::New);
    trial.folder.close("stopped in turn 1").unwrap();
    assert_eq!(trial.next(Part::New), Next::Over("stopped in turn 1".to_owned()));
    let about = About { level: None, turns: Vec::new() };
    let again = Folder::begin(trial.folder.path(), &about).unwrap_err().to_string();
    assert!(again.contains("holds a trial already"), "{again}");
}

#[test]
fn who_has_answered_is_shown_what_follows() {
    let trial = Trial::new();
    let coming = || trial.reader().coming(Duration::ZERO).unwrap();
    trial.asks(1, "ses_a", &[user("begin")]);
    trial.shown(Part::New);
    trial.reader().answer(CALLS).unwrap();
    assert_eq!(coming(), Coming::NothingYet);
    trial.asks(2, "ses_a", &[user("begin"), call("c1"), result("c1", "a.rs")]);
    assert_eq!(coming(), Coming::Request(2));
    trial.folder.close("stopped in turn 1").unwrap();
    assert_eq!(coming(), Coming::Over("stopped in turn 1".to_owned()));
}
