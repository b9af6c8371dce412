//! Outputs leave the requests of work that goes on: those that a newer one replaced, and under pressure the oldest.

mod host;

use callstack_core::transcript::FoldOp;
use callstack_engine::{Level, MaskOutputs};
use insta::assert_snapshot;
use tempfile::TempDir;

use host::{FILE, Host, SESSION, level, messages_read, settings};

fn new() -> (Host, TempDir) {
    let folder = TempDir::new().unwrap();
    let mut host = Host::new(folder.path(), settings(MaskOutputs::On));
    host.user("Find out who opens the ports");
    host.request();
    (host, folder)
}

#[test]
fn outputs_leave_in_batches_and_in_between_nothing_changes() {
    let (mut host, _folder) = new();
    let mut batches = Vec::new();
    for step in 1..=90 {
        let before = (host.masked(), host.plugin.ops.clone());
        host.steps(1);
        let masked = host.masked();
        if masked == before.0 {
            assert!(host.plugin.ops.starts_with(&before.1), "step {step}");
        } else {
            assert!(masked.starts_with(&before.0), "what is masked stays so");
            batches.push(masked.len() - before.0.len());
        }
        assert!(masked.iter().all(|at| at + 4 <= step), "the newest are whole");
    }
    assert!((2..=7).contains(&batches.len()), "{batches:?}");
    assert!(batches.iter().all(|batch| batch * FILE >= 4_000), "{batches:?}");
}

#[test]
fn only_the_messages_of_a_batch_are_read_for_it() {
    let (mut host, _folder) = new();
    let mut batches = 0;
    for step in 1..=60 {
        let before = host.masked().len();
        messages_read();
        host.steps(1);
        let read = messages_read();
        let masked = host.masked().len() - before;
        batches += usize::from(masked > 0);
        assert_eq!(read, masked, "step {step}");
    }
    assert!(batches > 1, "one batch has nothing in front of it");
}

