use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;

fn ran(command: &str, output: &str, exit: i64) -> Happening {
    Happening::Called(Call {
        tool: "bash".to_owned(),
        input: command.to_owned(),
        output: output.to_owned(),
        exit: Some(exit),
        action: Action::Ran(command.to_owned()),
        ..Call::default()
    })
}

fn touched(action: Action, input: &str, output: &str) -> Happening {
    let (input, output) = (input.to_owned(), output.to_owned());
    Happening::Called(Call { tool: "edit".to_owned(), input, output, action, ..Call::default() })
}

/// So many tokens, any of them for changes.
fn all(tokens: usize) -> Room {
    Room { all: tokens, changes: tokens, strings: true }
}

fn told(span: &[Happening], results: &str, budget: usize) -> String {
    take(span, results, "/home/me/app", all(budget)).lines().join("\n")
}

fn work() -> Vec<Happening> {
    let file = |name: &str| format!("/home/me/app/src/{name}");
    vec![
        touched(Action::Read(file("date.rs")), &file("date.rs"), "1\tfn parse_date() {}"),
        touched(Action::Read(file("time.rs")), &file("time.rs"), "1\tfn parse_time() {}"),
        ran(
            "cd /home/me/app && cargo test",
            "error[E0308]: mismatched types\ntest result: FAILED. 2 passed; 1 failed; 0 ignored",
            101,
        ),
        touched(
            Action::Wrote(vec![file("date.rs")]),
            "/home/me/app/src/date.rs\nlet limitDays = 9999;",
            "done",
        ),
        ran("cargo test", "test result: ok. 3 passed; 0 failed; 0 ignored", 0),
        ran("curl https://docs.example/dates.html", "curl: (6) error: no such host", 6),
        Happening::Said("parse_date takes limitDays now.".to_owned()),
    ]
}

#[test]
fn a_span_is_told_by_kinds() {
    assert_snapshot!(told(&work(), "", 400), @r"
    written (reread to edit): /home/me/app/src/date.rs
    read: /home/me/app/src/time.rs
    commands: `cargo test` (exit 101, then 0; tests: 3 passed, before 1 failed); `curl https://docs.example/dates.html` (exit 6)
    errors: error[E0308]: mismatched types (gone since); curl: (6) error: no such host (not seen to be gone)
    names: limitDays parse_date E0308 parse_time
    numbers: 9999
    addresses: https://docs.example/dates.html
    ");
}

#[test]
fn what_was_removed_again_is_not_told_as_written() {
    let wrote = |path: &str| {
        let edit = Edit { path: path.to_owned(), before: None, after: "print(1)\n".to_owned() };
        Happening::Called(Call {
            tool: "write".to_owned(),
            input: path.to_owned(),
            action: Action::Wrote(vec![path.to_owned()]),
            edits: vec![edit],
            ..Call::default()
        })
    };
    let script = "/home/me/app/scripts/try.py";
    let mut span = vec![wrote(script), ran("python scripts/try.py", "1", 0)];
    let removal = ran("rm scripts/try.py", "", 0);
    let tells = |span: &[Happening]| {
        let told = take(span, "", "/home/me/app", all(400));
        (told.written.len(), told.changes.len())
    };
    assert_eq!(tells(&span), (1, 1));
    let failed = ran("rm scripts/try.py", "rm: cannot remove it", 1);
    span.push(failed);
    assert_eq!(tells(&span), (1, 1));
    span.push(removal);
    assert_eq!(tells(&span), (0, 0));
    span.push(wrote(script));
    assert_eq!(tells(&span), (1, 1));
}

#[test]
fn the_exit_of_a_pipe_is_not_told_as_that_of_a_test() {
    let span = [
        ran("make check 2>&1 | tail -5", "3 problems", 0),
        ran("make docs", "", 0),
        ran("make lint | grep problem", "", 1),
    ];
    assert_snapshot!(told(&span, "", 400), @"commands: `make check 2>&1 | tail -5`; `make docs` (exit 0); `make lint | grep problem` (exit 1)");
}

#[test]
fn what_results_say_is_not_said_again() {
    let results = "src/date.rs has parse_date with limitDays of 9999.";
    let told = told(&work(), results, 400);
    assert!(!told.contains("limitDays") && !told.contains("9999"), "{told}");
    assert!(told.contains("parse_time") && told.contains("src/time.rs"), "{told}");
}

#[test]
fn a_small_budget_keeps_what_matters_most() {
    let told = told(&work(), "", 75);
    assert!(told.contains("src/date.rs") && told.contains("cargo test"), "{told}");
    assert_eq!(take(&work(), "", "", all(0)), Evidence::default());
}

#[test]
fn a_small_span_is_not_replaced_by_as_much() {
    let budget = Budget::default();
    let of = |span: usize| budget.of(span).all;
    assert_eq!((of(30), of(600)), (120, 200));
    assert_eq!(of(3_000), budget.floor);
    assert_eq!(of(1_000_000), budget.ceiling);
    assert_eq!(budget.of(1_000_000).changes, budget.ceiling * budget.changes / 100);
}

#[test]
fn extracted_results_are_the_last_words() {
    let mut span = work();
    span.push(Happening::Said("  \n".to_owned()));
    assert_eq!(extract_results(&span, 100).as_deref(), Some("parse_date takes limitDays now."));
    assert!(extract_results(&span, 4).is_some_and(|cut| cut.ends_with('…')));
    assert_eq!(extract_results(&span[..5], 100), None);
}

fn text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("src/a/b.rs".to_owned()),
        Just("/home/me/app/src/c.test.ts:12".to_owned()),
        Just("C:\\x\\y.go".to_owned()),
        Just("parseDate".to_owned()),
        Just("https://a.example/x?y=1".to_owned()),
        Just("error: it broke".to_owned()),
        Just("3 passed; 1 failed".to_owned()),
        "[0-9]{1,6}",
        "[a-z]{2,5}_[a-z]{1,5}[0-9]?",
        "\\PC{0,12}",
        Just("\n".to_owned()),
    ];
    proptest::collection::vec(word, 0..40).prop_map(|words| words.join(" "))
}

