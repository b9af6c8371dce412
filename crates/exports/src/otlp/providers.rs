//! The names that the conventions give providers.

/// Hosts' names of providers, and the conventions'.
const NAMES: [(&str, &str); 10] = [
    ("amazon-bedrock", "aws.bedrock"),
    ("azure", "azure.ai.openai"),
    ("cohere", "cohere"),
    ("deepseek", "deepseek"),
    ("google", "gcp.gemini"),
    ("google-vertex", "gcp.vertex_ai"),
    ("google-vertex-anthropic", "gcp.vertex_ai"),
    ("mistral", "mistral_ai"),
    ("watsonx", "ibm.watsonx.ai"),
    ("xai", "x_ai"),
];

/// Beginnings of models' names, and who makes them.
const MAKERS: [(&str, &str); 9] = [
    ("claude", "anthropic"),
    ("codestral", "mistral_ai"),
    ("command-", "cohere"),
    ("deepseek", "deepseek"),
    ("gemini", "gcp.gemini"),
    ("gpt-", "openai"),
    ("grok", "x_ai"),
    ("mistral", "mistral_ai"),
    ("o3", "openai"),
];

/// A provider of which nothing is known.
const OTHER: &str = "_OTHER";

/// Returns the conventions' name of a provider. A recording may know only the model.
pub(super) fn provider<'a>(provider: Option<&'a str>, model: Option<&str>) -> &'a str {
    if let Some(name) = provider {
        return NAMES.iter().find(|(of, _)| *of == name).map_or(name, |(_, known)| known);
    }
    let model = model.unwrap_or_default();
    MAKERS.iter().find(|(begin, _)| model.starts_with(begin)).map_or(OTHER, |(_, maker)| maker)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn providers_have_the_names_of_the_conventions() {
        assert_eq!(provider(Some("anthropic"), None), "anthropic");
        assert_eq!(provider(Some("amazon-bedrock"), Some("claude-x")), "aws.bedrock");
        assert_eq!(provider(Some("my-own"), Some("gpt-x")), "my-own");
        assert_eq!(provider(None, Some("claude-x")), "anthropic");
        assert_eq!(provider(None, Some("llama")), OTHER);
        assert_eq!(provider(None, None), OTHER);
    }
}
