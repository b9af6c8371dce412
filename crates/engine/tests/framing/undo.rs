//! Turns that are taken back, forked and compacted.

use callstack_core::transcript::{Message, MessageKind, Part, PartBody, Role};
use callstack_engine::HostMessage;

use super::host::Host;
use crate::plugin::whole;

#[test]
fn an_undone_turn_takes_its_frame_with_it() {
    let mut host = Host::new();
    host.turn("Build it", "Built.");
    let second = host.shown.len();
    host.turn("Test it", "Tested.");
    host.undo(second);
    assert_eq!(host.tree(), "Build it in_progress * [turn over]\n");
    host.turn("Paint it", "Painted.");
    assert_eq!(host.tree(), "Build it in_progress * [turn over]\n  Paint it completed\n");
}

#[test]
fn an_undo_that_only_the_transcript_shows_is_followed_too() {
    let mut host = Host::new();
    host.turn("Build it", "Built.");
    let second = host.shown.len();
    host.turn("Test it", "Tested.");
    host.shown.truncate(second);
    host.user("Paint it");
    assert_eq!(host.tree(), "Build it in_progress * [turn over]\n");
}

#[test]
fn a_frame_whose_end_is_undone_goes_on() {
    let mut host = Host::new();
    host.turn("Build it", "Built.");
    let end = host.shown.len() - 1;
    host.user("Thanks");
    host.undo(end);
    assert_eq!(host.tree(), "Build it in_progress * [turn open]\n");
    host.user("Go on");
    host.step(&["make"]);
    host.reply("Built anew.");
    assert_eq!(host.tree(), "Build it in_progress * [turn over]\n");
    assert_eq!(host.returned("f1").as_deref(), Some("Built anew."));
}

#[test]
fn a_frame_stays_when_an_undo_leaves_little_of_its_work() {
    let mut host = Host::new();
    host.user("Build it");
    host.step(&["make"]);
    host.step(&["make", "make", "make"]);
    host.undo(2);
    host.user("Otherwise");
    host.reply("Built.");
    assert_eq!(host.tree(), "Build it in_progress * [turn over]\n");
}

#[test]
fn an_undone_list_takes_its_item_with_it() {
    let mut host = Host::new();
    host.user("Build it");
    host.step(&["make", "make", "make", "make"]);
    let list = host.shown.len();
    host.todos(&[">parser"], "");
    host.undo(list);
    host.user("Go on");
    assert_eq!(host.tree(), "Build it in_progress * [turn open]\n");
}

#[test]
fn a_fork_has_frames_of_its_own() {
    let mut host = Host::new();
    host.turn("Build it", "Built.");
    host.turn("Test it", "Tested.");
    let tree = host.tree();
    // A fork's messages have other ids.
    let copy = |shown: &HostMessage| {
        let mut copy = shown.clone();
        copy.message.id = format!("fork_{}", shown.message.id);
        copy
    };
    let shown: Vec<_> = host.shown.iter().map(copy).collect();
    host.engine.sync(whole("ses_fork", shown)).unwrap();
    assert_eq!(host.tree().lines().next(), tree.lines().next());
    let of_fork = host.engine.tree(Some("ses_fork")).unwrap();
    let titles: Vec<_> = of_fork
        .iter()
        .filter(|line| line.frame.session.as_deref() == Some("ses_fork"))
        .map(|line| format!("{} {}", line.frame.identity.title, line.frame.status))
        .collect();
    assert_eq!(titles, ["Build it in_progress", "Test it in_progress"]);
}

/// Compacts as a host: everything before the last messages is hidden by a summary.
fn compact(host: &mut Host, tail: usize) {
    let tail = host.shown.split_off(host.shown.len() - tail);
    host.shown.clear();
    let mut message = |id: &str, role, standing| {
        let text = PartBody::Text { synthetic: false, chars: 4, head: "text".to_owned() };
        let parts = vec![Part { id: format!("{id}.0"), body: text }];
        host.shown.push(HostMessage {
            words: "text".to_owned(),
            ..HostMessage::of(
                Message { id: id.to_owned(), role, standing, parts },
                format!("{{\"id\":{id:?}}}"),
            )
        });
    };
    message("msg_request", Role::User, MessageKind::CompactionRequest);
    message("msg_summary", Role::Assistant, MessageKind::Summary);
    host.shown.extend(tail);
    host.show_again_from(0);
}

#[test]
fn what_a_compaction_hides_ends_where_it_ends() {
    let mut host = Host::new();
    host.turn("Build it", "Built.");
    host.user("Add dates");
    host.step(&["make", "make", "make", "make"]);
    host.todos(&[">Write the parser", "tests"], "");
    compact(&mut host, 0);
    host.step(&["make"]);
    let open = "  Add dates in_progress\n    Write the parser in_progress *\n";
    assert!(host.tree().ends_with(open), "{}", host.tree());
    host.restart();
    host.step(&["make"]);
    assert!(host.tree().ends_with(open), "{}", host.tree());
    host.todos(&["+Write the parser", ">tests"], "It reads.");
    host.todos(&["+Write the parser", "+tests"], "They pass.");
    host.reply("Dates are in.");
    assert_eq!(
        host.tree(),
        "Build it in_progress * [turn over]\n  Add dates completed\n    Write the parser \
         completed\n    tests completed\n"
    );
    host.turn("Paint it", "Painted.");
    assert!(host.tree().ends_with("  Paint it completed\n"));
}

#[test]
fn a_first_turn_that_is_undone_leaves_the_root_as_it_is() {
    let mut host = Host::new();
    host.turn("Build it", "Built.");
    host.turn("Test it", "Tested.");
    host.undo(0);
    assert_eq!(host.tree(), "Build it in_progress *\n");
    host.turn("Paint it", "Painted.");
    host.user("Thanks");
    assert_eq!(host.tree(), "Build it in_progress *\n  Paint it completed\n");
}

#[test]
fn an_undone_pop_of_the_root_opens_its_first_turn_again() {
    let mut host = Host::new();
    host.user("Build it");
    host.step(&["make", "make", "make", "make"]);
    let before = host.shown.len();
    host.pop("Built.");
    assert_eq!(host.tree(), "Build it completed [turn over]\n");
    host.undo(before);
    assert_eq!(host.tree(), "Build it in_progress * [turn open]\n");
    host.reply("Built.");
    assert_eq!(host.tree(), "Build it in_progress * [turn over]\n");
}
