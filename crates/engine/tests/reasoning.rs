//! Properties of any session: no reasoning is sent after a prefix other than the one after which it was written, and
//! serials grow.

#[cfg(test)]
mod host;

use callstack_core::fold::ReasoningPolicy;
use callstack_core::transcript::{FoldOp, Message, MessageKind, Part, PartBody, Role};
use callstack_engine::{Engine, HostMessage, MaskOutputs, Placement, Settings, SystemRequest};
use proptest::prelude::*;

use crate::plugin::Plugin;

use host::{Host, Tail};

fn settings(placement: Placement) -> Settings {
    Settings { placement, ..Settings::default() }
}

#[test]
fn a_fork_of_a_compacted_session_gets_frames() {
    for placement in [Placement::Output, Placement::System] {
        for shows_push in [true, false] {
            let mut host = Host::new(settings(placement));
            host.user(0, "Build it");
            host.push(0, "parser");
            if !shows_push {
                host.step(0);
                host.step(0);
            }
            host.compact(0, if shows_push { Tail::HostMessage(1) } else { Tail::HostMessage(0) });
            if !shows_push {
                host.request(0);
            }
            let fork = host.fork(0);
            host.request(fork);
            assert_eq!(host.active(fork).as_deref(), Some("parser"), "{placement:?} {shows_push}");
            host.step(fork);
            host.pop(fork);
            assert_eq!(host.active(fork).as_deref(), Some("Build it"));
            assert_eq!(host.active(0).as_deref(), Some("parser"), "the original is left alone");
            host.request(fork);
        }
    }
}

#[test]
fn a_fork_of_a_compacted_session_knows_what_was_finished_before() {
    let mut host = Host::new(settings(Placement::Output));
    host.user(0, "Build it");
    host.push(0, "lexer");
    host.pop(0);
    host.push(0, "parser");
    host.step(0);
    host.compact(0, Tail::HostMessage(0));
    host.step(0);
    host.push(0, "tables");
    host.step(0);
    let fork = host.fork(0);
    host.request(fork);
    assert_eq!(host.frames(fork), ["Build it", "parser", "tables"]);
    let again = host.fork(fork);
    host.request(again);
    assert_eq!(host.frames(again), ["Build it", "parser", "tables"]);
}

#[test]
fn serials_do_not_fall_with_the_clock_and_what_was_reasoned_stays() {
    for restart in [Host::restart_process as fn(&mut Host), Host::restart_all] {
        let mut host = Host::new(settings(Placement::Output));
        host.user(0, "Build it");
        host.push(0, "parser");
        host.step(0);
        host.pop(0);
        for _ in 0..3 {
            host.step(0);
        }
        host.request(0);
        let reasoned = host.reasoned(0);
        host.pass(-86_400_000);
        restart(&mut host);
        for _ in 0..3 {
            host.step(0);
        }
        host.request(0);
        assert_eq!(host.reasoned(0), reasoned + 3);
    }
}

#[test]
fn a_step_that_a_compaction_keeps_goes_without_its_reasoning() {
    for placement in [Placement::Output, Placement::System] {
        for tail in [Tail::HostMessage(2), Tail::New] {
            let mut host = Host::new(settings(placement));
            host.user(0, "Build it");
            host.step(0);
            host.step(0);
            host.compact(0, tail);
            host.request(0);
            assert_eq!(host.reasoned(0), 0, "{placement:?} {tail:?}");
            host.step(0);
            host.request(0);
            assert_eq!(host.reasoned(0), 1, "{placement:?} {tail:?}");
        }
    }
}

#[test]
fn a_subagent_that_gets_its_frame_late_keeps_what_it_reasoned() {
    for placement in [Placement::Output, Placement::System] {
        let mut host = Host::new(settings(placement));
        host.user(0, "Build it");
        host.pin(0, "never touch main");
        let child = host.child(0, "quiet");
        host.user(child, "Look around");
        host.step(child);
        assert_eq!(host.active(child), None);
        host.step(child);
        host.step(child);
        assert_eq!(host.active(child).as_deref(), Some("Look around"));
        host.request(child);
        assert_eq!(host.reasoned(child), 3, "{placement:?}");
        if placement == Placement::Output {
            let count = host.sent(child).matches("never touch main").count();
            assert_eq!(count, 1, "it is told of its frame once: {}", host.sent(child));
        }
    }
}

