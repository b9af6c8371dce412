use proptest::prelude::*;

use super::super::testing::host::{Sent, SentPart as Part};
use super::super::testing::world::{World, sessions};
use super::{SentMessage, SentPart, sent};
use crate::returned::RENDERER_VERSION;
use crate::transcript::{FoldOp, Message, MessageKind, PartBody, Role};

proptest! {
    /// A second host, written by itself, sends the same.
    #[test]
    fn a_request_is_what_a_host_sends((events, policy, delay) in sessions()) {
        let mut world = World::new(policy, delay, RENDERER_VERSION);
        let mut result = Ok(());
        for event in &events {
            world.happen(event, &mut |world, request| {
                let read = sent(&world.transcript, &request.folded.ops);
                if result.is_ok() {
                    result = same(&world.transcript, &request.sent, &read);
                }
            });
        }
        result?;
    }
}

fn same(transcript: &[Message], host: &[Sent], read: &[SentMessage]) -> Result<(), TestCaseError> {
    prop_assert_eq!(host.len(), read.len());
    for (host, read) in host.iter().zip(read) {
        prop_assert_eq!(host.id.starts_with("ours:"), read.is_ours);
        let id = &transcript[read.place].id;
        prop_assert!(host.id == *id || host.id == format!("ours:{id}"), "{} for {id}", host.id);
        prop_assert_eq!(host.parts.len(), read.parts.len(), "{}", id);
        for (host, read) in host.parts.iter().zip(&read.parts) {
            prop_assert!(is_same(transcript, host, read), "{host:?} is read as {read:?}");
        }
    }
    Ok(())
}

fn is_same(transcript: &[Message], host: &Part, read: &SentPart) -> bool {
    match read {
        SentPart::Own { message, part, output, added } => {
            let was = &transcript[*message].parts[*part];
            host.id == was.id
                && host.body == was.body
                && host.output == *output
                && host.added == *added
        }
        SentPart::Ours { text, .. } => {
            matches!(&host.body, PartBody::Text { synthetic: true, head, .. } if head == text)
        }
    }
}

fn step(id: &str, role: Role) -> Message {
    Message { id: id.to_owned(), role, standing: MessageKind::Normal, parts: Vec::new() }
}

#[test]
fn what_cannot_be_applied_changes_nothing() {
    let transcript = [step("u1", Role::User), step("a1", Role::Assistant)];
    let gone = || "gone".to_owned();
    let ops = [
        FoldOp::Cut { from: "u1".to_owned(), to: gone() },
        FoldOp::Keep { message: gone(), parts: Vec::new() },
        FoldOp::Output { message: "a1".to_owned(), part: gone(), text: String::new() },
        FoldOp::Append { message: gone(), text: String::new() },
        FoldOp::Join { message: "a1".to_owned(), to: "u1".to_owned() },
        FoldOp::Insert { after: gone(), text: String::new() },
    ];
    assert_eq!(sent(&transcript, &ops), sent(&transcript, &[]));
    assert_eq!(sent(&transcript, &ops).len(), 2);
}
