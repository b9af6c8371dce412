//! A process or a host may end between any two steps: nothing is lost, and nothing that is sent or shown differs.

#[cfg(test)]
mod host;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use callstack_core::context::TokenBudget;
use callstack_engine::{Level, Settings};
use serde_json::json;

use host::{Host, look};

const A: &str = "ses_a";
const C: &str = "ses_c";
const S: &str = "ses_s";

/// Something that happens, and the session whose model is called first if it is the model's doing.
type Step = (&'static str, fn(&mut Host), Option<&'static str>);

const fn agent(session: &'static str, name: &'static str, step: fn(&mut Host)) -> Step {
    (name, step, Some(session))
}

const fn other(name: &'static str, step: fn(&mut Host)) -> Step {
    (name, step, None)
}

fn child(title: &str) -> serde_json::Value {
    json!({"title": title, "successCriteria": format!("the {title} works")})
}

/// A scenario in which everything happens once.
const STEPS: &[Step] = &[
    other("the user speaks", |it| it.user(A, "Write the parser of the configuration")),
    agent(A, "plans", |it| {
        it.call(
            A,
            "stack_frame_plan",
            json!({"children": [child("lexer"), child("tables"), child("docs")]}),
        );
    }),
    agent(A, "pushes", |it| it.call(A, "stack_frame_push", child("grammar"))),
    agent(A, "writes", |it| it.write(A, "grammar.txt")),
    agent(A, "adds an artifact", |it| {
        it.call(A, "stack_add_artifact", json!({"artifact": "rules.md"}));
    }),
    agent(A, "adds a decision", |it| {
        it.call(A, "stack_add_decision", json!({"decision": "LL(1), no tables"}));
    }),
    agent(A, "pins", |it| it.call(A, "stack_pin", json!({"text": "never touch main"}))),
    agent(A, "pushes deeper", |it| it.call(A, "stack_frame_push", child("lookahead"))),
    agent(A, "runs", |it| it.step(A, &[("make grammar", 0)])),
    agent(A, "pops the inner one", |it| {
        it.call(A, "stack_frame_pop", json!({"results": "one token is enough"}));
    }),
    agent(A, "pops", |it| {
        it.call(A, "stack_frame_pop", json!({"results": "23 rules in grammar.txt"}));
    }),
    agent(A, "activates here", |it| {
        it.call(A, "stack_frame_activate", json!({"frame": "f2", "in": "here"}));
    }),
    agent(A, "runs there", |it| it.step(A, &[("make lexer", 0)])),
    agent(A, "pops what it activated", |it| {
        it.call(A, "stack_frame_pop", json!({"results": "12 tokens"}));
    }),
    agent(A, "activates elsewhere", |it| {
        it.call(A, "stack_frame_activate", json!({"frame": "f3", "in": "session"}));
    }),
    other("its session begins", |it| it.goes_on(A, "stack_frame_activate", json!({"session": C}))),
    other("it is prompted", |it| it.user(C, "Begin with the tables")),
    agent(C, "it works", |it| it.step(C, &[("make tables", 0)])),
    agent(C, "it pushes", |it| it.call(C, "stack_frame_push", child("rows"))),
    agent(C, "it pops inside", |it| {
        it.call(C, "stack_frame_pop", json!({"results": "rows are sorted"}));
    }),
    agent(C, "it pops", |it| {
        it.call(C, "stack_frame_pop", json!({"results": "tables.rs has 4 tables"}));
    }),
    agent(C, "it replies", |it| it.reply(C, "The tables are done.")),
    other("it returns", |it| {
        it.goes_on(A, "stack_frame_activate", json!({"text": "The tables are done."}));
    }),
    other("a subagent begins", |it| it.child(S, A, "look for bugs (@general subagent)")),
    other("it is told", |it| it.user(S, "Look for bugs")),
    agent(S, "it looks", |it| it.step(S, &[("grep -r todo", 0)])),
    agent(S, "it says what it found", |it| it.reply(S, "There are two bugs.")),
    other("it is silent", |it| it.idle(S)),
    other("the host wakes us in time", |it| {
        it.pass(6_000);
        it.wake();
    }),
    other("its call returns", |it| it.task_returned(A, S, "There are two bugs.")),
    agent(A, "pushes what is hard", |it| it.call(A, "stack_frame_push", child("speed"))),
    agent(A, "changes", |it| it.write(A, "speed.rs")),
    agent(A, "fails", |it| it.step(A, &[("make bench", 2)])),
    agent(A, "changes again", |it| it.write(A, "speed.rs")),
    agent(A, "fails again", |it| it.step(A, &[("make bench", 2)])),
    agent(A, "changes once more", |it| it.write(A, "speed.rs")),
    agent(A, "fails once more", |it| it.step(A, &[("make bench", 2), ("make check", 2)])),
    agent(A, "is told to push", |it| it.step(A, &[("make profile", 0)])),
    agent(A, "does so", |it| it.call(A, "stack_frame_push", child("hot loop"))),
    agent(A, "ends it", |it| it.call(A, "stack_frame_pop", json!({"results": "it allocates"}))),
    agent(A, "ends with a summary", |it| {
        it.call(A, "stack_frame_pop", json!({"results": "twice as fast", "generateSummary": true}));
    }),
    other("the host compacts", |it| it.goes_on(A, "stack_frame_pop", json!({}))),
    other("the summary comes", |it| it.compact(A, "The loop allocates no more.")),
    other("the turn is over", |it| it.idle(A)),
    agent(A, "goes on behind it", |it| it.step(A, &[("make all", 0)])),
    agent(A, "invalidates", |it| {
        it.call(A, "stack_frame_invalidate", json!({"frame": "f4", "reason": "nobody reads them"}));
    }),
    agent(A, "closes its turn", |it| it.reply(A, "The parser is there.")),
    other("is silent", |it| it.idle(A)),
    other("the user asks for more", |it| it.user(A, "Add an error page")),
    agent(A, "pushes for that", |it| it.call(A, "stack_frame_push", child("errors"))),
    agent(A, "has a checkpoint made", |it| it.call(A, "stack_frame_summarize", json!({}))),
    other("the host tries", |it| it.goes_on(A, "stack_frame_summarize", json!({}))),
    other("the model is ill", |it| it.failed(A, "the model is ill")),
    other("no checkpoint came", |it| it.idle(A)),
    agent(A, "is told why", |it| it.step(A, &[("make errors", 0)])),
    agent(A, "pops that", |it| it.call(A, "stack_frame_pop", json!({"results": "an error page"}))),
    other("the user goes on", |it| it.user(A, "And colours")),
    agent(A, "the turn runs", |it| it.step(A, &[("make colours", 0)])),
    agent(A, "pops everything", |it| {
        it.call(A, "stack_frame_pop", json!({"results": "all is done"}));
    }),
    agent(A, "says so", |it| it.reply(A, "All is done.")),
    other("the user begins anew", |it| it.user(A, "Now write the printer")),
    agent(A, "the new root is worked in", |it| it.step(A, &[("make printer", 0)])),
    agent(A, "the printer is pushed", |it| it.call(A, "stack_frame_push", child("printer"))),
    agent(A, "it is written", |it| it.write(A, "printer.rs")),
    agent(A, "and popped", |it| it.call(A, "stack_frame_pop", json!({"results": "it prints"}))),
    agent(A, "the turn ends", |it| it.reply(A, "It prints.")),
    other("falls silent", |it| it.idle(A)),
    other("the user wants colours", |it| it.user(A, "And in colours")),
    agent(A, "colours are pushed", |it| it.call(A, "stack_frame_push", child("colours"))),
    other("the user takes that back", |it| it.undo(A, "And in colours")),
    other("and again", |it| it.redo(A)),
    agent(A, "colours are popped", |it| it.call(A, "stack_frame_pop", json!({"results": "green"}))),
    other("the user takes back all of it", |it| it.undo(A, "And in colours")),
    other("and wants sounds", |it| it.user(A, "With sounds")),
    agent(A, "sounds are made", |it| it.step(A, &[("make sounds", 0)])),
    agent(A, "turns automatic", |it| it.call(A, "stack_autonomy", json!({"level": "auto"}))),
    other("that turn ends", |it| it.close(A, "It beeps.")),
    other("the user wants a log", |it| it.user(A, "Write a log of all the changes too")),
    agent(A, "lists what to do", |it| it.todos(A, &[">collect the changes", "write the page"])),
    agent(A, "collects", |it| it.step(A, &[("git log", 0), ("git diff", 0)])),
    agent(A, "collects more", |it| it.step(A, &[("git show", 0), ("git tag", 0)])),
    agent(A, "has collected", |it| it.todos(A, &["+collect the changes", ">write the page"])),
    agent(A, "writes the page", |it| it.write(A, "changes.md")),
    agent(A, "checks the page", |it| it.step(A, &[("make page", 0), ("make links", 0)])),
    agent(A, "has done all", |it| it.todos(A, &["+collect the changes", "+write the page"])),
    other("tells of the log and is silent", |it| it.close(A, "changes.md lists 12 changes.")),
    other("the user says thanks", |it| it.user(A, "Thanks")),
    other("welcome", |it| it.close(A, "You are welcome.")),
    other("the user comes back", |it| it.user(A, "One more thing")),
    agent(A, "does that", |it| it.step(A, &[("make more", 0)])),
];

