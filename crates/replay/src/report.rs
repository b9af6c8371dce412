//! The figures of replayed sessions, each and together. Figures of several sessions are sums, or means of ratios.

use std::collections::BTreeMap;

use callstack_core::secrets::mask;
use callstack_recordings::{Format, Recording};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::calibration::Fit;
use crate::figures::Figures;
use crate::replay::Replay;
use crate::ways::Strategy;

/// Calls of the model from which on a session counts in the mean: in shorter ones there is little to fold.
pub const LONG: u64 = 80;

/// All figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Each session.
    pub sessions: Vec<SessionReport>,
    /// The sums over all sessions.
    pub sum: Vec<StrategyReport>,
    /// The means over the long sessions.
    pub mean: Mean,
}

/// Figures of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionReport {
    /// Its id.
    pub session: String,
    /// The file or folder that was named.
    pub file: String,
    /// The program that wrote it.
    pub format: String,
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
    /// Turns and items that became frames.
    pub frames: usize,
    /// Whether it was recorded with callstack at work in it.
    pub had_frames: bool,
    /// The calibration of tokens.
    pub tokens: Fit,
    /// The most that was shown in one step.
    pub largest_step: Step,
    /// Each way of sending.
    pub ways: Vec<StrategyReport>,
    /// Records that were passed over, by kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub skipped: BTreeMap<String, usize>,
    /// Lines that could not be read.
    pub unreadable: usize,
}

/// Figures of a way of sending.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StrategyReport {
    /// The way.
    pub way: Strategy,
    /// The conversation alone.
    #[serde(flatten)]
    pub conversation: Sizes,
    /// Whole requests: system prompt and tools with the conversation.
    pub whole: Sizes,
    /// The shares that the recording would have without its pauses; of several sessions there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_pauses: Option<WithoutPauses>,
    /// Terms that were used again.
    pub used: u64,
    /// Those of them that were in the request.
    pub kept: u64,
    /// `kept` of `used`.
    pub retention: f64,
    /// Edits whose texts were in the recorded request.
    pub edits: u64,
    /// Those of them whose texts were in the request.
    pub verbatim: u64,
    /// `verbatim` of `edits`.
    pub verbatim_share: f64,
    /// Files that had to be read again.
    pub reads: u64,
}

/// The sizes of requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sizes {
    /// Tokens of all requests.
    pub input: u64,
    /// Tokens a request.
    pub mean: f64,
    /// Tokens of the middle request; of several sessions there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median: Option<u64>,
    /// Tokens of the largest request.
    pub largest: u64,
    /// Tokens of the largest request, with files that were read again.
    pub largest_with_reads: u64,
    /// The cost of all requests with prompt caching, in tokens of input.
    pub billed: f64,
    /// The same with a read for each miss.
    pub billed_with_reads: f64,
    /// Each as a share of the linear way's.
    pub of_linear: OfLinear,
}

/// Figures as shares of the linear way's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OfLinear {
    /// Of the tokens of all requests, and so of the mean.
    pub input: f64,
    /// Of the middle request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median: Option<f64>,
    /// Of the largest request.
    pub largest: f64,
    /// Of the largest request, with files that were read again.
    pub largest_with_reads: f64,
    /// The ratio of their costs.
    pub billed: f64,
    /// The ratio of their costs, with a read for each miss.
    pub billed_with_reads: f64,
}

/// Shares without the pauses of the recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WithoutPauses {
    /// Of the conversation alone.
    pub of_linear: OfLinear,
    /// Of whole requests.
    pub whole: OfLinear,
    /// The share of the edits whose texts were in the request.
    pub verbatim_share: f64,
}

/// Means over sessions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Mean {
    /// The number of sessions with at least [`LONG`] calls.
    pub sessions: usize,
    /// Calls from which on a session counts.
    pub from_calls: u64,
    /// Each way: the means of the sessions' shares.
    pub ways: Vec<MeanOf>,
}

/// Means of a way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MeanOf {
    /// The way.
    pub way: Strategy,
    /// Of the shares of the linear way's.
    pub of_linear: OfLinear,
    /// The same of whole requests.
    pub whole: OfLinear,
    /// The same without pauses.
    pub without_pauses: WithoutPauses,
    /// Of retention.
    pub retention: f64,
    /// The least retention of one session.
    pub least_retention: f64,
    /// The ratio of the shares of edits whose texts were in the request.
    pub verbatim_share: f64,
    /// The least such share of one session.
    pub least_verbatim_share: f64,
    /// The largest share that one session is billed.
    pub most_billed: f64,
    /// The largest share that whole requests of one session are billed, with a read for each miss.
    pub most_billed_with_reads: f64,
}

