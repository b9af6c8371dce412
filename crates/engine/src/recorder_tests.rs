use std::sync::mpsc;

use callstack_store::{Store, Trusted};

use super::*;
use crate::settings::Settings;
use crate::world::SystemWorld;

#[test]
fn what_was_waited_for_in_vain_is_not_waited_for_again() {
    let project = tempfile::tempdir().unwrap();
    let trusted = || Trusted::unchecked(project.path()).unwrap();
    let world = Box::new(SystemWorld);
    let kernel = Kernel::open(trusted(), Settings::default(), world).unwrap();
    let recorder = Recorder::start(&kernel, |_| {}).unwrap();
    let other = Store::open(&trusted()).unwrap();
    let (begun, is_begun) = mpsc::channel();
    let (end, is_to_end) = mpsc::channel::<()>();
    let holder = std::thread::spawn(move || {
        other.write(|_| {
            begun.send(()).unwrap();
            is_to_end.recv().unwrap_err();
            Ok::<_, StoreError>(())
        })
    });
    is_begun.recv().unwrap();
    let message = MessageBody { id: "msg_1".to_owned(), json: "{}".to_owned() };
    let ticket = recorder.record((1, None), "ses_a", vec![message]);
    assert!(!recorder.flush(ticket, Duration::from_millis(1)), "it can't be written yet");
    let later = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        drop(end);
    });
    assert!(!recorder.flush(ticket, Duration::from_mins(1)), "it was waited for again");
    later.join().unwrap();
    holder.join().unwrap().unwrap();
    drop(recorder);
    let stored = Store::open(&trusted()).unwrap();
    let messages = stored.read(|view| view.messages("ses_a")).unwrap();
    assert_eq!(messages.len(), 1);
}
