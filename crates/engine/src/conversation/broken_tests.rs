use std::cell::Cell;

use super::*;
use crate::{Engine, Settings, SystemWorld};

fn failure(message: &str) -> Failure {
    Failure { stopped: false, message: message.to_owned() }
}

#[test]
fn what_another_process_keeps_meanwhile_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let open = || {
        let world = Box::new(SystemWorld);
        Engine::open_unchecked(folder.path(), Settings::default(), world).unwrap()
    };
    let (engine, other) = (open(), open());
    engine.session_failed("ses_a", failure("first")).unwrap();
    let calls = Cell::new(0);
    let handled = engine.sessions.broken("ses_a", |broken| {
        calls.set(calls.get() + 1);
        if calls.get() == 1 {
            other.session_failed("ses_a", failure("second")).unwrap();
        }
        broken.failure.take()
    });
    assert_eq!(handled.unwrap(), Some(failure("second")));
    let left = engine.kernel.read(|view| view.broken_turn("ses_a")).unwrap();
    assert_eq!(left.failure, None);
    assert_eq!(left.trouble.unwrap().message, "second");
    assert_eq!(calls.get(), 2);
}
