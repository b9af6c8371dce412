//! Claude Code's session files: JSON lines that form a tree. An answer of the model takes several lines, and the
//! results of its calls stand among the user's messages.

mod assembly;
mod branch;
mod entry;
mod said;
mod tasks;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead};

use callstack_core::json::token_count;
use serde_json::Value;

use super::link::AGENT;
use super::tools::{taken, text};
use super::{Format, Left, Parent, Recording, Skipped, Usage, lines};
use assembly::assemble;
pub(super) use assembly::handed_on;
use branch::Branches;
use entry::Entry;
pub use entry::noted_in;

/// Records by the side chain that they belong to; those of the session itself under none.
#[derive(Default)]
struct File {
    session: String,
    project: String,
    /// The user's title, and the program's.
    titles: [Option<String>; 2],
    /// Titles by the leaf of the branch that they are of.
    summaries: Vec<(String, String)>,
    main: Vec<Entry>,
    sides: BTreeMap<String, Side>,
    /// The chain of each record of a side chain that names no subagent.
    chains: BTreeMap<String, String>,
    skipped: Skipped,
}

#[derive(Default)]
struct Side {
    call: Option<String>,
    entries: Vec<Entry>,
}

/// Reads a session's file, or a subagent's.
pub(super) fn read(from: impl BufRead) -> io::Result<Vec<Recording>> {
    let mut file = File::default();
    let mut skipped = Skipped::default();
    lines::each(from, &mut skipped, |raw, value| file.take(raw, value))?;
    file.skipped.add(skipped);
    Ok(file.into_recordings())
}

impl File {
    fn take(&mut self, raw: String, mut value: Value) {
        let is_side = value["isSidechain"] == true;
        if (!is_side || self.session.is_empty())
            && let Some(session) = value["sessionId"].as_str()
        {
            session.clone_into(&mut self.session);
        }
        if self.project.is_empty() {
            text(&value["cwd"]).clone_into(&mut self.project);
        }
        match text(&value["type"]) {
            "custom-title" => self.titles[0] = value["customTitle"].as_str().map(str::to_owned),
            "ai-title" => self.titles[1] = value["aiTitle"].as_str().map(str::to_owned),
            "summary" => {
                let [leaf, summary] = ["leafUuid", "summary"].map(|it| text(&value[it]).to_owned());
                self.summaries.push((leaf, summary));
            }
            "progress" if value["data"]["type"] == "agent_progress" => {
                let agent = text(&value["data"]["agentId"]).to_owned();
                let call = value["parentToolUseID"].as_str().map(str::to_owned);
                self.main.push(Entry::link(&value));
                let side = self.sides.entry(agent).or_default();
                side.call = side.call.take().or(call);
                side.entries.extend(
                    Entry::read(raw, taken(&mut taken(&mut value, "data"), "message")).ok(),
                );
            }
            _ => match Entry::read(raw, value) {
                Ok(entry) if is_side => self.side(entry),
                Ok(entry) => self.main.push(entry),
                Err(kind) => self.skipped.count(kind),
            },
        }
    }

    fn side(&mut self, entry: Entry) {
        let above = entry.parent.as_ref().and_then(|parent| self.chains.get(parent));
        let chain = entry.agent.as_ref().or(above).unwrap_or(&entry.uuid).clone();
        self.chains.insert(entry.uuid.clone(), chain.clone());
        self.sides.entry(chain).or_default().entries.push(entry);
    }

    fn into_recordings(mut self) -> Vec<Recording> {
        let Branches { live: main, left } =
            branch::apart(std::mem::take(&mut self.main), &mut self.skipped);
        let summary = self.summaries.iter().rev().find_map(|(leaf, title)| {
            main.iter().any(|entry| entry.uuid == *leaf).then(|| title.clone())
        });
        let title = self.titles.iter_mut().find_map(Option::take).or(summary);
        let mut recordings = vec![Recording {
            session: self.session.clone(),
            project: self.project.clone(),
            title,
            ..Recording::new(Format::ClaudeCode)
        }];
        let order: Vec<String> = main.iter().map(|entry| entry.message().to_owned()).collect();
        assemble(&mut recordings[0], main, &mut self.skipped);
        recordings[0].left = aside(&recordings[0], &order, left);
        for (id, side) in std::mem::take(&mut self.sides) {
            let parent = Parent { session: self.session.clone(), call: side.call };
            let mut recording = Recording {
                session: format!("{}{AGENT}{id}", self.session),
                parent: Some(parent),
                title: None,
                messages: Vec::new(),
                left: Vec::new(),
                ..recordings[0].clone()
            };
            assemble(&mut recording, side.entries, &mut self.skipped);
            recordings.push(recording);
        }
        let holder = recordings.iter().position(|it| !it.messages.is_empty()).unwrap_or(0);
        recordings[holder].skipped = self.skipped;
        recordings
    }
}

/// The messages of branches that were left, each at its place among those that were gone on with. `order`
/// names the message of each record of these.
fn aside(recording: &Recording, order: &[String], left: Vec<(usize, Entry)>) -> Vec<Left> {
    let mut stood: HashMap<String, usize> = HashMap::new();
    for (place, entry) in &left {
        stood.entry(entry.message().to_owned()).or_insert(*place);
    }
    let mut aside = Recording {
        project: recording.project.clone(),
        session: recording.session.clone(),
        ..Recording::new(recording.format)
    };
    let entries = left.into_iter().map(|(_, entry)| entry).collect();
    // They are counted by their own kind.
    assemble(&mut aside, entries, &mut Skipped::default());
    let places = recording.messages.iter().enumerate();
    let places: HashMap<&str, usize> = places.map(|(at, it)| (it.id.as_str(), at)).collect();
    let last = recording.messages.len().saturating_sub(1);
    let mut messages: Vec<Left> = Vec::new();
    for message in aside.messages {
        let from_there = stood.get(&message.id).and_then(|place| order.get(*place..));
        let next = from_there.and_then(|rest| rest.iter().find_map(|id| places.get(id.as_str())));
        messages.push(Left { before: next.copied().unwrap_or(last), message });
    }
    messages
}

/// Reads the provider's report: `input_tokens` are those without any part of a cache.
fn usage(value: &Value) -> Option<Usage> {
    let count = |name: &str| token_count(&value[name]);
    let cached = count("cache_read_input_tokens");
    let usage = Usage {
        input: count("input_tokens") + count("cache_creation_input_tokens") + cached,
        cached,
        output: count("output_tokens"),
    };
    (usage.input + usage.output > 0).then_some(usage)
}
