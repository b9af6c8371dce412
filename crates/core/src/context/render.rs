//! The context as XML, every section within its budget and the whole within the total.

use crate::dialect::Dialect;
use crate::frame::{Frame, FrameNum};
use crate::own_lines::{PIN_ELEMENT, PINS_ELEMENT, TASKS_ELEMENT};
use crate::secrets::mask;
use crate::text::estimate_units;
use crate::xml::XmlWriter;

use super::budget::Calibration;
use super::fragment::{Beside, Manner, Relation, fragment, one_line_of};
use super::score::goal;
use super::select::{
    Chosen, Selection, Since, Wanted, WantedAncestors, ancestors_within, siblings_within,
};
use super::{ContextInput, ContextMetadata, RenderedContext, ScopedPin, tasks};

/// Renders the surroundings of a frame. The text never costs more than `budget.total` tokens, as far as the
/// calibrated estimate knows, unless the pins leave too little for the frame itself; cuts and omissions are marked
/// (where nothing of a section fits, by a line of up to 16 tokens beyond its own budget).
pub fn render(input: &ContextInput<'_>) -> RenderedContext {
    render_since(input, &mut |_| String::new())
}

/// The same as [`render`], with the changes of siblings since they ended, such as `[gone since: a.rs]`, or nothing.
/// `since` is called only for siblings that there is room for, so that it may read files.
pub fn render_since(
    input: &ContextInput<'_>,
    since: &mut dyn FnMut(&Frame) -> String,
) -> RenderedContext {
    let calibration = Calibration::new(input.calibration);
    let mut page = Page {
        input,
        calibration,
        left: calibration.units(input.budget.total),
        metadata: ContextMetadata::default(),
    };
    page.render(since)
}

/// A section's lines and their cost.
#[derive(Default)]
struct Section {
    xml: String,
    units: usize,
}

impl Section {
    fn of(xml: String) -> Self {
        let units = estimate_units(&xml);
        Self { xml, units }
    }
}

struct Page<'a> {
    input: &'a ContextInput<'a>,
    calibration: Calibration,
    /// Units not yet spent.
    left: usize,
    metadata: ContextMetadata,
}

