//! The commands that open a session in the agent that had it.

/// Returns the words of the command that opens a session of a host; `None` if it can't be opened.
pub(crate) fn resume(host: &str, session: &str) -> Option<Vec<String>> {
    // An id that begins like an option would be taken for one.
    let is_plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.');
    if session.starts_with('-') || !session.chars().all(is_plain) {
        return None;
    }
    let words: &[&str] = match host {
        "opencode" => &["opencode", "-s"],
        "claude-code" => &["claude", "--resume"],
        "codex" => &["codex", "resume"],
        "pi" => &["pi", "--session"],
        _ => return None,
    };
    Some(words.iter().copied().chain([session]).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_of_agents_can_be_opened() {
        let command = |host, session| resume(host, session).map(|words| words.join(" "));
        assert_eq!(command("opencode", "ses_1a").as_deref(), Some("opencode -s ses_1a"));
        assert_eq!(command("claude-code", "0b-1").as_deref(), Some("claude --resume 0b-1"));
        assert_eq!(command("cli", "cli"), None);
        assert_eq!(command("mcp:codex", "1"), None);
    }

    #[test]
    fn no_session_passes_for_an_option() {
        for session in ["--exec=x", "a b", "$(x)", "é"] {
            assert_eq!(resume("opencode", session), None, "{session}");
        }
    }
}
