//! Requests of the user: the places where a session's reader finds them, and the newest one for a reader who doesn't
//! have it.

use std::collections::BTreeMap;

use callstack_core::context::Stated;
use callstack_core::frame::{Frame, FrameNum};
use callstack_core::returned::Asked;
use callstack_core::stored::{Message, Part};
use callstack_store::View;

use crate::error::EngineError;
use crate::kernel::Env;

/// The number of messages that are searched for the user's newest one: few at first, then many.
const LOOKED_THROUGH: [u32; 2] = [24, 400];

/// Returns where a session's reader finds the purposes of frames: `frames` are one and those above it.
pub(crate) fn stated<'a>(
    view: &View<'_>,
    session: &str,
    frames: impl Iterator<Item = &'a Frame>,
) -> Result<BTreeMap<FrameNum, Stated>, EngineError> {
    let delegation = view.delegation_in(session)?.map(|stored| stored.delegation.frame);
    // Messages and prompts from before a compaction are no longer sent.
    let is_sent = view.last_summary(session)?.is_none();
    let mut stated = BTreeMap::new();
    for frame in frames {
        let is_own = frame.session.as_deref() == Some(session);
        let where_stated = if is_own && delegation == Some(frame.num) {
            Some(Stated::Prompt).filter(|_| is_sent)
        } else if is_own && frame.identity_derived {
            Some(Stated::Request).filter(|_| is_sent)
        } else if !is_own && frame.identity_derived && frame.parent.is_none() {
            frame.session.is_some().then_some(Stated::Beside)
        } else {
            None
        };
        stated.extend(where_stated.map(|it| (frame.num, it)));
    }
    Ok(stated)
}

/// Returns the user's request to another session, for a session that works on a frame below that one's root;
/// empty where a session works for no other one.
pub(crate) fn asked(
    env: &Env,
    view: &View<'_>,
    session: &str,
    num: FrameNum,
) -> Result<String, EngineError> {
    let Some(root) = view.ancestors(num)?.pop() else { return Ok(String::new()) };
    let Some(users) = root.session.as_deref().filter(|it| *it != session) else {
        return Ok(String::new());
    };
    let newest = newest_request(view, users)?;
    let tokens = env.settings_in(view)?.budget.ancestors;
    Ok(Asked { root: &root, newest: newest.as_deref(), tokens }.text())
}

/// The same for the system prompt of a session whose own prompt does not contain it.
pub(crate) fn asked_unprompted(
    env: &Env,
    view: &View<'_>,
    session: &str,
    num: FrameNum,
) -> Result<String, EngineError> {
    let is_prompted = view.delegation_in(session)?.is_some();
    if is_prompted && view.last_summary(session)?.is_none() {
        return Ok(String::new());
    }
    asked(env, view, session, num)
}

/// The words of the newest message that a session's user wrote.
fn newest_request(view: &View<'_>, session: &str) -> Result<Option<String>, EngineError> {
    for count in LOOKED_THROUGH {
        let messages = view.last_messages(session, count)?;
        if let Some(words) = messages.iter().find_map(|message| words_of_user(&message.json)) {
            return Ok(Some(words));
        }
    }
    Ok(None)
}

/// Returns the user's words in a message; none for one that is not the user's.
fn words_of_user(json: &str) -> Option<String> {
    let message = Message::read(json).filter(Message::is_of_user)?;
    let words: Vec<&str> = message.parts().iter().filter_map(Part::own_text).collect();
    let words = words.join("\n");
    (!words.trim().is_empty()).then(|| words.trim().to_owned())
}
