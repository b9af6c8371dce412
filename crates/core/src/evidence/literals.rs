//! Finds the lines of a source file that begin inside a literal, a comment or a block of quoted code: they define
//! nothing, and how far they are indented says nothing.

use std::path::Path;

/// The delimiters of texts of several lines in a language.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    /// `"""` and `'''`.
    Python,
    /// `/* */`, texts between backticks.
    Script,
    /// `/* */`, `"` over several lines, `r#"…"#`.
    Rust,
    /// `/* */`.
    Braces,
    /// Fenced blocks.
    Markdown,
    Other,
}

impl Language {
    fn of(path: &str) -> Self {
        let extension = Path::new(path).extension().and_then(|it| it.to_str()).unwrap_or_default();
        match extension.to_ascii_lowercase().as_str() {
            "py" | "pyi" => Self::Python,
            "js" | "mjs" | "cjs" | "jsx" | "ts" | "tsx" | "mts" | "go" | "vue" | "svelte" => {
                Self::Script
            }
            "rs" => Self::Rust,
            "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "hh" | "java" | "cs" | "m" | "php"
            | "swift" | "kt" | "kts" | "scala" | "dart" | "zig" => Self::Braces,
            "md" | "mdx" | "markdown" => Self::Markdown,
            _ => Self::Other,
        }
    }
}

/// The literal or comment that is open at the end of a line, by its closing delimiter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Open {
    #[default]
    Nothing,
    Until(String),
}

/// Returns whether each of these lines begins inside such a text; none stands for a line that is not known, after
/// which nothing is taken to be open.
pub(super) fn inside<'a>(path: &str, lines: impl Iterator<Item = Option<&'a str>>) -> Vec<bool> {
    let language = Language::of(path);
    let mut open = Open::Nothing;
    lines
        .map(|line| {
            let Some(line) = line else {
                open = Open::Nothing;
                return false;
            };
            let was_open = open != Open::Nothing;
            open = open_after(language, std::mem::take(&mut open), line);
            was_open
        })
        .collect()
}

fn open_after(language: Language, open: Open, line: &str) -> Open {
    if language == Language::Markdown {
        let fence = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| fence.starts_with(mark));
        return match (open, mark) {
            (Open::Nothing, Some(mark)) => Open::Until(mark.to_owned()),
            (Open::Until(until), Some(mark)) if until == mark => Open::Nothing,
            (open, _) => open,
        };
    }
    if language == Language::Other {
        return Open::Nothing;
    }
    let mut rest = line;
    if let Open::Until(until) = open {
        let Some(after) = closed(rest, &until) else { return Open::Until(until) };
        rest = after;
    }
    while !rest.is_empty() {
        match opened(language, rest) {
            Found::End => break,
            Found::Plain(length) => rest = rest.get(length..).unwrap_or_default(),
            Found::Opens(length, until) => {
                let inner = rest.get(length..).unwrap_or_default();
                match closed(inner, &until) {
                    Some(after) => rest = after,
                    // A literal that ends with its line, in a language that has no others.
                    None if spans_lines(language, &until) => return Open::Until(until),
                    None => break,
                }
            }
        }
    }
    Open::Nothing
}

enum Found {
    /// The rest of the line is a comment.
    End,
    /// That many bytes outside of literals.
    Plain(usize),
    /// That many bytes that open a literal, and its closing delimiter.
    Opens(usize, String),
}

fn spans_lines(language: Language, until: &str) -> bool {
    match until {
        "\"" => language == Language::Rust,
        "'" => false,
        _ => true,
    }
}

fn opened(language: Language, rest: &str) -> Found {
    let opens = |length: usize, until: &str| Found::Opens(length, until.to_owned());
    match language {
        Language::Python => {
            if rest.starts_with('#') {
                return Found::End;
            }
            if let Some(mark) = ["\"\"\"", "'''"].into_iter().find(|mark| rest.starts_with(mark)) {
                return opens(3, mark);
            }
        }
        _ if rest.starts_with("//") => return Found::End,
        _ if rest.starts_with("/*") => return opens(2, "*/"),
        Language::Script if rest.starts_with('`') => return opens(1, "`"),
        Language::Rust if rest.starts_with("r\"") || rest.starts_with("r#") => {
            let marks = rest.get(1..).unwrap_or_default();
            let count = marks.len() - marks.trim_start_matches('#').len();
            if marks.get(count..).is_some_and(|it| it.starts_with('"')) {
                return Found::Opens(count + 2, format!("\"{}", "#".repeat(count)));
            }
        }
        Language::Rust if rest.starts_with('\'') => {
            // A lifetime, or one letter between quotes.
            let mut chars = rest.chars().skip(1);
            let first = chars.next();
            let length = match (first, chars.next()) {
                (Some('\\'), Some(escaped)) => 2 + escaped.len_utf8(),
                (Some(char), Some('\'')) => 2 + char.len_utf8(),
                _ => 1,
            };
            return Found::Plain(length.min(rest.len()));
        }
        _ => {}
    }
    match rest.chars().next() {
        Some('"') => opens(1, "\""),
        Some('\'') => opens(1, "'"),
        Some('\\') => Found::Plain(1 + rest.chars().nth(1).map_or(0, char::len_utf8)),
        Some(char) => Found::Plain(char.len_utf8()),
        None => Found::End,
    }
}

/// Returns the text after the end of a literal; none where it does not end in this line.
fn closed<'a>(line: &'a str, until: &str) -> Option<&'a str> {
    let escapes = !(until.starts_with("*/") || until.starts_with('"') && until.contains('#'));
    let mut rest = line;
    loop {
        if let Some(after) = rest.strip_prefix(until) {
            return Some(after);
        }
        let mut chars = rest.chars();
        let char = chars.next()?;
        if char == '\\' && escapes {
            chars.next();
        }
        rest = chars.as_str();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(path: &str, text: &str) -> String {
        let inside = inside(path, text.lines().map(Some));
        inside.iter().map(|it| if *it { 'x' } else { '.' }).collect()
    }

    #[test]
    fn texts_of_several_lines_are_seen_in_each_language() {
        assert_eq!(
            marked("a.py", "x = \"\"\"\ndef f():\n\"\"\"\ndef g():\n  '''one'''\n# '''\nok"),
            ".xx...."
        );
        assert_eq!(marked("a.py", "s = 'it\\'s'\nt = \"'''\"\nok"), "...");
        assert_eq!(
            marked("a.ts", "const a = `\nfunction f() {\n`;\n/* x\n y */\n// `\nok"),
            ".xx.x.."
        );
        assert_eq!(
            marked(
                "a.rs",
                "let s = r#\"\nfn f() {\"\n\"#;\nfn g<'a>(x: &'a str) {\nlet c = '\"';\nok"
            ),
            ".xx..."
        );
        assert_eq!(marked("a.rs", "let s = \"one \\\n  two\";\nlet t = 1;"), ".x.");
        assert_eq!(marked("a.go", "x := \"a\nb"), "..", "a text that ends with its line");
        assert_eq!(marked("a.md", "# a\n```sh\n# no\n```\n# b"), "..xx.");
        assert_eq!(marked("a.unknown", "\"\"\"\n\"\"\""), "..");
    }

    #[test]
    fn nothing_is_open_after_a_line_that_is_not_known() {
        let lines = [Some("x = \"\"\""), None, Some("def f():")];
        assert_eq!(inside("a.py", lines.into_iter()), [false, false, false]);
    }
}
