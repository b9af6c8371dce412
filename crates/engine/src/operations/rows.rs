//! A frame as rows of text, alike in every operation that shows one.

use std::fmt::Write as _;

use callstack_core::dialect::Dialect;
use callstack_core::frame::{Frame, Status};
use callstack_core::own_lines::quoted;
use callstack_core::results::ResultsSource;
use callstack_core::text::iso_time;
use callstack_core::xml::visible;
use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::Engine;
use crate::error::EngineError;

/// The most planned children that are named.
const PLANNED: u32 = 50;

/// The frames around a frame, by handle and title.
#[derive(Default)]
pub(super) struct Around {
    pub(super) parent: Option<String>,
    pub(super) planned: Vec<String>,
    parent_handle: Option<String>,
    planned_handles: Vec<String>,
}

impl Around {
    pub(super) fn of(engine: &Engine, frame: &Frame) -> Result<Self, EngineError> {
        engine.kernel.read(|view| {
            let parent = frame.parent.map(|parent| view.frame(parent)).transpose()?;
            let planned = view.children_with(Some(frame.num), Status::Planned, PLANNED)?;
            Ok(Self {
                parent: parent.as_ref().map(Frame::label),
                parent_handle: parent.map(|parent| parent.num.to_string()),
                planned: planned.iter().map(Frame::label).collect(),
                planned_handles: planned.iter().map(|child| child.num.to_string()).collect(),
            })
        })
    }

    /// Returns the handles of these frames, which a frame's metadata name by their ids.
    pub(super) fn handles(self) -> AroundHandles {
        AroundHandles { parent: self.parent_handle, planned: self.planned_handles }
    }
}

/// The frames around a frame, by handle.
#[derive(Clone, Serialize, JsonSchema)]
pub(super) struct AroundHandles {
    /// Handle of the frame above it
    parent: Option<String>,
    /// Handles of its planned children
    planned: Vec<String>,
}

/// Rows such as `results: 23 rules`. An empty value has no row.
pub(super) struct Rows {
    text: String,
    dialect: Dialect,
}

impl Rows {
    /// Begins with the first line of a frame: its handle, title and status.
    pub(super) fn of(dialect: Dialect, frame: &Frame) -> Self {
        Self { text: format!("{} [{}]\n", frame.label(), frame.status), dialect }
    }

    pub(super) fn row(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            // Writing to a string can't fail.
            let _ = writeln!(self.text, "{name}: {}", quoted(&visible(value)));
        }
    }

    /// Adds the frame's success criteria.
    pub(super) fn identity(&mut self, frame: &Frame) {
        let (name, dense) = match self.dialect {
            Dialect::Stack => ("success criteria", "success criteria, dense"),
            Dialect::Flame => ("goal", "goal, dense"),
        };
        let identity = &frame.identity;
        self.row(name, Some(&identity.success_criteria));
        let differs = identity.success_criteria_compacted != identity.success_criteria;
        self.row(dense, Some(identity.success_criteria_compacted.as_str()).filter(|_| differs));
    }

    /// Adds the frame's results.
    pub(super) fn results(&mut self, frame: &Frame) {
        let (name, dense, source) = match self.dialect {
            Dialect::Stack => ("results", "results, dense", "results are"),
            Dialect::Flame => ("summary", "summary, dense", "the summary is"),
        };
        self.row(name, frame.results.as_deref());
        self.row(dense, frame.results_compacted.as_deref());
        self.row(source, frame.results_source.map(ResultsSource::for_people));
    }

    /// Adds the frame's times and the path of its log.
    pub(super) fn times(&mut self, frame: &Frame) {
        let mut time = |name: &str, at: Option<i64>| self.row(name, at.map(iso_time).as_deref());
        time("created", Some(frame.created_at));
        time("begun", frame.begun_at);
        time("updated", Some(frame.updated_at));
        time("ended", frame.ended_at);
        time("invalidated", frame.invalidated_at);
        self.row("log", frame.log_path.as_deref());
    }

    pub(super) fn text(self) -> String {
        self.text
    }
}
