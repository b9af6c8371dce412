//! `opencode serve` and a client for the parts of its API that the tests need.

use std::{
    io::{BufRead as _, BufReader},
    net::TcpListener,
    process::Command,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{Running, Sealed, TestError};

/// The longest time until a server answers.
const START_LIMIT: Duration = Duration::from_mins(1);
/// The longest time of one call; a prompt's call ends with the agent's turn.
const CALL_LIMIT: Duration = Duration::from_secs(90);

/// A running `opencode serve`. It is killed when it is dropped.
#[derive(Debug)]
pub struct Server {
    running: Running,
    url: String,
    agent: ureq::Agent,
}

impl Server {
    /// `command` is the bare program with its environment.
    pub(crate) fn start(sealed: &Sealed, mut command: Command) -> Result<Self, TestError> {
        // `--port 0` means 4096 first, so a free port is asked for here.
        let port = TcpListener::bind(("127.0.0.1", 0))
            .and_then(|listener| listener.local_addr())
            .map_err(TestError::io("listen on", "127.0.0.1"))?
            .port();
        command.args(["serve", "--hostname", "127.0.0.1", "--port", &port.to_string()]);
        let mut running = sealed.start("opencode-serve", command)?;
        let started = Instant::now();
        while !running.output().contains("server listening on") {
            let what = "opencode serve".to_owned();
            if !running.is_running() {
                return Err(TestError::Ended { what, output: running.output() });
            }
            if started.elapsed() > START_LIMIT {
                let so_far = running.output();
                return Err(TestError::TooLong { what, limit: START_LIMIT, so_far });
            }
            thread::sleep(Duration::from_millis(20));
        }
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(CALL_LIMIT))
            .http_status_as_error(false)
            .build()
            .into();
        Ok(Self { running, url: format!("http://127.0.0.1:{port}"), agent })
    }

    /// The server's process.
    pub fn process(&mut self) -> &mut Running {
        &mut self.running
    }

    /// Its address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Calls the API: `GET path`. `Null` for an empty answer.
    pub fn get(&self, path: &str) -> Result<Value, TestError> {
        let response = self.agent.get(format!("{}{path}", self.url)).call();
        answer(&format!("GET {path}"), response)
    }

    /// Calls the API: `POST path` with a JSON body. `Null` for an empty answer.
    pub fn post(&self, path: &str, body: &Value) -> Result<Value, TestError> {
        let response = self.agent.post(format!("{}{path}", self.url)).send_json(body);
        answer(&format!("POST {path}"), response)
    }

    /// Calls the API: `DELETE path`.
    pub fn delete(&self, path: &str) -> Result<Value, TestError> {
        let response = self.agent.delete(format!("{}{path}", self.url)).call();
        answer(&format!("DELETE {path}"), response)
    }

    /// Makes a session and returns its id.
    pub fn create_session(&self) -> Result<String, TestError> {
        let made = self.post("/session", &json!({}))?;
        id_of(&made).ok_or_else(|| nonsense("POST /session", &made))
    }

    /// All sessions, children included.
    pub fn sessions(&self) -> Result<Value, TestError> {
        self.get("/session")
    }

    /// The session's messages, oldest first: `[{info, parts}]`.
    pub fn messages(&self, session: &str) -> Result<Vec<Value>, TestError> {
        let path = format!("/session/{session}/message");
        match self.get(&path)? {
            Value::Array(messages) => Ok(messages),
            other => Err(nonsense(&format!("GET {path}"), &other)),
        }
    }

    /// Sends a prompt and waits for the end of the agent's turn. Returns its last message.
    pub fn prompt(&self, session: &str, text: &str) -> Result<Value, TestError> {
        self.post(&format!("/session/{session}/message"), &text_parts(text))
    }

    /// Says something and returns at once.
    pub fn prompt_async(&self, session: &str, text: &str) -> Result<(), TestError> {
        self.post(&format!("/session/{session}/prompt_async"), &text_parts(text)).map(drop)
    }

    /// Runs a slash command and waits for the end of the agent's turn.
    pub fn command(&self, session: &str, name: &str, args: &str) -> Result<Value, TestError> {
        let body = json!({ "command": name, "arguments": args });
        self.post(&format!("/session/{session}/command"), &body)
    }

    /// Stops the agent's turn.
    pub fn abort(&self, session: &str) -> Result<(), TestError> {
        self.post(&format!("/session/{session}/abort"), &json!({})).map(drop)
    }

    /// Undoes everything from the message `message` on.
    pub fn revert(&self, session: &str, message: &str) -> Result<Value, TestError> {
        let body = json!({ "messageID": message });
        self.post(&format!("/session/{session}/revert"), &body)
    }

    /// Takes an undo back.
    pub fn unrevert(&self, session: &str) -> Result<Value, TestError> {
        self.post(&format!("/session/{session}/unrevert"), &json!({}))
    }

    /// Forks a session, before the message `until` or at its end; returns the new one's id.
    pub fn fork(&self, session: &str, until: Option<&str>) -> Result<String, TestError> {
        let path = format!("/session/{session}/fork");
        let body = until.map_or(json!({}), |message| json!({ "messageID": message }));
        let made = self.post(&path, &body)?;
        id_of(&made).ok_or_else(|| nonsense(&format!("POST {path}"), &made))
    }

    /// Compacts a session and waits until that is done.
    pub fn summarize(&self, session: &str) -> Result<(), TestError> {
        let body = json!({ "providerID": "scripted", "modelID": "scripted" });
        self.post(&format!("/session/{session}/summarize"), &body).map(drop)
    }

    /// Listens to the server's events, from now on.
    pub fn events(&self) -> Result<Events, TestError> {
        let call = "GET /event";
        let endless: ureq::Agent =
            ureq::Agent::config_builder().timeout_global(None).build().into();
        let response = endless
            .get(format!("{}/event", self.url))
            .call()
            .map_err(|why| TestError::Api { call: call.to_owned(), why: why.to_string() })?;
        let (send, received) = mpsc::channel();
        let lines = BufReader::new(response.into_body().into_reader()).lines();
        // The thread ends with the server or with the receiver, whichever ends first.
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let event = line.strip_prefix("data: ").and_then(|d| serde_json::from_str(d).ok());
                if event.is_some_and(|event: Value| send.send(event).is_err()) {
                    return;
                }
            }
        });
        let mut events = Events { received, seen: Vec::new() };
        events.wait("server.connected", |event| event["type"] == "server.connected")?;
        Ok(events)
    }
}

