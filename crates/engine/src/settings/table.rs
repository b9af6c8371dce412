//! The table of settings. Whatever names a setting is derived from it: reading, errors, the command
//! `callstack config` and the reference page.

use callstack_core::secrets::secrets;

use crate::error::{EngineError, Kind};

/// Every setting, in the company in which it is shown. A new one is a line here and a field of the group
/// that reads it.
pub const SETTINGS: &[(&str, &[Setting])] = &[
    (
        "What agents are given",
        &[
            setting(
                "STACK_FRAME_MODE",
                Values::Switch,
                "on",
                "Whether agents work in frames here. Off, OpenCode goes on as without callstack; what \
                 there is stays, and on again it continues.",
            ),
            setting(
                "STACK_TOOLS",
                Values::OneOf(&["default", "full", "flame"]),
                "default",
                "Which tools an agent is listed when it starts: the few that most work needs; all; or \
                 all under the names of the specification's first generation, whose FLAME_ variables \
                 are then read too.",
            ),
            setting(
                "STACK_CONTEXT_PLACEMENT",
                Values::OneOf(&["output", "system"]),
                "output",
                "Where the tree's XML goes: into the outputs of push and activate, so that what was \
                 sent stays as it was, or into the system prompt, made anew with every change.",
            ),
            setting(
                "STACK_FOLD_REASONING",
                Values::OneOf(&["strip", "wait"]),
                "strip",
                "What happens where a step pops and calls further tools: it is folded at once and goes \
                 without its reasoning, or it waits with the fold until the user has spoken again.",
            ),
            setting(
                "STACK_FRAME_SESSIONS",
                Values::OneOf(&["activate", "always", "never"]),
                "activate",
                "Which frames are worked on in sessions of their own: those that are activated, and \
                 with `always` those that are pushed, where a call does not say otherwise with `in`; or \
                 none at all.",
            ),
        ],
    ),
    (
        "What is written for others",
        &[
            setting(
                "STACK_ROLLBACK",
                Values::Switch,
                "on",
                "Whether the state of the files is recorded where a frame is pushed, activated or popped \
                 in a git work tree, so that `callstack rollback` can restore what it changed; with \
                 STACK_AUTONOMY_LEVEL at `auto` also where the user speaks and where a todo list is \
                 written, since a frame may turn out to have begun there. Your repository is only \
                 read; states are kept in your own state folder, without the content of untracked files \
                 over 64 MiB, or over 1 GiB together; those that no frame needs are dropped after \
                 two weeks. Where recording would take more than 2 s it is left for ten minutes.",
            )
            .off_in_project(),
            setting(
                "STACK_FILES",
                Values::Switch,
                "on",
                "Whether .opencode/stack/state.json and frames/*.json follow the tree, for other \
                 programs, with secrets masked. Only where the project has a folder .opencode.",
            )
            .off_in_project(),
            setting(
                "STACK_LOG",
                Values::Switch,
                "on",
                "Whether .callstack/callstack.log tells what is done: frames, contexts, subagents, \
                 compactions, suggestions. Secrets are masked in it.",
            ),
        ],
    ),
    (
        "What callstack does unasked",
        &[
            setting(
                "STACK_AUTONOMY_LEVEL",
                Values::OneOf(&["manual", "suggest", "auto"]),
                "suggest",
                "Nothing; suggest a push or a pop where going on looks wrong; or open and close frames \
                 too.",
            ),
            setting(
                "STACK_MASK_OUTPUTS",
                Values::OneOf(&["auto", "on", "off"]),
                "auto",
                "Whether tool outputs of work that goes on leave the requests once something newer replaced \
                 them, or where the context is nearly full, in batches that pay for the cache that they \
                 break: where frames open and close by themselves; always; or never.",
            ),
            setting(
                "STACK_PUSH_THRESHOLD",
                PERCENT,
                "70",
                "The confidence from which on a push is suggested.",
            ),
            setting(
                "STACK_POP_THRESHOLD",
                PERCENT,
                "70",
                "The confidence from which on a pop is suggested.",
            ),
            setting(
                "STACK_SUGGEST_IN_CONTEXT",
                Values::Switch,
                "on",
                "Whether the model is sent the suggestions.",
            ),
            setting(
                "STACK_ENABLED_HEURISTICS",
                Values::List,
                "all",
                "By what pushes and pops are suggested: failure_boundary, context_switch, complexity, \
                 duration, goal_completion, stagnation, context_overflow, or all.",
            ),
        ],
    ),
    (
        "Subagents: sessions that an agent starts for others",
        &[
            setting(
                "STACK_SUBAGENT_ENABLED",
                Values::Switch,
                "on",
                "Whether the sessions of subagents get frames.",
            ),
            setting(
                "STACK_SUBAGENT_MIN_DURATION",
                COUNT,
                "60000",
                "Milliseconds from which on such a session gets a frame whatever its title is.",
            ),
            setting("STACK_SUBAGENT_MIN_MESSAGES", COUNT, "3", "Messages from which on it does."),
            setting(
                "STACK_SUBAGENT_AUTO_COMPLETE",
                Values::Switch,
                "on",
                "Whether its frames end with it, or stay until somebody completes them.",
            ),
            setting(
                "STACK_SUBAGENT_IDLE_DELAY",
                COUNT,
                "5000",
                "Milliseconds for which it has to be silent until its frames end.",
            ),
            setting(
                "STACK_SUBAGENT_PATTERNS",
                Values::List,
                r"@.*subagent,subagent,\[Task\]",
                "Regular expressions, one of which its title matches to get a frame at once; none of \
                 them may contain a comma, and one that can't be read is skipped.",
            ),
        ],
    ),
    (
        "A model of your own that writes results where nobody gave any",
        &[
            setting(
                "STACK_SUMMARIZER_ADDRESS",
                Values::Address,
                "none",
                "Where it is: the base address of an API that speaks as OpenAI's or Anthropic's does. \
                 `callstack config summarizer` sets all of it at once.",
            )
            .of_user(),
            setting(
                "STACK_SUMMARIZER_FORMAT",
                Values::OneOf(&["auto", "openai", "anthropic"]),
                "auto",
                "How it is spoken to: as the address suggests, or with OpenAI's chat completions or \
                 Anthropic's messages.",
            )
            .of_user(),
            setting("STACK_SUMMARIZER_MODEL", Values::Word, "none", "The model's name there.")
                .of_user(),
            setting(
                "STACK_SUMMARIZER_KEY_ENV",
                Values::Variable,
                "STACK_SUMMARIZER_KEY",
                "The variable of the environment that holds its key. The key itself is never stored.",
            )
            .of_user(),
            setting(
                "STACK_SUMMARIZER_TIME_LIMIT",
                Values::Number { least: 1, most: 600_000 },
                "30000",
                "Milliseconds that it may take, retries included; then results are extracted without \
                 it.",
            )
            .of_user(),
            setting(
                "STACK_SUMMARIZER_RETRIES",
                Values::Number { least: 0, most: 10 },
                "2",
                "How often it is asked again when it is overloaded or can't be reached.",
            )
            .of_user(),
            setting(
                "STACK_SUMMARIZER_TOKENS",
                Values::Number { least: 100, most: 1_000_000 },
                "8000",
                "Tokens (estimated) of a frame's steps that it is told, the last ones; secrets are \
                 masked in them.",
            )
            .of_user(),
        ],
    ),
    (
        "Tokens of the context",
        &[
            setting(
                "STACK_TOKEN_BUDGET_TOTAL",
                TOKENS,
                "4000",
                "For all of it; only pins exceed it.",
            ),
            setting("STACK_TOKEN_BUDGET_ANCESTORS", TOKENS, "1500", "For the chain of ancestors."),
            setting("STACK_TOKEN_BUDGET_SIBLINGS", TOKENS, "1500", "For finished siblings."),
            setting(
                "STACK_TOKEN_BUDGET_CURRENT",
                TOKENS,
                "800",
                "For the open frame and what is planned below it.",
            ),
        ],
    ),
    (
        "Limits of the tree",
        &[
            setting(
                "STACK_LIMIT_DEPTH",
                COUNT,
                "24",
                "Frames above one another, the root included.",
            ),
            setting("STACK_LIMIT_CHILDREN", COUNT, "500", "Children of one frame."),
            setting(
                "STACK_LIMIT_LIVE_FRAMES",
                COUNT,
                "2000",
                "Frames in progress in the whole project.",
            ),
            setting(
                "STACK_LIMIT_LIVE_SESSIONS",
                COUNT,
                "32",
                "Sessions of their own that work on frames, in the whole project.",
            ),
            setting(
                "STACK_CONSOLIDATE_ABOVE",
                COUNT,
                "100",
                "How many children of a frame may have ended before one frame stands for all but the \
                 newest of them; 0 for any number.",
            ),
        ],
    ),
];

