use proptest::prelude::*;

use super::*;

fn found(query: &str, text: &str) -> Option<Match> {
    Query::words(query).unwrap().find(text)
}

fn marked(found: &Match) -> Vec<&str> {
    found.marks.iter().map(|mark| &found.snippet[mark.clone()]).collect()
}

#[test]
fn words_are_found_in_any_order_and_case_and_as_parts_of_identifiers() {
    let text = "The function parse_header in src/wire/HeaderReader.rs failed";
    for query in ["HEADER parse", "parse_header", "reader", "wire rs", "src/wire/HeaderReader.rs"] {
        assert!(found(query, text).is_some(), "{query}");
    }
    for query in ["pars", "head", "parse footer", "eader"] {
        assert_eq!(found(query, text), None, "{query}");
    }
}

#[test]
fn quoted_and_exact_strings_are_taken_as_they_stand() {
    let text = "exit code 2: no such file";
    assert!(found("file \"code 2\"", text).is_some());
    assert_eq!(found("file \"Code 2\"", text), None);
    assert!(Query::exact("it code 2: n").unwrap().find(text).is_some());
    assert_eq!(Query::exact("code  2").unwrap().find(text), None);
}

#[test]
fn what_is_known_of_an_exact_string_holds_wherever_in_words_it_begins_and_ends() {
    let known = |text: &str| Query::exact(text).unwrap().known();
    let inside = known("it code 2: no such fil");
    assert_eq!(inside.terms, terms("code 2 no such"));
    assert_eq!(inside.beginning.as_deref(), Some("fil"));
    for text in ["", "x"].map(|more| format!("exit code 2: no such file{more}")) {
        assert!(inside.terms.is_subset(&terms(&text)), "{text}");
        assert!(terms(&text).iter().any(|term| term.starts_with("fil")), "{text}");
    }
    assert_eq!(known("npm test"), Known { terms: BTreeSet::new(), beginning: Some("test".into()) });
    for told_too_little in ["ECONNRES", "src/lexer.rs", "a b", "npm Test", "an été"] {
        assert!(known(told_too_little).is_empty(), "{told_too_little}");
    }
    assert!(Query::words("such file").unwrap().known().is_empty());
}

#[test]
fn nothing_to_look_for_is_no_query() {
    for query in ["", "  ", "\"\"", "?! -", "\" \""] {
        assert!(Query::words(query).is_none(), "{query:?}");
    }
    assert!(Query::exact("").is_none());
    assert!(Query::exact("?!").is_some());
}

#[test]
fn more_and_closer_together_is_better() {
    let score = |text: &str| found("lexer token", text).unwrap().score;
    let far = format!("lexer {} token", "and so on ".repeat(60));
    assert!(score("the lexer makes a token") > score(&far));
    assert!(score("token by token the lexer reads") > score("token, lexer"));
}

#[test]
fn a_snippet_is_one_line_around_the_places_with_marks() {
    let text = format!("{}\nthe needle\nin hay\n{}", "before ".repeat(80), "after ".repeat(80));
    let hit = found("needle hay", &text).unwrap();
    assert_eq!(marked(&hit), ["needle", "hay"]);
    assert!(hit.snippet.starts_with('…') && hit.snippet.ends_with('…'));
    assert!(hit.snippet.contains("the needle in hay"), "{}", hit.snippet);
    assert!(hit.snippet.len() <= 2 * SNIPPET, "{}", hit.snippet.len());
}

#[test]
fn terms_are_plain_whatever_the_text() {
    let terms = terms("Größe ist_Wichtig, 日本語 x!");
    assert!(terms.contains("wichtig") && terms.contains("ist") && terms.contains("x"));
    assert!(
        terms.iter().all(|term| term.bytes().all(|it| it.is_ascii_alphanumeric())),
        "{terms:?}"
    );
    assert!(terms.iter().all(|term| term.len() <= LONGEST_TERM));
}

proptest! {
    /// What the index does not know by a query's terms need not be looked at.
    #[test]
    fn a_text_that_holds_the_words_has_their_terms(
        words in prop::collection::vec("[a-zA-Zäß0-9_/.-]{1,12}", 1..6),
        picked in any::<prop::sample::Index>(),
    ) {
        let text = words.join(" ");
        let word = &words[picked.index(words.len())];
        if let Some(query) = Query::words(word)
            && query.find(&text).is_some()
        {
            let known = terms(&text);
            prop_assert!(query.terms().is_subset(&known), "{:?} not in {known:?}", query.terms());
        }
    }

    #[test]
    fn any_stretch_of_a_text_is_found_as_it_stands(
        text in "\\PC{1,300}",
        from in any::<prop::sample::Index>(),
        length in 1..40_usize,
    ) {
        let chars: Vec<char> = text.chars().collect();
        let from = from.index(chars.len());
        let stretch: String = chars[from..(from + length).min(chars.len())].iter().collect();
        if let Some(query) = Query::exact(&stretch) {
            let hit = query.find(&text).unwrap();
            prop_assert!(hit.marks.iter().all(|mark| hit.snippet.get(mark.clone()).is_some()));
            prop_assert_eq!(hit.marks.is_empty(), false);
        }
    }
}
