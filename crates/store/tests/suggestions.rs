//! Suggestions and their outcomes.

use callstack_core::autonomy::{Heuristic, LIFETIME, Suggestion, SuggestionEnd, SuggestionKind};
use callstack_core::event::Event;
use callstack_core::frame::FrameNum;
use callstack_core::limits::Limits;
use callstack_store::{Store, SuggestionCounts};

use crate::support::{Project, append, assert_sound, carry_out, push, root};

const MADE: i64 = 10_000;

/// One that waits from shortly after `MADE` on.
pub(crate) fn suggestion(num: u64, session: &str, frame: u64, heuristic: Heuristic) -> Event {
    let made = MADE + i64::try_from(num).unwrap();
    Event::SuggestionMade {
        suggestion: Box::new(Suggestion {
            num,
            session: session.to_owned(),
            frame: FrameNum(frame),
            heuristic,
            confidence: 75,
            subject: (heuristic.kind() == SuggestionKind::Push)
                .then(|| "another \"try\"".to_owned()),
            reason: "3 failures were not put right".to_owned(),
            created_at: made,
            expires_at: made + LIFETIME,
        }),
    }
}

/// Frames 1 and 2; suggestions 1 to 4, of which 2 was acted on and 3 cleared.
fn filled(project: &Project) -> Store {
    let store = project.open();
    carry_out(&store, &root("ses_a", None), &Limits::default()).unwrap();
    carry_out(&store, &push("ses_a", "frm-1", "one"), &Limits::default()).unwrap();
    append(
        &store,
        &[
            suggestion(1, "ses_a", 2, Heuristic::FailureBoundary),
            suggestion(2, "ses_a", 2, Heuristic::Stagnation),
            suggestion(3, "ses_b", 1, Heuristic::FailureBoundary),
            suggestion(4, "ses_a", 1, Heuristic::FailureBoundary),
            Event::SuggestionEnded { suggestion: 2, end: SuggestionEnd::ActedOn },
            Event::SuggestionEnded { suggestion: 3, end: SuggestionEnd::Cleared },
        ],
    );
    store
}

fn pending(store: &Store, now: i64) -> Vec<u64> {
    let found = store.read(|view| view.pending_suggestions("ses_a", now)).unwrap();
    found.into_iter().map(|it| it.num).collect()
}

#[test]
fn one_waits_until_its_time_is_over() {
    let project = Project::new();
    let store = filled(&project);
    let over = MADE + LIFETIME;
    assert_eq!(pending(&store, MADE), [1, 4]);
    assert_eq!(pending(&store, over), [1, 4]);
    assert_eq!(pending(&store, over + 1), [4]);
    assert_eq!(pending(&store, over + 4), [0; 0]);
    let one = |num, now| store.read(|view| view.suggestion(num, now)).unwrap().unwrap();
    assert_eq!(one(1, over).end, None);
    let expired = one(1, over + 1);
    assert_eq!((expired.end, expired.ended_at), (Some(SuggestionEnd::Expired), Some(over + 1)));
    assert_eq!(expired.suggestion.subject.as_deref(), Some("another \"try\""));
    assert_eq!(one(2, over + 9).end, Some(SuggestionEnd::ActedOn));
    assert!(store.read(|view| view.suggestion(5, 0)).unwrap().is_none());
    assert_eq!(store.read(|view| view.next_suggestion()).unwrap(), 5);
}

#[test]
fn they_are_found_by_frame_and_session_and_counted() {
    let project = Project::new();
    let store = filled(&project);
    let nums = |found: Vec<callstack_store::StoredSuggestion>| -> Vec<u64> {
        found.into_iter().map(|it| it.suggestion.num).collect()
    };
    store
        .read(|view| {
            assert_eq!(nums(view.frame_suggestions(FrameNum(2), 0, MADE)?), [1, 2]);
            assert_eq!(nums(view.frame_suggestions(FrameNum(2), MADE + 1, MADE)?), [2]);
            assert_eq!(nums(view.newest_suggestions(None, 3, MADE)?), [4, 3, 2]);
            assert_eq!(nums(view.newest_suggestions(Some("ses_b"), 3, MADE)?), [3]);
            let counts = view.suggestion_counts(MADE + LIFETIME + 1)?;
            let failures =
                SuggestionCounts { pending: 1, expired: 1, cleared: 1, ..Default::default() };
            let stagnation = SuggestionCounts { acted_on: 1, ..Default::default() };
            assert_eq!(
                counts,
                [(Heuristic::FailureBoundary, failures), (Heuristic::Stagnation, stagnation)]
            );
            assert_eq!(failures.and(stagnation).made(), 4);
            Ok::<_, callstack_store::StoreError>(())
        })
        .unwrap();
}

#[test]
fn they_are_rebuilt_from_the_log() {
    let project = Project::new();
    let store = filled(&project);
    let all = |store: &Store| store.read(|view| view.newest_suggestions(None, 9, MADE)).unwrap();
    let before = all(&store);
    assert_sound(&store);
    store.rebuild().unwrap();
    assert_eq!(all(&store), before);
    drop(store);
    assert_eq!(all(&project.open()), before, "and they are there after a restart");
}
