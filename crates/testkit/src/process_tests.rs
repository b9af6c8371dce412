use std::time::{Duration, Instant};

use crate::{Sealed, TestError};

fn shell(sealed: &Sealed, script: &str) -> std::process::Command {
    let mut command = sealed.command("sh");
    command.args(["-c", script]);
    command
}

/// A `sleep` that no other run of these tests has among its processes.
fn sleep(number: u32) -> String {
    format!("sleep 8{}{number}", std::process::id())
}

/// Waits until no process has `mark` among its arguments any more; `false` after 5 s.
fn goes(sealed: &Sealed, mark: &str) -> bool {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(5) {
        let mut command = sealed.command("ps");
        command.args(["-eo", "args"]);
        let seen = sealed.run("ps", command, Duration::from_secs(10)).unwrap();
        assert!(seen.success(), "{seen}");
        if !seen.stdout.contains(mark) {
            return true;
        }
    }
    false
}

#[test]
fn a_command_knows_only_what_is_sealed() {
    let sealed = Sealed::new().unwrap();
    let env = sealed.run("env", sealed.command("env"), Duration::from_secs(10)).unwrap();
    let project = sealed.project();
    assert!(env.stdout.contains(&format!("PWD={}", project.display())), "{env}");
    assert!(env.stdout.contains(&format!("HOME={}", sealed.home().display())), "{env}");
    assert!(!env.stdout.contains("CARGO"), "the test's own environment stays outside: {env}");
}

#[test]
fn output_and_exit_code_are_kept() {
    let sealed = Sealed::new().unwrap();
    let command = shell(&sealed, "echo out; echo err >&2; exit 3");
    let done = sealed.run("sh", command, Duration::from_secs(10)).unwrap();
    assert_eq!(done.status.code(), Some(3));
    assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("out\n", "err\n"));
    assert!(!done.success());
}

#[test]
fn what_takes_too_long_is_killed_with_its_children() {
    let sealed = Sealed::new().unwrap();
    let limit = Duration::from_millis(300);
    let (in_background, in_foreground) = (sleep(1), sleep(2));
    let command = shell(&sealed, &format!("echo begun; {in_background} & {in_foreground}; true"));
    let started = Instant::now();
    let failed = sealed.run("slow", command, limit).unwrap_err();
    assert!(started.elapsed() < Duration::from_secs(20));
    let TestError::TooLong { so_far, .. } = failed else { panic!("{failed}") };
    assert_eq!(so_far, "begun\n");
    assert!(goes(&sealed, &in_background) && goes(&sealed, &in_foreground));
}

#[test]
fn a_dropped_process_is_gone_and_so_is_its_folder() {
    let sealed = Sealed::new().unwrap();
    let root = sealed.root().to_owned();
    let running = sealed.start("left", shell(&sealed, &format!("exec {}", sleep(3)))).unwrap();
    drop(running);
    assert!(goes(&sealed, &sleep(3)));
    drop(sealed);
    assert!(std::env::var_os("CALLSTACK_TEST_KEEP").is_some() || !root.exists());
}
