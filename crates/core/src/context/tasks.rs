//! The section on how to work in frames and what comes next.

use crate::frame::{Frame, FrameNum, Status};
use crate::own_lines::TASKS_ELEMENT;
use crate::secrets::mask;
use crate::text::{CUT, UNITS_PER_TOKEN, cap, truncate_to_units};
use crate::xml::XmlWriter;

use super::ContextInput;
use super::fragment::one_line_of;
use super::order::{SiblingOrder, calculate_sibling_order};

const PHILOSOPHY: &str = "\
Work in frames. Each significant piece of work is a frame with clear success criteria.
A finished frame leaves your context; what you returned from it stays.
A todo list may be kept beside the frames: its items are frames too.";

const INITIAL_PLANNING: &str = "\
This is a new session. Before you change anything:
1. Judge how complex the task is. A small one needs no plan: work in this frame.
2. If it has several parts, plan them with stack_frame_plan, in working order.
3. Give each part success criteria that can be checked.
4. Start the first with stack_frame_activate.";

const WHEN_TO_CREATE: &str = "\
Push a child frame (stack_frame_push) for
- a subtask with success criteria of its own
- work that could be done independently
- each of several approaches to try
- a separable concern (implementation, tests, documentation)
- other files, another subsystem
- an investigation whose outcome matters more than its steps
- anything that is better kept as a summary once it is done";

const RULES: [&str; 5] = [
    "Meet this frame's success criteria before you start a sibling.",
    "Call stack_frame_pop with results as soon as they are met.",
    "Work depth first: finish children before siblings.",
    "Push a frame for significant work inside this one.",
    "A frame that cannot be finished is popped as failed or blocked, with what was learnt.",
];

/// Title and criteria are given whole in the current frame's own element.
const BRIEF_UNITS: usize = 60 * UNITS_PER_TOKEN;

/// The whole block.
pub(super) fn whole(input: &ContextInput<'_>) -> String {
    let mut xml = XmlWriter::new(1);
    xml.tag(TASKS_ELEMENT).open();
    let prose = |xml: &mut XmlWriter, name, text| {
        xml.tag(name).open();
        xml.lines(text);
        xml.close(name);
    };
    prose(&mut xml, "philosophy", PHILOSOPHY);
    if input.new_session {
        xml.tag("initial-planning").attr("priority", "HIGH").open();
        xml.lines(INITIAL_PLANNING);
        xml.close("initial-planning");
    }
    prose(&mut xml, "when-to-create-child-frames", WHEN_TO_CREATE);
    if !input.stated.contains_key(&input.current.num) {
        current_frame(&mut xml, input.current);
    }
    standing(&mut xml, input);
    xml.tag("rules").open();
    for rule in RULES {
        xml.element("rule", rule);
    }
    xml.close("rules");
    xml.close(TASKS_ELEMENT);
    xml.finish()
}

/// Returns only the part that differs from frame to frame.
pub(super) fn brief(input: &ContextInput<'_>) -> String {
    let mut xml = XmlWriter::new(1);
    xml.tag(TASKS_ELEMENT).open();
    standing(&mut xml, input);
    xml.close(TASKS_ELEMENT);
    xml.finish()
}

fn current_frame(xml: &mut XmlWriter, frame: &Frame) {
    let identity = &frame.identity;
    let criteria = if identity.success_criteria_compacted.trim().is_empty() {
        &identity.success_criteria
    } else {
        &identity.success_criteria_compacted
    };
    let criteria = mask(criteria.trim());
    let criteria = cap(&criteria, 2048);
    xml.tag("open-when-written").open();
    xml.element("title", &title(frame));
    if !criteria.is_empty() {
        xml.element("success-criteria", &truncate_to_units(criteria, BRIEF_UNITS, CUT));
    }
    xml.element("status", frame.status.as_str());
    xml.close("open-when-written");
}

fn title(frame: &Frame) -> String {
    let line = one_line_of(&frame.identity.title, 400);
    truncate_to_units(&line, BRIEF_UNITS / 2, CUT).into_owned()
}

fn standing(xml: &mut XmlWriter, input: &ContextInput<'_>) {
    let mut counts = input.sibling_counts;
    counts.add(input.current.status);
    let order = order(input);
    let next = next_sibling(input, order.next);
    xml.element("position", &format!("Task {} of {}", order.position, order.total));
    let some = |count: usize| (count > 0).then_some(count);
    xml.tag("sibling-status")
        .attr("completed", counts.completed)
        .attr("in-progress", counts.in_progress)
        .attr("pending", counts.planned)
        .attr_if("failed", some(counts.failed))
        .attr_if("blocked", some(counts.blocked))
        .empty();
    xml.element("next-action", &next_action(input, next));
    if let Some(next) = next {
        xml.tag("next-sibling").attr("title", title(next)).attr("id", next.num).empty();
    }
}

/// From the list where it is whole, else from the counts.
fn order(input: &ContextInput<'_>) -> SiblingOrder {
    let mut order = calculate_sibling_order(input.current, input.siblings);
    let tasks = input.sibling_counts.tasks() + 1;
    if order.total < tasks {
        order.total = tasks;
        order.position = (input.sibling_counts.shown() + 1).min(tasks);
    }
    order
}

fn next_sibling<'a>(input: &ContextInput<'a>, num: Option<FrameNum>) -> Option<&'a Frame> {
    input.next_sibling.or_else(|| input.siblings.iter().find(|sibling| Some(sibling.num) == num))
}

fn next_action(input: &ContextInput<'_>, next: Option<&Frame>) -> String {
    let current = input.current;
    if current.status == Status::Planned {
        return format!("Start it: stack_frame_activate {}", current.num);
    }
    if current.status.is_terminal() {
        return "This frame has ended; work goes on in another.".to_owned();
    }
    if let Some(child) = input.planned_children.first() {
        return format!("Start the next part with stack_frame_activate: {}", child.num);
    }
    let then = match (next, current.parent) {
        (Some(next), _) => format!("then start {} with stack_frame_activate", next.num),
        (None, Some(parent)) => format!("then go on in {parent}"),
        (None, None) => "then report to the user".to_owned(),
    };
    if current.status == Status::Blocked {
        return format!("Blocked: get what it waits for, or stack_frame_pop it, {then}");
    }
    format!("Meet the success criteria, call stack_frame_pop, {then}")
}
