//! Imports frames that were made elsewhere: valid data is kept; the rest is put where it does the least harm, and
//! counted.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::{Neighbourhood, Refusal};
use crate::event::{Event, Session};
use crate::evidence::Evidence;
use crate::frame::{Frame, FrameNum, Status};
use crate::limits::Limits;

/// The greatest distance of a handle from the next free one at which it is kept: all handles in between are lost.
const FARTHEST: u64 = 1_000_000;

/// Frames to be taken over.
#[derive(Clone, Debug, Default)]
pub struct Import {
    /// The frames; ids that come twice count once.
    pub frames: Vec<Imported>,
    /// The ids of planned frames, those of siblings in the order of their plan.
    pub planned: Vec<String>,
    /// The id of the one that was made active last.
    pub active: Option<String>,
    /// The host of sessions that are not known yet.
    pub host: String,
}

/// One of them.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The frame. Its handle and those of its pins are wishes (0 for none); parent and depth are
    /// worked out.
    pub frame: Frame,
    /// Its parent's id.
    pub parent: Option<String>,
    /// Ids that it had before.
    pub former_ids: Vec<String>,
    /// The evidence of the work in it.
    pub evidence: Evidence,
}

/// The outcome of an import.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Takeover {
    /// The changes in order, each with its time in milliseconds since 1970.
    pub events: Vec<(i64, Event)>,
    /// The counts of the import.
    pub counts: ImportCounts,
}

/// Counts of the frames that an import took over, left as they were, and had to change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportCounts {
    /// Taken over.
    pub imported: u64,
    /// There already, and left as they are.
    pub known: u64,
    /// Roots now, because their parent is nowhere to be found.
    pub orphans: u64,
    /// Roots now, because they stood below themselves.
    pub cycles: u64,
    /// Children of an ancestor now, because they stood deeper than the limit.
    pub raised: u64,
    /// Blocked now, because too many frames would be in progress.
    pub blocked: u64,
}

