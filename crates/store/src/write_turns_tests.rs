use std::sync::Barrier;
use std::time::Duration;

use super::*;
use crate::error::at;
use crate::{MessageBody, Store};

#[test]
fn a_turn_is_one_database_s() {
    let (one, other) = (Turns::at(Path::new("/one")), Turns::at(Path::new("/other")));
    let turn = one.take();
    assert!(Turns::at(Path::new("/one")).0.turn.try_lock().is_err());
    assert!(other.0.turn.try_lock().is_ok());
    drop(turn);
    assert!(Turns::at(Path::new("/one")).0.turn.try_lock().is_ok());
}

#[test]
fn a_turn_that_nobody_can_take_is_forgotten() {
    let path = Path::new("/gone");
    drop(Turns::at(path));
    drop(Turns::at(Path::new("/next")));
    assert!(!lock(&OPEN).contains_key(path));
}

/// SQLite would report at once to each that the database is busy, if it found the other one writing.
#[test]
fn connections_of_one_process_never_find_each_other_writing() {
    let folder = tempfile::tempdir().unwrap();
    let stores = [(); 2].map(|()| Store::open_unchecked(folder.path()).unwrap());
    let together = Barrier::new(2);
    std::thread::scope(|scope| {
        for store in &stores {
            let impatient = |open: &mut Open| open.busy_timeout(Duration::ZERO);
            store
                .with_connection(|open| impatient(open).map_err(|it| at(store.path(), it)))
                .unwrap();
            scope.spawn(|| {
                for round in 0..50 {
                    together.wait();
                    let message = MessageBody { id: "m".to_owned(), json: round.to_string() };
                    store.write(|change| change.record_messages(1, "s", &[message])).unwrap();
                }
            });
        }
    });
}