impl Page<'_> {
    fn render(&mut self, since: Since<'_>) -> RenderedContext {
        let pins = Section::of(pins(self.input.pins));
        // The outermost tag is written last, but its cost must be known first: that of the longest one is taken.
        let sections = match self.input.planned_siblings {
            [] => &ALL_SECTIONS[..ALL_SECTIONS.len() - 1],
            _ => &ALL_SECTIONS[..],
        };
        let fixed = estimate_units(&self.envelope(sections, "")) + pins.units;
        let fits = fixed <= self.left;
        if !fits && self.input.pins.is_empty() {
            return RenderedContext { text: String::new(), metadata: self.all_omitted() };
        }
        self.left = self.left.saturating_sub(fixed);
        let beside_pins = self.current_beside(pins.units);
        let tasks = self.task_management();
        let metadata = self.room_for_metadata();
        let shares = self.shares();
        let current = beside_pins.unwrap_or_else(|| self.current(shares.current));
        let planned_room = shares.current.saturating_sub(current.units);
        let planned = self.planned_children(planned_room);
        let room = shares.for_ancestors(self.left, self.sibling_total() > 0);
        let ancestors = self.ancestors(room);
        let siblings = self.siblings(shares.siblings.min(self.left), since);
        let beside = self.planned_siblings(shares.siblings.saturating_sub(siblings.units));

        let metadata = if metadata.xml.is_empty() { metadata } else { self.metadata_section() };
        let sections =
            [&pins, &tasks, &metadata, &ancestors, &siblings, &beside, &planned, &current];
        let inner: String = sections.iter().map(|section| section.xml.as_str()).collect();
        if inner.is_empty() && !self.input.parts.current {
            return RenderedContext { text: inner, metadata: std::mem::take(&mut self.metadata) };
        }
        let left_out = &self.metadata.left_out;
        let text = self.envelope(left_out, &inner);
        let around = estimate_units(&self.envelope(left_out, ""));
        let total = around + sections.iter().map(|section| section.units).sum::<usize>();
        let tokens = &mut self.metadata.tokens;
        tokens.total = self.calibration.tokens(total);
        tokens.pins = self.calibration.tokens(pins.units);
        tokens.task_management = self.calibration.tokens(tasks.units);
        tokens.metadata = self.calibration.tokens(metadata.units);
        tokens.ancestors = self.calibration.tokens(ancestors.units);
        tokens.siblings = self.calibration.tokens(siblings.units + beside.units);
        tokens.planned_children = self.calibration.tokens(planned.units);
        tokens.current = self.calibration.tokens(current.units);
        self.metadata.over_budget = tokens.total > self.input.budget.total;
        RenderedContext { text, metadata: std::mem::take(&mut self.metadata) }
    }

    /// Takes a section if there is room for it.
    fn spend(&mut self, section: Section, room: usize, name: &'static str) -> Section {
        if section.units <= room.min(self.left) {
            self.left -= section.units;
            return section;
        }
        self.metadata.left_out.push(name);
        Section::default()
    }

    /// Returns the section whole if it takes at most half of the room, else only the part that differs from frame to
    /// frame.
    fn task_management(&mut self) -> Section {
        if !self.input.parts.task_management || self.input.dialect == Dialect::Flame {
            return Section::default();
        }
        let whole = Section::of(tasks::whole(self.input));
        if whole.units <= self.left / 2 {
            return self.spend(whole, self.left, TASKS_ELEMENT);
        }
        self.spend(Section::of(tasks::brief(self.input)), self.left / 4, TASKS_ELEMENT)
    }

    /// Returns the longest metadata: the omissions are known only when everything else is chosen.
    fn room_for_metadata(&mut self) -> Section {
        if !self.input.parts.metadata {
            return Section::default();
        }
        let most = self.metadata(self.input.ancestors.len(), self.sibling_total());
        self.spend(most, self.left / 5, "metadata")
    }

    fn metadata_section(&self) -> Section {
        self.metadata(self.metadata.ancestors_omitted, self.metadata.siblings_omitted)
    }

    fn metadata(&self, ancestors_omitted: usize, siblings_omitted: usize) -> Section {
        let budget = &self.input.budget;
        let mut xml = XmlWriter::new(1);
        xml.tag("metadata").open();
        xml.tag("budget")
            .attr("total", budget.total)
            .attr("ancestors", budget.ancestors)
            .attr("siblings", budget.siblings)
            .attr("current", budget.current)
            .empty();
        if ancestors_omitted > 0 || siblings_omitted > 0 {
            xml.tag("truncation")
                .attr("ancestors-omitted", ancestors_omitted)
                .attr("siblings-omitted", siblings_omitted)
                .empty();
        }
        xml.close("metadata");
        Section::of(xml.finish())
    }

    fn shares(&self) -> Shares {
        let budget = &self.input.budget;
        let wanted = Shares {
            current: self.calibration.units(budget.current),
            ancestors: self.calibration.units(budget.ancestors),
            siblings: self.calibration.units(budget.siblings),
        };
        let others = wanted.ancestors.saturating_add(wanted.siblings);
        let is_enough = wanted.current.saturating_add(others) <= self.left;
        let current = if is_enough { self.left } else { self.left / 2 };
        Shares { current: wanted.current.min(current), ..wanted }
    }

    /// Returns the frame itself where pins leave too little room: the purpose of the work goes before all else, and
    /// before the budget.
    fn current_beside(&mut self, pins: usize) -> Option<Section> {
        let budget = &self.input.budget;
        let least = self.calibration.units(budget.current.min(budget.total));
        let would_fit = self.left.saturating_add(pins) >= least;
        if self.left >= least || !would_fit {
            return None;
        }
        let left = std::mem::replace(&mut self.left, least);
        let current = self.current(least);
        self.left = left.saturating_sub(current.units);
        Some(current)
    }

    fn current(&mut self, share: usize) -> Section {
        if !self.input.parts.current {
            return Section::default();
        }
        let frame = self.input.current;
        let most = self.calibration.units(self.input.budget.current).min(self.left);
        let beside_plans = if self.planned_total() == 0 { share } else { share / 4 * 3 };
        let manner = Manner {
            relation: Relation::Current,
            dialect: self.input.dialect,
            stated: self.input.stated.get(&frame.num).copied(),
        };
        let found = [beside_plans, share, most].into_iter().find_map(|room| {
            let fragment = fragment(frame, Beside::default(), manner, room)?;
            Some((fragment, room))
        });
        let Some((fragment, room)) = found else {
            self.metadata.left_out.push("open-when-written");
            return Section::default();
        };
        if fragment.truncated {
            self.metadata.truncated.push(frame.num);
        }
        let section = Section { xml: fragment.xml, units: fragment.units };
        self.spend(section, room, "open-when-written")
    }

    fn ancestors(&mut self, room: usize) -> Section {
        let given = self.input.ancestors;
        if given.is_empty() {
            return Section::default();
        }
        let tags = tags_cost("ancestors", given.len());
        let inner = room.saturating_sub(tags);
        let wanted = WantedAncestors {
            current: self.input.current,
            stated: self.input.stated,
            now: self.input.now,
            dialect: self.input.dialect,
        };
        let mut selection = ancestors_within(given, inner, &wanted);
        selection
            .chosen
            .sort_by_key(|chosen| given.iter().position(|frame| frame.num == chosen.frame.num));
        let omitted = selection.omitted;
        let section = self.list(&selection, omitted, room, "ancestors");
        let shown = !section.xml.is_empty();
        self.metadata.ancestors_omitted = if shown { omitted } else { given.len() };
        self.metadata.ancestors = self.note(&selection, shown);
        section
    }

    fn siblings(&mut self, room: usize, since: Since<'_>) -> Section {
        let total = self.sibling_total();
        if total == 0 {
            return Section::default();
        }
        let inner = room.saturating_sub(tags_cost(SIBLINGS, total));
        let goal = goal(self.input.current);
        let wanted = Wanted {
            current: Some(self.input.current.num),
            only_news: !self.input.parts.current,
            goal: &goal,
            min_relevance: self.input.min_relevance,
            visible_above: self.input.visible_above,
            evidence: self.input.sibling_evidence,
            now: self.input.now,
            dialect: self.input.dialect,
        };
        let mut selection = siblings_within(self.input.siblings, inner, &wanted, since);
        selection.chosen.sort_by_key(|chosen| chosen.frame.num);
        let omitted = total.saturating_sub(selection.chosen.len());
        if selection.chosen.is_empty() && selection.no_room == 0 {
            // That none is worth showing is not worth an element.
            self.metadata.siblings_omitted = omitted;
            return Section::default();
        }
        let section = self.list(&selection, omitted, room, SIBLINGS);
        let shown = !section.xml.is_empty();
        self.metadata.siblings_omitted = if shown { omitted } else { total };
        self.metadata.siblings = self.note(&selection, shown);
        section
    }

    fn note(&mut self, selection: &Selection<'_>, shown: bool) -> Vec<FrameNum> {
        if !shown {
            return Vec::new();
        }
        let shortened = selection.chosen.iter().filter(|chosen| chosen.truncated);
        self.metadata.truncated.extend(shortened.map(|chosen| chosen.frame.num));
        selection.chosen.iter().map(|chosen| chosen.frame.num).collect()
    }

    fn list(
        &mut self,
        selection: &Selection<'_>,
        omitted: usize,
        room: usize,
        name: &'static str,
    ) -> Section {
        let section = listed(name, &selection.chosen, omitted);
        if section.units <= room.min(self.left) {
            return self.spend(section, room, name);
        }
        self.spend(listed(name, &[], omitted + selection.chosen.len()), self.left, name)
    }

    fn planned_children(&mut self, room: usize) -> Section {
        let total = self.planned_total();
        if total == 0 {
            return Section::default();
        }
        let (shown, lines, units) =
            self.planned_lines(self.input.planned_children, room, "planned-children");
        let omitted = total - shown.len();
        let section = wrapped("planned-children", shown.len(), omitted, &lines, units);
        let section = self.spend(section, self.left, "planned-children");
        let kept = !section.xml.is_empty();
        self.metadata.planned_children_omitted = if kept { omitted } else { total };
        self.metadata.planned_children = if kept { shown } else { Vec::new() };
        section
    }

    /// Renders the plans beside the frame, so that a session that works on it alone leaves them to others.
    fn planned_siblings(&mut self, room: usize) -> Section {
        let given = self.input.planned_siblings;
        if given.is_empty() || !self.input.parts.current {
            return Section::default();
        }
        let (shown, lines, units) = self.planned_lines(given, room, PLANNED_SIBLINGS);
        let omitted = given.len() - shown.len();
        let section = wrapped(PLANNED_SIBLINGS, shown.len(), omitted, &lines, units);
        self.spend(section, self.left, PLANNED_SIBLINGS)
    }

    /// Returns as many planned frames as there is room for in an element of this name, a line each, and the cost of
    /// the lines.
    fn planned_lines(
        &self,
        frames: &[Frame],
        room: usize,
        name: &'static str,
    ) -> (Vec<FrameNum>, String, usize) {
        let mut left = room.min(self.left).saturating_sub(tags_cost(name, frames.len()));
        let (mut shown, mut lines, mut units) = (Vec::new(), String::new(), 0);
        let called = match self.input.dialect {
            Dialect::Stack => "title",
            Dialect::Flame => "goal",
        };
        for frame in frames {
            let mut xml = XmlWriter::new(2);
            let title = one_line_of(&frame.identity.title, 200);
            xml.tag("frame").attr("id", frame.num).attr(called, title).empty();
            let line = xml.finish();
            let cost = estimate_units(&line);
            if cost > left {
                break;
            }
            left -= cost;
            units += cost;
            lines.push_str(&line);
            shown.push(frame.num);
        }
        (shown, lines, units)
    }

    fn planned_total(&self) -> usize {
        self.input.planned_children_count.max(self.input.planned_children.len())
    }

    /// Finished siblings, in the list or only counted.
    fn sibling_total(&self) -> usize {
        let current = self.input.current.num;
        let listed = self.input.siblings.iter().filter(|sibling| sibling.num != current);
        let listed = super::StatusCounts::of(listed).shown();
        self.input.sibling_counts.shown().max(listed)
    }

    fn envelope(&self, left_out: &[&'static str], inner: &str) -> String {
        let name = self.input.dialect.context_element();
        let mut xml = XmlWriter::new(0);
        let names = (!left_out.is_empty()).then(|| left_out.join(" "));
        xml.tag(name)
            .attr("session", one_line_of(self.input.session, 120))
            .attr_if("left-out", names)
            .open();
        xml.raw(inner);
        xml.close(name);
        xml.finish()
    }

    fn all_omitted(&self) -> ContextMetadata {
        ContextMetadata {
            ancestors_omitted: self.input.ancestors.len(),
            siblings_omitted: self.sibling_total(),
            planned_children_omitted: self.planned_total(),
            left_out: vec![self.input.dialect.context_element()],
            ..ContextMetadata::default()
        }
    }
}

