//! The content of files that stays when automatic work has ended, and for how long.

use callstack_core::transcript::Held;

use super::host::{Host, SESSION};

fn held(host: &Host, frame: &str) -> Option<Held> {
    let num = host.engine.resolve(frame).unwrap().num;
    let spans = host.engine.spans(SESSION).unwrap();
    spans.iter().rfind(|span| span.frame == num).unwrap().fold.as_ref().unwrap().held
}

fn ids(host: &Host) -> Vec<String> {
    host.shown.iter().map(|shown| shown.message.id.clone()).collect()
}

#[test]
fn a_text_that_was_edited_last_stays_until_the_next_turn_is_over() {
    let mut host = Host::new();
    host.user("Add dates");
    host.step(&["make", "make test", "make lint"]);
    host.edit("date.rs", "fn day() {}", "fn day() -> u8 {\n    1\n}");
    host.reply("Dates are in.");
    assert_eq!(held(&host, "f1"), Some(Held::Recent));
    // Everything is new after a pause, but the text is no less needed for that.
    host.pass(6);
    host.user("And months");
    assert_eq!(host.sent(), ids(&host));
    host.step(&["make"]);
    host.restart();
    host.reply("Months, too.");
    assert_eq!(host.sent(), ids(&host));
    host.pass(6);
    host.user("Thanks");
    assert_eq!(held(&host, "f1"), None);
    let sent = host.sent();
    let folded = "msg_5 + [callstack] first turn of frame f1 \"Add dates\"";
    assert_eq!(sent[..2], ["msg_1", "msg_4"]);
    assert!(sent[2].starts_with(folded), "{sent:#?}");
}

#[test]
fn what_was_edited_long_ago_in_a_turn_does_not_keep_it() {
    let mut host = Host::new();
    host.user("Add dates");
    host.edit("date.rs", "fn day() {}", "fn day() -> u8 {\n    1\n}");
    (0..10).for_each(|_| host.step(&["make"]));
    host.reply("Dates are in.");
    assert_eq!(held(&host, "f1"), Some(Held::Unweighed));
}

#[test]
fn files_that_were_read_leave_outlines_and_edits_their_texts() {
    let mut host = Host::new().long_outputs();
    host.user("Add dates");
    let remarks = (6..400).map(|line| format!("{line}: // A remark on line {line}."));
    let remarks: Vec<String> = remarks.collect();
    let file = "1: use x;\n2: pub struct Date {\n3:     day: u8,\n4: }\n5: fn day() {}\n";
    host.read("src/date.rs", &format!("{file}{}", remarks.join("\n")));
    host.read("src/lib.rs", "1: mod date;\n2: pub fn parse(text: &str) {\n3: }\n");
    host.edit(
        "src/lib.rs",
        "pub fn parse(text: &str) {\n}",
        "pub fn parse(text: &str) {\n    todo(text);\n}",
    );
    host.step(&["make", "make test"]);
    host.reply("Dates are in.");
    host.user("Thanks");
    assert_eq!(held(&host, "f1"), None, "it is too large to wait");
    let folded = host.folded("f1");
    let outline = "Read and not changed (line: definition):\n\
                   - src/date.rs, lines 1 to 399\n  2: pub struct Date\n  5: fn day() {}\n";
    assert!(folded.contains(outline), "{folded}");
    let heads = "First lines of files, as they stood then:\n\
                 - src/date.rs\nuse x;\npub struct Date {\n    day: u8,\n}\nfn day() {}\n\
                 - src/lib.rs\nmod date;\npub fn parse(text: &str) {\n    todo(text);\n}\n";
    assert!(folded.contains(heads), "{folded}");
    let text = "Text that was written last, as it stood then:\n\
                - src/lib.rs\npub fn parse(text: &str) {\n    todo(text);\n}\n";
    assert!(folded.contains(text), "{folded}");
    assert!(!folded.contains("- src/lib.rs, lines"), "{folded}");
}
