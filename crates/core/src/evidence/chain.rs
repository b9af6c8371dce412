//! The commands of a line that a shell runs one after the other, each unchanged, with its exit code as far as it
//! follows from that of the whole line.

/// A command of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment<'a> {
    /// It, up to the first pipe.
    pub text: &'a str,
    /// Whether its output goes through a pipe.
    pub piped: bool,
    /// Whether it runs in the background, or in a loop or a condition.
    pub aside: bool,
    /// Whether it may run several times.
    pub repeats: bool,
    /// Its link to the next command.
    pub link: Link,
}

/// The link of a command to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// The next command runs if this one succeeds.
    And,
    /// The next command runs if this one fails.
    Or,
    /// The next command runs in any case.
    Then,
    /// No command follows.
    End,
}

/// Words of the shell before a command.
const AROUND: [&str; 9] = ["if", "then", "else", "elif", "do", "while", "until", "!", "{"];

/// Returns the commands of a line, without the content of here-documents.
pub(super) fn segments(line: &str) -> Vec<Segment<'_>> {
    let mut segments: Vec<Segment<'_>> = Vec::new();
    let mut scan = Scan { line, at: 0 };
    let mut begin = 0;
    let mut pipe: Option<usize> = None;
    let mut loops = 0_usize;
    let mut is_repeated = false;
    loop {
        let at = scan.at;
        let end = scan.next();
        let Some(end) = end else { continue };
        if end == Cut::Pipe {
            pipe.get_or_insert(at);
            continue;
        }
        let text = line.get(begin..pipe.unwrap_or(at)).unwrap_or_default();
        begin = scan.at;
        let mut text = text.trim().trim_start_matches(['(', '{']).trim_start();
        let mut aside = loops > 0 || end == Cut::Background;
        while let Some((word, rest)) = text
            .split_once(char::is_whitespace)
            .or(Some((text, "")))
            .filter(|(word, _)| AROUND.contains(word))
        {
            loops += usize::from(matches!(word, "if" | "while" | "until"));
            is_repeated |= matches!(word, "while" | "until");
            aside = true;
            text = rest.trim_start();
        }
        let first = text.split_whitespace().next().unwrap_or_default();
        match first {
            "for" | "case" | "select" => {
                loops += 1;
                is_repeated |= first == "for";
            }
            "done" | "fi" | "esac" => {
                loops = loops.saturating_sub(1);
                is_repeated &= loops > 0;
            }
            _ => {}
        }
        for (open, close) in [('(', ')'), ('{', '}')] {
            while text.ends_with(close) && text.matches(open).count() < text.matches(close).count()
            {
                text = text.strip_suffix(close).unwrap_or(text).trim_end();
            }
        }
        if !text.is_empty() && !matches!(first, "for" | "case" | "select" | "done" | "fi" | "esac")
        {
            let bound = match end {
                Cut::And => Link::And,
                Cut::Or => Link::Or,
                Cut::Then | Cut::Background => Link::Then,
                Cut::Pipe | Cut::End => Link::End,
            };
            let (piped, repeats) = (pipe.is_some(), is_repeated);
            segments.push(Segment { text, piped, aside, repeats, link: bound });
        }
        pipe = None;
        if end == Cut::End {
            break;
        }
    }
    if let Some(last) = segments.last_mut() {
        last.link = Link::End;
    }
    segments
}

/// Returns the exit code of each command, as far as it follows from that of the line.
pub(super) fn exits(line: &str, segments: &[Segment<'_>], exit: Option<i64>) -> Vec<Option<i64>> {
    let mut exits = vec![None; segments.len()];
    let Some(exit) = exit else { return exits };
    let pipefail = line.contains("pipefail");
    let stops = line.split([';', '&', '\n']).any(|it| {
        let mut words = it.split_whitespace();
        words.next() == Some("set")
            && words.next().is_some_and(|flag| flag.starts_with('-') && flag.contains('e'))
    });
    // Every command that had to go well for the last one to run went well.
    let mut known = true;
    for at in (0..segments.len()).rev() {
        let segment = &segments[at];
        if at + 1 < segments.len() {
            known &= match segment.link {
                Link::And => exit == 0,
                Link::Then => stops && exit == 0,
                Link::Or | Link::End => false,
            };
        }
        // After a `||` the last one may not have run at all.
        let after_or = at > 0 && segments[at - 1].link == Link::Or;
        if after_or && at + 1 == segments.len() {
            known = false;
        }
        // A change of the folder hardly ever fails, and prints an error where it does.
        let first =
            segments[..at].iter().rposition(|it| it.link != Link::And || !is_change(it.text));
        let alone = at + 1 == segments.len()
            && (exit == 0 || first.is_none_or(|before| segments[before].link == Link::Then));
        if known && !segment.aside && (!segment.piped || pipefail) && (exit == 0 || alone) {
            exits[at] = Some(exit);
        }
    }
    exits
}

/// Whether a command changes the folder.
fn is_change(command: &str) -> bool {
    command.split_whitespace().next() == Some("cd")
}

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    Pipe,
    And,
    Or,
    Then,
    Background,
    End,
}

struct Scan<'a> {
    line: &'a str,
    at: usize,
}

