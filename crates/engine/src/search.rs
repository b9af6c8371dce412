//! Search over all stored texts: purposes and results of frames, and every message.

mod finding;
mod repeats;
mod texts;

use std::path::Path;

use callstack_core::frame::{Frame, FrameNum, Status};
use callstack_core::search::{Match, Query};
use callstack_core::secrets::mask;
use callstack_store::StoreError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::finding::Finding;
use crate::error::EngineError;
use crate::kernel::connection::Connection;
use crate::queries::Queries;
pub(crate) use texts::{role, texts};

/// Bytes of messages that are indexed in one transaction while somebody waits for a search.
pub(crate) const STEP: usize = 128 * 1024;
/// The same beside the hooks of a host, whose writes wait for its end.
pub(crate) const SHORT_STEP: usize = 16 * 1024;
/// Steps that a search makes to catch up before it answers.
const STEPS: usize = 16;

/// A search query, and how to search.
#[derive(Clone, Debug)]
pub struct SearchRequest {
    /// Words, all of which have to be there, and "quoted strings"; or one exact string.
    pub text: String,
    /// Whether the text is one string, to be found as it stands, in its case.
    pub exact: bool,
    /// Only in this frame and below it.
    pub frame: Option<FrameNum>,
    /// The most places that are wanted.
    pub limit: usize,
    /// The extent of the search.
    pub depth: Depth,
    /// Whether secrets are shown and found. Otherwise they are masked, and nothing in them is found.
    pub reveal: bool,
}

/// The extent of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// As much as an agent can wait for: some of the possible places, the newest first.
    Quick,
    /// All that may hold it, however long that takes.
    Thorough,
    /// All messages as their host wrote them, with ids and encoded data, and nothing but messages.
    Raw,
}

/// The results of a search.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SearchAnswer {
    /// The best places, the best first.
    pub places: Vec<SearchHit>,
    /// Whether there may be more than these.
    pub more: bool,
    /// Whether some messages were stored too recently to be searched.
    pub behind: bool,
}

/// A place that matches.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SearchHit {
    /// The frame that it is in; none for a message from before the first frame.
    pub frame: Option<FrameFound>,
    /// The kind of the place.
    pub kind: PlaceKind,
    /// The message, if it is in one.
    pub message: Option<MessageFound>,
    /// The text of the place, in one line.
    pub snippet: String,
    /// Where in the snippet the words are; beginnings and ends in bytes.
    pub marks: Vec<[usize; 2]>,
    /// The higher, the better.
    pub score: f64,
}

/// The kind of a place that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlaceKind {
    /// A text of a frame: its title, criteria, results, decisions, pins, files.
    Frame,
    /// The evidence of the work in a frame.
    Evidence,
    /// A message.
    Message,
}

/// The frame that a place is in.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FrameFound {
    /// Its handle, such as `f12`.
    pub handle: String,
    /// The specification's id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Where it stands.
    pub status: Status,
}

impl From<Frame> for FrameFound {
    fn from(frame: Frame) -> Self {
        Self {
            handle: frame.num.to_string(),
            id: frame.id,
            title: mask(&frame.identity.title).into_owned(),
            status: frame.status,
        }
    }
}

/// A message that matches.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MessageFound {
    /// Its session.
    pub session: String,
    /// The host's id of it.
    pub id: String,
    /// Who wrote it, as the host says.
    pub role: String,
    /// Its place in its frame's log, from 1; 0 without a frame.
    pub position: u64,
    /// Which version of it this is, from 1.
    pub version: u64,
    /// Whether it has been changed since, so that its log shows another version.
    pub outdated: bool,
}

/// Indexes everything that is stored, so many bytes in each transaction. `more_urgent` is asked in between whether to
/// stop.
pub(crate) fn index(
    connection: &Connection,
    step: usize,
    mut more_urgent: impl FnMut() -> bool,
) -> Result<(), StoreError> {
    let is_behind = || connection.read(|view| -> Result<bool, StoreError> { view.is_behind() });
    while is_behind()? && !more_urgent() {
        connection.write(|change| change.index(step, &searchable))?;
    }
    Ok(())
}

impl Queries {
    /// Finds places that match a query: words without any match are searched as a literal string, which may begin and
    /// end within words.
    pub(crate) fn search(&self, request: &SearchRequest) -> Result<SearchAnswer, EngineError> {
        self.search_in(request, None)
    }

    /// The same within the messages of a session, and its frames, where `session` is given.
    pub(crate) fn search_in(
        &self,
        request: &SearchRequest,
        session: Option<&str>,
    ) -> Result<SearchAnswer, EngineError> {
        let query = if request.exact {
            Query::exact(&request.text)
        } else {
            Query::words(&relative(self.kernel.project(), &request.text))
        };
        let query = query.ok_or_else(|| {
            EngineError::invalid(
                "there is nothing to search for",
                "Give words, a \"quoted string\", an identifier or a file's path.",
            )
        })?;
        if !self.kernel.is_read_only() {
            let mut steps = if request.depth == Depth::Quick { STEPS } else { usize::MAX };
            index(self.kernel.connection(), STEP, || {
                steps -= 1;
                steps == 0
            })?;
        }
        let as_it_stands = Query::exact(request.text.trim().trim_matches('"'));
        self.kernel.read(|view| {
            let words = Finding::new(view, &query, request, session)?.answer()?;
            let Some(query) = as_it_stands.filter(|_| words.places.is_empty() && !request.exact)
            else {
                return Ok(words);
            };
            let string = Finding::new(view, &query, request, session)?.answer()?;
            Ok(SearchAnswer { more: words.more || string.more, ..string })
        })
    }
}

/// Returns the match in a message. Secrets are masked, unless they are to be revealed.
pub(crate) fn find(query: &Query, json: &str, reveal: bool) -> Option<Match> {
    let found = query.find(&texts(json, false))?;
    if reveal { Some(found) } else { query.find(&texts(json, true)) }
}

/// Everything in a message that somebody may look for.
fn searchable(json: &str) -> String {
    texts(json, false)
}

/// Stored texts name files of the project relative to it.
fn relative(project: &Path, text: &str) -> String {
    let prefix = format!("{}/", project.display());
    text.split(' ')
        .map(|word| word.strip_prefix(&prefix).unwrap_or(word))
        .collect::<Vec<_>>()
        .join(" ")
}
