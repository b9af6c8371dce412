//! The one error that leaves the engine. Each surface maps its kind once: to an exit code, to a tool's
//! answer, to an HTTP status.

use callstack_core::decide::Refusal;
use callstack_core::dialect::Dialect;
use callstack_core::frame::{FrameNum, Status};
use callstack_core::secrets::mask;
use callstack_store::StoreError;

/// The hint where a frame is missing and none is open.
pub(crate) const NAME_OR_PUSH: &str = "Name a frame, or begin one with `stack_frame_push`.";

/// Whose problem an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An argument is missing, unknown or of the wrong shape.
    Invalid,
    /// The reference does not exist, or is ambiguous.
    NotFound,
    /// The state does not allow it.
    Conflict,
    /// A limit is reached.
    Limit,
    /// The store must not be opened: it was not made here, or is not as it was left.
    Untrusted,
    /// The store can't be used: damaged, newer, read-only, full or busy.
    Unavailable,
    /// A fault of this program.
    Internal,
}

impl Kind {
    /// Returns the kind that other programs call so, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        use Kind::{Conflict, Internal, Invalid, Limit, NotFound, Unavailable, Untrusted};
        let all = [Invalid, NotFound, Conflict, Limit, Untrusted, Unavailable, Internal];
        all.into_iter().find(|kind| kind.as_str() == name)
    }

    /// The kind as other programs read it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::Limit => "limit",
            Self::Untrusted => "untrusted",
            Self::Unavailable => "unavailable",
            Self::Internal => "internal",
        }
    }
}

/// A failure, and what to do about it.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct EngineError {
    /// Whose problem it is.
    pub kind: Kind,
    /// The failure and its place; one sentence without a full stop.
    pub message: String,
    /// The next step for the user.
    pub hint: Option<String>,
}

impl EngineError {
    /// An argument that is not right.
    pub fn invalid(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { kind: Kind::Invalid, message: message.into(), hint: Some(hint.into()) }
    }

    /// Makes the error of a reference that names no frame, with the handles and titles of similar ones.
    pub(crate) fn no_frame(error: StoreError, near: &[(FrameNum, String)]) -> Self {
        let mut error = Self::from(error);
        let named: Vec<_> =
            near.iter().map(|(num, title)| format!("{num} \"{}\"", mask(title))).collect();
        if !named.is_empty() {
            let see = error.hint.unwrap_or_default();
            error.hint = Some(format!("Did you mean {}? {see}", named.join(" or ")));
        }
        error
    }

    /// The error of a value that can't be written as JSON.
    pub(crate) fn unwritable(error: &serde_json::Error) -> Self {
        Self { kind: Kind::Internal, message: error.to_string(), hint: None }
    }

    /// The error with secrets of known forms masked.
    #[must_use]
    pub(crate) fn masked(self) -> Self {
        Self {
            kind: self.kind,
            message: mask(&self.message).into_owned(),
            hint: self.hint.map(|hint| mask(&hint).into_owned()),
        }
    }

    /// Returns the error with the names of tools in the dialect: those that its message marks as code, since a
    /// frame's title may stand there too, and all in its hint. A message about a setting begins with its variable.
    #[must_use]
    pub fn spoken(self, dialect: Dialect) -> Self {
        let message = dialect.code(&self.message);
        let message = dialect.of_variable(&message).into_owned();
        let hint = self.hint.map(|hint| dialect.words(&hint).into_owned());
        Self { message, hint, ..self }
    }

    /// The error as a tool's answer or a line on a terminal without decoration.
    pub fn sentence(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}. {hint}", self.message),
            None => self.message.clone(),
        }
    }
}

impl From<StoreError> for EngineError {
    fn from(error: StoreError) -> Self {
        let (kind, hint) = match &error {
            StoreError::Distrusted(distrust) => (Kind::Untrusted, distrust.hint()),
            StoreError::Corrupt { .. } => (
                Kind::Unavailable,
                "Nothing was changed. Keep a copy of the store's folder; `callstack doctor` says what is \
                 damaged and what can be done."
                    .to_owned(),
            ),
            StoreError::Newer { .. } => (
                Kind::Unavailable,
                "Nothing was changed. Install the newer callstack that wrote it.".to_owned(),
            ),
            StoreError::ReadOnly { .. } => (
                Kind::Unavailable,
                "It can be read but not changed: make the file and its folder writable.".to_owned(),
            ),
            StoreError::Vanished { .. } => (
                Kind::Unavailable,
                "What it held is kept by this process as long as it runs, and put back as soon as the folder can be \
                 written."
                    .to_owned(),
            ),
            StoreError::Replaced { .. } => (
                Kind::Unavailable,
                "Nothing was changed; try again: it goes on with the one that is there now.".to_owned(),
            ),
            StoreError::Full { .. } => (
                Kind::Unavailable,
                "What was acknowledged is safe; free some space and try again.".to_owned(),
            ),
            StoreError::System { writing: false, .. } => (
                Kind::Unavailable,
                "Check the disk and who owns the folder, and try again; `callstack doctor` says whether the \
                 store is whole."
                    .to_owned(),
            ),
            StoreError::System { writing: true, .. } => (
                Kind::Unavailable,
                "What was acknowledged is safe. Check the disk's space and quotas and who owns the \
                 folder, and try again."
                    .to_owned(),
            ),
            StoreError::Busy { .. } => {
                (Kind::Unavailable, "Nothing was changed; try again.".to_owned())
            }
            StoreError::Disturbed { .. } => (
                Kind::Unavailable,
                "Nothing was changed; try again. If it stays so, end the agents that work on this project, and start \
                 them again."
                    .to_owned(),
            ),
            StoreError::Io { .. } => (
                Kind::Unavailable,
                "Check that the folder exists and is yours to write.".to_owned(),
            ),
            StoreError::NoFrame(_) => {
                (Kind::NotFound, "See all frames with `stack_tree`.".to_owned())
            }
            StoreError::Ambiguous { .. } => {
                (Kind::NotFound, "Give the handle, or more of the id.".to_owned())
            }
            StoreError::Database { .. } | StoreError::Value(_) => {
                (Kind::Internal, "`callstack doctor` checks the store.".to_owned())
            }
        };
        Self { kind, message: error.to_string(), hint: Some(hint) }
    }
}

