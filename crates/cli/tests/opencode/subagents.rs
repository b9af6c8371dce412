//! Sessions that an agent starts for subagents.

use std::time::Duration;

use callstack_engine::{ChildStatus, SubagentFilter};
use callstack_scripted_model::{Conversation, Step, When};
use serde_json::{Value, json};

use super::seen::seen;
use super::steps::{pop, push, stack, work};
use super::talk::{Session, Talk};
use super::tree::{engine, frame, tree, wait_for, wait_for_tree};

fn delegation(title: &str, prompt: &str) -> Value {
    json!({"description": title, "prompt": prompt, "subagent_type": "general"})
}

fn task(title: &str, prompt: &str) -> Step {
    Step::call("task", delegation(title, prompt))
}

fn subagent(talk: &Talk, prompt: &str, steps: impl IntoIterator<Item = Step>) {
    let when = When::FirstUser(prompt.to_owned());
    talk.project.model.add(Conversation::when(when, steps));
}

/// The session that was started for a frame.
#[track_caller]
fn session_of(talk: &Talk, title: &str) -> String {
    let mut sessions = tracked(talk).into_iter();
    sessions.find(|it| it.title.starts_with(title)).unwrap().session
}

fn tracked(talk: &Talk) -> Vec<callstack_core::subagent::SubagentSession> {
    engine(&talk.project.sealed).subagents(&SubagentFilter::default()).unwrap()
}

fn results(talk: &Talk, title: &str) -> String {
    frame(&talk.project.sealed, title).results.unwrap_or_default()
}

/// Asserts that the last request of a session shows these texts.
#[track_caller]
fn assert_sent(session: &Session<'_>, texts: &[&str]) {
    let requests = session.finished();
    let last = requests.last().unwrap();
    for texts in texts {
        assert!(last.render().contains(texts), "{texts} is missing in\n{}", seen(last));
    }
}

