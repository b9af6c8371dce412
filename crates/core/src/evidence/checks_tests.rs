use super::*;
use crate::evidence::Action;

fn outcomes(command: &str, exit: Option<i64>, output: &str) -> String {
    let action = Action::Ran(command.to_owned());
    let call = ToolCall { action, exit, output: Some(output.to_owned()), ..ToolCall::default() };
    let found = checks(command, &call, "/app");
    let line = |it: &CheckRun| Some(format!("`{}`: {}", it.line, it.how()?));
    found.iter().filter_map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn each_check_of_a_chain_has_its_own_outcome() {
    let pytest = "....  [100%]\n325 passed, 16 skipped in 2.25s\n367:aligned with `x`\n";
    assert_eq!(
        outcomes(
            "sed -n 1,9p a; PYTHONPATH=. /venv/bin/python -m pytest -q 2>&1; grep -n x README.md",
            Some(1),
            pytest
        ),
        "`PYTHONPATH=. /venv/bin/python -m pytest -q`: 325 passed, 16 skipped"
    );
    let both = "344 passed, 16 skipped in 1.95s\n..\n314 passed, 46 skipped in 2.22s\n M README.md";
    assert_eq!(
        outcomes(
            "PYTHONPATH=. pytest -q; PYTHONPATH=/tmp/x:. pytest -q; git status --short",
            Some(0),
            both
        ),
        "`PYTHONPATH=. pytest -q`: 344 passed, 16 skipped\n`PYTHONPATH=/tmp/x:. pytest -q`: 314 passed, 46 skipped"
    );
    assert_eq!(
        outcomes("cargo clippy --all && cargo fmt --check && ls", Some(0), ""),
        "`cargo clippy --all`: exit 0\n`cargo fmt --check`: exit 0"
    );
    assert_eq!(outcomes("cargo clippy && cargo fmt --check", Some(1), ""), "", "either of them");
    assert_eq!(outcomes("make test | tail -5", Some(0), "boo"), "");
    assert_eq!(outcomes("cd /app && npm test", Some(1), "boo"), "`npm test`: failed, exit 1");
    for (line, output) in [
        ("cd /no && npm test", "sh: 1: cd: can't cd to /no: No such file or directory"),
        ("make x && cd /app && npm test", ""),
        ("cd /app || npm test", ""),
    ] {
        assert_eq!(outcomes(line, Some(1), output), "", "{line}");
    }
}

#[test]
fn what_a_runner_says_counts_more_than_an_exit_code() {
    assert_eq!(
        outcomes("pytest -q | tail -3", Some(0), "2 failed, 3 passed in 1.0s"),
        "`pytest -q`: 2 failed, 3 passed"
    );
    assert_eq!(
        outcomes("pytest -q", Some(4), "3 passed in 1.0s"),
        "`pytest -q`: failed, 3 passed, but exit 4"
    );
    assert_eq!(
        outcomes("cargo build", Some(101), "error: could not compile `x`"),
        "`cargo build`: error: could not compile `x`"
    );
    assert_eq!(outcomes("make check", Some(2), ""), "`make check`: failed, exit 2");
    assert_eq!(
        outcomes("ruff check . ; true", Some(0), "All checks passed!"),
        "`ruff check .`: All checks passed!"
    );
}

#[test]
fn several_runs_of_a_runner_share_a_line_where_nobody_knows_which_is_which() {
    let three = "test result: ok. 3 passed; 0 failed; 0 ignored\n".repeat(3);
    assert_eq!(outcomes("cargo test -p a", Some(0), &three), "`cargo test -p a`: 9 passed");
    assert_eq!(
        outcomes("cargo test -p a; cargo test -p b", Some(0), &three),
        "`cargo test -p a; cargo test -p b`: 9 passed in all"
    );
    let cut = format!("... output truncated ...\n{three}");
    assert_eq!(outcomes("cargo test -p a", Some(0), &cut), "`cargo test -p a`: 3 passed");
}

#[test]
fn runs_in_a_loop_are_not_added_up() {
    let loops = "for seed in 1 2 3; do pytest -q -p seed=$seed | tail -1; done";
    let same = "9 passed in 0.1s\n".repeat(3);
    assert_eq!(
        outcomes(loops, Some(0), &same),
        "`pytest -q -p seed=$seed`: 3 runs in a loop, each 9 passed"
    );
    let mutants = "9 passed in 0.1s\n1 failed, 8 passed in 0.1s\n2 failed, 7 passed in 0.1s\n";
    assert_eq!(
        outcomes(loops, Some(0), mutants),
        "`pytest -q -p seed=$seed`: 3 runs in a loop, 2 of them with failures"
    );
    let once = "for file in a b; do echo $file; done; pytest -q";
    assert_eq!(outcomes(once, Some(0), "9 passed in 0.1s"), "`pytest -q`: 9 passed");
}

#[test]
fn checks_are_distinguished_from_other_commands() {
    for line in [
        "pytest",
        "python -m pytest tests/a.py",
        "timeout 60 cargo nextest run",
        "FOO=1 npm run test:unit",
        "./run_tests.sh",
        "bash scripts/test.sh",
        "go test ./...",
        "uv run pytest",
        "npx vitest run",
        "make test",
        "yarn test",
        "node --test",
        "./gradlew test",
        "mix test",
        "bundle exec rspec",
        "python manage.py test",
    ] {
        assert_eq!(kind(line), Some(CheckKind::Tests), "{line}");
    }
    for line in [
        "cargo clippy -p x",
        "tsc --noEmit",
        "npm run build",
        "ruff check .",
        "make",
        "black --check .",
        "mypy src",
        "pnpm lint",
        "gofmt -l .",
        "npx eslint src",
        "cmake --build out",
        "bash -n x.sh",
    ] {
        assert_eq!(kind(line), Some(CheckKind::Other), "{line}");
    }
    for line in [
        "git diff",
        "rg test",
        "ls tests",
        "cat test.py",
        "cargo run",
        "npm install",
        "black .",
        "python a.py",
        "echo test",
        "cd build",
        "cargo fmt",
        "make install",
        "node server.js",
        "python -c 'import test'",
        "",
    ] {
        assert_eq!(kind(line), None, "{line}");
    }
}

#[test]
fn a_long_command_is_cut_between_two_words_and_says_so() {
    let line = format!("pytest {} > log.txt 2>&1", "/app/tests/test_one.py ".repeat(20));
    let outcomes = outcomes(&line, Some(0), "");
    assert!(outcomes.starts_with("`pytest tests/test_one.py tests/"), "{outcomes}");
    assert!(outcomes.contains("test_one.py …`: exit 0"), "{outcomes}");
}
