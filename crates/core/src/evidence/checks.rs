//! Commands that show whether work is right (tests, linters, builds), each with its outcome.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::chain::{Segment, exits, segments};
use super::runners::{Summary, TestCounts, summaries};
use crate::secrets::mask;
use crate::text::{CUT, cap};
use crate::transcript::ToolCall;

/// The longest command that is shown, in bytes.
const COMMAND: usize = 200;

/// A command that says whether work is right, and how its last run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CheckRun {
    /// The command in one line, without those beside it in its line.
    pub line: String,
    /// Whether it went well, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
    /// Its final output about that, or its exit code; empty where neither is known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub said: String,
}

impl CheckRun {
    /// Returns its outcome, where that is known.
    pub(super) fn how(&self) -> Option<String> {
        match (self.passed, self.said.as_str()) {
            (_, "") => None,
            (Some(false), said) if !said.contains("fail") && !said.contains("rror") => {
                Some(format!("failed, {said}"))
            }
            (_, said) => Some(said.to_owned()),
        }
    }

    /// Whether how it ended is known.
    pub(super) fn is_known(&self) -> bool {
        !self.said.is_empty()
    }
}

/// The checks in a call that ran a command.
pub(super) fn checks(command: &str, call: &ToolCall, project: &str) -> Vec<CheckRun> {
    let masked = mask(command);
    let segments = segments(&masked);
    let exits = exits(&masked, &segments, known_exit(call));
    let known: Vec<(usize, CheckKind)> = segments
        .iter()
        .enumerate()
        .filter_map(|(at, segment)| Some((at, kind(segment.text)?)))
        .collect();
    if known.is_empty() {
        return Vec::new();
    }
    let output = mask(call.output_text());
    let is_cut = is_cut(&output);
    let tested = known.iter().filter(|(_, kind)| *kind == CheckKind::Tests).count();
    let found = summaries(&output);
    let repeated = known.iter().find(|(at, kind)| {
        *kind == CheckKind::Tests && segments.get(*at).is_some_and(|segment| segment.repeats)
    });
    if let (Some((at, _)), true) = (repeated, found.len() > 1) {
        let line = shown(segments.get(*at).map_or("", |it| it.text), project);
        return vec![CheckRun { line, passed: None, said: runs(&found, is_cut) }];
    }
    if tested > 1 && !found.is_empty() && found.len() != tested {
        return vec![together(&segments, &known, &found, is_cut, project)];
    }
    // A script may run the tests under any name.
    let is_script = tested == 0 && known.len() == 1 && !found.is_empty();
    let mut found = match (tested + usize::from(is_script), is_cut) {
        (0, _) => Vec::new(),
        (1, false) => Summary::sum(&found).into_iter().collect(),
        (1, true) => found.into_iter().next_back().into_iter().collect(),
        _ => found,
    }
    .into_iter();
    let linted = known.iter().filter(|(_, kind)| *kind == CheckKind::Other).count();
    let mut verdicts = verdicts(&output);
    verdicts.truncate(if verdicts.len() == linted { linted } else { 0 });
    let mut verdicts = verdicts.into_iter();
    let run = |(at, kind): (usize, CheckKind)| {
        let exit = exits.get(at).copied().flatten();
        let summary = if kind == CheckKind::Tests || is_script { found.next() } else { None };
        let verdict = if kind == CheckKind::Other { verdicts.next() } else { None };
        let by_exit = exit.map(|exit| exit == 0);
        let (passed, said) = match (summary, verdict) {
            (Some(summary), _) => {
                // A runner may fail for another reason than a test.
                let passed = summary.counts.failed == 0 && by_exit != Some(false);
                let exit = exit.filter(|exit| *exit != 0 && summary.counts.failed == 0);
                let exit = exit.map_or_else(String::new, |exit| format!(", but exit {exit}"));
                (Some(passed), format!("{}{exit}", summary.said))
            }
            (None, Some((passed, said))) => (by_exit.or(Some(passed)), said),
            (None, None) => (by_exit, exit.map_or_else(String::new, |exit| format!("exit {exit}"))),
        };
        let line = shown(segments.get(at).map_or("", |it| it.text), project);
        CheckRun { line, passed, said }
    };
    known.into_iter().map(run).collect()
}

/// Returns the exit code of a line as its host reports it: a call that failed without one may have been refused, or
/// cut off. None where a folder that it changes into doesn't exist.
fn known_exit(call: &ToolCall) -> Option<i64> {
    let is_lost = call.output_text().contains("cd:") && call.output_text().contains("No such file");
    call.exit.filter(|exit| *exit == 0 || !is_lost)
}