#[test]
fn a_fork_keeps_what_was_reasoned_where_the_user_said_the_same_before_a_compaction() {
    let mut host = Host::new(settings(Placement::Output));
    host.user(0, "Begin");
    host.user(0, "And further");
    host.compact(0, Tail::New);
    host.step(0);
    host.user(0, "And further");
    host.push(0, "part");
    host.user(0, "And further");
    host.request(0);
    let reasoned = host.reasoned(0);
    let fork = host.fork(0);
    host.request(fork);
    assert_eq!(host.reasoned(fork), reasoned);
}

#[test]
fn after_a_compaction_that_keeps_an_earlier_summary_no_reasoning_is_left() {
    for placement in [Placement::Output, Placement::System] {
        let mut host = Host::new(settings(placement));
        host.user(0, "Build it");
        host.step(0);
        host.compact(0, Tail::HostMessage(1));
        host.step(0);
        host.step(0);
        host.compact(0, Tail::HostMessage(4));
        host.request(0);
        assert_eq!(host.reasoned(0), 0, "{placement:?}");
        host.step(0);
        let fork = host.fork(0);
        host.request(fork);
        host.request(0);
        assert_eq!(host.reasoned(0), 1, "{placement:?}");
    }
}

#[test]
fn steps_that_come_again_go_without_what_was_reasoned_after_another_prefix() {
    let mut host = Host::new(settings(Placement::Output));
    host.user(0, "Build it");
    host.push(0, "parser");
    host.pop(0);
    host.step(0);
    host.missed(0);
    host.step(0);
    host.take_back(0, 2);
    host.step(0);
    host.take_back(0, 1);
    host.request(0);
    host.request(0);
    host.bring_again(0);
    host.request(0);
}

#[test]
fn a_message_that_is_shown_twice_is_changed_once() {
    let folder = tempfile::tempdir().unwrap();
    let world = Box::<crate::support::Clock>::default();
    let engine = Engine::open_unchecked(folder.path(), Settings::default(), world).unwrap();
    let mut plugin = Plugin::default();
    let thought =
        |part: &str| Part { id: part.to_owned(), body: PartBody::Reasoning { sealed: false } };
    let said = |part: &str| Part {
        id: part.to_owned(),
        body: PartBody::Text { synthetic: false, chars: 1, head: "x".to_owned() },
    };
    let message = |id: &str, role, parts| {
        let standing = MessageKind::Normal;
        HostMessage::of(Message { id: id.to_owned(), role, standing, parts }, "{}".to_owned())
    };
    let mut shown = vec![
        message("m1", Role::User, vec![said("p1")]),
        message("m2", Role::Assistant, vec![thought("p2"), said("p3")]),
        message("m3", Role::User, vec![said("p3")]),
    ];
    for _ in 0..3 {
        plugin.sync(&engine, "ses_a", &shown);
        engine.system(&SystemRequest { session: "ses_a".to_owned(), limit: None }).unwrap();
    }
    // The same id again, with another role: no operation may remove the user's words in place of its reasoning.
    shown.push(message("m3", Role::Assistant, vec![thought("p4"), said("p5")]));
    shown.push(message("m4", Role::Assistant, vec![thought("p6"), said("p7")]));
    for shown in [&shown[..4], &shown] {
        plugin.sync(&engine, "ses_a", shown);
        let named = plugin.ops.iter().map(|op| match op {
            FoldOp::Keep { message, .. } => message.as_str(),
            other => panic!("{other:?}"),
        });
        assert!(named.clone().all(|message| message != "m3"), "{:?}", plugin.ops);
        assert_eq!(named.count(), shown.len() - 3, "{:?}", plugin.ops);
    }
}

#[test]
fn a_fork_of_a_fork_that_shows_only_a_summary_goes_on() {
    let mut host = Host::new(settings(Placement::Output));
    host.user(0, "Build it");
    host.compact(0, Tail::HostMessage(0));
    host.request(0);
    let fork = host.fork(0);
    host.push(fork, "parser");
    assert_eq!(host.frames(fork), ["Build it", "parser"]);
    let again = host.fork(fork);
    host.request(again);
    assert_eq!(host.frames(again), ["Build it", "parser"]);
}