/// Decides about frames from elsewhere. Those that the tree knows by an id or a former id are left as they are, so
/// that importing twice changes nothing.
pub fn import<N: Neighbourhood>(
    tree: &N,
    import: &Import,
    limits: &Limits,
) -> Result<Takeover, Refusal<N::Error>> {
    let mut counts = ImportCounts::default();
    let mut known: HashMap<&str, FrameNum> = HashMap::new();
    let mut fresh: Vec<&Imported> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for it in &import.frames {
        let ids: Vec<&str> =
            std::iter::once(&it.frame.id).chain(&it.former_ids).map(String::as_str).collect();
        if ids.iter().any(|id| places.contains_key(id) || known.contains_key(id)) {
            continue;
        }
        let mut found = None;
        for id in &ids {
            found = found.or(tree.frame_by_id(id).map_err(Refusal::Store)?);
        }
        if let Some(num) = found {
            counts.known += 1;
            known.extend(ids.into_iter().map(|id| (id, num)));
        } else {
            places.extend(ids.into_iter().map(|id| (id, fresh.len())));
            fresh.push(it);
        }
    }
    let mut parents: Vec<Parent> = Vec::with_capacity(fresh.len());
    for it in &fresh {
        let parent = match it.parent.as_deref() {
            None => Parent::None,
            Some(id) => match (places.get(id), known.get(id)) {
                (Some(place), _) => Parent::Fresh(*place),
                (None, Some(num)) => Parent::Known(*num),
                (None, None) => {
                    let found = tree.frame_by_id(id).map_err(Refusal::Store)?;
                    counts.orphans += u64::from(found.is_none());
                    found.map_or(Parent::None, Parent::Known)
                }
            },
        };
        parents.push(parent);
    }
    counts.cycles = open_cycles(&mut parents);
    let (depths, raised) = depths(tree, &mut parents, limits)?;
    counts.raised = raised;
    let nums = numbers(tree.next_frame().map_err(Refusal::Store)?.0, fresh.len(), |place| {
        fresh[place].frame.num.0
    });
    let mut order: Vec<usize> = (0..fresh.len()).collect();
    order.sort_by_key(|place| (depths[*place], nums[*place]));
    let mut frames = Vec::with_capacity(fresh.len());
    let left_open = tree.left_open_frames().map_err(Refusal::Store)?;
    let mut live = tree.live_frames().map_err(Refusal::Store)?.saturating_sub(left_open);
    for place in order {
        let it = fresh[place];
        let mut frame = it.frame.clone();
        frame.num = FrameNum(nums[place]);
        frame.depth = depths[place];
        frame.parent = match parents[place] {
            Parent::None => None,
            Parent::Known(num) => Some(num),
            Parent::Fresh(parent) => Some(FrameNum(nums[parent])),
        };
        if frame.status == Status::InProgress {
            live += 1;
            if live > limits.live_frames {
                frame.status = Status::Blocked;
                counts.blocked += 1;
            }
        }
        frames.push((frame, it));
    }
    counts.imported = frames.len() as u64;
    let mut events = sessions_of(tree, &frames, &import.host)?;
    create(tree, &frames, &mut events)?;
    put_in_order(&frames, &import.planned, &mut events);
    activate(tree, &frames, import.active.as_deref(), &mut events)?;
    Ok(Takeover { events, counts })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parent {
    None,
    Known(FrameNum),
    Fresh(usize),
}

/// Takes one frame of each cycle out of it, and returns the number of cycles.
fn open_cycles(parents: &mut [Parent]) -> u64 {
    // In which walk a frame was come by; 0 for none yet.
    let mut seen = vec![0; parents.len()];
    let mut cycles = 0;
    for start in 0..parents.len() {
        let mut at = start;
        while seen[at] == 0 {
            seen[at] = start + 1;
            match parents[at] {
                Parent::Fresh(parent) if seen[parent] == start + 1 => {
                    parents[at] = Parent::None;
                    cycles += 1;
                }
                Parent::Fresh(parent) => at = parent,
                _ => {}
            }
        }
    }
    cycles
}

/// Returns the depth of each frame. One that is too deep becomes a child of the lowest ancestor that may have one.
fn depths<N: Neighbourhood>(
    tree: &N,
    parents: &mut [Parent],
    limits: &Limits,
) -> Result<(Vec<u32>, u64), Refusal<N::Error>> {
    let mut depths: Vec<Option<u32>> = vec![None; parents.len()];
    let mut raised = 0;
    for start in 0..parents.len() {
        let mut path = vec![start];
        while let Some(at) = path.last().copied() {
            let below = match parents[at] {
                _ if depths[at].is_some() => {
                    path.pop();
                    continue;
                }
                Parent::None => Some(0),
                Parent::Known(num) => Some(tree.frame(num).map_err(Refusal::Store)?.depth + 1),
                Parent::Fresh(parent) => depths[parent].map(|depth| depth + 1),
            };
            match (below, parents[at]) {
                (Some(depth), Parent::None) => depths[at] = Some(depth),
                (Some(depth), _) if depth < limits.depth => depths[at] = Some(depth),
                (Some(_), parent) => {
                    parents[at] = match parent {
                        Parent::Fresh(parent) => parents[parent],
                        Parent::Known(num) => tree
                            .frame(num)
                            .map_err(Refusal::Store)?
                            .parent
                            .map_or(Parent::None, Parent::Known),
                        Parent::None => Parent::None,
                    };
                    raised += 1;
                }
                (None, Parent::Fresh(parent)) => path.push(parent),
                (None, _) => depths[at] = Some(0),
            }
        }
    }
    Ok((depths.into_iter().map(Option::unwrap_or_default).collect(), raised))
}

/// Returns numbers for `count` things from `next` on: the wished ones if all can have theirs, so that texts that name
/// them stay right, and else new ones in the order of the wishes.
fn numbers(next: u64, count: usize, wish: impl Fn(usize) -> u64) -> Vec<u64> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|at| wish(*at));
    let distinct = order.windows(2).all(|pair| wish(pair[0]) < wish(pair[1]));
    let in_reach =
        order.iter().all(|at| (next..next.saturating_add(FARTHEST)).contains(&wish(*at)));
    let mut numbers = vec![0; count];
    for (number, at) in (next..).zip(order) {
        numbers[at] = if distinct && in_reach { wish(at) } else { number };
    }
    numbers
}

type Ready<'a> = [(Frame, &'a Imported)];

