//! The files of a trial.

use std::fs;
use std::path::{Path, PathBuf};

use callstack_scripted_model::RecordedRequest;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::TrialError;
use crate::TestError;

/// A trial's folder. Everything in it is replaced as a whole, so that a reader in another process never sees half
/// a file.
#[derive(Clone, Debug)]
pub(super) struct Folder(PathBuf);

/// The data of a trial, for the ledger.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct About {
    /// The level of autonomy; `None` in a control, which has no callstack.
    pub(super) level: Option<String>,
    /// The user's messages, turn by turn. Trials of the same turns are of the same task.
    pub(super) turns: Vec<String>,
}

/// An answer of a model.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Answer {
    /// Its text.
    pub(super) text: String,
    /// Its calls.
    pub(super) calls: Vec<Call>,
    /// Its thoughts, where a model over HTTP gives them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning: Option<String>,
    /// The provider's report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) usage: Option<Value>,
}

/// A call of a tool.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    /// The tool.
    pub(super) name: String,
    /// Its input.
    #[serde(default)]
    pub(super) input: Map<String, Value>,
}

#[derive(Deserialize)]
struct Kept<'a> {
    session: String,
    parent: Option<String>,
    #[serde(borrow)]
    body: &'a RawValue,
}

impl Folder {
    pub(super) fn at(path: &Path) -> Self {
        Self(path.to_path_buf())
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Makes the folder for a new trial.
    pub(super) fn begin(path: &Path, about: &About) -> Result<Self, TrialError> {
        fs::create_dir_all(path).map_err(TestError::io("make", path))?;
        let path = path.canonicalize().map_err(TestError::io("resolve", path))?;
        let folder = Self(path);
        if folder.about().is_some() || !folder.requests()?.is_empty() {
            let path = folder.0.display();
            return Err(TrialError::refused(format!(
                "{path} holds a trial already; name a new folder"
            )));
        }
        folder.write("trial.json", &format!("{:#}\n", json!(about)))?;
        Ok(folder)
    }

    pub(super) fn about(&self) -> Option<About> {
        serde_json::from_str(&fs::read_to_string(self.0.join("trial.json")).ok()?).ok()
    }

    /// The numbers of all requests, in order.
    pub(super) fn requests(&self) -> Result<Vec<usize>, TestError> {
        let entries = fs::read_dir(&self.0).map_err(TestError::io("read", &self.0))?;
        let mut numbers: Vec<usize> = entries
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name();
                name.to_str()?.strip_prefix("request-")?.strip_suffix(".json")?.parse().ok()
            })
            .collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// The request that waits for an answer, the oldest first.
    pub(super) fn waiting(&self) -> Result<Option<usize>, TestError> {
        let waits = |number: &usize| {
            !self.0.join(answer_name(*number)).exists() && !self.0.join(gone_name(*number)).exists()
        };
        Ok(self.requests()?.into_iter().find(waits))
    }

    pub(super) fn record(
        &self,
        number: usize,
        request: &RecordedRequest,
        body: &str,
    ) -> Result<(), TestError> {
        let (session, parent) = (json!(request.session), json!(request.parent));
        let text = format!("{{\"session\":{session},\"parent\":{parent},\"body\":{body}}}\n");
        self.write(&request_name(number), &text)
    }

    pub(super) fn request(&self, number: usize) -> Result<RecordedRequest, TrialError> {
        let path = self.0.join(request_name(number));
        let text = fs::read_to_string(&path).map_err(TestError::io("read", &path))?;
        let unreadable = |error: &dyn std::fmt::Display| {
            TrialError::refused(format!("{} is no request: {error}", path.display()))
        };
        let kept: Kept<'_> = serde_json::from_str(&text).map_err(|error| unreadable(&error))?;
        let mut headers = vec![("x-session-id".to_owned(), kept.session)];
        headers.extend(kept.parent.map(|parent| ("x-parent-session-id".to_owned(), parent)));
        RecordedRequest::parse(headers, kept.body.get()).map_err(|error| unreadable(&error))
    }

    pub(super) fn put_answer(&self, number: usize, answer: &Answer) -> Result<(), TestError> {
        self.write(&answer_name(number), &format!("{}\n", json!(answer)))
    }

    pub(super) fn answer(&self, number: usize) -> Option<Answer> {
        let text = fs::read_to_string(self.0.join(answer_name(number))).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Notes that nobody waits for an answer any more.
    pub(super) fn give_up(&self, number: usize) -> Result<(), TestError> {
        self.write(&gone_name(number), "")
    }

    /// Writes a file of the folder.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), TestError> {
        let path = self.0.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(TestError::io("make", parent))?;
        }
        let unfinished = path.with_extension("part");
        fs::write(&unfinished, text).map_err(TestError::io("write", &unfinished))?;
        fs::rename(&unfinished, &path).map_err(TestError::io("write", path))
    }

    pub(super) fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.0.join(name)).ok()
    }

    /// Ends the trial for its reader: no more requests come.
    pub(super) fn close(&self, why: &str) -> Result<(), TestError> {
        self.write("over", why)
    }

    /// Why the trial is over, once it is.
    pub(super) fn is_over(&self) -> Option<String> {
        self.read("over")
    }

    /// Asks the process that runs the trial to end it.
    pub(super) fn ask_to_stop(&self) -> Result<(), TestError> {
        self.write("stop", "")
    }

    pub(super) fn should_stop(&self) -> bool {
        self.0.join("stop").exists()
    }
}

fn request_name(number: usize) -> String {
    format!("request-{number:04}.json")
}

fn answer_name(number: usize) -> String {
    format!("answer-{number:04}.json")
}

fn gone_name(number: usize) -> String {
    format!("gone-{number:04}")
}
