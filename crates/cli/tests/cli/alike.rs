//! A live session and its recording are shown alike.

use std::fs;

use serde_json::{Value, json};

use super::test_env::TestEnv;

const SESSION: &str = "ses_1";
const MASKED: &str = "has left the context: ";

/// The messages of a session, and the places where the model was called.
#[derive(Default)]
struct Talk {
    messages: Vec<Value>,
    calls: Vec<usize>,
    made: usize,
}

impl Talk {
    fn add(&mut self, role: &str, parts: &[Value]) {
        self.made += 1;
        let id = format!("msg_{:03}", self.made);
        let parts: Vec<Value> = parts
            .iter()
            .enumerate()
            .map(|(number, part)| {
                let mut part = part.clone();
                part["id"] = format!("prt_{:03}_{number}", self.made).into();
                part
            })
            .collect();
        let created = 1_700_000_000_000_i64 + 10_000 * i64::try_from(self.made).unwrap();
        let info = json!({"id": id, "role": role, "sessionID": SESSION, "modelID": "scripted",
            "time": {"created": created}});
        if role == "assistant" {
            self.calls.push(self.messages.len());
        }
        self.messages.push(json!({"info": info, "parts": parts}));
    }

    fn says(&mut self, role: &str, text: &str) {
        self.add(role, &[json!({"type": "text", "text": text})]);
    }

    fn calls(&mut self, tool: &str, input: &Value, output: &str) {
        let state = json!({"status": "completed", "input": input, "output": output,
            "metadata": {"exit": 0}});
        let call = format!("call_{}", self.made);
        self.add(
            "assistant",
            &[json!({"type": "tool", "tool": tool, "callID": call, "state": state})],
        );
    }

    fn runs(&mut self, command: &str, output: &str) {
        self.calls("bash", &json!({"command": command, "description": "look"}), output);
    }

    fn todos(&mut self, statuses: [&str; 3]) {
        let items: Vec<Value> = ["Find the ports", "Name the ports", "Close the ports"]
            .iter()
            .zip(statuses)
            .map(|(content, status)| json!({"content": content, "status": status}))
            .collect();
        self.calls("todowrite", &json!({"todos": items}), "[]");
    }
}

fn session() -> Talk {
    let mut talk = Talk::default();
    // Each fills a batch by itself: a live session checks only then which outputs are due.
    let words = "which module listens where is told by its table of sockets and by nothing else\n";
    let file =
        |number: usize| format!("module m{number} opens port 80{number:02}\n{}", words.repeat(270));
    talk.says("user", "Hello");
    talk.says("assistant", "Hello.");
    talk.says("user", "Tell who wrote the server");
    for author in ["Ada", "Bob", "Cyd", "Dee"] {
        let commit = format!("commit 4711 by {author}: let the server listen to one more port\n");
        talk.runs(&format!("git log --author {author}"), &commit.repeat(6));
    }
    talk.says("assistant", "Ada, Bob, Cyd and Dee did.");
    talk.says("user", "Close every port that nobody needs");
    talk.todos(["in_progress", "pending", "pending"]);
    talk.runs("ss -ltn", "LISTEN 0 128 0.0.0.0:8011 users:((\"metricsd\",pid=4711))");
    // So many names that the budget of evidence decides which are shown.
    let found = (1..400).map(|line| {
        let name = format!("{}_port", ["metrics", "debug", "health", "admin"][line % 4]);
        format!(
            "src/net/server{line}.rs:{line}: let {name}_{line} = listen(config.{name}_{line});\n"
        )
    });
    talk.runs("grep -rn listen src", &found.collect::<String>());
    talk.todos(["completed", "in_progress", "pending"]);
    talk.runs("grep 8011 /etc/services", "metricsd 8011/tcp");
    talk.todos(["completed", "completed", "in_progress"]);
    talk.runs("sed -i s/8011/0/ src/net/server.rs", "");
    let tests = "test net::a_closed_port_refuses ... ok\n".repeat(3_000);
    talk.runs("cargo test net", &format!("{tests}test result: ok. 3000 passed; 0 failed"));
    talk.todos(["completed", "completed", "completed"]);
    // Enough output of the turn itself to make folding worth it.
    talk.runs("cargo test", &format!("{tests}test result: ok. 3000 passed; 0 failed"));
    talk.says("assistant", "Port 8011 is closed; the tests pass.");
    talk.says("user", "Now read both modules again and again and tell which port each opens");
    for number in 1..=12 {
        talk.runs(&format!("cat src/m{}.rs", number % 2), &file(number % 2));
    }
    talk.says("assistant", "m0 and m1 open 8000 and 8001.");
    talk
}

