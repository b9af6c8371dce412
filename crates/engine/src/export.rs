//! The tree as a file that people read or another store takes over.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;

use callstack_core::control::{escape_line, escape_text};
use callstack_core::frame::{FrameNum, Status};
use callstack_core::secrets::mask;

use crate::error::EngineError;
use crate::queries::Queries;
use crate::state::{FrameMetadata, StackState};
use crate::tree::of_session;

impl Queries {
    /// The whole tree, or a frame with all that is below it as a tree of its own. Reads every frame.
    pub(crate) fn export(&self, root: Option<FrameNum>) -> Result<StackState, EngineError> {
        match root {
            Some(root) => self.export_below(&[root]),
            None => self.state(),
        }
    }

    /// The frames of a session with all that is below them as a tree of their own. Reads every frame.
    pub(crate) fn export_session(&self, session: &str) -> Result<StackState, EngineError> {
        let lines = self.tree(None)?;
        self.export_below(&of_session(&lines, session).1)
    }

    fn export_below(&self, roots: &[FrameNum]) -> Result<StackState, EngineError> {
        let roots = roots.iter().map(|root| Ok(self.frame(*root)?.id));
        let roots: Vec<String> = roots.collect::<Result<_, EngineError>>()?;
        let whole = self.state()?;
        let children = whole.children();
        let mut inside: Vec<&str> = roots.iter().map(String::as_str).collect();
        let mut next = 0;
        while let Some(id) = inside.get(next) {
            inside.extend(children.get(id).into_iter().flatten().map(|it| it.session_id.as_str()));
            next += 1;
        }
        let mut frames: std::collections::BTreeMap<_, _> = inside
            .iter()
            .filter_map(|id| whole.frames.get_key_value(*id))
            .map(|(id, frame)| (id.clone(), frame.clone()))
            .collect();
        for root in &roots {
            if let Some(top) = frames.get_mut(root) {
                top.parent_session_id = None;
            }
        }
        Ok(StackState {
            active_frame_id: whole.active_frame_id.filter(|id| frames.contains_key(id)),
            root_frame_ids: roots,
            updated_at: frames.values().map(|frame| frame.updated_at).max().unwrap_or(0),
            frames,
            ..StackState::default()
        })
    }
}

impl StackState {
    /// Returns the children of each frame by its id, in order of creation, and planned ones in the order of their
    /// plan.
    fn children(&self) -> HashMap<&str, Vec<&FrameMetadata>> {
        let mut children: HashMap<&str, Vec<&FrameMetadata>> = HashMap::new();
        for frame in self.frames.values() {
            if let Some(parent) = &frame.parent_session_id {
                children.entry(parent).or_default().push(frame);
            }
        }
        for (parent, siblings) in &mut children {
            siblings.sort_by_key(|frame| (handle(frame), frame.created_at));
            if let Some(parent) = self.frames.get(*parent) {
                put_in_order(siblings, &parent.planned_children);
            }
        }
        children
    }

    /// The tree as Markdown: a heading a frame, below it its criteria, results, decisions, pins and
    /// artifacts.
    pub fn to_markdown(&self) -> String {
        self.markdown(|words| Cow::Borrowed(words))
    }

    /// The same with secrets masked: in the Markdown itself, marks stand between a name and a value in the next line.
    pub(crate) fn to_masked_markdown(&self) -> String {
        self.markdown(mask)
    }

    fn markdown(&self, shown: fn(&str) -> Cow<'_, str>) -> String {
        let children = self.children();
        let mut text = String::new();
        let roots = self.root_frame_ids.iter().rev();
        let mut stack: Vec<(&FrameMetadata, usize)> =
            roots.filter_map(|id| self.frames.get(id)).map(|frame| (frame, 1)).collect();
        while let Some((frame, depth)) = stack.pop() {
            section(&mut text, frame, depth, shown);
            let below = children.get(frame.session_id.as_str()).into_iter().flatten();
            stack.extend(below.rev().map(|child| (*child, depth + 1)));
        }
        if text.is_empty() {
            text.push_str("There are no frames yet.\n");
        }
        text
    }
}

/// Distributes the places of planned siblings among them in the order of their plan.
fn put_in_order(siblings: &mut [&FrameMetadata], plan: &[String]) {
    let is_planned = |frame: &&FrameMetadata| frame.status == Status::Planned;
    let mut planned: Vec<_> = siblings.iter().copied().filter(is_planned).collect();
    let order: HashMap<&str, usize> = plan.iter().map(String::as_str).zip(0..).collect();
    planned
        .sort_by_key(|frame| order.get(frame.session_id.as_str()).copied().unwrap_or(usize::MAX));
    let places = siblings.iter_mut().filter(|frame| frame.status == Status::Planned);
    for (place, frame) in places.zip(planned) {
        *place = frame;
    }
}

fn handle(frame: &FrameMetadata) -> Option<FrameNum> {
    frame.handle.parse().ok()
}

fn section(
    text: &mut String,
    frame: &FrameMetadata,
    depth: usize,
    shown: fn(&str) -> Cow<'_, str>,
) {
    if !text.is_empty() {
        text.push('\n');
    }
    // Writing to a string can't fail.
    let _ = writeln!(
        text,
        "{} {} {}\n\n*{}*",
        "#".repeat(depth.min(6)),
        frame.handle,
        escape_line(&shown(&frame.title).replace('\n', " ")),
        frame.status
    );
    let mut part = |name: &str, words: Option<&str>| {
        if let Some(words) = words.map(str::trim).filter(|words| !words.is_empty()) {
            let _ = writeln!(text, "\n**{name}**\n\n{}", quoted(&shown(words)));
        }
    };
    part("Success criteria", Some(&frame.success_criteria));
    part("Why it was invalidated", frame.invalidation_reason.as_deref());
    let results = match frame.results_source {
        Some(source) => format!("Results, {}", source.for_people()),
        None => "Results".to_owned(),
    };
    part(&results, frame.results.as_deref());
    let evidence = frame.evidence.lines_beside(&frame.artifacts);
    let lists = [
        ("Decisions", frame.decisions.iter().collect::<Vec<_>>()),
        ("Pins", frame.pins.values().collect()),
        ("Artifacts", frame.artifacts.iter().collect()),
        ("Evidence", evidence.iter().collect()),
    ];
    for (name, entries) in lists {
        if entries.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n**{name}**\n");
        for entry in entries {
            let _ = writeln!(text, "- {}", escape_text(&shown(entry.trim())).replace('\n', "\n  "));
        }
    }
}

/// Quotes foreign words: no heading in them may look like a frame.
fn quoted(words: &str) -> String {
    escape_text(words).lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
}
