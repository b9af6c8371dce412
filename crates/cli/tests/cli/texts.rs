//! Texts that are hostile or far too long.

use super::test_env::{TestEnv, says};

const BREAKING: &str = "]]></title><evil>&\"'";

#[test]
fn text_that_steers_a_terminal_is_shown() {
    let desk = TestEnv::new();
    let evil = "\u{1b}[2J\u{1b}]0;owned\u{7}red\u{9b}31m\r\nback\u{8}\u{202e}txt";
    desk.ok(&["push", evil, "-c", evil]);
    desk.ok(&["decision", evil]);
    desk.ok(&["pin", evil]);
    desk.ok(&["artifact", evil]);
    says!(desk, ["tree"], @r"
    exit 0
    ▶ f1 \u{1b}[2J\u{1b}]0;owned\u{7}red\u{9b}31m\r\nback\u{8}\u{202e}txt  TIME  ← open
    ");
    says!(desk, ["show", "f1"], @r"
    exit 0
    ▶ f1 \u{1b}[2J\u{1b}]0;owned\u{7}red\u{9b}31m\r\nback\u{8}\u{202e}txt
      in progress · begun TIME · session cli

    Files
      \u{1b}[2J\u{1b}]0;owned\u{7}red\u{9b}31m\r\nback\u{8}\u{202e}txt

    Decisions
      - \u{1b}[2J\u{1b}]0;owned\u{7}red\u{9b}31m
      back\u{8}\u{202e}txt

    Pins
      p1 \u{1b}[2J\u{1b}]0;owned\u{7}red\u{9b}31m
      back\u{8}\u{202e}txt

    `callstack log f1` for what was said
    ");
    for args in [
        &["tree"][..],
        &["tree", "--json"],
        &["status"],
        &["status", "--json"],
        &["show", "f1"],
        &["show", "f1", "--json"],
        &["context"],
        &["context", "--json"],
        &["pop", "f1", "-r", evil],
        &["activate", "f1"],
        &["show", evil],
        &["--json", "show", evil],
        &["tree", "--session", evil],
        &[evil],
        &["pop", evil],
        &["log", "f1"],
    ] {
        let said = desk.run(args);
        let shown = format!("{}{}", said.stdout, said.stderr);
        let raw = shown.chars().find(|it| it.is_control() && *it != '\n' || *it == '\u{202e}');
        assert_eq!(raw, None, "{args:?}: {shown:?}");
    }
    desk.ok(&["export", "-o", "tree.json"]);
    desk.ok(&["export", "--format", "markdown", "-o", "tree.md"]);
    desk.ok(&["report", "-o", "report.html"]);
    let files = [
        ".callstack/callstack.log",
        ".callstack/logs/f1.md",
        "tree.json",
        "tree.md",
        "report.html",
    ];
    let state = ".opencode/stack/state.json";
    for file in files.into_iter().chain(desk.project().join(state).exists().then_some(state)) {
        let text = std::fs::read_to_string(desk.project().join(file)).unwrap();
        assert!(text.contains("back"), "{file} holds it");
        let steers = |it: &char| it.is_control() && *it != '\n' || *it == '\u{202e}';
        assert_eq!(text.chars().find(steers), None, "{file}: {text:?}");
    }
    let kept = desk.json(&["show", "f1"]);
    assert_eq!(kept["successCriteria"], evil, "what is kept is what was given");
    assert_eq!(kept["results"], evil);
    desk.is_whole(&["f1"]);
}

#[test]
fn a_secret_in_the_line_after_its_name_is_masked_in_markdown() {
    let desk = TestEnv::new();
    let secret = ["Ml2a8Bq7", "Zx4Kp9Wd"].concat();
    desk.ok(&["push", "Deploy", "-c", &format!("password:\n  {secret}")]);
    let markdown = desk.ok(&["export", "--format", "markdown"]);
    assert!(markdown.contains("password") && !markdown.contains(&secret), "{markdown}");
    assert!(desk.ok(&["export", "--format", "markdown", "--reveal"]).contains(&secret));
}

#[test]
fn text_that_would_break_out_of_the_xml_stays_inside() {
    let desk = TestEnv::new();
    desk.ok(&["push", BREAKING, "-c", BREAKING]);
    desk.ok(&["pin", BREAKING]);
    desk.ok(&["push", BREAKING, "-c", BREAKING]);
    desk.ok(&["pop", "-r", BREAKING]);
    desk.ok(&["plan", BREAKING, "-c", BREAKING]);
    let xml = desk.ok(&["context"]);
    assert!(!xml.contains("<evil>") && !xml.contains("]]>"), "{xml}");
    assert!(xml.contains("&lt;evil&gt;"), "{xml}");
    assert_eq!(desk.json(&["show", "f1"])["title"], BREAKING);
    assert!(desk.ok(&["tree"]).contains(BREAKING));
    desk.is_whole(&["f1", "f2", "f3"]);
}

#[test]
fn ten_megabytes_are_refused_and_nothing_is_lost() {
    let desk = TestEnv::new();
    desk.ok(&["push", "Root", "-c", "x"]);
    let before = desk.json(&["tree"]);
    let long = vec![b'x'; 10_000_000];
    says!(output: desk, desk.run_with(&["pop", "-r", "-"], &long), @r#"
    exit 5
    --- stderr
    error: `results` is 10000000 bytes long, and the limit is 262144
    hint: Nothing was changed. Put the text into a file, record that with `callstack artifact`, and give its essence here.
    "#);
    says!(output: desk, desk.run_with(&["push", "Child", "-c", "-"], &long), @r#"
    exit 5
    --- stderr
    error: `successCriteria` is 10000000 bytes long, and the limit is 262144
    hint: Nothing was changed. Put the text into a file, record that with `callstack artifact`, and give its essence here.
    "#);
    for args in [&["decision", "-"][..], &["pin", "-"]] {
        assert_eq!(desk.run_with(args, &long).code, 5, "{args:?}");
    }
    assert_eq!(desk.json(&["tree"]), before);
    assert!(desk.database().metadata().unwrap().len() < 1_000_000);
    let most = vec![b'x'; 256 * 1024];
    let said = desk.run_with(&["pop", "-r", "-"], &most);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(desk.json(&["show", "f1"])["results"].as_str().unwrap().len(), most.len());
    desk.is_whole(&["f1"]);
}
