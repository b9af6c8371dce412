//! Outlines of source files: the lines that define something, by their form.
//!
//! No grammar is used: a line counts by its first words, in the languages that agents mostly work on. An outline
//! shows where to look, and it may lack a definition that is written in an unusual way.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use crate::text::cap;

/// A line that defines something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition<'a> {
    /// Its number, from 1.
    pub line: u32,
    /// Columns of white space before it.
    pub indent: usize,
    /// The name that it defines; the whole line where there is no single name.
    pub name: &'a str,
    /// The line without the opening of a body, and without the white space around it.
    pub text: &'a str,
}

/// Bytes of a line that an outline shows.
const WIDTH: usize = 100;

/// Returns the definitions among numbered lines, in order. The extension of `path` determines the kind of file.
pub fn definitions<'a>(
    path: &str,
    lines: impl IntoIterator<Item = (u32, &'a str)>,
) -> Vec<Definition<'a>> {
    let Some(patterns) = Family::of(path).map(Family::patterns) else { return Vec::new() };
    let define = |(line, whole): (u32, &'a str)| {
        let text = whole.trim_start();
        let indent = whole.len() - text.len();
        let first = text.split(|char: char| !char.is_alphanumeric()).next().unwrap_or_default();
        if STATEMENTS.contains(&first) {
            return None;
        }
        let captured = patterns.iter().find_map(|pattern| pattern.captures(whole))?;
        let text = text.trim_end_matches(['{', ':', ' ', '\t', '\r']);
        let name = captured.name("name").map_or(text, |name| name.as_str());
        // A call with a function as its argument ends like the beginning of a method.
        let is_call = text.strip_prefix(name).is_some_and(|rest| rest.starts_with('('))
            && whole.matches('(').count() > whole.matches(')').count();
        if is_call && whole.trim_end().ends_with('{') {
            return None;
        }
        Some(Definition { line, indent, name, text: cap(text, WIDTH) })
    };
    lines.into_iter().filter_map(define).collect()
}

/// Whether the definitions of a file are known by the kind of file it is.
pub fn is_outlined(path: &str) -> bool {
    Family::of(path).is_some()
}

/// Returns an outline of at most `most` lines such as `12: fn parse(…)`: the outer definitions where there are more.
pub fn outline<'a>(
    path: &str,
    lines: impl IntoIterator<Item = (u32, &'a str)>,
    most: usize,
) -> Vec<String> {
    let mut found = definitions(path, lines);
    while found.len() > most {
        let Some(deepest) = found.iter().map(|it| it.indent).max().filter(|indent| *indent > 0)
        else {
            found.truncate(most);
            break;
        };
        let without = found.iter().filter(|it| it.indent < deepest).count();
        if without == 0 {
            found.truncate(most);
            break;
        }
        found.retain(|it| it.indent < deepest);
    }
    found.iter().map(|it| format!("{}: {}", it.line, it.text)).collect()
}

/// Definitions that begin with a word for their kind.
const KEYWORDS: [&str; 7] = [
    concat!(
        r#"^\s*(?:(?:pub(?:\([^)]*\))?|export|default|async|static|public|private|protected|internal|"#,
        r#"abstract|final|override|open|sealed|data|unsafe|const|local|inline|extern(?: "[^"]*")?)\s+)*"#,
        r"(?:fn|def|defp|defmodule|class|struct|enum|trait|interface|type|func|function|fun|sub|",
        r"mod|module|namespace|union|protocol|extension|object|macro_rules!)\*?\s+",
        r"(?:\([^)]*\)\s*)?(?P<name>[\p{Alphabetic}_$][\w$.]*[?!]?)",
    ),
    r"^\s*(?:unsafe\s+)?impl\b.*",
    r"^(?:export\s+)?(?:const|let|var)\s+(?P<name>[\w$]+)\s*(?::[^=]+)?=\s*(?:async\s*)?(?:function|\(|[\w$]+\s*=>)",
    r#"^\s*(?:test|it|describe)(?:\.\w+)?\(\s*(?P<name>"[^"]*"|'[^']*'|`[^`]*`)"#,
    r#"^\s*(?:test|it|describe|context|specify)\s+(?P<name>"[^"]*"|'[^']*')\s+do\b"#,
    r"(?i)^\s*create\s+(?:or\s+replace\s+)?(?:table|view|index|function|trigger)\s+(?P<name>[\w.]+)",
    r"^(?P<name>[\w-]+)\s*\(\)\s*\{",
];