impl From<Refusal<StoreError>> for EngineError {
    fn from(refusal: Refusal<StoreError>) -> Self {
        let refusal = match refusal {
            Refusal::Store(error) => return error.into(),
            refusal => refusal,
        };
        let (kind, hint) = match &refusal {
            Refusal::Transition { frame, .. } if frame.status.is_terminal() => {
                (Kind::Conflict, format!("Only `stack_frame_reopen` brings {} back.", frame.num))
            }
            Refusal::Transition { frame, .. } if frame.status == Status::Planned => (
                Kind::Conflict,
                format!("Activate {} first with `stack_frame_activate`.", frame.num),
            ),
            Refusal::Transition { frame, .. } if frame.status == Status::InProgress => {
                (Kind::Conflict, format!("`stack_frame_pop` ends {}.", frame.num))
            }
            Refusal::Transition { frame, .. } => {
                (Kind::Conflict, format!("`stack_frame_activate` takes {} up again.", frame.num))
            }
            Refusal::Undone(_) => {
                (Kind::Conflict, "Redo it in the host, or push a frame like it.".to_owned())
            }
            Refusal::NothingOpen { .. } => {
                (Kind::Conflict, "Begin one with `stack_frame_push`, or name a frame.".to_owned())
            }
            Refusal::OpenChildren { open, .. } => (
                Kind::Conflict,
                match open.first() {
                    Some(child) => format!("Pop {} first, then this one.", child.num),
                    None => "Pop them first.".to_owned(),
                },
            ),
            Refusal::BegunSince(open) => {
                (Kind::Conflict, format!("Pop {} first, then close the steps.", open.num))
            }
            Refusal::NotOnTop { open, .. } => {
                let aside = "or go elsewhere with `stack_navigate`, which sets it aside";
                (Kind::Conflict, format!("Work goes depth-first: pop {} first, {aside}.", open.num))
            }
            Refusal::ParentNotOpen { parent, .. } if parent.status == Status::Planned => {
                (Kind::Conflict, format!("Activate {} first.", parent.num))
            }
            Refusal::ParentNotOpen { parent, .. } | Refusal::ParentEnded { parent } => (
                Kind::Conflict,
                format!("Reopen {} with `stack_frame_reopen`, or plan it elsewhere.", parent.num),
            ),
            Refusal::NotPlanned(_) => {
                (Kind::Conflict, "Only planned frames can be changed.".to_owned())
            }
            Refusal::NotConsolidable(_) => (
                Kind::Conflict,
                "Only children that have ended are consolidated, and each once.".to_owned(),
            ),
            Refusal::StandsForOthers(_) => {
                (Kind::Conflict, "Reopen one of those that stand below it.".to_owned())
            }
            Refusal::NoSibling { .. } => {
                (Kind::Conflict, "Name another planned frame with the same parent.".to_owned())
            }
            Refusal::Limit { .. } => (
                Kind::Limit,
                "Pop what is finished, or do the work in the frame that is open.".to_owned(),
            ),
            Refusal::IdentityFixed(_) => (
                Kind::Conflict,
                "Push or plan a frame with the title and criteria that you want.".to_owned(),
            ),
            Refusal::IdTaken { .. } => (Kind::Conflict, "Choose another id.".to_owned()),
            Refusal::NoSuchPin { .. } => {
                (Kind::NotFound, "`stack_frame_details` lists a frame's pins.".to_owned())
            }
            Refusal::Store(_) => (Kind::Internal, String::new()),
        };
        Self { kind, message: refusal.to_string(), hint: Some(hint) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_refused_write_is_said_to_have_lost_nothing() {
        let hint = |writing| {
            let (path, detail) = ("/a/callstack.db".into(), "disk I/O error".to_owned());
            EngineError::from(StoreError::System { path, detail, writing }).hint.unwrap()
        };
        assert!(hint(true).contains("What was acknowledged is safe."), "{}", hint(true));
        assert!(!hint(false).contains("safe"), "{}", hint(false));
    }
}
