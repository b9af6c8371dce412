use super::Repeats;

fn stands(removed: &str, text: &str) -> bool {
    let mut repeats = Repeats::default();
    repeats.remember(removed);
    repeats.stand_in(text)
}

#[test]
fn a_long_text_is_known_whole_or_cut() {
    let removed = "The parser takes dates in <both> forms.\n- None is left out.";
    assert!(stands(
        removed,
        "- f3 completed: The parser takes dates in <both> forms. - None is left out."
    ));
    assert!(stands(
        removed,
        "> The parser takes dates in &lt;both&gt; forms.\n> - None is left out."
    ));
    assert!(stands(removed, "f3: The parser takes dates in <both> forms. None …"));
    assert!(stands(
        "The parser takes dates in both forms …",
        "The parser takes dates in both forms, too."
    ));
    assert!(!stands(removed, "f3: The parser takes dates in <both> forms. All are there."));
    assert!(!stands(removed, "f3: The parser takes …"));
}

#[test]
fn a_short_text_is_known_only_where_it_is_all_that_is_said() {
    let removed = "cargo test --workspace";
    for text in [
        "cargo test --workspace",
        "Ran:\n- cargo test --workspace\n",
        "f3 \"cargo test --workspace\" completed",
        "<title>cargo test --workspace</title>",
        "- f3 completed: cargo test --workspace",
    ] {
        assert!(stands(removed, text), "{text}");
    }
    for text in
        ["ran `cargo test --workspace` (exit 0)", "cargo test --workspace --all", "cargo", ""]
    {
        assert!(!stands(removed, text), "{text}");
    }
    assert!(stands("a\nb", "x\na\nb") && !stands("a\nb", "a\nc\nb"));
    assert!(!stands("", "anything") && !stands(" \n", "\n\n"));
}

#[test]
fn what_callstack_says_itself_makes_no_text_known() {
    let ours = "[callstack] the summary above is stored as a checkpoint of frame f3 \"A\".";
    assert!(!stands(ours, ours));
    let extracted = "Nothing was said in it.\nran cargo build --release --workspace (exit 0)";
    assert!(!stands(extracted, "Nothing was said in it.\nran make (exit 0)"));
    assert!(!stands(extracted, "Nothing was said in it. …"));
    assert!(stands(extracted, "f2: ran cargo build --release --workspace (exit 0)"));
    let summary =
        "## Progress toward the goal of the frame\nAll of the dates are read as they are now.";
    assert!(!stands(summary, "## Progress toward the goal of the frame\nNone is."));
    assert!(stands(summary, "All of the dates are read as they are now."));
}