const TOKENS: Values = Values::Number { least: 1, most: 1_000_000 };
const PERCENT: Values = Values::Number { least: 0, most: 100 };
const COUNT: Values = Values::Number { least: 0, most: u32::MAX as u64 };

/// One setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name: the variable that sets it in the environment, and the key under which it is stored.
    pub name: &'static str,
    /// What it may be.
    pub values: Values,
    /// What it is unless somebody says otherwise, as it is written.
    pub default: &'static str,
    /// What it does.
    pub doc: &'static str,
    /// Who may set it.
    pub scope: Scope,
}

/// Who may set a setting. A store lies in its project, which may come from somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The user, and each project.
    Project,
    /// The user; a project may switch it off, and never on.
    OffInProject,
    /// The user alone: it names an address, or a variable with a key. A project may say `none` to it.
    User,
}

const fn setting(
    name: &'static str,
    values: Values,
    default: &'static str,
    doc: &'static str,
) -> Setting {
    Setting { name, values, default, doc, scope: Scope::Project }
}

impl Setting {
    const fn of_user(self) -> Self {
        Self { scope: Scope::User, ..self }
    }

    const fn off_in_project(self) -> Self {
        Self { scope: Scope::OffInProject, ..self }
    }

    /// Whether a value counts that is set in a project.
    pub fn counts_in_project(&self, value: &str) -> bool {
        match self.scope {
            Scope::Project => true,
            Scope::OffInProject => value == "off",
            Scope::User => value == NONE,
        }
    }
}

