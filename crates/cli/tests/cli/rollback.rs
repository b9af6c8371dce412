//! A frame's changes to the project's files can be undone, and nothing else is.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::killed::process::Process;
use super::test_env::{TestEnv, says};

/// A git project with files, whose frame f2 changed one, made one and emptied one of them.
fn worked() -> TestEnv {
    let desk = in_git();
    desk.ok(&["push", "Build the parser", "-c", "It parses"]);
    desk.ok(&["push", "Write the lexer", "-c", "It lexes"]);
    write(&desk, "src/lexer.rs", "fn lex() {}\n");
    write(&desk, "src/main.rs", "mod lexer;\nfn main() {}\n");
    write(&desk, "src/old.rs", "");
    for file in ["src/lexer.rs", "src/main.rs", "src/old.rs"] {
        desk.ok(&["artifact", file]);
    }
    desk
}

/// The frame has git see files that it ignored before: they were there, and are in no state of before.
#[test]
fn files_that_git_ignored_at_the_beginning_stay() {
    let desk = TestEnv::new();
    write(&desk, ".gitignore", ".env\ndata/\n");
    write(&desk, ".env", "KEY=mine\n");
    write(&desk, "data/rows.csv", "1\n");
    desk.sealed.git_init().unwrap();
    std::thread::sleep(Duration::from_millis(50));
    desk.ok(&["push", "Share the settings", "-c", "They are shared"]);
    write(&desk, ".gitignore", "target/\n");
    write(&desk, "made.txt", "new\n");
    let mut settings =
        fs::OpenOptions::new().append(true).open(desk.project().join(".env")).unwrap();
    settings.write_all(b"MORE=1\n").unwrap();
    desk.ok(&["pop", "-r", "shared"]);
    desk.ok(&["rollback", "f1", "--all", "--yes"]);
    assert_eq!(read(&desk, ".gitignore").unwrap(), ".env\ndata/\n");
    assert_eq!(read(&desk, ".env").unwrap(), "KEY=mine\nMORE=1\n");
    assert_eq!(read(&desk, "data/rows.csv").unwrap(), "1\n");
    assert_eq!(read(&desk, "made.txt"), None, "the frame has made it");
}

/// Other ways in which files that were there come to be seen by git while a frame is worked on.
#[test]
fn files_that_git_did_not_see_at_the_beginning_stay() {
    let desk = in_git();
    write(&desk, ".git/info/exclude", "notes/\n");
    write(&desk, "notes/plan.md", "my plan\n");
    write(&desk, "target/kept.bin", "built\n");
    write(&desk, "nested/inner.txt", "inner\n");
    git(&desk, &["init", "-q", "nested"]);
    std::thread::sleep(Duration::from_millis(50));
    desk.ok(&["push", "Tidy up", "-c", "It is tidy"]);
    write(&desk, ".git/info/exclude", "");
    git(&desk, &["add", "-f", "target/kept.bin"]);
    fs::remove_dir_all(desk.project().join("nested/.git")).unwrap();
    let moved = ["draft.txt", "drafts.txt"].map(|file| desk.project().join(file));
    fs::rename(&moved[0], &moved[1]).unwrap();
    desk.ok(&["pop", "-r", "tidy"]);
    let plan = desk.json(&["rollback", "f1", "--all", "--yes"]);
    let restored = [("draft.txt", "brought_back"), ("drafts.txt", "removed")];
    assert_eq!(paths(&plan["restored"]), restored);
    let left: Vec<_> = plan["left"].as_array().unwrap().iter().map(|it| &it["path"]).collect();
    assert_eq!(left, ["nested/inner.txt", "notes/plan.md", "target/kept.bin"]);
    for (file, text) in [
        ("notes/plan.md", "my plan\n"),
        ("target/kept.bin", "built\n"),
        ("nested/inner.txt", "inner\n"),
        ("draft.txt", "A draft\n"),
    ] {
        assert_eq!(read(&desk, file).as_deref(), Some(text), "{file}");
    }
}

