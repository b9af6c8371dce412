//! Opens damaged stores.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use callstack_core::event::{Event, FileMoment};
use callstack_hosts::opencode::serve;
use callstack_store::{DATABASE, Store, StoreError, View, prepare};

use crate::session::engine;

/// The session in a store before it is damaged.
const SESSION: &[u8] = include_bytes!("../seeds/protocol/session");

/// Damages a store by the input: the first byte chooses the way, and each further four a place and the byte that is
/// put there. The store is opened, checked, read, derived again, and checked again.
pub fn store(data: &[u8]) {
    let Some((how, edits)) = data.split_first() else { return };
    let project = tempfile::tempdir().expect("a folder for the store");
    let folder = prepare(project.path()).expect("the folder of a store is made");
    fs::write(folder.join(DATABASE), damaged(*how, edits)).expect("the store is written");
    let Ok(store) = Store::open_unchecked(&folder) else { return };
    let health = store.check();
    read(&store);
    let rebuilt = store.rebuild();
    if let (Ok(health), Ok(_)) = (health, rebuilt)
        && health.damage.is_empty()
        && let Ok(again) = store.check()
        && again.damage.is_empty()
    {
        assert_eq!(again.drifted, Vec::<String>::new(), "derived twice from the same events");
    }
    read(&store);
}

/// Everything that can be read, as far as it can.
fn read(store: &Store) {
    let read = |view: &View<'_>| {
        drop((view.revision(), view.identity(), view.settings(), view.all_evidence()));
        drop((view.aliases(), view.subagents(), view.newest_logs(100), view.message_sizes()));
        drop((
            view.pending_compactions(10),
            view.needed_file_states(),
            view.compaction_counts(None),
        ));
        for frame in view.all_frames().unwrap_or_default() {
            drop((
                view.frame(frame.num),
                view.ancestors(frame.num),
                view.children(Some(frame.num)),
            ));
            drop((view.frame_spans(frame.num), view.evidence(frame.num)));
            drop((view.ranges(frame.num), view.file_state(frame.num, FileMoment::Ended)));
        }
        for session in view.sessions(100).unwrap_or_default() {
            drop((view.messages(&session.id), view.session_spans(&session.id)));
            drop((view.session_masks(&session.id), view.sessions_below(&session.id)));
        }
        Ok::<_, StoreError>(())
    };
    drop(store.read(read));
    drop(store.write(|change| change.index(1 << 20, &str::to_owned)));
    drop(store.write(|change| change.append(1, &[] as &[Event])));
}

fn damaged(how: u8, edits: &[u8]) -> Vec<u8> {
    let mut bytes = sound().to_vec();
    let end = bytes.len();
    for edit in edits.chunks_exact(4) {
        let &[low, middle, high, byte] = edit else { continue };
        let place = u32::from_le_bytes([low, middle, high, 0]) as usize % end;
        match how % 8 {
            0 => bytes.truncate(place),
            1 => bytes[place..].iter_mut().take(64).for_each(|it| *it = byte),
            2 => bytes.copy_within(place..end.min(place + 512), usize::from(byte) * 16),
            _ => bytes[place] = byte,
        }
    }
    bytes
}

/// A small store in one file.
fn sound() -> &'static [u8] {
    static SOUND: OnceLock<Vec<u8>> = OnceLock::new();
    SOUND.get_or_init(|| {
        let project = tempfile::tempdir().expect("a folder for the store");
        let engine = Ok(engine(project.path()));
        serve(&engine, "fuzz", SESSION, std::io::sink(), |_| {}).expect("nothing is written");
        drop(engine);
        // Whoever closes a store last leaves it in one file.
        fs::read(project.path().join(Path::new(callstack_store::FOLDER)).join(DATABASE))
            .expect("there is a store")
    })
}
