use super::*;

fn keywords(text: &str) -> Vec<String> {
    extract_keywords(text)
}

#[test]
fn words_identifiers_and_paths_in_order() {
    assert_eq!(
        keywords("Fix the getUserName bug in src/auth/token_store.rs and HTMLParser, then FIX it"),
        [
            "fix",
            "getusername",
            "user",
            "name",
            "bug",
            "src/auth/token_store.rs",
            "src",
            "auth",
            "token",
            "store",
            "rs",
            "htmlparser",
            "html",
            "parser",
        ]
    );
}

#[test]
fn sentence_marks_are_no_part_of_words() {
    assert_eq!(
        keywords("Tokens. \"quoted\", (nested) -- flag: --json 404"),
        ["tokens", "quoted", "nested", "flag", "json", "404"]
    );
}

#[test]
fn unspaced_writing_counts_in_pairs() {
    assert_eq!(keywords("修复解析器 parser"), ["修复", "复解", "解析", "析器", "parser"]);
}

#[test]
fn stop_words_are_sorted_for_the_search() {
    assert!(STOP_WORDS.is_sorted());
    assert!(keywords("the of and with to is it").is_empty());
}

#[test]
fn bounded_for_any_text() {
    let many: Vec<_> = (0..1000).map(|n| format!("word{n}")).collect();
    assert_eq!(keywords(&many.join(" ")).len(), MAX_KEYWORDS);
    assert!(keywords(&"x".repeat(1_000_000)).is_empty());
}

#[test]
fn a_plural_is_the_same_word() {
    assert_eq!(stem_hash("tokens"), stem_hash("token"));
    assert_eq!(stem_hash("TOKENS"), stem_hash("token"));
    assert_eq!(stem_hash("Ärger"), stem_hash("ärger"));
    for (word, other) in [("status", "statu"), ("class", "clas"), ("token", "tokenizer")] {
        assert_ne!(stem_hash(word), stem_hash(other));
    }
}

proptest::proptest! {
    #[test]
    fn never_longer_than_the_bound_and_never_twice(text in "\\PC{0,300}") {
        let mut words = keywords(&text);
        proptest::prop_assert!(words.len() <= MAX_KEYWORDS);
        let count = words.len();
        words.sort();
        words.dedup();
        proptest::prop_assert_eq!(words.len(), count);
    }
}

#[test]
fn a_word_of_megabytes_has_its_parts_too() {
    // With a look at the whole rest for each part this would take minutes.
    let humps = "aB".repeat(2_000_000);
    assert_eq!(parts(&humps).count(), 2_000_001);
}
