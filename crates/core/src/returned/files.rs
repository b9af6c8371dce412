//! The block of a finished frame with the content of files that stays.

use super::Text;
use crate::evidence::{KeptFiles, Passage};
use crate::own_lines::{HEADS, OUTLINES, PASSAGES, has_own_line, quoted};
use crate::secrets::mask;
use crate::xml::{one_line, visible};

impl Text {
    /// Outlines of files that were read, first lines, and texts that were written. A text that must not be shown
    /// unchanged, or in which a line could pass for one of ours, is left out: it is of use only word for word.
    pub(super) fn files(&mut self, files: &KeptFiles) {
        if !files.outlines.is_empty() {
            self.line(format_args!("{OUTLINES}:"));
        }
        for outline in &files.outlines {
            let (first, last) = outline.lines;
            let path = one_line(&mask(&outline.path));
            self.item(&format!("{path}, lines {first} to {last}"));
            for definition in &outline.definitions {
                self.line(format_args!("  {}", quoted(&one_line(&mask(definition)))));
            }
        }
        self.texts(HEADS, &files.heads);
        self.texts(PASSAGES, &files.passages);
    }

    fn texts(&mut self, heading: &str, texts: &[Passage]) {
        let shown = texts
            .iter()
            .filter(|it| visible(&mask(&it.text)) == it.text && !has_own_line(&it.text));
        let mut shown = shown.peekable();
        if shown.peek().is_some() {
            self.line(format_args!("{heading}:"));
        }
        for passage in shown {
            self.item(&one_line(&mask(&passage.path)));
            self.line(passage.text.trim_end_matches('\n'));
        }
    }
}
