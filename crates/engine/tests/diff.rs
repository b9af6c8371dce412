//! The lines that changed in files while a frame was worked on.

use callstack_engine::operation::{Caller, PAGE};
use callstack_engine::operations;
use serde_json::{Value, json};

use crate::rollback::{ends_unseen, pop, project, push, write, writes};
use crate::support::{Project, caller};

fn diff(project: &Project, arguments: Value) -> Value {
    let page = Caller { host: PAGE.to_owned(), reveal: false, ..caller("ses_a") };
    operations::find("stack_diff").unwrap().run(&project.engine, &page, arguments).unwrap().data
}

/// Path, kind, added lines, and whether a tool was seen writing it.
fn described(diff: &Value) -> Vec<(&str, &str, u64, bool)> {
    let files = diff["files"].as_array().unwrap().iter();
    let described = files.map(|file| {
        let text = |name: &str| file[name].as_str().unwrap();
        (
            text("path"),
            text("kind"),
            file["added"].as_u64().unwrap(),
            file["seen"].as_bool().unwrap(),
        )
    });
    described.collect()
}

#[test]
fn changes_between_begin_and_end_are_shown_whoever_made_them() {
    let project = project();
    write(&project, "old.rs", "one\n");
    push(&project);
    writes(&project, "seen.rs", "one\ntwo\n");
    write(&project, "old.rs", "one\ntwo\nthree\n");
    let open = diff(&project, json!({"frame": "f2"}));
    assert_eq!((&open["since"], &open["until"]), (&json!("begun"), &json!("now")));
    pop(&project, json!({"results": "done"}));
    write(&project, "later.rs", "four\n");
    let ended = diff(&project, json!({"frame": "f2"}));
    assert_eq!((&ended["source"], &ended["until"]), (&json!("states"), &json!("ended")));
    let expected = [("old.rs", "changed", 3, false), ("seen.rs", "created", 2, true)];
    assert_eq!(described(&ended), expected);
    assert_eq!(ended["files"][1]["patch"], "+one\n+two\n");
    assert_eq!(described(&diff(&project, json!({"frame": "f2", "path": "old.rs"}))), expected[..1]);
}

#[test]
fn many_files_and_long_ones_are_shown_in_parts() {
    let project = project();
    push(&project);
    for name in ["a", "b", "c"] {
        write(&project, name, "line one\nline two\nline three\n");
    }
    pop(&project, json!({"results": "done"}));
    let first = diff(&project, json!({"frame": "f2", "count": 2, "limit": 25}));
    assert_eq!((&first["total"], &first["more"]), (&json!(3), &json!(2)));
    let file = &first["files"][0];
    assert_eq!((&file["patch"], &file["cut"]), (&json!("+line one\n+line two\n"), &json!(true)));
    let rest = diff(&project, json!({"frame": "f2", "from": 2}));
    assert_eq!(described(&rest), [("c", "created", 3, false)]);
    assert_eq!(rest["more"], Value::Null);
}

#[test]
fn a_secret_does_not_show_where_a_patch_is_cut_in_it() {
    let project = project();
    push(&project);
    let key = format!("sk-ant-api03-{}", "aB3".repeat(32));
    write(&project, "env", &format!("KEY={key}\nother\n"));
    pop(&project, json!({"results": "done"}));
    let shown = diff(&project, json!({"frame": "f2", "limit": 60}));
    assert!(!shown.to_string().contains("aB3aB3"), "{shown:#}");
}

/// Changes that others made after an end that was not recorded can't be distinguished from the frame's changes.
#[test]
fn without_a_state_of_the_end_nothing_is_shown_and_it_is_said_why() {
    let project = project();
    push(&project);
    ends_unseen(&project, "f2");
    write(&project, "theirs", "later work");
    let nothing = diff(&project, json!({"frame": "f2"}));
    assert_eq!((&nothing["source"], &nothing["total"]), (&json!("calls"), &json!(0)));
    assert!(nothing["why"].as_str().unwrap().contains("No call of the frame"), "{nothing:#}");
}
