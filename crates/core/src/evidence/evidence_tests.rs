use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;
use crate::transcript::CallState;

pub(super) fn ran(command: &str, output: &str, exit: i64) -> Activity {
    Activity::called(ToolCall {
        tool: "bash".to_owned(),
        input: command.into(),
        output: Some(output.to_owned()),
        exit: Some(exit),
        action: Action::Ran(command.to_owned()),
        ..ToolCall::default()
    })
}

pub(super) fn read(path: &str, output: &str) -> Activity {
    let action = Action::Read(path.to_owned());
    let (input, output) = (path.into(), Some(output.to_owned()));
    Activity::called(ToolCall {
        tool: "read".to_owned(),
        input,
        output,
        action,
        ..ToolCall::default()
    })
}

pub(super) fn edited(path: &str, before: &str, after: &str) -> Activity {
    wrote(Edit {
        path: path.to_owned(),
        before: Some(before.to_owned()),
        after: after.to_owned(),
        ..Edit::default()
    })
}

pub(super) fn wrote(edit: Edit) -> Activity {
    Activity::called(ToolCall {
        tool: "edit".to_owned(),
        input: format!("{}\n{}", edit.path, edit.after).into(),
        action: Action::Wrote(vec![edit.path.clone()]),
        edits: vec![edit],
        ..ToolCall::default()
    })
}

pub(super) fn said(text: &str) -> Activity {
    Activity::Said(text.to_owned())
}

pub(super) fn all(tokens: usize) -> Room {
    Room { all: tokens, reasons: false, files: files::Limits::NONE }
}

pub(super) fn rendered(span: &[Activity], results: &str, budget: usize) -> String {
    take(span, results, "/home/me/app", all(budget), &|_| None).lines().join("\n")
}

fn numbered(text: &str) -> String {
    let lines = text.lines().enumerate().map(|(at, line)| format!("{}\t{line}", at + 1));
    lines.collect::<Vec<_>>().join("\n")
}

const DATE: &str = "use std::io;\n\nfn parse_date(text: &str) -> Date {\n    split(text)\n}\n\nstruct Date {\n    \
                    day: u8,\n}\n";

fn work() -> Vec<Activity> {
    let file = |name: &str| format!("/home/me/app/src/{name}");
    vec![
        read(&file("date.rs"), &numbered(DATE)),
        read(&file("time.rs"), &numbered("fn parse_time() {}\n")),
        ran(
            "cd /home/me/app && cargo test 2>&1 | tail -20; git status",
            "error[E0308]: mismatched types\ntest result: FAILED. 2 passed; 1 failed; 0 ignored",
            0,
        ),
        edited(
            &file("date.rs"),
            "    split(text)\n}\n",
            "    split(text, 9999)\n}\n\nfn limit() {}\n",
        ),
        edited(&file("date.rs"), "    day: u8,\n", ""),
        wrote(Edit {
            path: file("date_tests.rs"),
            after: "#[test]\nfn a_date_is_read() {\n}\n".to_owned(),
            original: Some(String::new()),
            ..Edit::default()
        }),
        ran("cargo test", "test result: ok. 3 passed; 0 failed; 0 ignored", 0),
        ran("./deploy.sh --dry", "curl: (6) error: no such host", 6),
        edited("/home/me/app/notes.txt", "to do", "done with limits"),
        said("parse_date takes limitDays now."),
    ]
}

