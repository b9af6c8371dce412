//! Settings of a project.

use callstack_engine::{Engine, Kind, Setting, Settings, SystemWorld};
use callstack_testkit::{Loopback, Reply};

use super::test_env::{TestEnv, says};

#[test]
fn a_setting_is_shown_set_and_reset() {
    let desk = TestEnv::with_frames();
    says!(desk, ["config", "limit-depth"], @r"
    exit 0
    STACK_LIMIT_DEPTH 24 frames  above one another
      Frames above one another, the root included.
      It may be a whole number, 0 or more; the default is 24 frames.
    ");
    says!(desk, ["config", "STACK_LIMIT_DEPTH", " 3 "], @r"
    exit 0
    STACK_LIMIT_DEPTH 3 frames  above one another
      set here
      Frames above one another, the root included.
      It may be a whole number, 0 or more; the default is 24 frames.
    ");
    says!(desk, ["push", "Deeper", "-c", "x"], @r#"
    exit 0
    ▶ f6 "Deeper"  in session cli
    "#);
    assert_eq!(desk.run(&["push", "Too deep", "-c", "x"]).code, 5);
    says!(desk, ["config", "STACK_LIMIT_DEPTH", "--reset"], @r"
    exit 0
    STACK_LIMIT_DEPTH 24 frames  above one another
      Frames above one another, the root included.
      It may be a whole number, 0 or more; the default is 24 frames.
    ");
    desk.ok(&["push", "Not too deep any more", "-c", "x"]);
    desk.ok(&["doctor", "--rebuild"]);
}

#[test]
fn all_settings_say_where_they_come_from() {
    let desk = TestEnv::with_frames();
    desk.ok(&["config", "frameMode", "false"]);
    desk.ok(&["config", "tools", "full"]);
    let mut command = desk.command(&desk.project(), &["config", "--json"]);
    command.env("STACK_FRAME_MODE", "on").env("STACK_TOKEN_BUDGET_TOTAL", "5000");
    let said = desk.finish(command);
    let shown: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    let settings = shown["settings"].as_array().unwrap();
    let of = |name: &str| {
        let setting = settings.iter().find(|it| it["name"] == name).unwrap();
        (setting["value"].as_str().unwrap(), setting["source"].as_str().unwrap())
    };
    assert_eq!(of("STACK_FRAME_MODE"), ("on", "environment"));
    assert_eq!(settings[0]["overruled"], "off");
    assert_eq!(of("STACK_TOOLS"), ("full", "set"));
    assert_eq!(of("STACK_TOKEN_BUDGET_TOTAL"), ("5000", "environment"));
    assert_eq!(of("STACK_LIMIT_DEPTH"), ("24", "default"));
    let page = desk.ok(&["config"]);
    for setting in settings {
        assert!(page.contains(setting["name"].as_str().unwrap()), "{page}");
        assert!(!setting["doc"].as_str().unwrap().is_empty(), "{setting}");
    }
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    let tools = "  STACK_TOOLS                  full          all tools\n                               set here\n";
    assert!(page.contains(tools), "{page}");
    assert!(page.contains(" 60000 ms      until a session gets a frame\n"), "{page}");
    says!(desk, ["config", "--reset"], @r"
    exit 2
    --- stderr
    error: this would reset STACK_FRAME_MODE, STACK_TOOLS, and nobody can be asked here
    hint: Give --yes to do it, or name one setting.
    ");
    assert!(desk.ok(&["config"]).contains("set here"));
    desk.ok(&["config", "--reset", "--yes"]);
    assert!(!desk.ok(&["config"]).contains("set here"));
}

#[test]
fn the_environment_wins_over_what_is_set_here_and_that_is_said() {
    let desk = TestEnv::with_frames();
    let mut command = desk.command(&desk.project(), &["config", "autonomy-level", "auto"]);
    command.env("STACK_AUTONOMY_LEVEL", "manual");
    insta::assert_snapshot!(desk.finish(command).stdout, @r"
    STACK_AUTONOMY_LEVEL manual  does nothing by itself
      from the environment
      set to auto here, which counts once the variable is gone
      How much callstack does by itself: nothing, suggest, or open and close frames. It suggests a push or a pop where going on looks wrong.
      It may be manual, suggest or auto; the default is suggest.
        manual   does nothing by itself
        suggest  suggests to open or close frames
        auto     opens and closes frames
    ");
    assert_eq!(set(&desk, "autonomy-level").0, "auto");
}

#[test]
fn what_opencodes_configuration_says_of_frames_is_shown_as_such() {
    let desk = TestEnv::with_frames();
    let config = r#"{"experimental": {"frameMode": false}}"#;
    std::fs::write(desk.project().join("opencode.json"), config).unwrap();
    let (value, source, _) = set(&desk, "frame-mode");
    assert_eq!((value.as_str(), source.as_str()), ("off", "host"));
    assert!(desk.ok(&["config"]).contains("from OpenCode's configuration\n"));
    desk.ok(&["config", "frame-mode", "on"]);
    assert_eq!(set(&desk, "frame-mode").0, "on");
}

#[test]
fn what_is_no_setting_or_no_value_of_it_is_refused() {
    let desk = TestEnv::without_store();
    says!(desk, ["config", "STACK_MOOD", "good"], @r"
    exit 3
    --- stderr
    error: there is no setting `STACK_MOOD`
    hint: `callstack config` lists them all.
    ");
    says!(desk, ["config", "autonomy"], @"
    exit 3
    --- stderr
    error: there is no setting `autonomy`
    hint: Did you mean STACK_AUTONOMY_LEVEL? `callstack config` lists them all.
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
    hint: It may be a whole number, 0 or more.
    ");
    says!(desk, ["config", "STACK_TOOLS", "full", "--reset"], @r"
    exit 2
    --- stderr
    error: the argument '[VALUE]' cannot be used with '--reset'

    Usage: callstack config <NAME> <VALUE>

    For more information, try '--help'.
    ");
    says!(desk, ["config", "--reset"], @r"
    exit 3
    --- stderr
    error: no callstack store in $ROOT/project or above
    hint: `callstack init opencode` makes one, and so do `push`, `plan` and `import` with --here.
    ");
    assert!(!desk.project().join(".callstack").exists());
}

#[test]
fn settings_are_shown_where_there_is_no_project() {
    let desk = TestEnv::without_store();
    says!(desk, ["config", "limit-depth"], @r"
    exit 0
    STACK_LIMIT_DEPTH 24 frames  above one another
      Frames above one another, the root included.
      It may be a whole number, 0 or more; the default is 24 frames.
    ");
    desk.ok(&["config", "limit-depth", "7", "--user"]);
    let mut command = desk.command(&desk.project(), &["config", "--json"]);
    command.env("STACK_LIMIT_CHILDREN", "9");
    let said: serde_json::Value = serde_json::from_str(&desk.finish(command).stdout).unwrap();
    let of = |name: &str| {
        let found = said["settings"].as_array().unwrap().iter().find(|it| it["name"] == name);
        let found = found.unwrap();
        (found["value"].clone(), found["source"].clone())
    };
    assert_eq!(of("STACK_LIMIT_DEPTH"), ("7".into(), "user".into()));
    assert_eq!(of("STACK_LIMIT_CHILDREN"), ("9".into(), "environment".into()));
    let shown = desk.ok(&["config"]);
    let last = "There is no project here: these count where a project sets nothing else.";
    assert_eq!(shown.lines().last(), Some(last));
    assert!(!desk.project().join(".callstack").exists());
}

#[test]
fn a_model_of_the_users_own_is_set_tried_and_switched_off() {
    let desk = TestEnv::with_frames();
    says!(desk, ["config", "summarizer"], @r"
    exit 0
    off: results that nobody gives are extracted from what was said and done
      STACK_SUMMARIZER_ADDRESS    none          no model is asked
      STACK_SUMMARIZER_FORMAT     auto          as the address suggests
      STACK_SUMMARIZER_MODEL      none          no model is asked
      STACK_SUMMARIZER_KEY_ENV    STACK_SUMMARIZER_KEY
      STACK_SUMMARIZER_TIME_LIMIT 30000 ms      to answer, retries included
      STACK_SUMMARIZER_RETRIES    2 times       asked again when it fails
      STACK_SUMMARIZER_TOKENS     8000 tokens   of a frame's steps are sent to it
    ");
    let model = Loopback::start(vec![Reply::chat("Works."), Reply::with(404, "")]).unwrap();
    desk.ok(&["config", "summarizer", "--address", model.address(), "--retries", "0"]);
    let said = desk.run(&["config", "summarizer", "--try"]);
    assert_eq!(said.code, 2, "no model is named yet: {}", said.stderr);
    let mut command = desk.command(
        &desk.project(),
        &["config", "summarizer", "--model", "small", "--key-env", "MY_KEY", "--try", "--json"],
    );
    command.env("MY_KEY", "dummy");
    let said = desk.finish(command);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let shown: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((&shown["on"], &shown["keyIsSet"]), (&true.into(), &true.into()), "{shown}");
    assert_eq!((&shown["format"], &shown["answer"]["text"]), (&"openai".into(), &"Works.".into()));
    assert!(!said.stdout.contains("dummy"));
    assert!(model.asked()[0].head.contains("authorization: bearer dummy"));
    let said = desk.run(&["config", "summarizer", "--try"]);
    assert_eq!(said.code, 4, "{}", said.stdout);
    assert!(
        said.stderr.contains("the model can't be used: there is nothing at"),
        "{}",
        said.stderr
    );
    let page = desk.ok(&["config", "summarizer"]);
    assert!(page.starts_with("on: ") && page.contains("MY_KEY holds no key here"), "{page}");
    let shown = desk.json(&["config", "summarizer", "--off"]);
    assert_eq!(shown["on"], false);
    assert_eq!(shown["settings"][2]["value"], "small", "the rest stays for another time");
}

/// Returns the value of a setting, its source, and the value in the store that has no effect.
fn set(desk: &TestEnv, name: &str) -> (String, String, serde_json::Value) {
    let shown = desk.json(&["config", name]);
    let text = |field: &str| shown[field].as_str().unwrap().to_owned();
    (text("value"), text("source"), shown["ignored"].clone())
}

#[test]
fn what_names_an_address_or_a_key_is_the_users_alone() {
    let desk = TestEnv::with_frames();
    let (none, file) =
        (serde_json::Value::Null, desk.sealed.config_home().join("callstack/config.toml"));
    let theirs = [
        ("STACK_SUMMARIZER_ADDRESS", "http://127.0.0.1:1/v1", "none"),
        ("STACK_SUMMARIZER_MODEL", "theirs", "none"),
        ("STACK_SUMMARIZER_KEY_ENV", "AWS_SECRET_ACCESS_KEY", "STACK_SUMMARIZER_KEY"),
        ("STACK_SUMMARIZER_TOKENS", "1000000", "8000"),
    ];
    // A store of a version without this rule, or a forged one.
    let engine =
        Engine::open_unchecked(&desk.project(), Settings::default(), Box::new(SystemWorld));
    let engine = engine.unwrap();
    for (name, value, _) in theirs {
        engine.set_setting(name, Some(value)).unwrap();
        let refused = engine.configure(Setting::find(name).unwrap(), Some(value)).unwrap_err();
        assert_eq!(refused.kind, Kind::Invalid);
    }
    drop(engine);
    for (name, value, default) in theirs {
        assert_eq!(set(&desk, name), (default.to_owned(), "default".to_owned(), value.into()));
    }
    assert!(
        desk.ok(&["doctor"])
            .contains("the store sets STACK_SUMMARIZER_ADDRESS, which a project may not")
    );
    let ignored = "set to theirs here, which a project may not: it does not count";
    assert!(desk.ok(&["config"]).contains(ignored));

    desk.ok(&["config", "summarizer", "--address", "http://127.0.0.1:2/v1", "--model", "mine"]);
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(
        text,
        "STACK_SUMMARIZER_ADDRESS = \"http://127.0.0.1:2/v1\"\nSTACK_SUMMARIZER_MODEL = \"mine\"\n"
    );
    let (value, source, _) = set(&desk, "summarizer-model");
    assert_eq!((value.as_str(), source.as_str()), ("mine", "user"));
    desk.ok(&["config", "summarizer-model", "--reset"]);
    assert_eq!(
        set(&desk, "summarizer-model"),
        ("none".to_owned(), "default".to_owned(), none.clone())
    );

    // A project can do without it, and no more than that.
    desk.ok(&["config", "summarizer", "--off", "--here"]);
    assert_eq!(set(&desk, "summarizer-address"), ("none".to_owned(), "set".to_owned(), none));
    assert!(std::fs::read_to_string(&file).unwrap().contains("127.0.0.1:2"));
}

#[test]
fn a_project_switches_off_what_runs_git_or_writes_elsewhere_and_never_on() {
    let desk = TestEnv::with_frames();
    for name in ["STACK_ROLLBACK", "STACK_FILES"] {
        desk.ok(&["config", "--user", name, "off"]);
        assert_eq!(desk.run(&["config", name, "on"]).code, 2);
        let engine =
            Engine::open_unchecked(&desk.project(), Settings::default(), Box::new(SystemWorld));
        engine.unwrap().set_setting(name, Some("on")).unwrap();
        assert_eq!(set(&desk, name), ("off".to_owned(), "user".to_owned(), "on".into()));
        desk.ok(&["config", "--user", name, "on"]);
        desk.ok(&["config", name, "off"]);
        assert_eq!(set(&desk, name).0, "off");
        desk.ok(&["config", name, "on"]);
        assert_eq!(set(&desk, name).0, "on");
    }
}

#[test]
fn a_configuration_that_cannot_be_read_says_where_it_is() {
    let desk = TestEnv::with_frames();
    let file = desk.sealed.config_home().join("callstack/config.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "STACK_LIMIT_DEPTH = 3\n").unwrap();
    assert_eq!(set(&desk, "limit-depth").0, "3");
    let mut command = desk.command(&desk.project(), &["config", "limit-depth", "--json"]);
    command.env("STACK_LIMIT_DEPTH", "4");
    assert!(desk.finish(command).stdout.contains("\"environment\""));
    std::fs::write(&file, "STACK_LIMIT_DEPTH = \"deep\"\n").unwrap();
    let said = desk.run(&["tree"]);
    assert_eq!(said.code, 2);
    assert!(
        said.stderr.contains("callstack/config.toml: STACK_LIMIT_DEPTH is `deep`"),
        "{}",
        said.stderr
    );
}

#[test]
fn a_key_is_never_stored_nor_repeated() {
    let desk = TestEnv::with_frames();
    let key = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
    let github = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
    let before = desk.ok(&["config", "summarizer"]);
    let in_address = format!("https://{key}@example.org");
    for (option, value) in [
        ("--key-env", key),
        ("--key-env", &github),
        ("--key-env", "correct horse"),
        ("--address", &in_address),
        ("--address", "https://example.org/v1?key=opensesame"),
    ] {
        let said = desk.run(&["config", "summarizer", "--model", "small", option, value]);
        assert_eq!(said.code, 2, "{}", said.stderr);
        assert!(!said.stderr.contains(value), "{}", said.stderr);
        assert_eq!(desk.ok(&["config", "summarizer"]), before, "nothing of it was set");
    }
}
