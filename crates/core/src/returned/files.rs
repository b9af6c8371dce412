//! The block of a finished frame with the content of files that stays.

use super::{MARK, Text};
use crate::evidence::{KeptFiles, Passage};
use crate::secrets::mask;
use crate::xml::{one_line, visible};

impl Text {
    /// Outlines of files that were read, first lines, and texts that were written. A text that must not be shown
    /// unchanged, or in which a line could pass for one of ours, is left out: it is of use only word for word.
    pub(super) fn files(&mut self, files: &KeptFiles) {
        if !files.outlines.is_empty() {
            self.line("Read and not changed (line: definition):");
        }
        for outline in &files.outlines {
            let (first, last) = outline.lines;
            self.line(format_args!(
                "- {}, lines {first} to {last}",
                one_line(&mask(&outline.path))
            ));
            for definition in &outline.definitions {
                self.line(format_args!("  {}", one_line(&mask(definition))));
            }
        }
        self.texts("First lines of files, as they stood then:", &files.heads);
        self.texts("Text that was written last, as it stood then:", &files.passages);
    }

    fn texts(&mut self, heading: &str, texts: &[Passage]) {
        let is_ours = |line: &str| line.trim_start().starts_with(MARK);
        let shown = texts
            .iter()
            .filter(|it| visible(&mask(&it.text)) == it.text && !it.text.lines().any(is_ours));
        let mut shown = shown.peekable();
        if shown.peek().is_some() {
            self.line(heading);
        }
        for passage in shown {
            let (path, text) =
                (one_line(&mask(&passage.path)), passage.text.trim_end_matches('\n'));
            self.line(format_args!("- {path}\n{text}"));
        }
    }
}
