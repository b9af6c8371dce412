//! Operations of the machine: they are declared as those of a project are, and need no store, or work on stores that no
//! engine can open. All of them are for a terminal.

pub(crate) mod doctor;
pub(crate) mod file;
pub(crate) mod import;
pub(crate) mod presets;
pub(crate) mod replay;
pub(crate) mod traces;
pub(crate) mod trust;
pub(crate) mod user_settings;

use std::cell::{RefCell, RefMut};

use callstack_core::secrets::mask;
use callstack_engine::operation::{Answer, Caller, Context, Operate, Operation};
use callstack_engine::{EngineError, Kind};
use serde::de::DeserializeOwned;

use crate::error::CommandError;
use crate::project::StartFolder;
use crate::reporter::Reporter;
use import::usual::Found;

/// Every operation of the machine.
pub(crate) const TABLE: &[Operation<Machine>] = &[
    Operation::of::<user_settings::UserSettings>(),
    Operation::of::<trust::Trust>(),
    Operation::of::<doctor::Doctor>(),
    Operation::of::<import::Import>(),
    Operation::of::<replay::Measure>(),
    Operation::of::<presets::Presets>(),
    Operation::of::<traces::Traces>(),
];

/// The machine as a command finds it: its folders, and who is told how long work goes on. An operation prints nothing
/// and asks nobody: its answer says what there is to agree to, and a second call carries it out.
#[derive(Debug)]
pub(crate) struct Machine {
    /// The folder in which the command was started.
    pub(crate) place: StartFolder,
    /// The sessions that an answer has named, for the call that a person agrees to.
    pub(crate) named: RefCell<Option<Found>>,
    reporter: RefCell<Masking>,
}

impl Machine {
    pub(crate) fn new(place: StartFolder, reporter: impl Reporter + 'static) -> Self {
        let reporter = RefCell::new(Masking(Box::new(reporter)));
        Self { place, named: RefCell::new(None), reporter }
    }

    /// Returns who is told how long work goes on.
    pub(crate) fn reporter(&self) -> RefMut<'_, Masking> {
        self.reporter.borrow_mut()
    }
}

/// Masks secrets of known forms in reports, as they are masked in answers.
#[derive(Debug)]
pub(crate) struct Masking(Box<dyn Reporter>);

impl Reporter for Masking {
    fn progress(&mut self, line: &str) {
        self.0.progress(&mask(line));
    }

    fn remark(&mut self, text: &str) {
        self.0.remark(&mask(text));
    }
}

impl Context for Machine {
    fn carry_out(
        &self,
        _: &Caller,
        work: impl FnOnce(&Self) -> Result<Answer, EngineError>,
    ) -> Result<Answer, EngineError> {
        work(self)
    }
}

/// Carries an operation of the machine out for the person at the terminal, and returns the data of its answer, with
/// secrets of known forms masked.
pub(crate) fn on_machine<O>(machine: &Machine, params: O::Params) -> Result<O::Output, CommandError>
where
    O: Operate<Machine>,
    O::Output: DeserializeOwned,
{
    let operation = TABLE.iter().find(|it| it.name == O::NAME).ok_or_else(|| {
        EngineError::new(Kind::Internal, format!("`{}` stands in no table", O::NAME))
    })?;
    let caller = Caller::at_terminal(String::new(), None, false);
    let data = operation.call::<O>(machine, &caller, params)?.data;
    serde_json::from_value(data).map_err(CommandError::of_shape)
}

#[cfg(test)]
mod tests {
    use callstack_engine::operation::{CallerKind, PAGE};
    use callstack_engine::operations;
    use serde_json::json;

    use super::*;
    use crate::output::Output;

    #[test]
    fn operations_of_the_machine_are_for_a_terminal_alone() {
        let folder = tempfile::tempdir().unwrap();
        let place = StartFolder::of(Some(folder.path())).unwrap();
        let machine = Machine::new(place, Output::new(false));
        for operation in TABLE {
            let name = operation.name;
            assert!(operations::find(name).is_none(), "{name} stands in both tables");
            assert_eq!(operation.callers, [CallerKind::Terminal], "{name}");
            assert!(operation.summary.ends_with('.') && name.starts_with("stack_"), "{name}");
            for host in ["opencode", "mcp:client", PAGE] {
                let person = Caller::at_terminal("ses_1".to_owned(), None, false);
                let stranger = Caller { host: host.to_owned(), ..person };
                let refused = operation.run(&machine, &stranger, json!({})).unwrap_err();
                assert_eq!(refused.kind, Kind::NotFound);
                assert!(refused.message.starts_with(&format!("`{name}` is not for ")));
            }
        }
    }
}
