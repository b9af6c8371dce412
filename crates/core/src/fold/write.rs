//! The operations, in the order of the transcript.

use std::collections::{HashMap, HashSet};

use crate::transcript::{FoldOp, Message, MessageKind, PartBody, Role};

use super::places::{Places, says_something};
use super::plan::{Edit, Fate, Plan};
use super::select::Chosen;
use super::{Input, Mask, Note, Placement};

pub(super) fn ops(
    places: &Places<'_>,
    folds: &[Chosen<'_>],
    plan: Plan<'_>,
    input: &Input<'_, impl AsRef<Message>>,
) -> Vec<FoldOp> {
    let mut notes = notes_in_order(places, input.notes).into_iter().peekable();
    let mut masks: HashMap<&str, Vec<&Mask>> = HashMap::new();
    for mask in input.masks {
        masks.entry(&mask.message).or_default().push(mask);
    }
    let mut stale = Stale::of(places, folds, input);
    let mut writer = Writer {
        transcript: &places.transcript,
        ops: Vec::with_capacity(3 * folds.len()),
        run: None,
        whole: HashSet::new(),
    };
    for (index, (edit, fate)) in plan.edits.into_iter().zip(plan.fates).enumerate() {
        // Operations name messages by their ids: of several with the same one they mean the first.
        if places.index_of(&places.transcript[index].id) != Some(index) {
            continue;
        }
        let stale = stale.reaches(index) || input.stale.contains(&places.transcript[index].id);
        let here = std::iter::from_fn(|| notes.next_if(|(at, _)| *at == index));
        match fate {
            Fate::Cut(fold) => {
                here.for_each(drop);
                writer.cut(index, fold);
            }
            Fate::Kept(_) => {
                here.for_each(drop);
                writer.message(index, edit, stale, &[]);
            }
            Fate::Stays => {
                let mut here: Vec<_> = here.map(|(_, note)| note).collect();
                let mut edit = edit;
                here.retain(|note| has_place(places, index, edit.as_deref(), note));
                if let Some(masks) = masks.remove(places.transcript[index].id.as_str()) {
                    mask(places, index, edit.get_or_insert_default(), &masks);
                }
                writer.message(index, edit, stale, &here);
            }
        }
    }
    writer.flush();
    writer.ops
}

fn notes_in_order<'n>(places: &Places<'_>, notes: &'n [Note]) -> Vec<(usize, &'n Note)> {
    let mut found: Vec<_> =
        notes.iter().filter_map(|note| Some((places.index_of(&note.message)?, note))).collect();
    found.sort_by_key(|(index, _)| *index);
    found
}

/// Whether a note's place is sent: a result is not if its call leaves, or if the text that a frame returned replaces
/// it.
fn has_place(places: &Places<'_>, message: usize, edit: Option<&Edit<'_>>, note: &Note) -> bool {
    let Placement::Output(call) = &note.placement else { return true };
    let Some(at) = place_of(places.transcript[message], call) else { return false };
    let Some(edit) = edit else { return true };
    edit.keep.get(at).copied().unwrap_or(true) && edit.outputs.iter().all(|(it, _)| *it != at)
}

fn place_of(message: &Message, wanted: &str) -> Option<usize> {
    message.parts.iter().position(|part| part.call().is_some_and(|call| call.id == wanted))
}

/// Replaces results of a message's calls by lines.
fn mask<'a>(places: &Places<'_>, message: usize, edit: &mut Edit<'a>, masks: &[&'a Mask]) {
    for (at, part) in places.transcript[message].parts.iter().enumerate() {
        let mask = masks.iter().find(|mask| mask.part == part.id);
        let stays = edit.keep.get(at).copied().unwrap_or(true);
        let taken = edit.outputs.iter().any(|(part, _)| *part == at);
        if let Some(mask) = mask.filter(|_| stays && !taken) {
            edit.outputs.push((at, mask.text.as_str().into()));
        }
    }
}

/// The messages that are now sent behind a different prefix than the one the model saw when it wrote them.
struct Stale {
    /// Ranges of stale messages, as the place of the first one and the place after the last, in order of the first.
    coming: std::iter::Peekable<std::vec::IntoIter<(usize, usize)>>,
    /// The place after the last such message.
    end: usize,
}

