//! The next step that an error names.

use std::borrow::Cow;
use std::fmt;

use callstack_core::dialect::Dialect;
use callstack_core::secrets::mask;

/// The next step for whoever gets an error. It refers to operations by their names in the table; each surface replaces
/// these by what its readers use: a tool, a command, an address. What only a person at a terminal can do is given as a
/// command line to every reader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hint(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Words(Cow<'static, str>),
    Operation(&'static str),
    /// The arguments of `callstack`.
    Command(Cow<'static, str>),
}

impl Hint {
    /// Begins a hint with an operation.
    pub fn operation(name: &'static str) -> Self {
        Self::default().and(name)
    }

    /// Adds an operation.
    #[must_use]
    pub fn and(mut self, operation: &'static str) -> Self {
        self.0.push(Part::Operation(operation));
        self
    }

    /// Begins a hint with a command for a person at a terminal: the arguments of `callstack`.
    pub fn command(arguments: impl Into<Cow<'static, str>>) -> Self {
        Self(vec![Part::Command(arguments.into())])
    }

    /// Adds words, or another hint.
    #[must_use]
    pub fn then(mut self, more: impl Into<Self>) -> Self {
        self.0.extend(more.into().0);
        self
    }

    /// Returns the operations that it names.
    pub fn operations(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().filter_map(|part| match part {
            Part::Operation(name) => Some(*name),
            Part::Words(_) | Part::Command(_) => None,
        })
    }

    /// Returns the hint as text. `reach` returns the words by which the reader reaches an operation; they are marked
    /// as code.
    pub fn written(&self, reach: impl Fn(&'static str) -> Cow<'static, str>) -> String {
        let parts = self.0.iter().map(|part| match part {
            Part::Words(words) => Cow::Borrowed(words.as_ref()),
            Part::Operation(name) => Cow::Owned(format!("`{}`", reach(name))),
            Part::Command(arguments) => Cow::Owned(format!("`callstack {arguments}`")),
        });
        parts.collect()
    }

    /// The hint with operations as the tools of a dialect.
    pub(crate) fn spoken(self, dialect: Dialect) -> Self {
        match dialect {
            Dialect::Stack => self,
            Dialect::Flame => self.written(|name| dialect.tool(name)).into(),
        }
    }

    /// The hint with secrets of known forms masked.
    pub(crate) fn masked(self) -> Self {
        let parts = self.0.into_iter().map(|part| match part {
            Part::Words(words) => Part::Words(mask(&words).into_owned().into()),
            Part::Operation(name) => Part::Operation(name),
            Part::Command(arguments) => Part::Command(mask(&arguments).into_owned().into()),
        });
        Self(parts.collect())
    }
}

impl From<&'static str> for Hint {
    fn from(words: &'static str) -> Self {
        Self(vec![Part::Words(words.into())])
    }
}

impl From<String> for Hint {
    fn from(words: String) -> Self {
        Self(vec![Part::Words(words.into())])
    }
}

/// Writes operations as the tools of agents.
impl fmt::Display for Hint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.written(Into::into))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reader_gets_the_words_by_which_it_reaches_an_operation() {
        let title = "What `stack_tree` lists";
        let hint =
            Hint::from("Go to ").then(format!("\"{title}\" with ")).and("stack_navigate").then(".");
        assert_eq!(hint.to_string(), format!("Go to \"{title}\" with `stack_navigate`."));
        let command = hint.written(|name| format!("callstack {}", name.len()).into());
        assert_eq!(command, format!("Go to \"{title}\" with `callstack 14`."));
        assert_eq!(
            hint.clone().spoken(Dialect::Flame).to_string(),
            format!("Go to \"{title}\" with `flame_navigate`.")
        );
        assert_eq!(hint.operations().collect::<Vec<_>>(), ["stack_navigate"]);
    }

    #[test]
    fn a_command_is_the_same_for_each_reader() {
        let hint = Hint::command("doctor").then(" checks the store.");
        for shown in [hint.to_string(), hint.written(|_| "another way".into())] {
            assert_eq!(shown, "`callstack doctor` checks the store.");
        }
        assert_eq!(hint.clone().spoken(Dialect::Flame).to_string(), hint.to_string());
        assert_eq!(hint.operations().count(), 0);
    }
}
