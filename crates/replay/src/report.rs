//! The figures of replayed sessions, each and together. What is told of several is the sum of what is told
//! of each, or the mean of their ratios.

use std::collections::BTreeMap;

use callstack_core::secrets::mask;
use callstack_hosts::recording::{Format, Recording};
use serde::Serialize;

use crate::calibration::Fit;
use crate::figures::Figures;
use crate::replay::Replay;
use crate::ways::Way;

/// Calls of the model from which on a session counts in the mean: in shorter ones there is little to fold.
pub const LONG: u64 = 80;

/// All figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Each session.
    pub sessions: Vec<SessionReport>,
    /// The sums over all sessions.
    pub sum: Vec<WayReport>,
    /// The means over the long sessions.
    pub mean: Mean,
}

/// Figures of a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionReport {
    /// Its id.
    pub session: String,
    /// The file or folder that was named.
    pub file: String,
    /// What wrote it.
    pub format: &'static str,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The session that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Calls of the model.
    pub calls: u64,
    /// Compactions that were recorded; they are part of every way of sending.
    pub compactions: usize,
    /// Frames, the session's root not counted.
    pub frames: usize,
    /// How tokens were counted.
    pub tokens: Fit,
    /// Each way of sending.
    pub ways: Vec<WayReport>,
    /// Records that were passed over, by kind.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub skipped: BTreeMap<String, usize>,
    /// Lines that could not be read.
    pub unreadable: usize,
}

/// Figures of a way of sending.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WayReport {
    /// The way.
    pub way: Way,
    /// Tokens of all requests.
    pub input: u64,
    /// Tokens a request.
    pub mean: f64,
    /// Tokens of the middle request; of several sessions there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median: Option<u64>,
    /// Tokens of the largest request.
    pub largest: u64,
    /// What all requests cost with prompt caching, in tokens of input.
    pub billed: f64,
    /// Terms that were used again.
    pub used: u64,
    /// Those of them that were in what was sent.
    pub kept: u64,
    /// `kept` of `used`.
    pub retention: f64,
    /// Each as a share of the linear way's.
    pub of_linear: OfLinear,
}

/// Figures as shares of the linear way's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OfLinear {
    /// Of the tokens of all requests, and so of the mean.
    pub input: f64,
    /// Of the middle request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median: Option<f64>,
    /// Of the largest request.
    pub largest: f64,
    /// Of what they cost.
    pub billed: f64,
}

/// Means over sessions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Mean {
    /// How many sessions have at least [`LONG`] calls.
    pub sessions: usize,
    /// Calls from which on a session counts.
    pub from_calls: u64,
    /// Each way: the means of the sessions' shares.
    pub ways: Vec<MeanOf>,
}

/// Means of a way.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MeanOf {
    /// The way.
    pub way: Way,
    /// Of the shares of the linear way's.
    pub of_linear: OfLinear,
    /// Of retention.
    pub retention: f64,
    /// The least retention of one session.
    pub least_retention: f64,
    /// The largest share that one session is billed.
    pub most_billed: f64,
}

impl Report {
    /// Adds a session. The sums and means are those of [`Report::finish`].
    pub fn add(&mut self, file: String, recording: &Recording, replay: &Replay) {
        let ways = replay
            .figures
            .iter()
            .map(|(way, figures)| WayReport::of(*way, figures, &replay.figures(Way::Linear)));
        self.sessions.push(SessionReport {
            session: recording.session.clone(),
            file,
            format: format_name(recording.format),
            title: recording.title.as_deref().map(|title| mask(title).into_owned()),
            parent: recording.parent.as_ref().map(|parent| parent.session.clone()),
            calls: replay.session.calls.len() as u64,
            compactions: replay.session.compactions(),
            frames: replay.frames.len().saturating_sub(1),
            tokens: replay.fit,
            ways: ways.collect(),
            skipped: recording.skipped.kinds.clone(),
            unreadable: recording.skipped.unreadable,
        });
    }

