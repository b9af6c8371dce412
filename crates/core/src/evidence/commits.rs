//! Commits of git that a command made.

use super::Call;
use super::chain::{exits, segments};
use crate::secrets::mask;
use crate::text::{CUT, cap};

/// The longest subject that is shown, in bytes.
const SUBJECT: usize = 72;

/// Returns the commits that a command made, in order, such as `c24c088 "Keep the order"`: as git prints them, or with
/// the subject from the command alone where git was asked to be quiet.
pub(super) fn commits(command: &str, call: &Call) -> Vec<String> {
    let segments = segments(command);
    let is_commit = |text: &str| {
        let mut words = text.split_whitespace();
        words.next() == Some("git") && words.take(3).any(|word| word == "commit")
    };
    if call.failed || !segments.iter().any(|segment| is_commit(segment.text)) {
        return Vec::new();
    }
    let printed: Vec<String> = call.output.lines().filter_map(printed).collect();
    if !printed.is_empty() {
        return printed;
    }
    let exits = exits(command, &segments, call.exit);
    let made = segments.iter().zip(exits);
    let made = made.filter(|(segment, exit)| is_commit(segment.text) && *exit == Some(0));
    made.filter_map(|(segment, _)| subject(command, segment.text)).map(|it| quoted(&it)).collect()
}

/// Returns the commit in a line such as `[main c24c088] Keep the order`.
fn printed(line: &str) -> Option<String> {
    let (place, subject) = line.strip_prefix('[')?.split_once("] ")?;
    let (branch, hash) = place.rsplit_once(' ')?;
    let is_hash = (7..=40).contains(&hash.len()) && hash.chars().all(|it| it.is_ascii_hexdigit());
    (is_hash && !branch.is_empty()).then(|| format!("{hash} {}", quoted(subject)))
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
        let call = Call {
            output: output.to_owned(),
            exit: Some(exit),
            action: Action::Ran(command.to_owned()),
            ..Call::default()
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
        assert_eq!(made("git commit -qm Short && git log -1", "c24c088 Short\n", 0), ["\"Short\""]);
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
