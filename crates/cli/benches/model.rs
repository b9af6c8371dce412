//! The least of a model: it asks for a small file again and again. It does not parse requests, so that it hardly
//! loads the machine that is measured.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

/// A model that ends a turn with every `calls`th answer to a session.
pub(crate) struct Model {
    pub(crate) base_url: String,
    turns: Arc<Mutex<Turns>>,
}

/// The progress of each session, and the times that the agent took from an answer to its next request.
#[derive(Default)]
struct Turns {
    asked: HashMap<String, usize>,
    answered: HashMap<String, Instant>,
    gaps_ms: Vec<f64>,
}

impl Model {
    /// Starts it on a free port of 127.0.0.1; it runs until the program ends.
    pub(crate) fn start(file: String, calls: usize) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let turns = Arc::new(Mutex::new(Turns::default()));
        let shared = Arc::clone(&turns);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (turns, file) = (Arc::clone(&shared), file.clone());
                // A connection that breaks off is the agent's affair.
                thread::spawn(move || drop(converse(stream, &turns, &file, calls)));
            }
        });
        Self { base_url, turns }
    }

    /// Milliseconds from each answer with a call to the request that brings the call's result.
    pub(crate) fn gaps_ms(&self) -> Vec<f64> {
        self.turns.lock().unwrap().gaps_ms.clone()
    }
}

fn converse(
    mut stream: TcpStream,
    turns: &Mutex<Turns>,
    file: &str,
    calls: usize,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some((session, body)) = request(&mut reader)? {
        let is_agent = body.windows(9).any(|window| window == b"\"tools\":[");
        let number = {
            let mut turns = turns.lock().unwrap();
            if let Some(answered) = turns.answered.remove(&session) {
                turns.gaps_ms.push(answered.elapsed().as_secs_f64() * 1_000.0);
            }
            let number = turns.asked.entry(session.clone()).or_insert(0);
            *number += usize::from(is_agent);
            *number
        };
        let delta = if is_agent && !number.is_multiple_of(calls) {
            let arguments = json!({"filePath": file}).to_string();
            json!({"role": "assistant", "tool_calls": [{
                "index": 0, "id": format!("call_{number:06}"), "type": "function",
                "function": {"name": "read", "arguments": arguments},
            }]})
        } else {
            json!({"role": "assistant", "content": "Done."})
        };
        let finish = if delta["content"].is_null() { "tool_calls" } else { "stop" };
        let events = format!(
            "data: {}\n\ndata: {}\n\ndata: [DONE]\n\n",
            chunk(&delta, &Value::Null),
            chunk(&json!({}), &finish.into())
        );
        write!(
            stream,
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{events}",
            events.len()
        )?;
        if finish == "tool_calls" {
            turns.lock().unwrap().answered.insert(session, Instant::now());
        }
    }
    Ok(())
}

fn chunk(delta: &Value, finish: &Value) -> Value {
    json!({
        "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "scripted",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        "usage": {"prompt_tokens": 900, "completion_tokens": 20, "total_tokens": 920},
    })
}

/// The session and the body of the next request; none at the end of the connection.
fn request(reader: &mut BufReader<TcpStream>) -> std::io::Result<Option<(String, Vec<u8>)>> {
    let (mut session, mut length, mut chunked) = (String::new(), 0, false);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if line.trim().is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').unwrap_or_default();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap_or(0),
            "transfer-encoding" => chunked = value.contains("chunked"),
            "x-session-id" => value.trim().clone_into(&mut session),
            _ => {}
        }
    }
    let mut body = Vec::new();
    if chunked {
        loop {
            let mut size = String::new();
            reader.read_line(&mut size)?;
            let size = u64::from_str_radix(size.trim(), 16).unwrap_or(0);
            reader.by_ref().take(size).read_to_end(&mut body)?;
            reader.read_line(&mut String::new())?;
            if size == 0 {
                break;
            }
        }
    } else {
        reader.by_ref().take(length).read_to_end(&mut body)?;
    }
    Ok(Some((session, body)))
}
