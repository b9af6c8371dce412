//! Traces for Perfetto and Chrome's `about:tracing`: a thread a session.

use std::collections::HashMap;
use std::io::{self, Write};

use callstack_core::frame::FrameNum;
use callstack_core::trace::{FrameTrace, SessionTrace};
use serde_json::{Value, json};

use crate::timeline::{Entry, Leaf, changes, over_time};
use crate::{About, Document, label, put_json};

/// The process of all threads.
const PROCESS: u32 = 1;
/// Microseconds in a millisecond.
const MICRO: u64 = 1_000;

/// A document with the sessions written so far.
#[derive(Default)]
pub(crate) struct ChromeTrace {
    threads: usize,
    is_begun: bool,
}

impl Document for ChromeTrace {
    fn begin(&mut self, about: &About, to: &mut dyn Write) -> io::Result<()> {
        write!(to, "{{\"displayTimeUnit\":\"ms\",\"otherData\":")?;
        let version = format!("callstack {}", about.version);
        put_json(&json!({"exporter": version}), to)?;
        write!(to, ",\"traceEvents\":[")?;
        self.event(&meta("process_name", 0, &json!({"name": about.name})), to)
    }

    fn session(
        &mut self,
        about: &About,
        session: &SessionTrace,
        to: &mut dyn Write,
    ) -> io::Result<()> {
        self.threads += 1;
        let thread = self.threads;
        let name = json!({"name": label::session(session)});
        self.event(&meta("thread_name", thread, &name), to)?;
        let order = json!({"sort_index": thread});
        self.event(&meta("thread_sort_index", thread, &order), to)?;
        let frames: Frames<'_> = session.all_frames().map(|it| (it.num, it)).collect();
        // The outer of two that begin at the same time has to stand first, and its end is known last.
        let (mut events, mut open): (Vec<(Value, u64)>, Vec<usize>) = (Vec::new(), Vec::new());
        for change in changes(session, &over_time(session, about.at)) {
            if change.opens {
                open.push(events.len());
                events.push((described(session, &frames, change.entry), change.at));
                continue;
            }
            let Some((event, from)) = open.pop().and_then(|place| events.get_mut(place)) else {
                continue;
            };
            event["ts"] = (*from * MICRO).into();
            event["dur"] = ((change.at - *from) * MICRO).into();
            (event["pid"], event["tid"]) = (PROCESS.into(), thread.into());
        }
        for (event, _) in &events {
            self.event(event, to)?;
        }
        let counter = format!("tokens of {}", label::session(session));
        for step in &session.steps {
            let Some(call) = step.call.as_ref().filter(|call| call.usage.input > 0) else {
                continue;
            };
            let mut tokens = json!({"sent": call.usage.input});
            if let Some(weighed) = call.weighed {
                tokens["without frames"] = weighed.without.into();
            }
            let at = u64::try_from(step.from).unwrap_or_default() * MICRO;
            let event = json!({
                "ph": "C", "name": counter, "pid": PROCESS, "tid": thread, "ts": at, "args": tokens,
            });
            self.event(&event, to)?;
        }
        Ok(())
    }

    fn end(&mut self, _: &About, to: &mut dyn Write) -> io::Result<()> {
        to.write_all(b"\n]}\n")
    }
}

impl ChromeTrace {
    fn event(&mut self, event: &Value, to: &mut dyn Write) -> io::Result<()> {
        to.write_all(if std::mem::replace(&mut self.is_begun, true) { b",\n" } else { b"\n" })?;
        put_json(event, to)
    }
}

/// The name of a process or a thread, or its place.
fn meta(name: &str, thread: usize, args: &Value) -> Value {
    json!({"ph": "M", "name": name, "pid": PROCESS, "tid": thread, "args": args})
}

type Frames<'a> = HashMap<FrameNum, &'a FrameTrace>;

/// An event without its time.
fn described(session: &SessionTrace, frames: &Frames<'_>, entry: Entry) -> Value {
    let (name, category, args) = match entry {
        Entry::Frame(num) => match frames.get(&num) {
            Some(frame) => {
                let args = json!({"frame": num.to_string(), "status": frame.status.as_str()});
                (label::frame(num, &frame.title), "frame", args)
            }
            None => (num.to_string(), "frame", json!({})),
        },
        Entry::Leaf(Leaf::Model { step }) => {
            let step = session.steps.get(step);
            let call = step.and_then(|step| step.call.as_ref());
            let usage = call.map(|call| call.usage).unwrap_or_default();
            let args = json!({
                "message": step.map(|step| &step.id),
                "input tokens": usage.input,
                "of them cached": usage.cached,
                "output tokens": usage.output,
            });
            (label::model(call.and_then(|call| call.model.as_deref())), "model", args)
        }
        Entry::Leaf(Leaf::Tool { step, tool }) => {
            let tool = session.steps.get(step).and_then(|step| step.tools.get(tool));
            let args = json!({
                "call": tool.map(|tool| &tool.call.id),
                "failed": tool.is_some_and(|tool| tool.call.is_failed()),
                "took ms": tool.map(|tool| (tool.to - tool.from).max(0)),
            });
            (label::tool(tool.map_or("", |tool| &tool.call.tool)), "tool", args)
        }
        Entry::Leaf(_) => ("waiting for the user".to_owned(), "user", json!({})),
    };
    json!({
        "ph": "X", "name": name, "cat": category, "ts": 0, "dur": 0, "pid": 0, "tid": 0,
        "args": args,
    })
}
