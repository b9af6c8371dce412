//! Every setting changes something that a user, an agent or another program sees: set in the environment, there under
//! its name of the first generation, and with `callstack config`.

use std::path::Path;

use callstack_engine::{Scope, Setting};
use callstack_testkit::{Asked, Loopback, Reply};
use serde_json::{Value, json};

use super::test_env::TestEnv;

/// The behaviour without a setting, and with another value of it.
struct Case {
    name: &'static str,
    value: &'static str,
    see: fn(&Trial) -> String,
    without: &'static str,
    with: &'static str,
}

const fn case(
    name: &'static str,
    value: &'static str,
    see: fn(&Trial) -> String,
    without: &'static str,
    with: &'static str,
) -> Case {
    Case { name, value, see, without, with }
}

const CASES: &[Case] = &[
    case("STACK_FRAME_MODE", "off", frame_of_the_user, "f1", "none"),
    case("STACK_TOOLS", "full", lists_the_tree, "no", "yes"),
    case("STACK_CONTEXT_PLACEMENT", "system", place_of_the_context, "push", "system"),
    case("STACK_CONTEXT_IMPORTED", "on", shows_imported, "no", "yes"),
    case("STACK_FOLD_REASONING", "wait", folds_a_busy_step, "yes", "no"),
    case("STACK_FRAME_SESSIONS", "always", place_of_a_push, "here", "create_session"),
    case("STACK_ROLLBACK", "off", records_files, "yes", "no"),
    case("STACK_FILES", "off", has_files, "yes", "no"),
    case("STACK_LOG", "off", is_logged, "yes", "no"),
    case("STACK_AUTONOMY_LEVEL", "manual", is_advised_to_push, "yes", "no"),
    case("STACK_AGENT_REQUESTS", "on", lists_a_rollback, "no", "yes"),
    case("STACK_MASK_OUTPUTS", "on", masks_what_was_read_again, "no", "yes"),
    case("STACK_PUSH_THRESHOLD", "100", is_advised_to_push, "yes", "no"),
    case("STACK_POP_THRESHOLD", "100", should_pop, "pop: yes", "pop: no"),
    case("STACK_SUGGEST_IN_CONTEXT", "off", is_advised_to_push, "yes", "no"),
    case("STACK_ENABLED_HEURISTICS", "duration", is_advised_to_push, "yes", "no"),
    case("STACK_SUBAGENT_ENABLED", "off", frames_of_a_named_subagent, "2", "1"),
    case("STACK_SUBAGENT_MIN_DURATION", "0", frames_of_a_helper, "1", "2"),
    case("STACK_SUBAGENT_MIN_MESSAGES", "1", frames_of_a_helper, "1", "2"),
    case("STACK_SUBAGENT_AUTO_COMPLETE", "off", end_of_a_subagent, "soon", "never"),
    case("STACK_SUBAGENT_IDLE_DELAY", "600000", end_of_a_subagent, "soon", "later"),
    case("STACK_SUBAGENT_PATTERNS", "helper", frames_of_a_helper, "1", "2"),
    case("STACK_SUMMARIZER_ADDRESS", "http://127.0.0.1:1/v1", asks_for_results, "no", "yes"),
    case(
        "STACK_SUMMARIZER_FORMAT",
        "anthropic",
        place_that_is_asked,
        "/chat/completions",
        "/v1/messages",
    ),
    case("STACK_SUMMARIZER_MODEL", "tiny", model_that_is_asked, "none", "tiny"),
    case("STACK_SUMMARIZER_KEY_ENV", "OTHER_KEY", key_that_is_sent, "first", "second"),
    case("STACK_SUMMARIZER_TIME_LIMIT", "500", answer_of_a_slow_model, "All is read.", "late"),
    case("STACK_SUMMARIZER_RETRIES", "0", answer_of_an_ill_model, "All is read.", "ill"),
    case("STACK_SUMMARIZER_TOKENS", "100", includes_the_first_step, "yes", "no"),
    case("STACK_TOKEN_BUDGET_TOTAL", "100", what_is_whole, "ancestor sibling current", ""),
    case(
        "STACK_TOKEN_BUDGET_ANCESTORS",
        "40",
        what_is_whole,
        "ancestor sibling current",
        "sibling current",
    ),
    case(
        "STACK_TOKEN_BUDGET_SIBLINGS",
        "40",
        what_is_whole,
        "ancestor sibling current",
        "ancestor current",
    ),
    case(
        "STACK_TOKEN_BUDGET_CURRENT",
        "40",
        what_is_whole,
        "ancestor sibling current",
        "ancestor sibling",
    ),
    case("STACK_LIMIT_DEPTH", "2", pushes_into_one_another, "3", "1"),
    case("STACK_LIMIT_CHILDREN", "1", pushes_after_one_another, "2", "1"),
    case("STACK_LIMIT_LIVE_FRAMES", "3", pushes_into_one_another, "3", "2"),
    case("STACK_LIMIT_LIVE_SESSIONS", "0", activates_elsewhere, "yes", "no"),
    case("STACK_CONSOLIDATE_ABOVE", "2", has_consolidated, "no", "yes"),
];

