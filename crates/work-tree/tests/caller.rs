//! The effects of the caller's environment and the user's own configuration.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use callstack_engine::{Kind, WorkTree as _};

use super::repository::{Repository, tree_of};

/// Variables with the project that a process of this test has to record, and with its time limit in milliseconds.
const PROJECT: &str = "CALLSTACK_TEST_PROJECT";
const PATIENCE: &str = "CALLSTACK_TEST_PATIENCE";

/// Returns the files of a state that another process records in this environment, or its error.
fn recorded_with(
    repository: &Repository,
    variables: &[(&str, &str)],
) -> Result<Vec<String>, String> {
    let mut process = Command::new(std::env::current_exe().unwrap());
    process.args(["--exact", "caller::another_process", "--ignored", "--nocapture"]);
    process.env("HOME", repository.root()).env_remove("XDG_CONFIG_HOME");
    process.env_remove("GIT_CONFIG_GLOBAL").env("GIT_CONFIG_NOSYSTEM", "1");
    process.env(PROJECT, repository.project()).envs(variables.iter().copied());
    let output = process.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let lines = |prefix: &str| {
        said.lines().filter_map(|it| it.strip_prefix(prefix).map(str::to_owned)).collect()
    };
    let (files, failures): (Vec<String>, Vec<String>) = (lines("holds "), lines("failed "));
    failures.into_iter().next().map_or(Ok(files), Err)
}

#[test]
#[ignore = "started by other tests, in an environment of their own"]
fn another_process() {
    let variable = |name| std::env::var_os(name).unwrap();
    let patience = std::env::var(PATIENCE).map_or(60_000, |it| it.parse().unwrap());
    let tree = tree_of(Path::new(&variable(PROJECT)));
    println!();
    match tree.record(Duration::from_millis(patience)) {
        Ok(None) => println!("failed no work tree"),
        Ok(Some(state)) => {
            tree.held(&state).unwrap().iter().for_each(|file| println!("holds {file}"));
        }
        Err(error) => println!("failed {:?} {}", error.kind, error.message),
    }
}

fn script(file: &Path, text: &str) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn no_variable_of_the_caller_makes_git_do_anything_else() {
    let repository = Repository::with(&["a"]);
    let (marker, command) = (repository.root().join("it-ran"), repository.root().join("command"));
    script(&command, &format!("echo \"$@\" >> '{}'; exit 1", marker.display()));
    let bin = repository.root().join("bin");
    for name in ["git", "git-ls-files", "git-config", "git-update-index"] {
        script(&bin.join(name), &format!("exec {}", command.display()));
    }
    let (command, bin) = (command.to_str().unwrap(), bin.to_str().unwrap());
    let marker_path = marker.to_str().unwrap();
    let variables = [
        ("GIT_CONFIG_COUNT", "2"),
        ("GIT_CONFIG_KEY_0", "core.fsmonitor"),
        ("GIT_CONFIG_VALUE_0", command),
        ("GIT_CONFIG_KEY_1", "core.bare"),
        ("GIT_CONFIG_VALUE_1", "true"),
        ("GIT_CONFIG_PARAMETERS", "'core.worktree'='/'"),
        ("GIT_DIR", "/nowhere"),
        ("GIT_WORK_TREE", "/"),
        ("GIT_INDEX_FILE", marker_path),
        ("GIT_EXEC_PATH", bin),
        ("GIT_EXTERNAL_DIFF", command),
        ("GIT_PAGER", command),
        ("GIT_SSH", command),
        ("GIT_TRACE", marker_path),
        ("GIT_TRACE2_EVENT", marker_path),
        ("GIT_TRACE_SETUP", marker_path),
        ("GIT_SHALLOW_FILE", marker_path),
        ("GIT_REDIRECT_STDOUT", marker_path),
        ("GIT_ATTR_SOURCE", "nothing"),
    ];
    assert_eq!(recorded_with(&repository, &variables).unwrap(), ["a"]);
    assert!(!marker.exists(), "{:?}", fs::read_to_string(&marker));
}