/// The shares of the sections, in units. Where the total is too small for all, the current frame comes first, then
/// the ancestors; a section that needs less leaves the rest to the next.
struct Shares {
    current: usize,
    ancestors: usize,
    siblings: usize,
}

impl Shares {
    /// Returns the share of the ancestors in the units that are `left` for them and the siblings.
    fn for_ancestors(&self, left: usize, are_siblings: bool) -> usize {
        let is_enough = self.ancestors.saturating_add(self.siblings) <= left;
        let room = if is_enough || !are_siblings { left } else { left / 5 * 3 };
        self.ancestors.min(room)
    }
}

fn pins(pins: &[ScopedPin]) -> String {
    if pins.is_empty() {
        return String::new();
    }
    let mut xml = XmlWriter::new(1);
    xml.tag(PINS_ELEMENT).attr("count", pins.len()).open();
    for pin in pins {
        xml.tag(PIN_ELEMENT)
            .attr("id", format_args!("p{}", pin.pin.num))
            .attr("frame", pin.owner)
            .text(&mask(&pin.pin.text));
    }
    xml.close(PINS_ELEMENT);
    xml.finish()
}

fn listed(name: &'static str, chosen: &[Chosen<'_>], omitted: usize) -> Section {
    let lines: String = chosen.iter().map(|chosen| chosen.xml.as_str()).collect();
    let units = chosen.iter().map(|chosen| chosen.units).sum();
    wrapped(name, chosen.len(), omitted, &lines, units)
}

