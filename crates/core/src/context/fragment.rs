//! One frame as an element, whole or shortened to the room that there is.

use std::borrow::Cow;

use crate::dialect::Dialect;
use crate::frame::{Frame, FrameNum, Identity};
use crate::secrets::mask;
use crate::text::{
    CUT, UNITS_PER_TOKEN, cap, estimate_units, estimate_units_to, first_sentence, first_words,
    truncate_to_units,
};
use crate::xml::{Tag, XmlWriter, escape_content};

use super::Stated;
use super::score::shown_results;

/// The relation of a frame to the reader's; it determines which parts are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// An ancestor that many levels up.
    Ancestor(usize),
    /// Beside, finished.
    Sibling,
    /// Beside, finished, its results readable above.
    SiblingAbove,
    /// The frame itself.
    Current,
}

/// The way in which a frame is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    pub(super) relation: Relation,
    pub(super) dialect: Dialect,
    /// Where the reader finds its purpose, if not here.
    pub(super) stated: Option<Stated>,
}

/// Knowledge about a frame that the frame itself does not hold.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Beside<'a> {
    /// The evidence of the work in it.
    pub(super) seen: &'a str,
    /// Changes since its end. They stand before the results, where no budget cuts them off.
    pub(super) since: &'a str,
}

impl Beside<'_> {
    fn results<'f>(&self, frame: &'f Frame) -> Cow<'f, str> {
        match shown_results(frame).unwrap_or_default() {
            results if self.since.is_empty() => Cow::Borrowed(results),
            results => Cow::Owned([self.since, results].join(" ")),
        }
    }
}

/// Lines of XML and their cost.
#[derive(Clone, Debug)]
pub(super) struct Fragment {
    pub(super) xml: String,
    pub(super) units: usize,
    pub(super) truncated: bool,
}

/// No field is worth a tag with less text than this.
const LEAST_TEXT: usize = 3 * UNITS_PER_TOKEN;

/// Bytes of a text that are read for each token that there is room for: prose has 5.
const BYTES_PER_TOKEN: usize = 7;

/// A title that costs no more is shown whole, if at all possible.
const TITLE: usize = 20 * UNITS_PER_TOKEN;

struct Field {
    tag: &'static str,
    /// Whether the frame is not worth showing without it.
    is_key: bool,
    /// Escaped.
    text: String,
    /// Its share of the room, when there is too little.
    weight: usize,
    truncated: bool,
    /// Of a decision or a pin: its frame, and the frame in which it holds, with all frames below.
    holds: Option<(FrameNum, FrameNum)>,
}

/// `frame` in at most `limit` units; none if not even its title fits.
pub(super) fn fragment(
    frame: &Frame,
    beside: Beside<'_>,
    manner: Manner,
    limit: usize,
) -> Option<Fragment> {
    if manner.relation == Relation::SiblingAbove {
        return one_line(frame, beside, manner.dialect, limit);
    }
    let fields = match manner.dialect {
        Dialect::Stack => fields(frame, beside, manner, limit),
        Dialect::Flame => flame_fields(frame, beside, manner, limit),
    };
    if fields.is_empty() {
        return empty(frame, manner).filter(|empty| empty.units <= limit);
    }
    let cut_before = fields.iter().any(|field| field.truncated);
    let lines: Vec<_> = fields
        .iter()
        .map(|field| line(field, &field.text, field.truncated, manner, limit))
        .collect();
    let costs: Vec<_> = lines.iter().map(|(_, units)| *units).collect();
    let whole: usize = costs.iter().sum();
    if whole <= limit {
        let xml = lines.iter().map(|(xml, _)| xml.as_str());
        let whole = assemble(frame, manner, cut_before, xml, whole);
        if whole.units <= limit {
            return Some(whole);
        }
    }
    let frame_tags = assemble(frame, manner, true, std::iter::empty(), 0).units;
    let room = limit.checked_sub(frame_tags)?;
    let mut spare = 0;
    let mut kept = String::new();
    let mut spent = 0;
    for ((field, (xml, units)), share) in
        fields.iter().zip(lines).zip(shares(&fields, &costs, room))
    {
        let allowed = share + spare;
        let shown = if units <= allowed {
            Some((xml, units))
        } else {
            shortened_line(field, manner, allowed)
        };
        if shown.is_none() && field.is_key {
            return None;
        }
        let (xml, units) = shown.unwrap_or_default();
        spare = allowed - units;
        spent += units;
        kept.push_str(&xml);
    }
    Some(assemble(frame, manner, true, std::iter::once(kept.as_str()), spent))
}

