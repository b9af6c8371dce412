//! The long-lived process behind the plugin: reads requests, asks the engine, answers in order.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, Write};

use callstack_core::frame::FrameNum;
use callstack_core::log_line::LogLine;
use callstack_core::transcript::Anchor;
use callstack_engine::effect::{Next, Reaction};
use callstack_engine::operation::{Answer, Caller};
use callstack_engine::{
    ChildSession, CompactionPrompt, Engine, EngineError, Kind, SlashRequest, SyncAnswer,
    SyncRequest, SystemRequest, UserMessage, tools,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::asked::{Asked, shown};
use super::decode::written;
use super::lines::{self, LONGEST, Line};
use super::wire::{
    Command, Continue, Event, Message, OfSession, Outcome, PROTOCOL, Purpose, Response, Sync, Tool,
};

/// The name of this host in the store.
pub const HOST: &str = "opencode";

/// How OpenCode's request for a session's title begins. It is made for the user's list of sessions,
/// and frames mean nothing to it.
const TITLE_PROMPT: &str = "You are a title generator";

/// Answers requests from `input` on `output` until the input ends. `log` gets a line for what a plugin
/// is not told, such as a notification that failed.
pub fn serve(
    engine: &Result<Engine, EngineError>,
    version: &str,
    mut input: impl BufRead,
    mut output: impl Write,
    mut log: impl FnMut(&str),
) -> std::io::Result<()> {
    let mut server = Server { engine, version, removed: HashMap::new() };
    while let Some(line) = lines::next(&mut input, LONGEST)? {
        let line = match line {
            Line::Whole(line) if line.trim_ascii().is_empty() => continue,
            Line::Whole(line) => line,
            Line::TooLong { head, bytes } => {
                let refusal = too_long(bytes);
                if let (Ok(engine), Some(session)) = (engine, lines::session_of(&head)) {
                    engine.not_taken(&session);
                }
                refuse(engine, &head, refusal, &mut output, &mut log)?;
                continue;
            }
        };
        let mut mended = String::new();
        let request = match lines::request(&line, &mut mended) {
            Ok(request) => request,
            Err(error) => {
                let refusal = EngineError::invalid(
                    format!("a request can't be read: {error}"),
                    "Install the plugin of this version with `callstack init opencode`.",
                );
                refuse(engine, &line, refusal, &mut output, &mut log)?;
                continue;
            }
        };
        let outcome = server.answer(&request.method, request.params);
        if let (Ok(engine), Err(error)) = (engine, &outcome) {
            let line = LogLine::new("Hook failed").with("method", request.method.as_str());
            engine.tell_log(&line.with("why", error.sentence()));
        }
        match (request.id, outcome) {
            (Some(id), outcome) => respond(&mut output, id, outcome)?,
            (None, Err(error)) => log(&format!("{}: {}", request.method, error.sentence())),
            (None, Ok(_)) => {}
        }
    }
    if let Ok(engine) = engine {
        engine.sum_up_sessions();
    }
    Ok(())
}

/// Answers a line that is no request, if it says which one it was to be.
fn refuse(
    engine: &Result<Engine, EngineError>,
    line: &[u8],
    refusal: EngineError,
    output: &mut impl Write,
    log: &mut impl FnMut(&str),
) -> std::io::Result<()> {
    log(&refusal.message);
    if let Ok(engine) = engine {
        engine.tell_log(&LogLine::new("Request refused").with("why", refusal.message.as_str()));
    }
    match lines::id_of(line) {
        Some(id) => respond(output, id, Err(refusal)),
        None => Ok(()),
    }
}

fn too_long(bytes: u64) -> EngineError {
    EngineError::invalid(
        format!(
            "a request has {} MB, and {} MB are taken at most",
            bytes.div_ceil(1 << 20),
            LONGEST >> 20
        ),
        "The session goes on without frames until its messages are shorter: compact it.",
    )
}

fn respond(
    output: &mut impl Write,
    id: u64,
    outcome: Result<Value, EngineError>,
) -> std::io::Result<()> {
    let outcome = match outcome {
        Ok(result) => Outcome::Result(result),
        Err(error) => {
            Outcome::Error { kind: error.kind.as_str(), message: error.message, hint: error.hint }
        }
    };
    serde_json::to_writer(&mut *output, &Response { id, outcome })?;
    output.write_all(b"\n")?;
    output.flush()
}

struct Server<'a> {
    /// A store that can't be used is told with every request, so that the plugin can say why.
    engine: &'a Result<Engine, EngineError>,
    version: &'a str,
    /// Messages that OpenCode removed for good, by session, until it says that an undo ended.
    removed: HashMap<String, HashSet<String>>,
}

