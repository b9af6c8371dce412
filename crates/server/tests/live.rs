//! A server that listens, and clients on sockets.

use std::sync::Arc;
use std::time::Duration;

use callstack_engine::Engine;
use callstack_server::{Options, Served, Server};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::support::engine;

/// The longest wait for an event before the test fails.
const PATIENCE: Duration = Duration::from_mins(1);

/// A server of a temporary project.
pub(crate) struct Live {
    pub(crate) project: TempDir,
    pub(crate) port: u16,
    pub(crate) token: String,
    pub(crate) running: JoinHandle<()>,
    stop: oneshot::Sender<()>,
}

impl Live {
    pub(crate) async fn start(options: Options) -> Self {
        let project = tempfile::tempdir().unwrap();
        let engine = Arc::new(engine(&project));
        Self { project, ..Self::start_with(engine.into(), options).await }
    }

    /// A server of these projects.
    pub(crate) async fn start_with(projects: Served, options: Options) -> Self {
        let project = tempfile::tempdir().unwrap();
        let server = Server::bind(projects, options).await.unwrap();
        let (stop, stopped) = oneshot::channel();
        let (port, token) = (server.port(), server.token().as_str().to_owned());
        let running = tokio::spawn(server.run(async { drop(stopped.await) }));
        Self { project, port, token, running, stop }
    }

    /// The engine of a further process.
    pub(crate) fn another(&self) -> Engine {
        engine(&self.project)
    }

    /// Asks the server to stop, and waits until it has.
    pub(crate) async fn stop(self) {
        self.stop.send(()).unwrap();
        self.running.await.unwrap();
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port)).await.unwrap()
    }

    /// A request's head with the token, and further headers.
    pub(crate) fn head(&self, request: &str, headers: &str) -> String {
        let (port, token) = (self.port, &self.token);
        format!(
            "{request} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n{headers}\r\n"
        )
    }

    /// The answer to a request, which has to go well.
    pub(crate) async fn get(&self, target: &str) -> Value {
        let mut stream = self.connect().await;
        let head = self.head(&format!("GET {target}"), "Connection: close\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    }

    /// Follows the events after a place, or from now on.
    pub(crate) async fn follow(&self, target: &str, headers: &str) -> Events {
        let mut stream = self.connect().await;
        let head = self.head(&format!("GET {target}"), headers);
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut events = Events { reader: BufReader::new(stream), rest: String::new() };
        let status = events.line().await.unwrap();
        assert!(status.starts_with("HTTP/1.1 200"), "{status}");
        while events.line().await.is_some_and(|line| !line.is_empty()) {}
        events
    }
}

/// An event as it was sent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sent {
    pub(crate) name: Option<String>,
    pub(crate) id: String,
    pub(crate) data: Value,
}

/// A stream of events in chunks.
pub(crate) struct Events {
    reader: BufReader<TcpStream>,
    rest: String,
}

impl Events {
    async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let count = self.reader.read_line(&mut line).await.unwrap();
        (count > 0).then(|| line.trim_end().to_owned())
    }

    /// The next event; none at the end of the stream. Comments and the like are skipped.
    pub(crate) async fn next(&mut self) -> Option<Sent> {
        tokio::time::timeout(PATIENCE, self.awaited()).await.expect("there is no further event")
    }

    async fn awaited(&mut self) -> Option<Sent> {
        loop {
            while let Some((block, rest)) = self.rest.split_once("\n\n") {
                let sent = parsed(block);
                self.rest = rest.to_owned();
                if sent.is_some() {
                    return sent;
                }
            }
            let size = usize::from_str_radix(&self.line().await?, 16).unwrap();
            let mut chunk = vec![0; size + 2];
            self.reader.read_exact(&mut chunk).await.unwrap();
            chunk.truncate(size);
            self.rest.push_str(&String::from_utf8(chunk).unwrap());
            if size == 0 {
                return None;
            }
        }
    }

    /// The numbers of so many events.
    pub(crate) async fn numbers(&mut self, count: usize) -> Vec<u64> {
        let mut numbers = Vec::new();
        while numbers.len() < count {
            let sent = self.next().await.unwrap();
            assert_eq!(sent.name, None, "{sent:?}");
            numbers.push(sent.data["seq"].as_u64().unwrap());
        }
        numbers
    }
}

fn parsed(block: &str) -> Option<Sent> {
    let field = |name: &str| {
        let lines = block.lines().filter_map(|line| line.split_once(": "));
        let values: Vec<_> = lines.filter(|(field, _)| *field == name).map(|it| it.1).collect();
        assert!(values.len() < 2, "{block}");
        values.first().map(|value| (*value).to_owned())
    };
    let data = serde_json::from_str(&field("data")?).unwrap();
    Some(Sent { name: field("event"), id: field("id").unwrap(), data })
}
