//! The one error that leaves the engine. Each surface maps its kind once: to an exit code, to a tool's
//! answer, to an HTTP status.

use std::error::Error;
use std::sync::Arc;

use callstack_core::decide::Refusal;
use callstack_core::dialect::Dialect;
use callstack_core::frame::{FrameNum, Status};
use callstack_core::secrets::mask;
use callstack_store::StoreError;

use crate::hint::Hint;

/// Returns the hint where a frame is missing and none is open.
pub(crate) fn name_or_push() -> Hint {
    Hint::from("Name a frame, or begin one with ").and("stack_frame_push").then(".")
}

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
    pub hint: Option<Hint>,
    #[source]
    cause: Option<Arc<dyn Error + Send + Sync>>,
}

impl EngineError {
    /// An error without a hint or a cause.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, cause: None }
    }

    /// An argument that is not right.
    pub fn invalid(message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self::new(Kind::Invalid, message).with_hint(hint)
    }

    /// The error with a next step.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<Hint>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The error with another message.
    #[must_use]
    pub fn saying(self, message: impl Into<String>) -> Self {
        Self { message: message.into(), ..self }
    }

    /// The error with the one that it comes from.
    #[must_use]
    pub fn caused_by(self, cause: impl Error + Send + Sync + 'static) -> Self {
        Self { cause: Some(Arc::new(cause)), ..self }
    }

    /// Returns the error that it comes from, if that is of this type.
    pub fn cause<T: Error + 'static>(&self) -> Option<&T> {
        self.cause.as_ref()?.downcast_ref()
    }

    /// Whether it comes from a store whose file is damaged.
    pub fn is_of_damage(&self) -> bool {
        matches!(self.cause(), Some(StoreError::Corrupt { .. }))
    }

    /// Makes the error of a reference that names no frame, with the handles and titles of similar ones.
    pub(crate) fn no_frame(error: StoreError, near: &[(FrameNum, String)]) -> Self {
        let mut error = Self::from(error);
        let named: Vec<_> =
            near.iter().map(|(num, title)| format!("{num} \"{}\"", mask(title))).collect();
        if !named.is_empty() {
            let see = error.hint.unwrap_or_default();
            let meant = Hint::from(format!("Did you mean {}? ", named.join(" or ")));
            error.hint = Some(meant.then(see));
        }
        error
    }

    /// The error of a value that can't be written as JSON.
    pub(crate) fn unwritable(error: serde_json::Error) -> Self {
        Self::new(Kind::Internal, error.to_string()).caused_by(error)
    }

    /// The error with secrets of known forms masked. What it comes from may hold them, and is left out.
    #[must_use]
    pub(crate) fn masked(self) -> Self {
        let message = mask(&self.message).into_owned();
        Self { message, hint: self.hint.map(Hint::masked), cause: None, ..self }
    }

    /// Returns the error with the names of tools in the dialect: those that its message marks as code, since a
    /// frame's title may stand there too, and those of its hint. A message about a setting begins with its variable.
    #[must_use]
    pub fn spoken(self, dialect: Dialect) -> Self {
        let message = dialect.code(&self.message);
        let message = dialect.of_variable(&message).into_owned();
        Self { message, hint: self.hint.map(|hint| hint.spoken(dialect)), ..self }
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
            StoreError::Distrusted(distrust) => (Kind::Untrusted, distrust.hint().into()),
            StoreError::Corrupt { .. } => (
                Kind::Unavailable,
                Hint::from("Nothing was changed. Keep a copy of the store's folder; ")
                    .then(Hint::command("doctor"))
                    .then(" says what is damaged and what can be done."),
            ),
            StoreError::Newer { .. } => (
                Kind::Unavailable,
                "Nothing was changed. Install the newer callstack that wrote it.".into(),
            ),
            StoreError::ReadOnly { .. } => (
                Kind::Unavailable,
                "It can be read but not changed: make the file and its folder writable.".into(),
            ),
            StoreError::Vanished { .. } => (
                Kind::Unavailable,
                "What it held is kept by this process as long as it runs, and put back as soon as the folder can be \
                 written."
                    .into(),
            ),
            StoreError::Replaced { .. } => (
                Kind::Unavailable,
                "Nothing was changed; try again: it goes on with the one that is there now.".into(),
            ),
            StoreError::Full { .. } => (
                Kind::Unavailable,
                "What was acknowledged is safe; free some space and try again.".into(),
            ),
            StoreError::System { writing: false, .. } => (
                Kind::Unavailable,
                Hint::from("Check the disk and who owns the folder, and try again; ")
                    .then(Hint::command("doctor"))
                    .then(" says whether the store is whole."),
            ),
            StoreError::System { writing: true, .. } => (
                Kind::Unavailable,
                "What was acknowledged is safe. Check the disk's space and quotas and who owns the \
                 folder, and try again."
                    .into(),
            ),
            StoreError::Busy { .. } => {
                (Kind::Unavailable, "Nothing was changed; try again.".into())
            }
            StoreError::Disturbed { .. } => (
                Kind::Unavailable,
                "Nothing was changed; try again. If it stays so, have the agent that works on this project do \
                 something: it puts back what it holds. Only then end it and start it again."
                    .into(),
            ),
            StoreError::Io { .. } => (
                Kind::Unavailable,
                "Check that the folder exists and is yours to write.".into(),
            ),
            StoreError::NoFrame(_) => {
                (Kind::NotFound, Hint::from("See all frames with ").and("stack_tree").then("."))
            }
            StoreError::Ambiguous { .. } => {
                (Kind::NotFound, "Give the handle, or more of the id.".into())
            }
            StoreError::Database { .. } | StoreError::Value(_) => {
                (Kind::Internal, Hint::command("doctor").then(" checks the store."))
            }
        };
        Self { hint: Some(hint), ..Self::new(kind, error.to_string()) }.caused_by(error)
    }
}

