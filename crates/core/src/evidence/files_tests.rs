//! Content of files that stays.

use proptest::prelude::*;

use super::*;

const WIDE: Limits = Limits { passages: 10_000, outlines: 10_000, heads: 10_000 };

fn edit(path: &str, before: Option<&str>, after: &str) -> Activity {
    let edit = Edit {
        path: path.to_owned(),
        before: before.map(str::to_owned),
        after: after.to_owned(),
        ..Edit::default()
    };
    let (tool, action) = ("edit".to_owned(), Action::Wrote(vec![path.to_owned()]));
    Activity::called(ToolCall { tool, action, edits: vec![edit], ..ToolCall::default() })
}

fn read(path: &str, output: &str) -> Activity {
    let (tool, action) = ("read".to_owned(), Action::Read(path.to_owned()));
    Activity::called(ToolCall {
        tool,
        action,
        output: Some(output.to_owned()),
        ..ToolCall::default()
    })
}

fn ran(command: &str) -> Activity {
    let (tool, action) = ("bash".to_owned(), Action::Ran(command.to_owned()));
    Activity::called(ToolCall { tool, action, exit: Some(0), ..ToolCall::default() })
}

fn texts(kept: &KeptFiles) -> Vec<(&str, &str)> {
    kept.passages.iter().map(|it| (it.path.as_str(), it.text.as_str())).collect()
}

#[test]
fn a_text_is_followed_through_changes_of_it() {
    let span = [
        edit("a.rs", Some("fn one() {}"), "fn one() {\n    two();\n}"),
        edit("b.rs", None, "mod a;\n"),
        edit("a.rs", Some("    two();"), "    three();"),
        edit("a.rs", Some("use x;"), "use y;"),
        edit("b.rs", Some("mod a;"), "mod a;\nmod c;"),
        edit("a.rs", Some("use w;\nuse y;"), ""),
    ];
    let kept = kept(&span, "", WIDE);
    assert_eq!(
        texts(&kept),
        [("a.rs", "fn one() {\n    three();\n}"), ("b.rs", "mod a;\nmod c;\n")]
    );
    assert!(kept.changed_last);
}

#[test]
fn experiments_do_not_stay() {
    let span = [
        edit("/home/me/app/scratch/probe.py", None, "import app\n"),
        edit("/home/me/app/app.py", None, "import os\n"),
        edit("scratch/other.py", None, "import app\n"),
    ];
    assert_eq!(texts(&kept(&span, "/home/me/app", WIDE)), [("/home/me/app/app.py", "import os\n")]);
}

#[test]
fn what_was_removed_or_failed_or_has_a_secret_does_not_stay() {
    let mut failed = edit("a.rs", Some("x"), "fn not_there() {}");
    if let Activity::Called(call) = &mut failed {
        call.state = crate::transcript::CallState::Failed;
    }
    let secret = format!("let key = \"sk-ant-{}\";", "api03-Zx81Qw9Er2Ty3Ui4Op5As6Df7Gh8Jk9");
    let span = [
        failed,
        edit("gone.rs", None, "fn gone() {}"),
        ran("rm gone.rs"),
        edit("key.rs", Some("x"), &secret),
        edit("line\nbreak.rs", Some("x"), "fn odd() {}"),
    ];
    assert!(kept(&span, "", WIDE).passages.is_empty());
}

#[test]
fn a_file_that_was_only_read_leaves_its_definitions() {
    let output = "<file>\n00010| use x;\n00011| fn one() {\n00012| }\n00013| struct Two;\n</file>";
    let span = [
        read("a.rs", "1: fn old() {\n"),
        read("a.rs", output),
        read("b.rs", "1: fn changed() {\n"),
        edit("b.rs", Some("x"), "y"),
        read("without_numbers.rs", "fn nowhere() {\n"),
        read("empty.rs", ""),
    ];
    let kept = kept(&span, "", WIDE);
    let outline = FileOutline {
        path: "a.rs".to_owned(),
        lines: (10, 13),
        definitions: vec!["11: fn one()".to_owned(), "13: struct Two;".to_owned()],
    };
    assert_eq!(kept.outlines, [outline]);
}

#[test]
fn many_files_leave_fewer_lines_and_then_fewer_files() {
    let file: Vec<String> = (1..60).map(|line| format!("{line}: fn number_{line}() {{")).collect();
    let file = file.join("\n");
    let span: Vec<_> =
        (0..6).map(|file_number| read(&format!("f{file_number}.rs"), &file)).collect();
    let lines = |outlines: usize| -> Vec<usize> {
        let kept = kept(&span, "", Limits { outlines, ..Limits::NONE });
        assert!(kept.outlines.iter().map(cost).sum::<usize>() <= outlines);
        assert!(kept.outlines.last().is_none_or(|last| last.path == "f5.rs"));
        kept.outlines.iter().map(|it| it.definitions.len()).collect()
    };
    assert_eq!(lines(10_000), [LINES; 6]);
    assert_eq!(lines(1_500), [20; 6]);
    assert_eq!(lines(600), [5; 6]);
    assert_eq!(lines(150), [5; 2]);
    assert!(lines(10).is_empty());
}

fn heads_of(span: &[Activity], limits: Limits) -> Vec<(String, String)> {
    kept(span, "", limits).heads.into_iter().map(|it| (it.path, it.text)).collect()
}

