//! A server on loopback with given answers, bad ones included.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// The reply of a server to a request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// It answers.
    With {
        /// The status.
        status: u16,
        /// Further lines of the head, each with `\r\n` after it.
        headers: &'static str,
        /// The body.
        body: String,
    },
    /// It says nothing, for as long as the client waits.
    Silence,
    /// It ends the connection.
    Close,
}

impl Reply {
    /// Status and body.
    pub fn with(status: u16, body: impl Into<String>) -> Self {
        Self::With { status, headers: "", body: body.into() }
    }

    /// Returns a model's answer, in the format of `OpenAI`'s chat completions.
    pub fn chat(text: &str) -> Self {
        let message = serde_json::json!({"role": "assistant", "content": text});
        Self::with(200, serde_json::json!({"choices": [{"message": message}]}).to_string())
    }
}

/// A request as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Its first line and its headers in lower case, with line ends.
    pub head: String,
    /// Its body, as far as it is text.
    pub body: String,
}

/// A request, and its body byte for byte.
type Noted = (Asked, Vec<u8>);

/// The server. It ends with the process.
#[derive(Debug)]
pub struct Loopback {
    address: String,
    asked: Arc<Mutex<Vec<Noted>>>,
}

impl Loopback {
    /// Answers each request with the next reply; the last one is repeated.
    pub fn start(replies: Vec<Reply>) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = format!("http://{}", listener.local_addr()?);
        let asked = Arc::<Mutex<Vec<Noted>>>::default();
        let noted = Arc::clone(&asked);
        thread::Builder::new().name("loopback".to_owned()).spawn(move || {
            let (mut silent, mut count) = (Vec::new(), 0);
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { continue };
                let Some(request) = read(&stream) else { continue };
                noted.lock().unwrap_or_else(PoisonError::into_inner).push(request);
                let reply = replies.get(count).or(replies.last());
                count += 1;
                match reply {
                    // A client that is gone wants no answer.
                    Some(Reply::With { status, headers, body }) => {
                        drop(stream.write_all(answer(*status, headers, body).as_bytes()));
                    }
                    Some(Reply::Silence) => silent.push(stream),
                    Some(Reply::Close) | None => {}
                }
            }
        })?;
        Ok(Self { address, asked })
    }

    /// `http://127.0.0.1:` and its port.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.noted().into_iter().map(|(asked, _)| asked).collect()
    }

    /// The bodies of the requests so far, byte for byte.
    pub fn bodies(&self) -> Vec<Vec<u8>> {
        self.noted().into_iter().map(|(_, body)| body).collect()
    }

    fn noted(&self) -> Vec<Noted> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn answer(status: u16, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status} x\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

fn read(stream: &TcpStream) -> Option<Noted> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        if line.trim().is_empty() {
            break;
        }
        let line = line.to_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let text = String::from_utf8_lossy(&body).into_owned();
    Some((Asked { head, body: text }, body))
}
