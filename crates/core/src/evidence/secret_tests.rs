use serde_json::json;

use super::*;
use crate::framing::{identity_of, identity_of_goal, identity_of_item};
use crate::results::dense;
use crate::secrets::fakes::{fakes, named, placed};
use crate::secrets::mask;

/// The fewest letters and digits in a row by which a piece of a secret is recognized.
const PIECE: usize = 10;

/// Pieces of a secret that nothing else has in it.
fn pieces(secret: &str) -> Vec<String> {
    let runs = secret.lines().filter(|line| !line.starts_with('-'));
    let runs = runs.flat_map(|line| line.split(|char: char| !char.is_ascii_alphanumeric()));
    runs.flat_map(|run| {
        let ends = PIECE..=run.len();
        ends.map(|end| run[end - PIECE..end].to_owned())
    })
    .collect()
}

/// Each known form of a secret in a text.
fn all() -> Vec<(String, String)> {
    let tokens = fakes().into_iter().map(|(_, fake)| (fake.clone(), format!("use {fake}")));
    let named = named().into_iter().flat_map(|(secret, text)| {
        let file = format!("cat > app.yml <<EOF\n{text}\nEOF");
        [(secret.clone(), text), (secret, file)]
    });
    let placed = placed().into_iter().map(|(_, secret, text)| (secret, text));
    tokens.chain(named).chain(placed).collect()
}

fn ran(command: &str, output: &str) -> Activity {
    Activity::called(ToolCall {
        tool: "bash".to_owned(),
        input: command.into(),
        output: Some(output.to_owned()),
        exit: Some(1),
        action: Action::Ran(command.to_owned()),
        ..ToolCall::default()
    })
}

fn failed(command: &str, output: &str) -> Activity {
    let Activity::Called(call) = ran(command, output) else { unreachable!() };
    Activity::called(ToolCall { exit: Some(1), ..*call })
}

fn wrote(path: &str, before: Option<&str>, after: &str) -> Activity {
    let before = before.map(str::to_owned);
    let edit = Edit { path: path.to_owned(), before, after: after.to_owned(), ..Edit::default() };
    Activity::called(ToolCall {
        tool: "write".to_owned(),
        input: format!("{path}\n{after}").into(),
        action: Action::Wrote(vec![path.to_owned()]),
        edits: vec![edit],
        ..ToolCall::default()
    })
}

/// Returns all evidence of a span, in any shape.
fn rendered(span: &[Activity]) -> String {
    let room = Room { all: 20_000, reasons: true, files: files::Limits::NONE };
    let taken = take(span, "", "", room, &|_| None);
    let evidence = Evidence { remains: Remains::of(span, ""), ..taken };
    format!("{}\n{}\n{}", json!(evidence), evidence.lines().join("\n"), evidence.brief())
}

#[track_caller]
fn has_none(text: &str, secret: &str, of: &str) {
    for piece in pieces(secret) {
        assert!(!text.contains(&piece), "{piece} of {of:?} in {text}");
    }
}

#[test]
fn no_secret_is_shown_whatever_it_stands_in() {
    for (secret, text) in all() {
        let with_end = format!("make\n{text}\n");
        for span in [
            vec![ran(&text, "done")],
            vec![ran(&with_end, "done"), ran("make", "")],
            vec![ran("make build", &text)],
            vec![ran("make build", &format!("error: it fails\n{with_end}"))],
            vec![wrote("a.txt", None, &with_end)],
            vec![wrote("a.txt", Some(&with_end), "let limit = 12;\n")],
            vec![Activity::Said(with_end.clone()), wrote("b.txt", None, "limit = 12")],
            vec![Activity::Thought(text.clone()), wrote("b.txt", None, "limit = 12")],
        ] {
            has_none(&rendered(&span), &secret, &text);
        }
    }
}