fn sessions_of<N: Neighbourhood>(
    tree: &N,
    frames: &Ready<'_>,
    host: &str,
) -> Result<Vec<(i64, Event)>, Refusal<N::Error>> {
    let mut events = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for (frame, _) in frames {
        let Some(id) = &frame.session else { continue };
        if seen.insert(id) && tree.session(id).map_err(Refusal::Store)?.is_none() {
            let session = Session {
                id: id.clone(),
                host: host.to_owned(),
                parent: None,
                root: None,
                active: None,
            };
            events.push((frame.created_at, Event::SessionOpened { session }));
        }
    }
    Ok(events)
}

fn create<N: Neighbourhood>(
    tree: &N,
    frames: &Ready<'_>,
    events: &mut Vec<(i64, Event)>,
) -> Result<(), Refusal<N::Error>> {
    let wishes: Vec<u64> =
        frames.iter().flat_map(|(frame, _)| frame.pins.iter().map(|pin| pin.num)).collect();
    let next = tree.next_pin().map_err(Refusal::Store)?;
    let mut pins = numbers(next, wishes.len(), |at| wishes[at]).into_iter();
    for (frame, imported) in frames {
        let (num, at) = (frame.num, frame.updated_at);
        let mut created = frame.clone();
        let own = std::mem::take(&mut created.pins);
        let last = created.id.clone();
        let mut ids = imported.former_ids.iter().filter(|id| **id != last);
        if let Some(first) = ids.next() {
            created.id.clone_from(first);
        }
        let renamed = created.id != last;
        events.push((at, Event::FrameCreated { frame: Box::new(created) }));
        for id in ids.chain(renamed.then_some(&last)) {
            events.push((at, Event::FrameRenamed { frame: num, id: id.clone() }));
        }
        for (mut pin, wanted) in own.into_iter().zip(pins.by_ref()) {
            pin.num = wanted;
            events.push((at, Event::PinSet { frame: num, pin }));
        }
        if !imported.evidence.is_empty() {
            let evidence = Box::new(imported.evidence.clone());
            events.push((at, Event::EvidenceTaken { frame: num, span: None, evidence }));
        }
    }
    Ok(())
}

/// Puts planned siblings in the order of their plan, where it differs from that of their handles.
fn put_in_order(frames: &Ready<'_>, planned: &[String], events: &mut Vec<(i64, Event)>) {
    let places: HashMap<&str, usize> =
        planned.iter().enumerate().rev().map(|(place, id)| (id.as_str(), place)).collect();
    let mut groups: BTreeMap<Option<FrameNum>, Vec<&Frame>> = BTreeMap::new();
    for (frame, _) in frames.iter().filter(|(frame, _)| frame.status == Status::Planned) {
        groups.entry(frame.parent).or_default().push(frame);
    }
    for siblings in groups.into_values() {
        let mut wanted = siblings.clone();
        wanted.sort_by_key(|it| places.get(it.id.as_str()).copied().unwrap_or(usize::MAX));
        if wanted.iter().zip(&siblings).all(|(wanted, made)| wanted.num == made.num) {
            continue;
        }
        for pair in wanted.windows(2).rev() {
            let (frame, before) = (pair[0].num, pair[1].num);
            events.push((pair[0].updated_at, Event::PlanOrdered { frame, before }));
        }
    }
}

/// Lets sessions that came with the frames continue where they were: in their deepest frame in progress.
fn activate<N: Neighbourhood>(
    tree: &N,
    frames: &Ready<'_>,
    active: Option<&str>,
    events: &mut Vec<(i64, Event)>,
) -> Result<(), Refusal<N::Error>> {
    let mut roots: BTreeMap<&String, &Frame> = BTreeMap::new();
    let mut open: BTreeMap<&String, &Frame> = BTreeMap::new();
    for (frame, _) in frames {
        let Some(session) = &frame.session else { continue };
        if tree.session(session).map_err(Refusal::Store)?.is_some() {
            continue;
        }
        roots.entry(session).or_insert(frame);
        if frame.status == Status::InProgress {
            open.insert(session, frame);
        }
    }
    for (session, frame) in roots {
        let event = Event::RootSet { session: session.clone(), frame: frame.num };
        events.push((frame.created_at, event));
    }
    let mut open: Vec<_> = open.into_iter().collect();
    // The one that was active last is the last to be set.
    open.sort_by_key(|(_, frame)| (Some(frame.id.as_str()) == active, frame.updated_at));
    for (session, frame) in open {
        let event = Event::ActiveSet { session: session.clone(), frame: Some(frame.num) };
        events.push((frame.updated_at, event));
    }
    Ok(())
}
