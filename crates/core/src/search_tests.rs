use std::collections::BTreeSet;

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
fn signs_are_looked_for_where_they_are_no_punctuation() {
    assert_eq!(marked(&found("🎉 done", "all is done 🎉").unwrap()), ["done", "🎉"]);
    assert_eq!(found("🎉", "all is done"), None);
    assert!(Query::words("? !").is_none(), "nothing to look for");
}

#[test]
fn words_beyond_ascii_are_found_in_any_case() {
    let text = "Der ÄRGER über Straßen, in GROẞ und klein";
    for query in ["ärger", "STRASSEN ärger", "Über", "straßen", "KLEIN ärger"] {
        let is_there = !query.contains("SS");
        assert_eq!(found(query, text).is_some(), is_there, "{query}");
    }
    assert_eq!(marked(&found("ärger KLEIN", text).unwrap()), ["ÄRGER", "klein"]);
}

/// Returns the greatest number of words that stand together, and the first place where they do, by trying every
/// window.
fn densest_by_trying(places: &[(Range<usize>, usize)]) -> (usize, usize) {
    let kinds_from = |start: usize| {
        let reach = places[start].0.start + SNIPPET;
        let others = &places[start + 1..];
        let others = others.iter().take_while(|(range, _)| range.end <= reach).count();
        let window = &places[start..=start + others];
        window.iter().map(|(_, which)| which).collect::<BTreeSet<_>>().len()
    };
    let most = (0..places.len()).map(kinds_from).max().unwrap_or(0);
    ((0..places.len()).find(|start| kinds_from(*start) == most).unwrap_or(0), most)
}

proptest! {
    #[test]
    fn the_snippet_is_where_most_words_stand_together(
        stood in prop::collection::vec((0..1_000_usize, 1..260_usize, 0..3_usize), 1..40),
    ) {
        let query = Query::words("one two three").unwrap();
        let mut places: Vec<_> =
            stood.into_iter().map(|(from, length, which)| (from..from + length, which)).collect();
        places.sort_by_key(|(range, _)| (range.start, range.end));
        let (window, closeness) = query.densest(&places);
        let (start, most) = densest_by_trying(&places);
        prop_assert_eq!(window.first(), places.get(start));
        #[expect(clippy::cast_precision_loss, reason = "there are three words")]
        let expected = most as f64 / 3.0;
        prop_assert!((closeness - expected).abs() < f64::EPSILON);
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

/// Whether an index that knows a text by its terms would name it.
fn is_named(known: &Known, text: &str) -> bool {
    let kept = terms(text);
    let has_all = |set: &BTreeSet<String>| {
        set.iter().all(|term| kept.words.contains(term) || kept.others.contains(term))
    };
    known.clues.iter().all(|clue| match clue {
        Clue::Terms(sets) => sets.iter().any(has_all),
        Clue::Letters(letters, place) => {
            let has = |word: &String| match place {
                LetterPosition::Begin => word.starts_with(letters),
                LetterPosition::Inside => word.contains(letters),
                LetterPosition::End => word.ends_with(letters),
            };
            kept.words.iter().any(has) || kept.others.contains(ODD)
        }
    })
}

#[test]
fn what_is_known_of_an_exact_string_holds_wherever_in_words_it_begins_and_ends() {
    let known = |text: &str| Query::exact(text).unwrap().known_anywhere().unwrap();
    let cut = known("it code 2: no such fil");
    assert!(is_named(&cut, "exit code 2: no such file"));
    for other in
        ["exit code 2: no such thing", "exits code 2: no such file", "exit code, no such file"]
    {
        assert!(!is_named(&cut, other), "{other}");
    }
    assert_eq!(known("ECONN").clues, [Clue::Letters("econn".to_owned(), LetterPosition::Inside)]);
    // A word that isn't kept as such may hold it.
    assert!(is_named(&known("a0b1"), &"a0b1c2d3".repeat(8)));
    assert!(is_named(&known("pla"), "déplacé") && !is_named(&known("pla"), "Ort"));
    assert_eq!(Query::exact("(such)").unwrap().known_anywhere(), None);
    assert_eq!(Query::words("such file").unwrap().known_anywhere(), None);
}

#[test]
fn identifiers_and_paths_are_known_by_what_stands_beside_what() {
    let known = |text: &str| Query::words(text).unwrap().known();
    for text in ["src/HeaderReader.rs", "the SRC/headerreader.RS", "a/src/HeaderReader.rs:10"] {
        assert!(is_named(&known("src/HeaderReader.rs"), text), "{text}");
    }
    for text in ["src HeaderReader rs", "src/Reader.rs of Header", "HeaderReader.rs in src"] {
        assert!(!is_named(&known("src/HeaderReader.rs"), text), "{text}");
    }
    assert!(is_named(&known("Reader.rs"), "src/HeaderReader.rs"));
    assert!(!is_named(&known("Header.rs"), "src/HeaderReader.rs"));
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
    let Terms { words, others } = terms("Größe ist_Wichtig, 日本語 x!");
    let mut sorted: Vec<_> = words.iter().collect();
    sorted.sort();
    assert_eq!(sorted, ["ist", "wichtig", "x"]);
    assert!(words.iter().all(|word| is_word(word)));
    let others_that_are_words: Vec<_> = others.iter().filter(|term| is_word(term)).collect();
    assert!(others_that_are_words.is_empty(), "{others_that_are_words:?}");
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "§¶¤".contains(char);
    assert!(words.iter().chain(&others).all(|term| term.chars().all(is_plain)), "{others:?}");
    assert!(words.iter().chain(&others).all(|term| term.len() <= 40));
}

proptest! {
    /// A text without the clues of a query need not be read.
    #[test]
    fn a_text_that_holds_the_words_is_named_for_them(
        words in prop::collection::vec("[a-zA-Zäß0-9_/.-]{1,12}", 1..6),
        picked in any::<prop::sample::Index>(),
    ) {
        let text = words.join(" ");
        let word = &words[picked.index(words.len())];
        if let Some(query) = Query::words(word)
            && query.find(&text).is_some()
        {
            prop_assert!(is_named(&query.known(), &text), "{:?}", query.known());
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
