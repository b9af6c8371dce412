use std::time::Duration;

use callstack_core::event::Event as Logged;

use super::*;
use crate::feed::{EventBatch, EventCursor};
use crate::store::Store;
use crate::watch::Watch;

/// Returns a watch of another folder that passes for one of the folder at `path`, about which it gets no notice.
fn deaf(path: &Path) -> Arc<FolderWatch> {
    let elsewhere = tempfile::tempdir().unwrap();
    let mut watcher = notify::recommended_watcher(|_| {}).unwrap();
    watcher.watch(elsewhere.path(), RecursiveMode::NonRecursive).unwrap();
    Arc::new(FolderWatch { folder: FileId::of(&fs::metadata(path).unwrap()), _watcher: watcher })
}

#[test]
fn events_come_where_the_system_gives_no_notices() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Arc::new(Store::open_unchecked(folder.path()).unwrap());
    let (writer, reader) = (open(), open());
    let deaf = deaf(folder.path());
    *reader.signal.folders.0.lock().unwrap() = Arc::downgrade(&deaf);
    let mut watch = Watch::new(Arc::clone(&reader), EventCursor::START);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let event = Logged::SettingSet { name: "STACK_LOG".to_owned(), value: None };
            writer.write(|change| change.append(1, &[event])).unwrap();
        });
        // Unlimited, since a wait checks once more at the end of its time.
        assert!(watch.wait(Duration::MAX).unwrap());
    });
    assert_eq!(reader.signal.count(), 0, "a notice came");
    let batch = watch.next_batch(9).unwrap();
    assert!(matches!(batch, EventBatch::Events(events) if events.len() == 1));
}

#[test]
fn a_folder_that_was_made_again_is_watched_again() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("stack/callstack.db");
    let folder = path.parent().unwrap();
    std::fs::create_dir(folder).unwrap();
    let signal = Arc::new(Signal::default());
    let first = signal.folders.watch(&path, &signal).unwrap();
    let same = signal.folders.watch(&path, &signal).unwrap();
    assert!(Arc::ptr_eq(&first, &same));
    // The old folder is kept, so that its number is not given out again.
    std::fs::rename(folder, parent.path().join("aside")).unwrap();
    assert!(signal.folders.watch(&path, &signal).is_none());
    std::fs::create_dir(folder).unwrap();
    let second = signal.folders.watch(&path, &signal).unwrap();
    assert!(!Arc::ptr_eq(&first, &second));
    let known = signal.count();
    std::fs::write(&path, "x").unwrap();
    assert!(signal.wait(known, Duration::from_mins(1)) > known);
}
