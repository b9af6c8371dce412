//! A second model of frames, as plain as possible: every frame has a list of moments, and its state is its last
//! moment that was not undone. Shares no code with `decide`.

use std::collections::BTreeSet;

use callstack_core::frame::Status;

pub(super) const DEPTH: u32 = 5;
pub(super) const CHILDREN: usize = 4;
pub(super) const LIVE: usize = 5;

/// A session's call, by session and place in its transcript.
pub(super) type Call = (usize, u64);

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Life {
    Planned,
    Begun { session: usize },
    Ended { status: Status, results: Option<String> },
}

/// The relation of a moment to the work in the frame.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// Work begins or ends with it.
    Within,
    /// Work goes on below the frame.
    Above,
    /// Nobody works in the frame.
    Aside,
}

#[derive(Clone, Debug)]
struct Moment {
    /// The call that undo can take back; none for changes that no undo reaches.
    by: Option<Call>,
    life: Life,
    place: Place,
    /// The moment in which the work began, if this one ended it.
    work: Option<usize>,
    order: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) id: String,
    pub(super) former: Vec<String>,
    pub(super) parent: Option<usize>,
    pub(super) title: String,
    pub(super) derived: bool,
    pub(super) artifacts: Vec<(String, Option<String>)>,
    pub(super) decisions: Vec<String>,
    pub(super) pins: Vec<(u64, String)>,
    moments: Vec<Moment>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Session {
    pub(super) known: bool,
    pub(super) root: Option<usize>,
    pub(super) active: Option<usize>,
    /// The calls that its transcript shows, and those that an undo took away, the oldest last.
    shown: BTreeSet<u64>,
    undone: Vec<u64>,
    calls: u64,
}

/// The plans below a frame: titles and those below them.
#[derive(Clone, Debug)]
pub(super) struct Outline {
    pub(super) title: String,
    pub(super) below: Vec<Outline>,
}

impl Outline {
    fn height(&self) -> u32 {
        1 + self.below.iter().map(Self::height).max().unwrap_or(0)
    }

    fn widest(&self) -> usize {
        self.below.iter().map(Self::widest).max().unwrap_or(0).max(self.below.len())
    }
}

#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) nodes: Vec<Node>,
    pub(super) sessions: Vec<Session>,
    /// Which session started which.
    pub(super) started_by: Vec<Option<usize>>,
    pins: u64,
    order: u64,
}

impl Model {
    pub(super) fn new(started_by: &[Option<usize>]) -> Self {
        Self {
            nodes: Vec::new(),
            sessions: vec![Session::default(); started_by.len()],
            started_by: started_by.to_vec(),
            pins: 0,
            order: 0,
        }
    }

    /// Makes a call of a session: moments that were undone before it are gone for good.
    pub(super) fn call(&mut self, session: usize) -> Call {
        let it = &mut self.sessions[session];
        it.undone.clear();
        it.calls += 1;
        it.shown.insert(it.calls);
        (session, it.calls)
    }

    pub(super) fn shows(&self, call: Call) -> bool {
        self.sessions[call.0].shown.contains(&call.1)
    }

    pub(super) fn undo(&mut self, session: usize, calls: usize) {
        let before = self.standings();
        for _ in 0..calls {
            let it = &mut self.sessions[session];
            let Some(last) = it.shown.pop_last() else { break };
            it.undone.push(last);
        }
        self.look_again(session, &before);
    }

    pub(super) fn redo(&mut self, session: usize, calls: usize) {
        let before = self.standings();
        for _ in 0..calls {
            let it = &mut self.sessions[session];
            let Some(next) = it.undone.pop() else { break };
            it.shown.insert(next);
        }
        self.look_again(session, &before);
    }

    /// After an undo, a session works in the last begun of its frames in progress.
    fn look_again(&mut self, session: usize, before: &[(Status, bool)]) {
        let after = self.standings();
        let mut concerned: BTreeSet<usize> = BTreeSet::new();
        for node in 0..self.nodes.len() {
            if before[node] != after[node] {
                concerned.insert(session);
                concerned.extend(self.begun_in(node));
            }
        }
        for session in concerned {
            self.sessions[session].active = (0..self.nodes.len())
                .filter(|node| self.working(*node) == Some(session))
                .max_by_key(|node| self.begun(*node));
        }
    }

