//! The completions of shells for a command line, and manual pages.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::help::COMMANDS;
use super::test_env::{BINARY, TestEnv};

impl TestEnv {
    /// Returns the completions of bash for the last of these words, with the script of `callstack completions`
    /// loaded.
    fn offered(&self, words: &[&str]) -> Vec<String> {
        self.offered_in(&self.project(), words)
    }

    fn offered_in(&self, folder: &Path, words: &[&str]) -> Vec<String> {
        self.sealed.put_on_path("callstack", BINARY.as_ref()).unwrap();
        let script = r#"
            source <(callstack completions bash)
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_TYPE=9
            "$(complete -p callstack | sed 's/.*-F \([^ ]*\) .*/\1/')" callstack "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
            printf '%s\n' "${COMPREPLY[@]}"
        "#;
        let mut command = self.sealed.command_in(folder, "bash");
        command.args(["-c", script, "bash"]).args(words);
        let said = self.sealed.run("bash", command, Duration::from_secs(30)).unwrap();
        assert!(said.success() && said.stderr.is_empty(), "{said}");
        said.stdout.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }
}

#[test]
fn handles_of_the_project_are_completed() {
    let desk = TestEnv::with_frames();
    assert_eq!(desk.offered(&["callstack", "show", "f"]), ["f1", "f2", "f3", "f4", "f5"]);
    assert_eq!(desk.offered(&["callstack", "log", "f4"]), ["f4"]);
    assert_eq!(desk.offered(&["callstack", "plan", "Later", "--parent", "f1"]), ["f1"]);
    let elsewhere = ["callstack", "-C", "project", "show", "f5"];
    assert_eq!(desk.offered_in(desk.sealed.root(), &elsewhere), ["f5"]);
    let bare = TestEnv::without_store();
    assert_eq!(bare.offered(&["callstack", "show", "f"]), [""; 0]);
    assert!(!bare.project().join(".callstack").exists());
}

#[test]
fn every_command_is_completed() {
    let desk = TestEnv::new();
    let offered = desk.offered(&["callstack", ""]);
    for command in COMMANDS {
        assert!(offered.iter().any(|it| it == command), "{command}: {offered:?}");
    }
    assert_eq!(desk.run(&["completions", "nosuchshell"]).code, 2);
}

#[test]
fn settings_presets_and_sessions_are_completed() {
    let desk = TestEnv::with_frames();
    assert_eq!(desk.offered(&["callstack", "config", "frame-m"]), ["frame-mode"]);
    assert_eq!(desk.offered(&["callstack", "config", "STACK_FRAME_M"]), ["STACK_FRAME_MODE"]);
    desk.sealed.write(".opencode/stack/presets/release.toml", "").unwrap();
    desk.sealed.write(".opencode/stack/presets/re$(reboot).toml", "").unwrap();
    let presets = desk.offered(&["callstack", "preset", "show", "re"]);
    assert_eq!(presets, ["refactor", "release", "review"]);
    assert_eq!(desk.offered(&["callstack", "status", "--session", "c"]), ["cli"]);
}

#[test]
fn every_shell_gets_a_script_that_asks_for_what_there_is() {
    let desk = TestEnv::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = desk.ok(&["completions", shell]);
        assert!(script.contains("CALLSTACK_COMPLETE") && script.contains(shell), "{script}");
        assert!(!script.contains(BINARY), "{script}");
    }
    let zsh = desk.ok(&["completions", "zsh"]);
    assert!(zsh.starts_with("#compdef callstack\n") && zsh.contains("funcstack"), "{zsh}");
    // The request of fish when it has loaded its own.
    let mut command = desk.command(&desk.project(), &["--", "callstack", "completions", "zs"]);
    command.env("CALLSTACK_COMPLETE", "fish");
    assert_eq!(desk.finish(command).stdout, "zsh\n");
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let desk = TestEnv::new();
    let said = desk.json(&["man", "pages/man1"]);
    let pages: Vec<_> =
        said["pages"].as_array().unwrap().iter().filter_map(|it| it.as_str()).collect();
    assert!(pages.contains(&"callstack-push") && pages.contains(&"callstack-config-summarizer"));
    assert_eq!(said["folder"], desk.project().join("pages/man1").to_str().unwrap());
    for name in &pages {
        let page = desk.sealed.read(&format!("pages/man1/{name}.1")).unwrap();
        assert!(page.contains(&format!(".TH {}", name.to_uppercase())), "{page}");
        assert!(!page.contains('\u{1b}'), "{name}");
    }
    let page = desk.ok(&["man"]);
    assert_eq!(page, desk.sealed.read("pages/man1/callstack.1").unwrap());
    for part in ["callstack\\-push(1)", ".SH ENVIRONMENT", "STACK_TOOLS", ".SH \"EXIT STATUS\""] {
        assert!(page.contains(part), "{part}: {page}");
    }
    // A program that reads such pages, where there is one, reports no fault in them.
    let mut check = Command::new("man");
    check.args(["--warnings=w", "-l", "pages/man1/callstack.1"]).current_dir(desk.project());
    if let Ok(shown) = check.output() {
        assert!(shown.status.success() && shown.stderr.is_empty(), "{shown:?}");
    }
}
