//! Reads command lines as a shell would, as far as that needs no shell: nothing is expanded, and here-documents are
//! not read.

use std::iter::Peekable;
use std::str::Chars;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Pipe,
    /// A command ends: `&&`, `||`, `;`, `&` or the end of a line.
    End,
}

/// Whether the exit code of a line is that of the last command of a pipe, which says nothing about those before.
pub(super) fn is_piped(line: &str) -> bool {
    let tokens = tokens(line);
    tokens.contains(&Token::Pipe)
        && !tokens.iter().any(|token| matches!(token, Token::Word(word) if word == "pipefail"))
}

/// Whether a line discards the errors of its commands.
pub(super) fn hides_errors(line: &str) -> bool {
    tokens(line).windows(2).any(|pair| match pair {
        [Token::Word(word), _]
            if word.ends_with("2>/dev/null") || word.ends_with("&>/dev/null") =>
        {
            true
        }
        [Token::Word(word), Token::Word(next)] => {
            (word == "2>" || word == "&>") && next == "/dev/null"
        }
        _ => false,
    })
}

/// Whether a line is one command whose exit code says how it went: it neither looks for something, nor is a program
/// that stands in the line itself.
pub(super) fn is_plain(line: &str) -> bool {
    const LOOKS: [&str; 24] = [
        "rg", "grep", "egrep", "fgrep", "ag", "ls", "find", "fd", "cat", "head", "tail", "sed",
        "awk", "diff", "cmp", "test", "[", "which", "command", "type", "pgrep", "git", "echo",
        "stat",
    ];
    let tokens = tokens(line);
    let ends = tokens.iter().filter(|token| !matches!(token, Token::Word(_))).count();
    let words: Vec<&str> = tokens
        .iter()
        .filter_map(|token| match token {
            Token::Word(word) => Some(word.as_str()),
            _ => None,
        })
        .collect();
    let is_inline = line.contains("<<") || words.iter().any(|word| *word == "-c" || *word == "-e");
    ends <= 1 && !is_inline && !words.first().is_none_or(|first| LOOKS.contains(first))
}

/// Whether a line may change files in unknown ways: formatters, and commands that bring files from elsewhere.
pub(super) fn may_change_files(line: &str) -> bool {
    const WORDS: [&str; 22] = [
        "fmt",
        "format",
        "black",
        "isort",
        "prettier",
        "gofmt",
        "goimports",
        "rustfmt",
        "autopep8",
        "yapf",
        "patch",
        "--fix",
        "--write",
        "checkout",
        "restore",
        "stash",
        "reset",
        "apply",
        "rebase",
        "merge",
        "pull",
        "mv",
    ];
    let tokens = tokens(line);
    let words = tokens.iter().filter_map(|token| match token {
        Token::Word(word) => Some(word.as_str()),
        _ => None,
    });
    let mut words = words.map(|word| word.rsplit('/').next().unwrap_or_default());
    let in_place = line.contains("sed -i") || line.contains("perl -pi") || line.contains("perl -i");
    in_place
        || line.contains("open(")
        || line.contains("write_text")
        || line.contains("writeFile")
        || line.contains("> ")
        || words.any(|word| WORDS.contains(&word))
}

/// Whether a line runs a file as a program, by itself or by an interpreter. One that only shows it, or hands it to git,
/// doesn't.
pub(super) fn runs(line: &str, file: &str) -> bool {
    let is_it = |program: &Program| {
        let folder = program.file.strip_suffix(file);
        folder.is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
    };
    programs(line).iter().any(is_it)
}

/// A file that a line runs as a program.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Program {
    file: String,
    /// Its arguments, without what redirects its output.
    arguments: Vec<String>,
}