    fn standings(&self) -> Vec<(Status, bool)> {
        (0..self.nodes.len()).map(|node| (self.status(node), self.detached(node))).collect()
    }

    /// Returns the moments that were not undone. The end of work is undone with the call that took it up.
    fn visible(&self, node: usize) -> Vec<&Moment> {
        let moments = &self.nodes[node].moments;
        let shown = |moment: &Moment| moment.by.is_none_or(|by| self.shows(by));
        let visible = |moment: &&Moment| {
            let work = moment.work.filter(|_| moment.place == Place::Within);
            shown(moment) && work.is_none_or(|work| work == 0 || shown(&moments[work]))
        };
        moments.iter().filter(visible).collect()
    }

    /// Its push was undone, or that of a frame above it.
    pub(super) fn detached(&self, node: usize) -> bool {
        let created = &self.nodes[node].moments[0];
        created.by.is_some_and(|by| !self.shows(by))
            || self.nodes[node].parent.is_some_and(|parent| self.detached(parent))
    }

    fn last(&self, node: usize) -> &Moment {
        let all = &self.nodes[node].moments;
        let visible = self.visible(node);
        // Events outside of work are in no transcript: if work was resumed after one and that was undone, the frame
        // returns to the outcome of its work.
        let last_work = all.iter().rposition(|it| matches!(it.life, Life::Begun { .. }));
        let undone_after = |moment: &Moment| {
            last_work.is_some_and(|at| {
                all[at].order > moment.order && all[at].by.is_some_and(|by| !self.shows(by))
            })
        };
        visible
            .iter()
            .rev()
            .find(|it| !(it.place == Place::Aside && undone_after(it)))
            .copied()
            .unwrap_or(&all[0])
    }

    fn standing(&self, node: usize) -> &Life {
        &self.last(node).life
    }

    pub(super) fn status(&self, node: usize) -> Status {
        match self.standing(node) {
            Life::Planned => Status::Planned,
            Life::Begun { .. } => Status::InProgress,
            Life::Ended { status, .. } => *status,
        }
    }

    pub(super) fn results(&self, node: usize) -> Option<&str> {
        match self.standing(node) {
            Life::Ended { results, .. } => results.as_deref(),
            _ => None,
        }
    }

    /// The session that worked in it last.
    pub(super) fn begun_in(&self, node: usize) -> Option<usize> {
        let last = self.last(node);
        if let (Place::Above, Some(work)) = (last.place, last.work) {
            let Life::Begun { session } = self.nodes[node].moments[work].life else { return None };
            return Some(session);
        }
        self.visible(node).iter().rev().find_map(|it| match it.life {
            Life::Begun { session } => Some(session),
            _ => None,
        })
    }

    fn begun(&self, node: usize) -> u64 {
        let begins = self.visible(node);
        let begins = begins.iter().filter(|it| matches!(it.life, Life::Begun { .. }));
        begins.map(|it| it.order).max().unwrap_or(0)
    }

    /// The session that works in it now.
    fn working(&self, node: usize) -> Option<usize> {
        let works = self.status(node) == Status::InProgress && !self.detached(node);
        self.begun_in(node).filter(|_| works)
    }

    pub(super) fn children(&self, parent: Option<usize>) -> Vec<usize> {
        (0..self.nodes.len())
            .filter(|node| self.nodes[*node].parent == parent && !self.detached(*node))
            .collect()
    }

    pub(super) fn depth(&self, node: usize) -> u32 {
        self.nodes[node].parent.map_or(0, |parent| self.depth(parent) + 1)
    }

    fn below(&self, node: usize) -> Vec<usize> {
        self.children(Some(node))
            .into_iter()
            .flat_map(|child| std::iter::once(child).chain(self.below(child)))
            .collect()
    }

    fn live(&self) -> usize {
        (0..self.nodes.len()).filter(|node| self.working(*node).is_some()).count()
    }

    fn fits(&self, parent: Option<usize>, added: usize) -> bool {
        parent.is_none_or(|parent| {
            self.depth(parent) + 1 < DEPTH && self.children(Some(parent)).len() + added <= CHILDREN
        })
    }

