//! The lines that changed in files from one state to another.

use std::time::Instant;

use callstack_engine::FilePatch;

use crate::git::GitError;
use crate::shadow::Shadow;

/// Options with which git compares two states: only the content counts, whatever a repository configures for its
/// files.
const COMPARE: [&str; 7] = [
    "diff-tree",
    "-r",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--diff-algorithm=histogram",
];

impl Shadow {
    /// The changes of these files, in their order; those that did not change are left out.
    pub(crate) fn patches(
        &self,
        from: &str,
        to: &str,
        paths: &[String],
        until: Instant,
    ) -> Result<Vec<FilePatch>, GitError> {
        let mut patches = Vec::with_capacity(paths.len());
        for path in paths {
            let compared = |format: &'static [&str]| {
                let args = COMPARE.iter().chain(format).copied();
                let args = args.chain([from, to, "--", path.as_str()]);
                self.git_with_alternates(until).args(args).run(&[])
            };
            let counted = compared(&["--numstat", "-z"])?;
            if counted.is_empty() {
                continue;
            }
            let output = compared(&["--patch", "--unified=3"])?;
            let text = String::from_utf8_lossy(&output);
            // The lines before the first hunk name the file.
            let hunks = text.find("\n@@ ").map_or("", |at| &text[at + 1..]);
            patches.push(FilePatch {
                path: path.clone(),
                lines: lines(&counted),
                text: hunks.to_owned(),
            });
        }
        Ok(patches)
    }
}

/// Reads the numbers of lines that were added and removed in git's output in the format `--numstat -z`; none where the
/// content is no text.
fn lines(counted: &[u8]) -> Option<(usize, usize)> {
    let mut fields = counted.split(|byte| *byte == b'\t');
    let mut number = || str::from_utf8(fields.next()?).ok()?.parse().ok();
    number().zip(number())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_lines_are_read() {
        assert_eq!(lines(b"3\t1\ta.rs\0"), Some((3, 1)));
        assert_eq!(lines(b"-\t-\tlogo.png\0"), None);
        assert_eq!(lines(b""), None);
    }
}