impl Server<'_> {
    fn answer(&mut self, method: &str, params: Option<&RawValue>) -> Result<Value, EngineError> {
        let engine = self.engine.as_ref().map_err(Clone::clone)?;
        // What is to be stored waits until it can be.
        if method != "record" {
            engine.attend()?;
        }
        // The recording goes on, so that nothing is missing when it is on again.
        if !matches!(method, "hello" | "sync" | "record" | "command") && !engine.frame_mode()? {
            return self.unframed(engine, method, params);
        }
        let mut mended = String::new();
        match Asked::read(method, params, &mut mended)? {
            Asked::Hello => {
                let greeting = json!({
                    "protocol": PROTOCOL,
                    "version": self.version,
                    "tools": tool_list(engine)?,
                    "frames": engine.frame_mode()?,
                });
                Ok(with_reaction(engine, greeting, engine.wake()?))
            }
            Asked::Message(Message { session, id, text }) => {
                let host = HOST.to_owned();
                let told = UserMessage { session, host, text };
                engine.user_message(&told)?;
                if let Some(message) = id {
                    engine.record_files_at(&told.session, &message)?;
                }
                Ok(json!({}))
            }
            Asked::Command(asked) => command(engine, asked),
            Asked::Sync(asked) => sync(engine, asked),
            Asked::System(system) => {
                if system.head.starts_with(TITLE_PROMPT) {
                    return Ok(json!({ "texts": [] }));
                }
                let request =
                    SystemRequest { session: system.session, limit: system.model.context };
                Ok(json!({ "texts": engine.system(&request)? }))
            }
            Asked::Compacting(OfSession { session }) => {
                let CompactionPrompt { context, prompt } = engine.compacting(&session)?;
                Ok(json!({ "context": context, "prompt": prompt }))
            }
            Asked::Tool(call) => {
                tool(engine, call, |tool, caller, args| tool.run(engine, caller, args))
            }
            Asked::Continue(Continue { token, outcome, tool: call }) => {
                tool(engine, call, |tool, caller, _| tool.resume(engine, caller, token, outcome))
            }
            Asked::After(after) => {
                let files = written(&after.args, &after.metadata);
                match &after.call {
                    Some(call) => engine.files_written_by(&after.session, call, &files)?,
                    None => engine.files_written(&after.session, &files)?,
                }
                Ok(json!({}))
            }
            Asked::Record(record) => {
                engine.record(&record.session, shown(record.messages, engine.project()))?;
                Ok(json!({}))
            }
            Asked::Event(event) => {
                let reaction = self.event(engine, event)?;
                Ok(with_reaction(engine, json!({}), reaction))
            }
            Asked::Wake => Ok(with_reaction(engine, json!({}), engine.wake()?)),
        }
    }

    /// Answers while frame mode is off: as if there were no callstack.
    fn unframed(
        &mut self,
        engine: &Engine,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Value, EngineError> {
        Ok(match method {
            "message" => json!({ "frames": false }),
            "system" => json!({ "texts": [] }),
            "compacting" => json!({ "context": [] }),
            "tool" | "continue" => refused(&callstack_engine::frame_mode_is_off()),
            "event" => {
                let mut mended = String::new();
                if let Asked::Event(event) = Asked::read(method, params, &mut mended)?
                    && let (Some(session), "session.deleted") =
                        (event.properties.session, event.kind.as_str())
                {
                    self.removed.remove(&session);
                    engine.forget(&session);
                }
                json!({})
            }
            _ => json!({}),
        })
    }

    fn event(&mut self, engine: &Engine, event: Event) -> Result<Reaction, EngineError> {
        let Some(session) = event.properties.session else { return Ok(Reaction::default()) };
        let info = event.properties.info.unwrap_or_default();
        let mut reaction = Reaction::default();
        if let ("session.created" | "session.updated", Some(parent)) =
            (event.kind.as_str(), info.parent)
        {
            reaction = engine.child_seen(&ChildSession {
                session: session.clone(),
                host: HOST.to_owned(),
                parent,
                title: info.title,
            })?;
        }
        match event.kind.as_str() {
            "session.updated" => match info.revert {
                Some(revert) => {
                    self.removed.insert(session.clone(), HashSet::new());
                    engine.undone_from(&session, &revert.message)?;
                }
                None => {
                    // Only a session that was seen undoing can be redone.
                    if let Some(removed) = self.removed.remove(&session) {
                        engine.redone(&session, &removed)?;
                    }
                }
            },
            "message.removed" => {
                if let (Some(removed), Some(message)) =
                    (self.removed.get_mut(&session), event.properties.message)
                {
                    removed.insert(message);
                }
            }
            "session.error" => {
                let error = event.properties.error.unwrap_or_default();
                engine.session_failed(&session, error.into())?;
            }
            "session.idle" => {
                reaction = engine.compaction_over(&session)?;
                // One that is about to be told to go on is not silent.
                if reaction.effects.is_empty() {
                    reaction = engine.session_idle(&session)?;
                }
            }
            "session.deleted" => {
                engine.compaction_gone(&session)?;
                self.removed.remove(&session);
                engine.session_deleted(&session)?;
            }
            _ => {}
        }
        Ok(reaction)
    }
}