/// Returns the cost that each field may have of `room`: its whole cost where that is less than its share by weight (a
/// title's: where it is at most half, or short), and else its share of the rest.
fn shares(fields: &[Field], costs: &[usize], room: usize) -> Vec<usize> {
    let mut shares: Vec<Option<usize>> = vec![None; fields.len()];
    let mut left = room;
    let mut weights: usize = fields.iter().map(|field| field.weight).sum();
    let mut settled = true;
    while settled {
        settled = false;
        for ((share, field), cost) in shares.iter_mut().zip(fields).zip(costs) {
            let by_weight = left * field.weight / weights.max(1);
            let fair = if field.is_key { (left / 2).max(left.min(TITLE)) } else { by_weight };
            if share.is_none() && *cost <= fair {
                *share = Some(*cost);
                left -= cost;
                weights -= field.weight;
                settled = true;
            }
        }
    }
    let by_weight = |field: &Field| left * field.weight / weights.max(1);
    shares
        .iter()
        .zip(fields)
        .map(|(share, field)| share.unwrap_or_else(|| by_weight(field)))
        .collect()
}

fn level(relation: Relation) -> usize {
    if relation == Relation::Current { 1 } else { 2 }
}

/// The fields of a frame, each as far as it can be shown.
struct Fields {
    fields: Vec<Field>,
    max_bytes: usize,
}

impl Fields {
    fn within(limit: usize) -> Self {
        let tokens = limit / UNITS_PER_TOKEN;
        let max_bytes = tokens.saturating_mul(BYTES_PER_TOKEN).saturating_add(256);
        Self { fields: Vec::with_capacity(6), max_bytes }
    }

    fn key(&mut self, tag: &'static str, text: &str, weight: usize) {
        self.put(tag, text, weight, true);
    }

    fn add(&mut self, tag: &'static str, text: &str, weight: usize) {
        if !text.trim().is_empty() {
            self.put(tag, text, weight, false);
        }
    }

    fn put(&mut self, tag: &'static str, text: &str, weight: usize, is_key: bool) {
        let text = mask(text.trim());
        let capped = cap(&text, self.max_bytes);
        let truncated = capped.len() < text.len();
        let mut escaped = escape_content(capped).into_owned();
        if truncated {
            escaped.push_str(CUT);
        }
        self.fields.push(Field { tag, is_key, text: escaped, weight, truncated, holds: None });
    }

    /// They outlive the frame: once it is over, they hold for the frames beside it, too.
    fn decisions(&mut self, frame: &Frame, relation: Relation) {
        let before = self.fields.len();
        self.add("decisions", &joined(frame.taken(), "; ", self.max_bytes), 2);
        let around = frame.parent.filter(|_| relation == Relation::Sibling);
        if let Some(field) = self.fields.get_mut(before) {
            field.holds = Some((frame.num, around.unwrap_or(frame.num)));
        }
    }

    /// Adds the facts that the frame was given for its work, but neither those of a sibling, whose work is over, nor
    /// where the prompt repeats them.
    fn facts(&mut self, frame: &Frame, manner: Manner) {
        if manner.relation != Relation::Sibling && manner.stated != Some(Stated::Prompt) {
            self.add("context", &joined(frame.facts(), "\n", self.max_bytes), 4);
        }
    }

    fn artifacts(&mut self, frame: &Frame) {
        let artifacts = frame.artifacts.iter().map(|artifact| artifact.path.as_str());
        self.add("artifacts", &joined(artifacts, ", ", self.max_bytes), 2);
    }
}

/// Returns the weights of a frame's purpose and of its results: in an open frame the purpose matters more than the
/// results so far.
fn weights(relation: Relation) -> (usize, usize) {
    if relation == Relation::Sibling { (0, 6) } else { (6, 3) }
}

