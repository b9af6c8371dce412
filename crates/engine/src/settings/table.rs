//! The table of settings. Whatever names a setting is derived from it: reading, errors, the command
//! `callstack config` and the reference page.

use super::setting::{Setting, Values, setting};

/// Every setting, in the group in which it is shown. A new one is a line here and a field of the group that reads it.
pub const SETTINGS: &[(&str, &[Setting])] = &[
    (
        "What agents are given",
        &[
            setting(
                "STACK_FRAME_MODE",
                Values::Switch,
                "on",
                "Whether agents work in frames here. Off, OpenCode goes on as without callstack; \
                 what there is stays, and on again it continues.",
            )
            .meaning(&[
                ("on", "agents work in frames"),
                ("off", "OpenCode works as without callstack"),
            ]),
            setting(
                "STACK_TOOLS",
                Values::OneOf(&["default", "full", "flame"]),
                "default",
                "Which tools an agent is listed when it starts. With `flame`, the names of the \
                 specification's first generation, the variables that begin with FLAME_ are read \
                 too.",
            )
            .meaning(&[
                ("default", "six tools, the others by `stack`"),
                ("full", "all tools"),
                ("flame", "all tools, under their first names"),
            ]),
            setting(
                "STACK_CONTEXT_PLACEMENT",
                Values::OneOf(&["output", "system"]),
                "output",
                "Where the tree's XML goes. In outputs of push and activate, what was sent stays \
                 as it was; the system prompt is made anew with every change.",
            )
            .meaning(&[
                ("output", "in the outputs of push and activate"),
                ("system", "in the system prompt"),
            ]),
            setting(
                "STACK_CONTEXT_IMPORTED",
                Values::Switch,
                "off",
                "Whether the contexts of new frames tell what imported sessions returned. `search`, \
                 `show` and `log` find these either way, and a frame that is pushed below an \
                 imported one is told of what stands beside it.",
            )
            .meaning(&[
                ("on", "new frames are told of them"),
                ("off", "they are left out"),
            ]),
            setting(
                "STACK_FOLD_REASONING",
                Values::OneOf(&["strip", "wait"]),
                "strip",
                "What happens where a step pops a frame and calls further tools. With `strip` it \
                 is folded at once, without its reasoning, and joined to the push's step where \
                 that has its own.",
            )
            .meaning(&[
                ("strip", "folds at once, without reasoning"),
                ("wait", "folds once the user speaks again"),
            ]),
            setting(
                "STACK_FRAME_SESSIONS",
                Values::OneOf(&["asked", "activate", "always", "never"]),
                "asked",
                "Which frames are worked on in sessions of their own. A call may say otherwise \
                 with `in`, except where it is `never`.",
            )
            .meaning(&[
                ("asked", "those for which a call asks"),
                ("activate", "all that are activated"),
                ("always", "all that are activated or pushed"),
                ("never", "none"),
            ]),
        ],
    ),
    (
        "What is written for others",
        &[
            setting(
                "STACK_ROLLBACK",
                Values::Switch,
                "on",
                "Whether the state of the files is recorded where a frame is pushed, activated or \
                 popped in a git work tree, so that `callstack rollback` can restore what it \
                 changed; with STACK_AUTONOMY_LEVEL at `auto` also where the user speaks and \
                 where a todo list is written, since a frame may turn out to have begun there. \
                 Your repository is only read; states are kept in your own state folder, without \
                 the content of untracked files over 64 MiB, or over 1 GiB together; those that \
                 no frame needs are dropped after two weeks. Where recording would take more than \
                 2 s it is left for ten minutes.",
            )
            .meaning(&[
                ("on", "states of files are recorded"),
                ("off", "no states of files are recorded"),
            ])
            .off_in_project(),
            setting(
                "STACK_FILES",
                Values::Switch,
                "on",
                "Whether .opencode/stack/state.json and frames/*.json follow the tree, for other \
                 programs, with secrets masked. Only where the project has a folder .opencode. \
                 .opencode/flame follows where STACK_TOOLS is flame and the folder is there.",
            )
            .meaning(&[("on", "written where .opencode is"), ("off", "not written")])
            .off_in_project(),
            setting(
                "STACK_LOG",
                Values::Switch,
                "on",
                "Whether .callstack/callstack.log tells what is done: frames, contexts, \
                 subagents, compactions, suggestions. Secrets are masked in it.",
            )
            .meaning(&[("on", "written"), ("off", "not written")]),
        ],
    ),
    (
        "What callstack does by itself",
        &[
            setting(
                "STACK_AUTONOMY_LEVEL",
                Values::OneOf(&["manual", "suggest", "auto"]),
                "suggest",
                "How much callstack does by itself: nothing, suggest, or open and close frames. \
                 It suggests a push or a pop where going on looks wrong.",
            )
            .meaning(&[
                ("manual", "does nothing by itself"),
                ("suggest", "suggests to open or close frames"),
                ("auto", "opens and closes frames"),
            ]),
            setting(
                "STACK_AGENT_REQUESTS",
                Values::Switch,
                "off",
                "Whether agents may ask for what only a person carries out: a rollback. The answer \
                 says what would change and by which command a person confirms it; until then \
                 nothing is changed.",
            )
            .meaning(&[
                ("on", "agents may ask for a rollback"),
                ("off", "agents are refused a rollback"),
            ]),
            setting(
                "STACK_MASK_OUTPUTS",
                Values::OneOf(&["auto", "on", "off"]),
                "auto",
                "Whether tool outputs of work that goes on leave the requests once something \
                 newer replaced them, or where the context is nearly full. They leave in batches \
                 that pay for the cache that they break.",
            )
            .meaning(&[
                ("auto", "where the level is auto"),
                ("on", "always"),
                ("off", "never"),
            ]),
            setting(
                "STACK_PUSH_THRESHOLD",
                PERCENT,
                "70",
                "How sure the heuristics have to be until a push is suggested.",
            )
            .counted("%", "of confidence for a suggestion"),
            setting(
                "STACK_POP_THRESHOLD",
                PERCENT,
                "70",
                "How sure the heuristics have to be until a pop is suggested.",
            )
            .counted("%", "of confidence for a suggestion"),
            setting(
                "STACK_SUGGEST_IN_CONTEXT",
                Values::Switch,
                "on",
                "Whether the model is sent the suggestions.",
            )
            .meaning(&[
                ("on", "the model is sent suggestions"),
                ("off", "suggestions wait until asked for"),
            ]),
            setting(
                "STACK_ENABLED_HEURISTICS",
                Values::List,
                "all",
                "By what pushes and pops are suggested: failure_boundary, context_switch, \
                 complexity, duration, goal_completion, stagnation, context_overflow, or all.",
            )
            .meaning(&[("all", "every heuristic counts"), ("none", "nothing is suggested")]),
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
            )
            .meaning(&[
                ("on", "their sessions get frames"),
                ("off", "their sessions get no frames"),
            ]),
            setting(
                "STACK_SUBAGENT_MIN_DURATION",
                COUNT,
                "60000",
                "How long such a session works until it gets a frame whatever its title is.",
            )
            .counted("ms", "until a session gets a frame"),
            setting(
                "STACK_SUBAGENT_MIN_MESSAGES",
                COUNT,
                "3",
                "How many messages it has until then.",
            )
            .counted("message", "until a session gets a frame"),
            setting(
                "STACK_SUBAGENT_AUTO_COMPLETE",
                Values::Switch,
                "on",
                "Whether its frames end with it, or stay until somebody completes them.",
            )
            .meaning(&[
                ("on", "frames end with their session"),
                ("off", "frames stay until they are ended"),
            ]),
            setting(
                "STACK_SUBAGENT_IDLE_DELAY",
                COUNT,
                "5000",
                "How long it has to be silent until its frames end.",
            )
            .counted("ms", "of silence end a session's frames"),
            setting(
                "STACK_SUBAGENT_PATTERNS",
                Values::List,
                r"@.*subagent,subagent,\[Task\]",
                "Regular expressions, one of which its title matches to get a frame at once; none \
                 of them may contain a comma, and one that can't be read is skipped.",
            )
            .meaning(&[("none", "no title tells that it is one")]),
        ],
    ),
    (
        "A model of your own that writes results where nobody gave any",
        &[
            setting(
                "STACK_SUMMARIZER_ADDRESS",
                Values::Address,
                "none",
                "Where it is: the base address of an API that speaks as OpenAI's or Anthropic's \
                 does. `callstack config summarizer` sets all of it at once.",
            )
            .meaning(&[("none", "no model is asked")])
            .of_user(),
            setting(
                "STACK_SUMMARIZER_FORMAT",
                Values::OneOf(&["auto", "openai", "anthropic"]),
                "auto",
                "Which API it speaks: OpenAI's chat completions or Anthropic's messages.",
            )
            .meaning(&[
                ("auto", "as the address suggests"),
                ("openai", "chat completions"),
                ("anthropic", "messages"),
            ])
            .of_user(),
            setting("STACK_SUMMARIZER_MODEL", Values::Word, "none", "The model's name there.")
                .meaning(&[("none", "no model is asked")])
                .of_user(),
            setting(
                "STACK_SUMMARIZER_KEY_ENV",
                Values::Variable,
                "STACK_SUMMARIZER_KEY",
                "The variable of the environment that holds its key. The key itself is never \
                 stored.",
            )
            .of_user(),
            setting(
                "STACK_SUMMARIZER_TIME_LIMIT",
                Values::Number { least: 1, most: 600_000 },
                "30000",
                "How long it may take, retries included. Then results are extracted without it.",
            )
            .counted("ms", "to answer, retries included")
            .of_user(),
            setting(
                "STACK_SUMMARIZER_RETRIES",
                Values::Number { least: 0, most: 10 },
                "2",
                "How often it is asked again when it is overloaded or can't be reached.",
            )
            .counted("time", "asked again when it fails")
            .of_user(),
            setting(
                "STACK_SUMMARIZER_TOKENS",
                Values::Number { least: 100, most: 1_000_000 },
                "8000",
                "How much of a frame's steps it is told, the last ones; secrets are masked in \
                 them.",
            )
            .counted("token", "of a frame's steps are sent to it")
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
            )
            .counted("token", "for the whole context"),
            setting("STACK_TOKEN_BUDGET_ANCESTORS", TOKENS, "1500", "For the chain of ancestors.")
                .counted("token", "for the chain of ancestors"),
            setting("STACK_TOKEN_BUDGET_SIBLINGS", TOKENS, "1500", "For finished siblings.")
                .counted("token", "for finished siblings"),
            setting(
                "STACK_TOKEN_BUDGET_CURRENT",
                TOKENS,
                "800",
                "For the open frame and what is planned below it.",
            )
            .counted("token", "for the open frame and its plan"),
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
            )
            .counted("frame", "above one another"),
            setting("STACK_LIMIT_CHILDREN", COUNT, "500", "Children of one frame.")
                .counted("frame", "below one frame"),
            setting(
                "STACK_LIMIT_LIVE_FRAMES",
                COUNT,
                "2000",
                "Frames in progress in the whole project.",
            )
            .counted("frame", "in progress in the project"),
            setting(
                "STACK_LIMIT_LIVE_SESSIONS",
                COUNT,
                "32",
                "Sessions of their own that work on frames, in the whole project.",
            )
            .counted("session", "that work on a frame"),
            setting(
                "STACK_CONSOLIDATE_ABOVE",
                COUNT,
                "100",
                "How many children of a frame may have ended before one frame stands for all but \
                 the newest of them; 0 for any number.",
            )
            .counted("frame", "may have ended below one")
            .meaning(&[("0", "never consolidates")]),
        ],
    ),
];

const TOKENS: Values = Values::Number { least: 1, most: 1_000_000 };
const PERCENT: Values = Values::Number { least: 0, most: 100 };
const COUNT: Values = Values::Number { least: 0, most: u32::MAX as u64 };
