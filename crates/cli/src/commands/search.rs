use callstack_engine::Kind;
use callstack_engine::search::{PlaceKind, SearchAnswer, SearchHit};
use serde_json::json;

use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::{BOLD, DIM, PLAIN, Page, WARN};

/// Find words, strings or paths in all frames and messages
///
/// Looks through results, evidence and every message. Several words have to stand in the same place, in any order
/// and case. "Quoted strings" and, with --exact, the whole query are found as they stand; so is a query whose words
/// nothing holds. Keys, tokens and passwords of known forms are masked. With --session only that session is
/// looked through. Ends with 3 if nothing is found.
#[derive(Debug, clap::Args)]
pub(crate) struct SearchArgs {
    /// What to look for
    #[arg(required = true)]
    query: Vec<String>,
    /// Find the query as it stands, also within words
    #[arg(long, short)]
    exact: bool,
    /// Look through every message as its host wrote it, in JSON: for ids and encoded data, which are no
    /// text. Takes seconds where much is kept
    #[arg(long)]
    raw: bool,
    /// Only in this frame and below it
    #[arg(long, value_name = "FRAME")]
    frame: Option<String>,
    /// How many places to show
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
    /// Show secrets, and find what stands in them, instead of masking them
    #[arg(long)]
    reveal: bool,
}

pub(crate) fn run(
    args: &SearchArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let engine = invocation.engine()?;
    let query = args.query.join(" ");
    let session = match (&args.frame, invocation.names_a_session()) {
        (None, true) => Some(invocation.caller(&engine)?.session),
        _ => None,
    };
    let arguments = json!({
        "query": query,
        "exact": args.exact,
        "frame": args.frame,
        "session": session,
        "limit": args.limit,
        "thorough": true,
        "raw": args.raw,
    });
    let answer = invocation.run_revealing(args.reveal, &engine, "stack_search", arguments)?;
    let found: SearchAnswer =
        serde_json::from_value(answer.data.clone()).map_err(CommandError::of_shape)?;
    let scope = args.frame.as_deref().map(|frame| engine.resolve(frame)).transpose()?;
    let scope = scope.map(|frame| format!(" in {} or below it", frame.num));
    let scope = scope.or_else(|| session.map(|session| format!(" in session {session}")));
    output.either(&answer.data, |page| draw(page, args, &query, scope.as_deref(), &found))?;
    if found.places.is_empty() {
        return Err(CommandError::Reported(Kind::NotFound));
    }
    Ok(())
}

fn draw(
    page: &mut Page,
    args: &SearchArgs,
    query: &str,
    scope: Option<&str>,
    found: &SearchAnswer,
) {
    if found.places.is_empty() {
        let what = if args.raw { "message" } else { "text" };
        let scope = scope.unwrap_or_default();
        page.put(PLAIN, &format!("no {what} that is kept{scope} holds {query}")).end();
        if !args.raw {
            page.put(DIM, "--raw looks through ids and encoded data, too").end();
        }
    }
    for place in &found.places {
        draw_place(page, place, args.raw);
    }
    if found.more {
        page.put(DIM, "there may be more: narrow it down, or raise --limit").end();
    }
}

fn draw_place(page: &mut Page, place: &SearchHit, raw: bool) {
    match &place.frame {
        Some(frame) => page.put(BOLD, &frame.handle).put(PLAIN, " ").put(PLAIN, &frame.title),
        None => page.put(DIM, "no frame"),
    };
    if let Some(message) = &place.message {
        let since = if message.outdated { ", changed since" } else { "" };
        let whose = format!(", message {} ({}{since})", message.position, message.role);
        page.put(DIM, &whose);
        if place.frame.is_none() {
            page.put(DIM, &format!(" of {}", message.session));
        }
    } else if place.kind == PlaceKind::Evidence {
        page.put(DIM, ", evidence");
    }
    page.end().put(PLAIN, "  ");
    let mut at = 0;
    for [start, end] in &place.marks {
        page.put(PLAIN, place.snippet.get(at..*start).unwrap_or_default());
        page.put(WARN, place.snippet.get(*start..*end).unwrap_or_default());
        at = *end;
    }
    page.put(PLAIN, place.snippet.get(at..).unwrap_or_default()).end();
    if let Some(way) = way_back(place, raw) {
        page.put(DIM, &format!("  {way}")).end();
    }
}

/// Returns the command that shows the message or frame around a place.
fn way_back(place: &SearchHit, raw: bool) -> Option<String> {
    let handle = &place.frame.as_ref()?.handle;
    Some(match &place.message {
        Some(message) => {
            let versions = if message.outdated { " --versions" } else { "" };
            let raw = if raw { " --raw" } else { "" };
            format!("callstack log {handle} --from {}{versions}{raw}", message.position)
        }
        None if place.kind == PlaceKind::Evidence => format!("callstack show {handle} --evidence"),
        None => format!("callstack show {handle}"),
    })
}
