//! Reads the files of both generations of the specification, which differ in their content.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use callstack_core::decide::Imported;
use callstack_core::frame::{Artifact, Frame, FrameNum, Identity, Pin, Status};
use callstack_core::framing::identity_of;
use callstack_core::results::dense;
use callstack_store::plain;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Skipped, sources_in};
use crate::dense::compact;
use crate::error::{EngineError, Kind};
use crate::layout::{FRAMES, HOST_FOLDER, STATE};

/// The frames that were read.
#[derive(Default)]
pub(super) struct Found {
    pub(super) frames: Vec<Imported>,
    pub(super) active: Option<String>,
    /// The ids of planned frames, those of siblings in the order of their plan.
    pub(super) planned: Vec<String>,
    pub(super) format: &'static str,
    pub(super) skipped: Vec<Skipped>,
}

/// A frame as either generation writes it. Missing fields are derived where possible.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Raw {
    #[serde(rename = "sessionID")]
    session_id: Option<String>,
    #[serde(rename = "parentSessionID")]
    parent_session_id: Option<String>,
    status: Option<String>,
    title: Option<String>,
    goal: Option<String>,
    success_criteria: Option<String>,
    success_criteria_compacted: Option<String>,
    results: Option<String>,
    results_compacted: Option<String>,
    results_source: Option<String>,
    compaction_summary: Option<String>,
    created_at: Option<f64>,
    updated_at: Option<f64>,
    begun_at: Option<f64>,
    ended_at: Option<f64>,
    invalidated_at: Option<f64>,
    artifacts: Option<Vec<String>>,
    decisions: Option<Vec<String>>,
    log_path: Option<String>,
    invalidation_reason: Option<String>,
    handle: Option<String>,
    worked_in: Option<String>,
    pins: Option<BTreeMap<String, String>>,
    #[serde(rename = "formerIDs")]
    former_ids: Option<Vec<String>>,
    derived: Option<bool>,
    artifact_hashes: Option<BTreeMap<String, String>>,
    evidence: Option<Value>,
    planned_children: Option<Value>,
}

/// Whether a folder looks as if frames were in it.
pub(super) fn holds_frames(folder: &Path) -> bool {
    folder.join(STATE).is_file() || folder.join(FRAMES).is_dir()
}

/// Reads a folder or a file; `now` in milliseconds since 1970 replaces times that are missing.
pub(super) fn read(path: &Path, now: i64) -> Result<Found, EngineError> {
    let mut reader = Reader { now, found: Found::default(), raw: BTreeMap::new() };
    if !path.is_dir() {
        let value = parse(path)?;
        let known = reader.tree(&value) || reader.alone(&value, path);
        return if known { Ok(reader.end()) } else { Err(foreign(path)) };
    }
    let folders = if holds_frames(path) {
        vec![path.to_path_buf()]
    } else {
        [path.to_path_buf(), path.join(HOST_FOLDER)].iter().flat_map(|it| sources_in(it)).collect()
    };
    if folders.is_empty() {
        return Err(foreign(path));
    }
    for folder in folders {
        reader.folder(&folder)?;
    }
    Ok(reader.end())
}

struct Reader {
    now: i64,
    found: Found,
    /// Each frame as it was read, by id.
    raw: BTreeMap<String, Raw>,
}

