//! Properties of every session, before each of its model calls.

use proptest::prelude::*;

use super::places::user_speaks;
use super::testing::host::Sent;
use super::testing::world::{Event, Request, World, sessions, speaks};
use crate::returned::RENDERER_VERSION;
use crate::transcript::{Anchor, CALLS_LEAVE, MessageKind, PartBody, Role, Span};

type Holds = Result<(), TestCaseError>;

proptest! {

    #[test]
    fn every_request_of_every_session_is_right((events, policy, delay) in sessions()) {
        let world = World::new(policy, delay, RENDERER_VERSION);
        all_is_right(world, &events, None)?;
    }

    #[test]
    fn a_session_that_began_with_an_earlier_version_goes_on(
        (events, policy, delay) in sessions(),
        since in 0..40_usize,
    ) {
        let world = World::new(policy, delay, CALLS_LEAVE - 1);
        all_is_right(world, &events, Some(since))?;
    }
}

/// Lets events happen; frames end with the newest version of the renderer from the one at `since` on.
fn all_is_right(mut world: World, events: &[Event], since: Option<usize>) -> Holds {
    let mut result = Ok(());
    for (at, event) in events.iter().enumerate() {
        if since.is_some_and(|since| at >= since) {
            world.renderer = RENDERER_VERSION;
        }
        world.happen(event, &mut |world, request| {
            if result.is_ok() {
                result = check(world, request);
            }
        });
    }
    result
}

fn check(world: &World, request: &Request) -> Holds {
    prop_assert_eq!(&world.fold(), &request.folded, "the same input folds to something else");
    well_formed(world, request)?;
    nothing_of_the_work_is_left(world, request)?;
    each_call_leaves_with_its_frame(world, request)?;
    the_users_words_are_all_there(world, request)?;
    no_turn_looks_unanswered(world, request)?;
    results_are_there_once(world, request)?;
    reasoning_follows_what_it_was_made_with(world, request)?;
    grows_at_its_end(world, request)
}

fn well_formed(world: &World, request: &Request) -> Holds {
    prop_assert!(
        request.sent.first().is_some_and(|message| message.role == Role::User),
        "the request begins with the agent"
    );
    for message in request.sent.iter().filter(|message| message.role == Role::Assistant) {
        let was = &world.transcript[world.index_of(&message.id).unwrap()];
        let says = message.read().any(|part| !matches!(part.body, PartBody::Reasoning { .. }));
        prop_assert!(says || message.read().count() == was_read(was), "{message} is empty");
    }
    let last = request.sent.last().unwrap();
    let calls = last.read().any(|part| matches!(part.body, PartBody::Tool(_)));
    prop_assert!(calls || last.role == Role::User, "the request ends with {last}");
    Ok(())
}

fn was_read(message: &crate::transcript::Message) -> usize {
    message.parts.iter().filter(|part| part.body != PartBody::Other).count()
}

/// Returns the first message inside a span and the one after its last, with the part of the pop in the last.
fn inside(world: &World, span: &Span) -> (usize, usize, Option<usize>) {
    let at = |anchor: &Anchor| anchor.message.as_ref().and_then(|id| world.index_of(id));
    let summarised = world.transcript.iter().position(|m| m.standing == MessageKind::Summary);
    let hidden = summarised.map_or(0, |summary| summary + 1);
    let first = at(&span.open).map_or(hidden, |open| open + 1);
    let close = span.close.as_ref().unwrap();
    let last = at(close).unwrap();
    let pop = close.call.as_ref().map(|wanted| {
        let parts = &world.transcript[last].parts;
        let is_it = |body: &PartBody| matches!(body, PartBody::Tool(call) if call.id == *wanted);
        parts.iter().position(|part| is_it(&part.body)).unwrap()
    });
    (first, last + 1, pop)
}

fn span(world: &World, num: crate::transcript::SpanNum) -> &Span {
    world.spans.iter().find(|span| span.num == num).unwrap()
}

