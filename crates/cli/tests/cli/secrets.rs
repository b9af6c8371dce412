//! Secrets are masked wherever something is shown, and a purge removes them for good.

use std::fs;

use serde_json::{Value, json};

use super::host::serve;
use super::terminal::on_a_terminal_with;
use super::test_env::{TestEnv, says};

/// Returns a fake that looks like a token and stands in no source as a whole.
fn token() -> String {
    ["gh", "p_", &"a1B2c3".repeat(6)].concat()
}

fn message(id: &str, role: &str, text: &str) -> Value {
    let time = json!({"created": 1_700_000_000_000_i64});
    json!({"info": {"id": id, "role": role, "sessionID": "ses_a", "time": time},
        "parts": [{"id": format!("prt_{id}"), "type": "text", "text": text}]})
}

fn sync(desk: &TestEnv, messages: &[Value]) {
    let params = json!({"session": "ses_a", "purpose": "turn", "keep": 0, "ops": 0, "applied": 0,
        "messages": messages});
    let said = serve(desk, &[json!({"id": 1, "method": "sync", "params": params})]);
    assert!(said.stdout.contains("\"result\""), "{}{}", said.stdout, said.stderr);
}

/// A session whose frame f2 has a message with a token, between two of the root's.
fn with_a_token() -> (TestEnv, Vec<Value>) {
    let desk = TestEnv::new();
    fs::create_dir(desk.project().join(".opencode")).unwrap();
    let mut messages = vec![message("msg_1", "user", "Deploy it, mangrove")];
    sync(&desk, &messages);
    desk.ok(&["push", "Look at the settings", "-c", "known"]);
    let words = format!("the token of the parakeet is {}", token());
    messages.push(message("msg_2", "assistant", &words));
    sync(&desk, &messages);
    desk.ok(&["pop", "-r", &format!("it is {}", token())]);
    messages.push(message("msg_3", "assistant", "Deployed with marmalade"));
    sync(&desk, &messages);
    (desk, messages)
}

fn files(desk: &TestEnv) -> Vec<(String, Vec<u8>)> {
    let folder = desk.project().join(".callstack");
    let mut found = Vec::new();
    for folder in [folder.clone(), folder.join("logs")] {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                found.push((path.display().to_string(), fs::read(&path).unwrap()));
            }
        }
    }
    found
}

/// The files that hold a text, in any case.
pub(crate) fn holding(desk: &TestEnv, text: &str) -> Vec<String> {
    let text = text.to_lowercase().into_bytes();
    let holds =
        |bytes: &[u8]| bytes.to_ascii_lowercase().windows(text.len()).any(|window| window == text);
    files(desk).into_iter().filter(|(_, bytes)| holds(bytes)).map(|(path, _)| path).collect()
}

#[test]
fn a_secret_is_masked_in_logs_search_and_exports_until_it_is_revealed() {
    let (desk, messages) = with_a_token();
    let masked = "‹masked: GitHub token›";
    for args in [
        &["log", "f2"][..],
        &["log", "f2", "--raw"],
        &["log", "f2", "--json"],
        &["search", "parakeet"],
        &["search", "parakeet", "--json"],
        &["export"],
        &["export", "--format", "markdown"],
    ] {
        let shown = desk.ok(args);
        assert!(shown.contains(masked) && !shown.contains(&token()), "{args:?}: {shown}");
        let revealed = desk.ok(&[args, &["--reveal"]].concat());
        assert!(revealed.contains(&token()) && !revealed.contains(masked), "{args:?}: {revealed}");
    }
    let file = fs::read_to_string(desk.project().join(".callstack/logs/f2.md")).unwrap();
    assert!(file.contains(masked) && !file.contains(&token()), "{file}");
    let state = desk.project().join(".opencode/stack/state.json");
    for file in [state, desk.project().join(".callstack/callstack.log")] {
        let file = fs::read_to_string(file).unwrap();
        assert!(file.contains(masked) && !file.contains(&token()), "{file}");
    }
    // A mask gives no hint for a guess either.
    let guess = &token()[..12];
    assert!(desk.run(&["search", "--exact", guess]).stdout.starts_with("no text that is kept"));
    assert!(desk.ok(&["search", "--exact", guess, "--reveal"]).contains("f2"));
    // Revealed and raw, a log is what the host sent, byte for byte.
    let raw = desk.ok(&["log", "f1", "--raw", "--reveal"]);
    let sent: Vec<String> = messages.iter().map(Value::to_string).collect();
    assert_eq!(raw.lines().collect::<Vec<_>>(), sent);
    assert_eq!(desk.ok(&["log", "f2", "--query", "parakeet"]).matches("\n## ").count(), 1);
    assert_eq!(desk.ok(&["log", "f1", "--query", "parakeet mangrove"]).matches("\n## ").count(), 0);
}