/// A file that git comes to see is no copy of one that is gone, however alike they are.
#[test]
fn a_file_that_resembles_one_that_was_deleted_stays() {
    let desk = in_git();
    let common = "HOST=localhost\nPORT=5432\nNAME=shop\n";
    write(&desk, ".env.sample", &format!("{common}KEY=\n"));
    write(&desk, ".gitignore", "target/\n.env\n");
    write(&desk, ".env", &format!("{common}KEY=mine\n"));
    std::thread::sleep(Duration::from_millis(50));
    desk.ok(&["push", "Tidy up", "-c", "It is tidy"]);
    write(&desk, ".gitignore", "target/\n");
    fs::remove_file(desk.project().join(".env.sample")).unwrap();
    desk.ok(&["pop", "-r", "tidy"]);
    desk.ok(&["rollback", "f1", "--all", "--yes"]);
    assert_eq!(read(&desk, ".env"), Some(format!("{common}KEY=mine\n")));
    assert_eq!(read(&desk, ".env.sample"), Some(format!("{common}KEY=\n")));
}

fn in_git() -> TestEnv {
    let desk = TestEnv::new();
    write(&desk, ".gitignore", "target/\n");
    write(&desk, "src/main.rs", "fn main() {}\n");
    write(&desk, "src/old.rs", "fn old() {}\r\nfn older() {}\n");
    write(&desk, "notes.txt", "Mine\n");
    desk.sealed.git_init().unwrap();
    // Not committed, and not to be lost.
    write(&desk, "draft.txt", "A draft\n");
    desk
}

fn write(desk: &TestEnv, file: &str, content: &str) {
    let path = desk.project().join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn read(desk: &TestEnv, file: &str) -> Option<String> {
    fs::read_to_string(desk.project().join(file)).ok()
}

fn git(desk: &TestEnv, args: &[&str]) -> String {
    let mut command: Command = desk.sealed.command_in(&desk.project(), "git");
    command.args(args).env("GIT_OPTIONAL_LOCKS", "0");
    desk.sealed.run("git", command, Duration::from_secs(30)).unwrap().stdout
}

/// Returns everything in a user's repository except the work tree.
fn repository(desk: &TestEnv) -> Vec<(String, Vec<u8>)> {
    fn list(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                list(&path, found);
            } else {
                found.push((path.display().to_string(), fs::read(&path).unwrap()));
            }
        }
    }
    let mut found = Vec::new();
    list(&desk.project().join(".git"), &mut found);
    found.sort();
    found
}

fn paths(list: &Value) -> Vec<(&str, &str)> {
    let text = |value: &Value, name: &str| value[name].as_str().map(str::to_owned);
    let of = |file: &Value| text(file, "how").or_else(|| text(file, "why"));
    list.as_array()
        .unwrap()
        .iter()
        .map(|file| (file["path"].as_str().unwrap(), of(file).unwrap().leak() as &str))
        .collect()
}

