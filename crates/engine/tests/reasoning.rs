//! Sessions as they come: whatever happens in them, no reasoning is sent behind a prefix other than the one
//! it was made with, and serials grow.

#[cfg(test)]
mod host;

use callstack_core::fold::ReasoningPolicy;
use callstack_engine::{MaskOutputs, Placement, Settings};
use proptest::prelude::*;

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
            host.compact(0, if shows_push { Tail::Shown(1) } else { Tail::Shown(0) });
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
    host.compact(0, Tail::Shown(0));
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
        for tail in [Tail::Shown(2), Tail::New] {
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
            let told = host.sent(child).matches("never touch main").count();
            assert_eq!(told, 1, "it is told of its frame once: {}", host.sent(child));
        }
    }
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
    Compact(Tail),
    Fork,
    Child,
    RestartProcess,
    RestartAll,
    Clock(i64),
    Pause,
    Missed,
}

fn happenings() -> impl Strategy<Value = Vec<(usize, Happens)>> {
    let one = prop_oneof![
        4 => Just(Happens::User),
        6 => Just(Happens::Step),
        2 => Just(Happens::Big),
        5 => Just(Happens::Push),
        5 => Just(Happens::Pop),
        2 => Just(Happens::PopAndGoOn),
        1 => (1..4_usize).prop_map(Happens::Undo),
        1 => (0..4_usize).prop_map(|tail| Happens::Compact(Tail::Shown(tail))),
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
    fn of_every_session_stands_behind_what_it_was_made_with(
        happenings in happenings(),
        system: bool,
        waits: bool,
        masks: bool,
    ) {
        let mut settings = settings(if system { Placement::System } else { Placement::Output });
        settings.reasoning = if waits { ReasoningPolicy::Wait } else { ReasoningPolicy::Strip };
        settings.mask_outputs = if masks { MaskOutputs::On } else { MaskOutputs::Off };
        let mut host = Host::new(settings);
        host.user(0, "Begin");
        for (session, happens) in happenings {
            let at = session % host.sessions();
            match happens {
                Happens::User => host.user(at, "And further"),
                Happens::Step => host.step(at),
                Happens::Big => host.read(at, 9_000),
                Happens::Push => host.push(at, "part"),
                Happens::Pop => host.pop(at),
                Happens::PopAndGoOn => host.pop_and_go_on(at),
                Happens::Undo(turns) => host.undo(at, turns),
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