/// `lines`, which cost `units`, in an element that says their number and how many are missing.
fn wrapped(name: &'static str, count: usize, omitted: usize, lines: &str, units: usize) -> Section {
    let mut xml = XmlWriter::new(1);
    let omitted = (omitted > 0).then_some(omitted);
    let tag = xml.tag(name).attr("count", count).attr_if("omitted", omitted);
    if lines.is_empty() {
        tag.empty();
        return Section::of(xml.finish());
    }
    tag.open();
    xml.close(name);
    let tags = xml.finish();
    let units = units + estimate_units(&tags);
    let at = tags.find('\n').map_or(tags.len(), |end| end + 1);
    let (head, tail) = tags.split_at(at);
    Section { xml: [head, lines, tail].concat(), units }
}

/// Returns the most that [`wrapped`] costs beside its lines, for at most `total` frames.
fn tags_cost(name: &'static str, total: usize) -> usize {
    let total = total.max(100);
    wrapped(name, total, total, "\n", 0).units
}

const SIBLINGS: &str = "completed-siblings";

const PLANNED_SIBLINGS: &str = "planned-siblings";

/// The one that few contexts have stands last.
const ALL_SECTIONS: [&str; 7] = [
    TASKS_ELEMENT,
    "metadata",
    "open-when-written",
    "planned-children",
    "ancestors",
    SIBLINGS,
    PLANNED_SIBLINGS,
];
