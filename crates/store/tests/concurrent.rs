//! Several processes, and several threads with a store of their own each, at the same time.

use std::collections::BTreeSet;
use std::sync::Barrier;

use callstack_core::decide::{Command, PopSince, Refusal};
use callstack_core::frame::Status;
use callstack_core::limits::Limits;
use callstack_core::named_steps::NamedSteps;
use callstack_core::results::ResultsSource;
use callstack_core::transcript::{Outcome, SpanOrigin};
use callstack_store::{Store, StoreError};

use crate::child::{Process, WIDE, made, message};
use crate::support::{Project, Refused, assert_sound, carry_out, identity, push, root};

const PROCESSES: usize = 4;
const STEPS: usize = 25;

#[test]
fn processes_lose_nothing_of_one_another() {
    let project = Project::new();
    let folder = project.folder();
    let mut processes: Vec<_> = (0..PROCESSES)
        .map(|number| Process::start(&format!("work ses_{number} {STEPS}"), &folder))
        .collect();
    let mut handles = BTreeSet::new();
    for process in &mut processes {
        while let Some(said) = process.says() {
            if let Some((_, handle)) = said.strip_prefix("push ").and_then(|it| it.split_once(' '))
            {
                assert!(handles.insert(handle.to_owned()), "{handle} was given out twice");
            }
        }
        assert!(process.wait().success());
    }
    assert_eq!(handles.len(), PROCESSES * STEPS);
    let store = project.open();
    assert_sound(&store);
    store
        .read(|view| {
            for number in 0..PROCESSES {
                let session = format!("ses_{number}");
                let known = view.session_row(&session)?.unwrap();
                assert_eq!(known.active, known.root);
                let children = view.children(known.root)?;
                assert_eq!(children.len(), STEPS, "{session}");
                let messages = view.messages(&session)?;
                assert_eq!(messages.len(), STEPS, "{session}");
                for (step, (child, kept)) in (0..).zip(children.iter().zip(&messages)) {
                    assert_eq!(child.identity.title, format!("step {step}"));
                    assert_eq!(child.results.as_deref(), Some(&*format!("result {step}")));
                    assert_eq!(kept.json, message(&session, step));
                }
            }
            Ok::<_, StoreError>(())
        })
        .unwrap();
}

#[test]
fn processes_never_give_the_same_name_to_steps() {
    let project = Project::new();
    let folder = project.folder();
    let mut processes: Vec<_> = (0..PROCESSES)
        .map(|number| Process::start(&format!("name ses_{number} {STEPS}"), &folder))
        .collect();
    let mut names = vec![Vec::new(); PROCESSES];
    for (number, process) in processes.iter_mut().enumerate() {
        while let Some(said) = process.says() {
            let name = said.rsplit(' ').next().unwrap();
            names[number].push(name.parse::<u64>().unwrap());
        }
        assert!(process.wait().success());
    }
    let all: BTreeSet<u64> = names.iter().flatten().copied().collect();
    assert_eq!(all.len(), PROCESSES * STEPS);
    let store = project.open();
    assert_sound(&store);
    for (number, names) in names.iter().enumerate() {
        let stored = store.read(|view| view.named_steps(&format!("ses_{number}"))).unwrap();
        assert_eq!(stored.iter().map(|it| it.num).collect::<Vec<_>>(), *names);
    }
}

#[test]
fn what_a_killed_process_named_another_one_closes_once() {
    let project = Project::new();
    let mut process = Process::start("name ses_a 1000000", &project.folder());
    for _ in 0..STEPS {
        process.says().unwrap();
    }
    process.kill();
    let store = project.open();
    let named = store.read(|view| view.named_steps("ses_a")).unwrap();
    assert!(named.len() >= STEPS, "{}", named.len());
    let close = |store: &Store, steps: &NamedSteps| {
        let command = Command::PopSince(PopSince {
            session: "ses_a".to_owned(),
            first: steps.first.clone(),
            anchor: made(1_000_000),
            begun: Vec::new(),
            identity: identity("survey"),
            id: format!("frm-{}", steps.num),
            outcome: Outcome::with(
                Status::Completed,
                "all is known".to_owned(),
                None,
                ResultsSource::Agent,
            ),
        });
        carry_out(store, &command, &WIDE).unwrap()
    };
    let frame = close(&store, &named[3]);
    drop(store);
    let store = project.open();
    assert_sound(&store);
    store
        .read(|view| {
            let span = view.session_spans("ses_a")?.into_iter().find(|span| span.frame == frame);
            let span = span.unwrap();
            assert_eq!((span.origin, &span.open), (SpanOrigin::Since, &named[3].first));
            assert_eq!(span.live_close(), Some(&made(1_000_000)));
            assert_eq!(view.frame(frame)?.status, Status::Completed);
            assert_eq!(
                view.session_row("ses_a")?.unwrap().active,
                view.session_row("ses_a")?.unwrap().root
            );
            assert_eq!(view.next_named_steps()?, named.len() as u64 + 1, "names stay given out");
            Ok::<_, StoreError>(())
        })
        .unwrap();
}

