//! What is sent after a pop.

use callstack_scripted_model::{Script, Step, check};
use callstack_testkit::{Run, assert_clean};
use serde_json::json;

use super::project::Project;

fn push(title: &str, criteria: &str) -> Step {
    Step::call("stack_frame_push", json!({"title": title, "successCriteria": criteria}))
}

fn pop(results: &str) -> Step {
    Step::call("stack_frame_pop", json!({"results": results}))
}

#[test]
fn a_popped_frame_leaves_what_the_model_is_sent() {
    let script = Script::steps([
        push("Write the greeting", "greeting.txt says hello").reasoning("This is a subtask."),
        Step::call("write", json!({"filePath": "greeting.txt", "content": "hello INNERWORK"}))
            .reasoning("Write it."),
        Step::call("bash", json!({"command": "cat greeting.txt", "description": "look"}))
            .reasoning("Look at it."),
        pop("greeting.txt holds the greeting.").reasoning("Done with that."),
        Step::text("The greeting is written.").reasoning("Tell the user."),
    ]);
    let Some(project) = Project::new(script) else { return };
    project.run(&Run::prompt("Please write a greeting into greeting.txt"));
    let requests = project.requests();
    for request in &requests {
        println!("=====\n{}", request.render());
    }
    assert_clean(&project.model);
    let [.., before, after] = &requests[..] else { panic!() };
    assert!(before.render().contains("INNERWORK"));
    assert!(!after.render().contains("INNERWORK"));
    let push = before.call_ids().into_iter().next().unwrap();
    assert_eq!(check::fold(before, after, &push), []);
}
