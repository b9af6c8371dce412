//! As much of HTTP as a provider's client needs: one request a connection, answered whole or as events.

use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// A request.
#[derive(Debug)]
pub(super) struct Request {
    /// Method and path.
    pub(super) line: String,
    /// Names in lower case, and values.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

/// Reads a request; `None` where the client sends none.
pub(super) fn read(stream: &TcpStream) -> io::Result<Option<Request>> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let header = |name: &str| headers.iter().find(|(key, _)| key == name).map(|(_, v)| v.as_str());
    let body = if header("transfer-encoding").is_some_and(|coding| coding.contains("chunked")) {
        chunks(&mut reader)?
    } else {
        let length = header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        body
    };
    let body =
        String::from_utf8(body).map_err(|why| io::Error::new(ErrorKind::InvalidData, why))?;
    Ok(Some(Request { line: line.trim_end().to_owned(), headers, body }))
}

fn chunks(reader: &mut impl io::BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut size = String::new();
        reader.read_line(&mut size)?;
        let digits = size.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(digits, 16)
            .map_err(|why| io::Error::new(ErrorKind::InvalidData, why))?;
        reader.by_ref().take(size).read_to_end(&mut body)?;
        reader.read_line(&mut String::new())?;
        if size == 0 {
            return Ok(body);
        }
    }
}

/// Answers with JSON.
pub(super) fn reply(stream: &mut TcpStream, status: u16, body: &Value) -> io::Result<()> {
    let body = body.to_string();
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{body}"
    )
}

/// An answer that is sent as events, to a client that may give up waiting.
pub(super) struct Events<'a>(&'a mut TcpStream);

impl<'a> Events<'a> {
    pub(super) fn begin(stream: &'a mut TcpStream) -> io::Result<Self> {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n\
                    connection: close\r\n\r\n";
        stream.write_all(head.as_bytes())?;
        Ok(Self(stream))
    }

    pub(super) fn event(&mut self, data: &str) -> io::Result<()> {
        self.0.write_all(format!("data: {data}\n\n").as_bytes())
    }

    /// A comment, which keeps a client from taking silence for a broken connection.
    pub(super) fn comment(&mut self) -> io::Result<()> {
        self.0.write_all(b": waiting\n\n")
    }

    /// Waits for `time`, and returns whether the client is still there.
    pub(super) fn wait(&self, time: Duration) -> bool {
        if self.0.set_read_timeout(Some(time)).is_err() {
            return false;
        }
        match self.0.peek(&mut [0]) {
            Ok(0) => false,
            Ok(_) => {
                std::thread::sleep(time);
                true
            }
            Err(error) => {
                matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                )
            }
        }
    }
}