fn fields(frame: &Frame, beside: Beside<'_>, manner: Manner, limit: usize) -> Vec<Field> {
    let mut fields = Fields::within(limit);
    let Manner { relation, stated, .. } = manner;
    let (aim, outcome) = weights(relation);
    let identity = &frame.identity;
    let compacted = identity.success_criteria_compacted.trim();
    let criteria = match relation {
        Relation::Ancestor(2..) if !compacted.is_empty() => compacted,
        _ => identity.success_criteria.as_str(),
    };
    if stated.and_then(Stated::pointer).is_none() {
        fields.key("title", &one_line_of(&identity.title, fields.max_bytes), 2);
    }
    if relation != Relation::Sibling && stated.is_none() {
        fields.add("success-criteria", criteria, aim);
    }
    fields.facts(frame, manner);
    fields.add("results", &beside.results(frame), outcome);
    fields.decisions(frame, relation);
    fields.artifacts(frame);
    fields.add("evidence", beside.seen, 1);
    fields.fields
}

fn flame_fields(frame: &Frame, beside: Beside<'_>, manner: Manner, limit: usize) -> Vec<Field> {
    let mut fields = Fields::within(limit);
    let (aim, outcome) = weights(manner.relation);
    match manner.stated {
        None => fields.key("goal", &goal_of(&frame.identity), aim.max(2)),
        Some(Stated::Beside) => {
            fields.key("goal", &one_line_of(&frame.identity.title, fields.max_bytes), 2);
        }
        Some(Stated::Request | Stated::Prompt) => {}
    }
    fields.facts(frame, manner);
    fields.add("summary", &beside.results(frame), outcome);
    fields.artifacts(frame);
    fields.decisions(frame, manner.relation);
    fields.add("evidence", beside.seen, 1);
    fields.fields
}

/// Title and criteria as one goal. A goal's title is its first sentence, or its first words in a frame of an
/// earlier version, which are not said twice.
pub(super) fn goal_of(identity: &Identity) -> Cow<'_, str> {
    let title = identity.title.trim();
    let criteria = identity.success_criteria.trim();
    if criteria.is_empty() {
        Cow::Borrowed(title)
    } else if first_sentence(criteria) == title
        || first_words(criteria, title.split_whitespace().count()) == title.trim_end_matches('…')
    {
        Cow::Borrowed(criteria)
    } else {
        Cow::Owned(format!("{title}: {criteria}"))
    }
}

/// `parts` joined, as far as `max_bytes` can show them and one part beyond.
fn joined<'a>(parts: impl Iterator<Item = &'a str>, between: &str, max_bytes: usize) -> String {
    let mut text = String::new();
    for part in parts {
        if !text.is_empty() {
            text.push_str(between);
        }
        text.push_str(cap(part.trim(), max_bytes.saturating_add(4)));
        if text.len() > max_bytes {
            break;
        }
    }
    text
}

/// `text` without line ends, as far as `max_bytes` can show it.
pub(super) fn one_line_of(text: &str, max_bytes: usize) -> String {
    let mut line = String::new();
    for word in cap(&mask(text), max_bytes.saturating_add(4)).split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// A field's line and its cost, as far as `most`.
fn line(
    field: &Field,
    escaped: &str,
    truncated: bool,
    manner: Manner,
    most: usize,
) -> (String, usize) {
    let says_so = truncated && manner.dialect == Dialect::Flame;
    let mut xml = XmlWriter::new(level(manner.relation) + 1);
    xml.tag(field.tag)
        .attr_if("by", field.holds.map(|(by, _)| by))
        .attr_if("for", field.holds.map(|(_, around)| format!("{around} and below")))
        .attr_if("truncated", says_so.then_some("true"))
        .escaped(escaped);
    let xml = xml.finish();
    let units = estimate_units_to(&xml, most);
    (xml, units)
}

fn shortened_line(field: &Field, manner: Manner, share: usize) -> Option<(String, usize)> {
    let (_, tags) = line(field, "", true, manner, share);
    let mut room = share.checked_sub(tags)?;
    while room >= LEAST_TEXT {
        let text = truncate_escaped(&field.text, room);
        if text.is_empty() {
            return None;
        }
        let (xml, units) = line(field, &text, true, manner, usize::MAX);
        if units <= share {
            return Some((xml, units));
        }
        // The text's ends and the tags make pieces that neither has alone.
        room = room.saturating_sub((units - share).max(UNITS_PER_TOKEN));
    }
    None
}

/// Escaped text cut to `room`, never inside an entity.
fn truncate_escaped(escaped: &str, room: usize) -> String {
    let cut = truncate_to_units(escaped, room, CUT);
    let kept = cut.strip_suffix(CUT).unwrap_or(&cut);
    match kept.rfind('&') {
        Some(at) if kept.get(at..).is_some_and(|rest| !rest.contains(';')) => {
            [kept.get(..at).unwrap_or_default().trim_end(), CUT].concat()
        }
        _ => cut.into_owned(),
    }
}

/// `lines`, which cost `units`, in the frame's own tags.
fn assemble<'a>(
    frame: &Frame,
    manner: Manner,
    truncated: bool,
    lines: impl Iterator<Item = &'a str>,
    units: usize,
) -> Fragment {
    let (head, tail) = tags(frame, manner, truncated);
    let units = estimate_units(&head) + estimate_units(&tail) + units;
    let mut xml = head;
    lines.for_each(|line| xml.push_str(line));
    xml.push_str(&tail);
    Fragment { xml, units, truncated }
}

