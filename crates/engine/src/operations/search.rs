//! The operation that searches frames and messages.

use std::fmt::Write as _;

use callstack_core::frame::FrameNum;
use callstack_core::xml::{one_line, visible};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::call::Reply;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::operation::{Access, Caller, CallerKind, EVERYBODY, Operate, Repeated};
use crate::search::{Depth, PlaceKind, SearchAnswer, SearchRequest};

/// `stack_search`.
pub(crate) struct Search;

/// Arguments of `stack_search`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchParams {
    /// Words, a "quoted string", an identifier or a path
    query: String,
    /// Find the query as it stands, also within words
    exact: Option<bool>,
    /// Handle: only in this frame and below
    frame: Option<String>,
    /// How many places; default 10
    limit: Option<usize>,
    /// Id of a session: only in its messages and frames
    session: Option<String>,
    /// Look at all that may hold it, however long that takes
    thorough: Option<bool>,
    /// Look through every message as its host wrote it, in JSON, and through nothing else
    raw: Option<bool>,
}

/// The number of places unless another one is asked for, and the greatest that may be.
const PLACES: usize = 10;
const MOST: usize = 1_000;

impl Operate for Search {
    const NAME: &'static str = "stack_search";
    const SUMMARY: &'static str = "Find words, strings or paths in the results and evidence of all \
        frames and in all messages, folded ones too.";
    const ACCESS: Access = Access::Read;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    const TERMINAL_ARGUMENTS: &'static [&'static str] = &["session", "thorough", "raw"];
    type Params = SearchParams;
    type Output = SearchAnswer;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: SearchParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let frame = params.frame.as_deref().map(|frame| engine.resolve(frame)).transpose()?;
        let depth = match (params.raw, params.thorough) {
            (Some(true), _) => Depth::Raw,
            (_, Some(true)) => Depth::Thorough,
            _ => Depth::Quick,
        };
        let request = SearchRequest {
            exact: params.exact.unwrap_or_default(),
            frame: frame.map(|frame| frame.num),
            depth,
            // What an agent finds goes to its provider.
            reveal: caller.reveal && caller.kind() != CallerKind::Agent,
            limit: params.limit.unwrap_or(PLACES).clamp(1, MOST),
            text: params.query,
        };
        let found = engine.search_in(&request, params.session.as_deref())?;
        let text = answer_text(&request.text, request.frame, &found);
        Ok(Reply::new(format!("{} places", found.places.len()), text, found))
    }
}

/// Returns the text of a search's answer, with the frame if only one was searched.
fn answer_text(query: &str, frame: Option<FrameNum>, found: &SearchAnswer) -> String {
    let mut text = String::new();
    let scope = frame.map(|frame| format!(" in {frame} or below it")).unwrap_or_default();
    if found.places.is_empty() {
        text = if found.behind {
            format!("Nothing that could be looked at so far{scope} holds `{query}`.\n")
        } else if found.more {
            format!(
                "The newest that may hold `{query}` do not; there is more than could be looked at.\n\
                 Name a frame to look at all of it, or look for more of the text, or for whole words.\n"
            )
        } else {
            format!("No text that is kept{scope} holds `{query}`.")
        };
    }
    for place in &found.places {
        let frame = match &place.frame {
            Some(frame) => format!("{} \"{}\"", frame.handle, one_line(&frame.title)),
            None => "no frame".to_owned(),
        };
        // Writing to a string can't fail.
        let _ = match &place.message {
            None if place.kind == PlaceKind::Evidence => {
                writeln!(text, "- {frame}, evidence: {}", visible(&place.snippet))
            }
            None => writeln!(text, "- {frame}: {}", visible(&place.snippet)),
            Some(it) => {
                let (position, role) = (it.position, &it.role);
                let since = if it.outdated { ", changed since" } else { "" };
                writeln!(
                    text,
                    "- {frame}, message {position} ({role}{since}): {}",
                    visible(&place.snippet)
                )
            }
        };
    }
    if found.places.iter().any(|place| place.message.is_none()) {
        text.push_str(
            "stack_frame_details with frame shows what a frame returned and its evidence.\n",
        );
    }
    let mut messages = found.places.iter().filter_map(|place| place.message.as_ref());
    if messages.clone().next().is_some() {
        text.push_str("stack_log with frame and from shows a message and what follows.\n");
    }
    if messages.any(|message| message.outdated) {
        text.push_str("With versions it shows what was changed since as it was, too.\n");
    }
    if found.more && !found.places.is_empty() {
        text.push_str("There may be more: narrow it down, or raise limit.\n");
    }
    if found.behind {
        text.push_str("The newest messages were not looked at yet.\n");
    }
    text.trim_end().to_owned()
}