/// The commands of a line, each with its exit code where that is known.
pub(super) fn parts(command: &str, call: &ToolCall, project: &str) -> Vec<(String, Option<i64>)> {
    let masked = mask(command);
    let segments = segments(&masked);
    let exits = exits(&masked, &segments, known_exit(call));
    segments.iter().map(|it| shown(it.text, project)).zip(exits).collect()
}

/// Joins the output of several runners that can't be separated.
fn together(
    segments: &[Segment<'_>],
    known: &[(usize, CheckKind)],
    found: &[Summary],
    is_cut: bool,
    project: &str,
) -> CheckRun {
    let tests = known.iter().filter(|(_, kind)| *kind == CheckKind::Tests);
    let lines = tests.filter_map(|(at, _)| segments.get(*at)).map(|it| shown(it.text, project));
    let line = lines.collect::<Vec<_>>().join("; ");
    let sum = Summary::sum(found);
    let counts = sum.map_or_else(TestCounts::default, |it| it.counts);
    let said =
        if is_cut { format!("{counts}, as far as shown") } else { format!("{counts} in all") };
    CheckRun { line, passed: (counts.failed > 0).then_some(false), said }
}

/// Describes several runs of one command in a loop: whether they failed, never the sum of their tests.
fn runs(found: &[Summary], is_cut: bool) -> String {
    let failed = found.iter().filter(|run| run.counts.failed > 0).count();
    let count = found.len();
    let first = found.first().map_or("", |run| run.said.as_str());
    let outcome = if found.iter().all(|run| run.said == first) {
        format!("each {first}")
    } else if failed == 0 {
        "none with a failure".to_owned()
    } else {
        format!("{failed} of them with failures")
    };
    let seen = if is_cut { ", as far as shown" } else { "" };
    format!("{count} runs in a loop, {outcome}{seen}")
}

/// Whether a host left out a part of an output.
fn is_cut(output: &str) -> bool {
    ["truncated", "lines omitted", "characters omitted"].iter().any(|word| output.contains(word))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CheckKind {
    /// It runs tests.
    Tests,
    /// It reads or builds.
    Other,
}

/// Programs that run another one, which is the check; without and with an argument of their own.
const WRAPPERS: [&str; 15] = [
    "time",
    "nice",
    "nohup",
    "sudo",
    "env",
    "command",
    "exec",
    "npx",
    "bunx",
    "pnpx",
    "xvfb-run",
    "slot",
    "stdbuf",
    "catchsegv",
    "rtk",
];

/// Returns the kind of check that a command is, by its program and its first words.
pub(super) fn kind(segment: &str) -> Option<CheckKind> {
    let mut words =
        segment.split_whitespace().map(|word| word.trim_matches(['"', '\''])).peekable();
    loop {
        let word = *words.peek()?;
        let is_set = word.contains('=') && !word.starts_with('-');
        if is_set || WRAPPERS.contains(&word) || (word.starts_with('-') && word.len() > 1) {
            words.next();
        } else if word == "timeout" {
            words.next();
            while words
                .next_if(|it| it.starts_with('-') || it.starts_with(|it: char| it.is_ascii_digit()))
                .is_some()
            {}
        } else {
            break;
        }
    }
    let program = words.next()?;
    let name = program.rsplit('/').next().unwrap_or_default();
    let name = name.strip_suffix(".exe").unwrap_or(name);
    let rest: Vec<&str> = words.collect();
    let mut args =
        rest.iter().copied().filter(|it| !it.starts_with(['-', '+']) && !it.contains('='));
    let first = args.next().unwrap_or_default();
    let second = args.next().unwrap_or_default();
    let has = |flag: &str| rest.contains(&flag);
    if has("--version") || has("--help") {
        return None;
    }
    let tests = Some(CheckKind::Tests);
    let other = Some(CheckKind::Other);
    match name {
        "pytest" | "py.test" | "tox" | "nox" | "nose2" | "nosetests" | "jest" | "vitest"
        | "mocha" | "ava" | "tap" | "rspec" | "phpunit" | "pest" | "ctest" | "bats" | "karma"
        | "gotestsum" | "busted" => tests,
        "playwright" | "cypress" => matches!(first, "test" | "run").then_some(CheckKind::Tests),
        "uv" | "poetry" | "pipenv" | "pdm" | "hatch" | "rye" | "bundle" | "mise" | "direnv"
        | "devbox" => {
            let rest: Vec<&str> =
                rest.iter().copied().skip_while(|it| it.starts_with('-')).collect();
            match rest.split_first() {
                Some((&("run" | "exec"), rest)) => {
                    let rest = rest.join(" ");
                    let command = rest.trim_start_matches("-- ");
                    // The commands of mise are tasks of the project.
                    kind(command).or_else(|| {
                        let task = command.split_whitespace().next().filter(|_| name == "mise");
                        task.and_then(script_kind)
                    })
                }
                Some((&"test", _)) => tests,
                _ => None,
            }
        }
        "cargo" => match first {
            "test" | "nextest" | "t" => tests,
            "check" | "clippy" | "build" | "b" | "c" | "doc" | "deny" | "miri" => other,
            "fmt" if has("--check") => other,
            _ => None,
        },
        "go" => match first {
            "test" => tests,
            "vet" | "build" => other,
            _ => None,
        },
        "tsc" | "eslint" | "biome" | "oxlint" | "mypy" | "pyright" | "basedpyright" | "pylint"
        | "flake8" | "pyflakes" | "pycodestyle" | "ty" | "rubocop" | "golangci-lint"
        | "staticcheck" | "shellcheck" | "phpstan" | "psalm" | "ktlint" | "swiftlint"
        | "markdownlint" | "hadolint" | "clang-tidy" | "standard" | "stylelint" | "knip"
        | "vue-tsc" | "svelte-check" | "pre-commit" | "cppcheck" | "yamllint" | "actionlint"
        | "typos" | "codespell" | "gcc" | "g++" | "clang" | "clang++" | "rustc" | "javac" => other,
        "ruff" => matches!(first, "check")
            .then_some(CheckKind::Other)
            .or((first == "format" && has("--check")).then_some(CheckKind::Other)),
        "black" | "isort" | "prettier" | "rustfmt" | "dprint" | "shfmt" => (has("--check")
            || has("-c")
            || has("-d")
            || first == "check"
            || has("--list-different"))
        .then_some(CheckKind::Other),
        "gofmt" => has("-l").then_some(CheckKind::Other),
        "cmake" => has("--build").then_some(CheckKind::Other),
        "docker" | "podman" if first == "build" => other,
        "docker" | "podman" | "docker-compose" => in_container(&rest),
        "bash" | "sh" | "zsh" => {
            if has("-n") {
                return other;
            }
            let is_inline = |word: &&str| word.starts_with('-') && word.ends_with('c');
            match rest.iter().position(is_inline) {
                Some(at) => kind(&rest.get(at + 1..)?.join(" ")),
                None => script_named(first),
            }
        }
        _ => python(name, first, second, &has)
            .or_else(|| script_runner(name, first, second, &rest))
            .or_else(|| builder(name, first, &rest))
            .or_else(|| script_named(program).filter(|_| program.contains('/'))),
    }
}

fn python(name: &str, first: &str, second: &str, has: &dyn Fn(&str) -> bool) -> Option<CheckKind> {
    let (tests, other) = (Some(CheckKind::Tests), Some(CheckKind::Other));
    match name {
        "python" | "python3" | "python2" | "pypy" | "pypy3" => match (has("-m"), first) {
            (true, "pytest" | "unittest" | "doctest" | "nose2" | "tox" | "nox") => tests,
            (
                true,
                "mypy" | "ruff" | "flake8" | "pylint" | "pyright" | "black" | "isort"
                | "compileall" | "py_compile" | "build" | "pyflakes" | "pycodestyle",
            ) => other,
            (false, "manage.py") if second == "test" => tests,
            (false, script) => script_named(script),
            _ => None,
        },
        _ => None,
    }
}

fn script_runner(name: &str, first: &str, second: &str, rest: &[&str]) -> Option<CheckKind> {
    let (tests, other) = (Some(CheckKind::Tests), Some(CheckKind::Other));
    let has = |flag: &str| rest.contains(&flag);
    match name {
        "npm" | "pnpm" | "yarn" | "bun" => match (first, second) {
            ("test" | "t", _) => tests,
            ("run" | "run-script", script) => script_kind(script),
            ("exec" | "x" | "dlx", _) => kind(&rest.get(1..)?.join(" ")),
            ("build", _) => other,
            (script, _) if name != "npm" => script_kind(script),
            _ => None,
        },
        "node" if has("--test") || script_named(first).is_some() => tests,
        // A program of a package, by its file.
        "node" => {
            let file = first.rsplit('/').next().unwrap_or_default();
            let stem = file.split('.').next().unwrap_or_default().trim_start_matches('_');
            (file != first || file != stem).then(|| kind(&format!("{stem} {second}"))).flatten()
        }
        "deno" => match first {
            "test" => tests,
            "check" | "lint" => other,
            "fmt" if has("--check") => other,
            _ => None,
        },
        _ => None,
    }
}

/// The check that a command runs in a container.
fn in_container(rest: &[&str]) -> Option<CheckKind> {
    const WITH_VALUE: [&str; 10] =
        ["-e", "--env", "-w", "--workdir", "-u", "--user", "-v", "--volume", "--name", "--network"];
    let verb = rest.iter().position(|word| matches!(*word, "exec" | "run"))?;
    let mut words = rest.get(verb + 1..)?.iter().copied().peekable();
    while let Some(option) = words.next_if(|word| word.starts_with('-')) {
        if WITH_VALUE.contains(&option) {
            words.next();
        }
    }
    // The container, or the service.
    words.next();
    kind(&words.collect::<Vec<_>>().join(" "))
}

fn builder(name: &str, first: &str, rest: &[&str]) -> Option<CheckKind> {
    match name {
        "make" | "gmake" | "just" | "task" | "mise-run" | "rake" | "ninja" | "bazel"
        | "bazelisk" | "gradle" | "gradlew" | "mvn" | "mvnw" | "sbt" | "ant" | "lein" | "mix"
        | "dotnet" | "swift" | "zig" | "flutter" | "dart" | "cabal" | "stack" | "composer"
        | "xcodebuild" | "meson" | "nx" | "turbo" => {
            let named =
                rest.iter().copied().filter(|it| !it.starts_with('-')).find_map(script_kind);
            let builds = matches!(name, "make" | "gmake" | "ninja" | "mvn" | "gradle" | "gradlew");
            named.or((builds && first.is_empty()).then_some(CheckKind::Other))
        }
        _ => None,
    }
}

/// Returns the kind of check that a target or a script of this name is.
fn script_kind(name: &str) -> Option<CheckKind> {
    const CHECKS: [&str; 12] = [
        "lint",
        "build",
        "check",
        "typecheck",
        "types",
        "tsc",
        "compile",
        "vet",
        "clippy",
        "eslint",
        "format-check",
        "verify",
    ];
    let mut words = name.split([':', '-', '_', '.', '/']);
    if words.clone().any(|word| {
        matches!(word, "test" | "tests" | "e2e" | "unit" | "spec" | "nextest" | "vitest" | "jest")
    }) {
        return Some(CheckKind::Tests);
    }
    words.any(|word| CHECKS.contains(&word)).then_some(CheckKind::Other)
}

/// Returns the kind of check that a script is, by the name of its file.
fn script_named(path: &str) -> Option<CheckKind> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    if !matches!(extension, "" | "sh" | "py" | "js" | "mjs" | "ts" | "rb" | "bash")
        || stem.is_empty()
    {
        return None;
    }
    script_kind(stem).filter(|kind| *kind == CheckKind::Tests || extension == "sh")
}

/// Returns a command as it is shown: in one line, without the change into the project's own folder and without
/// redirections of its output. A long one is cut between two words.
fn shown(segment: &str, project: &str) -> String {
    let mut words: Vec<&str> = segment.split_whitespace().collect();
    while let Some(last) = words.last() {
        let goes = last.starts_with("2>")
            || last.starts_with('>')
            || last.starts_with("&>")
            || *last == "/dev/null";
        let is_target =
            words.len() > 1 && matches!(words[words.len() - 2], ">" | "2>" | "&>" | ">>");
        if is_target {
            words.truncate(words.len() - 2);
        } else if goes {
            words.pop();
        } else {
            break;
        }
    }
    let line = words.join(" ");
    let project = project.trim_end_matches('/');
    let line = if project.is_empty() { line } else { line.replace(&format!("{project}/"), "") };
    if line.len() <= COMMAND {
        return line;
    }
    let cut = cap(&line, COMMAND);
    let whole = cut.rsplit_once(' ').map_or(cut, |(whole, _)| whole);
    format!("{whole}{CUT}")
}

/// Returns the final verdicts of linters and builds, each with whether it is good.
fn verdicts(output: &str) -> Vec<(bool, String)> {
    const GOOD: [&str; 6] = [
        "All checks passed!",
        "Success: no issues found",
        "Finished `",
        "0 errors, 0 warnings",
        "BUILD SUCCESS",
        "no offenses detected",
    ];
    const BAD: [&str; 5] = [
        "error: could not compile",
        "BUILD FAIL",
        "would be reformatted",
        " problems (",
        " problem (",
    ];
    let found = |line: &str| {
        let says_count = line.strip_prefix("Found ").is_some_and(|rest| {
            rest.starts_with(|it: char| it.is_ascii_digit()) && rest.contains("error")
        });
        let good = GOOD.iter().any(|it| line.contains(it)) || line.starts_with("Found 0 errors");
        let bad = says_count || BAD.iter().any(|it| line.contains(it));
        (good || bad).then(|| (good, cap(line, 120).to_owned()))
    };
    output.lines().map(str::trim).filter_map(found).collect()
}

#[cfg(test)]
#[path = "checks_tests.rs"]
mod tests;