/// The outputs of the step with the most of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// Their tokens.
    pub tokens: u64,
    /// Their share of the largest request, without system prompt and tools: the agent is shown them once, so that no
    /// way of sending all of them has a smaller request.
    pub of_largest: f64,
    /// Their share of the largest whole request, with system prompt and tools.
    pub whole: f64,
}

/// The share of the largest request from which on the largest step is mentioned.
pub const LARGE: f64 = 1.0 / 3.0;

impl Report {
    /// Adds a session. The sums and means are those of [`Report::finish`].
    pub fn add(&mut self, file: String, recording: &Recording, replay: &Replay) {
        let linear = Measured::of(replay, Strategy::Linear);
        let ways = replay.figures.iter().map(|(way, _)| Measured::of(replay, *way));
        let ways = ways.map(|measured| measured.report(&linear));
        let beside = linear.figures.beside;
        let largest_step = Step {
            tokens: replay.largest_step,
            of_largest: share(replay.largest_step as f64, linear.figures.largest as f64),
            whole: share(
                (replay.largest_step + beside) as f64,
                linear.figures.whole().largest as f64,
            ),
        };
        self.sessions.push(SessionReport {
            session: recording.session.clone(),
            file,
            format: format_name(recording.format).to_owned(),
            title: recording.title.as_deref().map(|title| mask(title).into_owned()),
            parent: recording.parent.as_ref().map(|parent| parent.session.clone()),
            calls: replay.session.calls.len() as u64,
            compactions: replay.session.compactions(),
            frames: replay.spans.len(),
            had_frames: replay.session.had_frames(),
            tokens: replay.fit,
            largest_step,
            ways: ways.collect(),
            skipped: recording.skipped.kinds.clone(),
            unreadable: recording.skipped.unreadable,
        });
    }

    /// Adds everything up.
    #[must_use]
    pub fn finish(mut self) -> Self {
        let ways: Vec<Strategy> = Strategy::ALL
            .into_iter()
            .filter(|way| self.sessions.iter().any(|it| it.ways.iter().any(|of| of.way == *way)))
            .collect();
        let of = |way| {
            self.sessions.iter().flat_map(move |it| it.ways.iter().filter(move |of| of.way == way))
        };
        let total = |way| {
            let mut sum = Sum::default();
            of(way).for_each(|one| sum.add(one));
            sum.calls = self.sessions.iter().map(|it| it.calls).sum();
            sum
        };
        let linear = total(Strategy::Linear);
        let sum = ways.iter().map(|way| total(*way).report(*way, &linear)).collect();
        let mean = self.means(&ways);
        self.sum = sum;
        self.mean = mean;
        self
    }

    fn means(&self, ways: &[Strategy]) -> Mean {
        let long: Vec<&SessionReport> =
            self.sessions.iter().filter(|it| it.calls >= LONG).collect();
        let of = |way: Strategy| {
            let these: Vec<&StrategyReport> =
                long.iter().flat_map(|it| it.ways.iter().filter(move |of| of.way == way)).collect();
            let mean = |value: &dyn Fn(&StrategyReport) -> f64| {
                these.iter().map(|it| value(it)).sum::<f64>() / these.len().max(1) as f64
            };
            let least = |value: &dyn Fn(&StrategyReport) -> f64| {
                these.iter().map(|it| value(it)).fold(1.0, f64::min)
            };
            let most = |value: &dyn Fn(&StrategyReport) -> f64| {
                these.iter().map(|it| value(it)).fold(0.0, f64::max)
            };
            let unpaused = |it: &StrategyReport| it.without_pauses.unwrap_or_default();
            MeanOf {
                way,
                of_linear: mean_of(&these, |it| it.conversation.of_linear),
                whole: mean_of(&these, |it| it.whole.of_linear),
                without_pauses: WithoutPauses {
                    of_linear: mean_of(&these, |it| unpaused(it).of_linear),
                    whole: mean_of(&these, |it| unpaused(it).whole),
                    verbatim_share: mean(&|it| unpaused(it).verbatim_share),
                },
                retention: mean(&|it| it.retention),
                least_retention: least(&|it| it.retention),
                verbatim_share: mean(&|it| it.verbatim_share),
                least_verbatim_share: least(&|it| it.verbatim_share),
                most_billed: most(&|it| it.conversation.of_linear.billed),
                most_billed_with_reads: most(&|it| it.whole.of_linear.billed_with_reads),
            }
        };
        let ways =
            if long.is_empty() { Vec::new() } else { ways.iter().map(|way| of(*way)).collect() };
        Mean { sessions: long.len(), from_calls: LONG, ways }
    }
}