#[test]
fn each_has_a_case() {
    let cases: Vec<_> = CASES.iter().map(|case| case.name).collect();
    let settings: Vec<_> = Setting::all().map(|setting| setting.name).collect();
    assert_eq!(cases, settings, "a case here shows what each setting of the table changes");
}

#[test]
fn each_changes_what_is_seen_from_the_environment() {
    for case in CASES {
        let seen = |vars: &[(&str, &str)]| (case.see)(&Trial::with(vars));
        assert_eq!(seen(&[]), case.without, "without {}", case.name);
        assert_eq!(seen(&[(case.name, case.value)]), case.with, "{}={}", case.name, case.value);
    }
}

#[test]
fn each_changes_what_is_seen_under_its_name_of_the_first_generation() {
    for case in CASES.iter().filter(|case| case.name != "STACK_TOOLS") {
        let flame = case.name.replace("STACK_", "FLAME_");
        let profile = ("STACK_TOOLS", "flame");
        let seen = |vars: &[(&str, &str)]| (case.see)(&Trial::with(vars));
        assert_eq!(
            seen(&[(&flame, case.value)]),
            case.without,
            "{flame} counts in its profile alone"
        );
        assert_eq!(seen(&[profile]), case.without, "without {flame}");
        assert_eq!(seen(&[profile, (&flame, case.value)]), case.with, "{flame}={}", case.value);
    }
}

#[test]
fn each_changes_what_is_seen_when_it_is_set_in_the_project() {
    for case in CASES {
        let setting = Setting::find(case.name).unwrap();
        let trial = Trial::with(&[]);
        // A project's value counts before the user's configuration.
        if setting.scope == Scope::Project {
            trial.desk.ok(&["config", "--user", case.name, setting.default]);
        }
        trial.desk.ok(&["config", case.name, case.value]);
        assert_eq!((case.see)(&trial), case.with, "config {} {}", case.name, case.value);
    }
}

/// A project, and the environment of everything that runs in it.
struct Trial {
    desk: TestEnv,
    vars: Vec<(String, String)>,
}

const A: &str = "ses_a";
const CHILD: &str = "ses_child";

impl Trial {
    fn with(vars: &[(&str, &str)]) -> Self {
        let vars = vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Self { desk: TestEnv::new(), vars: vars.collect() }
    }

    /// The answers of one process to a host's requests.
    fn host(&self, requests: &[(&str, Value)]) -> Vec<Value> {
        let lines = requests.iter().enumerate().map(|(id, (method, params))| {
            format!("{}\n", json!({"id": id, "method": method, "params": params}))
        });
        let input = self.desk.sealed.root().join("requests");
        std::fs::write(&input, lines.collect::<String>()).unwrap();
        let mut command = self.desk.command(&self.desk.project(), &["host", "opencode"]);
        command.envs(self.vars.iter().cloned());
        command.stdin(std::fs::File::open(&input).unwrap());
        let said = self.desk.finish(command);
        assert_eq!(said.code, 0, "{}", said.stderr);
        let answers = said.stdout.lines().map(|line| {
            let answer: Value = serde_json::from_str(line).unwrap();
            assert!(answer["error"].is_null(), "{answer}");
            answer["result"].clone()
        });
        let answers: Vec<_> = answers.collect();
        assert_eq!(answers.len(), requests.len(), "{}", said.stderr);
        answers
    }

