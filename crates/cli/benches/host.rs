//! The process that serves the plugin, alone: requests through pipes in memory, as the plugin makes them.

use std::io::{BufRead as _, BufReader, PipeReader, PipeWriter, Write as _};
use std::path::Path;
use std::thread;

use callstack_engine::{Engine, Settings, SystemWorld};
use callstack_hosts::opencode::serve;
use callstack_store::Store;
use serde_json::{Value, json};

use super::measure::{Samples, Table, load, ms};
use super::transcript::Transcript;

const SESSION: &str = "ses_benchbenchbenchbench01";
const CALLS: usize = 250;
/// A frame is pushed, worked in for as many calls, and popped.
const A_FRAME: usize = 10;
const GOAL: f64 = 2.0;

/// Times the requests of a model call at each size.
pub(crate) fn run(sizes: &[usize]) {
    let mut table = Table::new(&[
        "messages",
        "finished frames",
        "first call",
        "sync median",
        "p99",
        "system median",
        "p99",
        "call after a pop: median",
        "p99",
        "goal (p99)",
    ]);
    for &messages in sizes {
        table.row(one(messages));
    }
    table.print(&format!("The host process alone, in memory (milliseconds; {})", load()));
}

fn one(messages: usize) -> Vec<String> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let frames = messages * 15 / 100;
    let mut transcript =
        Transcript::new(SESSION, &folder.path().to_string_lossy(), messages, frames);
    let store = Store::open_unchecked(&callstack_store::prepare(folder.path()).unwrap()).unwrap();
    let frames = transcript.store_frames(&store, 1).unwrap() - 2;
    drop(store);

    let mut host = Host::start(folder.path());
    let (mut first, mut sync, mut system, mut folding) =
        <(Samples, Samples, Samples, Samples)>::default();
    first.time(|| host.sync(&transcript));
    for call in 0..CALLS {
        system.time(|| host.system());
        match call % A_FRAME {
            1 => host.tool(
                &mut transcript,
                "stack_frame_push",
                &json!({
                    "title": format!("Live subtask {call}"), "successCriteria": "The step is done.",
                }),
            ),
            9 => host.tool(&mut transcript, "stack_frame_pop", &json!({"results": "It is done."})),
            _ => drop(transcript.work().to_string()),
        }
        let samples = if call % A_FRAME == 9 { &mut folding } else { &mut sync };
        samples.time(|| host.sync(&transcript));
    }
    assert!(host.held > frames, "the finished frames are not folded: {} operations", host.held);
    let met = sync.p99() + system.p99() <= GOAL;
    vec![
        messages.to_string(),
        frames.to_string(),
        ms(first.median()),
        ms(sync.median()),
        ms(sync.p99()),
        ms(system.median()),
        ms(system.p99()),
        ms(folding.median()),
        ms(folding.p99()),
        format!("{GOAL}: {}", if met { "met" } else { "missed" }),
    ]
}

/// The plugin's side of the pipes.
struct Host {
    input: Option<PipeWriter>,
    output: BufReader<PipeReader>,
    thread: Option<thread::JoinHandle<()>>,
    asked: u64,
    keep: usize,
    held: u64,
    serial: i64,
}

impl Host {
    fn start(project: &Path) -> Self {
        let engine = Engine::open_unchecked(project, Settings::default(), Box::new(SystemWorld));
        let (requests, input) = std::io::pipe().unwrap();
        let (output, answers) = std::io::pipe().unwrap();
        let thread = thread::spawn(move || {
            serve(&engine, "bench", BufReader::new(requests), answers, |line| panic!("{line}"))
                .unwrap();
        });
        let output = BufReader::new(output);
        let (input, thread) = (Some(input), Some(thread));
        Self { input, output, thread, asked: 0, keep: 0, held: 0, serial: 0 }
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.asked += 1;
        let line = json!({"id": self.asked, "method": method, "params": params}).to_string();
        let input = self.input.as_mut().unwrap();
        input.write_all((line + "\n").as_bytes()).unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        let mut answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["error"], Value::Null, "{method}");
        answer["result"].take()
    }

    fn sync(&mut self, transcript: &Transcript) {
        let answer = self.ask("sync", &json!({
            "session": SESSION, "purpose": "turn", "keep": self.keep,
            "messages": &transcript.messages[self.keep..], "ops": self.held, "applied": self.serial,
        }));
        self.keep = transcript.messages.len();
        self.held =
            answer["keep"].as_u64().unwrap() + answer["ops"].as_array().unwrap().len() as u64;
        self.serial = answer["serial"].as_i64().unwrap();
    }

    fn system(&mut self) {
        let model = json!({"id": "scripted", "provider": "scripted", "context": 2_000_000});
        self.ask(
            "system",
            &json!({"session": SESSION, "model": model, "head": "You are an agent"}),
        );
    }

    /// A call of ours: the engine is asked first, then the transcript shows it.
    fn tool(&mut self, transcript: &mut Transcript, name: &str, input: &Value) {
        let (message, call) = transcript.call(name, input, "Done.");
        self.ask(
            "tool",
            &json!({
                "name": name, "args": input, "session": SESSION, "message": message, "call": call,
            }),
        );
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        drop(self.input.take());
        if let Some(thread) = self.thread.take() {
            // A panic over there was printed when it happened.
            drop(thread.join());
        }
    }
}
