//! A client that speaks to a server in this process, line by line.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use callstack_engine::{Engine, Settings, World};
use callstack_mcp::{McpServer, Sessions, serve};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf,
};

/// Bytes that client and server may send before the other one reads them.
const AHEAD: usize = 1 << 20;

/// A clock on which a second passes with every reading; ids count up.
#[derive(Default)]
struct Foreseen {
    ticks: AtomicI64,
    ids: AtomicI64,
}

impl World for Foreseen {
    fn now(&self) -> i64 {
        1_700_000_000_000 + 1_000 * self.ticks.fetch_add(1, Ordering::Relaxed)
    }

    fn id(&self, prefix: &str) -> String {
        format!("{prefix}{:04}", self.ids.fetch_add(1, Ordering::Relaxed))
    }
}

/// A project and what servers of it have in common.
pub(crate) struct TestEnv {
    _folder: TempDir,
    pub(crate) engine: Arc<Engine>,
}

impl TestEnv {
    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    /// A project with settings, by their variables.
    pub(crate) fn with(variables: &[(&str, &str)]) -> Self {
        let folder = TempDir::new().unwrap();
        let named = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let settings = Settings::from_vars(named).unwrap();
        let world = Box::new(Foreseen::default());
        let engine = Engine::open_unchecked(folder.path(), settings, world).unwrap();
        Self { _folder: folder, engine: Arc::new(engine) }
    }

    /// A client with a server of its own.
    pub(crate) fn client(&self) -> Client {
        self.client_of(Sessions::Process("mcp-0".to_owned()))
    }

    /// A client of a server that knows sessions so.
    pub(crate) fn client_of(&self, sessions: Sessions) -> Client {
        let server = McpServer::new(Arc::new(Arc::clone(&self.engine)), sessions, "1.2.3");
        let (near, far) = tokio::io::duplex(AHEAD);
        let (from, to) = tokio::io::split(far);
        // A client that goes away ends it.
        tokio::spawn(async move { drop(serve(server, from, to).await) });
        let (output, input) = tokio::io::split(near);
        Client { input, output: BufReader::new(output), requests: 0, meta: Value::Null }
    }
}

pub(crate) struct Client {
    input: WriteHalf<DuplexStream>,
    output: BufReader<ReadHalf<DuplexStream>>,
    requests: u64,
    /// The `_meta` of every request.
    pub(crate) meta: Value,
}

impl Client {
    /// Makes the handshake of clients since 2025. Returns the server's description of itself.
    pub(crate) async fn hello(&mut self, name: &str) -> Value {
        let info = json!({"name": name, "version": "1"});
        let hello =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
        let said = self.request("initialize", hello).await;
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.send(&ready.to_string()).await;
        said
    }

    pub(crate) async fn send(&mut self, line: &str) {
        self.input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// Sends a request; returns its id.
    pub(crate) async fn ask(&mut self, method: &str, mut params: Value) -> u64 {
        self.requests += 1;
        let id = self.requests;
        if !self.meta.is_null() {
            params["_meta"] = self.meta.clone();
        }
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(&request.to_string()).await;
        id
    }

    /// The next message of the server.
    pub(crate) async fn next(&mut self) -> Value {
        let mut line = String::new();
        assert_ne!(self.output.read_line(&mut line).await.unwrap(), 0, "the server has ended");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Returns the answer to a request, and ignores everything before it.
    pub(crate) async fn answer(&mut self, id: impl Into<Value>) -> Value {
        let id = id.into();
        loop {
            let message = self.next().await;
            if message["id"] == id {
                return message;
            }
        }
    }

    /// The result of a request that has to succeed.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params).await;
        let mut answer = self.answer(id).await;
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].take()
    }

    /// The result of a tool.
    pub(crate) async fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": name, "arguments": arguments})).await
    }

    /// Returns the answer of a tool that has to succeed, as a program reads it.
    pub(crate) async fn tool(&mut self, name: &str, arguments: Value) -> Value {
        let mut result = self.call(name, arguments).await;
        assert_eq!(result["isError"], false, "{name}: {result}");
        result["structuredContent"].take()
    }

    /// Returns the refusal of a tool, as a program reads it.
    pub(crate) async fn refusal(&mut self, name: &str, arguments: Value) -> Value {
        let mut result = self.call(name, arguments).await;
        assert_eq!(result["isError"], true, "{name}: {result}");
        result["structuredContent"].take()
    }

    /// Begins a frame.
    pub(crate) async fn push(&mut self, title: &str) -> Value {
        self.tool("stack_frame_push", json!({"title": title, "successCriteria": "It is done"}))
            .await
    }
}
