//! Settings of a project.

use super::desk::{Desk, says};

#[test]
fn a_setting_is_shown_set_and_reset() {
    let desk = Desk::with_frames();
    says!(desk, ["config", "limit-depth"], @r"
    exit 0
    STACK_LIMIT_DEPTH 24
      Frames above one another, the root included.
      It may be a whole number from 0 on; the default is 24.
    ");
    says!(desk, ["config", "STACK_LIMIT_DEPTH", " 3 "], @r"
    exit 0
    STACK_LIMIT_DEPTH 3  (set here)
      Frames above one another, the root included.
      It may be a whole number from 0 on; the default is 24.
    ");
    says!(desk, ["push", "Deeper", "-c", "x"], @r#"
    exit 0
    ▶ f6 "Deeper"  in session cli
    "#);
    assert_eq!(desk.run(&["push", "Too deep", "-c", "x"]).code, 5);
    says!(desk, ["config", "STACK_LIMIT_DEPTH", "--reset"], @r"
    exit 0
    STACK_LIMIT_DEPTH 24
      Frames above one another, the root included.
      It may be a whole number from 0 on; the default is 24.
    ");
    desk.ok(&["push", "Not too deep any more", "-c", "x"]);
    desk.ok(&["doctor", "--rebuild"]);
}

#[test]
fn all_settings_say_where_they_come_from() {
    let desk = Desk::with_frames();
    desk.ok(&["config", "frameMode", "false"]);
    let mut command = desk.command(&desk.project(), &["config", "--json"]);
    command.env("STACK_FRAME_MODE", "on").env("STACK_TOKEN_BUDGET_TOTAL", "5000");
    let said = desk.finish(command);
    let shown: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    let settings = shown["settings"].as_array().unwrap();
    let of = |name: &str| {
        let setting = settings.iter().find(|it| it["name"] == name).unwrap();
        (setting["value"].as_str().unwrap(), setting["source"].as_str().unwrap())
    };
    assert_eq!(of("STACK_FRAME_MODE"), ("off", "set"));
    assert_eq!(of("STACK_TOKEN_BUDGET_TOTAL"), ("5000", "environment"));
    assert_eq!(of("STACK_LIMIT_DEPTH"), ("24", "default"));
    let page = desk.ok(&["config"]);
    for setting in settings {
        assert!(page.contains(setting["name"].as_str().unwrap()), "{page}");
        assert!(!setting["doc"].as_str().unwrap().is_empty(), "{setting}");
    }
    assert!(page.contains("off  (set here)"), "{page}");
    desk.ok(&["config", "--reset"]);
    assert!(!desk.ok(&["config"]).contains("set here"));
}

#[test]
fn what_is_no_setting_or_no_value_of_it_is_refused() {
    let desk = Desk::new();
    says!(desk, ["config", "STACK_MOOD", "good"], @r"
    exit 3
    --- stderr
    error: there is no setting `STACK_MOOD`
    hint: `callstack config` lists them all.
    ");
    says!(desk, ["config", "STACK_TOOLS", "some"], @r"
    exit 2
    --- stderr
    error: STACK_TOOLS is `some`
    hint: It may be default, full or flame.
    ");
    says!(desk, ["config", "STACK_LIMIT_DEPTH", "-1"], @r"
    exit 2
    --- stderr
    error: STACK_LIMIT_DEPTH is `-1`
    hint: It may be a whole number from 0 on.
    ");
    says!(desk, ["config", "STACK_TOOLS", "full", "--reset"], @r"
    exit 2
    --- stderr
    error: the argument '[VALUE]' cannot be used with '--reset'

    Usage: callstack config <NAME> <VALUE>

    For more information, try '--help'.
    ");
    says!(desk, ["config"], @r"
    exit 3
    --- stderr
    error: no callstack store in $ROOT/project or above
    hint: `callstack init opencode` makes one, and so does the first `callstack push`.
    ");
    assert!(!desk.project().join(".callstack").exists());
}
