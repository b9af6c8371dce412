//! What happens to each message.

use std::borrow::Cow;

use crate::frame::FrameNum;
use crate::transcript::PartBody;

use super::places::Places;
use super::region::Region;
use super::select::Chosen;
use super::turns::{self, Turn};
use super::wording;

/// Whether a message is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It belongs to no folded span, or holds calls that stand behind one's pop.
    Stays,
    /// It is kept of a folded span: the user's words, or the agent's closing reply.
    Kept,
    /// It goes, with the fold that has this position among those in effect.
    Cut(usize),
}

/// Changes to a message that is sent.
#[derive(Default)]
pub(super) struct Edit<'a> {
    /// Whether each part stays; empty when all do.
    pub(super) keep: Vec<bool>,
    /// Parts for which a line stands, by index.
    pub(super) pointers: Vec<(usize, String)>,
    /// Results of calls, by index of the part.
    pub(super) outputs: Vec<(usize, Cow<'a, str>)>,
    /// Texts at its end.
    pub(super) appended: Vec<Cow<'a, str>>,
    /// A message of ours behind it.
    pub(super) inserted: Option<&'a str>,
}

/// What happens to every message of a transcript.
pub(super) struct Plan<'a> {
    pub(super) fates: Vec<Fate>,
    /// Boxed, since few messages have one.
    pub(super) edits: Vec<Option<Box<Edit<'a>>>>,
}

impl<'a> Plan<'a> {
    pub(super) fn of(places: &Places<'_>, folds: &[Chosen<'a>]) -> Self {
        let messages = places.transcript.len();
        let mut plan = Self {
            fates: vec![Fate::Stays; messages],
            edits: std::iter::repeat_with(|| None).take(messages).collect(),
        };
        for (position, chosen) in folds.iter().enumerate() {
            plan.fold(places, position, chosen);
        }
        plan
    }

    fn fold(&mut self, places: &Places<'_>, position: usize, chosen: &Chosen<'a>) {
        let region = &chosen.region;
        self.fates[region.first..region.end].fill(Fate::Cut(position));

        let kept_of_pop = chosen.kept_of_pop(places);
        if let Some(pop) = region.pop.filter(|_| !kept_of_pop.is_empty()) {
            self.fates[pop.message] = Fate::Stays;
            self.keep_only(places, pop.message, &kept_of_pop);
        }
        let turns = turns::of(places, region, !kept_of_pop.is_empty());
        for turn in &turns {
            self.keep_turn(places, region, turn);
        }
        let told = self.place_text(places, region, &turns);
        for turn in turns
            .iter()
            .filter(|turn| turn.reply.is_none() && !turn.goes_on)
        {
            if let Some(user) = turn.user.filter(|&user| told != Some(user)) {
                self.edit(user)
                    .appended
                    .push(wording::taken_up(region.span.frame).into());
            }
        }
        for inner in &chosen.beside {
            if let (Some(push), Some(fold)) = (inner.push, inner.text()) {
                self.edit(push.message)
                    .outputs
                    .push((push.part, fold.text.as_str().into()));
            }
        }
        for one in chosen.with_text().filter(|one| one.in_one_step()) {
            if let Some(pop) = one.pop {
                self.all_parts(places, pop.message)[pop.part] = false;
            }
        }
    }

    fn keep_turn(&mut self, places: &Places<'_>, region: &Region<'_>, turn: &Turn) {
        if let Some(user) = turn.user.filter(|&user| user >= region.first) {
            self.fates[user] = Fate::Kept;
            self.edit(user).pointers = pointers(places, user, region.span.frame);
        }
        if let Some(reply) = turn.reply {
            self.fates[reply] = Fate::Kept;
            self.keep_only(places, reply, &turns::reply_parts(places, reply));
        }
    }

    /// Puts what the frame returned where it belongs. Answers with the user message inside the span
    /// behind which it stands, if it does.
    ///
    /// Of a span that no call opened it goes to the end of the user's next message and not into a
    /// message of its own behind the reply: two user messages in a row are refused by some chat
    /// templates, what came before stays as it was, and the next message is there whenever such a
    /// span folds and stays there as long as it does.
    fn place_text(
        &mut self,
        places: &Places<'_>,
        region: &Region<'a>,
        turns: &[Turn],
    ) -> Option<usize> {
        let text = region.text()?.text.as_str();
        if !region.pushed() {
            if let Some(next) = places.user_from(region.end) {
                self.edit(next).appended.push(text.into());
            }
            return None;
        }
        let last_said = turns.last().and_then(|turn| turn.user);
        if let Some(push) = region.push {
            let output = match last_said {
                Some(_) => wording::returned_below(region.span.frame).into(),
                None => text.into(),
            };
            self.edit(push.message).outputs.push((push.part, output));
        }
        match (last_said, region.push) {
            (Some(user), _) => self.edit(user).appended.push(text.into()),
            (None, None) => {
                if let Some(summary) = region.first.checked_sub(1) {
                    self.edit(summary).inserted = Some(text);
                }
            }
            (None, Some(_)) => {}
        }
        last_said
    }

    fn edit(&mut self, message: usize) -> &mut Edit<'a> {
        self.edits[message].get_or_insert_default()
    }

    fn all_parts(&mut self, places: &Places<'_>, message: usize) -> &mut Vec<bool> {
        let keep = &mut self.edit(message).keep;
        if keep.is_empty() {
            keep.resize(places.transcript[message].parts.len(), true);
        }
        keep
    }

    fn keep_only(&mut self, places: &Places<'_>, message: usize, parts: &[usize]) {
        let keep = self.all_parts(places, message);
        keep.fill(false);
        for &part in parts {
            keep[part] = true;
        }
    }
}

/// What stands for those parts of a user message that are not the user's words.
fn pointers(places: &Places<'_>, user: usize, frame: FrameNum) -> Vec<(usize, String)> {
    let parts = places.transcript[user].parts.iter().enumerate();
    parts
        .filter_map(|(index, part)| match &part.body {
            PartBody::Text {
                synthetic: true,
                chars,
                head,
            } if *chars > 0 => Some((index, wording::added(frame, *chars, head))),
            PartBody::File { name, mime } => Some((index, wording::attached(frame, name, mime))),
            _ => None,
        })
        .collect()
}