fn ran(id: &str, n: usize, command: &str, output: &str) -> Value {
    let state = json!({"status": "completed", "input": {"command": command}, "output": output,
        "metadata": {"exit": 1}});
    let mut message = message(id, "assistant", "On with it");
    let call = format!("call_{n}");
    message["parts"][0] = json!({"id": format!("prt_{id}"), "type": "tool", "tool": "bash",
        "callID": call, "state": state});
    message
}

#[test]
fn what_is_shown_of_commands_has_no_secret_that_stood_among_other_things() {
    let value = ["hunter", "Two", "9Abc"].concat();
    let long = "q7Xz4W".repeat(70);
    let key = ["-----BEGIN PRIV", "ATE KEY-----\n", &"k8Yv3U".repeat(10), "\n"].concat();
    let desk = TestEnv::new();
    fs::create_dir(desk.project().join(".opencode")).unwrap();
    let mut messages = vec![message("msg_1", "user", "Run the flamingo")];
    sync(&desk, &messages);
    desk.ok(&["push", "Run it", "-c", "runs"]);
    let works = [
        (format!("DB_PASSWORD={value} ./run"), "no limit_days".to_owned()),
        (
            format!("cat > c.yml <<EOF\npassword: {value}\nEOF"),
            format!("{{\"password\": \"{value}\"}}"),
        ),
        (
            format!("curl -H 'Authorization: Bearer {value}'"),
            format!("error: DB_PASSWORD={value} is wrong"),
        ),
        (format!("DB_PASSWORD={long} ./run"), format!("error: it ran with API_KEY={long}")),
        ("cat key.pem".to_owned(), key),
    ];
    for (n, (command, output)) in works.iter().enumerate() {
        messages.push(ran(&format!("msg_2{n}"), n, command, output));
    }
    sync(&desk, &messages);
    desk.ok(&["pop", "-r", "it runs"]);
    messages.push(message("msg_3", "assistant", "It runs with marmalade"));
    sync(&desk, &messages);

    let shown = [
        &["log", "f2"][..],
        &["log", "f1"],
        &["log", "f1", "--json"],
        &["log", "f2", "--raw"],
        &["export"],
        &["export", "--format", "markdown"],
        &["context", "f2"],
        &["show", "f2"],
        &["show", "f2", "--json"],
        &["tree", "--json"],
        &["search", "limit_days", "--json"],
        &["search", "cat"],
    ];
    let mut texts: Vec<_> = shown.iter().map(|args| (args.join(" "), desk.ok(args))).collect();
    assert!(texts[0].1.contains("DB_PASSWORD=‹masked: password› ./run"), "{}", texts[0].1);
    assert!(texts[0].1.contains("limit_days"), "{}", texts[0].1);
    for file in [".callstack/logs/f2.md", ".callstack/callstack.log", ".opencode/stack/state.json"]
    {
        texts.push((file.to_owned(), fs::read_to_string(desk.project().join(file)).unwrap()));
    }
    for (place, text) in &texts {
        for secret in [&value[..], &long[..12], &"k8Yv3U".repeat(2)] {
            assert!(!text.contains(secret), "{place}: {text}");
        }
    }
    for piece in [&value[..], &long[..12], "k8Yv3Uk8Yv3U"] {
        assert!(
            desk.run(&["search", "--exact", piece]).stdout.starts_with("no text that is kept"),
            "{piece}"
        );
    }
    // Messages are kept unchanged; texts about them never had the secret.
    assert!(desk.ok(&["log", "f2", "--reveal"]).contains(&value));
    assert!(!desk.ok(&["export", "--reveal"]).contains(&value));
}

#[test]
fn what_is_shown_of_frames_is_masked_as_in_exports_until_it_is_revealed() {
    let desk = TestEnv::new();
    let with = |words: &str| format!("{words} {}", token());
    desk.ok(&["push", &with("Log"), "-c", &with("in with")]);
    desk.ok(&["decision", &with("use")]);
    desk.ok(&["artifact", &with("notes/of")]);
    desk.ok(&["pin", &with("never show")]);
    for args in [
        &["show", "f1"][..],
        &["show", "f1", "--json"],
        &["tree"],
        &["tree", "--json"],
        &["status"],
        &["status", "--json"],
    ] {
        let shown = desk.ok(args);
        assert!(shown.contains("‹masked: GitHub token›"), "{args:?}: {shown}");
        assert!(!shown.contains(&token()), "{args:?}: {shown}");
        let revealed = desk.ok(&[args, &["--reveal"]].concat());
        assert!(revealed.contains(&token()), "{args:?}: {revealed}");
        assert!(!revealed.contains("‹masked"), "{args:?}: {revealed}");
        if args.contains(&"--json") {
            // Everything else stays as it is, except for the time that the frame is open.
            let lines = |text: &str| -> Vec<String> {
                text.lines().filter(|it| !it.contains("workedMs")).map(str::to_owned).collect()
            };
            let as_masked = revealed.replace(&token(), "‹masked: GitHub token›");
            assert_eq!(lines(&as_masked), lines(&shown), "{args:?}");
        }
    }
    let log = desk.ok(&["log", "f1"]);
    assert!(log.contains("‹masked: GitHub token›") && !log.contains(&token()), "{log}");
    assert!(desk.ok(&["log", "f1", "--reveal"]).contains(&token()));
}

