//! Operations as tools for an agent: with the names and arguments of its dialect.

use std::borrow::Cow;

use callstack_core::dialect::Dialect;
use serde_json::Value;

use crate::effect::EffectOutcome;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::flame;
use crate::operation::{Answer, Caller, CallerKind, HostKind, Operation, signature};
use crate::operations;
use crate::settings::Profile;

/// An operation as an agent calls it.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    operation: &'static Operation,
    dialect: Dialect,
    /// Whether all of its arguments are listed.
    full: bool,
    /// The other work of the agent's program.
    host: HostKind,
}

/// The tools that a profile lists to an agent whose host folds.
pub fn listed(profile: Profile) -> impl Iterator<Item = Tool> {
    listed_by(profile, HostKind::Folding)
}

/// The tools that a profile lists to an agent whose host is of that kind.
pub fn listed_by(profile: Profile, host: HostKind) -> impl Iterator<Item = Tool> {
    let dialect = profile.dialect();
    let operations: Vec<_> = match dialect {
        Dialect::Stack => operations::listed(profile).collect(),
        // Those that the first generation names, and the one that reaches the rest.
        Dialect::Flame => flame::TABLE
            .iter()
            .filter_map(|alias| operations::find(alias.operation))
            .chain(operations::find("stack"))
            .collect(),
    };
    let full = profile == Profile::Full;
    let tools =
        operations.into_iter().map(move |operation| Tool { operation, dialect, full, host });
    tools.filter(Tool::is_possible)
}

/// Every operation that is for agents, as a tool of the dialect, in the order of the table.
pub(crate) fn all(dialect: Dialect) -> impl Iterator<Item = Tool> {
    let operations = operations::callable_by(CallerKind::Agent);
    let host = HostKind::Folding;
    operations.map(move |operation| Tool { operation, dialect, full: false, host })
}

/// Every operation that an agent may ask a person for, as a tool of the dialect.
pub(crate) fn on_request(dialect: Dialect) -> impl Iterator<Item = Tool> {
    let host = HostKind::Folding;
    operations::on_request().map(move |operation| Tool { operation, dialect, full: false, host })
}

/// The tool of a name. A session that began in another dialect may still call a tool of that one.
pub fn find(dialect: Dialect, name: &str) -> Option<Tool> {
    let other = match dialect {
        Dialect::Stack => Dialect::Flame,
        Dialect::Flame => Dialect::Stack,
    };
    let known = |dialect| all(dialect).chain(on_request(dialect));
    known(dialect).chain(known(other)).find(|tool| tool.name() == name)
}

impl Tool {
    /// Returns its operation.
    pub fn operation(&self) -> &'static Operation {
        self.operation
    }

    /// The same for an agent whose host is of that kind.
    #[must_use]
    pub(crate) fn by(self, host: HostKind) -> Self {
        Self { host, ..self }
    }

    /// Whether the host does all that it asks for.
    pub(crate) fn is_possible(&self) -> bool {
        self.host == HostKind::Folding || !self.operation.needs_folding
    }

    /// Its name.
    pub fn name(&self) -> Cow<'static, str> {
        self.dialect.tool(self.operation.name)
    }

    /// Returns its description.
    pub fn summary(&self) -> Cow<'static, str> {
        match self.dialect {
            Dialect::Stack if self.host == HostKind::Calling => {
                Cow::Borrowed(self.operation.summary_unfolded)
            }
            Dialect::Stack => Cow::Borrowed(self.operation.summary),
            Dialect::Flame => flame::of(self.operation).summary(self.operation),
        }
    }

    /// The schema of its arguments: an object with `properties` and `required`.
    pub fn parameters(&self) -> Value {
        match self.dialect {
            Dialect::Stack if self.host == HostKind::Calling => {
                (self.operation.unfolded)(self.full)
            }
            Dialect::Stack if self.full => (self.operation.parameters)(),
            Dialect::Stack => (self.operation.brief)(),
            Dialect::Flame => flame::of(self.operation).parameters(self.operation),
        }
    }

    /// Returns its parameters in one line: `goal, [parentSessionID]`.
    pub fn signature(&self) -> String {
        signature(&self.parameters())
    }

    /// Returns the answer of a call whose work was done before; none where it is still to be done.
    pub fn done_before(
        &self,
        engine: &Engine,
        caller: &Caller,
        arguments: &Value,
    ) -> Result<Option<Answer>, EngineError> {
        let answer = operations::repeated::done_before(engine, caller, self, arguments)?;
        Ok(if caller.reveal { answer } else { answer.map(Answer::masked) })
    }

    /// Carries it out with arguments as JSON.
    pub fn run(
        &self,
        engine: &Engine,
        caller: &Caller,
        arguments: Value,
    ) -> Result<Answer, EngineError> {
        self.translated(arguments)
            .and_then(|arguments| self.operation.run(engine, caller, arguments))
            .map_err(|error| error.spoken(self.dialect))
    }

    /// Arguments as its operation takes them.
    pub(crate) fn translated(&self, arguments: Value) -> Result<Value, EngineError> {
        match self.dialect {
            Dialect::Stack => Ok(arguments),
            Dialect::Flame => {
                let alias = flame::of(self.operation);
                alias.translated(self.operation, &self.name(), arguments)
            }
        }
    }

    /// Continues after the effect that its last answer asked for.
    pub fn resume(
        &self,
        engine: &Engine,
        caller: &Caller,
        token: Value,
        outcome: EffectOutcome,
    ) -> Result<Answer, EngineError> {
        let answer = self.operation.resume(engine, caller, token, outcome);
        answer.map_err(|error| error.spoken(self.dialect))
    }
}
