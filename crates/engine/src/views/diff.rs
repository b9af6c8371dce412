//! The changes of the project's files while a frame was worked on.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use callstack_core::event::FileMoment;
use callstack_core::evidence::{Activity, Edit, Hunk, HunkLine};
use callstack_core::frame::Frame;
use callstack_core::secrets::mask;
use schemars::JsonSchema;
use serde::Serialize;

use super::Views;
use super::calls::Page;
use crate::error::EngineError;
use crate::log::LogRequest;
use crate::work_tree::{FileChange, FileChangeKind, FilePatch, begun};

/// Bytes of the changes of one file: the default, and the most that can be asked for.
pub(crate) const LIMIT: usize = 64 * 1024;
pub(crate) const MOST: usize = 1024 * 1024;

/// The changes of the project's files while a frame, and the frames below it, were worked on.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct FrameDiff {
    /// Handle of the frame
    frame: String,
    source: DiffSource,
    /// The state of the files from which they changed
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<Since>,
    /// The state of the files to which they changed
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<Until>,
    /// Number of files
    pub(crate) total: usize,
    /// Place of the first file here, from 0
    from: usize,
    /// Place of the file to go on with
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<usize>,
    files: Vec<FileDiff>,
    /// Why there are none
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<String>,
}

/// Where the changes are known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum DiffSource {
    /// Two recorded states of all files: whoever changed them.
    States,
    /// The frame's calls, where no states were recorded.
    Calls,
}

/// The state from which files changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Since {
    /// When the frame began.
    Begun,
    /// Some time before: earlier changes may be among these.
    Before,
}

/// The state to which files changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Until {
    /// When the frame ended.
    Ended,
    /// Now: later changes may be among these, if the frame has ended.
    Now,
}

/// The changes of a file.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct FileDiff {
    /// Path relative to the project
    path: String,
    kind: DiffKind,
    /// Lines that were added
    #[serde(skip_serializing_if = "Option::is_none")]
    added: Option<usize>,
    /// Lines that were removed
    #[serde(skip_serializing_if = "Option::is_none")]
    removed: Option<usize>,
    /// Whether its content is no text
    binary: bool,
    /// Whether a tool of the frame was seen writing it
    seen: bool,
    /// The changes as hunks of a unified diff; line 0 where lines are not known
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<String>,
    /// Whether the changes are shown in part
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
}

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum DiffKind {
    /// The file came to be.
    Created,
    /// It has other content.
    Changed,
    /// It is gone.
    Deleted,
    /// It changed, and its content is not recorded.
    Unrecorded,
}

impl DiffKind {
    fn of(kind: FileChangeKind) -> Self {
        match kind {
            FileChangeKind::Created => Self::Created,
            FileChangeKind::Changed => Self::Changed,
            FileChangeKind::Deleted => Self::Deleted,
            FileChangeKind::Unrecorded | FileChangeKind::Unnamed => Self::Unrecorded,
        }
    }
}

/// The changes that are wanted.
pub(crate) struct DiffRequest<'a> {
    /// Only this file.
    pub(crate) path: Option<&'a str>,
    /// The files.
    pub(crate) page: Page,
    /// Bytes of the changes of one file.
    pub(crate) limit: usize,
    /// Whether secrets are shown.
    pub(crate) reveal: bool,
}

impl DiffRequest<'_> {
    /// Returns the beginning of the changes of a file up to the end of a line, and whether something is left out.
    /// Secrets are masked first.
    fn cut(&self, patch: String) -> (String, bool) {
        let mut patch = if self.reveal { patch } else { mask(&patch).into_owned() };
        if patch.len() <= self.limit {
            return (patch, false);
        }
        let end = patch.floor_char_boundary(self.limit);
        let end = patch[..end].rfind('\n').map_or(0, |end| end + 1);
        patch.truncate(end);
        (patch, true)
    }
}