#[test]
fn no_command_shows_one_from_any_text_of_a_frame_unless_it_reveals() {
    let desk = TestEnv::new();
    fs::create_dir(desk.project().join(".opencode")).unwrap();
    let secret = token();
    let with = |words: &str| format!("{words} {secret}");
    sync(&desk, &[message("msg_1", "user", &with("Deploy it"))]);
    desk.ok(&["push", &with("Log in"), "-c", &with("in")]);
    desk.ok(&["decision", &with("by hand")]);
    desk.ok(&["artifact", &with("notes")]);
    desk.ok(&["pin", &with("never show")]);
    desk.ok(&["pop", "-r", &with("logged in")]);
    desk.ok(&["plan", &with("Log out"), &with("Log on"), "--parent", "f1"]);
    desk.ok(&["invalidate", "f3", "--reason", &with("still in")]);
    desk.ok(&["push", &with("Look"), "-c", &with("seen")]);
    let commands: Vec<Vec<&str>> = [
        &["status"][..],
        &["tree", "--all"],
        &["tree", "f2"],
        &["show", "f1"],
        &["show", "f2", "--evidence"],
        &["show", "f3"],
        &["log", "f1"],
        &["search", "logged"],
        &["context"],
        &["export"],
        &["export", "--format", "markdown"],
    ]
    .map(<[&str]>::to_vec)
    .into();
    for args in commands {
        for form in [&[][..], &["--json"]] {
            let args = [&args[..], form].concat();
            let shown = desk.ok(&args);
            assert!(shown.contains("‹masked: ") && !shown.contains(&secret), "{args:?}: {shown}");
            if args[0] != "context" {
                let revealed = desk.ok(&[&args[..], &["--reveal"]].concat());
                assert!(revealed.contains(&secret), "{args:?}: {revealed}");
            }
        }
    }
    for format in ["speedscope", "chrome-trace", "otlp", "csv", "mermaid"] {
        let shown = desk.ok(&["export", "--format", format]);
        assert!(!shown.contains(&secret), "{format}: {shown}");
    }
    let shown = desk.ok(&["export", "--format", "otlp", "--content"]);
    assert!(shown.contains("‹masked: ") && !shown.contains(&secret), "{shown}");
    for args in [
        &["go", "parent"][..],
        &["activate", "f4"],
        &["pop", "-r", &secret],
        &["reopen", "f2"],
        &["pop", "f2", "-r", "done", "--json"],
        &["plan", &with("more")],
        &["preset", "apply", "bugfix", &format!("bug={secret}")],
        &["consolidate", "f1", "--keep", "0"],
    ] {
        let said = desk.run(args);
        let shown = format!("{}{}", said.stdout, said.stderr);
        assert!(said.code == 0 && !shown.contains(&secret), "{args:?}: {shown}");
    }
}

#[test]
fn what_commands_that_work_on_frames_print_is_masked() {
    let desk = TestEnv::new();
    let title = format!("Rotate {}", token());
    for args in [
        &["push", &title, "-c", "done"][..],
        &["push", "Below", "-c", "done"],
        &["pop", "-r", "rotated"],
        &["pin", &title],
        &["plan", &title],
        &["pop", "-r", "rotated"],
        &["reopen", "f1"],
        &["purge", "f1", "--dry-run"],
        &["invalidate", "f3", "--reason", "no need"],
    ] {
        let said = desk.run(args);
        assert_eq!(said.code, 0, "{args:?}: {}", said.stderr);
        let printed = format!("{}{}", said.stdout, said.stderr);
        assert!(!printed.contains(&token()), "{args:?}: {printed}");
    }
}

