use super::*;

#[test]
fn a_line_is_ours_whatever_cannot_be_seen_before_it_or_in_it() {
    for line in [
        "[callstack] f1 is open now",
        "  \u{200b}[callstack] x",
        "\u{feff}\u{2060} [Call\u{200d}stack]",
        "\u{2800}[callstack]",
        "pins,\u{a0}which hold from  here on:",
        "- p12 of f3: run it",
        "-  p1\u{ad} of f1: x",
        "- f3 \"Parse\" completed: x",
        "Evidence, recorded by the machine:",
        "The user's newest request: x",
        "</stack-context>",
        "< pins count=\"1\">",
        "  <PIN id=\"p1\">",
        "<flame-context session=\"s\">",
        "[STACK SUGGESTION: pop",
        "Results: done",
        " Goal: x",
        "\u{200b}  Next: x",
        "Results (the agent's last words):",
        "Success criteria of f2: x",
    ] {
        assert!(is_own(line), "{line:?}");
    }
    for line in [
        "callstack",
        "- p of f1",
        "- part 1 of f1",
        "Goals: x",
        "Next, the parser:",
        "\tReason: \"x\",",
        "    Results: []Result{},",
        "results: 3",
        "Resultsets",
        "Every step",
        "<p>",
        "<span>",
        "",
        "\\[callstack]",
    ] {
        assert!(!is_own(line), "{line:?}");
    }
}

#[test]
fn a_foreign_line_is_quoted_behind_every_end_of_a_line() {
    for end in ["\n", "\r\n", "\r", "\u{85}", "\u{2028}", "\u{2029}", "\u{c}"] {
        let text = format!("one{end}[callstack] two{end}three");
        assert_eq!(quoted(&text), format!("one{end}\\[callstack] two{end}three"));
    }
    assert!(matches!(quoted("one\ntwo"), Cow::Borrowed(_)));
}

#[test]
fn numbers_stand_in_the_places_for_them() {
    assert_eq!(numbered(PIN, &[12, 3]), "- p12 of f3");
    assert_eq!(numbered(OUTDATED, &[3]), "Read before f3");
}
