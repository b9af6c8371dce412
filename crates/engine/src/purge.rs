//! Removing messages of a frame or a session for good.

use std::collections::BTreeSet;
use std::sync::Arc;

use callstack_core::frame::FrameNum;
use callstack_store::{Copies, Erased, MessageRange, Purge, REMOVED, View, log_path};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::assembly::Contexts;
use crate::assembly::open_now::Saying;
use crate::error::{EngineError, Kind};
use crate::handles;
use crate::hint::Hint;
use crate::kernel::Kernel;
use crate::log::files;
use crate::queries::Queries;
use crate::work::{Piece, pieces};

/// The plan of a purge.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PurgePlan {
    /// Its subject for people: a frame's label or a session.
    pub what: String,
    /// The frames whose history goes: one with all below it, or those of a session.
    #[serde(with = "handles::many")]
    #[schemars(with = "Vec<String>")]
    pub frames: Vec<FrameNum>,
    /// The sessions in whose transcripts it is.
    pub sessions: Vec<String>,
    /// Those of them whose messages stay: where their work begins or ends is not known, and more than it would
    /// go. They go with their session.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "handles::many")]
    #[schemars(with = "Vec<String>")]
    pub unplaced: Vec<FrameNum>,
    /// Those of them whose calls share the step that opened them with others: it goes as a whole, with the other
    /// calls in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "handles::many")]
    #[schemars(with = "Vec<String>")]
    pub shared: Vec<FrameNum>,
    /// Messages that are still there.
    pub messages: u64,
    /// Bytes of them as they came.
    pub bytes: u64,
    /// Log files that go, relative to the project.
    pub logs: Vec<String>,
    /// Texts of frames that were taken from messages, and go with these.
    pub removed: Said,
    /// Texts that an agent or a person gave the frames, and that therefore stay.
    pub kept: Said,
    /// The frame or the session that is removed.
    #[serde(skip)]
    subject: Option<Subject>,
    #[serde(skip)]
    ranges: Vec<MessageRange>,
}

/// The frame or session that is removed.
#[derive(Clone, Debug)]
enum Subject {
    Session(String),
    /// A frame, with all below it.
    Frame(FrameNum),
}

/// Texts of frames.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Said {
    /// Those with their titles and criteria.
    #[serde(with = "handles::many")]
    #[schemars(with = "Vec<String>")]
    pub titles: Vec<FrameNum>,
    /// Those with their results.
    #[serde(with = "handles::many")]
    #[schemars(with = "Vec<String>")]
    pub results: Vec<FrameNum>,
    /// Those with decisions or pins.
    #[serde(with = "handles::many")]
    #[schemars(with = "Vec<String>")]
    pub notes: Vec<FrameNum>,
    /// Those with the names of files that they changed.
    #[serde(with = "handles::many")]
    #[schemars(with = "Vec<String>")]
    pub files: Vec<FrameNum>,
}

impl Said {
    /// Whether nothing is.
    pub fn is_empty(&self) -> bool {
        [&self.titles, &self.results, &self.notes, &self.files].iter().all(|it| it.is_empty())
    }
}

/// The outcome of a purge.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PurgeOutcome {
    /// The plan that was carried out.
    #[serde(flatten)]
    pub plan: PurgePlan,
    /// Whether the bytes are gone from the database's files; else another process is still reading, and
    /// they go with its next write.
    pub erased: bool,
    /// Events that can't be read, and were left as they are, whatever is in them.
    pub unreadable: u64,
}

impl PurgePlan {
    fn purge(&self, by: &str) -> Purge {
        Purge {
            by: by.to_owned(),
            frames: self.frames.clone(),
            unplaced: self.unplaced.clone(),
            ranges: self.ranges.clone(),
            sessions: self.session().map(str::to_owned).into_iter().collect(),
        }
    }

    /// The session that goes as a whole.
    fn session(&self) -> Option<&str> {
        match &self.subject {
            Some(Subject::Session(session)) => Some(session),
            _ => None,
        }
    }
}

/// Purges messages that must not be kept.
pub(crate) struct Purges {
    kernel: Arc<Kernel>,
    queries: Arc<Queries>,
    contexts: Arc<Contexts>,
}

impl Purges {
    pub(crate) fn new(
        kernel: &Arc<Kernel>,
        queries: &Arc<Queries>,
        contexts: &Arc<Contexts>,
    ) -> Self {
        Self {
            kernel: Arc::clone(kernel),
            queries: Arc::clone(queries),
            contexts: Arc::clone(contexts),
        }
    }

    /// Returns the plan of a purge of a frame (handle, id, beginning of an id) with all below it, or of a session
    /// (its id or the beginning of it). Changes nothing.
    pub(crate) fn purge_plan(&self, reference: &str) -> Result<PurgePlan, EngineError> {
        if let Some(aside) = self.kernel.databases_with_other_work()?.first() {
            let message = format!("{} may hold the same messages", aside.display());
            let hint = Hint::from(
                "An earlier state of the store came into its place, and it was put aside. ",
            )
            .then(Hint::command("doctor"))
            .then(" says how to go on with it; or delete it. Then purge.");
            return Err(EngineError::new(Kind::Conflict, message).with_hint(hint));
        }
        // The id of a session is that of its root frame, too.
        let exact = self.kernel.read(|view| view.session_row(reference))?.map(|session| session.id);
        let subject = match exact {
            Some(session) => Subject::Session(session),
            None => match self.queries.resolve(reference) {
                Ok(frame) => Subject::Frame(frame.num),
                Err(no_frame) => {
                    Subject::Session(self.queries.find_session(reference).map_err(|_| no_frame)?.0)
                }
            },
        };
        self.kernel.read(|view| self.plan(view, subject))
    }

