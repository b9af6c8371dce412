use super::*;
use crate::transcript::CallState;

fn ran(command: &str, output: &str, exit: i64) -> Activity {
    Activity::called(ToolCall {
        output: Some(output.to_owned()),
        exit: Some(exit),
        action: Action::Ran(command.to_owned()),
        ..ToolCall::default()
    })
}

fn wrote(failed: bool) -> Activity {
    let action = Action::Wrote(vec!["src/a.rs".to_owned()]);
    let state = if failed { CallState::Failed } else { CallState::Completed };
    Activity::called(ToolCall { state, action, ..ToolCall::default() })
}

fn remaining(span: &[Activity]) -> String {
    Remains::of(span, "/home/me/app").lines().collect::<Vec<_>>().join("\n")
}

fn open(items: &[&str]) -> Vec<String> {
    items.iter().map(|item| (*item).to_owned()).collect()
}

fn listed(list: OpenItems) -> String {
    let remains = Remains { list: Some(list), ..Remains::default() };
    remains.lines().collect::<Vec<_>>().join("\n")
}

#[test]
fn the_list_shows_what_comes_next() {
    let few = open(&["Write  the\ntests", "Tell the user"]);
    assert_eq!(
        listed(OpenItems::after_an_item(&few)),
        "remains on the todo list: Write the tests; Tell the user"
    );
    assert_eq!(listed(OpenItems::at_the_end(&[])), "remains on the todo list: nothing");
    let many = open(&["a"; 12]);
    assert_eq!(
        listed(OpenItems::after_an_item(&many)),
        "remains on the todo list: a; a; a; and 9 more"
    );
    assert!(listed(OpenItems::at_the_end(&many)).ends_with("a; and 4 more"));
    let long = open(&[&*"word ".repeat(100); 3]);
    assert!(crate::text::estimate_tokens(&listed(OpenItems::after_an_item(&long))) < 60);
}

#[test]
fn what_failed_last_is_named_until_it_went_well() {
    let failing = "failed when run last: `pnpm test` (exit 1)";
    assert_eq!(remaining(&[ran("pnpm test", "aborted", 1), ran("pnpm lint", "", 0)]), failing);
    assert_eq!(remaining(&[ran("cd /home/me/app && pnpm test", "aborted", 1)]), failing);
    assert_eq!(remaining(&[ran("pnpm test", "", 1), ran("pnpm test --all", "", 0)]), "");
    assert_eq!(remaining(&[ran("go test ./a", "", 1), ran("go test ./...", "", 0)]), "");
    assert_eq!(remaining(&[ran("cargo test one", "", 101), ran("cargo test", "", 0)]), "");
    let python = "/opt/venv/bin/python -m pytest -q";
    let red = format!("{python} --tb=line tests/test_a.py");
    assert_eq!(remaining(&[ran(&red, "", 1), ran(python, "", 0)]), "");
    assert_ne!(remaining(&[ran(&red, "", 1), ran("/opt/venv/bin/python -m mypy", "", 0)]), "");
    let other = remaining(&[ran("npm run build", "", 1), ran("npm run test", "", 0)]);
    assert_eq!(other, "failed when run last: `npm run build` (exit 1)");
}

#[test]
fn counts_speak_where_the_exit_does_not() {
    let span = [ran("go test ./... | tail -5", "--- FAIL: TestA\nFAIL\tx.org/a\t0.2s", 0)];
    assert_eq!(remaining(&span), "failed when run last: `go test ./...`");
}

#[test]
fn a_search_that_finds_nothing_is_no_failure() {
    let span = [ran("rg test src", "", 1), ran("ls build", "", 2), ran("diff a b", "", 1)];
    assert_eq!(remaining(&span), "");
}

#[test]
fn the_last_failures_are_named_and_long_ones_are_cut() {
    let long = format!("make {}", "é".repeat(200));
    let span = [ran("cargo build", "", 1), ran("npm test", "", 1), ran(&long, "", 2)];
    let lines = remaining(&span);
    assert!(!lines.contains("cargo build") && lines.contains("`npm test`"), "{lines}");
    assert!(lines.len() < 160, "{lines}");
}

#[test]
fn a_change_that_nothing_was_run_after_is_reported() {
    let untried = "no command was run after the last change";
    assert_eq!(remaining(&[ran("make", "", 0), wrote(false)]), untried);
    assert_eq!(remaining(&[wrote(false), ran("git diff", "", 0)]), "");
    assert_eq!(remaining(&[wrote(true)]), "", "it changed nothing");
}

#[test]
fn a_later_stretch_shows_how_things_stand() {
    let list = |items: &[&str]| Some(OpenItems::after_an_item(&open(items)));
    let earlier = Remains { list: list(&["one"]), ..Remains::of(&[wrote(false)], "") };
    let silent = earlier.clone().then(Remains::default());
    assert_eq!(silent, Remains { list: list(&["one"]), ..Remains::default() });
    let later = Remains { list: list(&[]), ..Remains::default() };
    assert_eq!(earlier.then(later.clone()), later);
}