    fn frames(&self) -> usize {
        self.desk.handles().len()
    }
}

fn says(session: &str, text: &str) -> (&'static str, Value) {
    ("message", json!({"session": session, "message": "msg_1", "text": text}))
}

fn calls(name: &str, at: usize, args: &Value) -> (&'static str, Value) {
    let (message, call) = (format!("msg_{at}"), format!("call_{at}"));
    ("tool", json!({"name": name, "session": A, "message": message, "call": call, "args": args}))
}

fn pushes(at: usize, title: &str, criteria: &str) -> (&'static str, Value) {
    calls("stack_frame_push", at, &json!({"title": title, "successCriteria": criteria}))
}

fn pops(at: usize, results: &str) -> (&'static str, Value) {
    calls("stack_frame_pop", at, &json!({ "results": results }))
}

fn shows(session: &str, messages: &[Value]) -> (&'static str, Value) {
    let params = json!({"session": session, "purpose": "turn", "keep": 0, "ops": 0, "applied": 0,
        "messages": messages});
    ("sync", params)
}

fn user_message(text: &str) -> Value {
    json!({"info": {"id": "msg_1", "role": "user"},
        "parts": [{"id": "prt_1", "type": "text", "text": text}]})
}

/// A step of the model: its thoughts, and its calls.
fn step(at: usize, calls: &[(&str, Value)]) -> Value {
    let mut parts = vec![json!({"id": format!("prt_{at}"), "type": "reasoning", "text": "Hm."})];
    for (number, (tool, state)) in calls.iter().enumerate() {
        let call = if number == 0 { format!("call_{at}") } else { format!("call_{at}_{number}") };
        let mut state = state.clone();
        state["status"] = "completed".into();
        let id = format!("prt_{at}_{number}");
        parts.push(json!({"id": id, "type": "tool", "tool": tool, "callID": call, "state": state}));
    }
    json!({"info": {"id": format!("msg_{at}"), "role": "assistant"}, "parts": parts})
}

fn bash(command: &str, exit: i64) -> (&'static str, Value) {
    ("bash", json!({"input": {"command": command}, "output": "", "metadata": {"exit": exit}}))
}

fn wrote(path: &str) -> (&'static str, Value) {
    ("write", json!({"input": {"filePath": path}, "output": "", "metadata": {"filepath": path}}))
}

fn yes(is: bool) -> String {
    if is { "yes" } else { "no" }.to_owned()
}

fn output(answer: &Value) -> &str {
    answer["output"].as_str().unwrap_or_default()
}

fn frame_of_the_user(trial: &Trial) -> String {
    trial.host(&[says(A, "Write the parser")]);
    let said = trial.desk.run(&["tree", "--json"]);
    let state: Value = serde_json::from_str(&said.stdout).unwrap_or_default();
    let frames = state["frames"].as_object().into_iter().flat_map(|it| it.values());
    let handles: Vec<_> = frames.filter_map(|frame| frame["handle"].as_str()).collect();
    if handles.is_empty() { "none".to_owned() } else { handles.join(" ") }
}

fn lists_the_tree(trial: &Trial) -> String {
    let answers = trial.host(&[("hello", json!({"protocol": 1}))]);
    let tools = answers[0]["tools"].as_array().unwrap();
    yes(tools.iter().any(|tool| tool["name"] == "stack_tree"))
}

fn place_of_the_context(trial: &Trial) -> String {
    let system = json!({"session": A, "model": {"context": 100_000}, "head": ""});
    let answers = trial.host(&[
        says(A, "Write the parser"),
        pushes(2, "lexer", "it lexes"),
        ("system", system),
    ]);
    // The part that stands there from the session's start on has no budget in it.
    let system = answers[2]["texts"].to_string().contains("<budget ");
    match (output(&answers[1]).contains("-context session="), system) {
        (true, false) => "push".to_owned(),
        (false, true) => "system".to_owned(),
        other => format!("{other:?}"),
    }
}