fn happening() -> impl Strategy<Value = Happening> {
    let action = prop_oneof![
        text().prop_map(Action::Ran),
        text().prop_map(Action::Read),
        proptest::collection::vec(text(), 0..3).prop_map(Action::Wrote),
        Just(Action::Other),
    ];
    let edit = (text(), proptest::option::of(text()), text())
        .prop_map(|(path, before, after)| Edit { path, before, after });
    let edits = proptest::collection::vec(edit, 0..3);
    let ended = (proptest::option::of(-1_i64..3), any::<bool>());
    let call = (text(), text(), ended, action, edits).prop_map(
        |(input, output, (exit, failed), action, edits)| {
            let tool = "tool".to_owned();
            Happening::Called(Call { tool, input, output, exit, failed, action, edits })
        },
    );
    prop_oneof![text().prop_map(Happening::Said), text().prop_map(Happening::Thought), call]
}

/// All that stands in a span, white space as in one line and folders with `/`.
fn all_of(span: &[Happening]) -> String {
    let mut all = String::new();
    let mut add = |text: &str| {
        all.push_str(&text.split_whitespace().collect::<Vec<_>>().join(" "));
        all.push(' ');
        all.push_str(&text.replace('\\', "/").split_whitespace().collect::<Vec<_>>().join(" "));
        all.push(' ');
    };
    for happening in span {
        match happening {
            Happening::Said(text) | Happening::Thought(text) => add(text),
            Happening::Called(call) => {
                add(&call.input);
                add(&call.output);
                match &call.action {
                    Action::Ran(text) | Action::Read(text) => add(text),
                    Action::Wrote(paths) => paths.iter().for_each(|path| add(path)),
                    Action::Other => {}
                }
                for edit in &call.edits {
                    add(&edit.path);
                    add(edit.before.as_deref().unwrap_or_default());
                    add(&edit.after);
                }
            }
        }
    }
    all
}

proptest! {
    #[test]
    fn it_keeps_to_its_budget_whatever_comes(
        span in proptest::collection::vec(happening(), 0..12),
        results in text(),
        budget in 0_usize..400,
    ) {
        let evidence = take(&span, &results, "/home/me/app", all(budget));
        let lines = evidence.lines();
        let cost: usize = lines.iter().map(|line| estimate_tokens(line)).sum();
        prop_assert!(cost <= budget, "{cost} of {budget}: {lines:?}");
        prop_assert_eq!(&evidence, &take(&span, &results, "/home/me/app", all(budget)));
        prop_assert!(lines.iter().all(|line| !line.contains('\n')), "{:?}", lines);
    }

    #[test]
    fn nothing_is_made_up(span in proptest::collection::vec(happening(), 0..12)) {
        let evidence = take(&span, "", "/home/me/app", all(10_000));
        let all = all_of(&span);
        let written = evidence.written.iter().map(|file| &file.path);
        let commands = evidence.commands.iter().map(|run| &run.line);
        let errors = evidence.errors.iter().map(|error| &error.text);
        let told = written
            .chain(&evidence.read)
            .chain(&evidence.named)
            .chain(commands)
            .chain(errors)
            .chain(&evidence.identifiers)
            .chain(&evidence.numbers)
            .chain(&evidence.strings)
            .chain(&evidence.urls)
            .chain(evidence.changes.iter().map(|change| &change.path))
            .chain(evidence.changes.iter().flat_map(|change| &change.why));
        let unquoted = all.replace('`', "'");
        let lines = evidence.changes.iter().flat_map(|change| &change.lines);
        for line in lines {
            let line = line.trim_start_matches(['+', '-']).trim_end_matches(['…', ' ']);
            prop_assert!(unquoted.contains(line), "{line:?} is not in {all:?}");
        }
        for item in told {
            let item = item.trim_end_matches('…').split_whitespace().collect::<Vec<_>>().join(" ");
            prop_assert!(all.contains(&item), "{item:?} is not in {all:?}");
        }
    }
}
