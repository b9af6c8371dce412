//! `OpenCode` compacts a session that works in frames.

mod checkpoint;
mod completion;
mod failing;

use callstack_scripted_model::{RecordedRequest, RequestKind, Step};

use super::seen::{assert_no_work, our_system, seen};
use super::steps::{WORK, pop, push, work};
use super::talk::{Session, Talk};
use super::tree::tree;

fn compactions(session: &Session<'_>) -> Vec<RecordedRequest> {
    let requests = session.talk.project.model.requests();
    let own = |it: &RecordedRequest| it.session == session.id && it.kind == RequestKind::Compaction;
    requests.into_iter().filter(own).collect()
}

#[test]
fn a_compaction_in_a_frame_reads_what_finished_frames_returned() {
    let Some(talk) = Talk::new(&[]) else { return };
    let sealed = &talk.project.sealed;
    let session = talk.session([
        push("First part", "it is read").reasoning("A subtask."),
        work("the first part").reasoning("Read."),
        pop("The first part says 7.").reasoning("Done."),
        push("Second part", "it is read too").reasoning("Next."),
        work("the second part").reasoning("Read."),
        Step::text("Half way.").reasoning("Tell."),
        work("the rest").reasoning("Go on."),
        pop("The second part says 8.").reasoning("Done with that."),
        Step::text("All is read.").reasoning("Tell."),
        Step::text("You are welcome.").reasoning("Polite."),
    ]);
    session.say("Read the parts");
    talk.server.summarize(&session.id).unwrap();
    session.say("Go on");
    session.say("Thanks");
    let requests = session.finished();
    assert_eq!(
        tree(sealed, &session.id),
        "Read the parts in_progress *\n  First part completed\n  Second part completed\n"
    );
    let [summarised] = &compactions(&session)[..] else { panic!("not one compaction") };
    let text = summarised.render();
    assert!(text.contains("The first part says 7."), "{text}");
    assert!(!text.contains(&format!("{WORK} the first part")), "{text}");
    assert!(text.contains(&format!("{WORK} the second part")), "{text}");
    assert!(text.contains("<title>Second part</title>"), "{text}");
    let systems: Vec<_> = requests.iter().map(our_system).collect();
    assert_eq!(systems[0], systems[5]);
    assert_ne!(systems[5], systems[6], "the system prompt tells the tree anew");
    assert!(systems[6][0].contains("Second part"), "{}", systems[6][0]);
    assert_eq!(systems[6], systems[9]);
    for after in &requests[8..] {
        assert_no_work(after);
        assert!(after.render().contains("The second part says 8."), "{}", seen(after));
    }
}

#[test]
fn a_pop_at_the_models_limit_counts_though_it_sets_a_compaction_off() {
    let Some(talk) = Talk::new(&[]) else { return };
    let sealed = &talk.project.sealed;
    let session = talk.session([
        push("Big part", "it is read").reasoning("A subtask."),
        work("the big part").reasoning("Read."),
        pop("The big part says 9.").reasoning("Done.").usage(126_600, 120),
        Step::text("It says 9.").reasoning("Tell."),
        Step::text("You are welcome.").reasoning("Polite."),
    ]);
    session.say("Read the big part");
    session.say("Thanks");
    let requests = session.finished();
    assert_eq!(
        tree(sealed, &session.id),
        "Read the big part in_progress *\n  Big part completed\n"
    );
    let [summarised] = &compactions(&session)[..] else { panic!("not one compaction") };
    assert!(summarised.render().contains("The big part says 9."), "{}", summarised.render());
    for after in &requests[3..] {
        assert_no_work(after);
    }
}