#[test]
fn tasks_of_one_step_end_each_with_what_it_returned() {
    let Some(talk) = Talk::new(&[]) else { return };
    subagent(&talk, "Read alpha", [push("Deep", "found"), Step::text("Alpha says 1.")]);
    subagent(&talk, "Read beta", [Step::text("Beta says 2.")]);
    subagent(&talk, "Read gamma", [Step::fail(400, "no way")]);
    let session = talk.session([
        push("Ask around", "it is known"),
        task("Alpha task", "Read alpha").and_call("task", delegation("Beta task", "Read beta")),
        task("Gamma task", "Read gamma"),
        stack("stack_subagent_list", &json!({"filter": "completed"})),
        stack("stack_stats", &json!({})),
        pop("It says 1 and 2."),
        Step::text("Done."),
    ]);
    session.say("Ask please");
    let requests = session.finished();
    for line in ["by the return of their call: 3", "Alpha task (@general subagent)"] {
        assert!(requests[5].render().contains(line), "{}", seen(&requests[5]));
    }
    assert_sent(
        &session,
        &["\"Alpha task\" completed: Alpha says 1.", "Results: It says 1 and 2."],
    );
    let expected = "Ask please in_progress *\n  Ask around completed\n    Alpha task completed\n      \
                    Deep completed\n    Beta task completed\n    Gamma task failed\n";
    let drawn = tree(&talk.project.sealed, &session.id);
    // The two of one step begin in either order.
    let sorted = |tree: &str| {
        let mut lines: Vec<_> = tree.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!(sorted(&drawn), sorted(expected), "{drawn}");
    assert_eq!(results(&talk, "Alpha task"), "Alpha says 1.");
    assert_eq!(results(&talk, "Beta task"), "Beta says 2.");
    assert_eq!(results(&talk, "Gamma task"), "It failed: no way.");
    assert!(results(&talk, "Deep").starts_with("It was still open when its session ended"));
}

#[test]
fn an_aborted_task_is_blocked_and_its_caller_goes_on() {
    let Some(talk) = Talk::new(&[]) else { return };
    let slow = Step::text("Never said.").delay(Duration::from_mins(1));
    subagent(&talk, "Read alpha", [work("alpha").and_text("I have begun."), slow]);
    let session = talk.session([
        push("Ask around", "it is known"),
        task("Alpha task", "Read alpha"),
        pop("Nothing is known."),
        Step::text("Done."),
    ]);
    let mut events = talk.server.events().unwrap();
    talk.server.prompt_async(&session.id, "Ask please").unwrap();
    let busy = || {
        let sessions = talk.project.model.sessions();
        sessions
            .iter()
            .any(|it| *it != session.id && talk.project.model.agent_requests(it).len() == 2)
    };
    while !busy() {
        std::thread::sleep(Duration::from_millis(10));
    }
    talk.server.abort(&session.id).unwrap();
    events.wait_idle(&session.id).unwrap();
    session.say("Go on");
    let expected = "Ask please in_progress *\n  Ask around completed\n    Alpha task blocked\n";
    wait_for_tree(&talk.project.sealed, &session.id, expected);
    let results_text = results(&talk, "Alpha task");
    assert!(
        results_text.starts_with("It was stopped") && results_text.contains("I have begun."),
        "{results_text}"
    );
    assert_eq!(session.requests().len(), 4);
}

/// A child session that no call of its parent waits for, as plugins start them.
fn child(talk: &Talk, parent: &str, title: &str) -> String {
    let body = json!({"parentID": parent, "title": title});
    let made = talk.server.post("/session", &body).unwrap();
    made["id"].as_str().unwrap().to_owned()
}

#[test]
fn silence_ends_a_subagents_frame_after_the_delay() {
    let Some(talk) = Talk::new(&[("STACK_SUBAGENT_IDLE_DELAY", "300")]) else { return };
    let sealed = &talk.project.sealed;
    let session = talk.session([push("Ask around", "it is known"), Step::text("Begun.")]);
    session.say("Ask please");
    subagent(&talk, "Read alpha", [push("Deep", "found"), Step::text("Alpha says 1.")]);
    let alpha = child(&talk, &session.id, "Alpha subagent");
    talk.server.prompt(&alpha, "Read alpha").unwrap();
    let ended = "Ask please in_progress\n  Ask around in_progress *\n    Alpha subagent completed\n      \
                 Deep completed\n";
    wait_for_tree(sealed, &session.id, ended);
    let results_text = results(&talk, "Alpha subagent");
    assert!(
        results_text.starts_with("Alpha says 1.") && results_text.contains("fell silent"),
        "{results_text}"
    );
    let stats = engine(sealed).subagent_stats().unwrap();
    assert_eq!((stats.detected, stats.auto_completed), (1, 1));
}

#[test]
fn the_deadline_outlives_the_process_that_set_it() {
    let env = [("STACK_SUBAGENT_IDLE_DELAY", "2500")];
    let Some(mut talk) = Talk::new(&env) else { return };
    let id = {
        let session = talk.session([push("Ask around", "it is known"), Step::text("Begun.")]);
        session.say("Ask please");
        session.id.clone()
    };
    subagent(&talk, "Read alpha", [Step::text("Alpha says 1.")]);
    let alpha = child(&talk, &id, "Alpha subagent");
    talk.server.prompt(&alpha, "Read alpha").unwrap();
    let waiting = |talk: &Talk| tracked(talk).iter().any(|it| it.completes_at.is_some());
    while !waiting(&talk) {
        std::thread::sleep(Duration::from_millis(10));
    }
    // OpenCode ends, and its host process with it; what comes next is another OpenCode.
    drop(talk.server);
    assert_eq!(standing(&talk.project.sealed), [ChildStatus::Idle]);
    talk.server = talk.project.opencode.serve_with(&talk.project.sealed, &env).unwrap();
    talk.server.sessions().unwrap();
    let ended =
        "Ask please in_progress\n  Ask around in_progress *\n    Alpha subagent completed\n";
    wait_for_tree(&talk.project.sealed, &id, ended);
    let results_text = results(&talk, "Alpha subagent");
    assert!(
        results_text.starts_with("Alpha says 1.") && results_text.contains("fell silent"),
        "{results_text}"
    );
}

fn standing(sealed: &callstack_testkit::Sealed) -> Vec<ChildStatus> {
    let sessions = engine(sealed).subagents(&SubagentFilter::default()).unwrap();
    sessions.iter().map(ChildStatus::of).collect()
}

#[test]
fn a_subagent_is_completed_by_hand_where_that_is_wanted() {
    let Some(talk) = Talk::new(&[("STACK_SUBAGENT_IDLE_DELAY", "0")]) else { return };
    subagent(&talk, "Read alpha", [Step::text("Alpha says 1.")]);
    subagent(&talk, "Read beta", [Step::text("Beta says 2.")]);
    let session = talk.session([
        push("Ask around", "it is known"),
        stack("stack_config", &json!({"autoComplete": false, "patterns": ["^alpha", "("]})),
        task("Alpha task", "Read alpha"),
        task("Beta task", "Read beta"),
        stack("stack_subagent_list", &json!({"filter": "idle"})),
        pop("Refused."),
        stack("stack_subagent_complete", &json!({"frame": "f3", "results": "By hand: 1."})),
        stack("stack_config", &json!({"reset": ["all"]})),
        pop("It says 1."),
        Step::text("Done."),
    ]);
    session.say("Ask please");
    let requests = session.finished();
    let said = |at: usize| requests[at].last_tool_text().unwrap();
    assert!(said(2).contains("Skipped, no regular expression: `(`"), "{}", said(2));
    assert!(said(5).contains("Alpha task") && said(5).contains("frame f3"), "{}", said(5));
    assert!(said(5).contains("Beta task") && said(5).contains("no frame"), "{}", said(5));
    assert!(said(6).starts_with("Error: ") && said(6).contains("f3"), "{}", said(6));
    assert!(said(7).contains("f3 ended as completed"), "{}", said(7));
    assert!(said(8).contains("idleDelay: 0 (from the environment)"), "{}", said(8));
    assert!(said(8).contains("autoComplete: on (default)"), "{}", said(8));
    assert_eq!(
        tree(&talk.project.sealed, &session.id),
        "Ask please in_progress *\n  Ask around completed\n    Alpha task completed\n"
    );
    assert_eq!(results(&talk, "Alpha task"), "By hand: 1.");
}

#[test]
fn a_session_of_another_name_has_to_prove_itself() {
    let Some(talk) = Talk::new(&[("STACK_SUBAGENT_IDLE_DELAY", "100")]) else { return };
    let sealed = &talk.project.sealed;
    let session = talk.session([push("Ask around", "it is known"), Step::text("Begun.")]);
    session.say("Ask please");
    subagent(&talk, "What is alpha?", [Step::text("Alpha says 1.")]);
    subagent(&talk, "Read beta", [work("beta"), work("gamma"), Step::text("Beta says 2.")]);
    let small = child(&talk, &session.id, "A question");
    talk.server.prompt(&small, "What is alpha?").unwrap();
    wait_for(&[ChildStatus::Idle][..], || standing(sealed));
    let large = child(&talk, &session.id, "More than that");
    talk.server.prompt(&large, "Read beta").unwrap();
    let ended = "Ask please in_progress\n  Ask around in_progress *\n    Read beta completed\n";
    wait_for_tree(sealed, &session.id, ended);
    let stats = engine(sealed).subagent_stats().unwrap();
    assert_eq!((stats.tracked, stats.detected, stats.skipped), (2, 0, 1));
}

#[test]
fn switched_off_a_task_has_no_frame() {
    let Some(talk) = Talk::new(&[("STACK_SUBAGENT_ENABLED", "false")]) else { return };
    subagent(&talk, "Read alpha", [Step::text("Alpha says 1.")]);
    let session = talk.session([
        push("Ask around", "it is known"),
        task("Alpha task", "Read alpha"),
        pop("It says 1."),
        Step::text("Done."),
    ]);
    session.say("Ask please");
    session.finished();
    let drawn = tree(&talk.project.sealed, &session.id);
    assert_eq!(drawn, "Ask please in_progress *\n  Ask around completed\n");
    assert!(tracked(&talk).is_empty());
}

#[test]
fn a_task_that_is_taken_up_again_gets_another_frame() {
    let Some(talk) = Talk::new(&[]) else { return };
    subagent(&talk, "Read alpha", [Step::text("Alpha says 1."), Step::text("It still does.")]);
    let session = talk.session([
        push("Ask around", "it is known"),
        task("Alpha task", "Read alpha"),
        Step::from_request(|request| {
            let text = request.last_tool_text().unwrap();
            let id = text.split('"').find(|it| it.starts_with("ses_")).unwrap();
            let mut delegation = delegation("Alpha again", "Are you sure?");
            delegation["task_id"] = id.into();
            Step::call("task", delegation)
        }),
        pop("It says 1."),
        Step::text("Done."),
    ]);
    session.say("Ask please");
    session.finished();
    let all = tree(&talk.project.sealed, &session.id);
    assert_eq!(
        all,
        "Ask please in_progress *\n  Ask around completed\n    Alpha task completed\n    Alpha task \
         completed\n"
    );
    let alpha = session_of(&talk, "Alpha task");
    assert_eq!(talk.project.model.agent_requests(&alpha).len(), 2);
    let engine = engine(&talk.project.sealed);
    assert_eq!(engine.resolve("f4").unwrap().results.as_deref(), Some("It still does."));
}