fn nothing_of_the_work_is_left(world: &World, request: &Request) -> Holds {
    let folded = &request.folded;
    for num in folded.in_effect.iter().chain(&folded.swallowed) {
        let (first, end, pop) = inside(world, span(world, *num));
        for message in &request.sent {
            let Some(index) = world.index_of(&message.id) else {
                continue;
            };
            let with_pop = pop.filter(|_| index + 1 == end);
            if let Some(pop) = with_pop {
                let gone = &world.transcript[index].parts[pop].id;
                prop_assert!(message.parts.iter().all(|p| &p.id != gone), "{message} pops");
            }
            if !(first..end).contains(&index) || message.role == Role::User {
                continue;
            }
            for part in message.read() {
                let at = world.transcript[index].parts.iter().position(|p| p.id == part.id);
                let of_work = match part.body {
                    PartBody::Reasoning { .. } => true,
                    PartBody::Tool(_) => with_pop.is_none_or(|pop| at.unwrap() < pop),
                    _ => false,
                };
                prop_assert!(!of_work, "{message} is work of {num:?}");
            }
        }
    }
    Ok(())
}

/// A call is sent unless it stands after the push and up to the pop of a frame that is folded.
fn each_call_leaves_with_its_frame(world: &World, request: &Request) -> Holds {
    let folded = request.folded.in_effect.iter().map(|num| span(world, *num));
    let folded: Vec<_> = folded.collect();
    let old = |span: &&Span| span.fold.as_ref().is_some_and(|fold| fold.renderer < CALLS_LEAVE);
    let is_at = |anchor: &Anchor, message: &str, wanted: &str| {
        anchor.message.as_deref() == Some(message) && anchor.call.as_deref() == Some(wanted)
    };
    let mut inside: Vec<_> = folded.iter().filter(|it| it.open.message.is_none()).collect();
    // A push that the host's compaction hides opened its frame in front of everything.
    inside.extend(
        folded
            .iter()
            .filter(|it| it.open.message.as_ref().is_some_and(|id| world.index_of(id).is_none())),
    );
    for message in &world.transcript {
        for part in &message.parts {
            let PartBody::Tool(call) = &part.body else { continue };
            let call = &call.id;
            let left = inside.iter().any(|it| {
                let beside_the_push = it.open.message.as_ref() == Some(&message.id);
                !(beside_the_push && old(it))
            });
            let swallowed = request.folded.swallowed.iter().map(|num| span(world, *num));
            let ends = inside.iter().copied().copied().chain(swallowed).any(|span| {
                span.close.as_ref().is_some_and(|close| is_at(close, &message.id, call))
            });
            // Calls after a pop may have joined the step of its push.
            let mut sent = request.sent.iter().flat_map(|sent| &sent.parts);
            let is_sent = sent.any(|it| it.id == part.id);
            prop_assert_eq!(is_sent, !left && !ends, "{} in {}", call, &message.id);
            inside.extend(folded.iter().filter(|span| is_at(&span.open, &message.id, call)));
            inside.retain(|span| {
                !span.close.as_ref().is_some_and(|close| is_at(close, &message.id, call))
            });
        }
        let is_after = |anchor: &Anchor| {
            anchor.message.as_deref() == Some(message.id.as_str()) && anchor.call.is_none()
        };
        inside.extend(folded.iter().filter(|span| is_after(&span.open)));
        inside.retain(|span| !span.close.as_ref().is_some_and(is_after));
    }
    Ok(())
}

fn the_users_words_are_all_there(world: &World, request: &Request) -> Holds {
    for message in world.transcript.iter().filter(|message| message.role == Role::User) {
        for part in &message.parts {
            if matches!(&part.body, PartBody::Text { synthetic: false, .. })
                && message.standing == MessageKind::Normal
            {
                let sent = request.sent.iter().find(|sent| sent.id == message.id);
                let found = sent.and_then(|sent| sent.parts.iter().find(|p| p.id == part.id));
                prop_assert_eq!(found.map(|found| &found.body), Some(&part.body));
            }
        }
    }
    Ok(())
}

