//! Schemas of parameters, plain enough for every client.
//!
//! Clients are known to choke on `$ref`, on null among the types, on `oneOf` and on titles; what is
//! left here is `type`, `properties`, `required`, `items`, `enum` and `description`.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// The schema of `P`: always an object with `properties` and `required`.
pub(crate) fn plain<P: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema = settings.into_generator().into_root_schema_for::<P>();
    let mut value = simplified(schema.as_value());
    if let Some(object) = value.as_object_mut() {
        // The type's own doc comment is for readers of the code.
        object.remove("description");
        object.entry("type").or_insert_with(|| "object".into());
        object.entry("properties").or_insert_with(|| Map::new().into());
        object.entry("required").or_insert_with(|| Vec::<Value>::new().into());
    }
    value
}

fn simplified(value: &Value) -> Value {
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
                    | "definitions"
                    | "additionalProperties" => {}
                    "properties" => {
                        let properties = value.as_object().into_iter().flatten();
                        let properties: Map<_, _> = properties
                            .map(|(name, schema)| (name.clone(), simplified(schema)))
                            .collect();
                        plain.insert(key.clone(), properties.into());
                    }
                    "type" => {
                        plain.insert(key.clone(), single_type(value));
                    }
                    // An optional enum comes as one of several schemas, the last of them null.
                    "anyOf" | "oneOf" => {
                        let first = value.as_array().and_then(|schemas| schemas.first());
                        if let Some(Value::Object(first)) = first.map(simplified) {
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
                        plain.insert(key.clone(), simplified(value));
                    }
                }
            }
            plain.into()
        }
        Value::Array(values) => values.iter().map(simplified).collect::<Vec<_>>().into(),
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
