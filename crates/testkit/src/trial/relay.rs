//! The provider that a trial's `OpenCode` talks to.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use callstack_scripted_model::{RecordedRequest, RequestKind, prefix_common_bytes};
use serde_json::{Map, Value, json};

use super::folder::{Answer, Folder};
use super::http::{self, Events, Request};
use super::remote::Remote;
use crate::tokens::count_o200k;

/// The interval between checks for an answer.
const LOOK: Duration = Duration::from_millis(100);
/// The interval between comments to a client that waits.
const REMIND: Duration = Duration::from_secs(10);
/// Characters of a title that is made for a session.
const TITLE: usize = 40;

/// A server on loopback that accepts requests and gets answers for them. It ends when it is dropped; requests that
/// wait then are given up.
#[derive(Debug)]
pub(super) struct Relay {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<thread::JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    folder: Folder,
    remote: Option<Remote>,
    next: AtomicUsize,
    over: AtomicBool,
    /// The last request that was answered, which a provider would have in its cache.
    cached: Mutex<Option<RecordedRequest>>,
}

impl Relay {
    /// Starts it; without a `remote` model, requests wait in the folder.
    pub(super) fn start(folder: Folder, remote: Option<Remote>) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            folder,
            remote,
            next: AtomicUsize::new(1),
            over: AtomicBool::new(false),
            cached: Mutex::default(),
        });
        let serving = Arc::clone(&shared);
        let accepting = thread::Builder::new().name("trial".to_owned()).spawn(move || {
            for stream in listener.incoming() {
                if serving.over.load(Ordering::SeqCst) {
                    break;
                }
                let Ok(mut stream) = stream else { continue };
                let serving = Arc::clone(&serving);
                thread::spawn(move || {
                    // Only a client that has gone makes it fail.
                    drop(serving.serve(&mut stream));
                });
            }
        })?;
        Ok(Self { address, shared, accepting: Some(accepting) })
    }

    /// The address for a provider's `baseURL`.
    pub(super) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        // The connection ends the wait for one.
        drop(TcpStream::connect(self.address));
        if let Some(accepting) = self.accepting.take() {
            drop(accepting.join());
        }
    }
}

impl Shared {
    fn serve(&self, stream: &mut TcpStream) -> io::Result<()> {
        let Some(Request { line, headers, body }) = http::read(stream)? else { return Ok(()) };
        if !line.contains("/chat/completions") {
            return http::reply(stream, 200, &json!({"object": "list", "data": []}));
        }
        let request = match RecordedRequest::parse(headers, &body) {
            Ok(request) => request,
            Err(why) => return http::reply(stream, 400, &failure(&why.to_string())),
        };
        match request.kind {
            RequestKind::Agent | RequestKind::Compaction => self.answer(stream, &request, &body),
            RequestKind::Title | RequestKind::Other => {
                let answer = Answer { text: title(&request), ..Answer::default() };
                let mut events = Events::begin(stream)?;
                send(&mut events, 0, &answer, &usage(&request, None))
            }
        }
    }

    fn answer(
        &self,
        stream: &mut TcpStream,
        request: &RecordedRequest,
        body: &str,
    ) -> io::Result<()> {
        let number = self.next.fetch_add(1, Ordering::SeqCst);
        let failed = |error: &dyn std::fmt::Display| io::Error::other(error.to_string());
        self.folder.record(number, request, body).map_err(|error| failed(&error))?;
        let cached = self.cached().clone();
        let usage = usage(request, cached.as_ref());
        let sent = if let Some(remote) = &self.remote {
            let answer = match remote.ask(&request.body) {
                Ok(answer) => answer,
                Err((status, why)) => {
                    self.folder.give_up(number).map_err(|error| failed(&error))?;
                    return http::reply(stream, status, &failure(&why));
                }
            };
            self.folder.put_answer(number, &answer).map_err(|error| failed(&error))?;
            let reported = answer.usage.clone().unwrap_or(usage);
            send(&mut Events::begin(stream)?, number, &answer, &reported)
        } else {
            let mut events = Events::begin(stream)?;
            match self.wait(&mut events, number) {
                Some(answer) => send(&mut events, number, &answer, &usage),
                None => self.folder.give_up(number).map_err(|error| failed(&error)),
            }
        };
        *self.cached() = Some(request.clone());
        sent
    }