/// Returns the texts and the state after each step.
fn record(host: &mut Host) -> String {
    host.settle();
    let mut text = host.heard().join("\n");
    // Writing to a string can't fail.
    let _ = write!(text, "\n{}", host.look());
    text
}

/// The same with the calls of the models in between.
/// Something that happens, and what it is called.
type Moment = (String, Box<dyn Fn(&mut Host)>);

fn moments() -> Vec<Moment> {
    let mut moments: Vec<Moment> = Vec::new();
    for (name, step, caller) in STEPS {
        if let Some(session) = caller {
            moments.push((format!("{name}: request"), Box::new(|it| it.request(session))));
        }
        moments.push(((*name).to_owned(), Box::new(step)));
    }
    moments
}

struct Run {
    name: String,
    record: String,
}

/// Returns the runs without any disturbance; `beside` looks on before each step.
fn undisturbed(mut beside: impl FnMut(usize, &Host)) -> Vec<Run> {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Host::new(folder.path(), settings());
    let mut runs = Vec::new();
    for (at, (name, step)) in moments().into_iter().enumerate() {
        beside(at, &host);
        host.pass(1_000);
        step(&mut host);
        runs.push(Run { name, record: record(&mut host) });
    }
    runs
}

/// Goes on from the step `from`, and compares the texts.
fn goes_on_the_same(
    how: &str,
    mut host: Host,
    from: usize,
    expected: &[Run],
    mut between: impl FnMut(usize, &mut Host),
) {
    for (at, (_, step)) in moments().iter().enumerate().take(expected.len()).skip(from) {
        between(at, &mut host);
        host.pass(1_000);
        step(&mut host);
        let Run { name, record: expected } = &expected[at];
        let record = record(&mut host);
        assert!(
            *expected == record,
            "{how}, \"{name}\" differs:\n{}",
            difference(expected, &record)
        );
    }
}

