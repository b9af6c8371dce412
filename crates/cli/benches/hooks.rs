//! The time that our hooks add to a model call, inside the real `OpenCode`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use callstack_engine::{Engine, Settings, SystemWorld};
use callstack_store::Store;
use callstack_testkit::{Callstack, OpenCode, Sealed, Server};
use serde_json::{Value, json};

use super::measure::{Samples, Table, load, ms};
use super::model::Model;
use super::transcript::Transcript;

const PLUGIN: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../integrations/opencode/callstack.ts");
const TIMED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/hooks.ts");
const TRANSFORM: &str = "experimental.chat.messages.transform";
const GOAL: f64 = 2.0;
const MEMORY_GOAL: f64 = 30.0;

/// The calls that are made beyond a session's first `messages`: numbers of sessions, turns, and calls in a turn.
struct Plan {
    messages: usize,
    sessions: usize,
    turns: usize,
    calls: usize,
}

/// Few calls in each of several small sessions, since every call makes a session longer.
fn plan(messages: usize) -> Plan {
    match messages {
        0..100 => Plan { messages, sessions: 10, turns: 1, calls: 26 },
        100..1_000 => Plan { messages, sessions: 5, turns: 1, calls: 51 },
        _ => Plan { messages, sessions: 1, turns: 10, calls: 26 },
    }
}

/// Times every hook at each size. Prints the reason when there is no `OpenCode`.
pub(crate) fn run(sizes: &[usize]) {
    let Some(opencode) = OpenCode::locate_or_skip() else { return };
    let mut calls = Table::new(&[
        "messages",
        "model calls",
        "first call of a session",
        "all hooks of a call: median",
        "p99",
        "messages.transform median",
        "p99",
        "system.transform median",
        "p99",
        "goal (p99)",
    ]);
    let mut whole = Table::new(&[
        "messages",
        "times",
        "without: median",
        "p99",
        "with: median",
        "p99",
        "difference of medians",
        "messages.transform, own work: median",
        "p99",
    ]);
    let mut hooks = Table::new(&["messages", "hook", "times", "median", "p99"]);
    let mut process = Table::new(&[
        "messages",
        "peak memory MB",
        "goal",
        "messages stored",
        "JSON bytes each",
        "body bytes / JSON bytes",
        "file bytes / JSON bytes",
    ]);
    for &messages in sizes {
        let plan = plan(messages);
        let without = one(&opencode, &plan, false);
        let measured = one(&opencode, &plan, true);
        calls.row(measured.calls(messages));
        whole.row([
            messages.to_string(),
            measured.gaps.len().to_string(),
            ms(without.gaps.median()),
            ms(without.gaps.p99()),
            ms(measured.gaps.median()),
            ms(measured.gaps.p99()),
            ms(measured.gaps.median() - without.gaps.median()),
            ms(measured.own.median()),
            ms(measured.own.p99()),
        ]);
        for (hook, samples) in &measured.hooks {
            hooks.row([
                messages.to_string(),
                hook.clone(),
                samples.len().to_string(),
                ms(samples.median()),
                ms(samples.p99()),
            ]);
        }
        process.row(measured.process(messages));
    }
    calls.print(&format!(
        "What our hooks add to a model call in OpenCode (milliseconds; {})",
        load()
    ));
    whole.print(
        "From an answer of the model to the next request, without and with the plugin, and what its \
         hooks compute on OpenCode's own thread (milliseconds)",
    );
    hooks.print("Each hook (milliseconds)");
    process.print("The process behind the hooks");
}

/// The measurements of one size.
#[derive(Default)]
struct Measured {
    /// From an answer to the next request.
    gaps: Samples,
    /// The time of `messages.transform` before it waits for the host process.
    own: Samples,
    first: Samples,
    sums: Samples,
    hooks: BTreeMap<String, Samples>,
    shown: (u64, u64),
    peak_mb: f64,
    /// Messages, their bytes as JSON, as stored, and those of the whole file.
    stored: (u64, u64, u64, u64),
}

impl Measured {
    fn calls(&self, messages: usize) -> Vec<String> {
        let hook = |name: &str| {
            let samples = self.hooks.get(name);
            samples.map_or_else(Default::default, |it| (ms(it.median()), ms(it.p99())))
        };
        let (transform, system) = (hook(TRANSFORM), hook("experimental.chat.system.transform"));
        let met = self.sums.p99() <= GOAL;
        vec![
            format!("{messages} ({} to {} seen)", self.shown.0, self.shown.1),
            self.sums.len().to_string(),
            ms(self.first.median()),
            ms(self.sums.median()),
            ms(self.sums.p99()),
            transform.0,
            transform.1,
            system.0,
            system.1,
            format!("{GOAL}: {}", if met { "met" } else { "missed" }),
        ]
    }

    fn process(&self, messages: usize) -> Vec<String> {
        let (count, json, body, file) = self.stored;
        let met = self.peak_mb <= MEMORY_GOAL;
        vec![
            messages.to_string(),
            format!("{:.1}", self.peak_mb),
            format!("{MEMORY_GOAL}: {}", if met { "met" } else { "missed" }),
            count.to_string(),
            (json / count.max(1)).to_string(),
            format!("{:.2}", body as f64 / json as f64),
            format!("{:.2}", file as f64 / json as f64),
        ]
    }