impl FrameDiff {
    fn empty(frame: &Frame, source: DiffSource, from: usize) -> Self {
        Self {
            frame: frame.num.to_string(),
            source,
            since: None,
            until: None,
            total: 0,
            from,
            more: None,
            files: Vec::new(),
            why: None,
        }
    }

    fn of_page(mut self, page: Page, total: usize, files: Vec<FileDiff>) -> Self {
        let to = page.from.saturating_add(page.most).min(total);
        self.total = total;
        self.more = (to < total).then_some(to);
        self.files = files;
        self
    }

    /// Returns the changes as text, as `git diff` prints them.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for file in &self.files {
            let counts = match (file.added, file.removed) {
                (Some(added), Some(removed)) => format!(" +{added} -{removed}"),
                _ => String::new(),
            };
            // Writing to a string can't fail.
            let _ = writeln!(text, "{}{counts}", file.path);
            text.push_str(file.patch.as_deref().unwrap_or_default());
        }
        text.push_str(self.why.as_deref().unwrap_or_default());
        text
    }
}

impl Views {
    /// Returns the changes of files while a frame was worked on.
    pub(crate) fn diff(
        &self,
        frame: &Frame,
        request: &DiffRequest<'_>,
    ) -> Result<FrameDiff, EngineError> {
        let (begun, ended, seen) = self.kernel.read(|view| {
            let mut seen = BTreeSet::new();
            for num in view.frames_from(frame.num)? {
                seen.extend(view.frame(num)?.artifacts.into_iter().map(|artifact| artifact.path));
            }
            let ended = view.file_state(frame.num, FileMoment::Ended)?;
            Ok::<_, EngineError>((begun(view, frame.num)?, ended, seen))
        })?;
        let ended = ended.filter(|_| frame.status.is_finished());
        let Some(((moment, begun), work_tree)) = begun.zip(self.files.work_tree()) else {
            return self.diff_by_calls(frame, request);
        };
        let (until, ended) = match ended {
            Some(ended) => (Until::Ended, ended),
            // Files that changed after the end can't be separated from those of the frame.
            None if frame.status.is_finished() => return self.diff_by_calls(frame, request),
            None => (Until::Now, self.files.files_now()?.1),
        };
        let mut changes = work_tree.changes(&begun, &ended)?;
        changes.retain(|change| request.path.is_none_or(|path| change.path == path));
        let total = changes.len();
        let page: Vec<FileChange> =
            changes.into_iter().skip(request.page.from).take(request.page.most).collect();
        let is_known = |change: &&FileChange| {
            !matches!(change.kind, FileChangeKind::Unrecorded | FileChangeKind::Unnamed)
        };
        let paths: Vec<String> =
            page.iter().filter(is_known).map(|change| change.path.clone()).collect();
        let patches = work_tree.patches(&begun, &ended, &paths)?;
        let mut patches: BTreeMap<String, FilePatch> =
            patches.into_iter().map(|patch| (patch.path.clone(), patch)).collect();
        let files = page.into_iter().map(|change| {
            let patch = patches.remove(&change.path);
            let lines = patch.as_ref().and_then(|patch| patch.lines);
            let binary = patch.as_ref().is_some_and(|patch| patch.lines.is_none());
            let text = patch.filter(|_| !binary).map(|patch| request.cut(patch.text));
            FileDiff {
                kind: DiffKind::of(change.kind),
                added: lines.map(|(added, _)| added),
                removed: lines.map(|(_, removed)| removed),
                binary,
                seen: seen.contains(&change.path),
                cut: text.as_ref().is_some_and(|(_, cut)| *cut),
                patch: text.map(|(text, _)| text),
                path: change.path,
            }
        });
        let since = if moment == FileMoment::Begun { Since::Begun } else { Since::Before };
        let empty = FrameDiff::empty(frame, DiffSource::States, request.page.from);
        let diff = FrameDiff { since: Some(since), until: Some(until), ..empty };
        Ok(diff.of_page(request.page, total, files.collect()))
    }