/// A process that closes a database finds out by the others' locks whether it is the last one, and may then delete
/// the log.
#[cfg(target_os = "linux")]
#[test]
fn a_process_that_opens_a_store_again_keeps_its_locks() {
    use std::os::unix::fs::MetadataExt as _;
    let project = Project::new();
    let store = project.open();
    let inode = std::fs::metadata(project.database()).unwrap().ino();
    let holds = || {
        let locks = std::fs::read_to_string("/proc/locks").unwrap();
        let ours = std::process::id().to_string();
        locks.lines().any(|line| {
            let mut words = line.split_whitespace();
            words.any(|word| word == ours) && words.any(|word| word.ends_with(&format!(":{inode}")))
        })
    };
    // The system lists locks piece by piece: one may be passed over while others come and go.
    let still_holds = || {
        (0..50).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(2));
            holds()
        })
    };
    assert!(still_holds());
    let further = project.open();
    assert!(still_holds(), "a second connection has cost the first its lock");
    drop(further);
    assert!(still_holds());
    drop(store);
    assert!(!holds());
}

#[test]
fn a_store_that_many_make_at_once_opens_for_all_of_them() {
    const MAKERS: usize = 8;
    for _ in 0..40 {
        let project = Project::new();
        let barrier = Barrier::new(MAKERS);
        std::thread::scope(|scope| {
            for _ in 0..MAKERS {
                scope.spawn(|| {
                    barrier.wait();
                    project.open()
                });
            }
        });
        assert_sound(&project.open());
    }
}

/// Returns how many of `threads` times `each` attempts succeed when all begin at once.
fn race(
    project: &Project,
    limits: &Limits,
    threads: usize,
    each: usize,
    attempt: impl Fn(usize, usize) -> callstack_core::decide::Command + Sync,
) -> usize {
    let barrier = Barrier::new(threads);
    std::thread::scope(|scope| {
        let racers: Vec<_> = (0..threads)
            .map(|thread| {
                let (barrier, attempt) = (&barrier, &attempt);
                scope.spawn(move || {
                    let store = project.open();
                    barrier.wait();
                    let tried =
                        (0..each).map(|number| carry_out(&store, &attempt(thread, number), limits));
                    tried
                        .filter(|outcome| match outcome {
                            Ok(_) => true,
                            Err(Refused(Refusal::Limit { .. })) => false,
                            Err(other) => panic!("{other:?}"),
                        })
                        .count()
                })
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).sum()
    })
}

#[test]
fn the_number_of_frames_in_progress_holds_when_all_push_at_once() {
    let project = Project::new();
    let store = project.open();
    for session in 0..4 {
        carry_out(&store, &root(&format!("ses_{session}"), None), &WIDE).unwrap();
    }
    let limits = Limits { live_frames: 15, ..WIDE };
    let done = race(&project, &limits, 4, 6, |thread, number| {
        push(&format!("ses_{thread}"), &format!("frm-{thread}-{number}"), "one of many")
    });
    assert_eq!(done, 15 - 4);
    let live = store.read(|view| view.all_counts()).unwrap()[&Status::InProgress];
    assert_eq!(live, 15);
    assert_sound(&store);
}

#[test]
fn the_number_of_children_holds_when_many_sessions_start_at_once() {
    let project = Project::new();
    let store = project.open();
    let parent = carry_out(&store, &root("ses_parent", None), &WIDE).unwrap();
    let limits = Limits { children: 7, ..WIDE };
    let done = race(&project, &limits, 4, 4, |thread, number| {
        root(&format!("ses_{thread}_{number}"), Some("ses_parent"))
    });
    assert_eq!(done, 7);
    assert_eq!(store.read(|view| view.children(Some(parent))).unwrap().len(), 7);
}

#[test]
fn the_depth_holds_when_a_session_pushes_from_many_sides() {
    let project = Project::new();
    let store = project.open();
    carry_out(&store, &root("ses_a", None), &WIDE).unwrap();
    let limits = Limits { depth: 9, ..WIDE };
    let done = race(&project, &limits, 4, 4, |thread, number| {
        push("ses_a", &format!("frm-{thread}-{number}"), "deeper")
    });
    assert_eq!(done, 8);
    let deepest = store.read(|view| view.all_frames()).unwrap().iter().map(|it| it.depth).max();
    assert_eq!(deepest, Some(8));
}