/// Returns the files that a line runs as programs, by themselves or by an interpreter, in order.
pub(super) fn programs(line: &str) -> Vec<Program> {
    const INTERPRETERS: [&str; 14] = [
        "python", "python3", "pypy3", "node", "deno", "bun", "tsx", "ts-node", "ruby", "perl",
        "php", "bash", "sh", "zsh",
    ];
    let tokens = tokens(line);
    let commands = tokens.split(|token| !matches!(token, Token::Word(_)));
    let run = |command: &[Token]| {
        let words = command.iter().filter_map(|token| match token {
            Token::Word(word) => Some(word.as_str()),
            _ => None,
        });
        let is_before = |word: &&str| {
            let is_set = word.contains('=') && !word.starts_with('-');
            is_set || matches!(*word, "time" | "nice" | "env" | "uv" | "poetry" | "npx" | "run")
        };
        let mut words = words.skip_while(is_before);
        let program = words.next()?;
        let name = program.rsplit('/').next().unwrap_or_default();
        let mut rest = words.skip_while(|word| *word == "run");
        let file = if INTERPRETERS.contains(&name) { script(&mut rest)? } else { program };
        let arguments = rest.take_while(|word| !word.contains(['>', '<'])).map(str::to_owned);
        Some(Program { file: file.to_owned(), arguments: arguments.collect() })
    };
    commands.filter_map(run).collect()
}

/// Returns the file that an interpreter is given, which stands after its options.
fn script<'w>(words: &mut impl Iterator<Item = &'w str>) -> Option<&'w str> {
    const WITH_VALUE: [&str; 7] = ["-W", "-X", "-r", "-I", "--require", "--import", "--loader"];
    loop {
        let word = words.next()?;
        if WITH_VALUE.contains(&word) {
            words.next();
        } else if !word.starts_with('-') {
            return Some(word);
        }
    }
}

/// Whether a line clearly changes the content of files that it doesn't show: it edits in place, applies a patch,
/// takes another state of files, or is a script that writes. Formatters change how files look, and don't count.
pub(super) fn changes_files(line: &str) -> bool {
    let is_script = line.contains("<<") || line.contains(" -c ") || line.contains(" -e ");
    let writes = ["write_text(", "writeFile", ".write(", "writelines("];
    if is_script && writes.iter().any(|call| line.contains(call)) {
        return true;
    }
    tokens(line).split(|token| !matches!(token, Token::Word(_))).any(|command| {
        let words = command.iter().filter_map(|token| match token {
            Token::Word(word) => Some(word.as_str()),
            _ => None,
        });
        let words: Vec<&str> = words.collect();
        let Some((program, rest)) = words.split_first() else { return false };
        let has = |flag: &str| rest.contains(&flag);
        let has_option = |begin: &str| rest.iter().any(|word| word.starts_with(begin));
        match *program {
            "sed" => has_option("-i") || has_option("--in-place"),
            "perl" => has_option("-i") || has_option("-pi"),
            "patch" => !has("--dry-run"),
            "cargo" => rest.first() == Some(&"fix") || has("--fix"),
            "git" => changes_work_tree(rest),
            _ => has("--fix"),
        }
    })
}

/// Whether a command of git puts other content into files.
fn changes_work_tree(rest: &[&str]) -> bool {
    let mut words = rest.iter().copied().filter(|word| !word.starts_with('-'));
    let (verb, second) = (words.next().unwrap_or_default(), words.next());
    let has = |flags: &[&str]| rest.iter().any(|word| flags.contains(word));
    match verb {
        "apply" => !has(&["--stat", "--numstat", "--summary", "--check", "--cached"]),
        "checkout" => !has(&["-b", "-B", "--orphan"]),
        "restore" => !has(&["--staged"]),
        "reset" => has(&["--hard", "--merge", "--keep"]),
        "stash" => !matches!(second, Some("list" | "show" | "drop" | "clear" | "create")),
        "revert" | "cherry-pick" | "mv" => true,
        _ => false,
    }
}

/// The files that a command removes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Removed {
    /// The file or folder: absolute, unless the command's folder is not known.
    path: String,
    /// Whether all in it goes, too.
    recursive: bool,
}

impl Removed {
    /// Whether a file goes with it; `project` is the project's folder, or empty.
    pub(super) fn takes(&self, file: &str, project: &str) -> bool {
        let file = joined(project, file);
        let inside = || file.strip_prefix(&self.path).is_some_and(|rest| rest.starts_with('/'));
        file == self.path || (self.recursive && inside())
    }
}

