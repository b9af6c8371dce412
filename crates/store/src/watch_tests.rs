use super::*;

#[test]
fn all_watches_of_a_store_share_one_watch_of_its_folder_and_drop_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(Store::open_unchecked(folder.path()).unwrap());
    let watches: Vec<_> =
        (0..50).map(|_| Watch::new(Arc::clone(&store), EventCursor::START)).collect();
    let first = watches[0].folder.clone().unwrap();
    assert!(watches.iter().all(|it| it.folder.as_ref().is_some_and(|it| Arc::ptr_eq(it, &first))));
    let weak = Arc::downgrade(&first);
    drop((watches, first));
    assert!(weak.upgrade().is_none(), "somebody still watches the folder");
}