    /// The plan by what is stored now.
    fn plan(&self, view: &View<'_>, subject: Subject) -> Result<PurgePlan, EngineError> {
        let mut plan = match &subject {
            Subject::Session(session) => {
                let range = view.whole_session(session)?;
                let frames = (view.frames_in(session)?, Vec::new());
                self.plan_of(view, format!("session {session}"), frames, vec![range])?
            }
            Subject::Frame(frame) => self.plan_of_frame(view, *frame)?,
        };
        plan.subject = Some(subject);
        Ok(plan)
    }

    fn plan_of_frame(&self, view: &View<'_>, frame: FrameNum) -> Result<PurgePlan, EngineError> {
        let frames = view.frames_from(frame)?;
        let (mut unplaced, mut steps, mut ranges) = (Vec::new(), Vec::new(), Vec::new());
        for frame in &frames {
            if !view.is_placed(*frame)? {
                unplaced.push(*frame);
                continue;
            }
            for Piece { range, opens } in pieces(view, *frame)? {
                match opens {
                    Some(_) => steps.push((*frame, range)),
                    None => ranges.push(range),
                }
            }
        }
        steps.retain(|(_, step)| !ranges.iter().any(|it| it.holds(step)));
        let shared: BTreeSet<_> = steps.iter().map(|(frame, _)| *frame).collect();
        ranges.extend(steps.into_iter().map(|(_, step)| step));
        let what = view.frame(frame)?.label();
        let plan = self.plan_of(view, what, (frames, unplaced), ranges)?;
        Ok(PurgePlan { shared: shared.into_iter().collect(), ..plan })
    }

    fn plan_of(
        &self,
        view: &View<'_>,
        what: String,
        (frames, unplaced): (Vec<FrameNum>, Vec<FrameNum>),
        ranges: Vec<MessageRange>,
    ) -> Result<PurgePlan, EngineError> {
        let (found, bytes) = view.purgeable(&ranges)?;
        let paths = frames.iter().map(|frame| log_path(*frame));
        let logs = paths.filter(|path| self.kernel.project().join(path).exists()).collect();
        let mut plan = PurgePlan {
            what,
            frames,
            unplaced,
            shared: Vec::new(),
            messages: found.values().map(|ids| ids.len() as u64).sum(),
            sessions: found.into_keys().collect(),
            bytes,
            logs,
            removed: Said::default(),
            kept: Said::default(),
            subject: None,
            ranges,
        };
        list_titles_and_results(view, &mut plan)?;
        Ok(plan)
    }

    /// Carries out a purge on behalf of `by`: removes the messages, and the copies that callstack made of them. Texts
    /// that an agent or a person gave stay: titles, results, decisions and pins. So do the names of files that were
    /// changed, and everything that the host itself keeps.
    ///
    /// Messages that were stored after the plan was made are removed as well, if they belong to the same subject.
    pub(crate) fn purge(&self, plan: PurgePlan, by: &str) -> Result<PurgeOutcome, EngineError> {
        let mut plan = plan;
        let due = |view: &View<'_>| {
            if let Some(subject) = plan.subject.take() {
                plan = self.plan(view, subject)?;
            }
            Ok(plan.purge(by))
        };
        self.kernel
            .purge(due, &|view, span| self.contexts.returned_again(view, span, Saying::Later))?;
        let emptied = plan.purge("").emptied();
        let purged = emptied.iter().chain(&plan.removed.titles).chain(&plan.removed.results);
        let forgotten = self.kernel.env().log.forget(&purged.copied().collect(), plan.session());
        // No writer may bring back texts that it read before, nor leave a file that was not there when the plan was
        // made.
        let lock = files::alone(&self.kernel.env().folder, self.kernel.world())?;
        for frame in &plan.frames {
            files::remove(&self.kernel.project().join(log_path(*frame)))?;
        }
        files::remove_unfinished(&self.kernel.env().folder)?;
        drop(lock);
        // Logs of other frames hold the messages as well: of frames around it, or within a session.
        let folders = (self.kernel.project(), self.kernel.env().folder.as_path());
        files::write_due(self.kernel.connection(), folders, self.kernel.world())?;
        let erased = self.kernel.erase()?;
        // The rest is removed even if a log can't be changed.
        forgotten?;
        let unreadable = self.kernel.unreadable_events()?;
        Ok(PurgeOutcome { plan, erased: erased == Erased::Wholly, unreadable })
    }
}

/// Finds out which titles and results were taken from the messages, and which were given.
fn list_titles_and_results(view: &View<'_>, plan: &mut PurgePlan) -> Result<(), EngineError> {
    let emptied = plan.purge("").emptied();
    let Copies { identities, results } = view.copies(&emptied, &plan.ranges)?;
    for num in &plan.frames {
        let frame = view.frame(*num)?;
        if !identities.contains(num) && frame.identity.title != REMOVED {
            plan.kept.titles.push(*num);
        }
        let has_results = frame.results.as_deref().is_some_and(|it| it != REMOVED);
        if has_results && !results.contains(num) {
            plan.kept.results.push(*num);
        }
        if !frame.decisions.is_empty() || !frame.pins.is_empty() {
            plan.kept.notes.push(*num);
        }
        if !frame.artifacts.is_empty() {
            plan.kept.files.push(*num);
        }
    }
    plan.removed.titles.extend(identities);
    plan.removed.results.extend(results);
    Ok(())
}
