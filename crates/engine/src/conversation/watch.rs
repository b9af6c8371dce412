//! Watches the work in the open frame: each message is read once, whatever else a call costs.

use callstack_core::autonomy::Observer;
use callstack_core::frame::Frame;
use callstack_core::transcript::{Message, MessageKind, Role, Span};

use super::Conversation;
use super::entry::Entry;
use super::state::watch::Watch;

impl Conversation {
    /// Returns the observations of the work in an open span; `frame` is called where its watch begins.
    pub(crate) fn watch<E>(
        &mut self,
        span: &Span,
        frame: impl FnOnce() -> Result<Frame, E>,
    ) -> Result<&Observer, E> {
        if self.watch.span != Some(span.num) || self.watch.revision != self.revision {
            let frame = frame()?;
            self.watch = Watch {
                span: Some(span.num),
                revision: self.revision,
                upto: self.beginning(span),
                observer: Observer::new(&frame.identity, frame.identity_derived),
            };
            self.skip_finished(span);
        }
        for at in self.watch.upto..self.transcript.len() {
            self.look_at(at);
        }
        self.watch.upto = self.transcript.len();
        Ok(&self.watch.observer)
    }

    /// Returns the place of the first message after the call that opened a span.
    fn beginning(&self, span: &Span) -> usize {
        let open = span.open.message.as_deref();
        open.and_then(|id| self.messages().position(|message| message.id == id))
            .map_or(0, |at| at + 1)
    }

    /// Reads the messages that are there already, without the stretches of finished frames inside the span, whose
    /// signals were theirs.
    fn skip_finished(&mut self, span: &Span) {
        let inner: Vec<_> = self
            .spans
            .iter()
            .filter(|inner| inner.num > span.num && !inner.detached)
            .filter_map(|inner| {
                let close = inner.live_close()?.message.clone()?;
                Some((inner.open.message.clone()?, close))
            })
            .collect();
        let mut until: Option<&str> = None;
        for at in self.watch.upto..self.transcript.len() {
            if until.is_none() {
                self.look_at(at);
            }
            let id = &self.transcript[at].message.id;
            if until.is_none_or(|last| last == id) {
                // One that closes in the step that opened it hides nothing.
                let opened = inner.iter().filter(|(open, close)| open == id && close != id);
                until = opened.map(|(_, close)| close.as_str()).next_back();
            }
        }
        self.watch.upto = self.transcript.len();
    }

    fn look_at(&mut self, at: usize) {
        let Entry { message, seen, .. } = &self.transcript[at];
        if is_seen(message) {
            self.watch.observer.see(seen, message.calls().map(AsRef::as_ref));
        }
    }
}

/// Whether a message is of the model or the user, not of the host.
fn is_seen(message: &Message) -> bool {
    message.standing == MessageKind::Normal
        && (message.role == Role::Assistant || message.is_user_turn())
}