#[test]
fn a_purge_asks_says_and_removes_for_good() {
    let (desk, messages) = with_a_token();
    let log = desk.project().join(".callstack/logs/f2.md");
    assert!(log.is_file() && holding(&desk, "parakeet").contains(&log.display().to_string()));
    says!(desk, ["purge", "f2"], @r#"
    exit 2
    --- stderr
    error: this would remove 1 message (217 bytes) of f2 "Look at the settings" and 1 log file for good, and nobody can be asked here
    hint: Give --yes to do it, or --dry-run to see what would go.
    "#);
    let plan = desk.json(&["purge", "f2", "--dry-run"]);
    assert_eq!(plan["messages"], 1);
    assert_eq!(plan["logs"], json!([".callstack/logs/f2.md"]));
    assert!(log.is_file() && desk.ok(&["log", "f2"]).contains("parakeet"), "nothing was done yet");
    let done = desk.json(&["purge", "f2", "--yes"]);
    assert_eq!((&done["messages"], &done["erased"]), (&json!(1), &json!(true)));
    assert!(!log.exists());
    assert_eq!(holding(&desk, "parakeet"), Vec::<String>::new());
    assert!(desk.ok(&["log", "f2"]).contains("\n## 1 · purged on 20"));
    assert!(desk.run(&["search", "parakeet"]).stdout.starts_with("no text that is kept"));
    assert!(desk.json(&["show", "f2"]).get("logPath").is_none());
    // Everything else is there, and the session continues; purged messages that are shown again are not stored again,
    // changed or not.
    assert!(desk.ok(&["search", "marmalade"]).contains("marmalade"));
    let mut again = messages;
    sync(&desk, &again);
    again[1] = message("msg_2", "assistant", "the parakeet again");
    again.push(message("msg_4", "user", "And now the flamingo"));
    sync(&desk, &again);
    assert_eq!(holding(&desk, "parakeet"), Vec::<String>::new());
    assert!(desk.ok(&["search", "flamingo"]).contains("message 4"));
    desk.ok(&["doctor", "--rebuild"]);
    desk.is_whole(&["f1", "f2"]);
    assert!(desk.json(&["show", "f2"]).get("logPath").is_none());
    assert_eq!(desk.json(&["purge", "f2", "--dry-run"])["messages"], 0);
    assert_eq!(desk.json(&["log", "f1"])["total"], 4);
}

#[test]
fn a_session_is_purged_with_all_of_its_messages() {
    let (desk, _) = with_a_token();
    desk.ok(&["pop", "-r", "done", "--session", "ses_a"]);
    assert!(desk.project().join(".callstack/logs/f1.md").is_file());
    let done = desk.json(&["purge", "ses_a", "--yes"]);
    assert_eq!(done["messages"], 3);
    assert_eq!(done["frames"], json!(["f1", "f2"]));
    assert_eq!(done["removed"]["titles"], json!(["f1"]));
    // The user's first words are the title of the root frame, too.
    for word in ["marmalade", "parakeet", "mangrove"] {
        assert_eq!(holding(&desk, word), Vec::<String>::new(), "{word}");
    }
    let shown = desk.ok(&["show", "f2"]);
    assert!(shown.contains("Look at the settings") && shown.contains("it is "), "{shown}");
    desk.is_whole(&["f1", "f2"]);
    says!(desk, ["purge", "nothing", "--yes"], @r#"
    exit 3
    --- stderr
    error: there is no frame `nothing`
    hint: See all frames with `callstack tree`.
    "#);
}

#[test]
fn a_person_at_a_terminal_is_asked_and_reads_page_by_page() {
    let (desk, _) = with_a_token();
    let shown = |line: &str, answer: &str, env: &[(&str, &str)]| {
        on_a_terminal_with(&desk, line, env, answer)
    };
    let Some(asked) = shown("purge f2", "n\n", &[]) else { return };
    assert!(asked.contains("for good? [y/N]") && asked.contains("nothing was removed"), "{asked}");
    assert!(desk.ok(&["log", "f2"]).contains("parakeet"));
    let pager = [("CALLSTACK_PAGER", "sed s/^/paged:/")];
    let read = shown("log f2", "", &pager).unwrap();
    assert!(read.contains("paged:  the token of the parakeet"), "{read}");
    let plain = shown("log f2 --no-pager", "", &pager).unwrap();
    assert!(plain.contains("parakeet") && !plain.contains("paged:"), "{plain}");
    for missing in ["no-such-pager --at-all", "cat", ""] {
        let plain = shown("log f2", "", &[("CALLSTACK_PAGER", missing)]).unwrap();
        assert!(plain.contains("parakeet"), "{plain}");
    }
    let done = shown("purge f2", "y\n", &[]).unwrap();
    assert!(done.contains("removed 1 message"), "{done}");
    assert!(!desk.ok(&["log", "f2"]).contains("parakeet"));
}
