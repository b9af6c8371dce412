//! The methods: the parameters go to the engine, and its result becomes the answer.

use callstack_core::frame::FrameNum;
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
use super::wire::{Command, Continue, Message, OfSession, Purpose, Sync, Tool, VERSION};
use super::{Host, SessionEvent};

pub(super) struct Server<'a, H> {
    pub(super) host: H,
    /// The engine, or why the store can't be used, which is the answer to every request.
    engine: &'a Result<Engine, EngineError>,
    version: &'a str,
}

impl<'a, H: Host> Server<'a, H> {
    pub(super) fn new(host: H, engine: &'a Result<Engine, EngineError>, version: &'a str) -> Self {
        Self { host, engine, version }
    }

    pub(super) fn answer(
        &mut self,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Value, EngineError> {
        let engine = self.engine.as_ref().map_err(Clone::clone)?;
        // Messages wait until the store can take them.
        if method != "record" {
            engine.attend()?;
        }
        // Messages are still recorded, so that none is missing when frame mode is on again.
        if !matches!(method, "hello" | "sync" | "record" | "command") && !engine.frame_mode()? {
            return self.unframed(engine, method, params);
        }
        let mut mended = String::new();
        match Asked::read(&self.host, method, params, &mut mended)? {
            Asked::Hello => {
                let greeting = json!({
                    "protocol": VERSION,
                    "version": self.version,
                    "tools": tool_list(engine)?,
                    "frames": engine.frame_mode()?,
                });
                Ok(with_reaction(engine, greeting, engine.wake()?))
            }
            Asked::Message(Message { session, id, text }) => {
                let host = H::NAME.to_owned();
                let user_message = UserMessage { session, host, text };
                engine.user_message(&user_message)?;
                if let Some(message) = id {
                    engine.record_files_at(&user_message.session, &message)?;
                }
                Ok(json!({}))
            }
            Asked::Command(asked) => command::<H>(engine, asked),
            Asked::Sync(asked) => self.sync(engine, asked),
            Asked::System(system) => {
                if self.host.is_aside(&system.head) {
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
                tool::<H>(engine, call, |tool, caller, args| tool.run(engine, caller, args))
            }
            Asked::Continue(Continue { token, outcome, tool: call }) => {
                tool::<H>(engine, call, |tool, caller, _| {
                    tool.resume(engine, caller, token, outcome)
                })
            }
            Asked::After(after) => {
                let files = self.host.written(&after.args, &after.metadata);
                match &after.call {
                    Some(call) => engine.files_written_by(&after.session, call, &files)?,
                    None => engine.files_written(&after.session, &files)?,
                }
                Ok(json!({}))
            }
            Asked::Record(record) => {
                let shown = shown(&self.host, record.messages, engine.project());
                engine.record(&record.session, shown)?;
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
                let asked = Asked::read(&self.host, method, params, &mut mended)?;
                if let Asked::Event(event) = asked
                    && let Some(session) = self.host.deleted(event)
                {
                    engine.forget(&session);
                }
                json!({})
            }
            _ => json!({}),
        })
    }

    fn event(&mut self, engine: &Engine, event: H::Event) -> Result<Reaction, EngineError> {
        let mut reaction = Reaction::default();
        self.host.event(event, &mut |session, event| {
            if let Some(new) = happened::<H>(engine, session, event)? {
                reaction = new;
            }
            Ok(())
        })?;
        Ok(reaction)
    }

    fn sync(&self, engine: &Engine, sync: Sync<'_>) -> Result<Value, EngineError> {
        let answer = engine.sync(SyncRequest {
            session: sync.session,
            host: H::NAME.to_owned(),
            compacting: sync.purpose == Purpose::Compaction,
            keep: sync.keep,
            shown: shown(&self.host, sync.messages, engine.project()),
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
}

/// Passes on the events of a session. Returns the plugin's next actions, where these are requested.
fn happened<H: Host>(
    engine: &Engine,
    session: &str,
    event: SessionEvent,
) -> Result<Option<Reaction>, EngineError> {
    match event {
        SessionEvent::Child { parent, title } => {
            let (session, host) = (session.to_owned(), H::NAME.to_owned());
            return engine.child_seen(&ChildSession { session, host, parent, title }).map(Some);
        }
        SessionEvent::Undone { from } => engine.undone_from(session, &from)?,
        SessionEvent::Redone { removed } => engine.redone(session, &removed)?,
        SessionEvent::Failed(failure) => engine.session_failed(session, failure)?,
        SessionEvent::Idle => {
            let reaction = engine.compaction_over(session)?;
            // A session that is about to be prompted is not silent.
            if reaction.effects.is_empty() {
                return engine.session_idle(session).map(Some);
            }
            return Ok(Some(reaction));
        }
        SessionEvent::Deleted => {
            engine.compaction_gone(session)?;
            engine.session_deleted(session)?;
        }
    }
    Ok(None)
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

/// Adds the effects that the plugin performs after an answer, and the time of its next request.
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

fn tool<H: Host>(
    engine: &Engine,
    tool: Tool,
    run: impl FnOnce(&tools::Tool, &Caller, Value) -> Result<Answer, EngineError>,
) -> Result<Value, EngineError> {
    let caller = Caller {
        session: tool.session,
        host: H::NAME.to_owned(),
        anchor: Anchor { message: tool.message, call: tool.call },
        agent: tool.agent,
        performs: true,
        reveal: false,
        key: None,
    };
    let Some(found) = tools::find(engine.dialect(), &tool.name) else {
        return Err(EngineError::invalid(format!("there is no tool `{}`", tool.name), H::RESTART));
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
        // A refusal is an answer that the model can act on; the plugin reports a store that fails.
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

fn command<H: Host>(engine: &Engine, command: Command) -> Result<Value, EngineError> {
    let request = SlashRequest {
        session: command.session,
        host: H::NAME.to_owned(),
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

/// Returns the data that the call's part in the transcript carries, from which a fork, and a plugin without this
/// process, can see its effect.
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
