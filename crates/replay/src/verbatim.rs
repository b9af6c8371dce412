//! Whether a text stands word for word in another one, in which its lines may be numbered.

/// A text that is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    lines: Vec<Box<str>>,
}

impl Wanted {
    /// Takes a text with any ends of lines; none if it has nothing but blanks.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let text = text.trim_matches(['\n', '\r']);
        let is_blank = text.trim().is_empty();
        (!is_blank).then(|| Self { lines: text.lines().map(Box::from).collect() })
    }

    /// The text.
    pub(crate) fn text(&self) -> String {
        self.lines.join("\n")
    }

    /// Whether a text contains it. Lines may stand after their numbers, as tools show those of a file.
    pub(crate) fn stands_in(&self, text: &str) -> bool {
        let [first, rest @ ..] = self.lines.as_slice() else { return false };
        let Some((last, between)) = rest.split_last() else { return text.contains(&**first) };
        if first.is_empty() {
            return false;
        }
        let begins = text.match_indices(&**first).filter_map(|(at, found)| {
            let after = &text[at + found.len()..];
            after.strip_prefix('\n').or_else(|| after.strip_prefix("\r\n"))
        });
        begins.into_iter().any(|after| {
            let mut lines = after.lines();
            let mut is_next = |is: &dyn Fn(&str) -> bool| {
                lines.next().is_some_and(|line| is(line) || plain(line).any(is))
            };
            between.iter().all(|wanted| is_next(&|line| line == &**wanted))
                && is_next(&|line| line.starts_with(&**last))
        })
    }
}

/// Returns a line without its number, for each way in which tools separate numbers.
fn plain(line: &str) -> impl Iterator<Item = &str> {
    let digits = line.trim_start_matches(' ');
    let after = digits.trim_start_matches(|char: char| char.is_ascii_digit());
    let is_numbered = after.len() < digits.len();
    ["→", "\t", "| ", "|", ": ", ":"]
        .into_iter()
        .filter_map(move |mark| after.strip_prefix(mark).filter(|_| is_numbered))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stands(wanted: &str, text: &str) -> bool {
        Wanted::new(wanted).is_some_and(|wanted| wanted.stands_in(text))
    }

    #[test]
    fn a_text_stands_as_it_is_or_after_numbers() {
        let wanted = "fn one() {\n    two()\n}";
        for text in [
            "fn one() {\n    two()\n}\n",
            "use x;\r\nfn one() {\r\n    two()\r\n} // end",
            "     7→fn one() {\n     8→    two()\n     9→}",
            "7\tfn one() {\n8\t    two()\n9\t}",
            "00007| fn one() {\n00008|     two()\n00009| }",
            "7: fn one() {\n8:     two()\n9: }",
            "7:fn one() {\n8:    two()\n9:}",
        ] {
            assert!(stands(wanted, text), "{text}");
            assert!(stands(&format!("\n{wanted}\n"), text), "{text}");
        }
    }

    #[test]
    fn other_texts_do_not_count() {
        let wanted = "fn one() {\n    two()\n}";
        for text in [
            "",
            "fn one() {",
            "fn one() {\n  two()\n}",
            "fn one() {\n    two()\n\n}",
            "fn one() { two() }",
            "fn one() {}\n    two()\n}",
            "fn one() {\n7a→    two()\n}",
        ] {
            assert!(!stands(wanted, text), "{text}");
        }
        assert_eq!(Wanted::new(" \n\t"), None);
    }

    #[test]
    fn the_first_and_the_last_line_may_be_parts_of_lines() {
        assert!(stands("one() {\n    tw", "fn one() {\n    two()\n}"));
        assert!(stands("two", "fn one() {\n    two()\n}"));
        assert!(stands("a\nb", "a\na\nb"), "not at the first place where it begins");
    }
}
