//! Views and settings of child sessions, and changes by hand.

use callstack_engine::operation::Answer;
use callstack_engine::{ChildStatus, Kind, SubagentFilter, operations};
use serde_json::{Value, json};

use super::{CHILD, HOUR, NAMED, PARENT, SILENCE, TestEnv};
use crate::support::caller;

#[test]
fn by_hand_alone_where_that_is_wanted() {
    let desk = TestEnv::new(&[("STACK_SUBAGENT_AUTO_COMPLETE", "false")]);
    desk.subagent(CHILD, NAMED, "It says 6.");
    desk.engine.session_idle(CHILD).unwrap();
    desk.returns("msg-a", Ok("6"));
    desk.pass(HOUR * 2);
    assert_eq!(desk.engine.wake().unwrap().wake_at, None);
    assert_eq!(desk.standing(), "idle");
    assert_eq!(desk.refused("stack_frame_pop", json!({"results": "known"})).0, Kind::Conflict);
    desk.did("stack_subagent_complete", json!({"sessionID": "ses_ch"}));
    assert_eq!(desk.frame("f3"), format!("look completed: It says 6.{SILENCE}"));
    let (kind, sentence) = desk.refused("stack_subagent_complete", json!({"frame": "f3"}));
    assert_eq!(
        (kind, sentence.contains("completed already")),
        (Kind::Conflict, true),
        "{sentence}"
    );
    assert_eq!(desk.engine.subagent_stats().unwrap().manually_completed, 1);
    desk.did("stack_frame_pop", json!({"results": "known"}));
}

#[test]
fn a_hand_says_how_it_ended() {
    let desk = TestEnv::new(&[]);
    desk.subagent(CHILD, NAMED, "It says 6.");
    let push = operations::find("stack_frame_push").unwrap();
    let arguments = json!({"title": "Deep", "successCriteria": "found"});
    push.run(&desk.engine, &caller(CHILD), arguments).unwrap();
    let answer = desk.did(
        "stack_subagent_complete",
        json!({"frame": "f3", "status": "failed", "results": "It can't be read."}),
    );
    assert_eq!(answer.text, "The session ses_child is completed: f4, f3 ended as failed.");
    assert_eq!(desk.frame("f3"), "look failed: It can't be read.");
    let pointer = "It was still open when its session ended; see the results of f3.";
    assert_eq!(desk.frame("f4"), format!("Deep failed: {pointer}"));
}

#[test]
fn a_reference_that_means_no_session_is_refused() {
    let desk = TestEnv::new(&[]);
    desk.subagent(CHILD, NAMED, "It says 6.");
    desk.subagent("ses_child2", NAMED, "It says 6.");
    for (reference, part) in [
        ("ses_nobody", "no session and no frame is `ses_nobody`"),
        ("f2", "frame f2 \"Ask around\" is no subagent's"),
        ("ses_chi", "may be each of ses_child, ses_child2"),
        ("", "no session and no frame"),
    ] {
        let (kind, sentence) =
            desk.refused("stack_subagent_complete", json!({"sessionID": reference}));
        assert!(kind == Kind::NotFound && sentence.contains(part), "{reference}: {sentence}");
    }
    desk.did("stack_subagent_complete", json!({"sessionID": CHILD}));
    assert_eq!(ChildStatus::of(&desk.tracked("ses_child2")), ChildStatus::Active);
}

#[test]
fn an_hour_later_only_the_numbers_are_left() {
    let desk = TestEnv::new(&[]);
    desk.subagent(CHILD, NAMED, "It says 6.");
    desk.subagent("ses_small", "a question", "6");
    desk.subagent("ses_open", NAMED, "On it.");
    for session in [CHILD, "ses_small"] {
        desk.engine.session_idle(session).unwrap();
    }
    desk.pass(5_000);
    desk.engine.wake().unwrap();
    let before = desk.engine.subagent_stats().unwrap();
    let left_after = |milliseconds: i64| {
        desk.pass(milliseconds);
        desk.engine.wake().unwrap();
        let left = desk.engine.subagents(&SubagentFilter::default()).unwrap();
        left.into_iter().map(|it| it.session).collect::<Vec<_>>()
    };
    assert_eq!(left_after(HOUR - 5_000), [CHILD, "ses_open", "ses_small"]);
    assert_eq!(left_after(1), [CHILD, "ses_open"]);
    assert_eq!(left_after(5_000), ["ses_open"]);
    let mut after = desk.engine.subagent_stats().unwrap();
    // A frame that is silent and over is no longer silent.
    after.idle = before.idle;
    assert_eq!(after, before);
    assert_eq!((after.tracked, after.auto_completed, after.skipped, after.active), (3, 1, 1, 1));
    desk.assert_sound();
}

