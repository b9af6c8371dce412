//! Unified diffs that hosts give with an edit: its place in the file.

/// A stretch of a file that an edit touched, with the lines around it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// The number of lines of the new file before it.
    pub skipped: usize,
    /// Its lines in order.
    pub lines: Vec<HunkLine>,
}

/// A line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HunkLine {
    /// It was there before and still is.
    Kept(String),
    /// It was taken out.
    Removed(String),
    /// It was put in.
    Added(String),
}

/// The hunks of a unified diff of one file; none where it is not one.
pub fn hunks(diff: &str) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    let mut left = (0, 0);
    for line in diff.lines() {
        if left == (0, 0) {
            let Some((old, new)) = header(line) else { continue };
            // A side without lines has the number of the line before it.
            let skipped = if new.1 == 0 { new.0 } else { new.0.saturating_sub(1) };
            hunks.push(Hunk { skipped, lines: Vec::new() });
            left = (old.1, new.1);
            continue;
        }
        let Some(hunk) = hunks.last_mut() else { continue };
        let (mark, text) = line.split_at_checked(1).unwrap_or((" ", ""));
        let taken = match mark {
            " " => (1, 1),
            "-" => (1, 0),
            "+" => (0, 1),
            // That the last line has no end is no line.
            "\\" => continue,
            _ => return Vec::new(),
        };
        let (Some(old), Some(new)) =
            (usize::checked_sub(left.0, taken.0), usize::checked_sub(left.1, taken.1))
        else {
            return Vec::new();
        };
        left = (old, new);
        let text = text.to_owned();
        hunk.lines.push(match mark {
            "-" => HunkLine::Removed(text),
            "+" => HunkLine::Added(text),
            _ => HunkLine::Kept(text),
        });
    }
    if left == (0, 0) { hunks } else { Vec::new() }
}

/// First line and number of lines on both sides, of a line such as `@@ -112,9 +112,10 @@`.
fn header(line: &str) -> Option<((usize, usize), (usize, usize))> {
    let (sides, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = sides.split_once(" +")?;
    let side = |text: &str| {
        let (first, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((first.parse().ok()?, count.parse().ok()?))
    };
    Some((side(old)?, side(new)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_lines_of_each_hunk_are_read() {
        let diff = "Index: a.rs\n====\n--- a.rs\n+++ a.rs\n@@ -3,3 +3,4 @@ fn one\n a\n-b\n+c\n+d\n e\n\
                    @@ -20,0 +22 @@\n+last\n\\ No newline at end of file\n";
        let kept = |text: &str| HunkLine::Kept(text.to_owned());
        let added = |text: &str| HunkLine::Added(text.to_owned());
        let removed = HunkLine::Removed("b".to_owned());
        let first = vec![kept("a"), removed, added("c"), added("d"), kept("e")];
        let wanted =
            [Hunk { skipped: 2, lines: first }, Hunk { skipped: 21, lines: vec![added("last")] }];
        assert_eq!(hunks(diff), wanted);
        assert_eq!(
            hunks("@@ -4 +3,0 @@\n-b\n"),
            [Hunk { skipped: 3, lines: vec![HunkLine::Removed("b".to_owned())] }]
        );
    }

    #[test]
    fn what_is_not_whole_is_no_diff() {
        for text in
            ["", "-x\n+y", "@@ -1,2 +1,2 @@\n a\n", "@@ -1 +1 @@\n-a\n*b\n", "@@ -x +1 @@\n"]
        {
            assert_eq!(hunks(text), [], "{text}");
        }
    }
}