fn folds_a_busy_step(trial: &Trial) -> String {
    let words = user_message("Write the parser");
    let mark = |field: &str, value: Value| json!({"input": {}, "output": "", "metadata": {"callstack": {field: value}}});
    let push = step(2, &[("stack_frame_push", mark("opened", "frm-x".into()))]);
    let work = step(3, &[bash("make lexer", 0)]);
    let busy = step(4, &[("stack_frame_pop", mark("closed", true.into())), bash("make all", 0)]);
    let answers = trial.host(&[
        says(A, "Write the parser"),
        shows(A, std::slice::from_ref(&words)),
        pushes(2, "lexer", "it lexes"),
        shows(A, &[words.clone(), push.clone()]),
        shows(A, &[words.clone(), push.clone(), work.clone()]),
        pops(4, "12 tokens"),
        shows(A, &[words, push, work, busy]),
    ]);
    let ops = answers[6]["ops"].as_array().unwrap();
    yes(ops.iter().any(|op| op["op"] == "cut"))
}

fn place_of_a_push(trial: &Trial) -> String {
    let answers = trial.host(&[says(A, "Write the parser"), pushes(2, "lexer", "it lexes")]);
    answers[1]["next"]["do"].as_str().unwrap_or("here").to_owned()
}

fn lists_a_rollback(trial: &Trial) -> String {
    let answers = trial.host(&[says(A, "Go"), calls("stack", 2, &json!({"op": "all"}))]);
    yes(output(&answers[1]).contains("_rollback("))
}

fn has_files(trial: &Trial) -> String {
    trial.desk.sealed.write(".opencode/opencode.json", "{}").unwrap();
    trial.host(&[says(A, "Write the parser")]);
    yes(trial.desk.project().join(".opencode/stack/state.json").exists())
}

fn records_files(trial: &Trial) -> String {
    trial.desk.sealed.git_init().unwrap();
    trial.host(&[says(A, "Go"), pushes(2, "Write the parser", "it parses")]);
    yes(trial.desk.states().exists())
}

fn is_logged(trial: &Trial) -> String {
    trial.host(&[says(A, "Write the parser")]);
    let log = trial.desk.project().join(".callstack/callstack.log");
    yes(std::fs::read_to_string(log).is_ok_and(|log| log.contains("] Frame created")))
}

fn has_consolidated(trial: &Trial) -> String {
    let mut requests = vec![says(A, "Go")];
    for at in 1..6 {
        requests.push(pushes(2 * at, "part", "it is there"));
        requests.push(pops(2 * at + 1, "it is there"));
    }
    trial.host(&requests);
    yes(trial.desk.json(&["tree"]).to_string().contains("Earlier work"))
}

/// Ends a frame without results, with the model that is set. Returns the output of the command, and the requests to
/// the model.
fn ends_unsaid(trial: &Trial, set: &[(&str, &str)], replies: Vec<Reply>) -> (Value, Vec<Asked>) {
    let server = Loopback::start(replies).unwrap();
    let long = "The first step. ".repeat(60);
    let said = |at: usize, text: &str| {
        json!({"info": {"id": format!("msg_{at}"), "role": "assistant"},
            "parts": [{"id": format!("prt_{at}"), "type": "text", "text": text}]})
    };
    let opened = json!({"callstack": {"opened": "frm-x"}});
    let opened = json!({"input": {}, "output": "", "metadata": opened});
    let push = step(2, &[("stack_frame_push", opened)]);
    let messages = [user_message("Read it"), push, said(3, &long), said(4, "It is read.")];
    trial.host(&[
        says(A, "Read it"),
        shows(A, &messages[..1]),
        pushes(2, "part", "it is read"),
        shows(A, &messages),
    ]);
    for (name, value) in set {
        let value = if *name == "address" { server.address() } else { *value };
        trial.desk.ok(&["config", &format!("summarizer-{name}"), value]);
    }
    let mut command = trial.desk.command(&trial.desk.project(), &["pop", "--json"]);
    command.envs(trial.vars.iter().cloned());
    command.envs([("STACK_SUMMARIZER_KEY", "first"), ("OTHER_KEY", "second")]);
    let said = trial.desk.finish(command);
    assert_eq!(said.code, 0, "{}", said.stderr);
    (serde_json::from_str(&said.stdout).unwrap(), server.asked())
}