impl Scan<'_> {
    fn rest(&self) -> &str {
        self.line.get(self.at..).unwrap_or_default()
    }

    /// Continues after the next piece; returns the end of a command, where the piece is one.
    fn next(&mut self) -> Option<Cut> {
        let rest = self.rest();
        let Some(char) = rest.chars().next() else { return Some(Cut::End) };
        let before = self.line.get(..self.at).and_then(|it| it.chars().next_back());
        for (mark, cut) in [
            ("&&", Cut::And),
            ("||", Cut::Or),
            ("|&", Cut::Pipe),
            ("|", Cut::Pipe),
            ("\n", Cut::Then),
        ] {
            if rest.starts_with(mark) {
                self.at += mark.len();
                return Some(cut);
            }
        }
        match char {
            ';' => {
                self.at += 1;
                return Some(Cut::Then);
            }
            // Part of a redirection, as in `2>&1` and `&>log`.
            '&' if before == Some('>') || rest.starts_with("&>") => self.at += 1,
            '&' => {
                self.at += 1;
                return Some(Cut::Background);
            }
            '<' if rest.starts_with("<<") && !rest.starts_with("<<<") => return self.document(),
            '\\' => self.at += 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
            '\'' | '"' | '`' => self.at += quoted(rest, char),
            '$' if rest.starts_with("$(") => self.at += inner(rest),
            char => self.at += char.len_utf8(),
        }
        None
    }

    /// Continues after a here-document; the rest of its line still counts.
    fn document(&mut self) -> Option<Cut> {
        let rest = self.rest();
        let word = rest.trim_start_matches(['<', '-', ' ']);
        let mark: String = word
            .trim_start_matches(['\'', '"', '\\'])
            .chars()
            .take_while(|it| it.is_alphanumeric() || *it == '_')
            .collect();
        let Some((_, body)) = rest.split_once('\n').filter(|_| !mark.is_empty()) else {
            self.at += 2;
            return None;
        };
        let mut end = self.at + (rest.len() - body.len());
        for line in body.split_inclusive('\n') {
            end += line.len();
            if line.trim() == mark {
                self.at = end;
                return Some(Cut::Then);
            }
        }
        self.at = self.line.len();
        Some(Cut::End)
    }
}

fn quoted(rest: &str, quote: char) -> usize {
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, char)) = chars.next() {
        if char == quote {
            return at + 1;
        }
        if char == '\\' && quote != '\'' {
            chars.next();
        }
    }
    rest.len()
}

/// Returns the length of the text between `$(` and its end.
fn inner(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 1;
    while let Some(char) = rest.get(at..).and_then(|it| it.chars().next()) {
        match char {
            '(' => depth += 1,
            ')' if depth == 1 => return at + 1,
            ')' => depth -= 1,
            '\'' | '"' => {
                at += quoted(rest.get(at..).unwrap_or_default(), char);
                continue;
            }
            _ => {}
        }
        at += char.len_utf8();
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str, exit: i64) -> Vec<String> {
        let segments = segments(line);
        let exits = exits(line, &segments, Some(exit));
        let runs = segments.iter().zip(exits).map(|(segment, exit)| {
            format!(
                "{}{}",
                segment.text,
                exit.map_or_else(String::new, |exit| format!(" = {exit}"))
            )
        });
        runs.collect()
    }

    #[test]
    fn a_command_alone_has_the_exit_code_of_the_line() {
        assert_eq!(of("cargo test -p x", 101), ["cargo test -p x = 101"]);
        assert_eq!(of("make 2>&1", 2), ["make 2>&1 = 2"]);
        assert_eq!(of("make | tail -5", 0), ["make"]);
        assert_eq!(of("set -o pipefail; make | tail -5", 2), ["set -o pipefail", "make = 2"]);
    }

    #[test]
    fn in_a_chain_only_what_follows_from_it_is_known() {
        assert_eq!(of("a && b && c", 0), ["a = 0", "b = 0", "c = 0"]);
        assert_eq!(of("a && b", 1), ["a", "b"], "either of them");
        assert_eq!(of("pytest -q; grep x y", 1), ["pytest -q", "grep x y = 1"]);
        assert_eq!(of("a; b && c", 0), ["a", "b = 0", "c = 0"]);
        assert_eq!(of("a || true", 0), ["a", "true"]);
        assert_eq!(of("set -e; a; b", 0), ["set -e = 0", "a = 0", "b = 0"]);
        assert_eq!(of("(cd x && make) & wait", 0), ["cd x", "make", "wait = 0"]);
    }

    #[test]
    fn quotes_documents_loops_and_inner_commands_are_not_taken_apart() {
        assert_eq!(of("rg 'a|b; c' \"d && e\" x\\;y", 0), ["rg 'a|b; c' \"d && e\" x\\;y = 0"]);
        assert_eq!(of("python - <<'PY'\nmake && test\nPY\nmake", 0), ["python -", "make = 0"]);
        assert_eq!(of("cat <<EOF", 0), ["cat <<EOF = 0"]);
        assert_eq!(of("echo $(a; b | c) && d", 0), ["echo $(a; b | c) = 0", "d = 0"]);
        assert_eq!(of("for m in a b; do make $m; done; make", 2), ["make $m", "make = 2"]);
        assert_eq!(of("if make; then go test; fi", 0), ["make", "go test"]);
    }
}
