//! Slash commands: people's changes to the tree from inside a session. They are carried out at once, through the
//! table of operations, and a note after the person's own words informs the model.

mod plan;

use callstack_core::frame::Identity;
use callstack_core::framing::{identity_of, identity_of_goal};
use callstack_core::returned::{MARK, UNSAID, open_now};
use callstack_core::transcript::Anchor;
use serde_json::{Value, json};

use crate::conversation::mode::off;
use crate::dense::compact;
use crate::engine::Engine;
use crate::error::{EngineError, Kind};
use crate::lock::lock;
use crate::operation::{Answer, Caller};
use crate::{operations, tree};

/// A slash command as a host knows it.
#[derive(Clone, Copy, Debug)]
pub struct Slash {
    /// Its name, without the slash.
    pub name: &'static str,
    /// The description in the host's list of commands.
    pub description: &'static str,
    /// The prompt for the model where callstack can't be reached; `$ARGUMENTS` is the text after the name.
    pub template: &'static str,
}

/// Distinguishes a template of ours, changed or not, from a foreign command of the same name.
const OURS: &str = "(callstack)";

/// The placeholder of the text after the name.
const ARGUMENTS: &str = "$ARGUMENTS";

/// The slash commands.
pub const SLASH: &[Slash] = &[
    Slash {
        name: "push",
        description: "Open a frame for a goal, and work in it",
        template: "(callstack) Open a frame with stack_frame_push for this goal, and work in it: $ARGUMENTS",
    },
    Slash {
        name: "pop",
        description: "End the open frame, with these results or with what was said in it last",
        template: "(callstack) End the open frame with stack_frame_pop. Its results: $ARGUMENTS",
    },
    Slash {
        name: "plan",
        description: "Plan frames for later: TITLE: CRITERIA | > DEEPER | TITLE",
        template: "(callstack) Plan these frames with stack_frame_plan, one for each title between | or on a line \
                   of its own, with what stands behind a colon as its criteria and those behind > below the one \
                   before, and start none: $ARGUMENTS",
    },
    Slash {
        name: "frame-status",
        description: "Show the frames",
        template: "(callstack) Show me the frames with stack_status. $ARGUMENTS",
    },
];

/// A person has typed a slash command.
#[derive(Clone, Debug)]
pub struct SlashRequest {
    /// The session.
    pub session: String,
    /// The host.
    pub host: String,
    /// The message that the command becomes.
    pub message: Option<String>,
    /// The command's name, without the slash.
    pub name: String,
    /// The text after the name.
    pub arguments: String,
    /// The text that the host has made of both.
    pub text: String,
}

/// The replacement of a slash command's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlashAnswer {
    /// The person's words, where the host's text is nothing but our template.
    pub words: Option<String>,
    /// The note for the model.
    pub note: String,
    /// The text that the person alone is shown, in place of the words.
    pub shown: Option<String>,
}

/// Lines of a tree that a person is shown whole.
const LINES: usize = 100;

/// Carries slash commands out.
struct Runner<'e> {
    engine: &'e Engine,
}

impl SlashRequest {
    /// Carries the command out. None if it is not one of ours.
    pub fn carry_out(&self, engine: &Engine) -> Result<Option<SlashAnswer>, EngineError> {
        Runner { engine }.slash(self)
    }
}

