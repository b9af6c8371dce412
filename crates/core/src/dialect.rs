//! The two vocabularies of the specification: frames spoken of as `stack_…` tools with a title and
//! success criteria, or, as in its first generation, as `flame_…` tools with a goal.

use std::borrow::Cow;

/// The vocabulary of texts for an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub enum Dialect {
    /// `stack_frame_push`, title and success criteria, results, `<stack-context>`.
    #[default]
    Stack,
    /// `flame_push`, goal, summary, `<flame-context>`.
    Flame,
}

/// Tools whose names in the flame dialect follow no rule.
const EXCEPTIONS: [(&str, &str); 3] = [
    ("stack_config", "flame_subagent_config"),
    ("stack_stats", "flame_subagent_stats"),
    ("stack_autonomy", "flame_autonomy_config"),
];

/// Arguments of operations and their names in the flame dialect.
const ARGUMENTS: [(&str, &str); 3] =
    [("frame", "sessionID"), ("parent", "parentSessionID"), ("results", "summary")];

impl Dialect {
    /// Returns the name of an operation's tool, for instance `flame_push` for `stack_frame_push`.
    pub fn tool(self, operation: &str) -> Cow<'_, str> {
        if self == Self::Stack {
            return Cow::Borrowed(operation);
        }
        if let Some((_, name)) = EXCEPTIONS.iter().find(|(known, _)| *known == operation) {
            return Cow::Borrowed(name);
        }
        let rest = operation.strip_prefix("stack_frame_").or(operation.strip_prefix("stack_"));
        match rest {
            Some(rest) => Cow::Owned(format!("flame_{rest}")),
            None if operation == "stack" => Cow::Borrowed("flame"),
            None => Cow::Borrowed(operation),
        }
    }

    /// Returns the name of an operation's argument.
    pub fn argument(self, name: &str) -> &str {
        let renamed = match self {
            Self::Stack => None,
            Self::Flame => ARGUMENTS.iter().find(|(known, _)| *known == name),
        };
        renamed.map_or(name, |(_, renamed)| renamed)
    }

    /// Returns a text of ours in which every tool has its name in this dialect. The tool that reaches all others is
    /// only known where it stands as `` `stack` ``. Not for texts with words of a user or a model in them, which stay
    /// as they are.
    pub fn words(self, ours: &str) -> Cow<'_, str> {
        if self == Self::Stack || !ours.contains("stack") {
            return Cow::Borrowed(ours);
        }
        let ours = ours.replace("`stack`", "`flame`");
        let mut spoken = String::with_capacity(ours.len());
        let mut rest = ours.as_str();
        while let Some(at) = rest.find("stack_") {
            let (before, from) = rest.split_at(at);
            spoken.push_str(before);
            let is_name = |char: char| char.is_ascii_lowercase() || char == '_';
            let end = from.find(|char| !is_name(char)).unwrap_or(from.len());
            let (name, after) = from.split_at(end);
            let begins_word = !before.ends_with(|char: char| char.is_alphanumeric() || char == '_');
            spoken.push_str(&if begins_word { self.tool(name) } else { Cow::Borrowed(name) });
            rest = after;
        }
        spoken.push_str(rest);
        Cow::Owned(spoken)
    }

    /// Returns a text in which every tool that stands in it as code, such as `` `stack_tree` ``, has its name in this
    /// dialect.
    pub fn code(self, text: &str) -> Cow<'_, str> {
        if self == Self::Stack || !text.contains("`stack") {
            return Cow::Borrowed(text);
        }
        let mut is_code = false;
        let mut pieces = Vec::new();
        for piece in text.split('`') {
            let is_tool = is_code && (piece == "stack" || piece.starts_with("stack_"));
            pieces.push(if is_tool { self.tool(piece) } else { Cow::Borrowed(piece) });
            is_code = !is_code;
        }
        Cow::Owned(pieces.join("`"))
    }

    /// The tool that reaches every operation.
    pub const fn one_tool(self) -> &'static str {
        match self {
            Self::Stack => "stack",
            Self::Flame => "flame",
        }
    }

    /// Returns the name of a setting's variable, for instance `FLAME_LOG` for `STACK_LOG`. The one that chooses the
    /// dialect has the same name in both.
    pub fn variable(self, name: &str) -> Cow<'_, str> {
        match name.strip_prefix("STACK_").filter(|rest| *rest != "TOOLS" && self == Self::Flame) {
            Some(rest) => Cow::Owned(format!("FLAME_{rest}")),
            None => Cow::Borrowed(name),
        }
    }

    /// Returns a sentence that may begin with a setting's variable, with the name of the variable in this dialect.
    /// The rest may be words of others and stays.
    pub fn of_variable(self, sentence: &str) -> Cow<'_, str> {
        let end = sentence.find(' ').unwrap_or(sentence.len());
        let (name, rest) = sentence.split_at(end);
        match self.variable(name) {
            Cow::Borrowed(_) => Cow::Borrowed(sentence),
            Cow::Owned(name) => Cow::Owned(name + rest),
        }
    }

    /// The outermost element of a context.
    pub const fn context_element(self) -> &'static str {
        match self {
            Self::Stack => "stack-context",
            Self::Flame => "flame-context",
        }
    }

    /// Returns the beginning of a suggestion, which ends with `]`.
    pub const fn suggestion_mark(self) -> &'static str {
        match self {
            Self::Stack => "[STACK SUGGESTION: ",
            Self::Flame => "[FLAME SUGGESTION: ",
        }
    }

    /// Returns the prefix of a line of the log.
    pub const fn log_prefix(self) -> &'static str {
        match self {
            Self::Stack => "[stack]",
            Self::Flame => "[flame]",
        }
    }
}

#[cfg(test)]
#[path = "dialect_tests.rs"]
mod tests;