#[test]
fn a_program_in_the_project_is_not_taken_for_git() {
    let repository = Repository::with(&["a"]);
    let marker = repository.root().join("it-ran");
    script(&repository.project().join("git"), &format!("echo >> '{}'", marker.display()));
    let path = format!(".::{}", std::env::var("PATH").unwrap());
    assert_eq!(recorded_with(&repository, &[("PATH", &path)]).unwrap(), ["a", "git"]);
    assert!(!marker.exists());
}

/// Secrets that a user's git ignores everywhere stay out of states.
#[test]
fn what_the_user_has_ignored_everywhere_is_in_no_state() {
    let repository = Repository::with(&["a"]);
    for file in [".env", "by-default", "by-repository"] {
        repository.write(file, "secret");
    }
    let home = |file: &str, text: &str| {
        let file = repository.root().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    let rest = |left: &[&str]| left.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let holds = |variables: &[(&str, &str)]| {
        drop(fs::remove_dir_all(repository.project().join(".callstack/git")));
        recorded_with(&repository, variables).unwrap()
    };
    assert_eq!(holds(&[]), rest(&[".env", "a", "by-default", "by-repository"]));
    home(".config/git/ignore", "by-default\n");
    assert_eq!(holds(&[]), rest(&[".env", "a", "by-repository"]));
    home("xdg/git/ignore", ".env\n");
    let xdg = repository.root().join("xdg");
    let xdg = [("XDG_CONFIG_HOME", xdg.to_str().unwrap())];
    assert_eq!(holds(&xdg), rest(&["a", "by-default", "by-repository"]));

    home("ignored", ".env\n");
    home(".gitconfig", "[core]\n\texcludesFile = ~/ignored\n");
    assert_eq!(holds(&[]), rest(&["a", "by-default", "by-repository"]));
    // The repository's own list is ignored as well, and does not replace the user's.
    home("also", "by-repository\n");
    let also = repository.root().join("also");
    repository.git(&["config", "core.excludesFile", also.to_str().unwrap()]);
    assert_eq!(holds(&[]), rest(&["a", "by-default"]));
    repository.git(&["config", "core.excludesFile", "/nowhere"]);
    assert_eq!(holds(&[]), rest(&["a", "by-default", "by-repository"]));
    // From here on nobody knows what is ignored.
    home(".gitconfig", "[core\n");
    recorded_with(&repository, &[]).unwrap_err();
}

/// The processes that run with these arguments.
fn running(arguments: &str) -> usize {
    let listed = Command::new("ps").args(["-eo", "args"]).output().unwrap();
    String::from_utf8_lossy(&listed.stdout).lines().filter(|line| *line == arguments).count()
}

#[test]
fn a_git_that_sleeps_is_left_with_all_that_it_has_started() {
    let repository = Repository::with(&["a"]);
    // A time of its own, which names its process.
    let sleep = format!("sleep {}", 100_000 + std::process::id());
    let bin = repository.root().join("bin");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let variables = [("PATH", path.as_str()), (PATIENCE, "300")];
    for wrapper in [sleep.clone(), format!("{sleep} & wait"), format!("{sleep} & exit 0")] {
        script(&bin.join("git"), &wrapper);
        let failure = recorded_with(&repository, &variables).unwrap_err();
        assert!(failure.starts_with(&format!("{:?}", Kind::Unavailable)), "{wrapper}: {failure}");
        assert_eq!(running(&sleep), 0, "{wrapper}");
    }
}

#[test]
fn a_git_that_writes_without_end_is_left() {
    let repository = Repository::with(&["a"]);
    let bin = repository.root().join("bin");
    script(&bin.join("git"), "exec yes");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let failure = recorded_with(&repository, &[("PATH", &path)]).unwrap_err();
    assert!(failure.contains("it wrote more than"), "{failure}");
}
