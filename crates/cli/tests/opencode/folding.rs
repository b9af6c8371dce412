//! The request after a pop.

mod endings;
mod nested;
mod one_step;
mod since;
mod turns;

use callstack_scripted_model::{Script, Step};
use callstack_testkit::{Run, assert_clean};

use super::project::Project;
use super::seen::{assert_no_work, folds, seen, snapshot};
use super::steps::{pop, push, work, write};

#[test]
fn a_popped_frame_leaves_what_the_model_is_sent() {
    let script = Script::steps([
        push("Write the greeting", "greeting.txt says hello").reasoning("This is a subtask."),
        write("greeting.txt", "hello INNERWORK").reasoning("INNERWORK: write it."),
        work("the greeting"),
        pop("greeting.txt holds the greeting.").reasoning("Done with that."),
        Step::text("The greeting is written.").reasoning("Tell the user."),
    ]);
    let Some(project) = Project::new(script) else { return };
    project.run(&Run::prompt("Please write a greeting into greeting.txt"));
    assert_clean(&project.model);
    let requests = project.requests();
    let [.., before, after] = &requests[..] else { panic!("{} requests", requests.len()) };
    assert!(before.render().contains("INNERWORK"));
    assert_no_work(after);
    assert_eq!(folds(&requests), ["push-write"]);
    snapshot("one_frame_open", &seen(before));
    snapshot("one_frame_returned", &seen(after));
}
