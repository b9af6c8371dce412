//! The wording for people at a terminal: commands in place of the agents' tools that the engine names.

use callstack_engine::Hint;
pub(crate) use callstack_replay::{change, thousands};

/// Operations and the commands that reach them.
pub(crate) const COMMANDS: &[(&str, &str)] = &[
    ("stack_frame_push", "push"),
    ("stack_frame_pop", "pop"),
    ("stack_frame_plan", "plan"),
    ("stack_frame_activate", "activate"),
    ("stack_navigate", "go"),
    ("stack_frame_consolidate", "consolidate"),
    ("stack_preset", "preset"),
    ("stack_frame_invalidate", "invalidate"),
    ("stack_frame_reopen", "reopen"),
    ("stack_frame_retry", "retry"),
    ("stack_frame_details", "show"),
    ("stack_add_decision", "decision"),
    ("stack_add_artifact", "artifact"),
    ("stack_pin", "pin"),
    ("stack_unpin", "unpin"),
    ("stack_status", "status"),
    ("stack_tree", "tree"),
    ("stack_log", "log"),
    ("stack_context_preview", "context"),
];

/// Returns a hint in which commands stand for operations, where there are any.
pub(crate) fn for_a_terminal(hint: &Hint) -> String {
    hint.written(|operation| match COMMANDS.iter().find(|(name, _)| *name == operation) {
        Some((_, command)) => format!("callstack {command}").into(),
        None => operation.into(),
    })
}

/// Returns a number of things, such as `1 frame` or `2 frames`.
pub(crate) fn counted(count: u64, what: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{count} {what}{end}")
}

/// Returns a number of bytes, such as `3.1 MiB`.
pub(crate) fn bytes(count: u64) -> String {
    match count {
        0..1024 => format!("{count} B"),
        1024..1_048_576 => format!("{:.1} KiB", count as f64 / 1024.0),
        _ => format!("{:.1} MiB", count as f64 / 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_several() {
        let shown = [0, 1, 2].map(|count| counted(count, "frame"));
        assert_eq!(shown, ["0 frames", "1 frame", "2 frames"]);
    }

    #[test]
    fn every_command_stands_for_an_operation() {
        for (operation, command) in COMMANDS {
            assert!(callstack_engine::operations::find(operation).is_some(), "{operation}");
            assert!(crate::args::command().find_subcommand(command).is_some(), "{command}");
        }
        assert_eq!(
            for_a_terminal(&Hint::from("Only ").and("stack_frame_reopen").then(" does.")),
            "Only `callstack reopen` does."
        );
    }
}
