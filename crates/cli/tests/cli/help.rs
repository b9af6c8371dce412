//! Help, completions, and command lines that can't be read.

use super::test_env::{TestEnv, says};

pub(super) const COMMANDS: [&str; 21] = [
    "activate",
    "artifact",
    "completions",
    "context",
    "decision",
    "demo",
    "doctor",
    "host",
    "init",
    "invalidate",
    "log",
    "pin",
    "plan",
    "pop",
    "purge",
    "push",
    "reopen",
    "show",
    "status",
    "tree",
    "unpin",
];

#[test]
fn a_newcomer_is_shown_the_way() {
    let desk = TestEnv::new();
    let help = desk.ok(&["--help"]);
    assert!(help.contains("callstack init opencode "), "{help}");
    for command in COMMANDS {
        assert!(help.contains(&format!("\n  {command} ")), "{command}: {help}");
        assert!(desk.ok(&["help", command]).contains("Usage:"), "{command}");
        assert!(desk.ok(&[command, "-h"]).contains("Usage:"), "{command}");
    }
    let nothing = desk.run(&[]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (2, ""));
    assert!(nothing.stderr.contains("Start here:"));
    says!(desk, ["--version"], @r#"
    exit 0
    callstack 0.1.0
    "#);
}

#[test]
fn command_lines_that_are_not_right() {
    let desk = TestEnv::without_store();
    says!(desk, ["tre"], @r#"
    exit 2
    --- stderr
    error: unrecognized subcommand 'tre'

      tip: a similar subcommand exists: 'tree'

    Usage: callstack [OPTIONS] <COMMAND>

    For more information, try '--help'.
    "#);
    says!(desk, ["uninstall"], @"
    exit 2
    --- stderr
    error: unrecognized subcommand 'uninstall'

      tip: it may be `callstack init opencode --remove` that you want

    Usage: callstack [OPTIONS] <COMMAND>

    For more information, try '--help'.
    ");
    says!(desk, ["ls", "--json"], @r#"
    exit 2
    --- stderr
    {
      "error": {
        "kind": "invalid",
        "message": "unrecognized subcommand 'ls'",
        "hint": "It may be `callstack tree` that you want."
      }
    }
    "#);
    says!(desk, ["pin"], @r#"
    exit 2
    --- stderr
    error: the following required arguments were not provided:
      <TEXT>

    Usage: callstack pin <TEXT>

    For more information, try '--help'.
    "#);
    says!(desk, ["pop", "-r", "x", "--status", "planned"], @r#"
    exit 2
    --- stderr
    error: invalid value 'planned' for '--status <STATUS>'
      [possible values: completed, failed, blocked]

    For more information, try '--help'.
    "#);
    says!(desk, ["push", "x", "-c", "y", "--json", "--wrong"], @r#"
    exit 2
    --- stderr
    {
      "error": {
        "kind": "invalid",
        "message": "unexpected argument '--wrong' found",
        "hint": "`callstack help` lists commands and what they take."
      }
    }
    "#);
    for command in COMMANDS {
        assert_eq!(desk.run(&[command, "--no-such-option"]).code, 2, "{command}");
    }
    assert!(!desk.project().join(".callstack").exists());
}
