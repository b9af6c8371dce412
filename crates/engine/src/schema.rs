//! Schemas of parameters, plain enough for every client.
//!
//! Clients are known to choke on `$ref`, on null among the types, on `oneOf` and on titles; what is
//! left here is `type`, `properties`, `required`, `items`, `enum` and `description`.
//!
//! A parameter that is marked `extend("x-full" = true)` is accepted by every profile, and listed by the profile
//! `full` alone. One that such parameters can stand in for is marked `extend("x-required-in-brief" = true)`: it is
//! required where they are not listed.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// Marks a parameter that only the profile `full` lists.
const FULL: &str = "x-full";

/// Marks a parameter that is required where those are not listed that can stand in for it.
const REQUIRED_IN_BRIEF: &str = "x-required-in-brief";

/// The schema of `P`: always an object with `properties` and `required`.
pub(crate) fn plain<P: JsonSchema>() -> Value {
    schema::<P>(true)
}

/// The same without the parameters that only the profile `full` lists.
pub(crate) fn brief<P: JsonSchema>() -> Value {
    schema::<P>(false)
}

fn schema<P: JsonSchema>(full: bool) -> Value {
    let settings = SchemaSettings::draft07().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema = settings.into_generator().into_root_schema_for::<P>();
    let mut value = simplified(schema.as_value(), full);
    if let Some(object) = value.as_object_mut() {
        // The type's own doc comment is for readers of the code.
        object.remove("description");
        object.entry("type").or_insert_with(|| "object".into());
        object.entry("properties").or_insert_with(|| Map::new().into());
        object.entry("required").or_insert_with(|| Vec::<Value>::new().into());
        if let Some(required) = object.get_mut("required").and_then(Value::as_array_mut)
            && !full
        {
            let properties = schema.get("properties").and_then(Value::as_object);
            let marked = properties.into_iter().flatten();
            let marked = marked.filter(|(_, schema)| schema.get(REQUIRED_IN_BRIEF).is_some());
            required.extend(marked.map(|(name, _)| Value::from(name.as_str())));
        }
    }
    value
}

fn simplified(value: &Value, full: bool) -> Value {
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
                    | REQUIRED_IN_BRIEF
                    | "definitions"
                    | "additionalProperties" => {}
                    "properties" => {
                        let properties = value.as_object().into_iter().flatten();
                        let properties: Map<_, _> = properties
                            .filter(|(_, schema)| full || schema.get(FULL).is_none())
                            .map(|(name, schema)| (name.clone(), simplified(schema, full)))
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
                            first.map(|first| simplified(first, full))
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
                        plain.insert(key.clone(), simplified(value, full));
                    }
                }
            }
            plain.into()
        }
        Value::Array(values) => {
            values.iter().map(|value| simplified(value, full)).collect::<Vec<_>>().into()
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