/// What a setting may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// `on` or `off`; the usual other words for these are understood.
    Switch,
    /// A whole number.
    Number {
        /// The smallest.
        least: u64,
        /// The largest.
        most: u64,
    },
    /// Texts with commas between them, or `none`.
    List,
    /// A text without white space, or `none`.
    Word,
    /// An address that begins with `http://` or `https://` and has no password in it, or `none`.
    Address,
    /// The name of a variable of the environment. What is none may be a secret in its place, and is not
    /// repeated.
    Variable,
}

const ON: [&str; 4] = ["on", "true", "yes", "1"];
const OFF: [&str; 4] = ["off", "false", "no", "0"];
/// An empty list or no word: an empty text is an unset variable.
pub(super) const NONE: &str = "none";

impl Values {
    /// What it may be, in a few words: `default or full`.
    pub fn told(&self) -> String {
        match self {
            Self::OneOf(words) => match words {
                [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
                words => words.concat(),
            },
            Self::Switch => "on or off".to_owned(),
            Self::Number { least, most } if *most >= u64::from(u32::MAX) => {
                format!("a whole number from {least} on")
            }
            Self::Number { least, most } => format!("a whole number from {least} to {most}"),
            Self::List => format!("texts with commas between them, or {NONE}"),
            Self::Word => format!("a text without white space, or {NONE}"),
            Self::Address => {
                format!("an address with http:// or https:// and without a key in it, or {NONE}")
            }
            Self::Variable => "the name of a variable of the environment".to_owned(),
        }
    }

    /// A value as it is kept, if it is one.
    fn canonical(&self, value: &str) -> Option<String> {
        let value = value.trim();
        let among = |words: &[&str]| {
            words.iter().find(|word| word.eq_ignore_ascii_case(value)).map(|it| (*it).to_owned())
        };
        match self {
            Self::OneOf(words) => among(words),
            Self::Switch if among(&ON).is_some() => Some("on".to_owned()),
            Self::Switch if among(&OFF).is_some() => Some("off".to_owned()),
            Self::Switch => None,
            Self::Number { least, most } => {
                let number = value.parse().ok().filter(|it| (*least..=*most).contains(it));
                number.map(|it| it.to_string())
            }
            Self::List | Self::Word | Self::Address if value.eq_ignore_ascii_case(NONE) => {
                Some(NONE.to_owned())
            }
            Self::List => {
                let texts: Vec<_> = parts(value).collect();
                (!texts.is_empty()).then(|| texts.join(","))
            }
            Self::Word => is_word(value).then(|| value.to_owned()),
            Self::Address => is_address(value).then(|| value.to_owned()),
            Self::Variable => is_variable(value).then(|| value.to_owned()),
        }
    }
}

fn is_word(value: &str) -> bool {
    !value.is_empty() && !value.contains(|char: char| char.is_whitespace() || char.is_control())
}

fn is_address(value: &str) -> bool {
    let rest = value.strip_prefix("https://").or_else(|| value.strip_prefix("http://"));
    let Some((host, _)) = rest.map(|rest| rest.split_once('/').unwrap_or((rest, ""))) else {
        return false;
    };
    // What stands before an `@` or behind a `?` is where keys are put.
    is_word(value) && !host.is_empty() && !value.contains(['@', '?', '#']) && !is_secret(value)
}

fn is_variable(value: &str) -> bool {
    let mut chars = value.chars();
    chars.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|char| char.is_ascii_alphanumeric() || char == '_')
        && !is_secret(value)
}

fn is_secret(value: &str) -> bool {
    !secrets(value).is_empty()
}

/// The texts of a list.
pub(super) fn parts(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(|part| !part.is_empty() && *part != NONE)
}

impl Setting {
    /// The setting of a name.
    pub fn find(name: &str) -> Option<&'static Self> {
        Self::all().find(|setting| setting.name.eq_ignore_ascii_case(name))
    }

    /// The setting of a name that this program itself names.
    pub(crate) fn named(name: &str) -> Result<&'static Self, EngineError> {
        Self::find(name).ok_or_else(|| EngineError {
            kind: Kind::Internal,
            message: format!("the setting {name} is not in the table of settings"),
            hint: None,
        })
    }

    /// Every setting.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        SETTINGS.iter().flat_map(|(_, settings)| settings.iter())
    }

    /// A value as it is kept; what is none is an error that names the setting and what it may be.
    pub fn read(&self, value: &str) -> Result<String, EngineError> {
        self.values.canonical(value).ok_or_else(|| {
            let hint = format!("It may be {}.", self.values.told());
            let fault = match self.values {
                Values::Variable => format!("{} is no such name", self.name),
                Values::Address if value.contains(['@', '?']) || is_secret(value) => {
                    format!("{} has a key in it", self.name)
                }
                _ => format!("{} is `{value}`", self.name),
            };
            EngineError::invalid(fault, hint)
        })
    }
}