impl Reader {
    /// A folder with `state.json` and a folder `frames`. If the first can't be used, the second may still be.
    fn folder(&mut self, folder: &Path) -> Result<(), EngineError> {
        let state = folder.join(STATE);
        let mut trouble = None;
        if state.is_file() {
            match parse(&state) {
                Ok(value) if self.tree(&value) => {}
                Ok(_) => trouble = Some(foreign(&state)),
                Err(error) => trouble = Some(error),
            }
        }
        let mut files: Vec<PathBuf> = fs::read_dir(folder.join(FRAMES))
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
            .collect();
        files.sort();
        let before = self.raw.len();
        for file in files {
            match parse(&file) {
                Ok(value) if self.alone(&value, &file) => {}
                Ok(_) => self.skip(file.display(), "it is no frame"),
                Err(error) => self.skip(file.display(), error.message),
            }
        }
        match trouble {
            Some(error) if self.raw.len() == before => Err(error),
            Some(error) => {
                self.skip(state.display(), error.message);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Reads a whole state. False if it is none.
    fn tree(&mut self, value: &Value) -> bool {
        let Some(frames) = value.get("frames").and_then(Value::as_object) else { return false };
        if !value.get("rootFrameIDs").is_none_or(Value::is_array) {
            return false;
        }
        self.found.active = value.get("activeFrameID").and_then(Value::as_str).map(str::to_owned);
        self.found.planned.extend(ids(value.get("rootFrameIDs")));
        for (id, frame) in frames {
            match frame.as_object() {
                Some(fields) => self.frame(Some(id), fields),
                None => self.skip(id, "it is no object"),
            }
        }
        true
    }

    /// Reads one frame. False if it is none.
    fn alone(&mut self, value: &Value, path: &Path) -> bool {
        let Some(fields) = value.as_object() else { return false };
        let is_frame = fields.contains_key("status")
            && ["title", "goal"].iter().any(|field| fields.contains_key(*field));
        if is_frame {
            let name = path.file_stem().map(|name| name.to_string_lossy().into_owned());
            self.frame(name.as_deref(), fields);
        }
        is_frame
    }

    /// The newer of two versions of a frame counts.
    fn frame(&mut self, name: Option<&str>, fields: &Map<String, Value>) {
        let raw: Raw = match serde_json::from_value(Value::Object(fields.clone())) {
            Ok(raw) => raw,
            Err(error) => return self.skip(name.unwrap_or("?"), error.to_string()),
        };
        let id = raw.session_id.as_deref().or(name).unwrap_or_default();
        if id.trim().is_empty() {
            return self.skip(name.unwrap_or("?"), "it has no sessionID");
        }
        if raw.goal.is_some() && raw.title.is_none() {
            self.found.format = "flame";
        }
        let newer = self.raw.get(id).is_none_or(|known| known.updated_at < raw.updated_at);
        if newer {
            self.raw.insert(id.to_owned(), raw);
        }
    }

    fn skip(&mut self, what: impl std::fmt::Display, why: impl Into<String>) {
        let (what, why) = (what.to_string(), why.into());
        // The message about a file begins with its name.
        let why = why.strip_prefix(&what).map_or(why.as_str(), str::trim_start).to_owned();
        self.found.skipped.push(Skipped { what, why });
    }

    fn end(mut self) -> Found {
        if self.found.format.is_empty() {
            self.found.format = "stack";
        }
        let mut left_out: BTreeMap<String, Option<String>> = BTreeMap::new();
        for (id, raw) in std::mem::take(&mut self.raw) {
            self.found.planned.extend(ids(raw.planned_children.as_ref()));
            let parent = raw.parent_session_id.clone().filter(|parent| !parent.is_empty());
            match imported(&id, raw, self.now) {
                Ok(frame) => self.found.frames.push(frame),
                Err(why) => {
                    self.skip(&id, why);
                    left_out.insert(id, parent);
                }
            }
        }
        // Children of a frame that is skipped move to that one's parent.
        for frame in &mut self.found.frames {
            for _ in 0..=left_out.len() {
                let Some(above) = frame.parent.as_ref().and_then(|it| left_out.get(it)) else {
                    break;
                };
                frame.parent.clone_from(above);
            }
        }
        self.found.frames.sort_by(|a, b| {
            let when = |it: &Imported| (it.frame.num, it.frame.created_at);
            when(a).cmp(&when(b)).then_with(|| a.frame.id.cmp(&b.frame.id))
        });
        // Without handles of their own they get new ones in this order.
        if self.found.frames.iter().any(|it| it.frame.num.0 == 0) {
            self.found.frames.sort_by_key(|it| it.frame.created_at);
            for (num, it) in (1..).zip(&mut self.found.frames) {
                it.frame.num = FrameNum(num);
            }
        }
        self.found
    }
}

fn imported(id: &str, raw: Raw, now: i64) -> Result<Imported, String> {
    let status: Status = raw.status.as_deref().ok_or("it has no status")?.parse()?;
    let said = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    let identity = match (said(raw.title), said(raw.goal)) {
        (Some(title), goal) => {
            let criteria = raw.success_criteria.or(goal).unwrap_or_default();
            let compacted = raw.success_criteria_compacted.unwrap_or_else(|| compact(&criteria));
            Identity { title, success_criteria: criteria, success_criteria_compacted: compacted }
        }
        (None, Some(goal)) => Identity { success_criteria: goal.clone(), ..identity_of(&goal) },
        (None, None) => return Err("it has neither title nor goal".to_owned()),
    };
    let created_at = millis(raw.created_at).or(millis(raw.updated_at)).unwrap_or(now);
    let updated_at = millis(raw.updated_at).unwrap_or(created_at);
    let ended_at = millis(raw.ended_at).or(status.is_finished().then_some(updated_at));
    let results = raw.results.or(raw.compaction_summary);
    let results_compacted = raw.results_compacted.or_else(|| results.as_deref().map(dense));
    let source = raw.results_source.and_then(|word| word.parse().ok());
    let mut hashes = raw.artifact_hashes.unwrap_or_default();
    let mut artifacts: Vec<Artifact> = Vec::new();
    for path in raw.artifacts.unwrap_or_default() {
        if artifacts.iter().all(|known| known.path != path) {
            artifacts.push(Artifact { hash: hashes.remove(&path), path });
        }
    }
    let session = match status {
        Status::Planned => None,
        Status::InProgress => Some(raw.worked_in.unwrap_or_else(|| id.to_owned())),
        _ => raw.worked_in.or_else(|| id.starts_with("ses").then(|| id.to_owned())),
    };
    let handle = raw.handle.and_then(|handle| handle.parse().ok()).unwrap_or(FrameNum(0));
    let identity_derived = raw.derived.unwrap_or(false);
    let frame = Frame {
        session,
        status,
        identity_derived,
        results,
        results_compacted,
        results_source: source,
        updated_at,
        begun_at: millis(raw.begun_at),
        ended_at: ended_at.filter(|_| status.is_finished()),
        artifacts,
        decisions: raw.decisions.unwrap_or_default(),
        pins: pins(raw.pins.unwrap_or_default()),
        log_path: raw.log_path,
        invalidated_at: millis(raw.invalidated_at)
            .or(Some(updated_at))
            .filter(|_| status == Status::Invalidated),
        invalidation_reason: raw.invalidation_reason,
        ..Frame::planned(handle, id.to_owned(), None, 0, identity, created_at)
    };
    let parent = raw.parent_session_id.filter(|parent| !parent.is_empty());
    let former_ids = raw.former_ids.unwrap_or_default();
    // A field of this name from another program is something else.
    let evidence = raw.evidence.and_then(|evidence| serde_json::from_value(evidence).ok());
    let evidence = evidence.unwrap_or_default();
    Ok(Imported { frame, parent, former_ids, evidence })
}

fn pins(texts: BTreeMap<String, String>) -> Vec<Pin> {
    let number = |name: &str| name.strip_prefix('p').and_then(|digits| digits.parse().ok());
    let mut pins: Vec<Pin> = texts
        .into_iter()
        .map(|(name, text)| Pin { num: number(&name).unwrap_or(0), text })
        .collect();
    pins.sort_by_key(|pin| pin.num);
    pins
}

/// The ids in a list, if it is one.
fn ids(list: Option<&Value>) -> impl Iterator<Item = String> {
    list.and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
}

/// A time as JavaScript writes it.
#[expect(clippy::cast_possible_truncation, reason = "a cast of a float saturates")]
fn millis(time: Option<f64>) -> Option<i64> {
    time.filter(|time| time.is_finite() && *time >= 0.0).map(|time| time as i64)
}

fn parse(path: &Path) -> Result<Value, EngineError> {
    let text = plain::read_named(path).map_err(|error| {
        EngineError::new(
            if error.kind() == std::io::ErrorKind::NotFound {
                Kind::NotFound
            } else {
                Kind::Unavailable
            },
            format!("{} can't be read: {error}", path.display()),
        )
        .with_hint("Name a folder such as .opencode/stack, or a file of frames.")
        .caused_by(error)
    })?;
    serde_json::from_slice(&text).map_err(|error| {
        EngineError::new(Kind::Invalid, format!("{} is not whole JSON: {error}", path.display()))
            .with_hint("Nothing was imported. Is there a copy of it that is whole?")
            .caused_by(error)
    })
}

fn foreign(path: &Path) -> EngineError {
    EngineError::invalid(
        format!("no frames are in {}, and it is no recorded session", path.display()),
        "Nothing was imported. Frames are in folders such as .opencode/stack and .opencode/flame, \
         and in what `callstack export` writes; sessions in the files of Claude Code, Codex and pi, \
         in what `opencode export` writes and in trajectories of SWE-agent and mini-swe-agent.",
    )
}