#[test]
fn each_line_says_that_its_output_was_replaced_and_the_last_one_where_the_whole_is() {
    let (mut host, _folder) = new();
    host.steps(7);
    assert_eq!(host.masked(), [0usize; 0], "it does not pay yet");
    host.pass(6);
    host.steps(1);
    assert_eq!(host.masked(), [1, 2, 3, 4], "the provider has forgotten the request");
    assert_snapshot!(host.lines().join("\n---\n"), @r#"
    [callstack] This output of about 2000 tokens has left the context: the same call was made again, see below.
    ---
    [callstack] This output of about 2000 tokens has left the context: the same call was made again, see below.
    ---
    [callstack] This output of about 2000 tokens has left the context: the same call was made again, see below.
    ---
    [callstack] This output of about 2000 tokens has left the context: the same call was made again, see below.
    What has left can be read again: stack {"op":"stack_log","args":{"frame":"f1"}}
    "#);
    let stored = host.engine.messages(SESSION).unwrap();
    assert!(stored[1].json.contains("port 8001"), "what left is kept whole");
}

#[test]
fn what_was_written_after_the_whole_outputs_goes_without_its_reasoning() {
    let (mut host, _folder) = new();
    host.steps(7);
    host.pass(6);
    host.steps(1);
    // The first line of a batch stands in the first step's result: that step's own prefix is as it was.
    assert_eq!(host.unreasoned(), [2, 3, 4, 5, 6, 7, 8]);
    host.steps(1);
    assert_eq!(
        host.unreasoned(),
        [2, 3, 4, 5, 6, 7, 8],
        "what follows was written behind the lines"
    );
}

#[test]
fn a_restart_at_any_step_sends_the_same() {
    for all in [false, true] {
        let ((mut plain, _folder), (mut restarted, _other)) = (new(), new());
        for step in 0..16 {
            if all {
                restarted.restart_all();
            } else {
                restarted.restart_process();
            }
            for host in [&mut plain, &mut restarted] {
                if step == 9 {
                    host.pass(6);
                }
                host.steps(1);
            }
            assert_eq!(restarted.masked(), plain.masked(), "step {step}, all: {all}");
            assert_eq!(restarted.lines(), plain.lines(), "step {step}, all: {all}");
            if !all {
                assert_eq!(restarted.plugin.ops, plain.plugin.ops, "step {step}");
            }
        }
        assert!(plain.masked().len() > 4);
    }
}

#[test]
fn another_process_on_the_same_store_goes_on_with_the_same_lines() {
    let (mut host, _folder) = new();
    host.steps(12);
    host.pass(6);
    host.steps(1);
    let ops = host.plugin.ops.clone();
    assert!(!host.masked().is_empty());
    let other = host.other();
    let first = std::mem::replace(&mut host.engine, other);
    host.restart_process();
    host.request();
    assert_eq!(host.plugin.ops, ops);
    host.steps(3);
    host.pass(6);
    host.steps(1);
    let more = host.plugin.ops.clone();
    assert!(host.lines().len() > 4 && more.len() > ops.len());
    // The first one has held its knowledge all the time.
    host.engine = first;
    host.request();
    assert_eq!(host.plugin.ops, more);
}

#[test]
fn lines_that_never_arrived_settle_with_the_answer_that_does() {
    let (mut host, _folder) = new();
    host.steps(7);
    host.pass(6);
    host.read(FILE);
    host.request_lost();
    assert_eq!(host.masked(), [0usize; 0]);
    // This step was written after the whole outputs.
    host.steps(1);
    assert_eq!(host.masked(), [1, 2, 3, 4]);
    assert_eq!(host.unreasoned(), [2, 3, 4, 5, 6, 7, 8, 9]);
    host.steps(1);
    assert_eq!(host.unreasoned(), [2, 3, 4, 5, 6, 7, 8, 9]);
    let ops = host.plugin.ops.clone();
    host.restart_process();
    host.request();
    assert_eq!(host.plugin.ops, ops);
}

#[test]
fn what_was_due_at_a_call_that_failed_is_due_at_the_next() {
    let ((mut plain, _folder), (mut refused, _other)) = (new(), new());
    let mut failures = 0;
    for step in 0..40 {
        plain.steps(1);
        refused.read(FILE);
        failures += usize::from(refused.request_refused());
        refused.request();
        assert_eq!(refused.lines(), plain.lines(), "step {step}");
    }
    assert!(failures > 0 && !plain.masked().is_empty());
}

#[test]
fn the_setting_says_whether_and_auto_follows_the_level() {
    let count = |settings| {
        let folder = TempDir::new().unwrap();
        let mut host = Host::new(folder.path(), settings);
        host.user("Find out who opens the ports");
        host.steps(7);
        host.pass(6);
        host.steps(1);
        host.masked().len()
    };
    assert_eq!(count(settings(MaskOutputs::On)), 4);
    assert_eq!(count(settings(MaskOutputs::Off)), 0);
    assert_eq!(count(settings(MaskOutputs::Auto)), 0);
    assert_eq!(count(level(Level::Auto, MaskOutputs::Auto)), 4);
    assert_eq!(count(level(Level::Auto, MaskOutputs::Off)), 0);
}

#[test]
fn what_is_masked_stays_so_when_the_setting_is_turned_off() {
    let (mut host, _folder) = new();
    host.steps(7);
    host.pass(6);
    host.steps(1);
    assert_eq!(host.masked(), [1, 2, 3, 4]);
    let ops = host.plugin.ops.clone();
    host.restart_with(settings(MaskOutputs::Off));
    host.pass(6);
    host.steps(8);
    assert_eq!(host.plugin.ops, ops);
}

#[test]
fn the_request_for_a_compaction_goes_without_what_is_masked() {
    let (mut host, _folder) = new();
    host.steps(7);
    host.pass(6);
    host.steps(1);
    let lines = |ops: &[FoldOp]| {
        let outputs = ops.iter().filter(|op| matches!(op, FoldOp::Output { .. }));
        outputs.cloned().collect::<Vec<_>>()
    };
    assert_eq!(lines(&host.plugin.ops).len(), 4);
    assert_eq!(lines(&host.compacting(2)), lines(&host.plugin.ops));
}

#[test]
fn an_undo_takes_back_no_line_of_what_stays() {
    let (mut host, _folder) = new();
    host.steps(7);
    host.pass(6);
    host.steps(1);
    assert_eq!(host.masked(), [1, 2, 3, 4]);
    let lines = host.lines().join("\n");
    // The newest steps are taken back, with the message at which the lines settled.
    let from = host.shown[6].message.id.clone();
    host.engine.undone_from(SESSION, &from).unwrap();
    host.shown.truncate(6);
    host.user("Look elsewhere");
    host.request();
    assert_eq!(host.lines().join("\n"), lines);
    host.steps(2);
    assert_eq!(host.unreasoned(), [2, 3, 4, 5], "what was written since keeps its reasoning");
    // Masked results themselves are taken back.
    let from = host.shown[2].message.id.clone();
    host.engine.undone_from(SESSION, &from).unwrap();
    host.shown.truncate(2);
    host.user("Look at something else");
    host.steps(3);
    assert_eq!(host.masked(), [1]);
}

#[test]
fn a_fork_has_lines_of_its_own_and_no_reasoning_from_after_others() {
    let (mut host, _folder) = new();
    host.push("Read the notes");
    host.request();
    host.steps(7);
    host.pass(6);
    host.steps(3);
    let last = host.shown.len() - 1;
    assert!(host.masked().len() >= 4 && !host.unreasoned().contains(&last));
    let (original, ops) = (host.shown.clone(), host.plugin.ops.clone());
    host.fork();
    host.restart_with(settings(MaskOutputs::Off));
    host.user("Look at the others");
    host.request();
    assert_eq!(host.masked(), [0usize; 0]);
    assert_eq!(host.unreasoned(), (2..=last).collect::<Vec<_>>());
    host.restart_with(settings(MaskOutputs::On));
    host.pass(6);
    host.request();
    assert!(host.masked().len() >= 4);
    assert!(host.lines().last().unwrap().contains("\"frame\":\"f4\""), "{:?}", host.lines());

    host.shown = original;
    host.session = SESSION.to_owned();
    host.restart_all();
    host.request();
    let lines =
        |ops: &[FoldOp]| ops.iter().filter(|op| matches!(op, FoldOp::Output { .. })).count();
    assert!(lines(&ops) >= 4);
    assert_eq!(lines(&host.plugin.ops), lines(&ops));
}

#[test]
fn what_nothing_replaced_stays_while_there_is_room() {
    let (mut host, _folder) = new();
    host.only_new = true;
    host.limit = Some(200_000);
    host.steps(55);
    host.pass(6);
    host.steps(1);
    assert_eq!(host.masked(), [0usize; 0], "half of the limit");
    assert_eq!(host.announcements(), [""; 0]);
}

#[test]
fn under_pressure_the_oldest_leave_one_step_after_it_was_announced() {
    let (mut host, _folder) = new();
    host.only_new = true;
    host.limit = Some(60_000);
    let mut announced_at = None;
    for step in 1..=40 {
        let before = host.plugin.ops.clone();
        host.steps(1);
        if announced_at.is_some() {
            break;
        }
        assert!(host.plugin.ops.starts_with(&before), "step {step}");
        assert_eq!(host.masked(), [0usize; 0], "step {step}");
        announced_at = (!host.announcements().is_empty()).then_some(step);
    }
    let step = announced_at.expect("it is announced");
    assert!((18..=24).contains(&step), "at 60 % of the limit, and when a batch pays: {step}");
    assert_snapshot!(host.announcements().join("\n"), @"[callstack] The context is 64 % full. After your next step the oldest outputs leave it, each with an outline in its place and all of them in the log: `cat notes/part-1.txt` (2000 tokens), `cat notes/part-2.txt` (2000 tokens), `cat notes/part-3.txt` (2000 tokens), `cat notes/part-4.txt` (2000 tokens), `cat notes/part-5.txt` (2000 tokens), `cat notes/part-6.txt` (2000 tokens), `cat notes/part-7.txt` (2000 tokens), `cat notes/part-8.txt` (2000 tokens). Write down now what you need of them word for word.");
    let masked = host.masked();
    assert_eq!(masked, (1..=masked.len()).collect::<Vec<_>>(), "the oldest first");
    assert!(masked.len() * FILE >= 12_000 && step - masked.len() >= 10, "{masked:?} of {step}");
    assert!(host.lines()[0].starts_with("[callstack] This output of about 2000 tokens has left"));
    let (ops, lines) = (host.plugin.ops.clone(), host.lines().len());
    host.restart_process();
    host.request();
    assert_eq!(host.plugin.ops, ops);
    host.steps(3);
    assert_eq!((host.lines().len(), host.announcements().len()), (lines, 1), "there is room again");
}

#[test]
fn what_was_read_in_an_open_frame_replaces_nothing_outside_of_it() {
    let (mut host, _folder) = new();
    host.steps(4);
    host.push("Read the notes again");
    host.request();
    host.steps(4);
    host.pass(6);
    host.steps(1);
    assert_eq!(host.masked(), [0usize; 0], "they would be gone with the frame");
    host.steps(3);
    host.pass(6);
    host.steps(1);
    assert_eq!(host.masked(), [6, 7, 8, 9, 10], "inside of it they are replaced");
}
