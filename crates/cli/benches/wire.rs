//! Recorded sessions on the wire of a real `OpenCode`: the size of its requests without callstack, under the level
//! `auto`, and with frames that the model pushes.
//!
//! Model and tools answer as recorded; the user speaks as soon as a turn is over. System prompt and tools are those
//! of `OpenCode`, and count.

mod floor;
mod frames;
mod recorded;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use callstack_recordings::read;
use callstack_scripted_model::{
    Conversation, RecordedRequest, Script, ScriptedModel, Step, prefix_common_bytes,
};
use callstack_testkit::{Callstack, OpenCode, Sealed, Server};
use serde_json::{Value, json};

use super::measure::{Table, load};
use floor::{Finished, ends, least};
use frames::{Habit, steps};
use recorded::{Session, Turn};

const PLUGIN: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../integrations/opencode/callstack.ts");
const TOOLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/wire.ts");
/// The cost of a token of input that the provider has in its cache, and of a new one.
const CACHED: f64 = 0.1;
const NEW: f64 = 1.25;
/// A minute each; the agent works as long as its turn takes.
const WAITS: usize = 20;

/// A way to send a session.
struct Variant {
    name: &'static str,
    /// The level of autonomy; none without callstack.
    level: Option<&'static str>,
    habit: Habit,
}

const WAYS: [Variant; 4] = [
    Variant { name: "without callstack", level: None, habit: Habit::Nothing },
    Variant { name: "`auto`", level: Some("auto"), habit: Habit::Nothing },
    Variant { name: "pushes at its tasks", level: Some("suggest"), habit: Habit::Tasks },
    Variant {
        name: "and pops of named stretches",
        level: Some("suggest"),
        habit: Habit::TasksAndStretches,
    },
];

/// The least that requests could take.
const LEAST: [(&str, Finished); 2] = [
    ("if tasks left nothing", Finished::Tasks),
    ("if tasks and turns left nothing but replies", Finished::TasksAndTurns),
];

/// Plays the sessions of these files or folders. Prints the reason when there is no `OpenCode`.
pub(crate) fn run(paths: &[String], dump: Option<&Path>) {
    let Some(opencode) = OpenCode::locate_or_skip() else { return };
    let own = own_tools(&opencode);
    for path in paths {
        for recording in read(Path::new(path)).unwrap().iter().filter(|it| it.parent.is_none()) {
            let mut table = Table::new(&[
                "session",
                "requests",
                "tokens of the first",
                "of the largest",
                "of all",
                "billed",
                "largest",
                "all",
                "billed",
                "pushes and pops",
            ]);
            let mut whole = None;
            let mut without = Vec::new();
            let mut more = 0.0;
            for way in &WAYS {
                let sent = play(&opencode, &own, way, |project| Session::of(recording, project));
                if let Some(folder) = dump {
                    dump_to(folder, way, &sent);
                }
                let taken = Taken::of(&sent);
                let whole = whole.get_or_insert(taken);
                more = taken.first - whole.first;
                table.row(taken.row(way.name, whole, &sent));
                if way.level.is_none() {
                    without = sent;
                }
            }
            let Some(whole) = whole else { continue };
            let session = Session::of(recording, &recording.project);
            for (name, finished) in LEAST {
                let taken = least(&without, &ends(&session, finished), more);
                table.row(taken.row(name, &whole, &without));
            }
            let name = Path::new(path).file_stem().unwrap_or_default().to_string_lossy();
            table.print(&format!(
                "{name} on the wire of a real OpenCode, system prompt and tools with it, without \
                 pauses (estimated tokens, and as shares of those without callstack; {})",
                load()
            ));
        }
    }
}

/// The size of a session's requests, in estimated tokens.
#[derive(Clone, Copy)]
struct Taken {
    first: f64,
    largest: f64,
    all: f64,
    billed: f64,
}

impl Taken {
    fn of(sent: &[RecordedRequest]) -> Self {
        let size = |request: &RecordedRequest| request.token_estimate() as f64;
        let mut taken = Self { first: 0.0, largest: 0.0, all: 0.0, billed: 0.0 };
        for (at, request) in sent.iter().enumerate() {
            let size = size(request);
            let before = at.checked_sub(1).map(|before| &sent[before]);
            let common = before.map_or(0, |before| prefix_common_bytes(before, request));
            let cached = (common as f64 / 4.0).min(size);
            if at == 0 {
                taken.first = size;
            }
            taken.largest = taken.largest.max(size);
            taken.all += size;
            taken.billed += CACHED * cached + NEW * (size - cached);
        }
        taken
    }