fn appears_nowhere(text: &str, secret: &str) {
    // Some are known only where they begin a line.
    let is_known = |text: &str| text.contains('\n') || !mask(text).contains(secret);
    let failing = format!("make test {text}");
    let output = format!("error: {text}");
    if is_known(&failing) && is_known(&output) {
        has_none(&rendered(&[ran(&failing, &output)]), secret, text);
    }
    let words = format!("It is done. {text}\n{}", "word ".repeat(400));
    if !is_known(text) || mask(&words).contains(secret) {
        return;
    }
    let results = extract_results(&[Activity::Said(words.clone())], RESULTS_TOKENS);
    has_none(&results.unwrap(), secret, text);
    has_none(&dense(&words), secret, text);
    let identity = identity_of(&words);
    has_none(&identity.title, secret, text);
    has_none(&identity.success_criteria_compacted, secret, text);
    has_none(&json!(OpenItems::at_the_end(&[words])).to_string(), secret, text);
}

#[test]
fn no_part_of_a_secret_is_shown_where_a_text_is_cut() {
    let long = "aB3xY9".repeat(70);
    let cut = [
        (long.clone(), format!("DB_PASSWORD={long} ./run")),
        (long.clone(), format!("curl -H 'Authorization: Bearer {long}'")),
    ];
    for (secret, text) in all().into_iter().chain(cut) {
        for before in (0..300).step_by(120) {
            let before = "w".repeat(before);
            appears_nowhere(&format!("{before} {text} and so on"), &secret);
            let in_lines = format!("{before}\n{text}\nand so on");
            assert!(!mask(&in_lines).contains(&secret), "{in_lines}");
            appears_nowhere(&in_lines, &secret);
        }
        let title = identity_of(&text).title;
        has_none(&title, &secret, &text);
        let far = format!("{}{text}\n{}", "word ".repeat(2_398), "word ".repeat(1_000));
        has_none(&rendered(&[ran("ls", &far)]), &secret, "an output that is searched in part");
    }
}

#[test]
fn a_short_text_that_is_taken_has_no_secret() {
    for (secret, text) in all() {
        if mask(&format!("Done: {text} is set.")).contains(&secret) {
            continue;
        }
        let words = format!("Done: {text} is set.");
        let results = extract_results(&[Activity::Said(words.clone())], RESULTS_TOKENS).unwrap();
        has_none(&results, &secret, &text);
        has_none(&json!(identity_of(&words)).to_string(), &secret, &text);
        has_none(&json!(identity_of_item(&words)).to_string(), &secret, &text);
    }
    let (secret, _) = &named()[0];
    let words = format!("Done: DB_PASSWORD={secret} is set.");
    let results = extract_results(&[Activity::Said(words.clone())], RESULTS_TOKENS).unwrap();
    assert_eq!(results, "Done: DB_PASSWORD=‹masked: password› is set.");
    assert_eq!(identity_of(&words).success_criteria, results);
    // A request is kept as it was given, but texts that are made from it are masked.
    let goal = identity_of_goal(&words);
    assert_eq!(goal.success_criteria, words);
    assert_eq!(goal.success_criteria_compacted, results);
}

#[test]
fn what_stands_around_a_secret_is_shown() {
    let (secret, _) = &named()[0];
    let span = [
        failed(&format!("DB_PASSWORD={secret} ./run --max_days 40"), "error: no limit_days"),
        wrote("a.env", None, &format!("DAYS_TO_KEEP = make(4)\nDB_PASSWORD={secret}\n")),
    ];
    let rendered = rendered(&span);
    for part in ["`DB_PASSWORD=‹masked: password› ./run --max_days 40`", "max_days", "DAYS_TO_KEEP"]
    {
        assert!(rendered.contains(part), "{part} in {rendered}");
    }
}

#[test]
fn a_secret_that_was_replaced_counts_as_a_change() {
    let (secret, _) = &named()[0];
    let old = format!("DB_PASSWORD={secret}1\n");
    let new = format!("DB_PASSWORD={secret}2\n");
    let room = Room { all: 2_000, reasons: true, files: files::Limits::NONE };
    let evidence = take(&[wrote("a.env", Some(&old), &new)], "", "", room, &|_| None);
    assert_eq!(evidence.lines()[0], "a.env +1 -1");
}
