//! A store that can't be written to while a session runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use callstack_scripted_model::Step;
use callstack_testkit::assert_clean;

use super::super::steps::{bash, pop, push, work};
use super::super::talk::Talk;
use super::super::tree::tree;
use super::kill_host;

fn set_mode(folder: &Path, of_folder: u32, of_files: u32) {
    let set =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    for file in fs::read_dir(folder).unwrap().flatten() {
        set(&file.path(), of_files);
    }
    set(folder, of_folder);
}

#[test]
fn a_store_that_turns_read_only_stops_frames_and_nothing_else() {
    let Some(mut talk) = Talk::new(&[]) else { return };
    let opencode = talk.server.process().pid();
    let sealed = &talk.project.sealed;
    let session = talk.session([
        push("Read parts", "they are read").reasoning("A subtask."),
        Step::text("Opened.").reasoning("Tell."),
        work("the parts"),
        pop("They say 7."),
        bash("echo still"),
        Step::text("It could not be popped."),
        pop("They say 7."),
        Step::text("Popped."),
    ]);
    session.say("Read the parts");
    let store = sealed.project().join(".callstack");
    set_mode(&store, 0o555, 0o444);
    if fs::write(store.join("probe"), "").is_ok() {
        fs::remove_file(store.join("probe")).unwrap();
        make_unwritable_for_root(&store);
    }
    kill_host(opencode);
    talk.project.model.skip_next_prefix_check(&session.id);
    session.say("Go on");
    restore(&store);
    talk.project.model.skip_next_prefix_check(&session.id);
    session.say("Try again");
    assert_clean(&talk.project.model);
    assert_eq!(tree(sealed, &session.id), "Read the parts in_progress *\n  Read parts completed\n");
}

/// Permissions mean nothing to root, so the store's name is given to something else.
fn make_unwritable_for_root(store: &Path) {
    fs::rename(store, store.with_extension("aside")).unwrap();
    fs::write(store, "not a folder").unwrap();
}

fn restore(store: &Path) {
    if store.is_file() {
        fs::remove_file(store).unwrap();
        fs::rename(store.with_extension("aside"), store).unwrap();
    }
    set_mode(store, 0o755, 0o644);
}
