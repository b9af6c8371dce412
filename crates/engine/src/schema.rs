//! Schemas of parameters, plain enough for every client.
//!
//! Clients are known to choke on `$ref`, on null among the types, on `oneOf` and on titles; the schemas here have
//! only `type`, `properties`, `required`, `items`, `enum` and `description`.
//!
//! A parameter that is marked `extend("x-full" = true)` is accepted by every profile, and listed by the profile
//! `full` alone. One that such parameters can replace is marked `extend("x-required-in-brief" = true)`: it is
//! required where they are not listed. One that is marked `extend("x-folding" = true)` is listed to agents whose host
//! folds.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// Marks a parameter that only the profile `full` lists.
const FULL: &str = "x-full";

/// Marks a parameter that is required where those that can replace it are not listed.
const REQUIRED_IN_BRIEF: &str = "x-required-in-brief";

/// Marks a parameter that is listed only to agents whose host folds.
const FOLDING: &str = "x-folding";

/// The agent that the parameters are listed to.
#[derive(Clone, Copy)]
struct Reader {
    /// Whether the profile is `full`.
    full: bool,
    /// Whether the host folds.
    folding: bool,
}

impl Reader {
    /// Whether a parameter with this schema is listed.
    fn is_listed(self, schema: &Value) -> bool {
        (self.full || schema.get(FULL).is_none()) && (self.folding || schema.get(FOLDING).is_none())
    }
}

/// The schema of `P`: always an object with `properties` and `required`.
pub(crate) fn plain<P: JsonSchema>() -> Value {
    schema::<P>(Reader { full: true, folding: true })
}

/// The same without the parameters that only the profile `full` lists.
pub(crate) fn brief<P: JsonSchema>() -> Value {
    schema::<P>(Reader { full: false, folding: true })
}

/// The schema of an object without some of its properties.
pub(crate) fn without(mut schema: Value, names: &[&str]) -> Value {
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.retain(|name, _| !names.contains(&name.as_str()));
    }
    schema
}

/// The schema of an answer's data, self-contained: JSON Schema, draft 2020-12, with its definitions below `$defs`.
pub(crate) fn output<D: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| {
        settings.meta_schema = None;
    });
    settings.into_generator().into_root_schema_for::<D>().to_value()
}

/// The schema of the parameters that agents are listed whose host folds nothing.
pub(crate) fn unfolded<P: JsonSchema>(full: bool) -> Value {
    schema::<P>(Reader { full, folding: false })
}

fn schema<P: JsonSchema>(reader: Reader) -> Value {
    let settings = SchemaSettings::draft07().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema = settings.into_generator().into_root_schema_for::<P>();
    let mut value = simplified(schema.as_value(), reader);
    if let Some(object) = value.as_object_mut() {
        // The type's own doc comment is for readers of the code.
        object.remove("description");
        object.entry("type").or_insert_with(|| "object".into());
        object.entry("properties").or_insert_with(|| Map::new().into());
        object.entry("required").or_insert_with(|| Vec::<Value>::new().into());
        if let Some(required) = object.get_mut("required").and_then(Value::as_array_mut)
            && !reader.full
        {
            let properties = schema.get("properties").and_then(Value::as_object);
            let marked = properties.into_iter().flatten();
            let marked = marked.filter(|(_, schema)| schema.get(REQUIRED_IN_BRIEF).is_some());
            required.extend(marked.map(|(name, _)| Value::from(name.as_str())));
        }
    }
    value
}

fn simplified(value: &Value, reader: Reader) -> Value {
    match value {
        Value::Object(object) => {
            let mut plain = Map::new();
            for (key, value) in object {
                match key.as_str() {
                    "$schema"
                    | "title"
                    | "default"
                    | "format"
                    | "minimum"
                    | FULL
                    | FOLDING
                    | REQUIRED_IN_BRIEF
                    | "definitions"
                    | "additionalProperties" => {}
                    "properties" => {
                        let properties = value.as_object().into_iter().flatten();
                        let properties: Map<_, _> = properties
                            .filter(|(_, schema)| reader.is_listed(schema))
                            .map(|(name, schema)| (name.clone(), simplified(schema, reader)))
                            .collect();
                        plain.insert(key.clone(), properties.into());
                    }
                    "type" => {
                        plain.insert(key.clone(), single_type(value));
                    }
                    // An optional enum comes as one of several schemas, the last of them null.
                    "anyOf" | "oneOf" => {
                        let first = value.as_array().and_then(|schemas| schemas.first());
                        if let Some(Value::Object(first)) =
                            first.map(|first| simplified(first, reader))
                        {
                            plain.extend(first);
                        }
                    }
                    "enum" => {
                        let values = value.as_array().into_iter().flatten();
                        let values: Vec<_> = values.filter(|it| !it.is_null()).cloned().collect();
                        plain.insert(key.clone(), values.into());
                    }
                    "description" => {
                        let text = value.as_str().unwrap_or_default().replace('\n', " ");
                        plain.insert(key.clone(), text.into());
                    }
                    _ => {
                        plain.insert(key.clone(), simplified(value, reader));
                    }
                }
            }
            plain.into()
        }
        Value::Array(values) => {
            values.iter().map(|value| simplified(value, reader)).collect::<Vec<_>>().into()
        }
        other => other.clone(),
    }
}

fn single_type(value: &Value) -> Value {
    match value {
        Value::Array(types) => {
            types.iter().find(|it| *it != "null").cloned().unwrap_or_else(|| "string".into())
        }
        other => other.clone(),
    }
}