    fn row(&self, name: &str, whole: &Self, sent: &[RecordedRequest]) -> Vec<String> {
        let share = |own: f64, whole: f64| format!("{:.3}", own / whole);
        let calls: BTreeSet<&str> = sent.iter().flat_map(RecordedRequest::call_ids).collect();
        let frames = calls.iter().filter(|id| id.starts_with("call_")).count();
        vec![
            name.to_owned(),
            sent.len().to_string(),
            format!("{:.0}", self.first),
            format!("{:.0}", self.largest),
            format!("{:.0}", self.all),
            format!("{:.0}", self.billed),
            share(self.largest, whole.largest),
            share(self.all, whole.all),
            share(self.billed, whole.billed),
            frames.to_string(),
        ]
    }
}

/// `OpenCode`'s own tools, as it sends them.
fn own_tools(opencode: &OpenCode) -> BTreeMap<String, Value> {
    let sealed = Sealed::new().unwrap();
    let model = ScriptedModel::start(Script::steps([Step::text("Hello.")])).unwrap();
    configure(opencode, &sealed, &model);
    let server = opencode.serve(&sealed).unwrap();
    let session = server.create_session().unwrap();
    server.prompt(&session, "Hello.").unwrap();
    let requests = model.agent_requests(&session);
    let tools = requests.iter().flat_map(RecordedRequest::tools).map(|tool| &tool["function"]);
    tools.map(|tool| (tool["name"].as_str().unwrap().to_owned(), tool.clone())).collect()
}

fn configure(opencode: &OpenCode, sealed: &Sealed, model: &ScriptedModel) {
    let limits = json!({"limit": {"context": 200_000, "output": 8_000}});
    let more = json!({"provider": {"scripted": {"models": {"scripted": limits}}}});
    opencode.configure_with(sealed, &model.base_url(), &more).unwrap();
}

/// Plays a session in one way, and returns the agent's requests.
fn play(
    opencode: &OpenCode,
    own: &BTreeMap<String, Value>,
    way: &Variant,
    session: impl Fn(&str) -> Session,
) -> Vec<RecordedRequest> {
    let sealed = Sealed::new().unwrap();
    let session = session(&sealed.project().to_string_lossy());
    let steps = steps(&session, way.habit);
    let expected = steps.len();
    let model = ScriptedModel::start(Script::new()).unwrap();
    model.add(Conversation::new(steps));
    configure(opencode, &sealed, &model);
    let unknown = json!({
        "description": "A tool of the agent that was recorded.",
        "parameters": {"type": "object", "properties": {}, "additionalProperties": true},
    });
    let tools = session.tools.iter();
    let tools = tools.map(|name| (name.clone(), own.get(name).unwrap_or(&unknown).clone()));
    let recorded = sealed.root().join("recorded.json");
    let tools: BTreeMap<String, Value> = tools.collect();
    let stubs = json!({ "tools": tools, "answers": session.answers });
    fs::write(&recorded, stubs.to_string()).unwrap();
    sealed.install_plugin("recorded.ts", Path::new(TOOLS)).unwrap();
    let recorded = recorded.to_string_lossy();
    let mut env = vec![("CALLSTACK_BENCH_RECORDED", &*recorded)];
    if let Some(level) = way.level {
        Callstack::at(env!("CARGO_BIN_EXE_callstack")).put_on_path(&sealed).unwrap();
        sealed.install_plugin("callstack.ts", Path::new(PLUGIN)).unwrap();
        env.push(("STACK_AUTONOMY_LEVEL", level));
    }
    let server = opencode.serve_with(&sealed, &env).unwrap();
    let id = server.create_session().unwrap();
    for turn in &session.turns {
        say(&server, &id, turn);
    }
    for finding in model.violations() {
        println!("{}: {finding}", way.name);
    }
    let sent = model.agent_requests(&id);
    assert_eq!(sent.len(), expected, "{}: other requests than recorded steps", way.name);
    sent
}

/// Sends the user's words, and waits for the end of the agent's turn.
fn say(server: &Server, session: &str, turn: &Turn) {
    let mut events = server.events().unwrap();
    let path = format!("/session/{session}/prompt_async");
    server.post(&path, &json!({ "parts": turn.parts })).unwrap();
    let waited = (0..WAITS).find_map(|_| events.wait_idle(session).ok());
    assert!(waited.is_some(), "the agent's turn does not end");
}

/// Writes the requests as they were sent, a file each, for inspection.
fn dump_to(folder: &Path, way: &Variant, sent: &[RecordedRequest]) {
    let name: String = way.name.chars().filter(char::is_ascii_alphabetic).collect();
    let folder = folder.join(name);
    fs::create_dir_all(&folder).unwrap();
    for (number, request) in sent.iter().enumerate() {
        fs::write(folder.join(format!("{number:03}.txt")), request.render()).unwrap();
        fs::write(folder.join(format!("{number:03}.json")), request.body.to_string()).unwrap();
    }
}
