//! Properties of every session.

use proptest::prelude::*;

use super::testing::Session;
use super::{Change, Framer, Taken, WorkKind, WorkUnit, frame};
use crate::frame::Status;
use crate::transcript::Anchor;

/// A line of a session.
fn line() -> impl Strategy<Value = String> {
    let item = (prop_oneof![Just(">"), Just(""), Just("+"), Just("x")], 0..5_usize, 0..3_usize);
    let list = proptest::collection::vec(item, 0..4).prop_map(|items| {
        let names = ["parser", "write tests", "write more tests", "prose of it", "release"];
        let items = items.into_iter().map(|(status, name, id)| {
            let id = if id > 0 { format!("#{id}") } else { String::new() };
            format!("{status}{}{id}", names[name])
        });
        format!("todo({})", items.collect::<Vec<_>>().join(","))
    });
    let part = prop_oneof![
        4 => Just("edit:400".to_owned()),
        1 => Just("read:3200".to_owned()),
        3 => list,
        1 => Just("sub(look|fine)".to_owned()),
        1 => Just("push".to_owned()),
        2 => Just("pop".to_owned()),
        2 => Just("\"words\"".to_owned()),
    ];
    let step =
        (proptest::collection::vec(part, 1..4), any::<bool>()).prop_map(|(parts, closes)| {
            format!("a {}{}", parts.join(" "), if closes { " \"done\"" } else { "" })
        });
    prop_oneof![
        3 => Just("u \"do it\"".to_owned()),
        6 => step,
        1 => Just("a edit \"oh\" broken".to_owned()),
        1 => Just("h \"go on\"".to_owned()),
    ]
}

fn session(lines: &[String]) -> Session {
    Session::read(&lines.join("\n"))
}

/// The place of a message.
fn at(anchor: &Anchor) -> usize {
    anchor.message.as_ref().unwrap()[1..].parse().unwrap()
}

/// The beginning and the end of a unit, as messages and calls in them; an open one has no end.
fn range(unit: &WorkUnit) -> ((usize, usize), (usize, usize)) {
    let whole = usize::MAX;
    let call = |call: &Option<String>| {
        call.as_ref().map_or(whole, |call| call.rsplit_once('.').unwrap().1.parse().unwrap())
    };
    let from = (at(&unit.opened), call(&unit.opened.call));
    let to = unit.closed.as_ref().map_or((whole, whole), |it| (at(it), call(&it.call)));
    (from, to)
}

proptest! {
    #[test]
    fn what_was_reported_of_a_session_stays_as_it_goes_on(lines in proptest::collection::vec(line(), 1..40)) {
        let whole = session(&lines);
        let units = frame(&whole.moments, &whole.taken);
        for end in 0..lines.len() {
            let part = session(&lines[..end]);
            let so_far = frame(&part.moments, &part.taken);
            prop_assert!(so_far.len() <= units.len());
            for (was, is) in so_far.iter().zip(&units) {
                if was.closed.is_some() {
                    prop_assert_eq!(was, is);
                } else {
                    let open = WorkUnit {
                        closed: None,
                        results: None,
                        status: Status::InProgress,
                        reason: None,
                        left: None,
                        ..is.clone()
                    };
                    prop_assert_eq!(was, &open);
                }
            }
        }
    }

    #[test]
    fn stretches_nest_and_never_overlap(lines in proptest::collection::vec(line(), 1..40)) {
        let session = session(&lines);
        let units = frame(&session.moments, &session.taken);
        for (index, unit) in units.iter().enumerate() {
            let (from, to) = range(unit);
            prop_assert!(from <= to, "{unit:?}");
            prop_assert_eq!(unit.closed.is_some(), unit.status != Status::InProgress);
            if let Some(parent) = unit.parent {
                let (around, end) = range(&units[parent]);
                prop_assert!(parent < index && around.0 <= from.0 && to <= end);
            }
            for other in &units[index + 1..] {
                let (begins, ends) = range(other);
                let apart = to.0 <= begins.0 || ends.0 <= from.0;
                let inside = (from.0 <= begins.0 && ends <= to) || (begins.0 <= from.0 && to <= ends);
                prop_assert!(apart || inside, "{unit:?} and {other:?}");
            }
        }
    }

    #[test]
    fn no_stretch_and_no_pushed_frame_cross_one_another(lines in proptest::collection::vec(line(), 1..40)) {
        let session = session(&lines);
        let units = frame(&session.moments, &session.taken);
        let of_work = |unit: &&WorkUnit| unit.kind != WorkKind::Subagent;
        for (from, to) in pushed(&session.taken, session.moments.len()) {
            for unit in units.iter().filter(of_work) {
                let (begins, ends) = (at(&unit.opened), range(unit).1.0);
                let apart = to <= begins || ends <= from;
                prop_assert!(apart || (begins <= from && to <= ends), "{from}..{to} and {unit:?}");
            }
        }
    }

    #[test]
    fn a_rest_ends_what_the_users_next_words_end(lines in proptest::collection::vec(line(), 1..30)) {
        let here = session(&lines);
        let mut framer = Framer::new(&here.taken);
        for moment in &here.moments {
            framer.read(moment, &here.taken);
        }
        framer.rest();
        let lines = [&lines[..], &["u \"next\"".to_owned()]].concat();
        let next = session(&lines);
        let next = frame(&next.moments, &next.taken);
        for (resting, next) in framer.units().iter().zip(&next) {
            if resting.closed.is_some() {
                prop_assert_eq!(resting, next);
            }
        }
    }

    #[test]
    fn changes_report_every_stretch_in_order(lines in proptest::collection::vec(line(), 1..30)) {
        let session = session(&lines);
        let mut framer = Framer::new(&session.taken);
        for moment in &session.moments {
            framer.read(moment, &session.taken);
        }
        let mut open = Vec::new();
        let mut begun = 0;
        for change in framer.changes() {
            match change {
                Change::Opened(unit) => {
                    prop_assert_eq!(*unit, begun);
                    prop_assert_eq!(framer.units()[begun].parent, open.last().copied());
                    begun += 1;
                    open.push(*unit);
                }
                Change::Closed(unit) => prop_assert_eq!(open.pop(), Some(*unit)),
            }
        }
        prop_assert_eq!(begun, framer.units().len());
        prop_assert!(open.iter().all(|open| framer.units()[*open].closed.is_none()));
    }
}

/// Where pushed frames begin and end, by the messages that do it.
fn pushed(taken: &Taken, messages: usize) -> Vec<(usize, usize)> {
    let mut open = Vec::new();
    let mut found = Vec::new();
    for message in 1..=messages {
        let (opens, closes) = taken.after.get(&format!("m{message}")).copied().unwrap_or_default();
        open.extend(std::iter::repeat_n(message, opens));
        for _ in 0..closes {
            found.extend(open.pop().map(|from| (from, message)));
        }
    }
    found.extend(open.into_iter().map(|from| (from, usize::MAX)));
    found
}