#[test]
fn no_rate_is_above_a_hundred_percent() {
    let desk = TestEnv::new(&[]);
    desk.subagent(CHILD, NAMED, "It says 6.");
    desk.subagent("ses_small", "a question", "6");
    for session in [CHILD, "ses_small"] {
        desk.did("stack_subagent_complete", json!({"sessionID": session}));
    }
    let answer = desk.did("stack_stats", json!({}));
    assert_eq!((&answer.data["completed"], &answer.data["withFrames"]), (&2.into(), &1.into()));
    let rates = answer.data.as_object().unwrap().iter().filter(|(name, _)| name.ends_with("Rate"));
    for (name, rate) in rates {
        assert!(rate.as_u64().is_none_or(|percent| percent <= 100), "{name}: {rate}");
    }
    assert!(answer.text.contains("completed 2 (100 %)"), "{}", answer.text);
}

#[test]
fn settings_are_set_here_and_reset() {
    let desk = TestEnv::new(&[("STACK_SUBAGENT_MIN_MESSAGES", "9")]);
    let source = |answer: &Answer, name: &str| answer.data[name]["source"].clone();
    let answer = desk.did("stack_config", json!({}));
    assert_eq!(source(&answer, "minMessages"), "environment");
    assert_eq!(source(&answer, "idleDelay"), "default");
    let answer = desk.did(
        "stack_config",
        json!({"idleDelay": 70, "minMessages": 2, "enabled": true, "patterns": ["^job ", "("]}),
    );
    assert_eq!(source(&answer, "minMessages"), "environment");
    let overruled = "minMessages: 9 (from the environment; `2` is set here, and counts once the variable is gone)";
    assert!(answer.text.contains(overruled), "{}", answer.text);
    assert!(answer.text.contains("`(` (unclosed group)"), "{}", answer.text);
    let now = desk.another().subagent_settings().unwrap();
    assert_eq!((now.idle_delay, now.min_messages, now.min_duration), (70, 9, 60_000));
    assert!(now.matches("job 1") && !now.matches(NAMED));
    desk.did("stack_config", json!({"reset": ["minMessages", "STACK_SUBAGENT_PATTERNS"]}));
    let now = desk.engine.subagent_settings().unwrap();
    assert_eq!((now.idle_delay, now.min_messages), (70, 9));
    assert!(now.matches(NAMED));
    desk.did("stack_config", json!({"reset": ["all"], "autoComplete": false, "patterns": []}));
    let now = desk.engine.subagent_settings().unwrap();
    assert_eq!((now.idle_delay, now.auto_complete, now.patterns.len()), (5_000, false, 0));
    for (arguments, part) in [
        (json!({"patterns": ["a,b"]}), "`a,b` contains a comma"),
        (json!({"reset": ["everything"]}), "`everything` is none of the subagents' settings"),
        (json!({"idleDelay": -1}), "idleDelay"),
        (json!({"idle": 1}), "unknown field `idle`"),
    ] {
        let (kind, sentence) = desk.refused("stack_config", arguments);
        assert!(kind == Kind::Invalid && sentence.contains(part), "{sentence}");
    }
}

#[test]
fn changed_settings_count_for_what_is_silent_already() {
    let desk = TestEnv::new(&[]);
    desk.subagent(CHILD, NAMED, "It says 6.");
    desk.engine.session_idle(CHILD).unwrap();
    desk.did("stack_config", json!({"autoComplete": false}));
    assert_eq!(desk.tracked(CHILD).completes_at, None);
    desk.did("stack_config", json!({"autoComplete": true, "idleDelay": 0}));
    assert_eq!(desk.standing(), "completed");
}

#[test]
fn a_list_is_filtered() {
    let desk = TestEnv::new(&[]);
    desk.subagent(CHILD, NAMED, "It says 6.");
    desk.subagent("ses_small", "a question", "6");
    desk.engine.session_idle(CHILD).unwrap();
    let listed = |arguments: Value| {
        let data = desk.did("stack_subagent_list", arguments).data;
        let sessions = data["sessions"].as_array().unwrap().iter();
        let is_handle = |frame: &Value| frame.is_null() || frame.as_str().is_some();
        assert!(sessions.clone().all(|it| is_handle(&it["frame"]) && is_handle(&it["caller"])));
        sessions.map(|it| it["sessionID"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed(json!({})), [CHILD, "ses_small"]);
    assert_eq!(listed(json!({"filter": "active"})), ["ses_small"]);
    assert_eq!(listed(json!({"filter": "idle"})), [CHILD]);
    assert_eq!(listed(json!({"filter": "completed"})), [""; 0]);
    assert_eq!(listed(json!({"subagentsOnly": true})), [CHILD]);
    assert_eq!(listed(json!({"framedOnly": true})), [CHILD]);
    assert_eq!(listed(json!({"parentSessionID": PARENT})), [CHILD, "ses_small"]);
    assert_eq!(listed(json!({"parent": "f2"})), [CHILD, "ses_small"]);
    assert_eq!(listed(json!({"parent": CHILD})), [""; 0]);
    let text = desk.did("stack_subagent_list", json!({"filter": "idle"})).text;
    assert_eq!(
        text,
        "ses_child \"look (@general subagent)\": idle, subagent, 1 messages, last at work 0ms ago, \
         frame f3, completes in 5s"
    );
}