impl From<Refusal<StoreError>> for EngineError {
    fn from(refusal: Refusal<StoreError>) -> Self {
        let refusal = match refusal {
            Refusal::Store(error) => return error.into(),
            refusal => refusal,
        };
        let (kind, hint) = match &refusal {
            Refusal::Transition { frame, .. } if frame.status.is_terminal() => (
                Kind::Conflict,
                Hint::from("Only ")
                    .and("stack_frame_reopen")
                    .then(format!(" brings {} back.", frame.num)),
            ),
            Refusal::Transition { frame, .. } if frame.status == Status::Planned => (
                Kind::Conflict,
                Hint::from(format!("Activate {} first with ", frame.num))
                    .and("stack_frame_activate")
                    .then("."),
            ),
            Refusal::Transition { frame, .. } if frame.status == Status::InProgress => (
                Kind::Conflict,
                Hint::operation("stack_frame_pop").then(format!(" ends {}.", frame.num)),
            ),
            Refusal::Transition { frame, .. } => (
                Kind::Conflict,
                Hint::operation("stack_frame_activate")
                    .then(format!(" takes {} up again.", frame.num)),
            ),
            Refusal::Undone(_) => {
                (Kind::Conflict, "Redo it in the host, or push a frame like it.".into())
            }
            Refusal::NothingOpen { .. } => (
                Kind::Conflict,
                Hint::from("Begin one with ").and("stack_frame_push").then(", or name a frame."),
            ),
            Refusal::OpenChildren { open, .. } => (
                Kind::Conflict,
                match open.first() {
                    Some(child) => format!("Pop {} first, then this one.", child.num).into(),
                    None => "Pop them first.".into(),
                },
            ),
            Refusal::BegunSince(open) => {
                (Kind::Conflict, format!("Pop {} first, then close the steps.", open.num).into())
            }
            Refusal::NotOnTop { open, .. } => {
                let first =
                    format!("Work goes depth-first: pop {} first, or go elsewhere with ", open.num);
                (
                    Kind::Conflict,
                    Hint::from(first).and("stack_navigate").then(", which sets it aside."),
                )
            }
            Refusal::ParentNotOpen { parent, .. } if parent.status == Status::Planned => {
                (Kind::Conflict, format!("Activate {} first.", parent.num).into())
            }
            Refusal::ParentNotOpen { parent, .. } | Refusal::ParentEnded { parent } => (
                Kind::Conflict,
                Hint::from(format!("Reopen {} with ", parent.num))
                    .and("stack_frame_reopen")
                    .then(", or plan it elsewhere."),
            ),
            Refusal::NotPlanned(_) => {
                (Kind::Conflict, "Only planned frames can be changed.".into())
            }
            Refusal::NotConsolidable(_) => (
                Kind::Conflict,
                "Only children that have ended are consolidated, and each once.".into(),
            ),
            Refusal::StandsForOthers(_) => {
                (Kind::Conflict, "Reopen one of those that stand below it.".into())
            }
            Refusal::NoSibling { .. } => {
                (Kind::Conflict, "Name another planned frame with the same parent.".into())
            }
            Refusal::Limit { .. } => (
                Kind::Limit,
                "Pop what is finished, or do the work in the frame that is open.".into(),
            ),
            Refusal::IdentityFixed(_) => (
                Kind::Conflict,
                "Push or plan a frame with the title and criteria that you want.".into(),
            ),
            Refusal::IdTaken { .. } => (Kind::Conflict, "Choose another id.".into()),
            Refusal::NoSuchPin { .. } => (
                Kind::NotFound,
                Hint::operation("stack_frame_details").then(" lists a frame's pins."),
            ),
            Refusal::Store(_) => (Kind::Internal, Hint::default()),
        };
        Self { hint: Some(hint), ..Self::new(kind, refusal.to_string()) }.caused_by(refusal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_refused_write_is_said_to_have_lost_nothing() {
        let hint = |writing| {
            let (path, source) = ("/a/callstack.db".into(), rusqlite::Error::InvalidQuery);
            EngineError::from(StoreError::System { path, source, writing })
                .hint
                .unwrap()
                .to_string()
        };
        assert!(hint(true).contains("What was acknowledged is safe."), "{}", hint(true));
        assert!(!hint(false).contains("safe"), "{}", hint(false));
    }
}
