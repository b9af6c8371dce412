//! Views of sessions for people: the content of a request, the parts that left it, and the cost of each call.
//!
//! They are read from the store alone, since the process that shows them is not the one that answers the host.

pub(crate) mod calls;
pub(crate) mod diff;
pub(crate) mod fields;
pub(crate) mod folded;
pub(crate) mod frames;
pub(crate) mod request;
pub(crate) mod sent;
pub(crate) mod session;
pub(crate) mod window;

use std::path::Path;
use std::sync::{Arc, OnceLock};

use callstack_core::stored;

use crate::conversation::HostMessage;
use crate::error::{EngineError, Kind};
use crate::evidence::SpanReader;
use crate::kernel::Kernel;
use crate::queries::Queries;
use crate::work_tree::FileStates;

/// Decodes a stored message of a host's in a project's folder, without its JSON; none for one that is never sent.
pub type Decoder = fn(&stored::Message, &Path) -> Option<HostMessage>;

/// Makes views of sessions.
pub(crate) struct Views {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) queries: Arc<Queries>,
    span_reader: Arc<SpanReader>,
    files: Arc<FileStates>,
    decoder: OnceLock<Decoder>,
}

impl Views {
    pub(crate) fn new(
        kernel: &Arc<Kernel>,
        queries: &Arc<Queries>,
        span_reader: &Arc<SpanReader>,
        files: &Arc<FileStates>,
    ) -> Self {
        Self {
            kernel: Arc::clone(kernel),
            queries: Arc::clone(queries),
            span_reader: Arc::clone(span_reader),
            files: Arc::clone(files),
            decoder: OnceLock::default(),
        }
    }

    /// Sets the decoder of stored messages. Without one requests can't be shown. The first one counts.
    pub(crate) fn decode_messages_with(&self, decoder: Decoder) {
        self.decoder.get_or_init(|| decoder);
    }

    fn decoder(&self) -> Result<Decoder, EngineError> {
        self.decoder.get().copied().ok_or_else(|| {
            EngineError::new(Kind::Unavailable, "this process can't read the messages of agents")
                .with_hint("Use `callstack`.")
        })
    }

    /// Returns the session that a reference means, or the caller's.
    pub(crate) fn session_id(
        &self,
        reference: Option<&str>,
        callers: &str,
    ) -> Result<String, EngineError> {
        match reference {
            Some(reference) => Ok(self.queries.find_session(reference)?.0),
            None => Ok(callers.to_owned()),
        }
    }
}
