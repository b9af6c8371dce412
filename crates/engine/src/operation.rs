//! The type of an operation. The table of operations on a project is in `operations`; agents' tools, MCP, the HTTP API
//! and the pages of the reference are derived from it. Operations of the machine, which need no store, are declared in
//! the same way by the crate of the command line. Commands are written by hand, and call operations.

pub use crate::call::{Answer, Caller, CallerKind, HostKind, PAGE, Reply, TERMINAL};
use std::fmt::{self, Write as _};

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::effect::EffectOutcome;
use crate::engine::Engine;
use crate::error::{EngineError, Kind};
use crate::hint::Hint;
use crate::schema;

/// Whether an operation changes what is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The operation only reads.
    Read,
    /// The operation may change frames, data that is kept with them, or settings.
    Write,
}

/// The answer to a call that is repeated because its first answer did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeated {
    /// The operation runs again: it changes nothing, or the second change is the same as the first.
    Runs,
    /// The first answer was stored with the change, and is returned again.
    Stored,
    /// The answer is built again from the span that begins or ends at the call.
    Span,
}

/// Callers of an operation that anybody may carry out.
pub(crate) const EVERYBODY: &[CallerKind] =
    &[CallerKind::Agent, CallerKind::Terminal, CallerKind::Page];

/// Callers of an operation that is for people.
pub(crate) const PEOPLE: &[CallerKind] = &[CallerKind::Terminal, CallerKind::Page];
/// Callers of an operation that reaches beyond the project, or removes data for good.
pub const TERMINAL_ONLY: &[CallerKind] = &[CallerKind::Terminal];

/// The object that operations work on: the engine of a project, or the machine for those that need no store.
pub trait Context: 'static {
    /// Does the work of an operation for a caller, with what belongs around every call.
    fn carry_out(
        &self,
        caller: &Caller,
        work: impl FnOnce(&Self) -> Result<Answer, EngineError>,
    ) -> Result<Answer, EngineError>;
}

impl Context for Engine {
    fn carry_out(
        &self,
        caller: &Caller,
        work: impl FnOnce(&Self) -> Result<Answer, EngineError>,
    ) -> Result<Answer, EngineError> {
        let _outside = caller.is_outside().then(|| self.kernel.env().outside.enter());
        let answer = work(self)?;
        self.files.record_files_of(&answer);
        Ok(answer)
    }
}

/// An operation, declared by a type of its own.
pub trait Operate<C: Context = Engine> {
    /// The name of the tool.
    const NAME: &'static str;
    /// The tool's description.
    const SUMMARY: &'static str;
    /// The tool's description for a host that folds nothing, if it differs.
    const SUMMARY_UNFOLDED: &'static str = Self::SUMMARY;
    /// Whether the default profile lists it.
    const LISTED: bool = false;
    /// Whether it changes what is stored.
    const ACCESS: Access;
    /// The way in which a repeated call is answered.
    const REPEATED: Repeated;
    /// The callers that it is for.
    const CALLERS: &'static [CallerKind];
    /// Whether an agent, although not among the callers, may call it to ask a person for it. The call changes nothing.
    const ON_REQUEST: bool = false;
    /// Whether it needs a host that is [`HostKind::Folding`]. It is hidden from other hosts, and refused to them.
    const NEEDS_FOLDING: bool = false;
    /// The names of the arguments that only a person at a terminal may give. Nobody else is listed them.
    const TERMINAL_ARGUMENTS: &'static [&'static str] = &[];
    /// Its arguments.
    type Params: DeserializeOwned + JsonSchema;
    /// The data of its answer.
    type Output: Serialize + JsonSchema;

    /// Carries the operation out.
    fn run(
        context: &C,
        caller: &Caller,
        params: Self::Params,
    ) -> Result<Reply<Self::Output>, EngineError>;

    /// Continues a call that had to wait for an effect. By default fails with [`Kind::Internal`], for operations that
    /// wait for no effect.
    fn resume(
        _context: &C,
        _caller: &Caller,
        _token: Value,
        _outcome: EffectOutcome,
    ) -> Result<Reply<Self::Output>, EngineError> {
        Err(EngineError::new(Kind::Internal, format!("`{}` waits for nothing", Self::NAME)))
    }
}

