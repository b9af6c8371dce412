//! A session, sent in all ways, with the figures of each.

use callstack_core::frame::Frame;
use callstack_core::transcript::Span;
use callstack_recordings::Recording;

use crate::calibration::Fit;
use crate::changes::needs;
use crate::figures::{Figures, Measure, is_paused, used};
use crate::item::ItemNum;
use crate::requests::Requests;
use crate::rereads::Reread;
use crate::session::{PieceKind, Session};
use crate::ways::{Strategy, compaction, frames, linear, masking, window};

/// A replayed session.
#[derive(Debug)]
pub struct Replay {
    /// The session.
    pub session: Session,
    /// The calibration of its tokens.
    pub fit: Fit,
    /// The requests, by way.
    pub sent: Vec<(Strategy, Requests)>,
    /// The figures, by way.
    pub figures: Vec<(Strategy, Figures)>,
    /// The figures that it would have had with no pause in it, by way.
    pub unpaused: Vec<(Strategy, Figures)>,
    /// Tokens of the outputs of the step that showed the agent the most.
    pub largest_step: u64,
    /// Its frames, the root first.
    pub frames: Vec<Frame>,
    /// The spans of the frames.
    pub spans: Vec<Span>,
    /// Items from this one on were not recorded.
    pub(crate) ours_from: ItemNum,
}

/// The progress of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Calls of the model that are done.
    pub call: usize,
    /// The number of all calls.
    pub calls: usize,
}

impl Replay {
    /// Replays a recording.
    pub fn of(recording: &Recording, policy: &frames::Policy) -> Self {
        Self::in_ways(recording, policy, &Strategy::ALL, &mut |_| {})
    }

    /// Replays a recording in some ways; the linear one is always among them. Reports its progress after each call
    /// that was put into frames, which takes longest.
    pub fn in_ways(
        recording: &Recording,
        policy: &frames::Policy,
        ways: &[Strategy],
        progress: &mut dyn FnMut(Progress),
    ) -> Self {
        let mut session = Session::of(recording);
        let calls = session.calls.len();
        progress(Progress { call: 0, calls });
        let whole = linear(&session);
        let fit = Fit::of(&session, &whole);
        let used = used(&session, &whole);
        let needs = needs(&session, &whole);
        let ours_from = ItemNum::try_from(session.items.len()).unwrap_or(ItemNum::MAX);
        let mut whole = Some(whole);
        let (mut all_frames, mut spans) = (Vec::new(), Vec::new());
        let mut sent = Vec::with_capacity(ways.len());
        for way in
            Strategy::ALL.into_iter().filter(|way| ways.contains(way) || *way == Strategy::Linear)
        {
            let requests = match way {
                Strategy::Linear => whole.take().unwrap_or_default(),
                Strategy::Compaction => compaction::requests(&mut session, &fit),
                Strategy::Masking => masking::requests(&mut session),
                Strategy::Window => window::requests(&session),
                Strategy::Frames => {
                    let mut done = |call| progress(Progress { call, calls });
                    let framed = frames::requests(&mut session, policy, &fit, &mut done);
                    (all_frames, spans) = (framed.frames, framed.spans);
                    framed.requests
                }
            };
            sent.push((way, requests));
        }
        let no_pauses = frames::Policy { pauses: false, ..*policy };
        let is_asked = ways.contains(&Strategy::Frames) && has_pauses(&session);
        let unpaused = is_asked
            .then(|| frames::requests(&mut session, &no_pauses, &fit, &mut |_| {}).requests);
        let measure = Measure {
            session: &session,
            used: &used,
            needs: &needs,
            ours_from,
            tokens: |item| fit.tokens(session.items.get(item).estimated),
            read: |item| fit.tokens(session.items.get(item).estimated),
        };
        let figures = |(way, sent): &(Strategy, Requests)| {
            (*way, measure.of(sent, fit.beside + way.beside(), true))
        };
        let figures = sent.iter().map(figures).collect();
        let without = |(way, sent): &(Strategy, Requests)| {
            let sent = unpaused.as_ref().filter(|_| *way == Strategy::Frames).unwrap_or(sent);
            (*way, measure.of(sent, fit.beside + way.beside(), false))
        };
        let unpaused = sent.iter().map(without).collect();
        let largest_step = largest_step(&session, &fit);
        let (frames, spans) = (all_frames, spans);
        Self { session, fit, sent, figures, unpaused, largest_step, frames, spans, ours_from }
    }

    /// Measures requests that could have been sent in the place of those of frames.
    pub fn measure(&self, requests: &Requests, reread: Reread) -> Figures {
        let (session, fit) = (&self.session, &self.fit);
        let whole = linear(session);
        let estimated = |item| session.items.get(item).estimated;
        let measure = Measure {
            session,
            used: &used(session, &whole),
            needs: &needs(session, &whole),
            ours_from: self.ours_from,
            tokens: |item| fit.tokens(estimated(item)),
            read: |item| fit.tokens(reread.tokens(estimated(item))),
        };
        measure.of(requests, fit.beside + Strategy::Frames.beside(), true)
    }

    /// The requests in frames; none where they were left out.
    pub fn framed(&self) -> Option<&Requests> {
        let mut sent = self.sent.iter();
        sent.find(|(way, _)| *way == Strategy::Frames).map(|(_, requests)| requests)
    }

    /// The figures of a way; those of no call where it was left out.
    pub fn figures(&self, way: Strategy) -> Figures {
        let found = self.figures.iter().find(|(it, _)| *it == way);
        found.map(|(_, figures)| figures.clone()).unwrap_or_default()
    }
}

fn has_pauses(session: &Session) -> bool {
    let mut before = None;
    session.calls.iter().any(|call| {
        let paused = is_paused(before, call.at);
        before = call.at.or(before);
        paused
    })
}

/// Returns the largest step: the outputs of a step are sent at least once, so no request is smaller than the one
/// after them.
fn largest_step(session: &Session, fit: &Fit) -> u64 {
    let outputs = session.pieces.iter().map(|pieces| {
        let outputs = pieces.iter().filter(|piece| piece.kind == PieceKind::Result);
        outputs.map(|piece| session.items.get(piece.item).estimated).sum::<u64>()
    });
    fit.tokens(outputs.max().unwrap_or_default())
}
