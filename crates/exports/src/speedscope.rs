//! Flame graphs for speedscope: three profiles a session, over time and over tokens.

use std::collections::HashMap;
use std::io::{self, Write};

use callstack_core::trace::SessionTrace;
use serde::Serialize;

use crate::timeline::{Change, Entry, Leaf, Slice, changes, over_sent, over_time, over_written};
use crate::{About, Document, label, put_json};

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

/// A document with the profiles written so far.
#[derive(Default)]
pub(crate) struct Speedscope {
    profiles: usize,
    /// The names of entries, each once, in order of first appearance.
    names: Vec<String>,
    places: HashMap<String, usize>,
}

#[derive(Serialize)]
struct Name<'a> {
    name: &'a str,
}

#[derive(Serialize)]
struct Event {
    #[serde(rename = "type")]
    kind: &'static str,
    frame: usize,
    at: u64,
}

impl Document for Speedscope {
    fn begin(&mut self, about: &About, to: &mut dyn Write) -> io::Result<()> {
        write!(to, "{{\"$schema\":\"{SCHEMA}\",\"name\":")?;
        put_json(&about.name, to)?;
        write!(to, ",\"exporter\":")?;
        put_json(&format!("callstack {}", about.version), to)?;
        write!(to, ",\"activeProfileIndex\":0,\"profiles\":[")
    }

    fn session(
        &mut self,
        about: &About,
        session: &SessionTrace,
        to: &mut dyn Write,
    ) -> io::Result<()> {
        let mut time = over_time(session, about.at);
        let began = time.first().map_or(0, |slice| slice.from);
        for slice in &mut time {
            (slice.from, slice.to) = (slice.from - began, slice.to - began);
        }
        self.profile(session, &time, ("time", "milliseconds"), to)?;
        self.profile(session, &over_sent(session), ("tokens sent", "none"), to)?;
        self.profile(session, &over_written(session), ("tokens written", "none"), to)
    }

    fn end(&mut self, _: &About, to: &mut dyn Write) -> io::Result<()> {
        write!(to, "\n],\"shared\":{{\"frames\":[")?;
        for (place, name) in self.names.iter().enumerate() {
            to.write_all(if place > 0 { b",\n" } else { b"\n" })?;
            put_json(&Name { name }, to)?;
        }
        to.write_all(b"\n]}}\n")
    }
}

impl Speedscope {
    /// Writes a profile, unless there is nothing in it.
    fn profile(
        &mut self,
        session: &SessionTrace,
        slices: &[Slice],
        (what, unit): (&str, &str),
        to: &mut dyn Write,
    ) -> io::Result<()> {
        let Some(end) = slices.last().map(|slice| slice.to) else { return Ok(()) };
        to.write_all(if self.profiles > 0 { b",\n" } else { b"\n" })?;
        self.profiles += 1;
        write!(to, "{{\"type\":\"evented\",\"name\":")?;
        put_json(&format!("{}: {what}", label::session(session)), to)?;
        write!(to, ",\"unit\":\"{unit}\",\"startValue\":0,\"endValue\":{end},\"events\":[")?;
        let titles = session.all_frames().map(|it| (it.num, label::frame(it.num, &it.title)));
        let titles: HashMap<_, _> = titles.collect();
        for (place, Change { at, opens, entry }) in changes(session, slices).into_iter().enumerate()
        {
            let name = match entry {
                Entry::Frame(num) => titles.get(&num).cloned().unwrap_or_else(|| num.to_string()),
                Entry::Leaf(leaf) => named(session, leaf),
            };
            let event = Event { kind: if opens { "O" } else { "C" }, frame: self.place(name), at };
            if place > 0 {
                to.write_all(b",")?;
            }
            put_json(&event, to)?;
        }
        to.write_all(b"]}")
    }

    fn place(&mut self, name: String) -> usize {
        if let Some(place) = self.places.get(&name) {
            return *place;
        }
        let place = self.names.len();
        self.names.push(name.clone());
        self.places.insert(name, place);
        place
    }
}

fn named(session: &SessionTrace, leaf: Leaf) -> String {
    match leaf {
        Leaf::Model { step } => {
            let call = session.steps.get(step).and_then(|step| step.call.as_ref());
            label::model(call.and_then(|call| call.model.as_deref()))
        }
        Leaf::Tool { step, tool } => {
            let tool = session.steps.get(step).and_then(|step| step.tools.get(tool));
            label::tool(tool.map_or("", |tool| &tool.call.tool))
        }
        Leaf::Waiting => "waiting for the user".to_owned(),
        Leaf::Cached => "from the cache".to_owned(),
        Leaf::New => "not from the cache".to_owned(),
        Leaf::User => "words of the user".to_owned(),
        Leaf::Words => "words of the model".to_owned(),
    }
}