fn pair(path: &str, text: &str) -> (String, String) {
    (path.to_owned(), text.to_owned())
}

#[test]
fn files_leave_their_first_lines_as_they_stand() {
    let title = "1: # Files\n2: \n3: How they are read.\n4: One by one.\n5: \n6: ## More\n";
    let span = [
        read(
            "a.go",
            "     1→package a\n     2→\n     3→import (\n     4→\t\"os\"\n     5→)\n     6→\n     7→func A() {",
        ),
        read(
            "b.py",
            "<content>\n1: import os\n2: if os:\n3:     import re\n4: \n5: X = 1\n6: def b():\n</content>",
        ),
        read("c.md", title),
        read("from_the_middle.rs", "7: use x;\n8: fn c() {\n"),
        read("without_numbers.rs", "use x;\nfn d() {\n"),
        read("data.json", "1: {\n2: }\n"),
        edit("e.rs", None, "use x;\nuse y;\n\n//! Not here.\n\nfn e() {\n    x()\n}\n"),
    ];
    let heads = heads_of(&span, Limits { heads: 10_000, ..Limits::NONE });
    assert_eq!(
        heads,
        [
            pair("a.go", "package a\n\nimport (\n\t\"os\"\n)"),
            pair("b.py", "import os\nif os:\n    import re\n\nX = 1"),
            pair("c.md", "# Files\n\nHow they are read.\nOne by one."),
            pair("e.rs", "use x;\nuse y;\n\n//! Not here."),
        ]
    );
    assert_eq!(heads_of(&span, WIDE).len(), 3, "the text of e.rs stays as a whole");
    let last = heads_of(&span, Limits { heads: 30, ..Limits::NONE });
    assert_eq!(last, heads[3..], "those that were shown last stay");
}

#[test]
fn first_lines_go_on_with_changes_in_them_and_leave_where_they_are_not_known() {
    let limits = Limits { heads: 10_000, ..Limits::NONE };
    let whole = "use a;\nuse b;\n\nfn one() {\n}\n";
    let after = |before: &str, text: &str| {
        let span = [edit("a.rs", None, whole), edit("a.rs", Some(before), text)];
        heads_of(&span, limits).pop().map(|(_, text)| text)
    };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(after("use b;", "use b;\nuse c;"), text("use a;\nuse b;\nuse c;\n\nfn one() {\n}"));
    assert_eq!(after("fn two", "fn three"), text(whole.trim_end()));
    assert_eq!(after("}\nfn two() {}", "}"), None, "it ends with what was replaced");
    assert_eq!(after("\nfn two() {}", ""), text(whole.trim_end()));
    assert_eq!(after(&format!("{whole}fn two() {{}}"), ""), None);
    let gone = [edit("a.rs", None, whole), ran("rm a.rs")];
    assert!(heads_of(&gone, limits).is_empty());
}

#[test]
fn a_change_is_recent_among_the_last_calls() {
    let changed = |after: usize| {
        let mut span = vec![edit("a.rs", Some("x"), "y")];
        span.extend((0..after).map(|_| ran("make")));
        kept(&span, "", WIDE).changed_last
    };
    assert!(changed(LAST - 1) && !changed(LAST));
    assert!(!kept(&[edit("a.rs", Some("x"), "y")], "", Limits::NONE).changed_last);
}

proptest! {
    /// Files of a few different lines, changed by edits that quote the lines there: what is kept stands in the file
    /// at the end, and no text is kept twice.
    #[test]
    fn what_is_kept_of_a_file_stands_in_it(
        lines in proptest::collection::vec(0_u8..40, 3..12),
        edits in proptest::collection::vec((0_usize..12, 1_usize..4, proptest::collection::vec(0_u8..40, 0..4)), 0..12),
        room in prop_oneof![0_usize..400, Just(400)],
    ) {
        let text = |lines: &[u8]| -> String {
            let lines: Vec<String> = lines.iter().map(|line| format!("line_{line:02}_of_it")).collect();
            if lines.is_empty() { String::new() } else { lines.join("\n") + "\n" }
        };
        let mut file = text(&lines);
        let mut span = Vec::new();
        for (at, count, new) in edits {
            let before: String = file.split_inclusive('\n').skip(at).take(count).collect();
            // An edit must say enough to be found once.
            if before.is_empty() || file.matches(&before).count() != 1 {
                continue;
            }
            span.push(edit("f.rs", Some(&before), &text(&new)));
            file = file.replacen(&before, &text(&new), 1);
        }
        let kept = kept(&span, "", Limits { passages: room, ..Limits::NONE });
        let cost: usize = kept.passages.iter().map(|it| estimate_tokens(&it.text)).sum();
        prop_assert!(cost <= room);
        for passage in &kept.passages {
            prop_assert!(file.contains(&passage.text), "{:?} in {:?}", passage.text, file);
        }
        let mut written = vec![edit("f.rs", None, &text(&lines))];
        written.extend(span.iter().cloned());
        for (_, head) in heads_of(&written, Limits { heads: room, ..Limits::NONE }) {
            prop_assert!(file.starts_with(&head), "{head:?} in {file:?}");
        }
        if room == 400 && let Some(call) = span.last().and_then(Activity::call) {
            let last = &call.edits[0].after;
            let stays = kept.passages.iter().any(|it| it.text.contains(last.as_str()));
            prop_assert!(stays || last.is_empty());
        }
    }
}
