use proptest::prelude::*;

use super::super::hunks::hunks;
use super::*;

/// Returns a document in a notation: `+` before lines that were added, `?` for those that are not known.
fn shown(document: &Document<'_>) -> String {
    let mut shown = String::new();
    for row in document.rows() {
        let mark = if row.is_new() { '+' } else { ' ' };
        shown.push(mark);
        shown.push_str(row.text.as_deref().unwrap_or("?"));
        shown.push('\n');
    }
    let gone: Vec<String> = document.gone().iter().map(usize::to_string).collect();
    if !gone.is_empty() {
        shown = format!("{shown}gone {}\n", gone.join(" "));
    }
    shown
}

#[test]
fn an_edit_is_found_by_its_text_and_keeps_the_lines_that_stay() {
    let mut file = Document::of("a\nb\nc\n");
    file.edit("b\n", "b\nnew\n", false).unwrap();
    assert_eq!(shown(&file), " a\n b\n+new\n c\n");
    file.edit("c", "d", false).unwrap();
    assert_eq!(shown(&file), " a\n b\n+new\n+d\ngone 2\n");
    file.edit("new\nd", "c", false).unwrap();
    file.settle();
    assert_eq!(shown(&file), " a\n b\n c\n", "what is back was never away");
    assert_eq!(file.edit("x", "y", false), Err(Unplaced));
    let mut twice = Document::of("a\na\n");
    assert_eq!(twice.edit("a", "b", false), Err(Unplaced), "one of two places");
    twice.edit("a", "b", true).unwrap();
    twice.settle();
    assert_eq!(shown(&twice), "+b\n+b\ngone 0 1\n");
}

#[test]
fn an_edit_is_found_in_the_lines_that_are_known() {
    let mut file = Document::default();
    for (at, line) in ["one", "two", "three"].into_iter().enumerate() {
        assert!(file.learn(10 + at, line));
    }
    file.edit("two\n", "", false).unwrap();
    assert_eq!(file.gone(), [11]);
    assert_eq!(file.rows().len(), 12);
    assert_eq!(
        file.edit("three\n", "three and", false),
        Err(Unplaced),
        "what is behind is not known"
    );
    assert!(!file.learn(10, "other"), "it holds something else");
    assert!(file.learn(12, "four"));
    assert_eq!(file.rows()[12].was, Some(13));
}

#[test]
fn hunks_give_places_and_the_lines_around_them() {
    let diff = "@@ -3,3 +3,4 @@\n a\n-b\n+c\n+d\n e\n";
    let known = hunks(diff);
    let mut file = Document::default();
    file.patch(&known, "\t").unwrap();
    assert_eq!(shown(&file), " ?\n ?\n \ta\n+\tc\n+\td\n \te\ngone 3\n");
    assert_eq!(file.old_rows()[3], Some("\tb"));
    let mut other = Document::of("x\ny\nz\n");
    assert_eq!(other.patch(&known, ""), Err(Unplaced), "it is another file");
    assert_eq!(shown(&other), " x\n y\n z\n");
}

#[test]
fn a_piece_is_marked_where_it_stands_once() {
    let mut file = Document::of("fn a() {\n    one();\n}\nfn b() {\n    two();\n}\n");
    assert!(!file.mark(&Document::piece("two();", "two();\n    three();")), "it is not there");
    let mut file = Document::of("fn b() {\n    two();\n    three();\n}\n");
    assert!(file.mark(&Document::piece("two();", "two();\n    three();")));
    assert_eq!(shown(&file), " fn b() {\n     two();\n+    three();\n }\n");
    assert!(!Document::of("a\na\n").mark(&Document::piece("b", "a")), "one of two places");
}

#[derive(Clone, Debug)]
struct Change {
    from: usize,
    count: usize,
    lines: Vec<String>,
}

fn changes() -> impl Strategy<Value = (Vec<String>, Vec<Change>)> {
    let line = || "[abc]{1,2}";
    let change = (0_usize..12, 0_usize..4, prop::collection::vec(line(), 0..4))
        .prop_map(|(from, count, lines)| Change { from, count, lines });
    (prop::collection::vec(line(), 0..12), prop::collection::vec(change, 0..8))
}

/// The numbers of lines that are not there before, by the longest common lines of both.
fn model(before: &[String], after: &[String]) -> usize {
    let mut common = vec![vec![0_usize; after.len() + 1]; before.len() + 1];
    for (at, one) in before.iter().enumerate() {
        for (place, other) in after.iter().enumerate() {
            common[at + 1][place + 1] = if one == other {
                common[at][place] + 1
            } else {
                common[at][place + 1].max(common[at + 1][place])
            };
        }
    }
    common[before.len()][after.len()]
}

proptest! {
    #[test]
    fn after_any_edits_rows_are_the_file_and_its_lines_have_their_old_places((before, changes) in changes()) {
        let text = before.join("\n");
        let mut file = Document::of(&text);
        let first: Vec<String> = text.lines().map(str::to_owned).collect();
        let mut now = first.clone();
        for change in &changes {
            let from = change.from.min(now.len());
            let to = (from + change.count).min(now.len());
            now.splice(from..to, change.lines.iter().cloned());
            file.replace(from, to - from, change.lines.iter().cloned().map(Cow::Owned).collect());
        }
        file.settle();
        let rows: Vec<&str> = file.rows().iter().map(|row| row.text.as_deref().unwrap()).collect();
        prop_assert_eq!(&rows, &now);
        let was: Vec<usize> = file.rows().iter().filter_map(|row| row.was).collect();
        prop_assert!(was.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", was);
        for row in file.rows() {
            if let Some(was) = row.was {
                prop_assert_eq!(row.text.as_deref(), Some(first[was].as_str()));
            }
        }
        let mut all: Vec<usize> = was.iter().chain(file.gone()).copied().collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..first.len()).collect::<Vec<_>>(), "each line stays or goes");
        prop_assert!(was.len() <= model(&first, &now));
    }

    #[test]
    fn hunks_of_a_file_that_nobody_read_give_the_same_ranges((before, changes) in changes()) {
        let text = before.join("\n");
        let first: Vec<String> = text.lines().map(str::to_owned).collect();
        let mut known = Document::of(&text);
        let mut unknown = Document::default();
        let mut now = first;
        let diffs: Vec<Vec<Hunk>> = changes.iter().map(|change| {
            let from = change.from.min(now.len());
            let to = (from + change.count).min(now.len());
            let old: Vec<String> = now.splice(from..to, change.lines.iter().cloned()).collect();
            let mut lines: Vec<HunkLine> = old.into_iter().map(HunkLine::Removed).collect();
            lines.extend(change.lines.iter().cloned().map(HunkLine::Added));
            vec![Hunk { skipped: from, lines }]
        }).collect();
        for diff in &diffs {
            known.patch(diff, "").unwrap();
            unknown.patch(diff, "").unwrap();
        }
        let new = |of: &Document<'_>| -> Vec<usize> {
            of.rows().iter().enumerate().filter(|(_, row)| row.is_new()).map(|(at, _)| at).collect()
        };
        prop_assert_eq!(new(&known), new(&unknown));
        prop_assert_eq!(known.gone(), unknown.gone());
    }
}
