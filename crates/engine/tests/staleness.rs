//! Files that finished frames wrote and that changed since.

use std::fs;

use serde_json::json;

use crate::support::Project;

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

/// What the next frame is told of it.
fn told(project: &Project) -> String {
    let next = json!({"title": "Lexer errors", "successCriteria": "the lexer tokens have errors"});
    let told = project.did("ses_a", "stack_frame_push", next).text;
    project.did("ses_a", "stack_frame_pop", json!({"results": "done"}));
    let line = told.lines().find(|line| line.contains("id=\"f2\""));
    line.unwrap_or_else(|| panic!("{told}")).trim().to_owned()
}

#[test]
fn later_outputs_say_so_and_earlier_ones_stay() {
    let project = written();
    insta::assert_snapshot!(told(&project), @r#"<frame id="f2" status="completed" title="Lexer tokens" results="above">lexer tokens are there</frame>"#);
    let folder = project.engine.project();
    fs::write(folder.join("changed.rs"), "by an editor").unwrap();
    fs::remove_file(folder.join("gone.rs")).unwrap();
    insta::assert_snapshot!(told(&project), @r#"<frame id="f2" status="completed" title="Lexer tokens" results="above">[changed since: changed.rs; gone since: gone.rs] lexer tokens are there</frame>"#);
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