/// Files that a command removes if it goes well and is run in the folder `project`, as far as they are
/// named: no patterns, no variables.
pub(super) fn removed(command: &str, project: &str) -> Vec<Removed> {
    let mut folder = project.trim_end_matches('/').to_owned();
    let mut removed = Vec::new();
    for words in tokens(command).split(|token| !matches!(token, Token::Word(_))) {
        let mut words = words.iter().filter_map(|token| match token {
            Token::Word(word) => Some(word.as_str()),
            _ => None,
        });
        match words.next().filter(|first| *first != "git").or_else(|| words.next()) {
            // The home folder is not known here.
            Some("cd") => folder = words.next().map_or_else(String::new, |to| joined(&folder, to)),
            Some("rm" | "unlink") => {
                let (options, paths): (Vec<&str>, Vec<&str>) =
                    words.partition(|word| word.starts_with('-'));
                let recursive = options.iter().any(|option| {
                    *option == "--recursive"
                        || (!option.starts_with("--") && option.contains(['r', 'R']))
                });
                let named = paths
                    .into_iter()
                    .filter(|path| !path.contains(['*', '?', '[', '$', '`', '>']))
                    .filter(|path| {
                        path.find('~').is_none_or(|at| at == 0 && path.starts_with("~/"))
                    });
                removed
                    .extend(named.map(|path| Removed { path: joined(&folder, path), recursive }));
            }
            _ => {}
        }
    }
    removed
}

/// A path as seen from a folder.
fn joined(folder: &str, path: &str) -> String {
    let mut path = path.trim_end_matches('/');
    while let Some(rest) = path.strip_prefix("./") {
        path = rest;
    }
    let folder = folder.trim_end_matches('/');
    if path.starts_with('/') || path.starts_with("~/") || folder.is_empty() {
        path.to_owned()
    } else if path == "." {
        folder.to_owned()
    } else {
        format!("{folder}/{path}")
    }
}

fn tokens(line: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut chars = line.chars().peekable();
    let mut word = String::new();
    let mut is_word = false;
    while let Some(char) = chars.next() {
        let token = match char {
            // The rest is the text of a document.
            '<' if next_is(&mut chars, '<') => break,
            '|' if next_is(&mut chars, '|') => Some(Token::End),
            '|' => {
                // As `|&`, which pipes complaints, too.
                next_is(&mut chars, '&');
                Some(Token::Pipe)
            }
            '&' if next_is(&mut chars, '&') => Some(Token::End),
            // Part of a redirection, as in `2>&1` and `&>log`.
            '&' if word.ends_with('>') || chars.peek() == Some(&'>') => {
                word.push('&');
                is_word = true;
                continue;
            }
            '&' | ';' | '\n' => Some(Token::End),
            char if char.is_whitespace() => None,
            quote @ ('\'' | '"') => {
                quoted(&mut chars, quote, &mut word);
                is_word = true;
                continue;
            }
            '\\' => {
                // Where a line is broken, nothing is meant.
                word.extend(chars.next().filter(|escaped| *escaped != '\n'));
                is_word = !word.is_empty();
                continue;
            }
            char => {
                word.push(char);
                is_word = true;
                continue;
            }
        };
        if is_word {
            tokens.push(Token::Word(std::mem::take(&mut word)));
            is_word = false;
        }
        tokens.extend(token);
    }
    if is_word {
        tokens.push(Token::Word(word));
    }
    tokens.push(Token::End);
    tokens
}

fn next_is(chars: &mut Peekable<Chars<'_>>, wanted: char) -> bool {
    chars.next_if_eq(&wanted).is_some()
}

