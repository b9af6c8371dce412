//! The remaining work in a fold.

use insta::assert_snapshot;

use super::host::Host;

/// Returns the lines about remaining work in the text that a frame returned.
fn remains(host: &Host, frame: &str) -> String {
    let text = host.folded(frame);
    let kinds = ["remains", "failed when run last", "no command was run"];
    let lines = text.lines().filter(|line| kinds.iter().any(|words| line.contains(words)));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn an_item_names_what_comes_next_and_a_turn_what_was_left() {
    let mut host = Host::new();
    host.user("Add dates");
    host.todos(&[">Write the parser", "Write tests", "Tell the user", "Rest", "Sleep"], "");
    host.write("date.rs");
    host.todos(&["+Write the parser", ">Write tests", "Tell the user", "Rest", "Sleep"], "");
    assert_snapshot!(remains(&host, "f2"), @"
    - remains on the todo list: Write tests; Tell the user; Rest; and 1 more
    ");
    host.step(&["make test"]);
    host.todos(&["+Write the parser", "+Write tests", "Tell the user", "xRest", "Sleep"], "");
    host.reply("Dates are in.");
    assert_snapshot!(remains(&host, "f3"), @r"- remains on the todo list: Tell the user; Sleep");
    assert_snapshot!(remains(&host, "f1"), @r"- remains on the todo list: Tell the user; Sleep");
    let folded = host.folded("f2");
    host.user("Go on");
    host.todos(&["+Write the parser", "+Write tests", ">Tell the user", "xRest", "+Sleep"], "");
    host.todos(&["+Write the parser", "+Write tests", "+Tell the user", "xRest", "+Sleep"], "");
    assert_snapshot!(remains(&host, "f5"), @"- remains on the todo list: nothing");
    assert_eq!(host.folded("f2"), folded, "what was told stays as it was");
}

#[test]
fn a_pushed_frame_shows_what_is_left_of_a_list_that_was_written_in_it() {
    let mut host = Host::new();
    host.user("Add dates");
    host.todos(&["early", "earlier"], "");
    host.push("Parser");
    host.pop("It reads.");
    assert_snapshot!(remains(&host, "f2"), @"");
    host.push("Tests");
    host.todos(&["+of dates", "of times", ">of years"], "");
    host.write("tests.rs");
    host.pop("Half of them pass.");
    assert_snapshot!(remains(&host, "f3"), @"
    - remains on the todo list: of years; of times
    ");
}

#[test]
fn what_remains_is_described_the_same_in_another_process() {
    let mut host = Host::new();
    host.user("Add dates");
    host.push("Tests");
    host.todos(&["of times", ">of years"], "");
    host.restart();
    host.user("Go on");
    host.pop("Half of them pass.");
    assert_snapshot!(remains(&host, "f2"), @r"- remains on the todo list: of years; of times");
}