fn tool_list(engine: &Engine) -> Result<Vec<Value>, EngineError> {
    let listed = tools::listed(engine.current_settings()?.profile);
    Ok(listed
        .map(|tool| {
            json!({
                "name": tool.name(),
                "description": tool.summary(),
                "parameters": tool.parameters(),
            })
        })
        .collect())
}

fn sync(engine: &Engine, sync: Sync<'_>) -> Result<Value, EngineError> {
    let answer = engine.sync(SyncRequest {
        session: sync.session,
        host: HOST.to_owned(),
        compacting: sync.purpose == Purpose::Compaction,
        keep: sync.keep,
        shown: shown(sync.messages, engine.project()),
        ops: sync.ops,
        applied: sync.applied,
        newest: sync.newest,
    })?;
    Ok(match answer {
        SyncAnswer::All => json!({ "need": "all" }),
        SyncAnswer::Ops { serial, keep, ops } => {
            let trouble = engine.recording_failure().map_or_else(
                || engine.take_notices(),
                |failure| format!("messages can't be stored: {}", failure.sentence()),
            );
            json!({ "serial": serial, "keep": keep, "ops": ops, "trouble": trouble })
        }
    })
}

/// What the plugin is to do after an answer, and when it is to ask again.
fn with_reaction(engine: &Engine, mut answer: Value, reaction: Reaction) -> Value {
    let Reaction { effects, wake_at } = reaction;
    if !effects.is_empty() {
        answer["effects"] = json!(effects);
    }
    if let Some(at) = wake_at {
        answer["wake"] = at.saturating_sub(engine.world().now()).max(0).into();
    }
    answer
}

fn tool(
    engine: &Engine,
    tool: Tool,
    run: impl FnOnce(&tools::Tool, &Caller, Value) -> Result<Answer, EngineError>,
) -> Result<Value, EngineError> {
    let caller = Caller {
        session: tool.session,
        host: HOST.to_owned(),
        anchor: Anchor { message: tool.message, call: tool.call },
        agent: tool.agent,
        performs: true,
    };
    let Some(found) = tools::find(engine.dialect(), &tool.name) else {
        return Err(EngineError::invalid(
            format!("there is no tool `{}`", tool.name),
            "Restart OpenCode after an update of callstack.",
        ));
    };
    let before = if tool.again { found.done_before(engine, &caller, &tool.args)? } else { None };
    let answer = before.map_or_else(|| run(&found, &caller, tool.args), Ok);
    match answer {
        Ok(Answer { next: Some(Next { effect, token }), .. }) => {
            Ok(json!({ "next": effect, "token": token }))
        }
        Ok(answer) => {
            let marks = marks(engine, &answer)?;
            let result = json!({
                "output": answer.text,
                "title": answer.title,
                "metadata": { "callstack": marks },
            });
            let reaction = Reaction { effects: answer.effects, wake_at: None };
            Ok(with_reaction(engine, result, reaction))
        }
        // A refusal is an answer that the model can act on; a store that fails is the plugin's to tell.
        Err(error) if error.kind != Kind::Unavailable && error.kind != Kind::Internal => {
            Ok(refused(&error))
        }
        Err(error) => Err(error),
    }
}

fn refused(error: &EngineError) -> Value {
    json!({
        "output": format!("Error: {}", error.sentence()),
        "title": "refused",
        "metadata": { "callstack": { "error": error.kind.as_str() } },
    })
}

fn command(engine: &Engine, command: Command) -> Result<Value, EngineError> {
    let request = SlashRequest {
        session: command.session,
        host: HOST.to_owned(),
        message: command.message,
        name: command.name,
        arguments: command.arguments,
        text: command.text,
    };
    let answer = request.carry_out(engine)?;
    Ok(answer.map_or(json!({ "ours": false }), |answer| {
        json!({
            "ours": true,
            "words": answer.words,
            "note": answer.note,
            "shown": answer.shown,
            "frames": engine.frame_mode().unwrap_or(true),
        })
    }))
}

/// What the call's part in the transcript carries, so that a fork and a plugin without this process
/// can tell what it did.
fn marks(engine: &Engine, answer: &Answer) -> Result<Value, EngineError> {
    let id = |num: Option<FrameNum>| num.map(|num| engine.frame(num).map(|it| it.id)).transpose();
    let mut marks = json!({});
    if let Some(opened) = id(answer.opened)? {
        marks["opened"] = opened.into();
    }
    if answer.closed.is_some() {
        marks["closed"] = true.into();
    }
    if let Some(returned) = id(answer.returned)? {
        marks["returned"] = returned.into();
    }
    Ok(marks)
}