    fn happened(&mut self, node: usize, by: Option<Call>, life: Life, place: Place) {
        self.order += 1;
        let begun = self.visible(node).into_iter().rev().find_map(|it| match it.life {
            Life::Begun { .. } => Some(it.order),
            _ => None,
        });
        let moments = &mut self.nodes[node].moments;
        let work = moments.iter().position(|it| Some(it.order) == begun);
        let work = work.filter(|_| matches!(life, Life::Ended { .. }));
        moments.push(Moment { by, life, place, work, order: self.order });
    }

    fn add(&mut self, id: String, title: &str, parent: Option<usize>) -> usize {
        self.nodes.push(Node {
            id,
            former: Vec::new(),
            parent,
            title: title.to_owned(),
            derived: false,
            artifacts: Vec::new(),
            decisions: Vec::new(),
            pins: Vec::new(),
            moments: Vec::new(),
        });
        self.nodes.len() - 1
    }

    pub(super) fn open_root(&mut self, session: usize, id: &str, spare: &str, title: &str) -> bool {
        if self.sessions[session].active.is_some() {
            return true;
        }
        let parent = self.started_by[session].and_then(|it| self.sessions[it].active);
        if !self.fits(parent, 1) || self.live() >= LIVE {
            return false;
        }
        let first = self.sessions[session].root.is_none();
        let node = self.add(if first { id } else { spare }.to_owned(), title, parent);
        self.nodes[node].derived = true;
        self.happened(node, None, Life::Begun { session }, Place::Within);
        let it = &mut self.sessions[session];
        it.known = true;
        it.root = it.root.or(Some(node));
        it.active = Some(node);
        true
    }

    pub(super) fn push(&mut self, call: Call, id: &str, title: &str) -> bool {
        let parent = self.sessions[call.0].active;
        if !self.sessions[call.0].known || !self.fits(parent, 1) || self.live() >= LIVE {
            return false;
        }
        let node = self.add(id.to_owned(), title, parent);
        self.happened(node, Some(call), Life::Begun { session: call.0 }, Place::Within);
        self.sessions[call.0].active = Some(node);
        true
    }

    pub(super) fn pop(
        &mut self,
        call: Call,
        named: Option<usize>,
        status: Status,
        results: &str,
    ) -> bool {
        let Some(node) = named.or(self.sessions[call.0].active) else { return false };
        let open = self.children(Some(node)).into_iter();
        if self.detached(node) || open.into_iter().any(|child| self.working(child).is_some()) {
            return false;
        }
        let before = self.status(node);
        let legal = match before {
            Status::InProgress => {
                matches!(status, Status::Completed | Status::Failed | Status::Blocked)
            }
            Status::Blocked => matches!(status, Status::Completed | Status::Failed),
            _ => false,
        };
        if legal {
            let life = Life::Ended { status, results: Some(results.to_owned()) };
            self.end(call, node, life);
        }
        legal
    }

    /// A frame ends; the session that works in it goes back to the nearest frame above that is open.
    fn end(&mut self, call: Call, node: usize, life: Life) {
        let worked_in = self.working(node);
        let by = worked_in.filter(|session| *session == call.0).map(|_| call);
        let place = if worked_in.is_some() { Place::Within } else { Place::Aside };
        self.happened(node, by, life, place);
        let Some(session) = worked_in else { return };
        if self.sessions[session].active != Some(node) {
            return;
        }
        let mut above = self.nodes[node].parent;
        while let Some(it) = above {
            if self.begun_in(it) != Some(session) {
                above = None;
            } else if self.working(it).is_some() {
                break;
            } else {
                above = self.nodes[it].parent;
            }
        }
        self.sessions[session].active = above;
    }

    pub(super) fn plan(
        &mut self,
        parent: Option<usize>,
        outlines: &[Outline],
        ids: &mut impl FnMut() -> String,
    ) -> bool {
        let depth = parent.map_or(0, |parent| self.depth(parent) + 1);
        let closed = parent.is_some_and(|parent| {
            self.detached(parent)
                || matches!(
                    self.status(parent),
                    Status::Completed | Status::Failed | Status::Invalidated
                )
        });
        let height = outlines.iter().map(Outline::height).max().unwrap_or(0);
        let widest = outlines.iter().map(Outline::widest).max().unwrap_or(0);
        if closed
            || depth + height > DEPTH
            || widest > CHILDREN
            || !self.fits(parent, outlines.len())
        {
            return false;
        }
        self.plan_below(parent, outlines, ids);
        true
    }

