//! Frames that are worked on in sessions of their own.

use std::collections::HashSet;

use callstack_core::limits::Limits;
use callstack_core::transcript::{
    Anchor, CallState, FoldOp, Message, MessageKind, Part, PartBody, Role, ToolCall,
};
use callstack_engine::effect::{Effect, EffectOutcome, Next};
use callstack_engine::operation::{Answer, Caller};
use callstack_engine::{
    Engine, EngineError, FrameSessions, HostMessage, Kind, Settings, SyncAnswer, SystemRequest,
    operations,
};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::plugin::whole;
use crate::support::Project;

const ACTIVATE: &str = "stack_frame_activate";
const PUSH: &str = "stack_frame_push";

/// A root `f1` in `ses_a` with the pin "never touch main"; below it `f2` and `f3` planned, `f4` done.
fn project(settings: Settings) -> Project {
    let project = Project::with(settings);
    project.user("ses_a", "Write the parser");
    project.did(
        "ses_a",
        "stack_frame_plan",
        json!({"children": [child("lexer"), child("tables")]}),
    );
    project.did("ses_a", "stack_pin", json!({"text": "never touch main"}));
    project.did("ses_a", PUSH, child("grammar"));
    project.did("ses_a", "stack_frame_pop", json!({"results": "the grammar is LL(1)"}));
    project
}

fn child(title: &str) -> Value {
    json!({"title": title, "successCriteria": format!("the {title} works")})
}

fn caller(session: &str, call: &str) -> Caller {
    Caller {
        session: session.to_owned(),
        host: "test".to_owned(),
        anchor: Anchor { message: Some(format!("msg-{call}")), call: Some(call.to_owned()) },
        agent: Some("build".to_owned()),
        performs: true,
        reveal: true,
        key: None,
    }
}

fn run(
    engine: &Engine,
    caller: &Caller,
    name: &str,
    arguments: Value,
) -> Result<Answer, EngineError> {
    operations::find(name).unwrap().run(engine, caller, arguments)
}

#[track_caller]
fn next(answer: Answer) -> Next {
    answer.next.unwrap_or_else(|| panic!("it waits for nothing: {}", answer.text))
}

/// Goes on with what became of an effect.
fn resume(
    engine: &Engine,
    caller: &Caller,
    token: &Value,
    outcome: EffectOutcome,
) -> Result<Answer, EngineError> {
    operations::find(ACTIVATE).unwrap().resume(engine, caller, token.clone(), outcome)
}

fn ok(value: Value) -> EffectOutcome {
    EffectOutcome::Ok(value)
}

fn failed(message: &str, aborted: bool) -> EffectOutcome {
    EffectOutcome::Error { message: message.to_owned(), aborted }
}

/// Activates a frame in a session of the given name, up to its prompt.
#[track_caller]
fn activate(engine: &Engine, caller: &Caller, frame: &str, session: &str) -> Next {
    let started = next(run(engine, caller, ACTIVATE, json!({"frame": frame})).unwrap());
    assert!(matches!(started.effect, Effect::CreateSession { .. }), "{:?}", started.effect);
    next(resume(engine, caller, &started.token, ok(json!({"session": session}))).unwrap())
}

fn prompt(next: &Next) -> (&str, &str) {
    match &next.effect {
        Effect::Prompt { session, text, wait: true, .. } => (session, text),
        other => panic!("{other:?}"),
    }
}

fn said(text: &str) -> EffectOutcome {
    ok(json!({ "text": text }))
}

fn pop(engine: &Engine, session: &str, results: &str) -> Answer {
    let caller = caller(session, "pop");
    run(engine, &caller, "stack_frame_pop", json!({ "results": results })).unwrap()
}

fn system(engine: &Engine, session: &str) -> String {
    let request = SystemRequest { session: session.to_owned(), limit: None };
    engine.system(&request).unwrap().join("\n")
}

/// Returns a host's view of a session: the user's words, then calls of one step each.
fn shown(calls: &[(&str, CallState)]) -> Vec<HostMessage> {
    let words = PartBody::Text { synthetic: false, chars: 5, head: "words".to_owned() };
    let mut shown = vec![message("msg-user", Role::User, words)];
    for (call, state) in calls {
        let (call, tool) = ((*call).to_owned(), ACTIVATE.to_owned());
        let id = format!("msg-{call}");
        shown.push(message(
            &id,
            Role::Assistant,
            PartBody::from(ToolCall::new(call, tool, *state)),
        ));
    }
    shown
}

