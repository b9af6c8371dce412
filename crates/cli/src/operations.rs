//! Operations of the machine: they are declared as those of a project are, and need no store, or work on stores that no
//! engine can open. All of them are for a terminal.

pub(crate) mod doctor;
pub(crate) mod import;
pub(crate) mod presets;
pub(crate) mod replay;
pub(crate) mod trust;
pub(crate) mod user_settings;

use std::cell::{RefCell, RefMut};

use callstack_engine::operation::{Answer, Caller, Context, Operate, Operation};
use callstack_engine::{EngineError, Kind};
use serde::de::DeserializeOwned;

use crate::error::CommandError;
use crate::output::Output;
use crate::project::StartFolder;

/// Every operation of the machine.
pub(crate) const TABLE: &[Operation<Machine>] = &[
    Operation::of::<user_settings::UserSettings>(),
    Operation::of::<trust::Trust>(),
    Operation::of::<doctor::Doctor>(),
    Operation::of::<import::Import>(),
    Operation::of::<replay::Measure>(),
    Operation::of::<presets::Presets>(),
];

/// The machine as a command finds it: its folders, and the person at the terminal, to whom long work shows its
/// progress, and who is asked before it reads what the command did not name.
#[derive(Debug)]
pub(crate) struct Machine {
    /// The folder in which the command was started.
    pub(crate) place: StartFolder,
    terminal: RefCell<Output>,
}

impl Machine {
    pub(crate) fn new(place: StartFolder, output: &Output) -> Self {
        Self { place, terminal: RefCell::new(Output::new(output.json())) }
    }

    /// Returns the terminal, for progress, remarks and questions.
    pub(crate) fn terminal(&self) -> RefMut<'_, Output> {
        self.terminal.borrow_mut()
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
pub(crate) fn run<O>(machine: &Machine, params: O::Params) -> Result<O::Output, CommandError>
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

    #[test]
    fn operations_of_the_machine_are_for_a_terminal_alone() {
        let folder = tempfile::tempdir().unwrap();
        let place = StartFolder::of(Some(folder.path())).unwrap();
        let machine = Machine::new(place, &Output::new(false));
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