const ADDRESS: (&str, &str) = ("address", "");
const MODEL: (&str, &str) = ("model", "small");

fn asks_for_results(trial: &Trial) -> String {
    let (answer, _) = ends_unsaid(trial, &[MODEL, ("retries", "0")], vec![Reply::Close]);
    let failure = answer["summarizerFailure"].as_str();
    yes(failure.is_some_and(|why| why.contains("127.0.0.1:1/")))
}

fn asked_once(trial: &Trial, set: &[(&str, &str)]) -> Option<Asked> {
    ends_unsaid(trial, set, vec![Reply::chat("All is read.")]).1.pop()
}

fn place_that_is_asked(trial: &Trial) -> String {
    let asked = asked_once(trial, &[ADDRESS, MODEL]).unwrap();
    asked.head.split(' ').nth(1).unwrap().to_owned()
}

fn model_that_is_asked(trial: &Trial) -> String {
    let Some(asked) = asked_once(trial, &[ADDRESS]) else { return "none".to_owned() };
    let body: Value = serde_json::from_str(&asked.body).unwrap();
    body["model"].as_str().unwrap().to_owned()
}

fn key_that_is_sent(trial: &Trial) -> String {
    let head = asked_once(trial, &[ADDRESS, MODEL]).unwrap().head;
    let key = head.lines().find_map(|line| line.strip_prefix("authorization: bearer "));
    key.unwrap().to_owned()
}

fn results(trial: &Trial) -> String {
    let shown = trial.desk.json(&["show", "f2"]);
    shown["results"].as_str().unwrap_or_else(|| panic!("{shown}")).to_owned()
}

fn answer_of_a_slow_model(trial: &Trial) -> String {
    let headers = "retry-after: 1\r\n";
    let busy = Reply::With { status: 503, headers, body: String::new() };
    let replies = vec![busy, Reply::chat("All is read.")];
    let (answer, _) = ends_unsaid(trial, &[ADDRESS, MODEL], replies);
    match answer["summarizerFailure"].as_str() {
        Some(why) if why.contains("too late") || why.contains("within") => "late".to_owned(),
        Some(why) => why.to_owned(),
        None => results(trial),
    }
}

fn answer_of_an_ill_model(trial: &Trial) -> String {
    let replies = vec![Reply::with(503, ""), Reply::chat("All is read.")];
    let (answer, _) = ends_unsaid(trial, &[ADDRESS, MODEL], replies);
    match answer["summarizerFailure"].as_str() {
        Some(why) if why.contains("503") => "ill".to_owned(),
        Some(why) => why.to_owned(),
        None => results(trial),
    }
}

fn includes_the_first_step(trial: &Trial) -> String {
    let asked = asked_once(trial, &[ADDRESS, MODEL]).unwrap();
    assert!(asked.body.contains("It is read."), "{}", asked.body);
    yes(asked.body.contains("The first step."))
}

fn masks_what_was_read_again(trial: &Trial) -> String {
    let mut messages = vec![user_message("Read all of it")];
    for at in 2..10 {
        let output = format!("part {at} has words; ").repeat(400);
        let state = json!({"input": {"command": format!("cat {}", at % 2)}, "output": output});
        messages.push(step(at, &[("bash", state)]));
    }
    let answers = trial.host(&[says(A, "Read all of it"), shows(A, &messages)]);
    yes(answers[1]["ops"].to_string().contains("has left the context"))
}

fn is_advised_to_push(trial: &Trial) -> String {
    let mut messages = vec![user_message("Make the build green again")];
    for at in 0..3 {
        messages.push(step(2 * at + 2, &[wrote("src/a.rs")]));
        messages.push(step(2 * at + 3, &[bash("make", 2)]));
    }
    let answers = trial.host(&[says(A, "Make the build green again"), shows(A, &messages)]);
    yes(answers[1]["ops"].to_string().contains("SUGGESTION: Consider pushing"))
}

