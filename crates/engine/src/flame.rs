//! The tools of the specification's first generation: other names and arguments for the same operations.
//! The parameters of each are a line of the table; nothing is carried out here.

use std::borrow::Cow;

use callstack_core::dialect::Dialect;
use callstack_core::framing::title_of;
use serde_json::{Map, Value, json};

use crate::error::{EngineError, Kind};
use crate::operation::{Operation, check_lengths};

/// An operation as a tool of the first generation; [`Dialect::tool`] gives its name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alias {
    /// The operation that carries it out.
    pub(crate) operation: &'static str,
    takes: Takes,
}

#[derive(Clone, Copy, Debug)]
enum Takes {
    /// The operation's own arguments, by the names of the dialect.
    Same,
    /// Something of its own.
    Own {
        summary: &'static str,
        arguments: &'static [Argument],
        /// Arguments of the operation that are always on.
        always: &'static [&'static str],
    },
}

#[derive(Clone, Copy, Debug)]
struct Argument {
    name: &'static str,
    doc: &'static str,
    required: bool,
    shape: Shape,
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    /// Becomes title and success criteria.
    Goal,
    /// A list of objects with a goal each, for the operation's argument of the same name.
    Goals,
    /// A text for this argument of the operation.
    Text(&'static str),
    /// One of these words, for the operation's argument of the same name.
    Word(&'static [&'static str]),
    /// For the operation's argument of the same name.
    Flag,
}

const fn argument(name: &'static str, doc: &'static str, shape: Shape) -> Argument {
    Argument { name, doc, required: false, shape }
}

const GOAL: Argument = Argument {
    name: "goal",
    doc: "What is to be reached, verifiable",
    required: true,
    shape: Shape::Goal,
};
const SINCE: &str =
    "Close the steps that callstack named so, such as s14; the open frame stays open";
const PARENT: Argument = argument(
    "parentSessionID",
    "Handle of the frame to plan below; default: the open one",
    Shape::Text("parent"),
);

const fn same(operation: &'static str) -> Alias {
    Alias { operation, takes: Takes::Same }
}

const fn own(
    operation: &'static str,
    summary: &'static str,
    arguments: &'static [Argument],
) -> Alias {
    Alias { operation, takes: Takes::Own { summary, arguments, always: &[] } }
}

/// Every tool of the first generation, in its order. An operation that is not here is reached by the dialect's name
/// for it and has its usual arguments.
pub(crate) const TABLE: &[Alias] = &[
    own(
        "stack_frame_push",
        "Open a child frame for a subtask and work in it. Its steps leave your context when you pop it; \
         its summary stays.",
        &[GOAL],
    ),
    own(
        "stack_frame_pop",
        "End the open frame and return to its parent. Its steps leave your context, so the summary \
         must carry what matters.",
        &[
            argument(
                "status",
                "Default completed",
                Shape::Word(&["completed", "failed", "blocked"]),
            ),
            argument(
                "summary",
                "All that later work needs: what was done, decisions, paths, names, numbers, \
                 commands, open ends",
                Shape::Text("results"),
            ),
            argument(
                "generateSummary",
                "Have the conversation summarised; the frame ends with your summary and that one",
                Shape::Flag,
            ),
            argument("since", SINCE, Shape::Text("since")),
        ],
    ),
    same("stack_status"),
    Alias {
        operation: "stack_set_goal",
        takes: Takes::Own {
            summary: "Say anew what the open frame is to reach.",
            arguments: &[GOAL],
            always: &["current"],
        },
    },
    same("stack_add_artifact"),
    same("stack_add_decision"),
    same("stack_context_info"),
    same("stack_context_preview"),
    same("stack_cache_clear"),
    same("stack_frame_summarize"),
    same("stack_compaction_info"),
    same("stack_get_summary"),
    same("stack_config"),
    same("stack_stats"),
    same("stack_subagent_complete"),
    same("stack_subagent_list"),
    own(
        "stack_frame_plan",
        "Plan a frame for later; start it with flame_activate.",
        &[GOAL, PARENT],
    ),
    own(
        "stack_frame_plan_children",
        "Plan several frames for later, in working order; start each with flame_activate.",
        &[
            Argument {
                name: "children",
                doc: "In working order",
                required: true,
                shape: Shape::Goals,
            },
            PARENT,
        ],
    ),
    same("stack_frame_activate"),
    same("stack_frame_invalidate"),
    same("stack_tree"),
    same("stack_autonomy"),
    same("stack_should_push"),
    same("stack_should_pop"),
    same("stack_auto_suggest"),
    same("stack_autonomy_stats"),
    same("stack_get_state"),
];

/// Returns the line of an operation; one with the operation's own arguments where the table has none.
pub(crate) fn of(operation: &Operation) -> Alias {
    let known = TABLE.iter().find(|alias| alias.operation == operation.name);
    known.copied().unwrap_or(same(operation.name))
}