/// First words of lines that define nothing, though they end in brackets.
const STATEMENTS: [&str; 15] = [
    "if", "else", "for", "while", "switch", "catch", "return", "with", "foreach", "elseif", "new",
    "throw", "await", "do", "try",
];

/// Languages whose definitions look alike.
#[derive(Clone, Copy)]
enum Family {
    /// A definition begins with a word for its kind.
    Keyword,
    /// The same, with methods that begin with their name.
    Script,
    /// A function begins with its type.
    Typed,
    /// Headings.
    Markup,
    /// Sections in brackets.
    Sections,
}

impl Family {
    fn of(path: &str) -> Option<Self> {
        let extension = Path::new(path).extension()?.to_str()?.to_ascii_lowercase();
        Some(match extension.as_str() {
            "rs" | "py" | "pyi" | "go" | "rb" | "php" | "swift" | "kt" | "kts" | "scala" | "ex"
            | "exs" | "lua" | "pl" | "pm" | "sh" | "bash" | "zsh" | "sql" | "jl" | "nim"
            | "zig" | "dart" => Self::Keyword,
            "js" | "mjs" | "cjs" | "jsx" | "ts" | "tsx" | "mts" | "vue" | "svelte" => Self::Script,
            "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "hh" | "java" | "cs" | "m" => Self::Typed,
            "md" | "mdx" | "markdown" => Self::Markup,
            "toml" | "ini" | "cfg" => Self::Sections,
            _ => return None,
        })
    }

    fn patterns(self) -> &'static [Regex] {
        static KEYWORD: LazyLock<Vec<Regex>> = LazyLock::new(|| compiled(&KEYWORDS));
        static SCRIPT: LazyLock<Vec<Regex>> = LazyLock::new(|| {
            let methods = [
                concat!(
                    r"^\s+(?:(?:async|static|get|set|override|public|private|protected|abstract)\s+)*\*?",
                    r"(?P<name>#?[A-Za-z_$][\w$]*)\s*(?:<[^>]*>)?\([^;]*\)(?:[^;=]|=>)*\{\s*$",
                ),
                concat!(
                    r"^\s+(?:(?:public|private|protected|static|readonly)\s+)*(?P<name>#?[A-Za-z_$][\w$]*)",
                    r"\s*(?::[^=]+)?=\s*(?:async\s*)?\([^;]*\)[^;]*=>\s*\{?\s*$",
                ),
            ];
            compiled(&KEYWORDS).into_iter().chain(compiled(&methods)).collect()
        });
        static TYPED: LazyLock<Vec<Regex>> = LazyLock::new(|| {
            compiled(&[
                r"^\s*(?:(?:public|private|protected|internal|abstract|final|static|sealed|partial|export)\s+)*(?:class|struct|enum|interface|record|namespace|union|@interface|@implementation)\s+(?P<name>\w+)[^;]*$",
                r"^\s*(?:public|private|protected|internal)\s[^=;]*?(?P<name>~?\w+)\s*\([^;]*$",
                r"^[A-Za-z_][\w:<>,*&\s\[\]]*?[\s*&](?P<name>[\w:~]+)\s*\([^;]*$",
                r"^(?P<name>\w+::~?\w+)\s*\([^;]*$",
                r"^\s+(?:[\w<>\[\],.?&*:]+\s+)+[*&]?(?P<name>~?\w+)\s*\([^;={]*\)[^;={(]*\{?\s*$",
                r"^#\s*define\s+(?P<name>\w+)\(",
            ])
        });
        static MARKUP: LazyLock<Vec<Regex>> =
            LazyLock::new(|| compiled(&[r"^#{1,4}\s+(?P<name>.+)"]));
        static SECTIONS: LazyLock<Vec<Regex>> =
            LazyLock::new(|| compiled(&[r"^\[+(?P<name>[^\]]+)\]"]));
        match self {
            Self::Keyword => &KEYWORD,
            Self::Script => &SCRIPT,
            Self::Typed => &TYPED,
            Self::Markup => &MARKUP,
            Self::Sections => &SECTIONS,
        }
    }
}

#[expect(clippy::expect_used, reason = "the patterns are constants")]
fn compiled(patterns: &[&str]) -> Vec<Regex> {
    let compile = |pattern: &&str| Regex::new(pattern).expect("a pattern of definitions compiles");
    patterns.iter().map(compile).collect()
}

#[cfg(test)]
#[path = "outline_tests.rs"]
mod tests;
