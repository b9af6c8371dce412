//! Listens on loopback, and serves connections until it has to stop.

use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use callstack_engine::{EngineError, Kind};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tower::ServiceExt as _;

use crate::access::Token;
use crate::app::{App, Limits, routes};
use crate::connections::{Connection, Connections};
use crate::projects::Served;
use crate::record::{Records, Running};
use crate::steady::Steady;

/// Threads on which operations run: each keeps the memory of the largest answer that it made.
const READERS: usize = 8;
/// Bytes of a request's head.
const HEAD: usize = 32 * 1024;
/// The time that answers under way have when the server stops.
const LAST_ANSWERS: Duration = Duration::from_secs(5);
/// The pause after the system refused a further connection.
const NO_ROOM: Duration = Duration::from_millis(100);

/// The options of a server.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The port; 0 for any that is free.
    pub port: u16,
    /// The time for which the server stays without a client; unlimited if none.
    pub idle: Option<Duration>,
    /// The limits on clients.
    pub limits: Limits,
}

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    app: App,
    port: u16,
    options: Options,
}

impl Server {
    /// Listens. Nothing is answered before [`Server::run`].
    pub async fn bind(served: impl Into<Served>, options: Options) -> Result<Self, EngineError> {
        let failed = |error: io::Error| {
            EngineError::new(
                Kind::Unavailable,
                format!("can't listen on port {} of 127.0.0.1: {error}", options.port),
            )
            .with_hint("Leave the port out for one that is free.")
        };
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let token = Token::random()?;
        let app = App::new(served.into(), token, port, options.limits);
        Ok(Self { listener, app, port, options })
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The token that clients have to send.
    pub fn token(&self) -> &Token {
        &self.app.token
    }

    /// Answers requests until `stop` resolves, or no client has been there for as long as the options say. Answers
    /// that are under way then are finished.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let connections = Connections::new(self.options.limits);
        let router = routes(self.app.clone());
        let mut tasks = JoinSet::new();
        let mut stop = std::pin::pin!(stop);
        let mut idle = std::pin::pin!(until_idle(&connections, self.options.idle));
        let projects = Arc::clone(&self.app.projects);
        let mut closing = std::pin::pin!(projects.close_unused(self.options.limits.unused));
        loop {
            tokio::select! {
                () = &mut stop => break,
                () = &mut idle => break,
                () = &mut closing => {}
                Some(_) = tasks.join_next() => {}
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        let carried = carry(stream, connections.admit(), router.clone(),
                            self.options.limits, self.app.stopping.subscribe());
                        tasks.spawn(carried);
                    }
                    Err(_) => tokio::time::sleep(NO_ROOM).await,
                },
            }
        }
        drop(self.listener);
        self.app.stopping.send_replace(());
        let finished = async { while tasks.join_next().await.is_some() {} };
        // Answers that are not finished by then end with the tasks.
        drop(tokio::time::timeout(LAST_ANSWERS, finished).await);
    }
}

async fn until_idle(connections: &Connections, most: Option<Duration>) {
    let Some(most) = most else { return std::future::pending().await };
    while let Some(left) = most.checked_sub(connections.idle()).filter(|left| !left.is_zero()) {
        tokio::time::sleep(left).await;
    }
}

/// Answers the requests of a connection.
async fn carry(
    stream: TcpStream,
    connection: Connection,
    router: Router,
    limits: Limits,
    mut stopped: watch::Receiver<()>,
) {
    // Answers are written whole; waiting for more only delays them.
    drop(stream.set_nodelay(true));
    let proof = connection.proof();
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let mut request: Request = request.map(Body::new);
        request.extensions_mut().insert(proof.clone());
        let answer = router.clone().oneshot(request);
        async move { Ok::<_, Infallible>(answer.await.unwrap_or_else(|never| match never {})) }
    });
    let http = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(HEAD)
        .serve_connection(TokioIo::new(Steady::new(stream, limits.write)), service);
    let mut http = std::pin::pin!(http);
    tokio::select! {
        // A connection may end in any way.
        _ = &mut http => return,
        () = connection.closed() => return,
        _ = stopped.changed() => {}
    }
    http.as_mut().graceful_shutdown();
    drop(http.await);
}

/// The start of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    /// With this call of [`serve`].
    Now,
    /// Before it, in another process.
    Before,
}

/// Serves a project, or all of them, until the process is asked to end, or no client has been there for as long as the options say.
/// If a server already runs for the same, no other one is started, unless another port is named. `report` is called
/// with the server that runs.
pub fn serve<E: From<EngineError>>(
    projects: impl FnOnce() -> Result<Served, E>,
    records: &Records,
    options: Options,
    report: impl FnOnce(&Running, Started) -> Result<(), E>,
) -> Result<(), E> {
    let failed = |error: io::Error| {
        EngineError::new(Kind::Unavailable, format!("the server can't be started: {error}"))
    };
    let starting = records.start()?;
    let running = starting.running()?;
    let same = |other: &&Running| options.port == 0 || options.port == other.port;
    if let Some(running) = running.iter().find(same) {
        return report(running, Started::Before);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(READERS)
        .enable_all()
        .build()
        .map_err(failed)?;
    let projects = projects()?;
    runtime.block_on(async {
        let server = Server::bind(projects, options).await?;
        let asked = asked_to_end().map_err(failed)?;
        let recorded = starting.record(server.port(), server.token())?;
        drop(starting);
        report(&recorded.running, Started::Now)?;
        server.run(asked).await;
        drop(recorded);
        Ok(())
    })
}

/// Resolves when a signal asks the process to end.
#[cfg(unix)]
fn asked_to_end() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut end) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = end.recv() => {}
        }
    })
}

#[cfg(not(unix))]
fn asked_to_end() -> io::Result<impl Future<Output = ()>> {
    Ok(async { drop(tokio::signal::ctrl_c().await) })
}