#[test]
fn a_span_is_described_as_a_colleague_would() {
    assert_snapshot!(rendered(&work(), "", 400), @"
    src/date.rs +3 -2 (now lines 4, 6-7): added `limit`; changed parse_date, Date
    src/date_tests.rs new, 3 lines: added tests a_date_is_read
    notes.txt +1 -1: `+done with limits`
    checks: `cargo test`: 3 passed
    changed after the last check: notes.txt
    failed, and not seen to go well later: `./deploy.sh --dry`: curl: (6) error: no such host
    read whole: src/time.rs
    ");
}

#[test]
fn what_failed_with_one_variable_and_went_well_with_another_is_no_failure() {
    let tried = |path: &str, output: &str, exit| {
        ran(&format!("PYTHONPATH={path} python zones.py"), output, exit)
    };
    let failed = tried("src", "ModuleNotFoundError: no module", 1);
    assert!(rendered(std::slice::from_ref(&failed), "", 400).contains("not seen to go well later"));
    assert!(!rendered(&[failed, tried("src:lib", "fine", 0)], "", 400).contains("not seen"));
}

#[test]
fn what_failed_and_went_well_with_its_output_elsewhere_is_no_failure() {
    let failed = ran("PYTHONPATH=. python scratch/zones.py --all", "ImportError: no name", 1);
    let is_left = |later: &str| {
        let span = [failed.clone(), ran(later, "", 0)];
        rendered(&span, "", 400).contains("not seen to go well later")
    };
    assert!(!is_left("PYTHONPATH=. /venv/bin/python scratch/zones.py --all > zones.txt 2>&1"));
    assert!(!is_left("cd . && python scratch/zones.py --all | head -3; wc -l zones.txt"));
    assert!(is_left("python scratch/zones.py --one > zones.txt"));
    assert!(is_left("cat scratch/zones.py"));
}

#[test]
fn what_is_stored_is_what_was_taken() {
    let end = "<content>\n7: a\n8: b\n\n(End of file - total 8 lines)\n</content>";
    let span = [read("/home/me/app/src/a.rs", end)];
    let evidence = take(&span, "", "/home/me/app", all(400), &|_| None);
    let stored = serde_json::to_string(&evidence).unwrap();
    assert_eq!(serde_json::from_str::<Evidence>(&stored).unwrap(), evidence);
    assert_eq!(evidence.lines(), ["read in part: src/a.rs lines 7-8"]);
}

#[test]
fn where_one_check_is_listed_all_are() {
    let both = ran(
        "pytest -q -k any; pytest -q",
        "16 passed, 221 deselected in 1.0s\n1214 passed in 3.0s",
        0,
    );
    let results = "-k any: 16 passed; the whole suite: 1214 passed";
    let listed = rendered(std::slice::from_ref(&both), results, 400);
    assert!(listed.contains("16 passed, 221 deselected") && listed.contains("1214"), "{listed}");
    assert_eq!(
        rendered(&[both], "16 passed, 221 deselected. Suite: 1214 passed", 400),
        "checks: seen to pass as the results say"
    );
}

#[test]
fn where_one_commit_is_listed_all_are() {
    let commits = [
        ran("git commit -m One", "[main c24c0881] One", 0),
        ran("git commit -m Two", "[main 0123abcd] Two", 0),
    ];
    let listed = rendered(&commits, "the first one is c24c0881", 400);
    assert_eq!(listed, "committed: c24c0881 \"One\"; 0123abcd \"Two\"");
    let listed = rendered(&commits, "c24c0881, then 0123abcd", 400);
    assert!(!listed.contains("committed"), "{listed}");
}

#[test]
fn what_results_say_is_not_said_again() {
    assert_snapshot!(rendered(&work(), "limit is new, cargo test: 3 passed", 400), @"
    src/date.rs +3 -2 (now lines 4, 6-7): added `limit`; changed parse_date, Date
    src/date_tests.rs new, 3 lines: added tests a_date_is_read
    notes.txt +1 -1: `+done with limits`
    checks: seen to pass as the results say
    changed after the last check: notes.txt
    failed, and not seen to go well later: `./deploy.sh --dry`: curl: (6) error: no such host
    read whole: src/time.rs
    ");
}

#[test]
fn the_last_line_of_tests_is_shown_unless_the_results_have_the_same_numbers() {
    let span = [ran("pytest -q", "12 passed in 1.0s", 0)];
    let shows_tests =
        |results: &str| rendered(&span, results, 200) == "checks: `pytest -q`: 12 passed";
    for same in ["pytest: 12 passed.", "(12 passed, as before)", "first 9 passed, then 12 passed"] {
        assert!(!shows_tests(same), "{same}");
    }
    for other in [
        "112 passed",
        "1,012 passed",
        "12 passed, 3 failed",
        "12 passed and 1 skipped",
        "13 passed",
    ] {
        assert!(shows_tests(other), "{other}");
    }
}

#[test]
fn a_small_budget_keeps_what_matters_most() {
    assert_snapshot!(rendered(&work(), "", 90), @"
    notes.txt +1 -1
    and 2 files more changed before those
    checks: `cargo test`: 3 passed
    changed after the last check: notes.txt
    read: 1 file
    ");
    assert_eq!(rendered(&work(), "", 3), "");
}

#[test]
fn a_file_shows_its_ranges_as_they_are_after_all_edits() {
    let file = "/home/me/app/a.py";
    let text = "def one():\n    pass\n\n\ndef two():\n    pass\n";
    let span = [
        read(file, &numbered(text)),
        edited(file, "def two():\n    pass", "def two():\n    return 2"),
        edited(file, "def one():\n    pass\n", "def one():\n    a()\n    b()\n    pass\n"),
    ];
    assert_eq!(
        rendered(&span, "", 200).lines().next(),
        Some("a.py +3 -1 (now lines 2-3, 8): changed `one`, `two`")
    );
    let back = [
        &span[..],
        &[edited(file, "    return 2", "    pass"), edited(file, "    a()\n    b()\n", "")],
    ];
    assert_eq!(rendered(&back.concat(), "", 200), "read whole: a.py");
}

#[test]
fn what_the_file_holds_at_the_end_places_what_nobody_saw_before() {
    let text = "import os\n\n\nclass Table:\n    def row(self):\n        go()\n        return 1\n";
    let span = [edited("/home/me/app/a.py", "        return 2", "        return 1")];
    let taken = take(&span, "", "/home/me/app", all(200), &|path| {
        (path == "a.py").then(|| text.to_owned())
    });
    assert_eq!(taken.lines()[0], "a.py +1 -1 (now line 7): changed Table.row");
    assert_eq!(rendered(&span, "", 200).lines().next(), Some("a.py +1 -1"));
}

#[test]
fn what_was_removed_again_is_not_shown() {
    let new = |path: &str| Edit {
        path: path.to_owned(),
        after: "print(1)\n".to_owned(),
        original: Some(String::new()),
        ..Edit::default()
    };
    let span = [
        wrote(new("/home/me/app/probe.py")),
        ran("python probe.py", "1", 0),
        ran("rm probe.py", "", 0),
        read("/home/me/app/old.py", &numbered("def a():\n    pass\n")),
        edited("/home/me/app/old.py", "pass", "go()"),
        ran("git rm -q old.py", "", 0),
    ];
    assert_eq!(rendered(&span, "", 200), "old.py removed");
}

#[test]
fn a_new_file_stays_new_where_something_else_changed_it_in_between() {
    let path = "/home/me/app/a.go";
    let new = |after: &str, original: &str| {
        let (path, after) = (path.to_owned(), after.to_owned());
        wrote(Edit { path, after, original: Some(original.to_owned()), ..Edit::default() })
    };
    let first = "package a\n\nfunc one() {\n  go()\n}\n";
    let formatted = "package a\n\nfunc one() {\n\tgo()\n}\n";
    let second = "package a\n\nfunc one() {\n\tgo()\n}\n\nfunc two() {\n}\n";
    let span = [
        new(first, ""),
        ran("gofmt -w a.go", "", 0),
        read(path, &numbered(formatted)),
        new(second, formatted),
        ran("go test ./...", "ok  \tx.org/a\t0.1s\nok  \tx.org/b\t0.1s", 0),
    ];
    assert_eq!(
        rendered(&span, "", 200),
        "a.go new, 8 lines: added `one`, `two`\nchecks: `go test ./...`: 2 packages ok"
    );
}

#[test]
fn shifts_of_lines_are_shown_where_their_numbers_stand_further_up() {
    let file = "/home/me/app/a.py";
    let text = "one\ntwo\nthree\nfour\nfive\nsix\n";
    let rendered = |edits: &[(&str, &str)]| {
        let edits = edits.iter().map(|(before, after)| edited(file, before, after));
        let span: Vec<_> = std::iter::once(read(file, &numbered(text))).chain(edits).collect();
        let mut evidence = take(&span, "", "/home/me/app", all(300), &|_| None);
        evidence.renumbered = vec!["a.py".to_owned()];
        evidence
            .lines()
            .into_iter()
            .find(|line| line.starts_with("line numbers"))
            .unwrap_or_default()
    };
    let begin = "line numbers of a.py further up are out of date";
    assert_eq!(rendered(&[("two\n", "two\nnew\nnewer\n")]), format!("{begin}: +2 below line 2"));
    assert_eq!(rendered(&[("one\n", "new\none\n")]), format!("{begin}: +1 from the first line on"));
    assert_eq!(rendered(&[("three", "3")]), "", "a line for a line");
    let several = [("two\n", "two\nnew\nnewer\n"), ("five\n", "")];
    assert_eq!(rendered(&several), begin, "nobody reckons with several");
}

#[test]
fn what_a_thing_is_defined_in_is_not_named_beside_it() {
    let file = "/home/me/app/a.py";
    let text = "class Table:\n    rows = 1\n\n    def row(self):\n        pass\n";
    let span = [
        read(file, &numbered(text)),
        edited(file, "    rows = 1\n", "    rows = 2\n"),
        edited(file, "        pass\n", "        return 1\n"),
    ];
    assert_eq!(
        rendered(&span, "", 200),
        "a.py +2 -2 (now lines 2, 5): changed Table.row\nno known test, build or lint command was run"
    );
    assert_eq!(
        rendered(&span[..2], "", 200).lines().next(),
        Some("a.py +1 -1 (now line 2): changed Table")
    );
}

#[test]
fn a_name_that_is_a_word_is_known_by_its_marks() {
    let span = [
        read("/home/me/app/a.py", "1\tx"),
        edited("/home/me/app/a.py", "x", "def row():\n    pass"),
    ];
    for results in ["The row is new.", "rows, narrow"] {
        assert!(rendered(&span, results, 200).contains("added `row`"), "{results}");
    }
    for results in ["`row` is new", "row() is new", "Table.row is new"] {
        assert!(!rendered(&span, results, 200).contains("added `row`"), "{results}");
    }
}

#[test]
fn files_outside_the_project_are_named_without_what_is_in_them() {
    let new = Edit {
        path: "/tmp/probe.py".to_owned(),
        after: "def probe():\n    pass\n".to_owned(),
        original: Some(String::new()),
        ..Edit::default()
    };
    assert!(rendered(&[wrote(new.clone())], "", 200).starts_with("/tmp/probe.py new, 2 lines\n"));
    // Nor are experiments within it, which no check has to cover.
    let experiment = Edit { path: "scratch/probe.py".to_owned(), ..new };
    let checked = ran("cargo test", "test result: ok. 3 passed; 0 failed;", 0);
    let rendered = rendered(&[checked, wrote(experiment)], "", 200);
    assert!(rendered.starts_with("scratch/probe.py new, 2 lines\n"), "{rendered}");
    assert!(!rendered.contains("after the last check"), "{rendered}");
}

#[test]
fn lines_are_shown_only_where_no_name_can_be_and_never_what_says_nothing() {
    let noise = [
        "# Copyright (C) 2026 the authors",
        "# It is only said here",
        "import os.path",
        "assert (is_a_thing)",
        "\"\"\"Returns a thing of it.",
        "return self.get_asciidoc_string(**kwargs)",
        "{",
    ];
    let rendered = |path: &str, after: &str| {
        let span = [edited(&format!("/home/me/app/{path}"), "", after)];
        rendered(&span, "", 400).lines().next().unwrap_or_default().to_owned()
    };
    for line in noise {
        assert_eq!(rendered("rules.conf", &format!("{line}\n")), "rules.conf +1 -0", "{line}");
    }
    let row = "table.add_row([\"Zoe\", \"apple\", 3])\n";
    assert_eq!(rendered("rules.conf", row), format!("rules.conf +1 -0: `+{}`", row.trim_end()));
    for path in ["a.py", "tests/rows.conf", "rows_test.conf", "fixtures/rows.yml"] {
        assert_eq!(rendered(path, row), format!("{path} +1 -0"));
    }
    let code = format!("{row}def limit():\n    pass\n");
    assert_eq!(rendered("a.py", &code), "a.py +3 -0: added `limit`");
}

#[test]
fn lines_stand_as_they_are_between_more_backticks_than_they_have() {
    let rendered = |after: &str| rendered(&[edited("/home/me/app/NEWS.rst", "", after)], "", 400);
    assert_eq!(
        rendered("* Split at ``semicolon``\n"),
        "NEWS.rst +1 -0: ```+* Split at ``semicolon`` ```"
    );
    assert_eq!(rendered("* Split at `once` only\n"), "NEWS.rst +1 -0: ``+* Split at `once` only``");
}

#[test]
fn a_new_document_is_described_by_its_length_alone() {
    let path = "/home/me/app/docs/intern.md";
    let text = "# Internals of the parser\n\nIt reads.\n\n## Lexer\n\nIt cuts.\n";
    let new = Edit {
        path: path.to_owned(),
        after: text.to_owned(),
        original: Some(String::new()),
        ..Edit::default()
    };
    let first = [wrote(new)];
    assert_eq!(rendered(&first, "", 400), "docs/intern.md new, 7 lines");
    assert_eq!(rendered(&first, "About the Lexer", 400), "docs/intern.md new, 7 lines");
    let more = edited(path, "It cuts.\n", "It cuts.\n\n## Filters\n\nThey change.\n");
    let taken = |span: &[Activity]| take(span, "", "/home/me/app", all(400), &|_| None);
    let both = taken(&first).then(taken(&[more]));
    assert_eq!(both.lines(), ["docs/intern.md new, 11 lines"]);
}

#[test]
fn a_check_of_which_nothing_is_known_is_not_shown() {
    let chain = "python -m compileall -q src | tail -3";
    let span = [ran(chain, "", 0), edited("/home/me/app/a.py", "a", "b"), ran(chain, "", 0)];
    assert_eq!(rendered(&span, "", 400), "a.py +1 -1");
    let taken = take(&span, "", "/home/me/app", all(400), &|_| None);
    assert_eq!(taken.brief(), "");
    let tested = [&[ran("pytest -q", "2 passed in 1.0s", 0)][..], &span].concat();
    let taken = take(&tested, "", "/home/me/app", all(400), &|_| None);
    assert_eq!(taken.brief(), "`pytest -q`: 2 passed");
}

#[test]
fn no_line_of_commands_is_blamed_for_a_part_of_it() {
    let rendered = |command: &str, output: &str, exit: i64| {
        let span = [ran(command, output, exit)];
        let taken = take(&span, "", "/home/me/app", all(400), &|_| None);
        Evidence { remains: Remains::of(&span, "/home/me/app"), ..taken }.lines().join("\n")
    };
    let pytest = "PYTHONPATH=. python -m pytest -q 2>&1 | tail -30";
    let passed = "589 passed in 3.1s\nsh: /opt/tri/bin/ruff: No such file or directory";
    let good = "checks: `PYTHONPATH=. python -m pytest -q`: 589 passed";
    let ruff = |end: &str| format!("{pytest}; (/opt/tri/bin/ruff check . {end})");
    assert_eq!(rendered(&ruff("| tail -5"), passed, 127), good, "nobody knows which part");
    assert_eq!(
        rendered(&ruff(""), passed, 127),
        format!("{good}; `/opt/tri/bin/ruff check .`: failed, exit 127")
    );
    assert_eq!(
        rendered(&format!("{pytest}; make install"), passed, 2),
        format!("{good}\nfailed when run last: `make install` (exit 2)")
    );
    let probe = "cat > /tmp/probe2.py <<'E'\nx\nE\npython /tmp/probe2.py";
    assert_eq!(rendered(probe, "1 failed, 2 passed in 0.1s", 0), "");
    let old = CommandRun { line: "cat > probe.py …".to_owned(), exits: vec![0] };
    let remains = Remains { failing: vec![old], ..Remains::default() };
    assert_eq!(Evidence { remains, ..Evidence::default() }.lines(), [""; 0]);
}

#[test]
fn evidence_of_older_versions_is_read_and_its_lists_of_names_are_not_shown() {
    let old = r#"{"written":[{"path":"a.rs","hash":"1"}],"changes":[{"path":"a.rs","added":2,"removed":1,"lines":["+fn a()"]}],
        "read":["b.rs"],"named":["c.rs"],"commands":[{"line":"make","exits":[2,0]}],"identifiers":["F401"],
        "numbers":["42"],"urls":["https://a.test"],"strings":["x"]}"#;
    let old: Evidence = serde_json::from_str(old).unwrap();
    assert_eq!(
        old.lines(),
        ["a.rs +2 -1: `+fn a()`", "read: b.rs", "commands: `make` (exit 2, then 0)"]
    );
}

#[test]
fn extracted_results_are_the_last_words() {
    let mut span = work();
    span.push(Activity::Said("  \n".to_owned()));
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

fn activity() -> impl Strategy<Value = Activity> {
    let action = prop_oneof![
        text().prop_map(Action::Ran),
        text().prop_map(Action::Read),
        proptest::collection::vec(text(), 0..3).prop_map(Action::Wrote),
        Just(Action::Other),
    ];
    let edit = (text(), proptest::option::of(text()), text())
        .prop_map(|(path, before, after)| Edit { path, before, after, ..Edit::default() });
    let edits = proptest::collection::vec(edit, 0..3);
    let ended = (proptest::option::of(-1_i64..3), any::<bool>());
    let call = (text(), text(), ended, action, edits).prop_map(
        |(input, output, (exit, failed), action, edits)| {
            let state = if failed { CallState::Failed } else { CallState::Completed };
            let (input, output) = (input.into(), Some(output));
            let call = ToolCall::new("call", "tool", state);
            Activity::called(ToolCall { input, output, exit, action, edits, ..call })
        },
    );
    prop_oneof![text().prop_map(Activity::Said), text().prop_map(Activity::Thought), call]
}

/// Returns all text of a span, with white space as in one line and folders with `/`.
fn all_of(span: &[Activity]) -> String {
    let mut all = String::new();
    let mut add = |text: &str| {
        all.push_str(&text.split_whitespace().collect::<Vec<_>>().join(" "));
        all.push(' ');
        all.push_str(&text.replace('\\', "/").split_whitespace().collect::<Vec<_>>().join(" "));
        all.push(' ');
    };
    for activity in span {
        match activity {
            Activity::Said(text) | Activity::Thought(text) => add(text),
            Activity::Called(call) => {
                add(&call.input_text());
                add(call.output_text());
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
        span in proptest::collection::vec(activity(), 0..12),
        results in text(),
        budget in 0_usize..400,
    ) {
        let evidence = take(&span, &results, "/home/me/app", all(budget), &|_| None);
        let lines = evidence.lines();
        let cost: usize = lines.iter().map(|line| estimate_tokens(line)).sum();
        prop_assert!(cost <= budget, "{cost} of {budget}: {lines:?}");
        prop_assert_eq!(&evidence, &take(&span, &results, "/home/me/app", all(budget), &|_| None));
        prop_assert!(lines.iter().all(|line| !line.contains('\n')), "{:?}", lines);
    }

    #[test]
    fn nothing_is_made_up(span in proptest::collection::vec(activity(), 0..12)) {
        let evidence = take(&span, "", "/home/me/app", all(10_000), &|_| None);
        let all = all_of(&span);
        let written = evidence.written.iter().map(|file| &file.path);
        let symbols = evidence.changes.iter().flat_map(|change| &change.symbols);
        let names: Vec<String> =
            symbols.map(|it| super::changes::last_name(&it.name).to_owned()).collect();
        let failures = evidence.failures.iter().map(|failure| &failure.how);
        let items = written
            .chain(evidence.reads.iter().map(|file| &file.path))
            .chain(failures)
            .chain(&names)
            .chain(evidence.changes.iter().map(|change| &change.path))
            .chain(evidence.changes.iter().flat_map(|change| &change.why));
        let lines = evidence.changes.iter().flat_map(|change| &change.lines);
        for line in lines {
            let line = line.trim_start_matches(['+', '-']).trim_end_matches(['…', ' ']);
            prop_assert!(all.contains(line), "{line:?} is not in {all:?}");
        }
        for item in items {
            let item = item.trim_end_matches('…').split_whitespace().collect::<Vec<_>>().join(" ");
            prop_assert!(all.contains(&item), "{item:?} is not in {all:?}");
        }
    }
}

#[test]
fn what_callstack_was_asked_for_is_no_evidence() {
    let failing = |command: &str| ran(command, "error: there is no frame `f9`", 3);
    assert_eq!(rendered(&[failing("callstack show f9")], "", 400), "");
    assert!(rendered(&[failing("deploy show f9")], "", 400).contains("deploy show f9"));
}
