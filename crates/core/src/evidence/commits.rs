//! Commits of git that a command made.

use super::chain::{exits, segments};
use crate::secrets::mask;
use crate::text::{CUT, cap};
use crate::transcript::ToolCall;

/// The longest subject that is shown, in bytes.
const SUBJECT: usize = 72;

/// Returns the commits that a command made, in order, such as `c24c088 "Keep the order"`: as git prints them, or with
/// the subject from the command alone where git was asked to be quiet.
pub(super) fn commits(command: &str, call: &ToolCall) -> Vec<String> {
    let segments = segments(command);
    let is_commit = |text: &str| {
        let mut words = text.split_whitespace();
        words.next() == Some("git") && words.take(3).any(|word| word == "commit")
    };
    if call.is_failed() || !segments.iter().any(|segment| is_commit(segment.text)) {
        return Vec::new();
    }
    let printed: Vec<String> = call.output_text().lines().filter_map(printed).collect();
    if !printed.is_empty() {
        return printed;
    }
    let exits = exits(command, &segments, call.exit);
    let made = segments.iter().zip(exits);
    let made = made.filter(|(segment, exit)| is_commit(segment.text) && *exit == Some(0));
    let subjects = made.filter_map(|(segment, _)| subject(command, segment.text));
    subjects
        .map(|subject| match shown(call.output_text(), &subject) {
            Some(hash) => format!("{hash} {}", quoted(&subject)),
            None => quoted(&subject),
        })
        .collect()
}

/// The hash in the description of a commit; none where only its subject is known.
pub(super) fn hash_of(commit: &str) -> Option<&str> {
    commit.split(' ').next().filter(|word| !word.starts_with('"'))
}

fn is_hash(word: &str) -> bool {
    (7..=40).contains(&word.len()) && word.chars().all(|char| char.is_ascii_hexdigit())
}

/// Returns the hash of the newest commit with this subject in what `git log` or `git show` printed after it.
fn shown<'a>(output: &'a str, subject: &str) -> Option<&'a str> {
    const SHORT: usize = 10;
    let mut newest = None;
    output.lines().find_map(|line| {
        let line = line.trim_start_matches(['*', '|', ' ']);
        if let Some(hash) = line.strip_prefix("commit ") {
            newest = hash.split(' ').next().filter(|hash| is_hash(hash));
        }
        if line == subject {
            return newest.map(|hash| hash.get(..SHORT).unwrap_or(hash));
        }
        let (hash, rest) = line.split_once(' ')?;
        (is_hash(hash) && rest.ends_with(subject)).then_some(hash)
    })
}

/// Returns the commit in a line such as `[main c24c088] Keep the order`.
fn printed(line: &str) -> Option<String> {
    let (place, subject) = line.strip_prefix('[')?.split_once("] ")?;
    let (branch, hash) = place.rsplit_once(' ')?;
    (is_hash(hash) && !branch.is_empty()).then(|| format!("{hash} {}", quoted(subject)))
}

/// Returns the first line of the message on the command line: that of `-m`, or of a here-document.
fn subject(command: &str, commit: &str) -> Option<String> {
    let after = |sign: &str| commit.split_once(sign).map(|(_, rest)| rest.trim_start());
    let message = after(" -m").or_else(|| after(" -qm")).or_else(|| after(" -am"));
    let text = if let Some(message) = message {
        let quote = message.chars().next().filter(|it| matches!(it, '"' | '\''));
        match quote {
            Some(quote) => message[1..].split(quote).next()?,
            None => message.split_whitespace().next()?,
        }
    } else {
        let (_, rest) = command.get(command.find(commit)?..)?.split_once("<<")?;
        rest.lines().nth(1)?
    };
    let first = text.lines().next()?.trim();
    (!first.is_empty() && !first.starts_with('$')).then(|| first.to_owned())
}

fn quoted(subject: &str) -> String {
    let subject = mask(subject.trim());
    match cap(&subject, SUBJECT) {
        whole if whole.len() == subject.len() => format!("\"{whole}\""),
        cut => format!("\"{cut}{CUT}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Action;
    use super::*;

    fn made(command: &str, output: &str, exit: i64) -> Vec<String> {
        let call = ToolCall {
            output: Some(output.to_owned()),
            exit: Some(exit),
            action: Action::Ran(command.to_owned()),
            ..ToolCall::default()
        };
        commits(command, &call)
    }

    #[test]
    fn as_git_prints_them() {
        let output = "[main c24c0881] Keep the order\n 3 files changed, 31 insertions(+)\n";
        assert_eq!(
            made("git add -A && git commit -m 'Keep…'", output, 0),
            ["c24c0881 \"Keep the order\""]
        );
        assert_eq!(
            made("git commit -F m", "[detached HEAD (root-commit) 0123abc] A: b\n", 0),
            ["0123abc \"A: b\""]
        );
        // A later command of the line failed, the commit did not.
        assert_eq!(made("git commit -m x; false", "[main c24c0881] x\n", 1), ["c24c0881 \"x\""]);
    }

    #[test]
    fn as_they_were_asked_for_where_git_is_quiet() {
        assert_eq!(
            made("git add a && git commit -q -m \"Keep it\" -m \"Long\"", "", 0),
            ["\"Keep it\""]
        );
        assert_eq!(
            made("git add a && git commit -q -F - <<'MSG'\nKeep the order\n\nWhy.\nMSG", "", 0),
            ["\"Keep the order\""]
        );
        assert_eq!(made("git commit -qm Short && git status", "", 0), ["\"Short\""]);
    }

    #[test]
    fn with_the_hash_that_git_shows_later() {
        let log = "git commit -qm Short && git log -2 --oneline";
        assert_eq!(
            made(log, "c24c088 (HEAD -> main) Short\n0123abc Short\n", 0),
            ["c24c088 \"Short\""]
        );
        let show = "git commit -qm Short && git show --stat";
        let output =
            format!("commit {} (HEAD -> main)\nAuthor: me\n\n    Short\n", "c24c0881".repeat(5));
        assert_eq!(made(show, &output, 0), ["c24c0881c2 \"Short\""]);
    }

    #[test]
    fn none_where_nobody_saw_it() {
        assert!(made("git commit -q -m x", "nothing to commit", 1).is_empty());
        assert!(made("git commit -q -m x; git status", "", 0).is_empty());
        assert!(made("git log --grep 'git commit'", "[main c24c0881] Keep\n", 0).is_empty());
        assert!(made("git commit -q -m \"$(cat m)\"", "", 0).is_empty());
        assert!(made("cat log", "[main c24c0881] Keep\n", 0).is_empty());
    }
}