impl Stale {
    fn of(
        places: &Places<'_>,
        folds: &[Chosen<'_>],
        input: &Input<'_, impl AsRef<Message>>,
    ) -> Self {
        let end = input.stale_until.and_then(|id| places.index_of(id)).map_or(0, |last| last + 1);
        let after = |last: Option<usize>| last.map_or(places.transcript.len(), |last| last + 1);
        let mut coming = Vec::with_capacity(folds.len());
        for chosen in folds {
            for one in chosen.with_text() {
                let end = after(one.settled).max(chosen.region.end);
                coming.push((chosen.region.first, end));
            }
        }
        for mask in input.masks {
            let Some(at) = places.index_of(&mask.message) else { continue };
            let settled = mask.settled_at.as_deref().and_then(|id| places.index_of(id));
            coming.push((at + 1, after(settled)));
        }
        coming.sort_unstable();
        Self { coming: coming.into_iter().peekable(), end }
    }

    /// Whether it is so for a message; asked in order.
    fn reaches(&mut self, message: usize) -> bool {
        while let Some((_, end)) = self.coming.next_if(|(first, _)| *first <= message) {
            self.end = self.end.max(end);
        }
        message < self.end
    }
}

struct Writer<'a> {
    transcript: &'a [&'a Message],
    ops: Vec<FoldOp>,
    /// First and last message of a run that goes, and the fold with which it goes. Runs of two folds
    /// stay apart, so that the later one adds to the list and changes nothing in it.
    run: Option<(usize, usize, usize)>,
    /// Steps that are sent with their reasoning and have nothing of ours after them, so that another one can join
    /// them.
    whole: HashSet<usize>,
}

impl Writer<'_> {
    fn cut(&mut self, index: usize, fold: usize) {
        match &mut self.run {
            Some((_, last, with)) if *with == fold && *last + 1 == index => *last = index,
            _ => {
                self.flush();
                self.run = Some((index, index, fold));
            }
        }
    }

    fn flush(&mut self) {
        if let Some((first, last, _)) = self.run.take() {
            self.ops.push(FoldOp::Cut { from: self.id(first), to: self.id(last) });
        }
    }

    fn id(&self, index: usize) -> String {
        self.transcript[index].id.clone()
    }

    fn message(&mut self, index: usize, edit: Option<Box<Edit<'_>>>, stale: bool, notes: &[&Note]) {
        self.flush();
        let message = self.transcript[index];
        let edit = edit.map(|edit| *edit).unwrap_or_default();
        let Edit { keep, pointers, outputs, appended, inserted, returned: _, joins } = edit;

        let stale = stale && message.role == Role::Assistant
            // The summary was asked for by a request of its own.
            || message.standing == MessageKind::Summary;
        let stays = |part: usize| {
            keep.get(part).copied().unwrap_or(true)
                && !(stale && matches!(message.parts[part].body, PartBody::Reasoning { .. }))
        };
        let matters = |body: &PartBody| !matches!(body, PartBody::Other);
        let parts = message.parts.iter().enumerate();
        let changes = parts.clone().any(|(part, p)| !stays(part) && matters(&p.body));
        // One message for all texts at this place: a host derives its id from that of the message in front.
        let following = notes.iter().filter(|note| note.placement == Placement::Insert);
        let following = inserted.into_iter().chain(following.map(|note| note.text.as_str()));
        let following = following.collect::<Vec<_>>().join("\n\n");

        if changes && !parts.clone().any(|(part, p)| stays(part) && says_something(&p.body)) {
            self.insert(message, following);
            self.ops.push(FoldOp::Cut { from: message.id.clone(), to: message.id.clone() });
            return;
        }

        self.ops.extend(pointers.into_iter().map(|(part, text)| FoldOp::Replace {
            message: message.id.clone(),
            part: message.parts[part].id.clone(),
            text,
        }));
        if changes {
            let parts = parts.filter(|(part, _)| stays(*part)).map(|(_, p)| p.id.clone()).collect();
            self.ops.push(FoldOp::Keep { message: message.id.clone(), parts });
        }
        self.ops.extend(outputs.into_iter().map(|(part, text)| FoldOp::Output {
            message: message.id.clone(),
            part: message.parts[part].id.clone(),
            text: text.into_owned(),
        }));
        self.ops.extend(notes.iter().filter_map(|note| match &note.placement {
            Placement::Output(call) => Some(FoldOp::AddToOutput {
                message: message.id.clone(),
                part: message.parts[place_of(message, call)?].id.clone(),
                text: note.text.clone(),
            }),
            Placement::Append | Placement::Insert => None,
        }));
        let at_end = notes.iter().filter(|note| note.placement == Placement::Append);
        let at_end = at_end.filter(|_| message.role == Role::User).map(|note| note.text.clone());
        for text in appended.into_iter().map(std::borrow::Cow::into_owned).chain(at_end) {
            self.ops.push(FoldOp::Append { message: message.id.clone(), text });
        }
        if let Some(to) = joins.filter(|to| self.whole.contains(to)) {
            self.ops.push(FoldOp::Join { message: message.id.clone(), to: self.id(to) });
            if !following.is_empty() {
                self.whole.remove(&to);
            }
            self.insert(self.transcript[to], following);
            return;
        }
        if !stale && following.is_empty() {
            self.whole.insert(index);
        }
        self.insert(message, following);
    }

    fn insert(&mut self, after: &Message, text: String) {
        if !text.is_empty() {
            self.ops.push(FoldOp::Insert { after: after.id.clone(), text });
        }
    }
}