fn difference(expected: &str, actual: &str) -> String {
    let mut lines = expected.lines().zip(actual.lines());
    let first = lines.position(|(expected, actual)| expected != actual).unwrap_or(0);
    let part = |text: &str| {
        let lines = text.lines().skip(first.saturating_sub(8)).take(14);
        lines.collect::<Vec<_>>().join("\n")
    };
    format!("{}\n---\n{}", part(expected), part(actual))
}

fn settings() -> Settings {
    // So little that each estimate and each sibling matters.
    let budget =
        TokenBudget { total: 400, ancestors: 120, siblings: 120, current: 120, overhead: 40 };
    Settings { budget, ..Settings::default() }
}

/// Steps after a restart that are compared: by then all that the new process knows has come from the store
/// and from what its host has shown it again.
const FAR: usize = 8;

fn restarted_once(restart: fn(&mut Host)) {
    let expected = undisturbed(|_, _| {});
    undisturbed(|at, host| {
        let folder = tempfile::tempdir().unwrap();
        let mut host = host.fork(folder.path());
        restart(&mut host);
        let how = format!("restarted before \"{}\"", expected[at].name);
        let until = expected.len().min(at + FAR);
        goes_on_the_same(&how, host, at, &expected[..until], |_, _| {});
    });
}

#[test]
fn of_the_process_between_any_two_steps_changes_nothing() {
    restarted_once(Host::restart_process);
}

#[test]
fn of_the_host_between_any_two_steps_changes_nothing() {
    restarted_once(Host::restart_all);
}

#[test]
fn between_every_two_steps_change_nothing() {
    let expected = undisturbed(|_, _| {});
    for restart in [Host::restart_process, Host::restart_all] {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::new(folder.path(), settings());
        goes_on_the_same("restarted each time", host, 0, &expected, |_, host| restart(host));
    }
}

#[test]
fn a_second_process_that_looks_on_sees_the_same_and_changes_nothing() {
    let expected = undisturbed(|_, _| {});
    let folder = tempfile::tempdir().unwrap();
    let host = Host::new(folder.path(), settings());
    goes_on_the_same("looked at each time", host, 0, &expected, |at, host| {
        let other = host.other();
        let seen = look(&other);
        assert!(at == 0 || expected[at - 1].record.ends_with(&seen), "{}", expected[at].name);
        other.wake().unwrap();
    });
}

#[test]
fn two_processes_may_take_turns() {
    let expected = undisturbed(|_, _| {});
    let folder = tempfile::tempdir().unwrap();
    let host = Host::new(folder.path(), settings());
    let mut aside = (host.other(), BTreeMap::new());
    goes_on_the_same("taking turns", host, 0, &expected, |_, host| host.swap(&mut aside));
}

/// Automatic frames end at the silence in the process that was shown the turn, and in another one as soon as it is
/// shown the turn.
#[test]
fn a_turn_whose_process_ends_before_it_is_silent_ends_at_the_next_one() {
    for restart in [None, Some(Host::restart_process as fn(&mut Host)), Some(Host::restart_all)] {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = settings();
        settings.autonomy.level = Level::Auto;
        let mut host = Host::new(folder.path(), settings);
        host.user(A, "Write a log of all the changes");
        for command in ["git log", "git diff", "git show", "git tag", "git shortlog"] {
            host.request(A);
            host.step(A, &[(command, 0)]);
        }
        host.request(A);
        host.reply(A, "changes.md lists 12 changes.");
        host.settle();
        if let Some(restart) = restart {
            restart(&mut host);
        }
        host.idle(A);
        host.user(A, "Thanks");
        host.request(A);
        let look = host.look();
        assert!(look.contains("\"changes.md lists 12 changes.\""), "{look}");
    }
}
