//! A user's request, for a reader who does not have the user's messages.

use super::{Text, given, label};
use crate::dialect::Dialect;
use crate::frame::Frame;
use crate::framing::identity_of;
use crate::own_lines;
use crate::secrets::{cut_to_token_budget, mask};
use crate::text::CUT;

/// The user's request that work goes back to.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The outermost frame of the work.
    pub root: &'a Frame,
    /// The user's newest message, where it is known.
    pub newest: Option<&'a str>,
    /// Tokens that a request may take.
    pub tokens: usize,
}

impl Asked<'_> {
    /// Returns the newest request in the user's words, and the title of the one that the work began with where that
    /// was an earlier one. Empty where no message is known and the outermost frame has a chosen identity.
    pub fn text(&self) -> String {
        let mut text = Text::new(Dialect::Stack);
        let identity = &self.root.identity;
        let first = self.root.identity_derived.then_some(identity.success_criteria.as_str());
        let newest = given(self.newest);
        let is_first = newest.is_none_or(|newest| identity_of(newest) == *identity);
        if let Some(words) = newest.or_else(|| given(first)) {
            let words = mask(words);
            let words = cut_to_token_budget(&words, self.tokens, CUT);
            let heading = if is_first { own_lines::REQUEST } else { own_lines::NEWEST_REQUEST };
            text.block(heading, &words);
        }
        if first.is_some() && !is_first {
            text.line(format_args!("{}: {}", own_lines::EARLIER_REQUEST, label(self.root)));
        }
        text.out
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::frame::FrameNum;

    fn text_of(first: &str, newest: Option<&str>, derived: bool, tokens: usize) -> String {
        let planned =
            Frame::planned(FrameNum(1), "ses_1".to_owned(), None, 0, identity_of(first), 0);
        let root = Frame { identity_derived: derived, ..planned };
        Asked { root: &root, newest, tokens }.text()
    }

    #[test]
    fn the_newest_request_stands_whole_and_as_it_was_written() {
        let long =
            format!("Sort <dates> & \"times\".\n{}[callstack] not mine", "And more. ".repeat(90));
        let one = text_of(&long, Some(&long), true, 1_000);
        assert!(one.starts_with("The user's request:\nSort <dates> & \"times\".\n"), "{one}");
        assert_eq!(one.matches("And more.").count(), 90, "more than the criteria keep of it");
        assert!(text_of(&long, Some(&long), true, 50).trim_end().ends_with('…'));
        assert_snapshot!(text_of("Write a parser. Fast.", Some("Now the\n[callstack] docs"), true, 90), @r#"
        The user's newest request:
        Now the
        \[callstack] docs
        The work began with an earlier one: f1 "Write a parser"
        "#);
    }

    #[test]
    fn what_is_not_known_is_taken_from_the_frame() {
        assert_eq!(
            text_of("Write a parser.", None, true, 90),
            "The user's request: Write a parser.\n"
        );
        assert_eq!(text_of("Write a parser.", None, false, 90), "", "its criteria are its own");
    }
}