/// One entry of the table.
pub struct Operation<C: Context = Engine> {
    /// The name of the tool.
    pub name: &'static str,
    /// The tool's description.
    pub summary: &'static str,
    /// The tool's description for a host that folds nothing.
    pub(crate) summary_unfolded: &'static str,
    /// Whether the default profile lists it.
    pub listed: bool,
    /// Whether it changes what is stored.
    pub access: Access,
    /// The way in which a repeated call is answered.
    pub repeated: Repeated,
    /// The callers that it is for.
    pub callers: &'static [CallerKind],
    /// Whether an agent may call it to ask a person for it.
    pub on_request: bool,
    /// Whether it needs a host that is [`HostKind::Folding`]. It is hidden from other hosts, and refused to them.
    pub(crate) needs_folding: bool,
    /// The names of the arguments that only a person at a terminal may give.
    pub terminal_arguments: &'static [&'static str],
    /// The schema of its arguments, with those for a terminal alone.
    pub at_terminal: fn() -> Value,
    /// The schema of its arguments: an object with `properties` and `required`.
    pub parameters: fn() -> Value,
    /// The schema of its arguments, without those that only the profile `full` lists.
    pub brief: fn() -> Value,
    /// The schema of its answer's data, with its definitions; the data of a cancelled call are null.
    pub output: fn() -> Value,
    /// The schema of the arguments that have a meaning where the host folds nothing: with `full` all of these, else
    /// without those that only the profile `full` lists.
    pub(crate) unfolded: fn(full: bool) -> Value,
    run: fn(&C, &Caller, Value) -> Result<Answer, EngineError>,
    resume: fn(&C, &Caller, Value, EffectOutcome) -> Result<Answer, EngineError>,
}

impl<C: Context> fmt::Debug for Operation<C> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Operation").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<C: Context> Operation<C> {
    /// Returns the entry of an operation.
    pub const fn of<O: Operate<C>>() -> Self {
        Self {
            name: O::NAME,
            summary: O::SUMMARY,
            summary_unfolded: O::SUMMARY_UNFOLDED,
            needs_folding: O::NEEDS_FOLDING,
            listed: O::LISTED,
            access: O::ACCESS,
            repeated: O::REPEATED,
            callers: O::CALLERS,
            on_request: O::ON_REQUEST,
            terminal_arguments: O::TERMINAL_ARGUMENTS,
            at_terminal: schema::plain::<O::Params>,
            parameters: || schema::without(schema::plain::<O::Params>(), O::TERMINAL_ARGUMENTS),
            brief: || schema::without(schema::brief::<O::Params>(), O::TERMINAL_ARGUMENTS),
            output: schema::output::<O::Output>,
            unfolded: |full| {
                schema::without(schema::unfolded::<O::Params>(full), O::TERMINAL_ARGUMENTS)
            },
            run: |context, caller, arguments| typed::<C, O>(context, caller, arguments)?.erased(),
            resume: |context, caller, token, outcome| {
                O::resume(context, caller, token, outcome)?.erased()
            },
        }
    }

    /// Whether callers of a kind may carry the operation out.
    pub fn is_for(&self, caller: CallerKind) -> bool {
        self.callers.contains(&caller)
    }

    /// Carries the operation out with arguments as JSON. Fails with [`Kind::NotFound`] if it is not for the caller, with
    /// [`Kind::Invalid`] if an argument is not, and with [`Kind::Conflict`] if it needs a host that folds and the
    /// caller's does not. Secrets are masked in the answer, and in an error, unless the caller may see them.
    pub fn run(
        &self,
        context: &C,
        caller: &Caller,
        arguments: Value,
    ) -> Result<Answer, EngineError> {
        self.check_caller(caller)?;
        self.check_arguments(caller.kind(), &arguments)?;
        if self.needs_folding && caller.host_kind() == HostKind::Calling {
            return Err(unfolded(self.name));
        }
        let work = |context: &C| (self.run)(context, caller, arguments);
        masked_for(caller, context.carry_out(caller, work))
    }

    /// Carries out the operation, which must be `O`, with typed parameters instead of the JSON that [`Operation::run`]
    /// takes: JSON cannot represent every path that a command line can contain.
    pub fn call<O: Operate<C>>(
        &self,
        context: &C,
        caller: &Caller,
        params: O::Params,
    ) -> Result<Answer, EngineError> {
        self.check_caller(caller)?;
        let work = |context: &C| O::run(context, caller, params)?.erased();
        masked_for(caller, context.carry_out(caller, work))
    }

    /// Continues a call whose answer asked for an effect, with the outcome of that effect. Fails with
    /// [`Kind::NotFound`] if the operation is not for the caller.
    pub fn resume(
        &self,
        context: &C,
        caller: &Caller,
        token: Value,
        outcome: EffectOutcome,
    ) -> Result<Answer, EngineError> {
        self.check_caller(caller)?;
        let work = |context: &C| (self.resume)(context, caller, token, outcome);
        masked_for(caller, context.carry_out(caller, work))
    }

    /// Fails with [`Kind::NotFound`] if the operation is not for the caller, who may not ask for it either.
    fn check_caller(&self, caller: &Caller) -> Result<(), EngineError> {
        let kind = caller.kind();
        if self.is_for(kind) || (self.on_request && kind == CallerKind::Agent) {
            return Ok(());
        }
        Err(not_for(self.name, kind))
    }

    /// Fails with [`Kind::Invalid`] if an argument is for terminals only and the caller is not a terminal.
    fn check_arguments(&self, caller: CallerKind, arguments: &Value) -> Result<(), EngineError> {
        let mut refused = self.terminal_arguments.iter();
        let refused = refused.find(|name| arguments.get(name).is_some());
        match refused.filter(|_| caller != CallerKind::Terminal) {
            Some(name) => Err(EngineError::new(
                Kind::Invalid,
                format!("`{name}` of `{}` is for a terminal alone", self.name),
            )
            .with_hint(format!("It takes: {}.", takes(&(self.brief)())))),
            None => Ok(()),
        }
    }

    /// Returns the names of the arguments in one line, optional ones in brackets: `title, successCriteria, [in]`.
    pub fn signature(&self) -> String {
        signature(&(self.brief)())
    }
}