    /// Adds what the timed plugin wrote of one session.
    fn add(&mut self, lines: &[Value], session: &str) {
        let own = lines.iter().filter(|line| line[1] == session);
        let mut calls: Vec<f64> = Vec::new();
        for line in own {
            let (Some(hook), Some(took)) = (line[0].as_str(), line[2].as_f64()) else { continue };
            if hook == TRANSFORM {
                calls.push(0.0);
                if calls.len() > 1 {
                    line[4].as_f64().into_iter().for_each(|own| self.own.add_ms(own));
                }
                let shown = line[3].as_u64().unwrap_or(0);
                let (least, most) = self.shown;
                self.shown = (if least == 0 { shown } else { least.min(shown) }, most.max(shown));
            }
            let is_first = calls.len() < 2;
            // Events are sent beside the call, which does not wait for them.
            if let Some(call) = calls.last_mut()
                && hook != "event"
            {
                *call += took;
            }
            if !is_first {
                self.hooks.entry(hook.to_owned()).or_default().add_ms(took);
            }
        }
        let mut calls = calls.into_iter();
        calls.next().into_iter().for_each(|call| self.first.add_ms(call));
        calls.for_each(|call| self.sums.add_ms(call));
    }
}

fn one(opencode: &OpenCode, plan: &Plan, with_plugin: bool) -> Measured {
    let sealed = Sealed::new().unwrap();
    let project = sealed.project();
    let small = sealed.write("small.txt", "one small file\n").unwrap();
    let model = Model::start(small.to_string_lossy().into_owned(), plan.calls);
    let limits = json!({"limit": {"context": 2_000_000, "output": 8_000}});
    let more = json!({"provider": {"scripted": {"models": {"scripted": limits}}}});
    opencode.configure_with(&sealed, &model.base_url, &more).unwrap();
    if with_plugin {
        let plugin = fs::read_to_string(PLUGIN).unwrap();
        sealed.write(".opencode/callstack/callstack.ts", &plugin).unwrap();
        sealed.install_plugin("timed.ts", Path::new(TIMED)).unwrap();
    }
    Callstack::at(env!("CARGO_BIN_EXE_callstack")).put_on_path(&sealed).unwrap();
    let out = sealed.root().join("hooks.jsonl");
    let store = Store::open_unchecked(&callstack_store::prepare(&project).unwrap()).unwrap();

    let env = [("CALLSTACK_BENCH_OUT", &*out.to_string_lossy())];
    let mut server = opencode.serve_with(&sealed, &env).unwrap();
    let mut next_frame = 1;
    let sessions: Vec<String> = (0..plan.sessions)
        .map(|_| {
            let session = server.create_session().unwrap();
            let info = server.get(&format!("/session/{session}")).unwrap();
            let frames = plan.messages / 10;
            let folder = project.to_string_lossy().into_owned();
            let transcript = Transcript::new(&session, &folder, plan.messages, frames);
            next_frame = transcript.store_frames(&store, next_frame).unwrap();
            import(opencode, &sealed, &json!({"info": info, "messages": transcript.messages}));
            session
        })
        .collect();
    drop(store);

    for session in &sessions {
        for _ in 0..plan.turns {
            server.prompt(session, "Go on with the table, please.").unwrap();
        }
    }
    let mut measured = Measured::default();
    for gap in model.gaps_ms() {
        measured.gaps.add_ms(gap);
    }
    if !with_plugin {
        return measured;
    }
    let lines = written(&out, plan.sessions * plan.turns * plan.calls);
    let peak_mb = peak_memory(&mut server);
    drop(server);
    measured.peak_mb = peak_mb;
    for session in &sessions {
        measured.add(&lines, session);
    }
    let expected = plan.sessions * (plan.turns * plan.calls - 1);
    assert_eq!(measured.sums.len(), expected, "model calls are missing");
    let engine =
        Engine::open_unchecked(&project, Settings::default(), Box::new(SystemWorld)).unwrap();
    let (count, json, body) = engine.message_sizes().unwrap();
    let file = fs::metadata(engine.store_path()).unwrap().len();
    measured.stored = (count, json, body, file);
    measured
}

/// Returns the output of the timed plugin, once it shows so many model calls: it writes when a session falls silent,
/// a moment after the turn's end. After ten seconds the output is returned in any case.
fn written(out: &Path, calls: usize) -> Vec<Value> {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let text = fs::read_to_string(out).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let lines: Vec<Value> =
            whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let seen = lines.iter().filter(|line| line[0] == TRANSFORM).count();
        if seen >= calls || Instant::now() > deadline {
            return lines;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

fn import(opencode: &OpenCode, sealed: &Sealed, session: &Value) {
    let file = sealed.root().join("session.json");
    fs::write(&file, session.to_string()).unwrap();
    let mut command = opencode.command(sealed);
    command.arg("import").arg(&file);
    let done = sealed.run("opencode-import", command, Duration::from_secs(90)).unwrap();
    assert!(done.success() && done.stdout.contains("Imported"), "{done}");
}

/// The most memory that the `callstack` process below the server ever held, in MB; not a number where the system does
/// not report it.
fn peak_memory(server: &mut Server) -> f64 {
    let parent = format!("PPid:\t{}", server.process().pid());
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let statuses = processes.filter_map(|it| fs::read_to_string(it.path().join("status")).ok());
    let ours = statuses
        .filter(|text| text.starts_with("Name:\tcallstack\n"))
        .find(|text| text.lines().any(|line| line == parent));
    let peak = ours.as_deref().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.trim().trim_end_matches(" kB").parse::<f64>().ok()
    });
    peak.map_or(f64::NAN, |kb| kb / 1_024.0)
}
