//! Checks that a store returns every byte of recorded sessions, and measures the cost of keeping them.
//!
//! `cargo run -p callstack-engine --example kept -- FOLDER`: a folder with sessions of agents, as JSON
//! lines, or as JSON with a list of messages. Each session goes into a store of its own. Every message
//! is then read through its frame's log and compared byte for byte, and some are looked for by search: by
//! strings from their beginning, their middle and their end. Ids and encoded data are searched for in the messages as
//! they are written.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement prints and may stop")]

use std::fs;
use std::path::{Path, PathBuf};

use callstack_engine::search::{Depth, SearchRequest};
use callstack_engine::{Engine, LogRequest, Settings, SystemWorld, UserMessage};
use callstack_store::{FOLDER, MessageBody, Store};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

const SESSION: &str = "ses_kept";
/// Messages of a session that are looked for, evenly spread.
const LOOKED_FOR: usize = 40;
/// Characters of a string that is looked for.
const PIECE: usize = 60;

#[derive(Default)]
struct Sums {
    messages: usize,
    bytes: u64,
    stored: u64,
    file: u64,
    wanted: usize,
    found: usize,
    found_raw: usize,
}

fn main() {
    let Some(folder) = std::env::args_os().nth(1).filter(|it| Path::new(it).is_dir()) else {
        println!("skipped: name a folder with recorded sessions");
        return;
    };
    let mut files = Vec::new();
    sessions(Path::new(&folder), &mut files);
    files.sort();
    println!(
        "session | messages | bytes | bodies, of the JSON | database, of the JSON | back | found \
         | and with --raw"
    );
    let mut all = Sums::default();
    for file in &files {
        let messages = messages_of(&fs::read_to_string(file).unwrap());
        if messages.is_empty() {
            continue;
        }
        let sums = kept(&messages);
        print_sums(&file.strip_prefix(&folder).unwrap_or(file).display().to_string(), &sums);
        all.messages += sums.messages;
        all.bytes += sums.bytes;
        all.stored += sums.stored;
        all.file += sums.file;
        all.wanted += sums.wanted;
        all.found += sums.found;
        all.found_raw += sums.found_raw;
    }
    print_sums("all", &all);
}

fn print_sums(name: &str, sums: &Sums) {
    println!(
        "{name} | {} | {} | {:.3} | {:.3} | every byte | {} of {} | {}",
        sums.messages,
        sums.bytes,
        sums.stored as f64 / sums.bytes as f64,
        sums.file as f64 / sums.bytes as f64,
        sums.found,
        sums.wanted,
        sums.found + sums.found_raw
    );
}

fn sessions(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sessions(&path, found);
        } else if path.extension().is_some_and(|it| it == "json" || it == "jsonl" || it == "traj") {
            found.push(path);
        }
    }
}

/// The messages of a session as they stand in its file.
fn messages_of(text: &str) -> Vec<String> {
    #[derive(Deserialize)]
    struct Whole<'t> {
        #[serde(borrow, alias = "trajectory")]
        messages: Vec<&'t RawValue>,
    }
    if let Ok(whole) = serde_json::from_str::<Whole<'_>>(text) {
        return whole.messages.iter().map(|message| message.get().to_owned()).collect();
    }
    text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()
}

fn kept(messages: &[String]) -> Sums {
    let project = tempfile::tempdir().unwrap();
    let settings = Settings::default();
    let engine = Engine::open_unchecked(project.path(), settings, Box::new(SystemWorld)).unwrap();
    let user = UserMessage {
        session: SESSION.to_owned(),
        host: "measure".to_owned(),
        text: "Go".to_owned(),
    };
    engine.user_message(&user).unwrap();
    let store = Store::open_unchecked(&project.path().join(FOLDER)).unwrap();
    let bodies: Vec<MessageBody> = messages
        .iter()
        .enumerate()
        .map(|(at, json)| MessageBody { id: format!("msg_{at:05}"), json: json.clone() })
        .collect();
    for bodies in bodies.chunks(32) {
        store.write(|change| change.record_messages(1, SESSION, bodies)).unwrap();
    }
    let frame = engine.resolve("f1").unwrap();
    let part = engine.read_log(&frame, &LogRequest::default()).unwrap();
    assert_eq!(part.entries.len(), messages.len(), "a message is missing");
    for (entry, sent) in part.entries.iter().zip(messages) {
        assert_eq!(entry.to_json(true), *sent, "a message is not what it was");
    }
    let mut sums = Sums { messages: messages.len(), ..Sums::default() };
    let step = messages.len().div_ceil(LOOKED_FOR);
    for (at, message) in messages.iter().enumerate().step_by(step) {
        for piece in pieces(message) {
            sums.wanted += 1;
            if is_found(&engine, &piece, at, Depth::Thorough) {
                sums.found += 1;
            } else {
                let written = Value::from(piece).to_string();
                let written = written.trim_matches('"');
                sums.found_raw += usize::from(is_found(&engine, written, at, Depth::Raw));
            }
        }
    }
    (_, sums.bytes, sums.stored) = engine.message_sizes().unwrap();
    drop(engine);
    drop(store);
    sums.file = fs::metadata(project.path().join(FOLDER).join("callstack.db")).unwrap().len();
    sums
}

/// Strings of whole words from the beginning, the middle and the end of a message's longest text.
fn pieces(message: &str) -> Vec<String> {
    let mut longest = String::new();
    if let Ok(value) = serde_json::from_str::<Value>(message) {
        look(&value, &mut longest);
    }
    let words: Vec<&str> = longest.split_whitespace().collect();
    let mut found = Vec::new();
    for from in [0, words.len() / 2, words.len().saturating_sub(6)] {
        let Some(first) = words.get(from) else { continue };
        // The string has to stand in the text unchanged, white space included.
        let start = first.as_ptr() as usize - longest.as_ptr() as usize;
        let rest = longest.get(start..).unwrap_or_default();
        let line = rest.split(['\n', '\r']).next().unwrap_or_default();
        let end = line.char_indices().nth(PIECE).map_or(line.len(), |(at, _)| at);
        let piece = line.get(..end).unwrap_or_default();
        let whole = if end < line.len() { piece.rfind(' ').unwrap_or(end) } else { end };
        let piece = piece.get(..whole).unwrap_or_default().trim_end().to_owned();
        if piece.chars().any(char::is_alphanumeric) && !found.contains(&piece) {
            found.push(piece);
        }
    }
    found
}

fn look(value: &Value, longest: &mut String) {
    match value {
        Value::String(text) if text.len() > longest.len() => text.clone_into(longest),
        Value::Array(values) => values.iter().for_each(|value| look(value, longest)),
        Value::Object(fields) => fields.iter().for_each(|(_, value)| look(value, longest)),
        _ => {}
    }
}

/// Whether a search for the string finds the message.
fn is_found(engine: &Engine, piece: &str, at: usize, depth: Depth) -> bool {
    let request = SearchRequest {
        text: piece.to_owned(),
        exact: true,
        frame: None,
        limit: 10_000,
        depth,
        reveal: true,
    };
    let answer = engine.search(&request).unwrap();
    let id = format!("msg_{at:05}");
    answer.places.iter().any(|it| it.message.as_ref().is_some_and(|message| message.id == id))
}