/// A user message after which the agent acted is followed by something of the agent, or of ours, before the user's
/// next.
fn no_turn_looks_unanswered(world: &World, request: &Request) -> Holds {
    for (index, message) in world.transcript.iter().enumerate() {
        if !user_speaks(message) {
            continue;
        }
        let turn = world.transcript[index + 1..].iter().take_while(|m| !user_speaks(m));
        let was_answered = turn.clone().any(|m| m.role == Role::Assistant && speaks(m));
        let at = request.sent.iter().position(|sent| sent.id == message.id).unwrap();
        let marked = request.sent[at].parts.iter().any(|part| part.id.starts_with("ours:"));
        let answered = request.sent[at + 1..]
            .iter()
            .take_while(|sent| {
                !world.index_of(&sent.id).is_some_and(|i| user_speaks(&world.transcript[i]))
            })
            .any(|sent| sent.role == Role::Assistant || sent.id.starts_with("ours:"));
        prop_assert!(!was_answered || answered || marked, "{} looks unanswered", request.sent[at]);
    }
    Ok(())
}

fn results_are_there_once(world: &World, request: &Request) -> Holds {
    for num in &request.folded.in_effect {
        let text = format!("<{} returned>", span(world, *num).frame);
        let parts = request.sent.iter().flat_map(|message| &message.parts);
        let holds = |part: &&super::testing::host::SentPart| {
            part.output.as_deref() == Some(&text)
                || matches!(&part.body, PartBody::Text { head, .. } if head.contains(&text))
        };
        prop_assert_eq!(parts.filter(holds).count(), 1, "{}", text);
    }
    Ok(())
}

fn reasoning_follows_what_it_was_made_with(world: &World, request: &Request) -> Holds {
    for (index, message) in request.sent.iter().enumerate() {
        if message.read().any(|part| matches!(part.body, PartBody::Reasoning { .. })) {
            let then = &world.made_after[&message.id];
            prop_assert_eq!(then, &request.sent[..index], "in front of {}", message);
        }
        sealed_reasoning_stands_at_its_place(world, message)?;
    }
    Ok(())
}

/// Signed reasoning follows everything that it was written after in its step.
fn sealed_reasoning_stands_at_its_place(world: &World, message: &Sent) -> Holds {
    let Some(was) = world.index_of(&message.id).map(|index| &world.transcript[index]) else {
        return Ok(());
    };
    let sealed = |body: &PartBody| matches!(body, PartBody::Reasoning { sealed: true });
    let Some(last) = message.parts.iter().rposition(|part| sealed(&part.body)) else {
        return Ok(());
    };
    let sent: Vec<_> = message.parts[..=last].iter().map(|part| &part.id).collect();
    let were = was.parts.iter().map(|part| &part.id).take(sent.len());
    if world.began_with == RENDERER_VERSION {
        prop_assert_eq!(were.collect::<Vec<_>>(), sent, "in {}", message);
    }
    Ok(())
}

fn grows_at_its_end(world: &World, request: &Request) -> Holds {
    let Some(last) = &world.last else {
        return Ok(());
    };
    let folded = &request.folded;
    if folded.unsettled.is_empty() {
        prop_assert_eq!(&last.folded.in_effect, &folded.in_effect);
        prop_assert!(folded.ops.starts_with(&last.folded.ops), "operations changed");
        prop_assert!(request.sent.starts_with(&last.sent), "what was sent changed");
        return Ok(());
    }
    // The first new fold in the transcript's order changes nothing up to its push call.
    let new = folded.unsettled.first().map(|num| span(world, *num)).unwrap();
    let (Some(_), Some(push)) = (&new.open.call, &new.open.message) else {
        return Ok(());
    };
    let Some(at) = last.sent.iter().position(|message| &message.id == push) else {
        return Ok(());
    };
    prop_assert_eq!(&last.sent[..at], &request.sent[..at]);
    let call = new.open.call.as_deref();
    prop_assert_eq!(up_to(&last.sent[at], call), up_to(&request.sent[at], call));
    Ok(())
}

/// The parts of a message up to and including a call.
fn up_to<'a>(message: &'a Sent, wanted: Option<&str>) -> Vec<&'a str> {
    let is_it =
        |body: &PartBody| matches!(body, PartBody::Tool(call) if Some(call.id.as_str()) == wanted);
    let push = message.parts.iter().position(|part| is_it(&part.body)).unwrap();
    message.parts[..=push].iter().map(|part| part.id.as_str()).collect()
}
