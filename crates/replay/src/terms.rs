//! The terms of a text that may be needed again word for word: identifiers, file paths, numbers, addresses and quoted
//! strings, as they are written.
//!
//! A term is in a request if a text of the request has exactly the same term. Paths are not made relative, so that
//! the texts alone are enough to check the counts.

use std::borrow::Cow;

use callstack_core::evidence::terms::repeatable;

/// Calls `found` with every term of a text; the same one may come several times. A path comes with the name of its
/// file.
pub fn terms<'a>(text: &'a str, mut found: impl FnMut(Cow<'a, str>)) {
    repeatable(text, |_, term| found(term));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_terms_of_a_text() {
        let mut all = BTreeSet::new();
        terms(
            "Don't touch /home/me/src/date.rs:12 or main.go, parse_date says \"no such day\" 42 times \
             (`make test`), it's 'fine'.",
            |term| {
                all.insert(term.into_owned());
            },
        );
        let found: Vec<_> = all.iter().map(String::as_str).collect();
        assert_eq!(
            found,
            [
                "/home/me/src/date.rs",
                "42",
                "date.rs",
                "fine",
                "main.go",
                "make test",
                "no such day",
                "parse_date"
            ]
        );
    }
}