    fn plan_below(
        &mut self,
        parent: Option<usize>,
        outlines: &[Outline],
        ids: &mut impl FnMut() -> String,
    ) {
        for outline in outlines {
            let node = self.add(ids(), &outline.title, parent);
            self.happened(node, None, Life::Planned, Place::Within);
            self.plan_below(Some(node), &outline.below, ids);
        }
    }

    pub(super) fn activate(&mut self, call: Call, node: usize, id: &str) -> bool {
        let status = self.status(node);
        if !matches!(status, Status::Planned | Status::Blocked) || !self.may_begin(call, node) {
            return false;
        }
        if status == Status::Planned {
            let former = std::mem::replace(&mut self.nodes[node].id, id.to_owned());
            self.nodes[node].former.push(former);
        }
        self.happened(node, Some(call), Life::Begun { session: call.0 }, Place::Within);
        self.sessions[call.0].active = Some(node);
        true
    }

    pub(super) fn reopen(&mut self, call: Call, node: usize) -> bool {
        let status = self.status(node);
        if !matches!(status, Status::Completed | Status::Failed | Status::Invalidated) {
            return false;
        }
        if self.begun_in(node).is_none() {
            if self.detached(node) {
                return false;
            }
            self.happened(node, None, Life::Planned, Place::Aside);
            return true;
        }
        if !self.may_begin(call, node) {
            return false;
        }
        self.happened(node, Some(call), Life::Begun { session: call.0 }, Place::Within);
        self.sessions[call.0].active = Some(node);
        true
    }

    /// Work goes depth-first: only below the frame that the session works in.
    fn may_begin(&self, call: Call, node: usize) -> bool {
        let session = &self.sessions[call.0];
        session.known
            && !self.detached(node)
            && self.nodes[node].parent == session.active
            && self.live() < LIVE
    }

    pub(super) fn invalidate(&mut self, call: Call, node: usize) -> bool {
        let open =
            matches!(self.status(node), Status::Planned | Status::InProgress | Status::Blocked);
        if !open || self.detached(node) {
            return false;
        }
        let results = self.visible(node).into_iter().rev().find_map(|it| match &it.life {
            Life::Ended { results, .. } => results.clone(),
            _ => None,
        });
        let below = self.below(node);
        let mine = self.working(node);
        let inner = below.iter().any(|it| mine.is_some() && self.working(*it) == mine);
        let life = Life::Ended { status: Status::Invalidated, results };
        if inner {
            // The session works on below it, so nothing of the transcript ends here.
            self.happened(node, None, life, Place::Above);
        } else {
            self.end(call, node, life);
        }
        for planned in
            below.into_iter().filter(|it| self.status(*it) == Status::Planned).collect::<Vec<_>>()
        {
            let life = Life::Ended { status: Status::Invalidated, results: None };
            self.happened(planned, None, life, Place::Aside);
        }
        true
    }

    pub(super) fn set_identity(&mut self, node: usize, title: &str, derived: bool) -> bool {
        let it = &mut self.nodes[node];
        if !it.derived {
            return false;
        }
        title.clone_into(&mut it.title);
        it.derived = derived;
        true
    }

    pub(super) fn add_artifact(&mut self, node: usize, path: &str, hash: Option<&str>) -> bool {
        let artifacts = &mut self.nodes[node].artifacts;
        match artifacts.iter_mut().find(|it| it.0 == path) {
            Some(known) => known.1 = hash.map(str::to_owned),
            None => artifacts.push((path.to_owned(), hash.map(str::to_owned))),
        }
        true
    }

    pub(super) fn add_decision(&mut self, node: usize, text: &str) -> bool {
        let decisions = &mut self.nodes[node].decisions;
        if !decisions.iter().any(|it| it == text) {
            decisions.push(text.to_owned());
        }
        true
    }

    pub(super) fn pin(&mut self, node: usize, text: &str) -> bool {
        if !self.nodes[node].pins.iter().any(|it| it.1 == text) {
            self.pins += 1;
            self.nodes[node].pins.push((self.pins, text.to_owned()));
        }
        true
    }

    pub(super) fn unpin(&mut self, node: usize, pin: u64) -> bool {
        let pins = &mut self.nodes[node].pins;
        let before = pins.len();
        pins.retain(|it| it.0 != pin);
        pins.len() < before
    }
}