/// Takes the text up to the closing quote.
fn quoted(chars: &mut Peekable<Chars<'_>>, quote: char, word: &mut String) {
    while let Some(char) = chars.next() {
        match char {
            char if char == quote => return,
            '\\' if quote == '"' => word.extend(chars.next()),
            char => word.push(char),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_is_distinguished_from_what_looks_like_one() {
        for piped in
            ["make 2>&1 | tail -5", "a|b", "cargo test |& tee log", "cd x && go test ./... | tail"]
        {
            assert!(is_piped(piped), "{piped}");
        }
        for plain in [
            "make || true",
            "rg 'a|b' src",
            "rg \"x \\\" | y\" src",
            "rg a\\|b src",
            "set -o pipefail; make | tail",
            "cat <<END\na | b\nEND",
            "make 2>&1",
        ] {
            assert!(!is_piped(plain), "{plain}");
        }
    }

    #[test]
    fn complaints_that_go_nowhere_are_seen() {
        for hidden in
            ["ls a b 2>/dev/null", "ls a 2> /dev/null | head", "make &>/dev/null", "x 2>/dev/null;"]
        {
            assert!(hides_errors(hidden), "{hidden}");
        }
        for shown in ["make 2>&1", "make >/dev/null", "echo '2>/dev/null is a text'", "make 2>log"]
        {
            assert!(!hides_errors(shown), "{shown}");
        }
    }

    #[test]
    fn what_is_run_is_distinguished_from_what_is_shown() {
        for line in [
            "python scratch/try.py",
            "PYTHONPATH=. /opt/venv/bin/python -B ./scratch/try.py --all",
            "cd src && ./scratch/try.py",
            "uv run python scratch/try.py | tail -3",
        ] {
            assert!(runs(line, "scratch/try.py"), "{line}");
        }
        for line in [
            "git add scratch/try.py",
            "cat scratch/try.py",
            "python other.py scratch/try.py",
            "python old-scratch/try.py",
            "python -m pytest",
        ] {
            assert!(!runs(line, "scratch/try.py"), "{line}");
        }
    }

    #[test]
    fn commands_that_change_files_are_known() {
        for changes in [
            "sed -i 's/a/b/' src/a.py",
            "cd src && patch -p1 < ../a.patch",
            "python - <<'EOF'\nPath('a').write_text('b')\nEOF",
            "git checkout -- src/a.py",
            "npx eslint --fix src",
            "cargo fix --lib",
        ] {
            assert!(changes_files(changes), "{changes}");
        }
        for looks in [
            "black .",
            "cargo fmt --all",
            "cargo test fix",
            "git status",
            "git log --stat apply",
            "git stash list",
            "git checkout -b topic",
            "git apply --stat a.patch",
            "git reset --soft HEAD~1",
            "git grep 'sed -i'",
            "python -c 'print(1)'",
            "make > log",
            "ruff check .",
            "rg 'write_text(' src",
            "patch --dry-run -p1 < a.patch",
        ] {
            assert!(!changes_files(looks), "{looks}");
        }
    }

    #[test]
    fn what_is_removed_is_found_from_where_the_command_ran() {
        let takes = |command: &str, file: &str| {
            removed(command, "/app").iter().any(|removed| removed.takes(file, "/app"))
        };
        for (command, file) in [
            ("rm scripts/check.py", "/app/scripts/check.py"),
            ("rm -f ./check.py", "check.py"),
            ("make && rm -- '/app/a b.txt'", "/app/a b.txt"),
            ("git rm -q src/a.rs", "src/a.rs"),
            ("cd src && rm a.rs; make", "/app/src/a.rs"),
            ("cd /tmp\nrm a.rs", "/tmp/a.rs"),
            ("rm -rf out/", "/app/out/deep/a.rs"),
            ("rm ~/.config/a.json", "~/.config/a.json"),
        ] {
            assert!(takes(command, file), "{command}: {file}");
        }
        for (command, file) in [
            ("rm check.py", "/app/scripts/check.py"),
            ("cd /tmp && rm a.rs", "/app/a.rs"),
            ("rm *.py", "/app/a.py"),
            ("rm out", "/app/out/a.rs"),
            ("rm -r out", "/app/output.rs"),
            ("echo rm a.rs", "/app/a.rs"),
            ("cat > x <<END\nrm a.rs\nEND", "/app/a.rs"),
            ("git add a.rs", "/app/a.rs"),
            ("rm ~other/a.rs", "~other/a.rs"),
        ] {
            assert!(!takes(command, file), "{command}: {file}");
        }
    }
}
