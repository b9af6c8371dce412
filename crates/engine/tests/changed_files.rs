//! Files that finished frames wrote and that changed since.

use std::fs;
use std::time::{Duration, UNIX_EPOCH};

use callstack_engine::{Engine, Settings, SystemRequest, World as _};
use serde_json::{Value, json};

use crate::support::{Clock, Project};

/// A frame that wrote three files and is finished; the handle is `f2`.
fn written() -> Project {
    let project = Project::new();
    project.user("ses_a", "Build the lexer of the shop");
    let lexer = json!({"title": "Lexer tokens", "successCriteria": "the lexer gives tokens"});
    project.did("ses_a", "stack_frame_push", lexer);
    for name in ["kept.rs", "changed.rs", "gone.rs"] {
        fs::write(project.engine.project().join(name), name).unwrap();
        project.engine.files_written("ses_a", &[name.to_owned()]).unwrap();
    }
    project.did("ses_a", "stack_frame_pop", json!({"results": "lexer tokens are there"}));
    project
}

/// Returns the part of the next frame's context about it; nothing where there is nothing new.
fn frame_line(project: &Project) -> String {
    let next = json!({"title": "Lexer errors", "successCriteria": "the lexer tokens have errors"});
    let answer = project.did("ses_a", "stack_frame_push", next).text;
    project.did("ses_a", "stack_frame_pop", json!({"results": "done"}));
    let line = answer.lines().find(|line| line.contains("id=\"f2\""));
    line.unwrap_or_default().trim().to_owned()
}

#[test]
fn later_outputs_say_so_and_earlier_ones_stay() {
    let project = written();
    insta::assert_snapshot!(frame_line(&project), @"");
    let folder = project.engine.project();
    fs::write(folder.join("changed.rs"), "by an editor").unwrap();
    fs::remove_file(folder.join("gone.rs")).unwrap();
    insta::assert_snapshot!(frame_line(&project), @r#"<frame id="f2" status="completed" title="Lexer tokens" results="above">[changed since: changed.rs; gone since: gone.rs] lexer tokens are there</frame>"#);
    let details = project.did("ses_a", "stack_frame_details", json!({"frame": "f2"}));
    assert!(details.text.contains("changed.rs (changed since)"), "{}", details.text);
    let changed = json!({"changed.rs": "changed since", "gone.rs": "gone since"});
    assert_eq!(details.data["changedArtifacts"], changed);
}

#[test]
fn what_a_later_frame_wrote_is_no_news() {
    let project = written();
    let again = json!({"title": "Again", "successCriteria": "it is faster"});
    project.did("ses_a", "stack_frame_push", again);
    fs::write(project.engine.project().join("changed.rs"), "by a frame").unwrap();
    project.engine.files_written("ses_a", &["changed.rs".to_owned()]).unwrap();
    project.did("ses_a", "stack_frame_pop", json!({"results": "faster"}));
    let details = project.did("ses_a", "stack_frame_details", json!({"frame": "f2"}));
    assert!(details.data["changedArtifacts"].is_null(), "{}", details.data);
}

/// Writes a file in a frame of its own, which is finished a second later.
fn writes(project: &Project, clock: &Clock, file: &str, content: &str) {
    let push = json!({"title": content, "successCriteria": "it is written"});
    project.did("ses_a", "stack_frame_push", push);
    fs::write(project.engine.project().join(file), content).unwrap();
    project.engine.files_written("ses_a", &[file.to_owned()]).unwrap();
    clock.pass(1_000);
    project.did("ses_a", "stack_frame_pop", json!({"results": "it says so"}));
}

/// Returns the changes of a frame's files.
fn changes(project: &Project, frame: &str) -> Value {
    let details = project.did("ses_a", "stack_frame_details", json!({"frame": frame}));
    details.data["changedArtifacts"].clone()
}

#[test]
fn what_an_earlier_frame_wrote_is_news_when_it_is_back() {
    let clock = Clock::behind_the_machine();
    let (project, folder) = timed(&clock);
    project.user("ses_a", "Build the lexer of the shop");
    writes(&project, &clock, "a.rs", "first");
    writes(&project, &clock, "a.rs", "second");
    assert!(changes(&project, "f3").is_null(), "it is as it left it");
    assert!(changes(&project, "f2").is_null(), "a later frame wrote it");
    fs::write(folder.path().join("a.rs"), "first").unwrap();
    assert_eq!(changes(&project, "f3"), json!({"a.rs": "changed since"}));
    assert!(changes(&project, "f2").is_null(), "it is again as it left it");
}

#[test]
fn what_a_frame_below_wrote_or_one_that_goes_on_is_no_news() {
    let clock = Clock::behind_the_machine();
    let (project, folder) = timed(&clock);
    project.user("ses_a", "Build the lexer of the shop");
    let push = json!({"title": "Lexer", "successCriteria": "it is there"});
    project.did("ses_a", "stack_frame_push", push.clone());
    fs::write(folder.path().join("a.rs"), "by hand").unwrap();
    project.engine.files_written("ses_a", &["a.rs".to_owned()]).unwrap();
    writes(&project, &clock, "a.rs", "below");
    clock.pass(1_000);
    project.did("ses_a", "stack_frame_pop", json!({"results": "it is there"}));
    assert!(changes(&project, "f2").is_null(), "the frame below it wrote it last");
    project.did("ses_a", "stack_frame_push", push);
    fs::write(folder.path().join("a.rs"), "goes on").unwrap();
    project.engine.files_written("ses_a", &["a.rs".to_owned()]).unwrap();
    assert!(changes(&project, "f2").is_null(), "another one is at it");
}

#[cfg(unix)]
#[test]
fn an_older_file_that_is_moved_over_it_is_a_change() {
    let clock = Clock::behind_the_machine();
    let (project, folder) = timed(&clock);
    let older = folder.path().join("older.rs");
    fs::write(&older, "older").unwrap();
    let file = fs::File::options().write(true).open(&older).unwrap();
    file.set_modified(UNIX_EPOCH).unwrap();
    project.user("ses_a", "Build the lexer of the shop");
    writes(&project, &clock, "a.rs", "younger");
    fs::rename(older, folder.path().join("a.rs")).unwrap();
    assert_eq!(changes(&project, "f2"), json!({"a.rs": "changed since"}));
}

#[test]
fn all_files_of_a_frame_that_is_asked_for_are_looked_at() {
    let clock = Clock::behind_the_machine();
    let names: Vec<_> = (1..=20).map(|name| format!("{name:02}.rs")).collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), 0)).collect();
    let (project, folder) = changed(&clock, &files);
    for name in &names {
        fs::write(folder.path().join(name), "by an editor").unwrap();
    }
    assert_eq!(changes(&project, "f2").as_object().unwrap().len(), 20);
    let line = frame_line(&project);
    assert!(line.contains("05.rs") && !line.contains("04.rs"), "the newest ones: {line}");
}