/// Returns the texts of ours in each request of the live session.
fn live(desk: &TestEnv, talk: &Talk) -> Vec<Vec<String>> {
    let mut requests: Vec<(&str, Value)> = Vec::new();
    let shows = |end: usize| {
        json!({"session": SESSION, "purpose": "turn", "keep": 0, "ops": 0, "applied": 0,
            "messages": talk.messages[..end]})
    };
    for &call in &talk.calls {
        let before = &talk.messages[call - 1];
        if before["info"]["role"] == "user" {
            let text = &before["parts"][0]["text"];
            let message = &before["info"]["id"];
            let said = json!({"session": SESSION, "message": message, "text": text});
            requests.push(("message", said));
        }
        let system = json!({"session": SESSION, "model": {"context": 200_000}, "head": ""});
        requests.extend([("sync", shows(call)), ("system", system)]);
    }
    let lines = requests.iter().enumerate().map(|(id, (method, params))| {
        format!("{}\n", json!({"id": id, "method": method, "params": params}))
    });
    let input = desk.sealed.root().join("requests");
    fs::write(&input, lines.collect::<String>()).unwrap();
    let mut command = desk.command(&desk.project(), &["host", "opencode"]);
    command.env("STACK_AUTONOMY_LEVEL", "auto");
    command.stdin(fs::File::open(&input).unwrap());
    let said = desk.finish(command);
    let answers: Vec<Value> =
        said.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ops = answers.iter().filter_map(|answer| answer["result"]["ops"].as_array());
    let texts =
        |ops: &Vec<Value>| ops.iter().filter_map(|op| op["text"].as_str()).map(plain).collect();
    ops.map(texts).collect()
}

/// The same of the recording of the session.
fn replayed(desk: &TestEnv, talk: &Talk) -> Vec<Vec<String>> {
    let info = json!({"id": SESSION, "title": "Ports", "directory": desk.project()});
    let export = json!({"info": info, "messages": talk.messages});
    fs::write(desk.project().join("session.json"), export.to_string()).unwrap();
    desk.ok(&["replay", "session.json", "--dump", "sent"]);
    let file = fs::read_dir(desk.project().join("sent")).unwrap().flatten().next().unwrap();
    let sent = fs::read_to_string(file.path()).unwrap();
    let lines = sent.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let texts = lines.filter(|line| line["way"] == "frames").map(|line| {
        let items = line["items"].as_array().unwrap().iter();
        let texts = items.filter_map(|item| item["text"].as_str());
        texts.filter(|text| text.starts_with("[callstack]")).map(plain).collect()
    });
    texts.collect()
}

/// Returns a text without the parts that differ: the time and the log in a store, which only one of both can know,
/// and the tokens of an output, which a live session estimates by its beginning.
fn plain(text: &str) -> String {
    let kept: Vec<&str> =
        text.lines().filter(|line| !line.starts_with("What has left can be read")).collect();
    let text = kept.join("\n");
    if let Some((_, rest)) = text.split_once(" of about ") {
        return rest.trim_start_matches(|c: char| c.is_ascii_digit()).to_owned();
    }
    let took = text.split_once(" after ").and_then(|(frame, rest)| {
        let (_, what) = rest.split_once(": its steps")?;
        Some(format!("{frame}: its steps{what}"))
    });
    took.unwrap_or(text)
}

fn is_fold(text: &str) -> bool {
    !text.contains(MASKED) && !text.contains("stack_frame_pop with since")
}

/// The texts of folds. Replays name no steps that could be closed after the fact. The call at which a batch of
/// outputs is due differs by one, because a live session weighs outputs by their beginning.
fn folds(calls: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let folds = |texts: Vec<String>| texts.into_iter().filter(|text| is_fold(text)).collect();
    calls.into_iter().map(folds).collect()
}

#[test]
fn a_session_that_goes_on_is_sent_what_its_recording_says() {
    let desk = TestEnv::new();
    let talk = session();
    let (live, replayed) = (live(&desk, &talk), replayed(&desk, &talk));
    let texts = live.concat();
    let any = |of: &str| texts.iter().any(|text| text.contains(of));
    assert!(any("\"Find the ports\" completed: its steps"), "{live:#?}");
    assert!(any("\"Close every port that nobody needs\" completed: its steps"), "{live:#?}");
    assert!(any("\"Name the ports\" completed: "), "it went with its turn: {live:#?}");
    for small in ["Name the ports", "Tell who wrote the server"] {
        let result = format!("\"{small}\" completed: its steps");
        assert!(!any(&result), "{small} is not worth it: {live:#?}");
    }
    assert!(any(MASKED), "{live:#?}");
    assert!(replayed.concat().iter().any(|text| text.contains(MASKED)), "{replayed:#?}");
    assert_eq!(folds(live), folds(replayed));
    let shown = desk.ok(&["tree"]);
    let small = shown.lines().find(|line| line.contains("f2 Tell who wrote the server")).unwrap();
    assert!(small.contains('✓') && small.ends_with("  still sent"), "{shown}");
    assert_eq!(shown.matches("still sent").count(), 1, "what went with its turn does not: {shown}");
    let shown = desk.ok(&["show", "f2"]);
    assert!(shown.contains("still sent: its steps, of about "), "{shown}");
    assert!(desk.json(&["show", "f2"])["stillSent"]["tokens"].as_u64().unwrap() > 300);
    assert!(!desk.ok(&["show", "f3"]).contains("still sent"), "it is folded");
}