    /// Adds everything up.
    #[must_use]
    pub fn finish(mut self) -> Self {
        let ways: Vec<Way> = Way::ALL
            .into_iter()
            .filter(|way| self.sessions.iter().any(|it| it.ways.iter().any(|of| of.way == *way)))
            .collect();
        let of = |way| {
            self.sessions.iter().flat_map(move |it| it.ways.iter().filter(move |of| of.way == way))
        };
        let total = |way| {
            let mut sum = Figures::default();
            let mut billed = 0.0;
            for one in of(way) {
                sum.input += one.input;
                sum.largest = sum.largest.max(one.largest);
                sum.used += one.used;
                sum.kept += one.kept;
                billed += one.billed;
            }
            sum.calls = self.sessions.iter().map(|it| it.calls).sum();
            (sum, billed)
        };
        let linear = total(Way::Linear);
        let sum = ways.iter().map(|way| {
            let (sum, billed) = total(*way);
            WayReport {
                way: *way,
                input: sum.input,
                mean: sum.mean(),
                median: None,
                largest: sum.largest,
                billed,
                used: sum.used,
                kept: sum.kept,
                retention: sum.retention(),
                of_linear: OfLinear {
                    input: share(sum.input as f64, linear.0.input as f64),
                    median: None,
                    largest: share(sum.largest as f64, linear.0.largest as f64),
                    billed: share(billed, linear.1),
                },
            }
        });
        let sum = sum.collect();
        let mean = self.means(&ways);
        self.sum = sum;
        self.mean = mean;
        self
    }

    fn means(&self, ways: &[Way]) -> Mean {
        let long: Vec<&SessionReport> =
            self.sessions.iter().filter(|it| it.calls >= LONG).collect();
        let of = |way: Way| {
            let these: Vec<&WayReport> =
                long.iter().flat_map(|it| it.ways.iter().filter(move |of| of.way == way)).collect();
            let mean = |value: &dyn Fn(&WayReport) -> f64| {
                these.iter().map(|it| value(it)).sum::<f64>() / these.len().max(1) as f64
            };
            MeanOf {
                way,
                of_linear: OfLinear {
                    input: mean(&|it| it.of_linear.input),
                    median: Some(mean(&|it| it.of_linear.median.unwrap_or(1.0))),
                    largest: mean(&|it| it.of_linear.largest),
                    billed: mean(&|it| it.of_linear.billed),
                },
                retention: mean(&|it| it.retention),
                least_retention: these.iter().map(|it| it.retention).fold(1.0, f64::min),
                most_billed: these.iter().map(|it| it.of_linear.billed).fold(0.0, f64::max),
            }
        };
        let ways =
            if long.is_empty() { Vec::new() } else { ways.iter().map(|way| of(*way)).collect() };
        Mean { sessions: long.len(), from_calls: LONG, ways }
    }
}

impl WayReport {
    fn of(way: Way, figures: &Figures, linear: &Figures) -> Self {
        Self {
            way,
            input: figures.input,
            mean: figures.mean(),
            median: Some(figures.median),
            largest: figures.largest,
            billed: figures.billed(),
            used: figures.used,
            kept: figures.kept,
            retention: figures.retention(),
            of_linear: OfLinear {
                input: share(figures.input as f64, linear.input as f64),
                median: Some(share(figures.median as f64, linear.median as f64)),
                largest: share(figures.largest as f64, linear.largest as f64),
                billed: share(figures.billed(), linear.billed()),
            },
        }
    }
}

/// A part of a whole; 1 where there is nothing of either.
fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 1.0 }
}

/// The name of the program that wrote a recording.
pub fn format_name(format: Format) -> &'static str {
    match format {
        Format::ClaudeCode => "Claude Code",
        Format::OpenCode => "OpenCode",
        Format::Codex => "Codex",
        Format::Pi => "pi",
        Format::SweAgent => "SWE-agent",
        Format::MiniSweAgent => "mini-swe-agent",
    }
}