/// The events of a server, as they come.
#[derive(Debug)]
pub struct Events {
    received: mpsc::Receiver<Value>,
    seen: Vec<Value>,
}

impl Events {
    /// Waits for the next event that `is_it`, for at most 60 s; `what` is for the message.
    pub fn wait(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Result<Value, TestError> {
        let deadline = Instant::now() + START_LIMIT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(event) = self.received.recv_timeout(left) else {
                let types: Vec<&str> =
                    self.seen.iter().filter_map(|event| event["type"].as_str()).collect();
                return Err(TestError::TooLong {
                    what: what.to_owned(),
                    limit: START_LIMIT,
                    so_far: types.join(", "),
                });
            };
            self.seen.push(event.clone());
            if is_it(&event) {
                return Ok(event);
            }
        }
    }

    /// Waits until the agent's turn in `session` ends.
    pub fn wait_idle(&mut self, session: &str) -> Result<(), TestError> {
        self.wait("session.idle", |event| {
            event["type"] == "session.idle" && event["properties"]["sessionID"] == session
        })
        .map(drop)
    }

    /// Every event waited through so far.
    pub fn seen(&self) -> &[Value] {
        &self.seen
    }
}

fn text_parts(text: &str) -> Value {
    json!({ "parts": [{ "type": "text", "text": text }] })
}

fn id_of(session: &Value) -> Option<String> {
    session["id"].as_str().map(str::to_owned)
}

fn nonsense(call: &str, answer: &Value) -> TestError {
    TestError::Api { call: call.to_owned(), why: format!("unexpected answer {answer}") }
}

fn answer(
    call: &str,
    response: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
) -> Result<Value, TestError> {
    let failed = |why: String| TestError::Api { call: call.to_owned(), why };
    let mut response = response.map_err(|why| failed(why.to_string()))?;
    let status = response.status();
    let text = response
        .body_mut()
        .with_config()
        .limit(u64::MAX)
        .read_to_string()
        .map_err(|why| failed(why.to_string()))?;
    if !status.is_success() {
        return Err(failed(format!("{status}: {text}")));
    }
    if text.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_str(&text).map_err(|why| failed(format!("{why}: {text}")))
}