fn message(id: &str, role: Role, body: PartBody) -> HostMessage {
    let parts = vec![Part { id: format!("prt-{id}"), body }];
    HostMessage {
        words: "words".to_owned(),
        ..HostMessage::of(
            Message { id: id.to_owned(), role, standing: MessageKind::Normal, parts },
            "{}".to_owned(),
        )
    }
}

/// The texts that the host adds to the next request of a session that shows these calls.
fn notes(engine: &Engine, session: &str, calls: &[(&str, CallState)]) -> Vec<String> {
    let answer = engine.sync(whole(session, shown(calls))).unwrap();
    let SyncAnswer::Ops { ops, .. } = answer else { panic!("all was sent") };
    let text = |op: FoldOp| match op {
        FoldOp::Append { text, .. } | FoldOp::Insert { text, .. } => Some(text.clone()),
        _ => None,
    };
    ops.into_iter().filter_map(text).collect()
}

/// Settings with which an activated frame is worked on in a session of its own.
fn activated() -> Settings {
    Settings { sessions: FrameSessions::Activate, ..Settings::default() }
}

#[test]
fn an_activated_frame_is_worked_on_in_a_session_that_returns_to_the_caller() {
    let project = project(activated());
    let engine = &project.engine;
    let planned = engine.resolve("f2").unwrap().id;
    let caller = caller("ses_a", "act");
    let started = next(run(engine, &caller, ACTIVATE, json!({"frame": "f2"})).unwrap());
    let (parent, title) = ("ses_a".to_owned(), "lexer".to_owned());
    assert_eq!(started.effect, Effect::CreateSession { parent, title });
    assert_eq!(project.status("f2"), "planned", "nothing has begun yet");
    let prompted =
        next(resume(engine, &caller, &started.token, ok(json!({"session": "ses_c"}))).unwrap());
    let Effect::Prompt { session, text, agent, like, wait: true } = &prompted.effect else {
        panic!("{:?}", prompted.effect)
    };
    assert_eq!((session.as_str(), agent.as_deref()), ("ses_c", Some("build")));
    assert_eq!(like.as_deref(), Some("ses_a"));
    let frame = engine.resolve("f2").unwrap();
    assert_eq!((frame.id.as_str(), project.status("f2").as_str()), ("ses_c", "in_progress"));
    assert_eq!(engine.resolve(&planned).unwrap().num, frame.num, "the old id is an alias");
    assert_eq!(
        engine.active("ses_a").unwrap().map(|it| it.0),
        Some(1),
        "the caller stays where it is"
    );

    let prompt = system(engine, "ses_c");
    let context = ["Write the parser", "never touch main", "the grammar is LL(1)"];
    assert!(context.iter().all(|it| prompt.contains(it)), "{prompt}");
    assert_snapshot!(text, @r#"
    [callstack] this session is for frame f2 "lexer" (depth 1)
    Frame f1 "Write the parser" waits for what it returns.
    The user's request: Write the parser
    Success criteria: the lexer works
    Work on this frame only. When its criteria are met, or cannot be, call stack_frame_pop with the results, and then end your turn with one sentence: the results are all that the caller gets. No user reads along. If you need something from outside, pop f2 as blocked and say what.
    "#);
    assert!(!prompt.contains("the lexer works"), "its prompt says what it is for: {prompt}");
    assert!(!prompt.contains("<success-criteria>"), "so does it what the user asked for: {prompt}");
    assert!(!text.contains("<stack-context"), "the system prompt has the context: {text}");

    let popped = pop(engine, "ses_c", "lexer.rs has 12 tokens").text;
    assert!(popped.contains("whole work of this session"), "{popped}");
    let answer = resume(engine, &caller, &prompted.token, said("Done.")).unwrap();
    assert_eq!(answer.returned, Some(frame.num));
    for part in ["lexer.rs has 12 tokens", "f1 is open now", "Next: start f3"] {
        assert!(answer.text.contains(part), "{}", answer.text);
    }
    assert_eq!(project.status("f2"), "completed");
    assert_eq!(engine.active("ses_c").unwrap(), None);
}

#[test]
fn a_session_of_its_own_is_given_what_the_user_said_last() {
    let project = project(activated());
    let engine = &project.engine;
    let said = |id: &str, words: &str| {
        let parts = vec![Part {
            id: format!("{id}.0"),
            body: PartBody::Text { synthetic: false, chars: 9, head: words.to_owned() },
        }];
        let json = json!({"info": {"id": id, "role": "user"}, "parts": [
            {"type": "text", "text": words}, {"type": "text", "text": "added", "synthetic": true}]});
        let (id, role, standing) = (id.to_owned(), Role::User, MessageKind::Normal);
        HostMessage::of(Message { id, role, standing, parts }, json.to_string())
    };
    let words = "Use <tables> & \"states\".\nNo recursion.";
    let asked = vec![said("msg-u1", "Write the parser"), said("msg-u2", words)];
    engine.sync(whole("ses_a", asked)).unwrap();
    let prompted = activate(engine, &caller("ses_a", "act"), "f2", "ses_c");
    let Effect::Prompt { text, .. } = &prompted.effect else { panic!("{:?}", prompted.effect) };
    assert!(text.contains(&format!("The user's newest request:\n{words}\n")), "{text}");
    assert!(text.contains("earlier one: f1 \"Write the parser\""), "{text}");
    assert!(!system(engine, "ses_c").contains("newest request"), "its prompt has it");
}

#[test]
fn what_another_session_returned_is_not_repeated_by_the_next_push() {
    let project = project(activated());
    let engine = &project.engine;
    let caller = caller("ses_a", "act");
    let prompted = activate(engine, &caller, "f2", "ses_c");
    pop(engine, "ses_c", "twelve tokens of the lexer");
    resume(engine, &caller, &prompted.token, said("Done.")).unwrap();
    let pushed = project.did("ses_a", PUSH, child("lexer speed")).text;
    assert!(!pushed.contains("twelve tokens") && !pushed.contains("f2"), "{pushed}");
}

#[test]
fn a_session_without_a_pop_is_completed_from_its_last_words() {
    let project = project(activated());
    let engine = &project.engine;
    for (frame, words, results) in [
        (
            "f2",
            "The lexer is there.",
            "The lexer is there.\n\n(Its session fell silent without a pop;",
        ),
        ("f3", "  ", "It ended without a word."),
    ] {
        let caller = caller("ses_a", frame);
        let session = format!("ses_{frame}");
        let prompted = activate(engine, &caller, frame, &session);
        run(engine, &self::caller(&session, "push"), PUSH, child("inner")).unwrap();
        engine.session_idle(&session).unwrap();
        assert_eq!(project.status(frame), "in_progress", "its caller is the one to end it");
        let answer = resume(engine, &caller, &prompted.token, said(words)).unwrap();
        assert_eq!(project.status(frame), "completed");
        for part in [results, "Frames inside it:", "inner"] {
            assert!(answer.text.contains(part), "{}", answer.text);
        }
        assert_eq!(engine.active(&session).unwrap(), None);
    }
}

#[test]
fn an_error_blocks_the_frame_and_its_session_takes_it_up_again() {
    let project = project(activated());
    let engine = &project.engine;
    let first = caller("ses_a", "first");
    let prompted = activate(engine, &first, "f2", "ses_c");
    system(engine, "ses_c");
    notes(engine, "ses_c", &[]);
    let answer =
        resume(engine, &first, &prompted.token, failed("ProviderError: no credit", false)).unwrap();
    assert!(answer.text.contains("returned: blocked"), "{}", answer.text);
    assert!(answer.text.contains("no credit"), "{}", answer.text);

    let second = caller("ses_a", "second");
    let again = next(run(engine, &second, ACTIVATE, json!({"frame": "f2"})).unwrap());
    let (session, text) = prompt(&again);
    assert_eq!(session, "ses_c");
    assert!(text.contains("Results so far") && text.contains("<stack-context"), "{text}");
    pop(engine, "ses_c", "12 tokens");
    let answer = resume(engine, &second, &again.token, said("Done.")).unwrap();
    assert!(answer.text.contains("returned: completed"), "{}", answer.text);
    assert!(
        notes(
            engine,
            "ses_a",
            &[("first", CallState::Completed), ("second", CallState::Completed)]
        )
        .is_empty()
    );
}

#[test]
fn a_session_that_is_gone_is_replaced() {
    let project = project(activated());
    let engine = &project.engine;
    let first = caller("ses_a", "first");
    let prompted = activate(engine, &first, "f2", "ses_c");
    notes(engine, "ses_c", &[("work", CallState::Completed)]);
    while engine.messages("ses_c").unwrap().len() < 2 {
        std::thread::yield_now();
    }
    resume(engine, &first, &prompted.token, failed("stopped", true)).unwrap();
    let second = caller("ses_a", "second");
    let again = next(run(engine, &second, ACTIVATE, json!({"frame": "f2"})).unwrap());
    assert_eq!(prompt(&again).0, "ses_c");
    let third = resume(engine, &second, &again.token, failed("there is no ses_c", false)).unwrap();
    let third = next(third);
    let prompted =
        next(resume(engine, &second, &third.token, ok(json!({"session": "ses_d"}))).unwrap());
    assert_eq!(prompt(&prompted).0, "ses_d");
    assert_eq!(engine.resolve("ses_c").unwrap().id, "ses_d");
    pop(engine, "ses_d", "12 tokens");
    resume(engine, &second, &prompted.token, said("Done.")).unwrap();
    let calls = [("first", CallState::Failed), ("second", CallState::Completed)];
    let noted = notes(engine, "ses_a", &calls);
    assert_eq!(noted.len(), 1, "{noted:#?}");
}

#[test]
fn whoever_is_stopped_stops_those_that_work_for_it() {
    let project = project(activated());
    let engine = &project.engine;
    let outer = caller("ses_a", "outer");
    let prompted = activate(engine, &outer, "f2", "ses_c");
    let plan = json!({"children": [child("tokens")]});
    run(engine, &caller("ses_c", "plan"), "stack_frame_plan", plan).unwrap();
    let inner = caller("ses_c", "inner");
    let below = activate(engine, &inner, "f5", "ses_d");
    run(engine, &caller("ses_d", "push"), PUSH, child("deep")).unwrap();
    resume(engine, &outer, &prompted.token, failed("aborted", true)).unwrap();
    for frame in ["f2", "f5", "f6"] {
        assert_eq!(project.status(frame), "blocked", "{frame}");
    }
    resume(engine, &inner, &below.token, failed("aborted", true)).unwrap();
    for session in ["ses_c", "ses_d"] {
        assert_eq!(engine.active(session).unwrap(), None, "{session}");
    }
    assert!(project.call("ses_a", "stack_frame_pop", json!({"results": "given up"})).is_ok());
}

#[test]
fn what_the_call_did_not_return_is_delivered_once_at_the_next_request() {
    for state in [CallState::Failed, CallState::Open] {
        let project = project(activated());
        let caller = caller("ses_a", "act");
        activate(&project.engine, &caller, "f2", "ses_c");
        pop(&project.engine, "ses_c", "12 tokens");
        // Another process goes on.
        let engine = project.another();
        let noted = notes(&engine, "ses_a", &[("act", state)]);
        let [note] = &noted[..] else { panic!("{noted:#?}") };
        assert!(note.contains("cut off") && note.contains("12 tokens"), "{note}");
        assert_eq!(
            notes(&engine, "ses_a", &[("act", state), ("more", CallState::Completed)]),
            noted
        );
        assert_eq!(notes(&project.another(), "ses_a", &[("act", state)]), noted);
    }
}

#[test]
fn what_the_call_returned_is_not_delivered_again() {
    let project = project(activated());
    let engine = &project.engine;
    let caller = caller("ses_a", "act");
    let prompted = activate(engine, &caller, "f2", "ses_c");
    pop(engine, "ses_c", "12 tokens");
    resume(engine, &caller, &prompted.token, said("Done.")).unwrap();
    assert!(notes(engine, "ses_a", &[("act", CallState::Completed)]).is_empty());
    // Not even when the call is hidden by then.
    assert!(notes(&project.another(), "ses_a", &[]).is_empty());
}

#[test]
fn a_frame_that_nobody_waits_for_any_more_is_blocked_with_all_below_it() {
    let project = project(activated());
    activate(&project.engine, &caller("ses_a", "outer"), "f2", "ses_c");
    let plan = json!({"children": [child("tokens")]});
    run(&project.engine, &caller("ses_c", "plan"), "stack_frame_plan", plan).unwrap();
    activate(&project.engine, &caller("ses_c", "inner"), "f5", "ses_d");
    let engine = project.another();
    let noted = notes(&engine, "ses_a", &[("outer", CallState::Open)]);
    let [note] = &noted[..] else { panic!("{noted:#?}") };
    assert!(note.contains("returned: blocked") && note.contains("Frames inside it"), "{note}");
    assert_eq!((project.status("f2"), project.status("f5")), ("blocked".into(), "blocked".into()));
    // Taken up again, the session learns of its own delegation.
    let again = run(&engine, &caller("ses_a", "again"), ACTIVATE, json!({"frame": "f2"})).unwrap();
    assert_eq!(prompt(&next(again)).0, "ses_c");
    let noted = notes(&engine, "ses_c", &[("inner", CallState::Open)]);
    let [note] = &noted[..] else { panic!("{noted:#?}") };
    assert!(note.contains("f5 \"tokens\" returned: blocked"), "{note}");
}

#[test]
fn steps_can_be_taken_twice() {
    let project = project(activated());
    let caller = caller("ses_a", "act");
    let started = next(run(&project.engine, &caller, ACTIVATE, json!({"frame": "f2"})).unwrap());
    let made = || ok(json!({"session": "ses_c"}));
    let prompted = next(resume(&project.engine, &caller, &started.token, made()).unwrap());
    let engine = project.another();
    assert_eq!(next(resume(&engine, &caller, &started.token, made()).unwrap()), prompted);
    let answer = resume(&engine, &caller, &prompted.token, said("It is there.")).unwrap();
    let again = resume(&project.another(), &caller, &prompted.token, said("It is there.")).unwrap();
    assert_eq!(again.text, answer.text);
    assert_eq!(engine.check().unwrap().drifted, [""; 0]);
}

#[test]
fn two_frames_are_worked_on_side_by_side() {
    let project = project(activated());
    let engine = &project.engine;
    let callers = [caller("ses_a", "one"), caller("ses_a", "two")];
    let one = activate(engine, &callers[0], "f2", "ses_c");
    let two = activate(engine, &callers[1], "f3", "ses_d");
    let error =
        run(engine, &caller("ses_a", "three"), ACTIVATE, json!({"frame": "f2"})).unwrap_err();
    assert_eq!(error.kind, Kind::Conflict);
    let error = project.call("ses_a", "stack_frame_pop", json!({"results": "x"})).unwrap_err();
    assert!(error.message.contains("open children"), "{error}");
    pop(engine, "ses_d", "the tables");
    pop(engine, "ses_c", "the lexer");
    let text = |caller, next: &Next| resume(engine, caller, &next.token, said("")).unwrap().text;
    assert!(text(&callers[1], &two).contains("Results: the tables"));
    assert!(text(&callers[0], &one).contains("Results: the lexer"));
}

#[test]
fn sessions_at_work_are_limited() {
    let limits = Limits { live_sessions: 1, ..Limits::default() };
    let project = project(Settings { limits, ..activated() });
    let engine = &project.engine;
    let started =
        |frame: &str| run(engine, &caller("ses_a", frame), ACTIVATE, json!({"frame": frame}));
    let (one, two) = (next(started("f2").unwrap()), next(started("f3").unwrap()));
    let (first, second) = (caller("ses_a", "f2"), caller("ses_a", "f3"));
    let one = next(resume(engine, &first, &one.token, ok(json!({"session": "ses_c"}))).unwrap());
    // Both were started before either had begun to work: the change itself decides.
    let error = resume(engine, &second, &two.token, ok(json!({"session": "ses_d"}))).unwrap_err();
    assert_eq!(error.kind, Kind::Limit);
    assert!(error.message.contains("sessions at work"), "{error}");
    assert_eq!(started("f3").unwrap_err().kind, Kind::Limit);
    resume(engine, &first, &one.token, said("Done.")).unwrap();
    activate(engine, &second, "f3", "ses_d");
}

#[test]
fn where_a_frame_is_worked_on_can_be_chosen() {
    use FrameSessions::{Activate, Always, Asked, Never};
    for (sessions, wish, activated_there, pushed_there) in [
        (Asked, None, false, false),
        (Asked, Some("here"), false, false),
        (Asked, Some("session"), true, true),
        (Activate, None, true, false),
        (Activate, Some("here"), false, false),
        (Activate, Some("session"), true, true),
        (Always, None, true, true),
        (Always, Some("here"), false, false),
        (Never, None, false, false),
        (Never, Some("session"), false, false),
    ] {
        let with = |mut arguments: Value| {
            if let Some(wish) = wish {
                arguments["in"] = wish.into();
            }
            arguments
        };
        let project = project(Settings { sessions, ..Settings::default() });
        let push =
            run(&project.engine, &caller("ses_a", "push"), PUSH, with(child("speed"))).unwrap();
        assert_eq!(push.next.is_some(), pushed_there, "push, {sessions:?}, {wish:?}");
        if !pushed_there {
            project.did("ses_a", "stack_frame_pop", json!({"results": "fast"}));
        }
        let activate = with(json!({"frame": "f2"}));
        let activate = run(&project.engine, &caller("ses_a", "act"), ACTIVATE, activate).unwrap();
        assert_eq!(activate.next.is_some(), activated_there, "activate, {sessions:?}, {wish:?}");
        if sessions == Never && wish.is_some() {
            assert!(activate.text.contains("STACK_FRAME_SESSIONS"), "{}", activate.text);
        }
    }
    let project = project(activated());
    let blocked = json!({"results": "no key", "status": "blocked"});
    project.did("ses_a", PUSH, child("deploy"));
    project.did("ses_a", "stack_frame_pop", blocked);
    let again = run(&project.engine, &caller("ses_a", "act"), ACTIVATE, json!({"frame": "f5"}));
    assert!(again.unwrap().next.is_none(), "it goes on where it was worked on");
    let error = project.call("ses_a", ACTIVATE, json!({"frame": "f2", "in": "there"})).unwrap_err();
    assert!(error.message.contains("`session` or `here`"), "{error}");
}

#[test]
fn without_a_host_the_work_is_done_in_place() {
    let project = project(activated());
    let answer = project.did("ses_a", ACTIVATE, json!({"frame": "f2"}));
    assert!(answer.text.contains("f2 is open now") && !answer.text.contains("program"));
    project.did("ses_a", "stack_frame_pop", json!({"results": "done"}));
    let answer = project.did("ses_a", ACTIVATE, json!({"frame": "f3", "in": "session"}));
    assert!(answer.text.contains("no agent's program"), "{}", answer.text);
}

#[test]
fn a_pushed_frame_stays_planned_where_no_session_comes_to_be() {
    let project = project(Settings { sessions: FrameSessions::Always, ..Settings::default() });
    let caller = caller("ses_a", "push");
    let started = next(run(&project.engine, &caller, PUSH, child("speed")).unwrap());
    let operation = operations::find(PUSH).unwrap();
    let error = operation
        .resume(&project.engine, &caller, started.token, failed("too many sessions", false))
        .unwrap_err();
    assert!(error.message.contains("too many sessions"), "{error}");
    assert!(error.hint.unwrap().to_string().contains("f5 stays planned"));
    assert_eq!(project.status("f5"), "planned");
}

#[test]
fn an_activation_that_is_undone_was_never_made() {
    let project = project(activated());
    let engine = &project.engine;
    let caller = caller("ses_a", "act");
    let prompted = activate(engine, &caller, "f2", "ses_c");
    run(engine, &self::caller("ses_c", "push"), PUSH, child("inner")).unwrap();
    pop(engine, "ses_c", "inner done");
    pop(engine, "ses_c", "12 tokens");
    resume(engine, &caller, &prompted.token, said("Done.")).unwrap();
    let calls = [("before", CallState::Completed), ("act", CallState::Completed)];
    assert!(notes(engine, "ses_a", &calls).is_empty());
    engine.undone_from("ses_a", "msg-act").unwrap();
    assert_eq!(project.status("f2"), "planned");
    assert!(engine.resolve("f5").unwrap().detached);
    engine.redone("ses_a", &HashSet::new()).unwrap();
    let frame = engine.resolve("f2").unwrap();
    assert_eq!((frame.status.as_str(), frame.results.as_deref()), ("completed", Some("12 tokens")));
    assert!(!engine.resolve("f5").unwrap().detached);
    // The user continues elsewhere instead, which only the transcript shows.
    notes(engine, "ses_a", &[("before", CallState::Completed), ("other", CallState::Completed)]);
    assert_eq!(project.status("f2"), "planned");
    activate(engine, &self::caller("ses_a", "anew"), "f2", "ses_d");
    assert_eq!(engine.check().unwrap().drifted, [""; 0]);
}