impl Alias {
    /// The tool's description.
    pub(crate) fn summary(&self, operation: &Operation) -> Cow<'static, str> {
        match self.takes {
            Takes::Same => Dialect::Flame.words(operation.summary),
            Takes::Own { summary, .. } => Cow::Borrowed(summary),
        }
    }

    /// The schema of the tool's arguments.
    pub(crate) fn parameters(&self, operation: &Operation) -> Value {
        match self.takes {
            Takes::Same => renamed((operation.parameters)()),
            Takes::Own { arguments, .. } => {
                let properties: Map<_, _> = arguments
                    .iter()
                    .map(|argument| (argument.name.to_owned(), argument.schema()))
                    .collect();
                let required = arguments.iter().filter(|argument| argument.required);
                let required: Vec<_> = required.map(|argument| argument.name).collect();
                json!({"type": "object", "properties": properties, "required": required})
            }
        }
    }

    /// The operation's arguments made of the tool's.
    pub(crate) fn translated(
        &self,
        operation: &Operation,
        name: &str,
        arguments: Value,
    ) -> Result<Value, EngineError> {
        let arguments = if arguments.is_null() { json!({}) } else { arguments };
        check_lengths(&arguments)?;
        let schema = self.parameters(operation);
        check(&schema, &arguments).map_err(|wrong| {
            EngineError::new(
                Kind::Invalid,
                format!("the arguments of `{name}` are not right: {wrong}"),
            )
            .with_hint(format!("It takes: {}.", crate::operation::takes(&schema)))
        })?;
        let Value::Object(given) = arguments else { return Ok(arguments) };
        let mut translated = Map::new();
        match self.takes {
            Takes::Same => {
                let own = (operation.parameters)();
                for known in own["properties"].as_object().into_iter().flat_map(|it| it.keys()) {
                    if let Some(value) = given.get(Dialect::Flame.argument(known)) {
                        translated.insert(known.clone(), value.clone());
                    }
                }
            }
            Takes::Own { arguments, always, .. } => {
                for argument in arguments {
                    argument.translate(&given, &mut translated)?;
                }
                translated.extend(always.iter().map(|name| ((*name).to_owned(), true.into())));
            }
        }
        Ok(translated.into())
    }
}

impl Argument {
    fn schema(&self) -> Value {
        let goal = || json!({"type": "string", "description": GOAL.doc});
        let mut schema = match self.shape {
            Shape::Goal | Shape::Text(_) => json!({"type": "string"}),
            Shape::Goals => json!({"type": "array", "items": {
                "type": "object", "properties": {"goal": goal()}, "required": ["goal"]}}),
            Shape::Word(words) => json!({"type": "string", "enum": words}),
            Shape::Flag => json!({"type": "boolean"}),
        };
        schema["description"] = self.doc.into();
        schema
    }

    fn translate(
        &self,
        given: &Map<String, Value>,
        translated: &mut Map<String, Value>,
    ) -> Result<(), EngineError> {
        let value = given.get(self.name);
        let text = value.and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        let mut put = |name: &str, value: Value| translated.insert(name.to_owned(), value);
        match (self.shape, value) {
            (Shape::Goal, value) => {
                let goal = value.and_then(Value::as_str).unwrap_or_default();
                translated.append(&mut identity(goal)?);
            }
            (Shape::Goals, Some(Value::Array(goals))) => {
                if goals.is_empty() {
                    return Err(EngineError::invalid(
                        "there is nothing to plan",
                        format!("Give `{}`, each with a goal.", self.name),
                    ));
                }
                let identities: Result<Vec<_>, _> = goals
                    .iter()
                    .map(|child| identity(child["goal"].as_str().unwrap_or_default()))
                    .collect();
                put(self.name, json!(identities?));
            }
            (Shape::Text(name), _) => {
                if let Some(text) = text {
                    put(name, text.into());
                }
            }
            (Shape::Word(_) | Shape::Flag, Some(value)) => {
                put(self.name, value.clone());
            }
            (Shape::Goals | Shape::Word(_) | Shape::Flag, _) => {}
        }
        Ok(())
    }
}

/// The first words of a goal are its title; all of it is the criteria.
fn identity(goal: &str) -> Result<Map<String, Value>, EngineError> {
    let goal = goal.trim();
    if goal.is_empty() {
        return Err(EngineError::invalid(
            "the goal is empty",
            "Say what is to be reached, so that it can be checked.",
        ));
    }
    let identity =
        [("title", title_of(goal).into()), ("successCriteria", Value::from(goal.to_owned()))];
    Ok(identity.map(|(name, value)| (name.to_owned(), value)).into_iter().collect())
}

/// A goal and a summary have no dense version; it is made of them.
const DENSE: &str = "resultsCompacted";

/// A schema with its properties under the dialect's names.
fn renamed(mut schema: Value) -> Value {
    let name = |name: &str| Dialect::Flame.argument(name).to_owned();
    let properties = schema["properties"].as_object().into_iter().flatten();
    let properties: Map<_, _> = properties
        .filter(|(known, _)| known.as_str() != DENSE)
        .map(|(known, property)| {
            let mut property = property.clone();
            if let Some(doc) = property["description"].as_str() {
                property["description"] = Dialect::Flame.words(doc).into_owned().into();
            }
            (name(known), property)
        })
        .collect();
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let required: Vec<_> = required.map(name).collect();
    schema["properties"] = properties.into();
    schema["required"] = required.into();
    schema
}

/// Checks a value against a plain schema, and returns the mismatch.
fn check(schema: &Value, value: &Value) -> Result<(), String> {
    let fits = match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_u64(),
        Some("number") => value.is_number(),
        _ => true,
    };
    let kind = schema["type"].as_str().unwrap_or_default();
    if !fits {
        return Err(format!("{value} is no {kind}"));
    }
    let words = schema["enum"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !words.is_empty() && !words.contains(value) {
        let words: Vec<_> = words.iter().filter_map(Value::as_str).collect();
        return Err(format!("{value} is none of {}", words.join(", ")));
    }
    for item in value.as_array().into_iter().flatten() {
        check(&schema["items"], item)?;
    }
    let Some(properties) = schema["properties"].as_object() else { return Ok(()) };
    let fields = value.as_object().into_iter().flatten();
    for (name, field) in fields {
        let property = properties.get(name).ok_or_else(|| format!("there is no `{name}`"))?;
        check(property, field).map_err(|wrong| format!("`{name}`: {wrong}"))?;
    }
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    match required.into_iter().find(|name| value.get(name).is_none()) {
        Some(missing) => Err(format!("`{missing}` is missing")),
        None => Ok(()),
    }
}
