//! Stores that were not made here: nothing of them is opened, run or written until somebody takes them over.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use callstack_engine::{Engine, Settings, SystemWorld};
use callstack_testkit::{Loopback, Reply};
use serde_json::{Value, json};

use super::host::serve;
use super::test_env::{Said, TestEnv, says};

/// Runs a line of shell in a folder.
fn shell(desk: &TestEnv, folder: &Path, line: &str) {
    let mut command = desk.sealed.command_in(folder, "sh");
    command.args(["-ec", line]);
    let said = desk.sealed.run("sh", command, Duration::from_secs(30)).unwrap();
    assert!(said.success(), "{line}: {said}");
}

const COMMIT: &str = "git add -fA . && git -c user.name=a -c user.email=a@localhost commit -qm x";

/// Makes a clone of the project with everything in it committed, the store too.
fn cloned(desk: &TestEnv) -> PathBuf {
    let clone = desk.sealed.root().join("clone");
    shell(
        desk,
        &desk.project(),
        &format!("git init -q -b main . && {COMMIT} && git clone -q . ../clone"),
    );
    clone
}

/// The content of every file in a store, by name.
fn content(project: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(project.join(".callstack"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file() && !path.is_symlink())
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    files.sort();
    files
}

/// Asserts that neither a command nor an agent uses the store, and that not a byte of it changes.
#[track_caller]
fn is_refused(desk: &TestEnv, project: &Path) -> String {
    let before = content(project);
    let mut why = String::new();
    for args in [
        &["tree"][..],
        &["push", "--here", "x", "-c", "y"],
        &["export"],
        &["search", "x"],
        &["config"],
        &["doctor"],
        &["doctor", "--rebuild"],
        &["init", "opencode"],
        &["rollback", "f1", "--yes"],
        &["purge", "f1", "--yes"],
    ] {
        let said = desk.run_in(project, args);
        assert_eq!(said.code, 7, "{args:?}: {}{}", said.stdout, said.stderr);
        if why.is_empty() {
            why = said.stderr;
        }
    }
    assert!(!project.join(".opencode").exists());
    let answer = asked(desk, project);
    assert_eq!(answer["error"]["kind"], "untrusted", "{answer}");
    assert_eq!(content(project), before);
    why
}

/// Returns the answer of the process that serves a plugin.
fn asked(desk: &TestEnv, project: &Path) -> Value {
    let hello = json!({"id": 1, "method": "hello", "params": {"protocol": 1}});
    let folder = project.to_str().unwrap();
    let args = ["-C", folder, "host", "opencode"];
    let said = desk.run_with(&args, format!("{hello}\n").as_bytes());
    assert_eq!(said.code, 0, "{}", said.stderr);
    serde_json::from_str(&said.stdout).unwrap()
}

#[track_caller]
fn is_used(desk: &TestEnv, project: &Path) {
    let said = desk.run_in(project, &["push", "--here", "x", "-c", "y"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(asked(desk, project)["result"]["protocol"], 1);
}

fn trusted(desk: &TestEnv, project: &Path) -> Said {
    desk.run_in(project, &["trust", "--yes"])
}

#[test]
fn a_committed_store_sends_nothing_anywhere() {
    let model = Loopback::start(vec![Reply::chat("Yours.")]).unwrap();
    let desk = TestEnv::with_frames();
    let engine =
        Engine::open_unchecked(&desk.project(), Settings::default(), Box::new(SystemWorld))
            .unwrap();
    for (name, value) in [
        ("STACK_SUMMARIZER_ADDRESS", model.address()),
        ("STACK_SUMMARIZER_MODEL", "any"),
        ("STACK_SUMMARIZER_KEY_ENV", "SECRET_OF_THE_USER"),
    ] {
        engine.set_setting(name, Some(value)).unwrap();
    }
    drop(engine);
    let clone = cloned(&desk);
    let pop = |project: &Path| {
        let mut command = desk.command(project, &["pop"]);
        command.env("SECRET_OF_THE_USER", "dummy");
        desk.finish(command)
    };
    assert_eq!(pop(&clone).code, 7);
    is_refused(&desk, &clone);
    let said = trusted(&desk, &clone);
    assert_eq!(said.code, 7, "what git tracks is never taken over: {}", said.stdout);
    assert!(said.stderr.contains("git rm -r --cached .callstack"), "{}", said.stderr);
    is_refused(&desk, &clone);
    shell(&desk, &clone, "git rm -rq --cached .callstack");
    is_refused(&desk, &clone);
    assert_eq!(model.asked(), []);
}

#[test]
fn a_committed_repository_of_states_runs_nothing() {
    let desk = TestEnv::without_store();
    let ran = desk.sealed.root().join("ran");
    desk.sealed.write("a.txt", "a\n").unwrap();
    let config = format!(
        "[core]\nrepositoryformatversion=1\nbare=true\n[extensions]\npartialClone=origin\n\
         [remote \"origin\"]\npromisor=true\nurl=.\nuploadpack=\"touch {}; false\"\n",
        ran.display()
    );
    desk.sealed.write(".callstack/git/config", &config).unwrap();
    desk.sealed.write(".callstack/git/HEAD", "ref: refs/heads/x\n").unwrap();
    desk.sealed.write(".callstack/git/refs/keep", "").unwrap();
    desk.sealed.write(".callstack/git/objects/keep", "").unwrap();
    let line = "git init -q -b main . && G=.callstack/git && \
        printf '100644 1111111111111111111111111111111111111111 0\\ta.txt\\n' | \
        git --git-dir $G --work-tree . update-index --index-info && \
        git --git-dir $G --work-tree . update-index --assume-unchanged a.txt";
    shell(&desk, &desk.project(), line);
    let clone = cloned(&desk);
    is_refused(&desk, &clone);
    // Its configuration has no effect, even for a user who takes the store over.
    shell(&desk, &clone, "git rm -rq --cached .callstack");
    assert_eq!(trusted(&desk, &clone).code, 0);
    is_used(&desk, &clone);
    assert!(!ran.exists());
    assert!(!clone.join(".callstack/git").exists(), "states are kept elsewhere");
}

#[test]
fn committed_links_are_not_followed() {
    for name in ["callstack.log", "logs", ".gitignore", "callstack.db", "id", "callstack.db-wal"] {
        let desk = TestEnv::with_frames();
        let outside = desk.sealed.root().join("outside");
        let link = desk.project().join(".callstack").join(name);
        drop(fs::remove_file(&link).or_else(|_| fs::remove_dir_all(&link)));
        symlink(&outside, &link).unwrap();
        let clone = cloned(&desk);
        is_refused(&desk, &clone);
        assert_ne!(trusted(&desk, &clone).code, 0);
        assert!(fs::symlink_metadata(&outside).is_err(), "{name}");
    }
    let desk = TestEnv::without_store();
    let outside = desk.sealed.root().join("outside");
    fs::create_dir(&outside).unwrap();
    symlink("../outside", desk.project().join(".callstack")).unwrap();
    let clone = cloned(&desk);
    assert_eq!(desk.run_in(&clone, &["push", "x", "-c", "y"]).code, 7);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn a_branch_that_brings_a_store_is_noticed_by_the_next_command() {
    let desk = TestEnv::with_frames();
    let project = desk.project();
    // Somebody's branch has a store; on the user's own one it is ignored.
    let line = format!(
        "git init -q -b main . && echo a > a.txt && git add a.txt && {} && cp -a .callstack ../kept && \
         git checkout -qb theirs && echo theirs > .callstack/callstack.db && {COMMIT} && \
         git checkout -q main && mv ../kept .callstack",
        COMMIT.split(" && ").last().unwrap_or_default()
    );
    shell(&desk, &project, &line);
    is_used(&desk, &project);
    shell(&desk, &project, "git checkout -qf theirs");
    is_refused(&desk, &project);
    assert_eq!(trusted(&desk, &project).code, 7);
}

#[test]
fn a_copied_project_is_asked_about_once() {
    let desk = TestEnv::with_frames();
    let copy = desk.sealed.root().join("copy");
    shell(&desk, &desk.project(), "cp -a . ../copy");
    is_refused(&desk, &copy);
    says!(output: desk, desk.run_in(&copy, &["tree"]), @r"
    exit 7
    --- stderr
    error: the store $ROOT/copy/.callstack is the one of $ROOT/project
    hint: Nothing of it was used. If you have moved or copied the project, `callstack trust` takes the store over.
    ");
    assert_eq!(trusted(&desk, &copy).code, 0);
    is_used(&desk, &copy);
    is_used(&desk, &desk.project());
    assert_eq!(desk.handles().len(), 6, "each has frames of its own");
}

#[test]
fn a_moved_project_is_asked_about_once_and_keeps_its_states() {
    let desk = TestEnv::without_store();
    desk.sealed.write("a.txt", "before\n").unwrap();
    desk.sealed.git_init().unwrap();
    desk.ok(&["push", "--here", "Change it", "-c", "changed"]);
    desk.sealed.write("a.txt", "after\n").unwrap();
    desk.ok(&["artifact", "a.txt"]);
    desk.ok(&["pop", "-r", "Changed."]);
    let moved = desk.sealed.root().join("moved");
    fs::rename(desk.project(), &moved).unwrap();
    fs::create_dir(desk.project()).unwrap();
    is_refused(&desk, &moved);
    let said = trusted(&desk, &moved);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let said = desk.run_in(&moved, &["rollback", "f1", "--yes"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(fs::read_to_string(moved.join("a.txt")).unwrap(), "before\n");
}

#[test]
fn a_copy_keeps_the_states_of_its_files() {
    let desk = TestEnv::without_store();
    desk.sealed.write("a.txt", "before\n").unwrap();
    desk.sealed.git_init().unwrap();
    desk.ok(&["push", "--here", "Change it", "-c", "changed"]);
    desk.sealed.write("a.txt", "after\n").unwrap();
    desk.ok(&["artifact", "a.txt"]);
    desk.ok(&["pop", "-r", "Changed."]);
    let copy = desk.sealed.root().join("copy");
    shell(&desk, &desk.project(), "cp -a . ../copy");
    assert_eq!(trusted(&desk, &copy).code, 0);
    let said = desk.run_in(&copy, &["rollback", "f1", "--yes"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(fs::read_to_string(copy.join("a.txt")).unwrap(), "before\n");
    assert_eq!(desk.sealed.read("a.txt").unwrap(), "after\n");
}

#[test]
fn a_worktree_has_a_store_of_its_own() {
    let desk = TestEnv::with_frames();
    desk.sealed.git_init().unwrap();
    shell(&desk, &desk.project(), "git worktree add -q ../beside -b beside");
    let beside = desk.sealed.root().join("beside");
    assert_eq!(desk.run_in(&beside, &["tree"]).code, 3);
    is_used(&desk, &beside);
    assert!(beside.join(".callstack/callstack.db").is_file());
}

#[test]
fn a_store_of_an_older_callstack_is_taken_over_with_its_states() {
    let desk = TestEnv::without_store();
    desk.sealed.write("a.txt", "before\n").unwrap();
    desk.sealed.git_init().unwrap();
    desk.ok(&["push", "--here", "Change it", "-c", "changed"]);
    desk.sealed.write("a.txt", "after\n").unwrap();
    desk.ok(&["artifact", "a.txt"]);
    desk.ok(&["pop", "-r", "Changed."]);
    // As in versions without ids of stores: the states lie in the store.
    let state = desk.sealed.home().join(".local/state/callstack");
    shell(
        &desk,
        &desk.project(),
        &format!("mv {0}/stores/*/git .callstack/git && rm -r {0} .callstack/id", state.display()),
    );
    let why = is_refused(&desk, &desk.project());
    assert!(why.contains("such as one that an older callstack made, `callstack trust`"), "{why}");
    says!(desk, ["trust"], @r"
    exit 2
    $ROOT/project/.callstack
      FILES, SIZE
      a database, SIZE: frames, messages and settings, which decide what agents are sent
      states of the project's files; their objects are taken over, and no configuration
      last changed TIME
      belongs to user N
      it has no id: an older callstack made it, or somebody else
    --- stderr
    error: $ROOT/project/.callstack is not trusted yet, and nobody can be asked here
    hint: `callstack trust --dry-run` shows what is in it; --yes takes it over.
    ");
    says!(desk, ["trust", "--yes"], @r"
    exit 0
    $ROOT/project/.callstack
      FILES, SIZE
      a database, SIZE: frames, messages and settings, which decide what agents are sent
      states of the project's files; their objects are taken over, and no configuration
      last changed TIME
      belongs to user N
      it has no id: an older callstack made it, or somebody else
    trusted: $ROOT/project/.callstack
    FILES of states of the project's files went with it
    ");
    assert!(!desk.project().join(".callstack/git").exists());
    desk.ok(&["rollback", "f1", "--yes"]);
    assert_eq!(desk.sealed.read("a.txt").unwrap(), "before\n");
    says!(desk, ["trust"], @r"
    exit 0
    $ROOT/project/.callstack
      FILES, SIZE
      a database, SIZE: frames, messages and settings, which decide what agents are sent
      last changed TIME
      belongs to user N
      it is trusted
    ");
}

#[test]
fn trust_is_listed_and_taken_back() {
    let desk = TestEnv::with_frames();
    says!(desk, ["trust", "--list"], @r"
    exit 0
    $ROOT/project
    ");
    says!(desk, ["trust", "--revoke"], @r"
    exit 0
    not trusted any more: $ROOT/project/.callstack
    ");
    is_refused(&desk, &desk.project());
    says!(desk, ["trust", "--list"], @r"
    exit 0
    no store is on record
    ");
    says!(desk, ["trust", "--revoke"], @r"
    exit 3
    --- stderr
    error: no store of $ROOT/project is on record
    hint: `callstack trust --list` shows those that are.
    ");
    assert_eq!(desk.json(&["trust", "--yes"])["trusted"], true);
    is_used(&desk, &desk.project());
    fs::remove_dir_all(desk.project().join(".callstack")).unwrap();
    says!(desk, ["trust", "--list"], @r"
    exit 0
    $ROOT/project  its store is gone
    ");
    says!(desk, ["trust"], @r"
    exit 3
    --- stderr
    error: no callstack store in $ROOT/project
    hint: Name the project's folder: `callstack trust PATH`.
    ");
    assert_eq!(desk.run(&["-C", desk.sealed.home().to_str().unwrap(), "trust"]).code, 2);
}

#[test]
fn containers_name_their_projects() {
    let desk = TestEnv::with_frames();
    let (project, state) = (desk.project(), desk.sealed.home().join(".local/state/callstack"));
    fs::remove_dir_all(&state).unwrap();
    is_refused(&desk, &project);
    let tree = |named: &str| {
        let mut command = desk.command(&project, &["tree"]);
        command.env("CALLSTACK_TRUST", named);
        desk.finish(command).code
    };
    let path = project.to_str().unwrap();
    assert_eq!(tree(&format!("/elsewhere:{path}")), 0);
    assert_eq!(tree("/elsewhere"), 7);
    assert_eq!(tree("."), 7);
    is_refused(&desk, &project);
    symlink("/elsewhere", project.join(".callstack/other")).unwrap();
    assert_eq!(tree(path), 7);
}

#[test]
fn a_store_above_the_root_of_the_work_tree_is_not_used() {
    let desk = TestEnv::with_frames();
    let below = desk.project().join("vendor/library");
    fs::create_dir_all(below.join("src")).unwrap();
    shell(&desk, &below, "git init -q .");
    assert_eq!(desk.run_in(&below.join("src"), &["tree"]).code, 3);
    is_used(&desk, &below.join("src"));
    assert!(below.join(".callstack/callstack.db").is_file());
    assert_eq!(desk.handles().len(), 5);
}

#[test]
fn a_store_of_another_user_or_of_everybody_is_refused() {
    let desk = TestEnv::with_frames();
    let folder = desk.project().join(".callstack");
    let set = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
    set(0o777);
    is_refused(&desk, &desk.project());
    assert_eq!(trusted(&desk, &desk.project()).code, 7);
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o777);
    set(0o770);
    is_used(&desk, &desk.project());
    if std::os::unix::fs::chown(&folder, Some(65_534), None).is_err() {
        eprintln!("skipped: only root can give files away");
        return;
    }
    is_refused(&desk, &desk.project());
    assert_eq!(trusted(&desk, &desk.project()).code, 7);
    std::os::unix::fs::chown(desk.project(), Some(65_534), None).unwrap();
    is_used(&desk, &desk.project());
}

/// The next command would refuse it.
#[test]
fn a_store_whose_database_has_a_trigger_is_not_taken_over() {
    let desk = TestEnv::with_frames();
    desk.ok(&["trust", "--revoke"]);
    let raw = |statement| {
        rusqlite::Connection::open(desk.database()).unwrap().execute_batch(statement).unwrap();
    };
    raw("CREATE TRIGGER grows AFTER INSERT ON events BEGIN SELECT 1; END");
    for args in [&["trust", "--dry-run"][..], &["trust", "--yes"]] {
        let said = desk.run(args);
        assert_eq!(said.code, 7, "{}", said.stdout);
        assert!(said.stderr.contains("has the trigger \"grows\""), "{}", said.stderr);
    }
    is_refused(&desk, &desk.project());
    raw("DROP TRIGGER grows");
    desk.ok(&["trust", "--yes"]);
    is_used(&desk, &desk.project());
}

#[test]
fn an_empty_folder_is_taken_for_a_new_store() {
    let desk = TestEnv::without_store();
    fs::create_dir(desk.project().join(".callstack")).unwrap();
    is_used(&desk, &desk.project());
    let desk = TestEnv::without_store();
    desk.sealed.write(".callstack/.gitignore", "*\n").unwrap();
    let clone = cloned(&desk);
    is_used(&desk, &clone);
}

#[test]
fn what_is_no_file_is_refused_without_waiting() {
    let desk = TestEnv::with_frames();
    for name in ["callstack.log.1", "callstack.db-shm", "other"] {
        let path = desk.project().join(".callstack").join(name);
        drop(fs::remove_file(&path));
        shell(&desk, &desk.project(), &format!("mkfifo .callstack/{name}"));
        is_refused(&desk, &desk.project());
        fs::remove_file(path).unwrap();
    }
    is_used(&desk, &desk.project());
    let answer = serve(&desk, &[json!({"id": 1, "method": "hello", "params": {"protocol": 1}})]);
    assert!(answer.stdout.contains("\"protocol\""));
}

/// A folder of the search path whose `git` is this script.
fn with_git(desk: &TestEnv, script: &str) {
    let bin = desk.sealed.root().join("bin");
    fs::create_dir_all(&bin).unwrap();
    drop(fs::remove_file(bin.join("git")));
    fs::write(bin.join("git"), format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn where_git_fails_a_store_is_used_without_states_of_files() {
    for (script, why) in [
        ("echo 'fatal: no such tool' >&2; exit 72", "git refused: fatal: no such tool"),
        ("kill -9 $$", "git refused: "),
        ("echo 'neither this nor that'", ""),
    ] {
        let desk = TestEnv::without_store();
        desk.sealed.git_init().unwrap();
        with_git(&desk, script);
        is_used(&desk, &desk.project());
        is_used(&desk, &desk.project());
        let report = desk.ok(&["doctor"]);
        let line = format!("! files can't be rolled back: {why}");
        assert_eq!(report.contains(&line), !why.is_empty(), "{report}");
        // The paths that git tracks are found without it.
        fs::remove_file(desk.sealed.root().join("bin/git")).unwrap();
        shell(&desk, &desk.project(), "git add -f .callstack");
        with_git(&desk, script);
        let why = is_refused(&desk, &desk.project());
        assert!(why.contains("git tracks .callstack/"), "{why}");
    }
}

#[test]
fn where_there_is_no_git_a_store_is_used_unless_it_is_tracked() {
    let desk = TestEnv::without_store();
    desk.sealed.git_init().unwrap();
    let run = |args: &[&str]| {
        let mut command = desk.command(&desk.project(), args);
        command.env("PATH", "/nowhere");
        desk.finish(command)
    };
    for _ in 0..2 {
        assert_eq!(run(&["push", "--here", "x", "-c", "y"]).code, 0);
    }
    assert!(run(&["doctor"]).stdout.contains("! files can't be rolled back: git is not there"));
    shell(&desk, &desk.project(), "git add -f .callstack");
    let said = run(&["push", "x", "-c", "y"]);
    assert_eq!(said.code, 7);
    assert!(said.stderr.contains("git tracks .callstack/callstack.db"), "{}", said.stderr);
    // Nothing shows which files are tracked.
    fs::write(desk.project().join(".git/index"), "damaged").unwrap();
    let said = run(&["push", "x", "-c", "y"]);
    assert_eq!(said.code, 7);
    assert!(said.stderr.contains("it is not known whether git tracks paths"), "{}", said.stderr);
}

#[test]
fn that_files_are_not_recorded_is_logged_once() {
    let desk = TestEnv::without_store();
    desk.sealed.git_init().unwrap();
    with_git(&desk, "echo 'fatal: broken' >&2; exit 1");
    let push = |id: u64| {
        let args = json!({"title": format!("Step {id}"), "successCriteria": "done"});
        let params = json!({"name": "stack_frame_push", "args": args, "session": "ses_a",
            "message": format!("msg_{id}"), "call": format!("call_{id}")});
        json!({"id": id, "method": "tool", "params": params})
    };
    let said = serve(&desk, &[push(1), push(2), push(3)]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(desk.handles().len() >= 3, "{}", said.stdout);
    let log = fs::read_to_string(desk.project().join(".callstack/callstack.log")).unwrap();
    let lines: Vec<_> = log.lines().filter(|line| line.contains("Files not recorded")).collect();
    assert_eq!(lines.len(), 1, "{log}");
    assert!(lines.iter().all(|line| line.contains("git refused: fatal: broken")), "{lines:?}");
}