    /// The same from the frame's calls.
    fn diff_by_calls(
        &self,
        frame: &Frame,
        request: &DiffRequest<'_>,
    ) -> Result<FrameDiff, EngineError> {
        let mut files: BTreeMap<String, (DiffKind, usize, usize, String)> = BTreeMap::new();
        if let Some(reader) = self.span_reader.reader.get() {
            let log = self.queries.read_log(frame, &LogRequest::default())?;
            let project = self.kernel.project();
            let activities = log.entries.iter().flat_map(|it| reader(&it.message.json, project));
            for (_, activity) in activities {
                let Activity::Called(call) = activity else { continue };
                for edit in call.edits.iter().filter(|_| !call.is_failed()) {
                    let path = std::path::Path::new(&edit.path);
                    let path = path.strip_prefix(project).unwrap_or(path);
                    let path = path.to_string_lossy().into_owned();
                    let file =
                        files.entry(path).or_insert((DiffKind::Changed, 0, 0, String::new()));
                    put(file, edit);
                }
            }
        }
        files.retain(|path, _| request.path.is_none_or(|wanted| wanted == path));
        let total = files.len();
        let page = files.into_iter().skip(request.page.from).take(request.page.most);
        let diffs = page.map(|(path, (kind, added, removed, patch))| {
            let (patch, cut) = request.cut(patch);
            FileDiff {
                path,
                kind,
                added: Some(added),
                removed: Some(removed),
                binary: false,
                seen: true,
                patch: Some(patch),
                cut,
            }
        });
        let mut diff = FrameDiff::empty(frame, DiffSource::Calls, request.page.from);
        if total == 0 {
            diff.why = Some(
                "No call of the frame was seen changing a file, and the files were not recorded where it began and \
                 ended: that is done in a git work tree, with STACK_ROLLBACK on."
                    .to_owned(),
            );
        }
        Ok(diff.of_page(request.page, total, diffs.collect()))
    }
}

/// Adds an edit to the changes of a file.
fn put((kind, added, removed, patch): &mut (DiffKind, usize, usize, String), edit: &Edit) {
    if edit.removes {
        *kind = DiffKind::Deleted;
    } else if edit.before.is_none() && edit.original.as_deref() == Some("") {
        *kind = DiffKind::Created;
    }
    if edit.hunks.is_empty() {
        let lines = |text: &str| -> Vec<String> { text.lines().map(str::to_owned).collect() };
        let gone = lines(edit.before.as_deref().or(edit.original.as_deref()).unwrap_or_default());
        let come = lines(&edit.after);
        let hunk = gone.into_iter().map(HunkLine::Removed);
        let lines: Vec<HunkLine> = hunk.chain(come.into_iter().map(HunkLine::Added)).collect();
        write(patch, added, removed, None, &lines);
    }
    for Hunk { skipped, lines } in &edit.hunks {
        write(patch, added, removed, Some(*skipped), lines);
    }
}

fn write(
    patch: &mut String,
    added: &mut usize,
    removed: &mut usize,
    skipped: Option<usize>,
    lines: &[HunkLine],
) {
    let gone = lines.iter().filter(|line| matches!(line, HunkLine::Removed(_))).count();
    let come = lines.iter().filter(|line| matches!(line, HunkLine::Added(_))).count();
    let kept = lines.len() - gone - come;
    (*added, *removed) = (*added + come, *removed + gone);
    let first = skipped.map_or(0, |skipped| skipped + 1);
    // Writing to a string can't fail.
    let _ = writeln!(patch, "@@ -{first},{} +{first},{} @@", kept + gone, kept + come);
    for line in lines {
        let (mark, text) = match line {
            HunkLine::Kept(text) => (' ', text),
            HunkLine::Removed(text) => ('-', text),
            HunkLine::Added(text) => ('+', text),
        };
        let _ = writeln!(patch, "{mark}{text}");
    }
}
