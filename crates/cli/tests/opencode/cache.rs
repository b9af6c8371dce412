//! Texts that were sent are sent again, byte for byte.

use callstack_core::event::Event;
use callstack_core::frame::{Artifact, FrameNum, Identity, Pin};
use callstack_core::transcript::Fold;
use callstack_scripted_model::{Checks, Script, Step};
use callstack_store::{FOLDER, Store};
use callstack_testkit::{Run, assert_clean};

use super::project::Project;
use super::seen::{folds, our_system, result_of, seen, snapshot};
use super::steps::{pop, push, work};

#[test]
fn neither_restarts_nor_later_knowledge_nor_other_renderers_change_what_was_sent() {
    let script = Script::steps([
        push("Find the leak", "the line is known").reasoning("A frame."),
        work("the heap"),
        pop("cache.rs line 7 keeps every page.").reasoning("Found."),
        push("Close the leak", "memory stays flat").reasoning("The next frame."),
        Step::text("I found it; shall I close it?").reasoning("Ask."),
        work("the fix"),
        pop("cache.rs drops pages after 100.").reasoning("Closed."),
        Step::text("Closed.").reasoning("Tell."),
        work("the release notes"),
        Step::text("Noted.").reasoning("Tell."),
        Step::text("Gladly."),
    ]);
    let Some(project) = Project::new(script) else { return };
    project.run(&Run::prompt("The server leaks memory."));
    project.run(&Run::prompt("Yes, close it.").continued());
    assert_eq!(folds(&project.requests()), ["push-find", "push-close"]);

    know_more(&project);
    project.run(&Run::prompt("Mention it in the release notes.").continued());
    assert_clean(&project.model);
    let requests = project.requests();
    assert_eq!(folds(&requests), ["push-find", "push-close"], "nothing changed afterwards");
    snapshot("after_restarts", &seen(&requests[9]));

    let session = project.model.sessions().remove(0);
    project.model.set_checks(&session, Checks { prefix: false, reasoning: false });
    render_otherwise(&project, &session);
    project.run(&Run::prompt("Thank you.").continued());
    assert_clean(&project.model);
    let last = project.requests().pop().unwrap();
    assert_eq!(our_system(&last), ["The guidance of an older version."]);
    assert_eq!(result_of(&last, "push-find"), "What an older version made of it.");
}

fn store(project: &Project) -> Store {
    Store::open_unchecked(&project.sealed.project().join(FOLDER)).unwrap()
}

fn append(project: &Project, events: &[Event]) {
    let appended = store(project).write(|change| change.append(1, events));
    appended.unwrap();
}

/// Adds something to every frame that would show if it were rendered again.
fn know_more(project: &Project) {
    let identity = Identity {
        title: "Another title".to_owned(),
        success_criteria: "Other criteria".to_owned(),
        success_criteria_compacted: "Other criteria".to_owned(),
    };
    let mut events = vec![Event::IdentitySet { frame: FrameNum(1), identity, derived: false }];
    for frame in [FrameNum(1), FrameNum(2), FrameNum(3)] {
        let artifact = Artifact { path: "late.txt".to_owned(), hash: None };
        events.push(Event::ArtifactRecorded { frame, artifact });
        events.push(Event::DecisionRecorded { frame, text: "A late decision.".to_owned() });
        let pin = Pin { num: frame.0, text: "A late constraint.".to_owned() };
        events.push(Event::PinSet { frame, pin });
    }
    append(project, &events);
}

/// Puts words into the store that no present renderer makes.
fn render_otherwise(project: &Project, session: &str) {
    let spans = store(project).read(|view| view.frame_spans(FrameNum(2))).unwrap();
    let span = &spans[0];
    let fold = Fold {
        text: "What an older version made of it.".to_owned(),
        renderer: 0,
        ..span.fold.clone().unwrap()
    };
    let system = Event::Rendered {
        session: session.to_owned(),
        slot: "system:start".into(),
        text: "The guidance of an older version.".to_owned(),
        renderer: 0,
    };
    append(project, &[Event::FoldSet { span: span.num, fold }, system]);
}
