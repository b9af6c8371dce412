//! Observers of a store.

use std::sync::{Arc, Mutex};

use callstack_core::event::Event;
use callstack_store::{Store, StoreError};

fn set(store: &Store, at: i64, value: &str) -> Result<(), StoreError> {
    let event = Event::SettingSet { name: "STACK_LOG".to_owned(), value: Some(value.to_owned()) };
    store.write(|change| change.append(at, &[event]))
}

#[test]
fn each_observer_is_called_with_every_change_from_its_own_beginning() {
    let store = Store::in_memory().unwrap();
    let seen: [Arc<Mutex<Vec<i64>>>; 2] = [Arc::default(), Arc::default()];
    let observer = |place: usize| {
        let seen = Arc::clone(&seen[place]);
        move |events: &[(i64, Event)]| {
            seen.lock().unwrap().extend(events.iter().map(|(at, _)| *at));
        }
    };
    store.observe(observer(0));
    set(&store, 1, "on").unwrap();
    store.observe(observer(1));
    set(&store, 2, "off").unwrap();
    let failed = store.write(|change| {
        change.append(3, &[Event::SettingSet { name: "STACK_LOG".to_owned(), value: None }])?;
        Err::<(), _>(StoreError::NoFrame("f1".to_owned()))
    });
    assert!(failed.is_err(), "nothing was changed");
    assert_eq!(*seen[0].lock().unwrap(), [1, 2]);
    assert_eq!(*seen[1].lock().unwrap(), [2]);
}
