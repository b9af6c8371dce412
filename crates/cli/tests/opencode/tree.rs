//! The frames as the store has them, read by a process of its own.

use std::fmt::Debug;
use std::thread::sleep;
use std::time::{Duration, Instant};

use callstack_core::frame::{Artifact, Frame};
use callstack_core::transcript::Anchor;
use callstack_engine::operation::{Answer, Caller};
use callstack_engine::{Engine, Settings, SystemWorld, operations};
use callstack_testkit::Sealed;
use serde_json::Value;

/// The engine of the project, as any further process opens it.
pub(crate) fn engine(sealed: &Sealed) -> Engine {
    Engine::open_unchecked(&sealed.project(), Settings::default(), Box::new(SystemWorld)).unwrap()
}

/// The tree in drawing order, a line a frame: `title status`, indented, ` *` where the session works.
pub(crate) fn tree(sealed: &Sealed, session: &str) -> String {
    let lines = engine(sealed).tree(Some(session)).unwrap();
    let drawn = lines.iter().map(|line| {
        let indent = "  ".repeat(line.branches.chars().count() / 3);
        let star = if line.active { " *" } else { "" };
        let Frame { identity, status, .. } = &line.frame;
        format!("{indent}{} {status}{star}\n", identity.title)
    });
    drawn.collect::<Vec<_>>().concat()
}

/// Waits until the tree is as given: events reach the host process after the call that makes them.
#[track_caller]
pub(crate) fn wait_for_tree(sealed: &Sealed, session: &str, expected: &str) {
    wait_for(expected, || tree(sealed, session));
}

/// Waits until `look` finds what is expected.
#[track_caller]
pub(crate) fn wait_for<T: AsRef<E> + Debug, E: PartialEq + Debug + ?Sized>(
    expected: &E,
    look: impl Fn() -> T,
) {
    let started = Instant::now();
    loop {
        let found = look();
        if found.as_ref() == expected {
            return;
        }
        assert!(
            started.elapsed() < Duration::from_secs(40),
            "expected {expected:#?}, but there stays {found:#?}"
        );
        sleep(Duration::from_millis(20));
    }
}

/// The frame of a title.
#[track_caller]
pub(crate) fn frame(sealed: &Sealed, title: &str) -> Frame {
    let lines = engine(sealed).tree(None).unwrap();
    let mut found =
        lines.into_iter().map(|line| line.frame).filter(|it| it.identity.title == title);
    let frame = found.next().unwrap();
    assert!(found.next().is_none(), "there are several {title:?}");
    frame
}

/// The artifacts of a frame as `path hash`, the hash in its first eight places.
pub(crate) fn artifacts(sealed: &Sealed, title: &str) -> Vec<String> {
    let short = |Artifact { path, hash }: Artifact| {
        format!("{path} {}", hash.map_or_else(|| "none".to_owned(), |hash| hash[..8].to_owned()))
    };
    frame(sealed, title).artifacts.into_iter().map(short).collect()
}

/// Runs an operation as a person at a terminal does: at the end of what the store has of a session.
pub(crate) fn from_outside(sealed: &Sealed, session: &str, name: &str, args: Value) -> Answer {
    let engine = engine(sealed);
    let (latest, message) = engine.latest_session().unwrap().unwrap();
    assert_eq!(latest, session);
    let anchor = Anchor { message, call: None };
    let host = "cli".to_owned();
    let caller = Caller {
        session: latest,
        host,
        anchor,
        agent: None,
        performs: false,
        reveal: true,
        key: None,
    };
    operations::find(name).unwrap().run(&engine, &caller, args).unwrap()
}
