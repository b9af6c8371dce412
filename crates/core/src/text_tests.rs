use super::*;

const PROSE: &str =
    "The tokenizer splits words at white space and marks, then merges pairs of bytes.";

#[test]
fn what_fits_stays_as_it_is() {
    assert!(
        matches!(truncate_to_token_budget(PROSE, 100, CUT), Cow::Borrowed(text) if text == PROSE)
    );
}

#[test]
fn cut_between_words_with_the_indicator_counted() {
    let cut = truncate_to_token_budget(PROSE, 8, CUT);
    assert_eq!(cut, "The tokenizer splits words at white …");
    assert!(estimate_tokens(&cut) <= 8);
}

#[test]
fn a_word_longer_than_the_budget_is_cut_between_characters() {
    let word = "界".repeat(1000);
    let cut = truncate_to_token_budget(&word, 20, CUT);
    let kept = cut.strip_suffix(CUT).unwrap_or_default();
    assert!(word.starts_with(kept) && kept.chars().count() > 20, "{cut}");
    assert!(estimate_tokens(&cut) <= 20);
    assert!(truncate_to_token_budget(&"y".repeat(1_000_000), 100, CUT).len() > 150);
    let mixed = format!("short {}", "aB3".repeat(1000));
    assert!(truncate_to_token_budget(&mixed, 50, CUT).len() > 40);
}

#[test]
fn no_room_is_no_text() {
    assert_eq!(truncate_to_token_budget(PROSE, 0, CUT), "");
    assert_eq!(truncate_to_token_budget(PROSE, 2, " [rest left out, see the log]"), "The");
}

#[test]
fn durations() {
    let shown: Vec<_> = [-5, 0, 950, 12_000, 60_000, 200_000, 7_500_000, 7_200_000, 273_600_000]
        .into_iter()
        .map(format_duration)
        .collect();
    assert_eq!(shown, ["0ms", "0ms", "950ms", "12s", "1m", "3m 20s", "2h 5m", "2h", "3d 4h"]);
}

#[test]
fn titles_from_first_words() {
    let cases = [
        ("Please fix the login bug in auth.ts, it crashes", "Please fix the login bug"),
        ("# Heading\n\n**Bold** `code` text", "Heading Bold code text"),
        ("<b>Add</b> x < y   check\r\nnow", "Add x y check now"),
        ("...", ""),
        ("", ""),
        ("go", "go"),
        ("Tokens!", "Tokens"),
        ("修复解析器里的错误", "修复解析器里的错误"),
        ("a\u{1b}[31mb c", "a[31mb c"),
    ];
    for (words, title) in cases {
        assert_eq!(first_words(words, 5), title, "{words:?}");
    }
    assert_eq!(first_words("one two three four five six", 9), "one two three four five");
    assert_eq!(first_words("one two three", 0), "one two");
    assert!(first_words(&"界".repeat(10_000), 5).chars().count() <= TITLE_CHARS);
}

#[test]
fn titles_from_first_sentences() {
    let cases = [
        ("Fix the parser of dates, please, it fails", "Fix the parser of dates, please, it fails"),
        ("Fix it. Then test it.", "Fix it"),
        ("Does `main.rs` build with v1.2? It did.", "Does main.rs build with v1.2?"),
        (
            "Read src/*.rs, e.g. lib.rs, i.e. all of it. Go",
            "Read src/*.rs, e.g. lib.rs, i.e. all of it",
        ),
        ("Sort names, dates etc. by age. Now", "Sort names, dates etc. by age"),
        ("Sort names etc. Then stop", "Sort names etc"),
        ("Stop! Now.", "Stop!"),
        ("Well... do it", "Well... do it"),
        ("What is a != b?", "What is a != b?"),
        ("Add dates\nand times", "Add dates"),
        ("\n---\n# **Add dates**:\n- read them", "Add dates"),
        ("1. Read it\n2. Write it", "Read it"),
        ("| Read it | Write it |", "Read it Write it"),
        ("- [ ] Tidy **all of it**, _now_", "Tidy all of it, now"),
        ("Say \"done.\" Then go.", "Say \"done.\""),
        ("\"Add dates. Then test it\"\n", "Add dates"),
        (").\rx", "). x"),
        ("\"a.rs\" and \"b.rs\"", "\"a.rs\" and \"b.rs\""),
        ("<b>Add</b> x < y   check\tnow", "Add x < y check now"),
        ("Use __init__.py and a_b", "Use __init__.py and a_b"),
        ("修复解析器里的错误。然后测试", "修复解析器里的错误"),
        ("a\u{1b}[31mb c", "a[31mb c"),
        ("...", ""),
        ("", ""),
    ];
    for (words, title) in cases {
        assert_eq!(first_sentence(words), title, "{words:?}");
    }
    let long = "word ".repeat(60);
    assert_eq!(first_sentence(&long), format!("{}…", "word ".repeat(24).trim_end()));
    assert_eq!(first_sentence(&"界".repeat(10_000)).chars().count(), 120);
    let password = ["DB_PASSWORD=hun", "ter2hunter2"].concat();
    assert!(!first_sentence(&format!("Use {password} there. Go")).contains("hunter2"));
}

proptest::proptest! {
    #[test]
    fn a_first_sentence_is_one_short_line(text in "[\\PC\\n\\r\\x1b]{0,400}|([a-z]{1,9}[ .?!*_`\n-]{1,2}){0,60}") {
        let title = first_sentence(&text);
        proptest::prop_assert!(title.chars().count() <= 120);
        proptest::prop_assert!(!title.chars().any(char::is_control));
        proptest::prop_assert_eq!(title.trim(), &title);
        proptest::prop_assert!(title.is_empty() || title.chars().any(char::is_alphanumeric));
    }

    #[test]
    fn truncated_text_is_within_its_budget(
        text in "\\PC{0,300}|[ \na-zA-Z0-9&;.]{0,600}|([A-Z][a-z][0-9]){0,90}|[a-z界]{0,300}",
        max in 0_usize..200,
        indicator in "| …|\\.\\.\\.|\\+a1B/c2D=|界|x{9}",
    ) {
        let cut = truncate_to_token_budget(&text, max, &indicator);
        proptest::prop_assert!(estimate_tokens(&cut) <= max, "{cut:?}");
        let kept = cut.strip_suffix(&indicator).unwrap_or(&cut);
        proptest::prop_assert!(text.starts_with(kept) || text.starts_with(&*cut));
    }

    #[test]
    fn a_title_is_one_short_line(text in "[\\PC\\n\\r\\x1b]{0,300}", n in 0_usize..9) {
        let title = first_words(&text, n);
        proptest::prop_assert!(title.chars().count() <= TITLE_CHARS);
        proptest::prop_assert!(!title.chars().any(char::is_control));
        proptest::prop_assert!(title.split_whitespace().count() <= 5);
    }
}
