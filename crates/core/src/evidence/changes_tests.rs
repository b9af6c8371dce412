use super::super::{Action, Call};
use super::*;

fn wrote(path: &str, edits: &[(Option<&str>, &str)]) -> Happening {
    let edit = |(before, after): &(Option<&str>, &str)| Edit {
        path: path.to_owned(),
        before: before.map(str::to_owned),
        after: (*after).to_owned(),
    };
    Happening::Called(Call {
        tool: "edit".to_owned(),
        action: Action::Wrote(vec![path.to_owned()]),
        edits: edits.iter().map(edit).collect(),
        ..Call::default()
    })
}

fn said(text: &str) -> Happening {
    Happening::Said(text.to_owned())
}

fn told(span: &[Happening], budget: usize) -> String {
    lines(&changes(span, "/app", budget)).join("\n")
}

#[test]
fn what_was_declared_put_in_and_taken_out_and_why() {
    let span = [
        said("Let me look."),
        Happening::Thought("Nobody reads this, for something is said behind it.".to_owned()),
        said("Days need a limit, else a year of them is read:"),
        wrote(
            "/app/src/limits.rs",
            &[
                (
                    Some("use a;\nfn old() {\n}\n"),
                    "use a;\npub fn limit(days: u32) -> u32 {\n    days.min(31)\n}\n",
                ),
                (Some("    go();\n"), "    if is_late(now) {\n        go();\n    }\n"),
            ],
        ),
        Happening::Thought("The list needs it, too.".to_owned()),
        wrote("/app/src/list.rs", &[(Some("    show(all);\n"), "")]),
    ];
    insta::assert_snapshot!(told(&span, 200), @r"
    changed limits.rs (+4 -1): `+pub fn limit(days: u32) -> u32`; `-fn old()`; `+if is_late(now)`; why: Days need a limit, else a year of them is read
    changed list.rs (+0 -1): `-show(all);`; why: The list needs it, too.
    ");
}

#[test]
fn a_file_that_is_written_anew_and_what_did_not_last() {
    let span = [
        wrote("a.py", &[(Some(""), "def draft(text):\n    pass\n")]),
        wrote("a.py", &[(None, "import os\n\ndef last(text):\n    return text.strip()\n")]),
        wrote("a.py", &[(Some("    return text.strip()\n"), "    return os.fspath(text)\n")]),
        wrote("b.py", &[(Some(""), "value = compute(1)\n")]),
        wrote("b.py", &[(Some("value = compute(1)\n"), "")]),
    ];
    insta::assert_snapshot!(told(&span, 200), @r"
    changed a.py (+4 -0): `+def last(text):`; `+return os.fspath(text)`
    ");
}

#[test]
fn files_of_one_name_are_told_by_their_paths() {
    let span = [
        wrote("a/mod.rs", &[(Some(""), "fn a() {}")]),
        wrote("b/mod.rs", &[(Some(""), "fn b() {}")]),
    ];
    let told = told(&span, 200);
    assert!(told.contains("changed a/mod.rs (") && told.contains("changed b/mod.rs ("), "{told}");
}

#[test]
fn with_less_room_less_is_told_of_each_and_then_of_fewer() {
    let edit = "fn one() {}\nfn two() {}\nfn three() {}\nfn four() {}\n";
    let span: Vec<Happening> =
        (0..4).map(|at| wrote(&format!("file{at}.rs"), &[(Some(""), edit)])).collect();
    let whole = changes(&span, "/app", 1_000);
    assert!(whole.len() == 4 && whole.iter().all(|change| change.lines.len() == 4), "{whole:?}");
    let less = changes(&span, "/app", cost(&whole) - 1);
    assert!(less.len() == 4 && less.iter().all(|change| change.lines.len() == 3), "{less:?}");
    let least = changes(&span, "/app", 25);
    let paths: Vec<_> = least.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(paths, ["file2.rs", "file3.rs"], "those that were changed last");
    assert_eq!(changes(&span, "/app", 0), []);
}

#[test]
fn what_failed_changed_nothing() {
    let Happening::Called(mut call) = wrote("a.rs", &[(Some(""), "fn a() {}")]) else { panic!() };
    call.failed = true;
    assert_eq!(changes(&[Happening::Called(call)], "/app", 200), []);
}

#[test]
fn declarations_of_many_languages_are_told_from_prose_and_calls() {
    for line in [
        "pub(crate) async fn read(path: &Path) -> Result<String> {",
        "func (s *Store) Open(path string) error {",
        "    def parse(self, text):",
        "export default class Page extends Base {",
        "export const load = async (id) => {",
        "    private static void run(String[] args) {",
        "impl Display for Day {",
        "interface Options {",
        "test(\"it opens\", async () => {",
        "CREATE TABLE days (",
    ] {
        assert!(is_declaration(line), "{line}");
    }
    for line in ["return fn(x)", "fn", "const limit = 3;", "// type of it", "go(private)", "", "}"]
    {
        assert!(!is_declaration(line), "{line}");
    }
}

#[test]
fn lines_with_secrets_are_those_that_have_a_part_of_one() {
    let value = ["hunter", "2", "hunter"].concat();
    let key = ["-----BEGIN PRIV", "ATE KEY-----\n", &"k8Yv3U".repeat(10), "\n"].concat();
    let end = ["-----END PRIV", "ATE KEY-----"].concat();
    let text = format!(
        "first\nA_TOKEN={value} B_TOKEN={value}\n\nmidst\n{key}{end}\nlast\nC_TOKEN={value}"
    );
    let found: Vec<_> = lines_with_secrets(&text).collect();
    let (first, last) = (format!("A_TOKEN={value} B_TOKEN={value}"), format!("C_TOKEN={value}"));
    let of_key: Vec<_> = key.lines().chain([end.as_str()]).collect();
    assert_eq!(found, [&[first.as_str()], of_key.as_slice(), &[last.as_str()]].concat());
    let many = format!("{}{}", format!("A_TOKEN={value}\n").repeat(30_000), "\n".repeat(1_000_000));
    assert_eq!(lines_with_secrets(&many).count(), 30_000);
}
