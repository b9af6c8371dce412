//! A process that is killed at any moment loses nothing that it has acknowledged and leaves nothing
//! half-done.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use callstack_core::frame::Status;
use callstack_store::{Store, StoreError};

use crate::child::{Process, message};
use crate::support::{Project, assert_sound};

const KILLS: usize = 25;

/// The steps that a process has acknowledged as on the disk.
#[derive(Default)]
struct Acknowledged {
    pushed: BTreeMap<u64, String>,
    recorded: Vec<u64>,
    popped: Vec<u64>,
}

impl Acknowledged {
    fn hear(&mut self, said: &str) {
        let words: Vec<&str> = said.split(' ').collect();
        match words.as_slice() {
            ["root"] => {}
            ["push", step, handle] => {
                self.pushed.insert(step.parse().unwrap(), (*handle).to_owned());
            }
            ["message", step] => self.recorded.push(step.parse().unwrap()),
            ["pop", step] => self.popped.push(step.parse().unwrap()),
            _ => panic!("it said {said}"),
        }
    }
}

/// A moment that nobody chose.
fn up_to(most: Duration) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    most.mul_f64(f64::from(now.subsec_nanos() % 10_007) / 10_007.0)
}

#[test]
fn what_was_acknowledged_survives_kill_9() {
    let project = Project::new();
    let folder = project.folder();
    let mut acknowledged = Acknowledged::default();
    for _ in 0..KILLS {
        let mut process = Process::start("work ses_a 100000", &folder);
        acknowledged.hear(&process.says().expect("it begins"));
        std::thread::sleep(up_to(Duration::from_millis(120)));
        process.kill();
        while let Some(said) = process.says() {
            acknowledged.hear(&said);
        }
        inspect(&folder, &acknowledged);
    }
    assert!(!acknowledged.popped.is_empty(), "nothing was done before the kills");
}

#[test]
fn a_store_that_was_being_made_opens() {
    for _ in 0..KILLS {
        let project = Project::new();
        let mut process = Process::start("work ses_a 100000", &project.folder());
        std::thread::sleep(up_to(Duration::from_millis(40)));
        process.kill();
        let mut acknowledged = Acknowledged::default();
        while let Some(said) = process.says() {
            acknowledged.hear(&said);
        }
        inspect(&project.folder(), &acknowledged);
    }
}

fn inspect(folder: &Path, acknowledged: &Acknowledged) {
    let store = Store::open_unchecked(folder).unwrap();
    assert_sound(&store);
    let kept = |view: &callstack_store::View<'_>| {
        for (step, handle) in &acknowledged.pushed {
            let frame = view.resolve(handle)?;
            assert_eq!(frame.id, format!("frm-ses_a-{step}"));
            assert_eq!(frame.identity.title, format!("step {step}"));
            assert_eq!(view.frame_spans(frame.num)?.len(), 1);
        }
        for step in &acknowledged.popped {
            let frame = view.resolve(&format!("frm-ses_a-{step}"))?;
            assert_eq!(frame.status, Status::Completed);
            assert_eq!(frame.results, Some(format!("result {step}")));
        }
        let messages: BTreeMap<_, _> =
            view.messages("ses_a")?.into_iter().map(|it| (it.id, it.json)).collect();
        for step in &acknowledged.recorded {
            assert_eq!(messages[&format!("msg-{step}")], message("ses_a", *step));
        }
        // At most one step is under way: anything beyond the last acknowledged one is complete.
        let frames = view.all_frames()?;
        assert!(frames.len() <= acknowledged.pushed.len() + 2 + frames_left_open(&frames));
        let Some(session) = view.session_row("ses_a")? else { return Ok(()) };
        let open: Vec<_> = frames.iter().filter(|it| it.status == Status::InProgress).collect();
        assert_eq!(session.active, open.last().map(|it| it.num));
        assert!(open.len() <= 2, "{open:?}");
        Ok::<_, StoreError>(())
    };
    store.read(kept).unwrap();
}

/// Frames whose push was committed and never acknowledged: the next process closed them.
fn frames_left_open(frames: &[callstack_core::frame::Frame]) -> usize {
    frames.iter().filter(|it| it.results.as_deref() == Some("left open")).count()
}
