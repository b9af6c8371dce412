//! Colours, pipes and who reads them.

use std::process::Stdio;

use super::test_env::{BINARY, TestEnv};

const ESCAPE: char = '\u{1b}';

#[test]
fn nothing_but_a_terminal_gets_escapes() {
    let desk = TestEnv::with_frames();
    for args in [
        &["tree"][..],
        &["status"],
        &["show", "f1"],
        &["--help"],
        &["doctor"],
        &["show", "f99"],
        &["tre"],
    ] {
        for force in [None, Some("1")] {
            let mut command = desk.command(&desk.project(), args);
            command.envs(force.map(|force| ("CLICOLOR_FORCE", force)));
            command.env("TERM", "xterm-256color");
            let said = desk.finish(command);
            assert!(!said.stdout.contains(ESCAPE) && !said.stderr.contains(ESCAPE), "{args:?}");
        }
    }
}

/// Returns the output of a command on a terminal; none, with the reason printed, where there is no `script` to make
/// one.
fn on_a_terminal(desk: &TestEnv, line: &str, env: &[(&str, &str)]) -> Option<String> {
    on_a_terminal_with(desk, line, env, "")
}

/// The same where somebody types `typed`.
pub(crate) fn on_a_terminal_with(
    desk: &TestEnv,
    line: &str,
    env: &[(&str, &str)],
    typed: &str,
) -> Option<String> {
    if std::process::Command::new("script").arg("--version").stdout(Stdio::null()).status().is_err()
    {
        eprintln!("skipped: there is no `script` here to make a terminal with");
        return None;
    }
    let mut command = desk.sealed.command("script");
    command.args(["-qec", &format!("{BINARY} {line}"), "/dev/null"]);
    command.env("TERM", "xterm-256color").env("SHELL", "/bin/sh").envs(env.iter().copied());
    if !typed.is_empty() {
        let path = desk.sealed.root().join("typed");
        std::fs::write(&path, typed).unwrap();
        command.stdin(std::fs::File::open(&path).unwrap());
    }
    Some(desk.finish(command).stdout)
}

#[test]
fn a_terminal_gets_colours_but_never_with_no_color() {
    let desk = TestEnv::with_frames();
    for line in ["tree", "show f2", "status", "show f99", "help"] {
        let Some(shown) = on_a_terminal(&desk, line, &[]) else { return };
        assert!(shown.contains(ESCAPE), "{line}: {shown:?}");
        for plain in [("NO_COLOR", "1"), ("TERM", "dumb")] {
            let shown = on_a_terminal(&desk, line, &[plain]).unwrap();
            assert!(!shown.contains(ESCAPE), "{line} with {plain:?}: {shown:?}");
        }
        let both = [("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")];
        assert!(!on_a_terminal(&desk, line, &both).unwrap().contains(ESCAPE), "{line}");
    }
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    let desk = TestEnv::with_frames();
    for args in [&["tree"][..], &["completions", "bash"], &["tree", "--json"], &["--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = desk.command(&desk.project(), args);
        command.stdout(writer).stderr(Stdio::piped());
        let ended = command.output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!((ended.status.code(), said.as_ref()), (Some(0), ""), "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_reported_and_what_was_done_stays_done() {
    let desk = TestEnv::new();
    let full = || std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = desk.command(&desk.project(), &["push", "Root", "-c", "x"]);
    command.stdout(full());
    let ended = command.output().unwrap();
    assert_eq!(ended.status.code(), Some(6));
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(said.starts_with("error: the output can't be written"), "{said}");
    desk.is_whole(&["f1"]);
}

#[test]
fn a_log_is_laid_out_for_reading_on_a_terminal() {
    let desk = super::host::with_a_log();
    let env = &[("CALLSTACK_PAGER", "cat"), ("NO_COLOR", "1"), ("TZ", "JST-9")];
    let Some(shown) = on_a_terminal(&desk, "log f3", env) else { return };
    let shown = shown.replace('\r', "");
    insta::assert_snapshot!(shown, @r#"
    ▶ f3 Fix the build
      2 messages

    1  user  15 Nov 2023, 07:13:20
      Fix the build

    2  assistant  07:13:21
      Done: \u{1b}[31mgreen\u{1b}[0m again
    "#);
    let piped = desk.ok(&["log", "f3"]);
    assert!(piped.contains("\n## 2 · assistant · 2023-11-14T22:13:21.000Z\n"), "{piped}");
}
