//! A fork begins with a copy of another session's transcript: other messages, the same calls. It gets
//! frames of its own for them, so that neither session can touch what the other one does.

use callstack_core::decide::{Command, Fork, ForkedSpan};
use callstack_core::transcript::{Anchor, Fold, PartBody, Span};
use callstack_store::{StoreError, View};

use super::stale::Stale;
use super::{Conversation, notes};
use crate::engine::Engine;
use crate::error::EngineError;

/// Whether the host shows calls at first sight that opened frames, none of them in this session.
pub(super) fn is_fork(conversation: &Conversation, opened: &[(String, String)]) -> bool {
    let known =
        |call: &str| conversation.spans.iter().any(|span| span.open.call.as_deref() == Some(call));
    conversation.transcript.is_empty()
        && !opened.is_empty()
        && !opened.iter().any(|(call, _)| known(call))
}

impl Engine {
    /// Copies the frames whose opening calls a newly seen session shows. `opened` are those calls with
    /// the ids of their frames, in order.
    pub(super) fn fork(
        &self,
        conversation: &Conversation,
        session: &str,
        opened: &[(String, String)],
    ) -> Result<(), EngineError> {
        let spans = self.store.read(|view| {
            let mut spans = Vec::new();
            for (call, frame) in opened {
                spans.extend(forked(view, conversation, session, call, frame)?);
            }
            Ok::<_, EngineError>(spans)
        })?;
        if spans.is_empty() {
            return Ok(());
        }
        let original = spans.first().map(|forked| forked.span.session.clone());
        let ids = spans.iter().map(|_| self.world().id("frm-")).collect();
        self.change(&Command::Fork(Fork { session: session.to_owned(), spans, ids }))?;
        if let Some(original) = original {
            self.inherit_system(session, conversation.epoch(), &original)?;
            self.inherit_marks(conversation, session, &original)?;
        }
        Ok(())
    }

    fn inherit_marks(
        &self,
        conversation: &Conversation,
        session: &str,
        original: &str,
    ) -> Result<(), EngineError> {
        let (order, stale, noted, masked) = self.store.read(|view| {
            let order = view.message_order(original)?;
            Ok::<_, EngineError>((
                order,
                Stale::kept(view, original)?,
                notes::rows(view, original)?,
                !view.session_masks(original)?.is_empty(),
            ))
        })?;
        let transcript = &conversation.transcript;
        let place = |message: &str| order.iter().position(|known| known == message);
        let mut marks = stale.marks(session, |message| {
            let same = transcript.get(place(message)?).or(transcript.last());
            same.map(|message| message.id.clone())
        });
        marks.extend(notes::marks(&noted, session, |message| {
            transcript.get(place(message)?).map(|message| message.id.clone())
        }));
        // The copy has parts with other ids: it begins with whole outputs, which other steps were written
        // behind.
        marks.extend(conversation.mark_for_new_system(session).filter(|_| masked));
        self.store.write(|change| change.append(self.now(), &marks))?;
        Ok(())
    }
}

fn forked(
    view: &View<'_>,
    conversation: &Conversation,
    session: &str,
    call: &str,
    frame: &str,
) -> Result<Option<ForkedSpan>, EngineError> {
    for span in view.spans_opened_by(call, session)?.into_iter().rev() {
        let original = view.frame(span.frame)?;
        // Some providers number their calls anew in each session: the frame must be the same, too.
        if original.id != frame {
            continue;
        }
        let Some(open) = message_of(conversation, call) else { return Ok(None) };
        let open = Anchor { message: Some(open), call: Some(call.to_owned()) };
        let evidence = view.span_evidence(span.num)?;
        let span = moved(view, conversation, span, open)?;
        return Ok(Some(ForkedSpan { span, frame: original, evidence }));
    }
    Ok(None)
}

/// The span with the anchors that it has in the fork.
fn moved(
    view: &View<'_>,
    conversation: &Conversation,
    span: Span,
    open: Anchor,
) -> Result<Span, StoreError> {
    let original = view.message_order(&span.session)?;
    let same_place = |id: &str| {
        let at = original.iter().position(|known| known == id)?;
        conversation.transcript.get(at).map(|message| message.id.clone())
    };
    let close = span.live_close().and_then(|close| match &close.call {
        Some(call) => message_of(conversation, call)
            .map(|message| Anchor { message: Some(message), call: Some(call.clone()) }),
        None => close
            .message
            .as_deref()
            .and_then(same_place)
            .map(|message| Anchor { message: Some(message), call: None }),
    });
    let last = conversation.last().map(|message| message.id.clone());
    let fold = close.as_ref().and(span.fold.clone()).map(|fold| Fold {
        settled_at: fold.settled_at.as_deref().and_then(|id| same_place(id).or(last)),
        ..fold
    });
    let outcome = close.as_ref().and(span.outcome.clone());
    Ok(Span { open, close, outcome, fold, close_undone: false, ..span })
}

fn message_of(conversation: &Conversation, wanted: &str) -> Option<String> {
    conversation
        .transcript
        .iter()
        .find(|message| {
            message
                .parts
                .iter()
                .any(|part| matches!(&part.body, PartBody::Tool { call, .. } if call == wanted))
        })
        .map(|message| message.id.clone())
}