impl Runner<'_> {
    fn slash(&self, request: &SlashRequest) -> Result<Option<SlashAnswer>, EngineError> {
        let Some(slash) = SLASH.iter().find(|slash| slash.name == request.name) else {
            return Ok(None);
        };
        let given = request.arguments.trim();
        let plain = request.text.trim() == slash.template.replace(ARGUMENTS, given).trim();
        if !plain && !request.text.contains(OURS) {
            return Ok(None);
        }
        let outcome = match slash.name {
            _ if !self.engine.queries.frame_mode()? => Err(off()),
            "push" => self.slash_push(request, given),
            "pop" => self.slash_pop(request, given),
            "plan" => self.slash_plan(request, given),
            _ => self.slash_status(request),
        };
        let mut answer = match outcome {
            Ok(answer) => answer,
            Err(error) if matches!(error.kind, Kind::Unavailable | Kind::Internal) => {
                return Err(error);
            }
            Err(error) => SlashAnswer {
                words: None,
                note: format!(
                    "{MARK} /{} was refused: {} Tell the user so in a sentence, and do nothing else.",
                    slash.name,
                    ended(&error.sentence())
                ),
                shown: None,
            },
        };
        if plain && answer.shown.is_none() {
            answer.words = Some(format!("/{} {given}", slash.name).trim_end().to_owned());
        }
        Ok(Some(answer))
    }

    fn slash_push(&self, request: &SlashRequest, goal: &str) -> Result<SlashAnswer, EngineError> {
        if goal.is_empty() {
            return Err(nothing("what the frame is for", "/push GOAL"));
        }
        let before = Anchor { message: self.newest_message(&request.session)?, call: None };
        let identity = identity_of_goal(goal);
        self.engine.frames.ensure_root(
            &request.session,
            &request.host,
            identity_of(goal),
            before,
        )?;
        let own = Anchor { message: request.message.clone(), call: None };
        let answer =
            self.by_hand(request, own, "stack_frame_push", &json!(Arguments::of(&identity)))?;
        Ok(note(format!(
            "{}\nThe user opened it with /push: their words are its task. Go on with it now.",
            answer.text.trim_end()
        )))
    }

    fn slash_pop(&self, request: &SlashRequest, given: &str) -> Result<SlashAnswer, EngineError> {
        let open = self
            .engine
            .queries
            .active(&request.session)?
            .map(|num| self.engine.queries.frame(num))
            .transpose()?;
        let Some(open) = open else {
            return Err(EngineError::new(Kind::Conflict, "no frame is open in this session")
                .with_hint("/push GOAL opens one."));
        };
        let (status, results) = ending(given);
        let anchor = Anchor { message: self.newest_message(&request.session)?, call: None };
        let pop = |results: Option<&str>| {
            let arguments = json!({"status": status, "results": results});
            self.by_hand(request, anchor.clone(), "stack_frame_pop", &arguments)
        };
        let words = Some(results).filter(|results| !results.is_empty());
        let answer = match pop(words) {
            // There is nothing in it from which results could be made.
            Err(error) if words.is_none() && error.kind == Kind::Invalid => pop(Some(UNSAID))?,
            answer => answer?,
        };
        let whose = match words {
            Some(_) => "the words above are its results".to_owned(),
            None => format!(
                "its results are what was said in it last: {}",
                compact(&self.engine.queries.frame(open.num)?.results.unwrap_or_default())
                    .replace('\n', " ")
            ),
        };
        let now = match self.engine.queries.active(&request.session)? {
            Some(num) => format!(
                "Go on with that one if something is left to do there; else say in a sentence that the frame is \
                 ended.\n{}",
                open_now(Some(&self.engine.queries.frame(num)?))
            ),
            None => format!("Say in a sentence that the frame is ended.\n{}", open_now(None)),
        };
        Ok(note(format!("{MARK} The user ended frame {} with /pop; {whose}. {now}", answer.title)))
    }

    fn slash_plan(&self, request: &SlashRequest, given: &str) -> Result<SlashAnswer, EngineError> {
        let children = plan::children(given);
        if children.is_empty() {
            return Err(nothing(
                "what is to be planned",
                "/plan TITLE: CRITERIA | > DEEPER | TITLE | …",
            ));
        }
        let before = Anchor { message: self.newest_message(&request.session)?, call: None };
        self.engine.frames.ensure_root(
            &request.session,
            &request.host,
            identity_of(given),
            before.clone(),
        )?;
        let arguments = json!({"children": children});
        let answer = self.by_hand(request, before, "stack_frame_plan", &arguments)?;
        Ok(note(format!(
            "{MARK} The user planned frames with /plan. {}\nNothing is started by that: say in a \
             sentence that they are planned, and wait.",
            answer.text.trim_end()
        )))
    }

    fn slash_status(&self, request: &SlashRequest) -> Result<SlashAnswer, EngineError> {
        let nowhere = Anchor { message: None, call: None };
        let status = self.by_hand(request, nowhere, "stack_status", &json!({}))?;
        let lines = self.engine.queries.tree(Some(&request.session))?;
        let shown = if lines.len() > LINES {
            format!("{}\n(`callstack tree` in a terminal shows all of them.)", status.text)
        } else {
            tree::plain(&lines)
        };
        Ok(SlashAnswer {
            shown: Some(shown),
            ..note(format!(
                "{MARK} The user looked at the frames with /frame-status and sees them already. Nothing \
                 is asked of you: answer with the one word \"Shown.\""
            ))
        })
    }

    /// Runs an operation for the person at the session.
    fn by_hand(
        &self,
        request: &SlashRequest,
        anchor: Anchor,
        operation: &str,
        arguments: &Value,
    ) -> Result<Answer, EngineError> {
        let caller = Caller {
            session: request.session.clone(),
            host: request.host.clone(),
            anchor,
            agent: None,
            performs: false,
            reveal: true,
            key: None,
        };
        operations::named(operation)?.run(self.engine, &caller, arguments.clone())
    }

    /// The newest message of a session that was seen, once all of them are on the disk.
    fn newest_message(&self, session: &str) -> Result<Option<String>, EngineError> {
        let conversation = self.engine.sessions.conversation(session);
        let conversation = lock(&conversation);
        conversation.written(self.engine.sessions.recorder()?);
        Ok(self.engine.kernel.read(|view| view.last_message(session))?)
    }
}

