//! Measures a server under load: watchers that follow the events, and writers that call an operation twice a second.
//!
//! `cargo run --release -p callstack-server --example load -- [FRAMES] [SECONDS] [WATCHERS] [WRITERS]`
//!
//! Server and clients share the process, so the memory is that of all of them. Fails if a watcher lost an event or had
//! one twice.
#![expect(clippy::print_stdout, reason = "its figures are for whoever runs it")]

use std::error::Error;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use callstack_core::transcript::Anchor;
use callstack_engine::operation::{Caller, PAGE};
use callstack_engine::{Engine, Settings, SystemWorld, operations};
use callstack_server::{Options, Server};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

/// The time between two calls of a writer.
const PAUSE: Duration = Duration::from_millis(500);
/// Finished frames below each frame.
const BESIDE: usize = 400;

type Failure = Box<dyn Error + Send + Sync>;

/// Where the server is, and what lets clients in.
#[derive(Clone)]
struct Place {
    port: u16,
    token: String,
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<usize>());
    let mut next = |otherwise| arguments.next().unwrap_or(Ok(otherwise));
    let (frames, seconds) = (next(1_000)?, next(60)?);
    let (watchers, writers) = (next(100)?, next(50)?);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(load(frames, Duration::from_secs(seconds as u64), watchers, writers))
}

async fn load(
    frames: usize,
    time: Duration,
    watchers: usize,
    writers: usize,
) -> Result<(), Failure> {
    let project = tempfile::tempdir()?;
    let world = Box::new(SystemWorld);
    let engine = Arc::new(Engine::open_unchecked(project.path(), Settings::default(), world)?);
    fill(&engine, frames)?;
    let server = Server::bind(Arc::clone(&engine), Options::default()).await?;
    let place = Place { port: server.port(), token: server.token().as_str().to_owned() };
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(server.run(async { drop(stopped.await) }));

    let begun = engine.newest_event()?.seq;
    let seen = Arc::new(AtomicU64::new(0));
    let watching: Vec<_> = (0..watchers)
        .map(|_| tokio::spawn(watch(place.clone(), begun, Arc::clone(&seen))))
        .collect();
    let until = Instant::now() + time;
    let writing: Vec<_> = (0..writers)
        .map(|number| tokio::spawn(write(place.clone(), number, writers, until)))
        .collect();
    let mut took = Vec::new();
    for writer in writing {
        took.extend(writer.await??);
    }
    let events = engine.newest_event()?.seq - begun;
    let all = events * watchers as u64;
    while seen.load(Ordering::Relaxed) < all {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    took.sort();
    let at = |share: usize| took.get(took.len() * share / 100).copied().unwrap_or_default();
    let busy = processor_time()?;
    let rest = Duration::from_secs(10);
    tokio::time::sleep(rest).await;
    let idle = processor_time()?.saturating_sub(busy);
    println!("{frames} frames, {watchers} watchers, {writers} writers, {time:?}");
    println!(
        "operations: {}, p50 {:?}, p99 {:?}, longest {:?}",
        took.len(),
        at(50),
        at(99),
        at(100).max(took.last().copied().unwrap_or_default())
    );
    println!("events: {events}, each seen once and in order by {watchers} watchers");
    println!(
        "memory at most: {} kB; idle, with the watchers: {idle:?} of {rest:?}",
        peak_memory()?
    );
    drop(stop);
    running.await?;
    for watcher in watching {
        watcher.await??;
    }
    Ok(())
}

/// Makes finished frames.
fn fill(engine: &Engine, frames: usize) -> Result<(), Failure> {
    let caller = Caller {
        session: PAGE.to_owned(),
        host: PAGE.to_owned(),
        anchor: Anchor { message: None, call: None },
        agent: None,
        performs: false,
        reveal: false,
        key: None,
    };
    let call = |name: &str, arguments: Value| -> Result<(), Failure> {
        let operation = operations::find(name).ok_or("there is no such operation")?;
        operation.run(engine, &caller, arguments)?;
        Ok(())
    };
    let push = |title: String| {
        call("stack_frame_push", json!({"title": title, "successCriteria": "it is done"}))
    };
    let pop = || call("stack_frame_pop", json!({"results": "Done, with nothing left to do."}));
    push("the whole".to_owned())?;
    for group in 0..frames.div_ceil(BESIDE) {
        push(format!("group {group}"))?;
        for number in 0..BESIDE.min(frames - group * BESIDE) {
            push(format!("frame {number} of group {group}"))?;
            pop()?;
        }
        pop()?;
    }
    Ok(())
}

/// Begins a request.
async fn ask(stream: &mut TcpStream, place: &Place, line: &str, body: &str) -> Result<(), Failure> {
    let (port, token) = (place.port, &place.token);
    let request = format!(
        "{line} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await?;
    Ok(())
}

/// Counts events until the stream ends; an error if one is missing or comes twice.
async fn watch(place: Place, begun: u64, seen: Arc<AtomicU64>) -> Result<(), Failure> {
    let mut stream = TcpStream::connect(("127.0.0.1", place.port)).await?;
    ask(&mut stream, &place, &format!("GET /v1/events?after={begun}"), "").await?;
    let mut lines = BufReader::new(stream).lines();
    let (mut last, mut is_event) = (begun, true);
    while let Some(line) = lines.next_line().await? {
        if line.starts_with("event: ") {
            is_event = false;
        } else if let Some(place) = line.strip_prefix("id: ").filter(|_| is_event) {
            let seq: u64 = place.split('-').next().unwrap_or_default().parse()?;
            if seq != last + 1 {
                return Err(format!("event {seq} came after {last}").into());
            }
            last = seq;
            seen.fetch_add(1, Ordering::Relaxed);
        } else if line.starts_with("data: ") {
            is_event = true;
        }
    }
    Ok(())
}

/// Calls an operation again and again; how long each call took.
async fn write(
    place: Place,
    number: usize,
    writers: usize,
    until: Instant,
) -> Result<Vec<Duration>, Failure> {
    let mut stream = BufReader::new(TcpStream::connect(("127.0.0.1", place.port)).await?);
    // Writers don't write at the same moment.
    let mut next = tokio::time::interval(PAUSE);
    next.reset_after(PAUSE.mul_f64(number as f64 / writers as f64));
    let mut took = Vec::new();
    let line = "POST /v1/operations/stack_add_decision?session=page";
    while Instant::now() < until {
        next.tick().await;
        let body = json!({"decision": format!("decision {} of writer {number}", took.len())});
        let begun = Instant::now();
        ask(stream.get_mut(), &place, line, &body.to_string()).await?;
        let mut length = 0;
        let mut head = String::new();
        while stream.read_line(&mut head).await? > 2 {
            let header = head.split_once("content-length: ");
            length = header.map_or(Ok(length), |(_, length)| length.trim().parse())?;
            if head.starts_with("HTTP/1.1 ") && !head.starts_with("HTTP/1.1 200") {
                return Err(head.into());
            }
            head.clear();
        }
        let mut answer = vec![0; length];
        stream.read_exact(&mut answer).await?;
        took.push(begun.elapsed());
    }
    Ok(took)
}

/// The processor time that this process has taken.
fn processor_time() -> Result<Duration, Failure> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(')').ok_or("no fields")?;
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<u64>);
    let ticks: u64 = ticks.collect::<Result<Vec<_>, _>>()?.iter().sum();
    Ok(Duration::from_millis(10 * ticks))
}

fn peak_memory() -> Result<String, Failure> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no peak")?;
    Ok(line.trim().trim_end_matches(" kB").to_owned())
}
