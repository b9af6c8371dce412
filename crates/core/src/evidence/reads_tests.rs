use super::*;

fn read(input: &str, output: &str) -> String {
    let action = Action::Read("/app/src/a.rs".to_owned());
    let call = ToolCall {
        action,
        input: input.into(),
        output: Some(output.to_owned()),
        ..ToolCall::default()
    };
    of(&call)
}

fn ran(command: &str, output: &str) -> String {
    let action = Action::Ran(command.to_owned());
    of(&ToolCall { action, exit: Some(0), output: Some(output.to_owned()), ..ToolCall::default() })
}

fn of(call: &ToolCall) -> String {
    shown(call, "/app").iter().map(|file| file.read().summary()).collect::<Vec<_>>().join("; ")
}

#[test]
fn what_was_read_of_a_file_is_given_by_its_lines() {
    let file = "<path>/app/src/a.rs</path>\n<content>\n1: one\n2: two\n\n(End of file - total 2 lines)\n</content>";
    assert_eq!(read("/app/src/a.rs", file), "src/a.rs");
    let part = "<content>\n1: one\n2: two\n\n(File has more lines. Use 'offset' parameter to read beyond line 2)";
    assert_eq!(read("/app/src/a.rs", part), "src/a.rs lines 1-2");
    assert_eq!(
        read("/app/src/a.rs\n66\n2", "<content>\n66: one\n67: two\n"),
        "src/a.rs lines 66-67"
    );
    assert_eq!(read("/app/src/a.rs", "     1\tone\n     2\ttwo"), "src/a.rs");
    assert_eq!(read("/app/src/a.rs\n1\n2", "     1\tone\n     2\ttwo"), "src/a.rs lines 1-2");
    assert_eq!(read("/app/src/a.rs", "not numbered"), "src/a.rs");
    assert_eq!(read("/app/src", "<type>directory</type>\n1: a"), "");
}

#[test]
fn what_commands_print_is_read_too() {
    assert_eq!(ran("cat src/a.rs /app/b.toml && ls", "x"), "src/a.rs; b.toml");
    assert_eq!(ran("sed -n '12,40p' src/a.rs", "x\ny"), "src/a.rs lines 12-13");
    assert_eq!(ran("head -20 CHANGELOG.md; true", "x"), "CHANGELOG.md lines 1-20");
    for other in [
        "cat a.rs | head",
        "cat > a.rs <<EOF\nx\nEOF",
        "sed -i s/a/b/ a.rs",
        "sed -n /x/p a.rs",
        "cat $FILE.rs",
    ] {
        assert_eq!(ran(other, "x"), "", "{other}");
    }
}

#[test]
fn lines_that_were_read_in_several_pieces_are_joined() {
    let piece =
        |lines| FileRead { path: "a".to_owned(), lines: vec![lines], ..FileRead::default() };
    let mut file = piece((5, 9));
    for lines in [(20, 30), (10, 12), (28, 40)] {
        file.and(piece(lines));
    }
    assert_eq!(file.summary(), "a lines 5-12, 20-40");
    file.and(FileRead { whole: true, lines: vec![], ..piece((0, 0)) });
    assert_eq!(file.summary(), "a");
    let mut file = piece((1, 20));
    file.and(FileRead { to_end: true, ..piece((31, 40)) });
    assert_eq!(file.summary(), "a lines 1-20, 31-40");
    file.and(piece((18, 30)));
    assert_eq!(file.summary(), "a", "its last line is known");
}
