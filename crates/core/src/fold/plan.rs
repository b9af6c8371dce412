//! The fate of each message.

use std::borrow::Cow;
use std::ops::Range;

use crate::frame::FrameNum;
use crate::transcript::{PartBody, Span};

use super::places::{Places, agent_speaks};
use super::region::{Region, frame_at};
use super::select::Chosen;
use super::user_turns;
use super::wording;

/// Whether a message is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It belongs to no folded span, or holds calls after a span's pop.
    Stays,
    /// It is kept of a folded span, the one at this position among those in effect: the user's words,
    /// or the agent's closing reply.
    Kept(usize),
    /// It goes with the span at this position.
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
    /// Whether one of them is the text of a frame that this very message returned.
    pub(super) returned: bool,
    /// A message of ours after it.
    pub(super) inserted: Option<&'a str>,
    /// The step that it joins, where that is sent with its reasoning.
    pub(super) joins: Option<usize>,
}

/// The fate of every message of a transcript.
pub(super) struct Plan<'a> {
    pub(super) fates: Vec<Fate>,
    /// Boxed, since few messages have one.
    pub(super) edits: Vec<Option<Box<Edit<'a>>>>,
}

impl<'a> Plan<'a> {
    pub(super) fn of(places: &Places<'_>, folds: &[Chosen<'a>], spans: &[Span]) -> Self {
        let messages = places.transcript.len();
        let mut plan = Self {
            fates: vec![Fate::Stays; messages],
            edits: std::iter::repeat_with(|| None).take(messages).collect(),
        };
        for (position, chosen) in folds.iter().enumerate() {
            plan.fold(places, position, chosen);
            plan.leave_the_opener(places, &chosen.region, spans);
        }
        plan.mark_broken_turns(places, folds);
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
        let turns = user_turns::inside(places, region);
        for &user in &turns.users {
            self.fates[user] = Fate::Kept(position);
            self.leave_additions(places, user, is_of_host, region.span.frame);
        }
        for &reply in &turns.replies {
            self.fates[reply] = Fate::Kept(position);
            self.keep_only(places, reply, &user_turns::reply_parts(places, reply));
        }
        if turns.users.is_empty() && turns.replies.is_empty() {
            self.join_the_pushs_step(places, region, &kept_of_pop);
        }
        self.place_text(places, region, turns.users.last().copied());
        for inner in &chosen.beside {
            if let Some(push) = inner.push {
                let output = wording::ended_inside(inner.span.frame, region.span.frame);
                self.edit(push.message).outputs.push((push.part, output.into()));
            }
        }
        self.leave_the_pushs_step(places, chosen);
        for one in chosen.with_push().filter(|one| one.in_one_step()) {
            if let Some(pop) = one.pop {
                self.all_parts(places, pop.message)[pop.part] = false;
            }
        }
    }

    /// Replaces the host's additions to the message with which a turn began by lines. A picture stays: nobody could
    /// look at it in the log.
    fn leave_the_opener(&mut self, places: &Places<'_>, region: &Region<'_>, spans: &[Span]) {
        let Some(opener) = region.opener(places) else { return };
        let leaves = |body: &PartBody| match body {
            PartBody::File { mime, .. } => is_text(mime),
            body => is_of_host(body),
        };
        if places.transcript[opener].parts.iter().any(|part| leaves(&part.body)) {
            let frame = frame_at(places, spans, opener).unwrap_or(region.span.frame);
            self.leave_additions(places, opener, leaves, frame);
        }
    }

    /// Takes the calls after the push, up to the pop, out of the push's step. Words stay: some providers are sent all
    /// words of a step, and all unsigned reasoning, before its calls, where they are part of what leads to the push.
    /// Signed reasoning is bound to everything before it.
    fn leave_the_pushs_step(&mut self, places: &Places<'_>, chosen: &Chosen<'_>) {
        let region = &chosen.region;
        let Some(push) = region.push.filter(|_| region.takes_calls()) else { return };
        let parts = &places.transcript[push.message].parts;
        let pop = region.pop.filter(|pop| pop.message == push.message).map(|pop| pop.part);
        let end = pop.unwrap_or(parts.len());
        let first = pop.map_or(push.part, |pop| pop.min(push.part)) + 1;
        let leaves = |at: usize, body: &PartBody| match body {
            PartBody::Tool(_) => (push.part + 1..end).contains(&at) && !chosen.spared.contains(&at),
            PartBody::Reasoning { sealed } => *sealed && at >= first,
            PartBody::Text { .. } | PartBody::File { .. } | PartBody::Other => false,
        };
        let gone = parts.iter().enumerate().filter(|(at, part)| leaves(*at, &part.body));
        let gone: Vec<_> = gone.map(|(at, _)| at).collect();
        if gone.is_empty() {
            return;
        }
        let keep = self.all_parts(places, push.message);
        for part in gone {
            keep[part] = false;
        }
    }

    /// Moves the calls after the pop into the push's step. The pop's step is sent without its reasoning, and some
    /// providers refuse a request whose last step does not begin with reasoning; the push's step has some, after the
    /// same prefix as before. Words would end up before the push.
    fn join_the_pushs_step(&mut self, places: &Places<'_>, region: &Region<'_>, kept: &[usize]) {
        let (Some(push), Some(pop)) = (region.push, region.pop) else { return };
        let parts = &places.transcript[pop.message].parts;
        let is_call = |at: &usize| matches!(parts[*at].body, PartBody::Tool(_));
        let reasons = |body: &PartBody| matches!(body, PartBody::Reasoning { .. });
        let thought = parts.iter().any(|part| reasons(&part.body));
        if kept.is_empty() || !kept.iter().all(is_call) || !thought || !region.joins_calls() {
            return;
        }
        // The step of the push may have joined another one itself.
        let joins = self.edits[push.message].as_ref().and_then(|edit| edit.joins);
        let to = joins.unwrap_or(push.message);
        let mut read = places.transcript[to].parts.iter().map(|part| &part.body);
        if read.find(|body| !matches!(body, PartBody::Other)).is_some_and(reasons) {
            self.edit(pop.message).joins = Some(to);
        }
    }

    /// Puts the returned text in its place; `last_said` is the user's last message in it.
    ///
    /// The text of a span that no call opened goes to the end of the user's next message, and not into a message of
    /// its own after the reply: some chat templates refuse two user messages in a row, everything before it stays as
    /// it was, and the next message is there whenever such a span folds and as long as it does.
    fn place_text(&mut self, places: &Places<'_>, region: &Region<'a>, last_said: Option<usize>) {
        let Some(text) = region.text().map(|fold| fold.text.as_str()) else {
            return;
        };
        if !region.pushed() {
            if let Some(next) = places.user_from(region.end) {
                self.edit(next).appended.push(text.into());
            }
            return;
        }
        if let Some(push) = region.push {
            let output = match last_said {
                Some(_) => wording::returned_below(region.span.frame).into(),
                None => text.into(),
            };
            self.edit(push.message).outputs.push((push.part, output));
        }
        if let Some(user) = last_said {
            let edit = self.edit(user);
            edit.appended.push(text.into());
            edit.returned = true;
        } else if let Some(summary) = region.first.checked_sub(1).filter(|_| region.push.is_none())
        {
            self.edit(summary).inserted = Some(text);
        }
    }

    /// Marks each user message after which nothing of the agent is left because of folds, so that it does not look
    /// ignored.
    fn mark_broken_turns(&mut self, places: &Places<'_>, folds: &[Chosen<'_>]) {
        let mut user = places.user_from(0);
        while let Some(message) = user {
            let next = places.user_from(message + 1);
            let turn = message + 1..next.unwrap_or(places.transcript.len());
            if let Some(fold) = self.folded_to_nothing(places, message, turn) {
                let frame = folds[fold].region.span.frame;
                self.edit(message).appended.push(wording::taken_up(frame).into());
            }
            user = next;
        }
    }

    /// The fold that took the turn of a user message, when it left nothing.
    fn folded_to_nothing(
        &self,
        places: &Places<'_>,
        user: usize,
        mut turn: Range<usize>,
    ) -> Option<usize> {
        let took = match self.fates[user] {
            Fate::Kept(fold) => Some(fold),
            _ => turn.clone().find_map(|message| match self.fates[message] {
                Fate::Cut(fold) => Some(fold),
                _ => None,
            }),
        };
        let returned = self.edits[user].as_ref().is_some_and(|edit| edit.returned);
        let answered = returned
            || turn.any(|message| {
                let stays = !matches!(self.fates[message], Fate::Cut(_));
                stays && agent_speaks(places.transcript[message])
            });
        took.filter(|_| !answered)
    }

    /// Replaces the parts of a user message that leave by lines. Content that the host read from an attached file
    /// goes with the file: one line is enough for both.
    fn leave_additions(
        &mut self,
        places: &Places<'_>,
        user: usize,
        leaves: impl Fn(&PartBody) -> bool,
        frame: FrameNum,
    ) {
        let parts = &places.transcript[user].parts;
        let leaving = || parts.iter().enumerate().filter(|(_, part)| leaves(&part.body));
        let file = leaving().any(|(_, part)| matches!(part.body, PartBody::File { .. }));
        let line = |body: &PartBody| match body {
            PartBody::Text { chars, head, .. } if *chars > 0 && !file => {
                Some(wording::added(frame, *chars, head))
            }
            PartBody::File { name, mime } => Some(wording::attached(frame, name, mime)),
            _ => None,
        };
        let pointers = leaving().filter_map(|(at, part)| Some((at, line(&part.body)?)));
        self.edit(user).pointers = pointers.collect();
        if file {
            let keep = self.all_parts(places, user);
            for (at, part) in leaving() {
                keep[at] &= !matches!(part.body, PartBody::Text { .. });
            }
        }
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

/// Whether it is none of the user's words: a file, or a text that the host made.
fn is_of_host(body: &PartBody) -> bool {
    matches!(body, PartBody::File { .. } | PartBody::Text { synthetic: true, .. })
}

/// Whether a file can be read as text.
fn is_text(mime: &str) -> bool {
    let pictures = ["image/", "audio/", "video/", "application/pdf"];
    !pictures.iter().any(|kind| mime.starts_with(kind))
}