/// An identity as operations take it.
#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Arguments<'a> {
    title: &'a str,
    success_criteria: &'a str,
}

impl<'a> Arguments<'a> {
    fn of(identity: &'a Identity) -> Self {
        Self { title: &identity.title, success_criteria: &identity.success_criteria }
    }
}

fn note(note: String) -> SlashAnswer {
    SlashAnswer { words: None, note, shown: None }
}

fn nothing(what: &str, how: &str) -> EngineError {
    EngineError::invalid(format!("it is not said {what}"), format!("It goes like this: {how}."))
}

fn ended(sentence: &str) -> String {
    let end = if sentence.ends_with(['.', '!', '?', '…']) { "" } else { "." };
    format!("{sentence}{end}")
}

/// Reads the end of a frame and its results: `failed: no access`, `blocked`, `all tests pass`.
fn ending(given: &str) -> (&'static str, &str) {
    for status in ["completed", "failed", "blocked"] {
        let Some(begin) = given.get(..status.len()) else { continue };
        if !begin.eq_ignore_ascii_case(status) {
            continue;
        }
        let rest = given[status.len()..].trim_start();
        if rest.is_empty() {
            return (status, "");
        }
        if let Some(results) = rest.strip_prefix(':') {
            return (status, results.trim());
        }
    }
    ("completed", given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_may_begin_with_its_status() {
        assert_eq!(ending("All green."), ("completed", "All green."));
        assert_eq!(ending("Failed: no access"), ("failed", "no access"));
        assert_eq!(ending("blocked"), ("blocked", ""));
        assert_eq!(ending("failed tests are fixed"), ("completed", "failed tests are fixed"));
        assert_eq!(ending("fäiled: x"), ("completed", "fäiled: x"));
        assert_eq!(ending(""), ("completed", ""));
    }

    #[test]
    fn every_template_is_distinguished_from_others() {
        for slash in SLASH {
            assert!(slash.template.contains(OURS), "{}", slash.name);
            assert!(slash.template.contains(ARGUMENTS), "{}", slash.name);
        }
    }
}
