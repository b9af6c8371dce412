//! A sliding window: the user's first message, and the newest messages.

use callstack_core::transcript::Role;

use crate::requests::Requests;
use crate::sent_messages::SentMessages;
use crate::session::Session;

use super::{items, weight};

/// Estimated tokens of the newest messages; a message is sent whole or not at all.
pub const WIDTH: u64 = 40_000;

/// Returns the requests.
pub fn requests(session: &Session) -> Requests {
    let mut all = Requests::default();
    let mut before = SentMessages::default();
    let mut window = Window::default();
    for call in &session.calls {
        let shown = &call.shown;
        all.begin();
        if !shown.starts_with(&before) {
            all.replace([]);
            (before, window) = (SentMessages::default(), Window::default());
        }
        all.append(items(session, shown.from(before.len())));
        window.width += shown.from(before.len()).map(|at| weight(session, at)).sum::<u64>();
        window.slide(session, shown, &mut all);
        before = shown.clone();
    }
    all
}

/// The messages that are sent, of those that are shown.
#[derive(Default)]
struct Window {
    /// The place from which on all are.
    from: usize,
    /// The tokens of these.
    width: u64,
    /// The number of items of the user's first message that are sent before them, once it is not one of them.
    first: Option<usize>,
}

impl Window {
    fn slide(&mut self, session: &Session, shown: &SentMessages, all: &mut Requests) {
        while self.width > WIDTH && self.from + 1 < shown.len() {
            let Some(message) = shown.get(self.from) else { break };
            let pieces = session.pieces[message].len();
            if self.first.is_none() && session.transcript[message].role == Role::User {
                self.first = Some(pieces);
            } else {
                all.splice(self.first.unwrap_or(0), pieces, []);
            }
            self.width -= weight(session, message);
            self.from += 1;
        }
    }
}