    /// Waits until a reader has answered; `None` if the client no longer waits for the answer.
    fn wait(&self, events: &mut Events<'_>, number: usize) -> Option<Answer> {
        let mut reminded = Instant::now();
        while !self.over.load(Ordering::SeqCst) {
            if let Some(answer) = self.folder.answer(number) {
                return Some(answer);
            }
            if !events.wait(LOOK) {
                return None;
            }
            if reminded.elapsed() > REMIND {
                events.comment().ok()?;
                reminded = Instant::now();
            }
        }
        None
    }

    fn cached(&self) -> std::sync::MutexGuard<'_, Option<RecordedRequest>> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns how long a model writes a call with these arguments, at most some seconds.
fn time_to_write(arguments: &Map<String, Value>) -> Duration {
    /// A model writes some 80 tokens of four characters in a second.
    const CHARACTER: Duration = Duration::from_millis(3);
    const LEAST: Duration = Duration::from_secs(1);
    const MOST: Duration = Duration::from_secs(3);
    let characters = Value::from(arguments.clone()).to_string().len();
    let characters = u32::try_from(characters).unwrap_or(u32::MAX);
    CHARACTER.saturating_mul(characters).clamp(LEAST, MOST)
}

fn failure(why: &str) -> Value {
    json!({"error": {"message": why, "type": "trial"}})
}

/// Returns the title of a session: the beginning of the user's words.
fn title(request: &RecordedRequest) -> String {
    let said = request.last_user_text().unwrap_or_default();
    let said: Vec<&str> = said.split_whitespace().collect();
    let title: String = said.join(" ").chars().take(TITLE).collect();
    if title.is_empty() { "A session".to_owned() } else { title }
}

/// Returns the report on a request of a provider that has `cached` in its cache.
fn usage(request: &RecordedRequest, cached: Option<&RecordedRequest>) -> Value {
    let text = request.cacheable_bytes();
    let tokens = count_o200k(&text);
    let common = cached.map_or(0, |cached| prefix_common_bytes(cached, request));
    let known = tokens * common / text.len().max(1);
    json!({
        "prompt_tokens": tokens,
        "completion_tokens": 50,
        "total_tokens": tokens + 50,
        "prompt_tokens_details": {"cached_tokens": known},
    })
}

fn send(events: &mut Events<'_>, number: usize, answer: &Answer, usage: &Value) -> io::Result<()> {
    let chunk = |delta: Value, finish: Option<&str>| {
        json!({
            "id": format!("trial-{number}"),
            "object": "chat.completion.chunk",
            "created": 0,
            "model": "trial",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        })
    };
    events.event(&chunk(json!({"role": "assistant", "content": ""}), None).to_string())?;
    if let Some(reasoning) = &answer.reasoning {
        events.event(&chunk(json!({"reasoning_content": reasoning}), None).to_string())?;
    }
    if !answer.text.is_empty() {
        events.event(&chunk(json!({"content": answer.text}), None).to_string())?;
    }
    for (index, call) in answer.calls.iter().enumerate() {
        let function =
            json!({"name": call.name, "arguments": Value::from(call.input.clone()).to_string()});
        // The agent begins each call as soon as it has come. All at once, edits of one file would overwrite each other,
        // and a command would run before the edit in front of it.
        if index > 0 && !events.wait(time_to_write(&call.input)) {
            return Err(io::Error::from(io::ErrorKind::BrokenPipe));
        }
        let id = format!("call_{number}_{index}");
        let call = json!({"index": index, "id": id, "type": "function", "function": function});
        events.event(&chunk(json!({"tool_calls": [call]}), None).to_string())?;
    }
    let finish = if answer.calls.is_empty() { "stop" } else { "tool_calls" };
    let mut last = chunk(json!({}), Some(finish));
    last["usage"] = usage.clone();
    events.event(&last.to_string())?;
    events.event("[DONE]")
}
