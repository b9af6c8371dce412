use super::*;

fn read(path: &str, call: &str, output: &str) -> Subject {
    Subject::read(path, hash(call), output)
}

/// Outputs of one message after the other, outside of any open frame.
fn answers(subjects: &[Subject]) -> Vec<bool> {
    let shown = subjects.iter().enumerate();
    let shown: Vec<OutputSubject> =
        shown.map(|(at, it)| OutputSubject { subject: Some(*it), at, frame: 0 }).collect();
    replaced(&shown)
}

const WHOLE: &str = "<file>\n1: a\n2: b\n3: c\n(End of file)";
const TAIL: &str = "     2→b\n     3→c";

#[test]
fn the_same_lines_read_again_replace_what_was_read() {
    assert_eq!(answers(&[read("a", "whole", WHOLE), read("a", "again", WHOLE)]), [true, false]);
    assert_eq!(answers(&[read("a", "tail", TAIL), read("a", "whole", WHOLE)]), [true, false]);
    assert_eq!(answers(&[read("a", "whole", WHOLE), read("a", "tail", TAIL)]), [false, false]);
    assert_eq!(answers(&[read("a", "whole", WHOLE), read("b", "whole", WHOLE)]), [false, false]);
}

#[test]
fn without_line_numbers_only_the_same_call_replaces() {
    assert_eq!(answers(&[read("a", "x", "text"), read("a", "x", "other")]), [true, false]);
    assert_eq!(answers(&[read("a", "x", "text"), read("a", "y", "text")]), [false, false]);
}

#[test]
fn a_file_that_is_written_whole_and_a_call_made_again_replace_what_was_shown() {
    let test = Subject::called("bash", "make test");
    assert_eq!(
        answers(&[
            read("a", "x", WHOLE),
            test,
            Subject::written("a"),
            Subject::called("bash", "ls"),
            test
        ]),
        [true, true, false, false, false]
    );
}

#[test]
fn what_leaves_with_an_open_frame_replaces_nothing_in_front_of_it() {
    let whole = Some(read("a", "x", WHOLE));
    let shown = |at, frame| OutputSubject { subject: whole, at, frame };
    assert_eq!(replaced(&[shown(1, 0), shown(4, 3)]), [false, false]);
    assert_eq!(replaced(&[shown(1, 0), shown(4, 3), shown(5, 3)]), [false, true, false]);
    assert_eq!(replaced(&[shown(1, 0), shown(4, 3), shown(6, 0)]), [true, true, false]);
}

#[test]
fn a_call_says_what_it_shows() {
    use crate::evidence::Edit;
    let call = |action, edits| ToolCall {
        action,
        edits,
        output: Some(WHOLE.to_owned()),
        ..ToolCall::default()
    };
    let edit = |before: Option<&str>| Edit {
        path: "a".to_owned(),
        before: before.map(str::to_owned),
        after: "x".to_owned(),
        ..Edit::default()
    };
    let wrote = || Action::Wrote(vec!["a".to_owned()]);
    assert_eq!(Subject::of(&call(wrote(), vec![edit(None)])), Subject::written("a"));
    assert!(matches!(Subject::of(&call(wrote(), vec![edit(Some("y"))])), Subject::Called(_)));
    let read = Subject::of(&call(Action::Read("a".to_owned()), Vec::new()));
    assert!(matches!(read, Subject::Read { lines: Some((1, 3)), .. }), "{read:?}");
}
