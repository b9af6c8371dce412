//! Reasons: an agent's words before it writes, and lines of a change that explain it.

use super::changes::{Fate, is_new_prose};
use crate::outline::is_outlined;
use crate::secrets::{mask, secrets};
use crate::text::{CUT, cap, truncate_to_token_budget};

/// Bytes of a line.
const LINE: usize = 100;
/// Estimated tokens of a reason.
const REASON: usize = 40;

/// Returns the lines of a text that contain a secret, or a part of one.
pub(super) fn lines_with_secrets(text: &str) -> impl Iterator<Item = &str> {
    let mut found = secrets(text).into_iter().peekable();
    let mut next = 0;
    let lines = text.split_inclusive('\n').filter(move |line| {
        let (from, to) = (next, next + line.len());
        next = to;
        while found.next_if(|secret| secret.place.end <= from).is_some() {}
        found.peek().is_some_and(|secret| secret.place.start < to)
    });
    lines.map(|line| line.lines().next().unwrap_or_default())
}

/// Returns an agent's words before it writes, in a line; none where there are none.
pub(super) fn reason(text: &str) -> Option<String> {
    let line = mask(text).split_whitespace().collect::<Vec<_>>().join(" ");
    let line = truncate_to_token_budget(line.trim_end_matches(':'), REASON, CUT);
    (!line.is_empty()).then(|| line.into_owned())
}

/// Returns a line as it is shown: in one piece, without the opening of a block at its end.
pub(super) fn shown(line: &str) -> String {
    let line = mask(line).split_whitespace().collect::<Vec<_>>().join(" ");
    let line = line.trim_end_matches(['{', ' ']);
    match cap(line, LINE) {
        whole if whole.len() == line.len() => line.to_owned(),
        cut => format!("{cut}{CUT}"),
    }
}

/// Whether lines of a file explain its change: it has no definitions that can be named, and is no file of tests.
pub(super) fn shows_lines(path: &str, fate: Fate) -> bool {
    let mut folders = path.split(['/', '\\']);
    let name = folders.next_back().unwrap_or_default().to_ascii_lowercase();
    let for_tests = |folder: &str| {
        matches!(
            folder,
            "test"
                | "tests"
                | "__tests__"
                | "spec"
                | "specs"
                | "testdata"
                | "fixtures"
                | "snapshots"
        )
    };
    let mut words = name.split(['.', '_', '-']);
    !is_outlined(path)
        && !is_new_prose(path, fate)
        && !folders.any(for_tests)
        && !words.any(|word| matches!(word, "test" | "tests" | "spec" | "fixture" | "snap"))
}

/// Whether a line says something by itself: no brackets, no comment, no header, no assertion of a test, and no
/// import.
pub(super) fn is_informative(line: &str) -> bool {
    const BEGINNINGS: [&str; 24] = [
        "import ",
        "use ",
        "from ",
        "package ",
        "require",
        "using ",
        "include ",
        "source ",
        "load(",
        "@import",
        "#",
        "//",
        "/*",
        "*/",
        "--",
        ";",
        "<!--",
        "..",
        "\"",
        "'",
        "assert",
        "expect(",
        "self.assert",
        "return",
    ];
    let line = line.trim();
    let letters = line.chars().filter(|char| char.is_alphabetic()).count();
    let is_alone = !line.contains(|it: char| it.is_whitespace() || "(=:".contains(it));
    let lower = line.to_ascii_lowercase();
    let is_header = ["copyright", "spdx-", "license"].iter().any(|word| lower.contains(word));
    letters >= 6
        && !is_alone
        && !is_header
        && !BEGINNINGS.iter().any(|begin| line.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_secrets_are_those_that_have_a_part_of_one() {
        let value = ["hunter", "2", "hunter"].concat();
        let key = ["-----BEGIN PRIV", "ATE KEY-----\n", &"k8Yv3U".repeat(10), "\n"].concat();
        let end = ["-----END PRIV", "ATE KEY-----"].concat();
        let text = format!(
            "first\nA_TOKEN={value} B_TOKEN={value}\n\nmidst\n{key}{end}\nlast\nC_TOKEN={value}"
        );
        let found: Vec<_> = lines_with_secrets(&text).collect();
        let (first, last) =
            (format!("A_TOKEN={value} B_TOKEN={value}"), format!("C_TOKEN={value}"));
        let of_key: Vec<_> = key.lines().chain([end.as_str()]).collect();
        assert_eq!(found, [&[first.as_str()], of_key.as_slice(), &[last.as_str()]].concat());
        let many =
            format!("{}{}", format!("A_TOKEN={value}\n").repeat(30_000), "\n".repeat(1_000_000));
        assert_eq!(lines_with_secrets(&many).count(), 30_000);
    }
}