#[test]
fn a_frames_files_are_as_it_found_them_and_the_repository_is_untouched() {
    let desk = worked();
    desk.ok(&["pop", "-r", "Lexes."]);
    let (repository_before, status) = (repository(&desk), git(&desk, &["status", "--porcelain"]));
    assert!(status.contains("src/lexer.rs") || status.contains("?? src/"), "{status}");

    says!(desk, ["rollback", "f2"], @r"
    exit 2
      src/lexer.rs  removed, it was not there
      src/main.rs  as it was
      src/old.rs  as it was
    ! what anybody else changed in them since f2 began goes, too
    --- stderr
    error: this would restore 3 files, and nobody can be asked here
    hint: Give --yes to do it, or --dry-run to see which.
    ");
    assert_eq!(read(&desk, "src/lexer.rs").as_deref(), Some("fn lex() {}\n"), "nobody agreed");
    says!(desk, ["rollback", "f2", "--yes"], @r"
    exit 0
    restored 3 files
      src/lexer.rs  removed, it was not there
      src/main.rs  as it was
      src/old.rs  as it was
    to take it back: callstack rollback f2 --undo
    ");
    assert_eq!(read(&desk, "src/lexer.rs"), None);
    assert_eq!(read(&desk, "src/main.rs").as_deref(), Some("fn main() {}\n"));
    assert_eq!(read(&desk, "src/old.rs").as_deref(), Some("fn old() {}\r\nfn older() {}\n"));
    assert_eq!(read(&desk, "draft.txt").as_deref(), Some("A draft\n"));
    assert_eq!(git(&desk, &["status", "--porcelain"]), "?? draft.txt\n");
    assert_eq!(repository(&desk), repository_before);
    says!(desk, ["rollback", "f2", "--yes"], @r"
    exit 0
    nothing to restore
    ");
    desk.is_whole(&["f1", "f2"]);
}

#[test]
fn what_git_ignores_or_lies_outside_is_named_and_left() {
    let desk = in_git();
    write(&desk, "target/kept", "as it was");
    let outside = desk.project().with_file_name("outside.txt");
    desk.ok(&["push", "Build it", "-c", "It is built"]);
    write(&desk, "target/built", "by the frame");
    write(&desk, "target/gone", "by the frame");
    write(&desk, "src/main.rs", "fn main() { built() }\n");
    fs::write(&outside, "by the frame").unwrap();
    for file in ["target/built", "target/gone", "src/main.rs", outside.to_str().unwrap()] {
        desk.ok(&["artifact", file]);
    }
    fs::remove_file(desk.project().join("target/gone")).unwrap();
    desk.ok(&["pop", "-r", "Built."]);
    let plan = desk.json(&["rollback", "f1", "--dry-run"]);
    assert_eq!(plan["frame"], "f1");
    assert_eq!(paths(&plan["restored"]), [("src/main.rs", "reverted")]);
    let outside = outside.display().to_string();
    let left = [(outside.as_str(), "not_recorded"), ("target/built", "not_recorded")];
    assert_eq!(paths(&plan["left"]), left);
    let printed = desk.ok(&["rollback", "f1", "--yes"]);
    assert!(
        printed.contains("target/built  left: what it held is not recorded (git ignores it"),
        "{printed}"
    );
    assert_eq!(read(&desk, "target/built").as_deref(), Some("by the frame"));
    let again = desk.json(&["rollback", "f1", "--dry-run"]);
    assert_eq!((paths(&again["restored"]), paths(&again["left"])), (vec![], left.to_vec()));
}

#[test]
fn a_rollback_can_be_taken_back() {
    let desk = worked();
    desk.ok(&["pop", "-r", "Lexes."]);
    says!(desk, ["rollback", "f2", "--undo"], @r#"
    exit 4
    --- stderr
    error: the files of frame f2 "Write the lexer" were not rolled back
    hint: `callstack rollback f2` does that.
    "#);
    desk.ok(&["rollback", "f2", "--yes"]);
    write(&desk, "src/main.rs", "fn main() { mine() }\n");
    let plan = desk.json(&["rollback", "f2", "--undo", "--yes"]);
    assert_eq!(
        paths(&plan["restored"]),
        [("src/lexer.rs", "brought_back"), ("src/old.rs", "reverted")]
    );
    assert_eq!(paths(&plan["left"]), [("src/main.rs", "changed_since")]);
    assert_eq!(read(&desk, "src/lexer.rs").as_deref(), Some("fn lex() {}\n"));
    assert_eq!(read(&desk, "src/main.rs").as_deref(), Some("fn main() { mine() }\n"));
    assert_eq!(read(&desk, "src/old.rs").as_deref(), Some(""));
    let more = desk.json(&["rollback", "f2", "--undo", "--yes"]);
    assert_eq!(paths(&more["restored"]), []);
    assert_eq!(paths(&more["left"]), [("src/main.rs", "changed_since")]);
    let again = desk.json(&["rollback", "f2", "--yes"]);
    assert_eq!(
        paths(&again["restored"]),
        [("src/lexer.rs", "removed"), ("src/old.rs", "reverted")]
    );
    says!(desk, ["rollback", "f2", "--undo", "--yes"], @"
    exit 0
    changed back 2 files
      src/lexer.rs  brought back
      src/old.rs  as it was
    to roll back once more: callstack rollback f2
    ");
}

/// A second rollback does not bury the first: each is taken back in its turn.
#[test]
fn rollbacks_are_taken_back_one_after_the_other() {
    let desk = worked();
    write(&desk, "generated.rs", "made\n");
    desk.ok(&["pop", "-r", "Lexes."]);
    desk.ok(&["rollback", "f2", "--yes"]);
    let rest = desk.json(&["rollback", "f2", "--all", "--yes"]);
    assert_eq!(paths(&rest["restored"]), [("generated.rs", "removed")]);

    let second = desk.json(&["rollback", "f2", "--undo", "--yes"]);
    assert_eq!(paths(&second["restored"]), [("generated.rs", "brought_back")]);
    let first = desk.json(&["rollback", "f2", "--undo", "--yes"]);
    let files = ["src/lexer.rs", "src/main.rs", "src/old.rs"];
    assert_eq!(paths(&first["restored"]).iter().map(|file| file.0).collect::<Vec<_>>(), files);
    assert_eq!(read(&desk, "src/lexer.rs").as_deref(), Some("fn lex() {}\n"));
    assert_eq!(read(&desk, "generated.rs").as_deref(), Some("made\n"));
    says!(desk, ["rollback", "f2", "--undo"], @r#"
    exit 4
    --- stderr
    error: every rollback of frame f2 "Write the lexer" was taken back
    hint: `callstack rollback f2` rolls its files back once more.
    "#);
}

/// What cannot be taken back of the newest rollback does not stand in the way of the one before it.
#[test]
fn a_rollback_whose_files_were_changed_leaves_the_one_before_it_free() {
    let desk = worked();
    write(&desk, "generated.rs", "made\n");
    desk.ok(&["pop", "-r", "Lexes."]);
    desk.ok(&["rollback", "f2", "--yes"]);
    desk.ok(&["rollback", "f2", "--all", "--yes"]);
    write(&desk, "generated.rs", "mine\n");
    let undone = desk.json(&["rollback", "f2", "--undo", "--yes"]);
    assert_eq!(paths(&undone["left"]), [("generated.rs", "changed_since")]);
    assert_eq!(paths(&undone["restored"]).len(), 3, "{undone}");
    assert_eq!(read(&desk, "generated.rs").as_deref(), Some("mine\n"));
    assert_eq!(read(&desk, "src/lexer.rs").as_deref(), Some("fn lex() {}\n"));
}

/// The frame is made when the agent has worked for a while; the state of the files is known from before.
#[test]
fn a_turn_that_became_a_frame_by_itself_is_rolled_back_to_what_the_user_found() {
    let desk = in_git();
    desk.ok(&["config", "autonomy-level", "auto"]);
    let mut process = Process::start(&desk, None);
    let session = "ses_a";
    let said = json!({"session": session, "message": "msg_0", "text": "Write the lexer, please"});
    process.ask("message", &said).unwrap();
    // This file shows that a state is known: unneeded states are looked for after that.
    let known = desk.states().join("callstack.kept");
    let begun = Instant::now();
    while !known.exists() {
        assert!(begun.elapsed() < Duration::from_secs(30), "nothing was recorded");
        std::thread::sleep(Duration::from_millis(5));
    }
    let user = json!({"info": {"id": "msg_0", "role": "user", "sessionID": session},
        "parts": [{"id": "prt_0", "type": "text", "text": "Write the lexer, please"}]});
    let mut messages = vec![user];
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    for (n, file) in (1..).zip(["src/lexer.rs", "src/main.rs", "draft.txt", "src/lexer.rs"]) {
        write(&desk, file, &format!("written at {n}"));
        let time = json!({"start": now + 60_000, "end": now + 60_001});
        let state = json!({"status": "completed", "input": {"filePath": file}, "output": "It is written. ".repeat(99),
            "metadata": {}, "time": time});
        let part = json!({"id": format!("prt_{n}"), "type": "tool", "tool": "write",
            "callID": format!("call_{n}"), "state": state});
        let info = json!({"id": format!("msg_{n}"), "role": "assistant", "sessionID": session});
        messages.push(json!({"info": info, "parts": [part]}));
    }
    let sync = json!({"session": session, "purpose": "turn", "keep": 0, "ops": 0, "applied": 0,
        "messages": messages});
    process.ask("sync", &sync).unwrap();
    assert!(process.close());
    let plan = desk.json(&["rollback", "f1", "--yes"]);
    assert_eq!(
        paths(&plan["restored"]),
        [("draft.txt", "reverted"), ("src/lexer.rs", "removed"), ("src/main.rs", "reverted")]
    );
    assert_eq!(read(&desk, "draft.txt").as_deref(), Some("A draft\n"));
    assert_eq!(read(&desk, "src/main.rs").as_deref(), Some("fn main() {}\n"));
}

/// Runs a command at the moment when files are restored.
fn at_restore(desk: &TestEnv, moment: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let script = format!(
        "#!/bin/sh\nPATH=${{PATH#*:}}\ncase \" $* \" in *' restore '*) {moment};; esac\n\
         if [ -e \"$0.restored\" ]; then kill -9 $PPID; exit 1; fi\nexec git \"$@\"\n"
    );
    let folder = desk.sealed.root().join("bin");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("git"), script).unwrap();
    fs::set_permissions(folder.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn what_somebody_writes_while_files_are_restored_stays() {
    let desk = worked();
    desk.ok(&["pop", "-r", "Lexes."]);
    let file = |name: &str| desk.project().join(name).display().to_string();
    let (main, lexer) = (file("src/main.rs"), file("src/lexer.rs"));
    at_restore(&desk, &format!("printf mine > '{main}'; printf 'mine, too' > '{lexer}'"));
    says!(desk, ["rollback", "f2", "--yes"], @r"
    exit 0
    restored 1 file
      src/old.rs  as it was
    ! src/lexer.rs  left: somebody wrote to it meanwhile
    ! src/main.rs  left: somebody wrote to it meanwhile
    to take it back: callstack rollback f2 --undo
    ");
    for (name, content) in [("src/main.rs", "mine"), ("src/lexer.rs", "mine, too")] {
        assert_eq!(read(&desk, name).as_deref(), Some(content));
    }
    assert_eq!(read(&desk, "src/old.rs").as_deref(), Some("fn old() {}\r\nfn older() {}\n"));
    at_restore(&desk, &format!("printf again > '{}'", file("src/old.rs")));
    let undone = desk.json(&["rollback", "f2", "--undo", "--yes"]);
    assert_eq!(paths(&undone["restored"]), []);
    assert_eq!(paths(&undone["left"]), [("src/old.rs", "written_meanwhile")]);
    assert_eq!(read(&desk, "src/old.rs").as_deref(), Some("again"));
    assert!(!desk.project().join(".callstack/restoring").exists());
}

#[test]
fn a_rollback_that_was_cut_off_can_be_taken_back() {
    let (before, after) = ("touch $0.restored", "touch $0.restored; exec git \"$@\"");
    let cases = [(after, 3), (before, 1), (before, 0)];
    for (restore, restored) in cases {
        let desk = worked();
        desk.ok(&["pop", "-r", "Lexes."]);
        let files = ["src/lexer.rs", "src/main.rs", "src/old.rs"];
        let before = files.map(|file| read(&desk, file));
        at_restore(&desk, restore);
        let rollback = desk.command(&desk.project(), &["rollback", "f2", "--yes"]);
        let killed = desk.sealed.run("callstack", rollback, Duration::from_secs(30)).unwrap();
        assert_eq!(killed.status.code(), None, "{restore}: {killed}");
        fs::remove_file(desk.sealed.root().join("bin/git")).unwrap();
        if restored == 1 {
            // It had come so far.
            fs::remove_file(desk.project().join("src/lexer.rs")).unwrap();
        }
        let changed =
            files.iter().zip(&before).filter(|(file, before)| read(&desk, file) != **before);
        assert_eq!(changed.count(), restored, "{restore}");

        let undone = desk.json(&["rollback", "f2", "--undo", "--yes"]);
        assert_eq!(paths(&undone["restored"]).len(), restored, "{restore}: {undone}");
        assert_eq!(undone["left"], json!([]));
        assert_eq!(files.map(|file| read(&desk, file)), before, "{restore}");
        assert!(!desk.project().join(".callstack/restoring").exists(), "{restore}");
        desk.is_whole(&["f1", "f2"]);
    }
}

#[test]
fn what_others_changed_is_left_as_it_is() {
    let desk = worked();
    // A command of the frame, as far as anybody knows.
    write(&desk, "generated.rs", "made\n");
    fs::remove_file(desk.project().join("notes.txt")).unwrap();
    // Written by a tool, and then by something else.
    write(&desk, "src/old.rs", "formatted\n");
    desk.ok(&["pop", "-r", "Lexes."]);
    write(&desk, "src/main.rs", "fn main() { mine() }\n");

    let plan = desk.json(&["rollback", "f2", "--dry-run"]);
    assert_eq!(paths(&plan["restored"]), [("src/lexer.rs", "removed")]);
    let left = [
        ("generated.rs", "not_seen"),
        ("notes.txt", "not_seen"),
        ("src/main.rs", "changed_since"),
        ("src/old.rs", "not_seen"),
    ];
    assert_eq!(paths(&plan["left"]), left);

    let plan = desk.json(&["rollback", "f2", "--all", "--yes"]);
    assert_eq!(paths(&plan["left"]), [("src/main.rs", "changed_since")]);
    assert_eq!(read(&desk, "generated.rs"), None);
    assert_eq!(read(&desk, "notes.txt").as_deref(), Some("Mine\n"));
    assert_eq!(read(&desk, "src/main.rs").as_deref(), Some("fn main() { mine() }\n"));
    assert_eq!(read(&desk, "src/old.rs").as_deref(), Some("fn old() {}\r\nfn older() {}\n"));
}

#[test]
fn a_frame_that_is_open_is_rolled_back_with_those_below_it() {
    let desk = worked();
    desk.ok(&["push", "Test the lexer", "-c", "Tests are green"]);
    write(&desk, "tests/lexer.rs", "#[test]\n");
    desk.ok(&["artifact", "tests/lexer.rs"]);
    desk.ok(&["pop", "-r", "Green."]);
    let own = desk.json(&["rollback", "f3", "--dry-run"]);
    assert_eq!(paths(&own["restored"]), [("tests/lexer.rs", "removed")]);
    let all = desk.json(&["rollback", "f2", "--yes"]);
    let files = all["restored"].as_array().unwrap().len();
    assert_eq!((files, read(&desk, "tests/lexer.rs")), (4, None));
    assert_eq!(desk.json(&["rollback", "f3", "--dry-run"])["restored"], json!([]));
}

#[test]
fn files_come_back_byte_for_byte_whatever_git_is_asked_to_convert() {
    let desk = TestEnv::new();
    write(&desk, ".gitattributes", "* text=auto eol=crlf\n*.id ident\n");
    desk.sealed.git_init().unwrap();
    let mixed = "one\r\ntwo\n$Id$\n";
    write(&desk, "mixed.id", mixed);
    write(&desk, "ignored.log", "");
    write(&desk, ".gitignore", "*.log\n");
    desk.ok(&["push", "Convert", "-c", "Converted"]);
    write(&desk, "mixed.id", "other\n");
    write(&desk, "ignored.log", "said\n");
    desk.ok(&["artifact", "mixed.id"]);
    desk.ok(&["artifact", "ignored.log"]);
    let plan = desk.json(&["rollback", "f1", "--yes"]);
    assert_eq!(paths(&plan["restored"]), [("mixed.id", "reverted")]);
    assert_eq!(read(&desk, "mixed.id").as_deref(), Some(mixed));
    assert_eq!(read(&desk, "ignored.log").as_deref(), Some("said\n"));
}

#[test]
fn where_nothing_was_recorded_that_is_said() {
    let desk = TestEnv::new();
    desk.ok(&["push", "Build the parser", "-c", "It parses"]);
    says!(desk, ["rollback", "f1"], @r#"
    exit 4
    --- stderr
    error: the files were not recorded when frame f1 "Build the parser" began
    hint: They are when a frame is pushed or activated in a git work tree, and STACK_ROLLBACK is on, and for one that begins by itself where it could be done before its first call; what frames wrote is told by `callstack show`.
    "#);
    let recorded = in_git();
    recorded.ok(&["config", "STACK_ROLLBACK", "off"]);
    recorded.ok(&["push", "Build the parser", "-c", "It parses"]);
    assert_eq!(recorded.run(&["rollback", "f1"]).code, desk.run(&["rollback", "f1"]).code);
    assert!(!recorded.states().exists());
}