#[test]
fn a_folder_in_place_of_a_file_is_a_change() {
    let project = written();
    let path = project.engine.project().join("changed.rs");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(changes(&project, "f2"), json!({"changed.rs": "changed since"}));
    assert!(frame_line(&project).contains("[changed since: changed.rs] "));
}

const MEGABYTE: usize = 1024 * 1024;

/// A project whose time is that of a clock.
fn timed(clock: &Clock) -> (Project, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let engine =
        Engine::open_unchecked(folder.path(), Settings::default(), Box::new(clock.clone()))
            .unwrap();
    (Project::of(engine), folder)
}

/// A frame that wrote these files, so many megabytes each, and is finished; then all of them were changed
/// by an editor, a while ago.
fn changed(clock: &Clock, files: &[(&str, usize)]) -> (Project, tempfile::TempDir) {
    let (project, folder) = timed(clock);
    project.user("ses_a", "Build the lexer of the shop");
    let lexer = json!({"title": "Lexer tokens", "successCriteria": "the lexer gives tokens"});
    project.did("ses_a", "stack_frame_push", lexer);
    let write = |name: &str, byte: u8, megabytes: usize| {
        fs::write(folder.path().join(name), vec![byte; megabytes * MEGABYTE]).unwrap();
    };
    for (name, megabytes) in files {
        write(name, b'a', *megabytes);
        project.engine.files_written("ses_a", &[(*name).to_owned()]).unwrap();
    }
    project.did("ses_a", "stack_frame_pop", json!({"results": "lexer tokens are there"}));
    clock.pass(1_000);
    let now = UNIX_EPOCH + Duration::from_millis(clock.now().try_into().unwrap());
    for (name, megabytes) in files {
        write(name, b'b', *megabytes);
        let file = fs::File::options().write(true).open(folder.path().join(name)).unwrap();
        file.set_modified(now).unwrap();
    }
    clock.pass(120_000);
    (project, folder)
}

#[test]
fn a_context_reads_no_more_than_its_budget_and_the_next_one_goes_on() {
    let clock = Clock::behind_the_machine();
    let (project, _folder) =
        changed(&clock, &[("huge.rs", 5), ("a.rs", 2), ("b.rs", 2), ("c.rs", 1), ("d.rs", 0)]);
    // The newest first; an empty one costs nothing.
    let first = frame_line(&project);
    assert!(first.contains("[changed since: b.rs, c.rs] "), "{first}");
    let second = frame_line(&project);
    assert!(second.contains("[changed since: a.rs, b.rs, c.rs] "), "{second}");
    assert_eq!(frame_line(&project), second, "what is larger than any budget is left");
    // A request for one frame checks all its files, and from then on the result is known.
    let details = project.did("ses_a", "stack_frame_details", json!({"frame": "f2"}));
    assert_eq!(details.data["changedArtifacts"].as_object().unwrap().len(), 4, "{}", details.data);
    let last = frame_line(&project);
    assert!(last.contains("[changed since: a.rs, b.rs, c.rs, huge.rs] "), "{last}");
}

#[test]
fn a_file_that_was_read_is_read_again_when_it_changes() {
    let clock = Clock::behind_the_machine();
    let (project, folder) = changed(&clock, &[("a.rs", 1)]);
    assert!(frame_line(&project).contains("[changed since: a.rs] "));
    fs::write(folder.path().join("a.rs"), vec![b'a'; MEGABYTE]).unwrap();
    assert!(!frame_line(&project).contains("changed since"), "it is again what the frame wrote");
    fs::remove_file(folder.path().join("a.rs")).unwrap();
    assert!(frame_line(&project).contains("[gone since: a.rs] "));
}

#[test]
fn the_system_prompt_says_so_too() {
    let clock = Clock::behind_the_machine();
    let (project, _folder) = changed(&clock, &[("a.rs", 1), ("huge.rs", 5)]);
    let next = json!({"title": "Lexer errors", "successCriteria": "the lexer tokens have errors"});
    project.did("ses_a", "stack_frame_push", next);
    let request = SystemRequest { session: "ses_a".to_owned(), limit: None };
    let prompt = project.engine.system(&request).unwrap().concat();
    assert!(prompt.contains("[changed since: a.rs] "), "{prompt}");
    assert_eq!(project.engine.system(&request).unwrap().concat(), prompt);
}