fn should_pop(trial: &Trial) -> String {
    let signals = json!({"noProgressTurns": 8, "failureSignals": ["a", "b", "c", "d", "e"]});
    let asks = calls("stack_should_pop", 3, &signals);
    let answers = trial.host(&[says(A, "Write the parser"), pushes(2, "lexer", "it lexes"), asks]);
    output(&answers[2]).split('.').next().unwrap_or_default().to_owned()
}

fn child_with(trial: &Trial, title: &str) -> Vec<Value> {
    let info = json!({"id": CHILD, "parentID": A, "title": title});
    let born = json!({"type": "session.created", "properties": {"sessionID": CHILD, "info": info}});
    let idle = json!({"type": "session.idle", "properties": {"sessionID": CHILD}});
    trial.host(&[
        says(A, "Write the parser"),
        ("event", born),
        says(CHILD, "Look around"),
        shows(CHILD, &[user_message("Look around")]),
        ("event", idle),
    ])
}

fn frames_of_a_named_subagent(trial: &Trial) -> String {
    child_with(trial, "look (@general subagent)");
    trial.frames().to_string()
}

fn frames_of_a_helper(trial: &Trial) -> String {
    child_with(trial, "the helper");
    trial.frames().to_string()
}

fn end_of_a_subagent(trial: &Trial) -> String {
    let answers = child_with(trial, "look (@general subagent)");
    match answers[4]["wake"].as_u64() {
        None => "never",
        Some(..=5_000) => "soon",
        Some(_) => "later",
    }
    .to_owned()
}

/// Returns the texts that stand in a frame's context in full.
fn what_is_whole(trial: &Trial) -> String {
    // A sibling's results are shown in their dense version, which is short.
    let long = |last: &str| {
        let times = if last == "sibling" { 8 } else { 24 };
        format!("{}{last}", "the parser reads tables ".repeat(times))
    };
    let answers = trial.host(&[
        says(A, "Go"),
        pushes(2, "parser of tables", &long("ancestor")),
        pushes(3, "parser reads tables", "the parser reads tables"),
        pops(4, &long("sibling")),
        pushes(5, "parser reads more tables", &long("current")),
        calls("stack_context_preview", 6, &json!({})),
    ]);
    let context = output(&answers[5]);
    let whole = ["ancestor", "sibling", "current"].into_iter();
    let whole = whole.filter(|last| context.contains(&long(last)));
    whole.collect::<Vec<_>>().join(" ")
}

/// Returns whether a new session's frame contains the results of an imported one.
fn shows_imported(trial: &Trial) -> String {
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../recordings/tests/recordings");
    std::fs::copy(recordings.join("swe-agent.traj"), trial.desk.project().join("a.traj")).unwrap();
    trial.desk.ok(&["import", "a.traj"]);
    let preview = calls("stack_context_preview", 2, &json!({}));
    let answers = trial.host(&[says(A, "The discount is wrong again"), preview]);
    yes(output(&answers[1]).contains("The discount is right now."))
}

/// Returns how many of three pushes go well.
fn pushes_into_one_another(trial: &Trial) -> String {
    let mut requests = vec![says(A, "Go")];
    requests.extend((2..5).map(|at| pushes(at, "deeper", "deep")));
    went_well(&trial.host(&requests)[1..])
}

/// Returns how many of two pushes go well, the second one after the first one's frame.
fn pushes_after_one_another(trial: &Trial) -> String {
    let (first, second) = (pushes(2, "first", "done"), pushes(4, "second", "done"));
    let answers = trial.host(&[says(A, "Go"), first, pops(3, "it is done"), second]);
    went_well(&[answers[1].clone(), answers[3].clone()])
}

fn went_well(answers: &[Value]) -> String {
    answers.iter().filter(|answer| !output(answer).starts_with("Error")).count().to_string()
}

fn activates_elsewhere(trial: &Trial) -> String {
    let plan = json!({"children": [{"title": "lexer", "successCriteria": "it lexes"}]});
    let answers = trial.host(&[
        says(A, "Go"),
        calls("stack_frame_plan", 2, &plan),
        calls("stack_frame_activate", 3, &json!({"frame": "f2", "in": "session"})),
    ]);
    yes(answers[2]["next"]["do"] == "create_session")
}