/// The means of shares.
fn mean_of(ways: &[&StrategyReport], of: impl Fn(&StrategyReport) -> OfLinear) -> OfLinear {
    let mean = |value: &dyn Fn(&OfLinear) -> f64| {
        ways.iter().map(|it| value(&of(it))).sum::<f64>() / ways.len().max(1) as f64
    };
    OfLinear {
        input: mean(&|it| it.input),
        median: Some(mean(&|it| it.median.unwrap_or(1.0))),
        largest: mean(&|it| it.largest),
        largest_with_reads: mean(&|it| it.largest_with_reads),
        billed: mean(&|it| it.billed),
        billed_with_reads: mean(&|it| it.billed_with_reads),
    }
}

/// A way of sending a session, with and without the session's pauses.
struct Measured {
    way: Strategy,
    figures: Figures,
    unpaused: Figures,
}

impl Measured {
    fn of(replay: &Replay, way: Strategy) -> Self {
        let found = replay.unpaused.iter().find(|(it, _)| *it == way);
        let unpaused = found.map(|(_, figures)| figures.clone()).unwrap_or_default();
        Self { way, figures: replay.figures(way), unpaused }
    }

    fn report(self, linear: &Self) -> StrategyReport {
        let Self { way, figures, unpaused } = self;
        let shares = |one: &Figures, linear: &Figures| Sizes::of(one, linear).of_linear;
        StrategyReport {
            way,
            conversation: Sizes::of(&figures, &linear.figures),
            whole: Sizes::of(&figures.whole(), &linear.figures.whole()),
            without_pauses: Some(WithoutPauses {
                of_linear: shares(&unpaused, &linear.unpaused),
                whole: shares(&unpaused.whole(), &linear.unpaused.whole()),
                verbatim_share: unpaused.verbatim_share(),
            }),
            used: figures.used,
            kept: figures.kept,
            retention: figures.retention(),
            edits: figures.edits,
            verbatim: figures.verbatim,
            verbatim_share: figures.verbatim_share(),
            reads: figures.reads,
        }
    }
}

impl Sizes {
    fn of(figures: &Figures, linear: &Figures) -> Self {
        let sizes = |figures: &Figures| Self {
            input: figures.input,
            mean: figures.mean(),
            median: Some(figures.median),
            largest: figures.largest,
            largest_with_reads: figures.largest_with_reads,
            billed: figures.billed(),
            billed_with_reads: figures.with_reads(),
            of_linear: OfLinear::default(),
        };
        sizes(figures).beside(&sizes(linear))
    }

    /// Itself with its shares of the linear way's.
    fn beside(mut self, linear: &Self) -> Self {
        let of = |one: u64, linear: u64| share(one as f64, linear as f64);
        self.of_linear = OfLinear {
            input: of(self.input, linear.input),
            median: self.median.zip(linear.median).map(|(one, linear)| of(one, linear)),
            largest: of(self.largest, linear.largest),
            largest_with_reads: of(self.largest_with_reads, linear.largest),
            billed: share(self.billed, linear.billed),
            billed_with_reads: share(self.billed_with_reads, linear.billed),
        };
        self
    }

    /// Takes those of another session to it.
    fn add(&mut self, other: &Self) {
        self.input += other.input;
        self.largest = self.largest.max(other.largest);
        self.largest_with_reads = self.largest_with_reads.max(other.largest_with_reads);
        self.billed += other.billed;
        self.billed_with_reads += other.billed_with_reads;
    }
}

/// A way of sending, summed up over sessions.
#[derive(Default)]
struct Sum {
    calls: u64,
    conversation: Sizes,
    whole: Sizes,
    used: u64,
    kept: u64,
    edits: u64,
    verbatim: u64,
    reads: u64,
}

impl Sum {
    fn add(&mut self, one: &StrategyReport) {
        self.conversation.add(&one.conversation);
        self.whole.add(&one.whole);
        self.used += one.used;
        self.kept += one.kept;
        self.edits += one.edits;
        self.verbatim += one.verbatim;
        self.reads += one.reads;
    }

    fn report(mut self, way: Strategy, linear: &Self) -> StrategyReport {
        for sizes in [&mut self.conversation, &mut self.whole] {
            sizes.mean = sizes.input as f64 / self.calls.max(1) as f64;
        }
        let part = |part: u64, all: u64| share(part as f64, all as f64);
        StrategyReport {
            way,
            conversation: self.conversation.beside(&linear.conversation),
            whole: self.whole.beside(&linear.whole),
            without_pauses: None,
            used: self.used,
            kept: self.kept,
            retention: part(self.kept, self.used),
            edits: self.edits,
            verbatim: self.verbatim,
            verbatim_share: part(self.verbatim, self.edits),
            reads: self.reads,
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