#[test]
fn outputs_of_a_session_without_a_frame_leave_at_once_or_not_at_all() {
    for restart in [false, true] {
        let mut settings = settings(Placement::System);
        settings.mask_outputs = MaskOutputs::On;
        let mut host = Host::new(settings);
        host.user(0, "Build it");
        host.compact(0, Tail::HostMessage(0));
        // Its original has not shown the summary yet, so that it is unknown what it is a copy of.
        let fork = host.fork(0);
        host.read(fork, 9_000);
        host.read(fork, 9_000);
        if restart {
            host.request(fork);
            host.restart_process();
        }
        host.push(fork, "parser");
        host.request(fork);
        assert!(host.sent(fork).contains("has left the context"));
    }
}

#[test]
fn what_is_stored_at_the_first_request_leaves_no_reasoning_of_before() {
    let mut settings = settings(Placement::Output);
    settings.mask_outputs = MaskOutputs::On;
    let mut host = Host::new(settings);
    host.user(0, "Begin");
    host.read(0, 9_000);
    host.read(0, 9_000);
    let fork = host.fork(0);
    host.request(fork);
    assert_eq!(host.reasoned(fork), 0);
}

#[derive(Clone, Copy, Debug)]
enum Happens {
    User,
    Step,
    Big,
    Push,
    Pop,
    PopAndGoOn,
    Undo(usize),
    TakeBack(usize),
    BringAgain,
    Compact(Tail),
    Fork,
    Child,
    RestartProcess,
    RestartAll,
    Clock(i64),
    Pause,
    Missed,
}

fn activities() -> impl Strategy<Value = Vec<(usize, Happens)>> {
    let one = prop_oneof![
        4 => Just(Happens::User),
        6 => Just(Happens::Step),
        2 => Just(Happens::Big),
        5 => Just(Happens::Push),
        5 => Just(Happens::Pop),
        2 => Just(Happens::PopAndGoOn),
        1 => (1..4_usize).prop_map(Happens::Undo),
        1 => (1..4_usize).prop_map(Happens::TakeBack),
        1 => Just(Happens::BringAgain),
        1 => (0..4_usize).prop_map(|tail| Happens::Compact(Tail::HostMessage(tail))),
        1 => Just(Happens::Compact(Tail::New)),
        1 => Just(Happens::Fork),
        1 => Just(Happens::Child),
        1 => Just(Happens::RestartProcess),
        1 => Just(Happens::RestartAll),
        1 => prop_oneof![Just(-600_000), Just(-86_400_000_i64)].prop_map(Happens::Clock),
        1 => Just(Happens::Pause),
        1 => Just(Happens::Missed),
    ];
    proptest::collection::vec((0..4_usize, one), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn of_every_session_follows_what_it_was_made_with(
        activities in activities(),
        system: bool,
        waits: bool,
        masks: bool,
    ) {
        let mut settings = settings(if system { Placement::System } else { Placement::Output });
        settings.reasoning = if waits { ReasoningPolicy::Wait } else { ReasoningPolicy::Strip };
        settings.mask_outputs = if masks { MaskOutputs::On } else { MaskOutputs::Off };
        let mut host = Host::new(settings);
        host.user(0, "Begin");
        for (session, happens) in activities {
            let at = session % host.sessions();
            match happens {
                Happens::User => host.user(at, "And further"),
                Happens::Step => host.step(at),
                Happens::Big => host.read(at, 9_000),
                Happens::Push => host.push(at, "part"),
                Happens::Pop => host.pop(at),
                Happens::PopAndGoOn => host.pop_and_go_on(at),
                Happens::Undo(turns) => host.undo(at, turns),
                Happens::TakeBack(messages) => host.take_back(at, messages),
                Happens::BringAgain => host.bring_again(at),
                Happens::Compact(tail) => host.compact(at, tail),
                Happens::Fork => drop(host.fork(at)),
                Happens::Child => {
                    let child = host.child(at, "quiet");
                    host.user(child, "Look around");
                }
                Happens::RestartProcess => host.restart_process(),
                Happens::RestartAll => host.restart_all(),
                Happens::Clock(by) => host.pass(by),
                Happens::Pause => host.pass(400_000),
                Happens::Missed => host.missed(at),
            }
        }
        for at in 0..host.sessions() {
            host.request(at);
        }
    }
}