/// Returns the refusal of an operation that is not for a kind of callers.
pub(crate) fn not_for(operation: &str, caller: CallerKind) -> EngineError {
    let (who, hint) = match caller {
        CallerKind::Agent => ("an agent", "A person carries it out at a terminal."),
        CallerKind::Terminal => ("a terminal", "It is for agents."),
        CallerKind::Page => ("a page", "Carry it out at a terminal."),
    };
    EngineError::new(Kind::NotFound, format!("`{operation}` is not for {who}")).with_hint(hint)
}

/// Masks secrets in an answer or an error, unless the caller may see them.
fn masked_for(caller: &Caller, answer: Result<Answer, EngineError>) -> Result<Answer, EngineError> {
    if caller.reveal {
        return answer;
    }
    answer.map(Answer::masked).map_err(EngineError::masked)
}

/// Returns the refusal of an operation, or of an argument, that needs a host that folds.
pub(crate) fn unfolded(what: &str) -> EngineError {
    EngineError::new(Kind::Conflict, format!(
            "`{what}` needs a program that lets callstack compact its conversations; this one does not"
        )).with_hint(Hint::from("Nothing was changed. Say what matters in the results of ")
        .and("stack_frame_pop").then(", or with ").and("stack_add_decision").then("."))
}

/// Returns the names of an object schema's properties in one line, optional ones in brackets.
pub(crate) fn signature(schema: &Value) -> String {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut line = String::new();
    for name in schema["properties"].as_object().into_iter().flat_map(|it| it.keys()) {
        let separator = if line.is_empty() { "" } else { ", " };
        // Writing to a string can't fail.
        let _ = if required.contains(&name.as_str()) {
            write!(line, "{separator}{name}")
        } else {
            write!(line, "{separator}[{name}]")
        };
    }
    line
}

/// Returns the names of an object schema's properties as [`signature`] does, or `no arguments`.
pub(crate) fn takes(schema: &Value) -> String {
    let signature = signature(schema);
    if signature.is_empty() { "no arguments".to_owned() } else { signature }
}

/// Carries an operation out with arguments as JSON. Fails with [`Kind::Invalid`] if they are not its parameters.
pub(crate) fn typed<C: Context, O: Operate<C>>(
    context: &C,
    caller: &Caller,
    arguments: Value,
) -> Result<Reply<O::Output>, EngineError> {
    let arguments = if arguments.is_null() { json!({}) } else { arguments };
    check_lengths(&arguments)?;
    let params = serde_json::from_value(arguments).map_err(|error| {
        let hidden = match caller.kind() {
            CallerKind::Terminal => &[],
            CallerKind::Agent | CallerKind::Page => O::TERMINAL_ARGUMENTS,
        };
        let schema = schema::without(schema::brief::<O::Params>(), hidden);
        EngineError::new(
            Kind::Invalid,
            format!("the arguments of `{}` are not right: {error}", O::NAME),
        )
        .with_hint(format!("It takes: {}.", takes(&schema)))
        .caused_by(error)
    })?;
    O::run(context, caller, params)
}

/// The greatest length of one text among arguments, in bytes. Every text may become part of a model's context, and a
/// longer one would leave room for nothing else.
const LONGEST: usize = 256 * 1024;

/// Fails with [`Kind::Limit`] if a text among arguments is longer than [`LONGEST`].
pub(crate) fn check_lengths(arguments: &Value) -> Result<(), EngineError> {
    let Some((name, bytes)) = longest(arguments).filter(|(_, bytes)| *bytes > LONGEST) else {
        return Ok(());
    };
    Err(EngineError::new(
        Kind::Limit,
        format!("`{name}` is {bytes} bytes long, and the limit is {LONGEST}"),
    )
    .with_hint(
        Hint::from("Nothing was changed. Put the text into a file, record that with ")
            .and("stack_add_artifact")
            .then(", and give its essence here."),
    ))
}

/// Returns the name of the argument with the longest text, and the length of that text in bytes.
fn longest(arguments: &Value) -> Option<(&str, usize)> {
    fn within(value: &Value) -> usize {
        match value {
            Value::String(text) => text.len(),
            Value::Array(values) => values.iter().map(within).max().unwrap_or(0),
            Value::Object(fields) => fields.values().map(within).max().unwrap_or(0),
            _ => 0,
        }
    }
    let fields = arguments.as_object()?.iter();
    fields.map(|(name, value)| (name.as_str(), within(value))).max_by_key(|(_, bytes)| *bytes)
}
