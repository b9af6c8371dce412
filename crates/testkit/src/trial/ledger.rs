//! The figures of trials: requests, repeated calls, characters sent and billed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use callstack_scripted_model::RecordedRequest;
use serde_json::Value;

use super::TrialError;
use super::folder::Folder;
use super::reader::common;

/// The cost of a character that the provider has in its cache.
const CACHED: f64 = 0.1;
/// The cost of a new one.
const NEW: f64 = 1.25;

/// The figures of a trial. Sizes are characters of messages and tool lists, as they were sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Took {
    /// Requests of the agent.
    pub requests: usize,
    /// Calls of tools.
    pub calls: usize,
    /// The repeated ones among them: an earlier one was the same, word for word.
    pub again: usize,
    /// Requests that did not begin with the one before of their session: something was folded or masked.
    pub changes: usize,
    /// The size of all requests.
    pub sent: f64,
    /// Their cost with a prompt cache.
    pub billed: f64,
    /// The largest request.
    pub largest: f64,
    /// The size of all requests if nothing had ever left.
    pub sent_linear: f64,
}

/// Sums up the trial in `folder`.
pub fn of(folder: &Path) -> Result<Took, TrialError> {
    let folder = Folder::at(folder);
    let (mut took, mut made) = (Took::default(), BTreeMap::<String, usize>::new());
    let mut sessions = BTreeMap::<String, Session>::new();
    for number in folder.requests()? {
        let request = folder.request(number)?;
        take(&mut took, &mut sessions, request);
        for call in folder.answer(number).unwrap_or_default().calls {
            *made.entry(format!("{} {}", call.name, Value::from(call.input))).or_default() += 1;
        }
    }
    took.calls = made.values().sum();
    took.again = took.calls - made.len();
    Ok(took)
}

/// A session as it was last sent.
struct Session {
    last: RecordedRequest,
    /// Its size if nothing had ever left.
    linear: f64,
}

fn take(took: &mut Took, sessions: &mut BTreeMap<String, Session>, request: RecordedRequest) {
    let sizes: Vec<f64> = request.raw_messages().iter().map(|message| size(message)).collect();
    let (tools, all) = (size(request.raw_tools()), sizes.iter().sum::<f64>());
    // A provider's cache knows beginnings, whichever session they come from.
    let known = sessions
        .values()
        .filter(|session| session.last.raw_tools() == request.raw_tools())
        .map(|session| tools + sizes.iter().take(common(&session.last, &request)).sum::<f64>())
        .fold(0.0, f64::max);
    took.requests += 1;
    took.sent += tools + all;
    took.billed += CACHED * known + NEW * (tools + all - known);
    took.largest = took.largest.max(tools + all);

    let linear = match sessions.get(&request.session) {
        None => all,
        Some(Session { last, linear }) => {
            let kept = common(last, &request);
            took.changes += usize::from(kept < last.messages().len());
            let new = request.raw_messages().iter().zip(&sizes).skip(kept);
            linear
                + new.filter(|(m, _)| !last.raw_messages().contains(m)).map(|(_, n)| n).sum::<f64>()
        }
    };
    took.sent_linear += tools + linear;
    sessions.insert(request.session.clone(), Session { last: request, linear });
}

fn size(text: &str) -> f64 {
    text.chars().count() as f64
}

/// A table of the trials in `folders`. Where there are a control and others of the same task among them, the others
/// have a line with their ratios to it, and the medians of all pairs stand at the end.
pub fn table(folders: &[PathBuf]) -> Result<String, TrialError> {
    let mut trials = Vec::new();
    for folder in folders {
        let about = Folder::at(folder).about();
        let about = about
            .ok_or_else(|| TrialError::refused(format!("{} holds no trial", folder.display())))?;
        trials.push((folder, about, of(folder)?));
    }
    let mut out = format!(
        "{:<28} {:>8} {:>8} {:>6} {:>6} {:>8} {:>10} {:>10} {:>10} {:>10}\n",
        "trial",
        "level",
        "requests",
        "calls",
        "again",
        "changes",
        "sent",
        "billed",
        "largest",
        "of linear",
    );
    let mut pairs: Vec<[f64; 4]> = Vec::new();
    for (folder, about, took) in &trials {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let level = about.level.as_deref().unwrap_or("control");
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "{name:<28} {level:>8} {:>8} {:>6} {:>6} {:>8} {:>10} {:>10} {:>10} {:>10.2}",
            took.requests,
            took.calls,
            took.again,
            took.changes,
            took.sent,
            took.billed.round(),
            took.largest,
            ratio(took.sent, took.sent_linear),
        );
        let control = trials.iter().find(|(_, other, _)| {
            about.level.is_some() && other.level.is_none() && other.turns == about.turns
        });
        if let Some((control, _, base)) = control {
            let requests = ratio(took.requests as f64, base.requests as f64);
            let sent = ratio(took.sent, base.sent);
            let billed = ratio(took.billed, base.billed);
            let largest = ratio(took.largest, base.largest);
            let name = control.file_name().unwrap_or_default().to_string_lossy();
            line(&mut out, &format!("  of {name}"), [requests, sent, billed, largest]);
            pairs.push([requests, sent, billed, largest]);
        }
    }
    if pairs.len() > 1 {
        let median = |at: usize| {
            let mut values: Vec<f64> =
                pairs.iter().filter_map(|pair| pair.get(at).copied()).collect();
            values.sort_by(f64::total_cmp);
            let half = values.len() / 2;
            let upper = values.get(half).copied().unwrap_or_default();
            let lower = values.get(half.wrapping_sub(1)).copied().unwrap_or(upper);
            if values.len().is_multiple_of(2) { f64::midpoint(lower, upper) } else { upper }
        };
        line(&mut out, "median of the pairs", [median(0), median(1), median(2), median(3)]);
    }
    Ok(out)
}

fn line(out: &mut String, name: &str, [requests, sent, billed, largest]: [f64; 4]) {
    let _ = writeln!(
        out,
        "{name:<28} {:>8} {requests:>8.2} {:>6} {:>6} {:>8} {sent:>10.2} {billed:>10.2} {largest:>10.2}",
        "", "", "", "",
    );
}

fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { f64::NAN }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
