//! Where sentences end.

use proptest::prelude::*;

use super::*;

fn split(text: &str) -> Vec<&str> {
    sentences(text).map(str::trim_end).collect()
}

#[test]
fn a_sentence_ends_where_a_new_one_begins() {
    let text = "It works. \"All of it.\" Does it? Yes! (See below.) 3 are left.\nAnother line";
    let wanted = [
        "It works.",
        "\"All of it.\"",
        "Does it?",
        "Yes!",
        "(See below.) 3 are left.",
        "Another line",
    ];
    assert_eq!(split(text), wanted);
    assert_eq!(split("ใช่ 不是。是的！好"), ["ใช่ 不是。", "是的！", "好"]);
    assert_eq!(split(""), [""; 0]);
}

#[test]
fn abbreviations_numbers_and_names_end_none() {
    for text in [
        "Parsers, e.g. Nom, i.e. `nom`, z. B. Pest, cf. Chumsky et al. Last.",
        "OpenCode 4.4.0 Beta reads main.rs Before 3.5 Seconds.",
        "The newest, v. X, of Fig. A is in a.rs.bak And U.S. English",
        "Run `make. Then wait.` Or not",
        "1. First of all",
        "- 2) Second of all",
        "Well ... Nothing",
    ] {
        assert_eq!(split(text), [text]);
    }
    assert_eq!(
        split("It is in a.rs. The rest (4.4.0). `b` too."),
        ["It is in a.rs.", "The rest (4.4.0).", "`b` too."]
    );
    assert_eq!(split("Apples, pears, etc. Then more."), ["Apples, pears, etc.", "Then more."]);
}

/// Words in which no sentence may end, nor after them where they have a full stop.
const WHOLE: [&str; 9] =
    ["4.4.0", "0.5", "a.rs", "src/b.tar.gz", "e.g.", "i.e.", "z.B.", "`x. Y`", "approx."];

proptest! {
    #[test]
    fn the_pieces_are_the_text(text in "(\\PC|\n|\\. |`|[.!?] [A-Z]|。|1\\. ){0,80}") {
        prop_assert_eq!(sentences(&text).collect::<String>(), text.as_str());
        for piece in sentences(&text) {
            prop_assert!(!piece.is_empty());
        }
    }

    #[test]
    fn what_belongs_together_stays_together(
        words in proptest::collection::vec((0..WHOLE.len() + 3, any::<bool>()), 1..30)
    ) {
        let word = |at: usize| WHOLE.get(at).copied().unwrap_or(["Then", "works.", "Why?"][at % 3]);
        let mut text = String::new();
        let mut wholes = Vec::new();
        for (at, line) in words {
            let from = text.len();
            text.push_str(word(at));
            if at < WHOLE.len() {
                wholes.push((from, text.len()));
            }
            text.push(if line { '\n' } else { ' ' });
        }
        let mut end = 0;
        for piece in sentences(&text) {
            end += piece.len();
            let is_line = end == text.len() || text[..end].ends_with('\n');
            for (from, to) in &wholes {
                prop_assert!(end <= *from || end > *to, "{piece:?} ends inside");
                let abbreviates = text[..*to].ends_with('.');
                prop_assert!(is_line || !abbreviates || end != *to + 1, "{piece:?}");
            }
        }
        prop_assert_eq!(end, text.len());
    }
}