/// Returns an element without content, which only says where the reader finds the frame's purpose.
fn empty(frame: &Frame, manner: Manner) -> Option<Fragment> {
    manner.stated?;
    let mut xml = XmlWriter::new(level(manner.relation));
    tag(&mut xml, frame, manner, false).empty();
    let xml = xml.finish();
    Some(Fragment { units: estimate_units(&xml), xml, truncated: false })
}

const fn name_of(relation: Relation) -> &'static str {
    match relation {
        // It stands as it is written while the tree goes on.
        Relation::Current => "open-when-written",
        _ => "frame",
    }
}

fn tag<'w>(xml: &'w mut XmlWriter, frame: &Frame, manner: Manner, truncated: bool) -> Tag<'w> {
    // In the flame dialect the shortened field itself has the mark.
    let truncated = truncated && manner.dialect == Dialect::Stack;
    let depth = match manner.relation {
        Relation::Ancestor(levels) => Some(levels),
        _ => None,
    };
    xml.tag(name_of(manner.relation))
        .attr("id", frame.num)
        .attr("status", frame.status)
        .attr_if("levels-up", depth)
        .attr_if("goal", manner.stated.and_then(Stated::pointer))
        .attr_if("truncated", truncated.then_some("true"))
}

fn tags(frame: &Frame, manner: Manner, truncated: bool) -> (String, String) {
    let relation = manner.relation;
    let mut head = XmlWriter::new(level(relation));
    tag(&mut head, frame, manner, truncated).open();
    let mut tail = XmlWriter::new(level(relation) + 1);
    tail.close(name_of(relation));
    (head.finish(), tail.finish())
}

/// Renders title, status and dense results of a frame whose full results the reader has already.
fn one_line(frame: &Frame, beside: Beside<'_>, dialect: Dialect, limit: usize) -> Option<Fragment> {
    let max_bytes = (limit / UNITS_PER_TOKEN).saturating_mul(BYTES_PER_TOKEN).saturating_add(256);
    let results = one_line_of(&beside.results(frame), max_bytes);
    let (called, returned) = match dialect {
        Dialect::Stack => ("title", "results"),
        Dialect::Flame => ("goal", "summary"),
    };
    let title = one_line_of(&frame.identity.title, 200);
    let title = truncate_to_units(&title, limit / 4, CUT);
    let write = |text: &str, truncated: bool| {
        let mut xml = XmlWriter::new(2);
        xml.tag("frame")
            .attr("id", frame.num)
            .attr("status", frame.status)
            .attr(called, &title)
            .attr(returned, "above")
            .attr_if("truncated", truncated.then_some("true"))
            .escaped(text);
        let xml = xml.finish();
        let units = estimate_units(&xml);
        Fragment { xml, units, truncated }
    };
    let escaped = escape_content(&results);
    let whole = write(&escaped, false);
    if whole.units <= limit {
        return Some(whole);
    }
    let mut room = limit.checked_sub(write("", true).units)?;
    loop {
        let shortened = write(&truncate_escaped(&escaped, room), true);
        if shortened.units <= limit {
            return Some(shortened);
        }
        room = room.checked_sub((shortened.units - limit).max(UNITS_PER_TOKEN))?;
    }
}
