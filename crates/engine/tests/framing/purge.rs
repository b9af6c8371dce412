//! Names that nobody chose for a frame go with its messages, in a session that goes on.

use std::fs;
use std::path::Path;

use callstack_engine::SystemRequest;

use super::host::{Host, SESSION};

/// The files of a folder, and of those in it, that hold a text.
fn holding(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path, text));
        } else if fs::read(&path).unwrap().windows(text.len()).any(|it| it == text.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn of_a_purged_turn_no_text_of_ours_says_anything() {
    let mut host = Host::new().long_outputs();
    host.turn("Build it", "It is built.");
    host.turn("Deploy with quartz-lampoon", "quartz-lampoon did it.");
    host.turn("Test the lexer", "It is green.");
    host.pass(10);
    host.user("Go on");
    host.push("Lexer");
    host.pop("The lexer is there.");
    let folder = host.folder.path().join(".callstack");
    assert!(host.folded("f2").contains("quartz"), "{}", host.folded("f2"));
    assert!(!holding(&folder, "quartz").is_empty());
    let before = host.folded("f1");
    let plan = host.engine.purge_plan("f2").unwrap();
    assert_eq!((plan.removed.titles.len(), plan.removed.results.len()), (1, 1));
    host.engine.purge(plan, "somebody").unwrap();
    assert_eq!(holding(&folder, "quartz"), Vec::<String>::new());
    assert!(host.folded("f2").contains("[purged]"), "{}", host.folded("f2"));
    assert_eq!(host.folded("f1"), before, "what else was sent stays as it was");
    let sent = host.sent().len();
    host.step(&["make"]);
    let system = SystemRequest { session: SESSION.to_owned(), limit: None };
    let system = host.engine.system(&system).unwrap().concat();
    assert!(!system.contains("quartz") && system.contains("callstack"), "{system}");
    assert_eq!(host.sent().len(), sent + 1);
    assert_eq!(holding(&folder, "quartz"), Vec::<String>::new());
    let health = host.engine.check().unwrap();
    assert!(health.damage.is_empty() && health.drifted.is_empty(), "{health:?}");
}

#[test]
fn nothing_is_made_of_purged_messages_that_the_process_was_shown() {
    let mut host = Host::new().long_outputs();
    host.turn("Build it", "It is built.");
    host.user("Deploy with quartz-lampoon");
    host.step(&["echo quartz-echo"]);
    host.todos(&[">Grind quartz-lens", "Sell quartz-lens"], "quartz-words");
    let other = host.other();
    other.purge(other.purge_plan(SESSION).unwrap(), "somebody").unwrap();
    let folder = host.folder.path().join(".callstack");
    assert_eq!(holding(&folder, "quartz"), Vec::<String>::new());
    for _ in 0..4 {
        host.step(&["make"]);
    }
    host.turn("Test the lexer", "It is green.");
    host.turn("Test the parser", "It is green, too.");
    assert_eq!(holding(&folder, "quartz"), Vec::<String>::new());
    // Nor by a process to which they are shown for the first time.
    host.restart();
    host.turn("Test the printer", "It is green as well.");
    assert_eq!(holding(&folder, "quartz"), Vec::<String>::new());
    let health = host.engine.check().unwrap();
    assert!(health.damage.is_empty() && health.drifted.is_empty(), "{health:?}");
}

#[test]
fn what_is_stored_between_the_plan_and_the_purge_goes_as_well() {
    for reference in [SESSION, "f1"] {
        let mut host = Host::new().long_outputs();
        host.user("Deploy with quartz-lampoon");
        host.step(&["echo quartz-echo"]);
        let person = host.other();
        let plan = person.purge_plan(reference).unwrap();
        host.step(&["echo quartz-late"]);
        host.todos(&[">Grind quartz-lens", "Sell quartz-lens"], "quartz-words");
        // The messages of a process that ends are on the disk.
        host.restart();
        let folder = host.folder.path().join(".callstack");
        assert!(!holding(&folder, "quartz-late").is_empty());
        person.purge(plan, "somebody").unwrap();
        assert_eq!(holding(&folder, "quartz"), Vec::<String>::new(), "{reference}");
    }
}
