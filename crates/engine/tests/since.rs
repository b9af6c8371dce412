//! Steps that are closed after the fact: where closing pays they are named once, and a pop with that name makes them
//! a finished frame.

mod files;
mod host;
mod processes;

use callstack_core::frame::Status;
use callstack_engine::{Level, Reach};
use insta::assert_snapshot;
use serde_json::json;
use tempfile::TempDir;

use host::{Host, SESSION, at_level};

fn new() -> (Host, TempDir) {
    let folder = TempDir::new().unwrap();
    let mut host = Host::new(folder.path(), at_level(Level::Suggest));
    host.user("Find out how it is built");
    (host, folder)
}

/// A session in which the agent has read six files.
fn surveyed() -> (Host, TempDir) {
    let (mut host, folder) = new();
    host.reads(6, 6_000);
    (host, folder)
}

#[test]
fn steps_are_named_once_where_closing_them_pays() {
    let (mut host, _folder) = new();
    let mut named = Vec::new();
    for step in 1..=9 {
        let before = host.plugin.ops.clone();
        host.reads(1, 6_000);
        assert!(host.plugin.ops.starts_with(&before), "step {step}");
        named.push(host.names().len());
    }
    assert_eq!(named, [0, 0, 0, 0, 0, 1, 1, 1, 1], "a later call stands behind what has a name");
    assert_snapshot!(host.names()[0], @r#"[callstack] s1: the 5 calls from `read src/part_1.rs` on, before this answer, 30,000 characters. Once they are needed no more, now or in a later turn, stack_frame_pop with since "s1" takes all from there up to that pop out of your context, later steps and offers too. What you return stays, as do the user's words, your final answers, what frames returned, and calls after the pop."#);
    assert!(host.sent().contains("msg_07: think read(src/part_6.rs) + [callstack] s1\n"));
    // Another run of work gets a name of its own.
    for _ in 0..9 {
        host.call("bash", "make", 4_000);
    }
    assert_eq!(host.names().len(), 2, "{:?}", host.names());
    assert!(host.names()[1].contains("from `make` on"), "{:?}", host.names());
}

#[test]
fn what_is_closed_leaves_at_once_and_the_open_frame_stays_open() {
    let (mut host, _folder) = surveyed();
    let answer = host.since("s1").unwrap();
    assert_snapshot!(answer, @r#"
    [callstack] frame f2 "Survey" returned: completed
    It closed 6 calls, from the one in whose place this stands, `read src/part_1.rs`, to `read src/part_6.rs`.
    Results: there are 3 parts
    Evidence, recorded by the machine:
    - read whole: src/part_1.rs, src/part_2.rs, src/part_3.rs, src/part_4.rs, src/part_5.rs, src/part_6.rs
    Every step of it can be read again: stack {"op":"stack_log","args":{"frame":"f2"}}

    [callstack] f1 is open now, for the user's latest message
    "#);
    assert_snapshot!(host.sent(), @r#"
    msg_01: "Find out how it is built"
    msg_02: think read(src/part_1.rs) = [callstack] frame f2 "Survey" returned: completed
    "#);
    assert_eq!(host.output("msg_02"), answer, "nothing became known of it since");
    assert_eq!(
        host.engine.active(SESSION).unwrap(),
        host.engine.resolve("f1").map(|it| Some(it.num)).unwrap()
    );
    let frame = host.engine.resolve("f2").unwrap();
    assert_eq!((frame.status, frame.parent.map(|it| it.0)), (Status::Completed, Some(1)));
    assert_eq!(frame.identity.title, "Survey");
    // Later text is added at the end, and stays when the frame around it goes on.
    let before = host.plugin.ops.clone();
    host.reads(3, 100);
    assert_eq!(host.plugin.ops, before);
}

#[test]
fn what_planned_frames_may_need_is_named_once_they_and_what_comes_right_after_are_over() {
    /// The next call in whose output steps are named, after the last planned frame.
    fn named_at(host: &mut Host, calls: usize) -> Option<usize> {
        (1..=calls).find(|_| {
            host.reads(1, 4_100);
            !host.names().is_empty()
        })
    }
    let (mut host, _folder) = planned_and_done();
    assert_eq!(named_at(&mut host, 20), Some(8), "the turn goes on");
    let (mut host, _folder) = planned_and_done();
    host.reads(2, 100);
    assert!(host.names().is_empty(), "{:?}", host.names());
    host.user("Now write it down");
    assert_eq!(named_at(&mut host, 20), Some(3), "as soon as it pays in the user's next turn");
    assert!(host.names()[0].contains("from `read src/part_1.rs` on"), "{:?}", host.names());
    // Their results stay with the text that is returned for all.
    let answer = host.since("s1").unwrap();
    assert!(
        answer.contains("Frames inside it:\n- f2 \"Lexer\" completed: all is known\n- f3"),
        "{answer}"
    );
}

/// A session in which the agent has read for two planned frames, and has ended them.
fn planned_and_done() -> (Host, TempDir) {
    let (mut host, folder) = new();
    host.reads(2, 6_000);
    let parts = json!([{"title": "Lexer", "successCriteria": "it is known"},
        {"title": "Parser", "successCriteria": "it is known"}]);
    host.ours("stack_frame_plan", json!({"children": parts})).unwrap();
    host.reads(6, 6_000);
    assert!(host.names().is_empty(), "{:?}", host.names());
    for frame in ["f2", "f3"] {
        host.ours("stack_frame_activate", json!({"frame": frame})).unwrap();
        host.reads(1, 500);
        assert!(host.names().is_empty(), "{:?}", host.names());
        host.pop();
    }
    (host, folder)
}

fn again(host: &Host) -> Vec<&str> {
    let names = host.names().into_iter();
    names.filter(|name| name.starts_with("[callstack] s1 again:")).collect()
}

#[test]
fn steps_whose_files_were_changed_since_are_offered_once_more() {
    let (mut host, _folder) = surveyed();
    host.call("edit", "src/part_1.rs", 10);
    host.call("edit", "src/part_2.rs", 10);
    assert!(again(&host).is_empty(), "most of it is as it was read");
    host.push("Change");
    host.call("edit", "src/part_3.rs", 10);
    assert!(again(&host).is_empty(), "the frame has to be popped first");
    host.pop();
    for _ in 0..3 {
        host.reads(1, 10);
    }
    let offered = again(&host);
    assert_eq!(offered.len(), 1, "once: {offered:?}");
    assert_snapshot!(offered[0], @r#"[callstack] s1 again: 3 of the 5 files read there were changed since (src/part_1.rs, src/part_2.rs, src/part_3.rs). stack_frame_pop with since "s1" takes all from there up to that pop out of your context."#);
    host.since("s1").unwrap();
}

#[test]
fn steps_after_which_the_user_spoke_are_offered_once_more() {
    let (mut host, _folder) = surveyed();
    host.reads(1, 10);
    host.user("Now write it down");
    for _ in 0..6 {
        host.call("bash", "make", 10);
    }
    let offered = again(&host);
    assert_eq!(offered.len(), 1, "once: {offered:?}");
    assert_snapshot!(offered[0], @r#"[callstack] s1 again: the user has asked for something else since. If they are needed no more, stack_frame_pop with since "s1" takes all from there up to that pop out of your context."#);
    host.since("s1").unwrap();
}

#[test]
fn inside_a_frame_that_was_pushed_or_activated_nothing_is_named() {
    let (mut host, _folder) = new();
    host.push("Probe");
    host.reads(8, 9_000);
    assert!(host.names().is_empty(), "its pop closes them: {:?}", host.names());
    let planned = json!([{"title": "Lexer", "successCriteria": "it is known"}]);
    host.ours("stack_frame_plan", json!({"children": planned})).unwrap();
    host.ours("stack_frame_activate", json!({"frame": "f3"})).unwrap();
    host.reads(8, 9_000);
    assert!(host.names().is_empty(), "{:?}", host.names());
    host.pop();
    host.pop();
    host.reads(8, 9_000);
    assert_eq!(host.names().len(), 1, "{:?}", host.names());
}

#[test]
fn what_stood_in_front_of_a_frame_is_named_when_it_has_ended() {
    let (mut host, _folder) = new();
    let reads = ["a", "b", "c"].map(|file| ("read", file, 30_000));
    host.calls(&reads, &[]).unwrap();
    host.request();
    host.push("Survey");
    host.reads(3, 3_000);
    assert!(host.names().is_empty(), "{:?}", host.names());
    host.pop();
    host.reads(2, 3_000);
    assert_eq!(host.names().len(), 1);
    host.since("s1").unwrap();
    assert_snapshot!(host.sent(), @r#"
    msg_01: "Find out how it is built"
    msg_02: think read(a) = [callstack] frame f3 "Survey" returned: completed
    "#);
    let returned = host.output("msg_02");
    assert!(returned.contains("Frames inside it:\n- f2 \"Survey\" completed"), "{returned}");
}

#[test]
fn the_users_words_and_the_replies_to_them_stay() {
    let (mut host, _folder) = surveyed();
    host.reply("It is built with make.");
    host.user("And how is it tested?");
    host.reads(1, 100);
    host.since("s1").unwrap();
    assert_snapshot!(host.sent(), @r#"
    msg_01: "Find out how it is built"
    msg_02: think read(src/part_1.rs) = [callstack] The work that this call began has ended. What frame f2 returned stands further down, behind the last message that the user wrote during it.
    msg_08: "It is built with make."
    msg_09: "And how is it tested?" [callstack] frame f2 "Survey" returned: completed
    "#);
}

#[test]
fn calls_beside_the_pop_are_named_and_those_after_it_stay() {
    let (mut host, _folder) = surveyed();
    let arguments = json!({"since": "s1", "results": "there are 3 parts"});
    let calls = [("bash", "make", 10), ("stack_frame_pop", "", 0), ("read", "Makefile", 10)];
    let answer = host.calls(&calls, &[(1, arguments)]).unwrap();
    assert!(answer.text.contains("It closed 6 calls"), "{}", answer.text);
    host.request();
    assert!(host.output("msg_02").contains("It closed 7 calls, from the one in whose place this stands, `read src/part_1.rs`, to `make`."), "{}", host.output("msg_02"));
    // It joins the step before which the model thought, since its own is sent without reasoning.
    assert_snapshot!(host.sent(), @r#"
    msg_01: "Find out how it is built"
    msg_02: think read(src/part_1.rs) = [callstack] frame f2 "there are 3 parts" returned: completed read(Makefile)
    "#);
}

#[test]
fn what_can_not_be_closed_is_refused_with_the_reason() {
    let (mut host, _folder) = surveyed();
    let mut refused = Vec::new();
    let mut refuse = |host: &mut Host, arguments| {
        let error = host.ours("stack_frame_pop", arguments).unwrap_err();
        refused.push(format!("{}: {}", error.kind.as_str(), error.sentence()));
    };
    let results = "there are 3 parts";
    refuse(&mut host, json!({"since": "f1", "results": results}));
    refuse(&mut host, json!({"since": "s9", "results": results}));
    refuse(&mut host, json!({"since": "s1"}));
    refuse(&mut host, json!({"since": "s1", "results": results, "status": "blocked"}));
    refuse(&mut host, json!({"since": "s1", "results": results, "frame": "f1"}));
    refuse(&mut host, json!({"since": "s1", "results": results, "generateSummary": true}));
    refuse(&mut host, json!({"since": "s1", "results": results, "successCriteria": "x"}));
    refuse(&mut host, json!({"title": "Survey", "results": results}));
    host.push("Probe");
    refuse(&mut host, json!({"since": "s1", "results": results}));
    host.pop();
    host.since("s1").unwrap();
    refuse(&mut host, json!({"since": "s1", "results": results}));
    let session = std::mem::replace(&mut host.session, "ses_2".to_owned());
    let shown = std::mem::take(&mut host.shown);
    let plugin = std::mem::take(&mut host.plugin);
    host.user("Another one");
    refuse(&mut host, json!({"since": "s1", "results": results}));
    (host.session, host.shown, host.plugin) = (session, shown, plugin);
    assert_snapshot!(refused.join("\n"), @r#"
    invalid: `f1` is no name of steps. callstack names steps, such as s14, in the output of a later call.
    not_found: no steps are named s9. callstack names steps in the output of a later call; other work is closed by `stack_frame_push` before it and `stack_frame_pop` behind it.
    invalid: steps are closed with `since` as completed or failed, with results that you give. Leave out frame and generateSummary; `results` say all that later work needs of them.
    invalid: steps are closed with `since` as completed or failed, with results that you give. Leave out frame and generateSummary; `results` say all that later work needs of them.
    invalid: steps are closed with `since` as completed or failed, with results that you give. Leave out frame and generateSummary; `results` say all that later work needs of them.
    invalid: steps are closed with `since` as completed or failed, with results that you give. Leave out frame and generateSummary; `results` say all that later work needs of them.
    invalid: the arguments of `stack_frame_pop` are not right: unknown field `successCriteria`, expected one of `status`, `results`, `resultsCompacted`, `generateSummary`, `since`, `title`, `frame`, `sessionID`. It takes: [status], [results], [since], [title].
    invalid: a title goes with `since` alone. The open frame has the title that it was pushed with.
    conflict: frame f2 "Probe" is open and began in the steps that are to be closed. Pop f2 first, then close the steps.
    conflict: the steps of s1 are closed already, as frame f3 "Survey". What it returned stands in place of their first call.
    not_found: s1 names steps of another session. callstack names steps in the output of a later call; other work is closed by `stack_frame_push` before it and `stack_frame_pop` behind it.
    "#);
}

#[test]
fn steps_that_left_with_a_frame_or_a_compaction_are_refused() {
    let folder = TempDir::new().unwrap();
    let mut host = Host::new(folder.path(), at_level(Level::Auto));
    host.user("Find out how it is built");
    host.reads(6, 6_000);
    assert_eq!(host.names().len(), 1);
    host.reply("It is built with make.");
    host.user("And how is it tested?");
    host.pass(6);
    host.reads(1, 10);
    let gone = "the steps of s1 are not in the context any more";
    assert_eq!(host.since("s1").unwrap_err().message, gone);

    let (mut host, _folder) = surveyed();
    host.compact(1);
    assert_eq!(host.since("s1").unwrap_err().message, gone);
}

#[test]
fn an_undo_of_the_pop_gives_the_steps_back_and_a_redo_closes_them() {
    let (mut host, _folder) = surveyed();
    let (before, sent) = (host.shown.len(), host.sent());
    host.since("s1").unwrap();
    let folded = host.sent();
    let is_gone = |host: &Host, frame| host.engine.resolve(frame).is_ok_and(|it| it.detached);
    let gone = host.undo(before);
    assert!(is_gone(&host, "f2"));
    assert_eq!(host.engine.active(SESSION).unwrap().map(|it| it.0), Some(1));
    host.redo(gone);
    assert_eq!(host.sent(), folded);
    let frame = host.engine.resolve("f2").unwrap();
    assert_eq!((frame.status, frame.detached), (Status::Completed, false));
    // Undone for good, they can be closed again.
    host.undo(before);
    host.request();
    assert!(is_gone(&host, "f2"));
    assert_eq!(host.sent().replace("think ", ""), sent.replace("think ", ""));
    host.since("s1").unwrap();
    assert_eq!(host.engine.resolve("f3").unwrap().status, Status::Completed);
}

#[test]
fn a_fork_closes_what_its_original_named_and_neither_touches_the_other() {
    let (mut host, _folder) = surveyed();
    host.fork("fork", 7);
    assert_eq!(host.names().len(), 1);
    host.since("s1").unwrap();
    assert!(
        host.sent().contains("fork_02: read(src/part_1.rs) = [callstack] frame f"),
        "{}",
        host.sent()
    );
    let original = host.engine.spans(SESSION).unwrap();
    assert_eq!(original.len(), 1, "{original:?}");
    // A fork of what is closed has it closed.
    let last = host.shown.len();
    host.fork("again", last);
    assert!(
        host.sent().contains("again_02: read(src/part_1.rs) = [callstack] frame f"),
        "{}",
        host.sent()
    );
    // And one from in front of it has the steps.
    host.fork("front", last - 1);
    assert!(!host.sent().contains(" = "), "{}", host.sent());
}

#[test]
fn a_call_that_is_made_again_is_answered_the_same() {
    let (mut host, _folder) = surveyed();
    let arguments = json!({"since": "s1", "results": "there are 3 parts"});
    let answer = host.calls(&[("stack_frame_pop", "", 0)], &[(0, arguments.clone())]).unwrap();
    let again = host.again(0, &arguments).unwrap();
    assert_eq!((again.text, again.closed), (answer.text, answer.closed));
    assert_eq!(host.engine.spans(SESSION).unwrap().len(), 2);
}

#[test]
fn a_restart_at_any_step_sends_the_same() {
    for all in [false, true] {
        let ((mut plain, _folder), (mut restarted, _other)) = (new(), new());
        for step in 0..14 {
            if all {
                restarted.restart_all();
            } else {
                restarted.restart_process();
            }
            for host in [&mut plain, &mut restarted] {
                if step == 8 {
                    host.since("s1").unwrap();
                } else {
                    host.reads(1, 5_000);
                }
            }
            // Steps whose requests a new plugin has not seen go without their reasoning.
            let read =
                |host: &Host| if all { host.sent().replace("think ", "") } else { host.sent() };
            assert_eq!(read(&restarted), read(&plain), "step {step}, all: {all}");
        }
        assert!(plain.sent().contains(" = [callstack]"));
    }
}

#[test]
fn nothing_is_named_where_nothing_is_to_be_said() {
    for name in ["manual", "unsaid"] {
        let folder = TempDir::new().unwrap();
        let mut settings = at_level(if name == "manual" { Level::Manual } else { Level::Suggest });
        settings.autonomy.suggest_in_context = name != "unsaid";
        let mut host = Host::new(folder.path(), settings);
        host.user("Find out how it is built");
        host.reads(9, 9_000);
        assert!(host.names().is_empty(), "{name}");
    }
}

#[test]
fn log_search_and_rollback_take_it_for_a_frame() {
    let (mut host, _folder) = surveyed();
    host.since("s1").unwrap();
    host.reads(1, 10);
    let log = host.ours("stack_log", json!({"frame": "f2"})).unwrap();
    assert!(log.contains("src/part_1.rs") && log.contains("src/part_6.rs"), "{log}");
    let found = host.ours("stack_search", json!({"query": "part_1.rs"})).unwrap();
    assert!(found.contains("f2"), "{found}");
    let refused = host.engine.rollback_plan("f2", Reach::Seen).unwrap_err();
    assert!(refused.message.contains("recorded"), "{refused:?}");
}

#[test]
fn under_the_level_auto_they_leave_although_their_turn_goes_on() {
    let folder = TempDir::new().unwrap();
    let mut host = Host::new(folder.path(), at_level(Level::Auto));
    host.user("Find out how it is built");
    host.reads(6, 6_000);
    let answer = host.since("s1").unwrap();
    assert!(answer.contains("is open now, for the user's latest message"), "{answer}");
    let sent = host.sent();
    assert_eq!(sent.lines().count(), 2, "{sent}");
    host.reads(1, 3_000);
    host.reply("It is built with make.");
    host.user("And how is it tested?");
    host.reads(6, 6_000);
    host.pass(6);
    host.reads(1, 10);
    host.since("s2").unwrap();
    assert_snapshot!(host.sent(), @r#"
    msg_01: "Find out how it is built"
    msg_10: "It is built with make."
    msg_11: "And how is it tested?" [callstack] first turn of frame f1 "Find out how it is built", which goes on for the user's latest message: its steps have left the context; the request and the reply to it stand above.
    msg_12: think read(src/part_11.rs) = [callstack] frame f4 "Survey" returned: completed
    "#);
}
