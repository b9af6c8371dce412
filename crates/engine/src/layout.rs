//! The files that hold the tree for other programs: `.opencode/stack/state.json` with all of it, and
//! `.opencode/stack/frames/{id}.json` with one frame each. The shapes are the specification's.
//!
//! Each file is replaced as a whole, so that nobody ever reads half of one. A missing file is an empty
//! tree or no frame; one that can't be read is an error and stays as it is.

use std::borrow::Cow;
use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use callstack_core::control::escape_json;
pub(crate) use callstack_store::restrict;
use callstack_store::{keep_from_git, plain};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use crate::error::{EngineError, Kind};
use crate::state::{FrameMetadata, StackState, VERSION};
use crate::unfinished;

/// The folder of OpenCode's own files in a project. Files are only written where it exists.
pub(crate) const HOST_FOLDER: &str = ".opencode";
/// The folder of the files, in the one of OpenCode's own.
pub(crate) const FOLDER: &str = "stack";
/// The folder of the specification's first generation, beside the other.
pub(crate) const FLAME: &str = "flame";
pub(crate) const STATE: &str = "state.json";
pub(crate) const FRAMES: &str = "frames";
/// The folder of the project's presets, which are the user's and may be shared.
pub(crate) const PRESETS: &str = "presets";
/// The file that keeps git away from the files.
pub(crate) const IGNORE: &str = ".gitignore";

/// Bytes of an id in a file's name; systems allow 255 for the whole name.
const LONGEST_NAME: usize = 180;

/// The folder of a project's files: `.opencode/stack`.
pub fn folder(project: &Path) -> PathBuf {
    project.join(HOST_FOLDER).join(FOLDER)
}

/// The folder of the first generation's files: `.opencode/flame`.
pub(crate) fn flame_folder(project: &Path) -> PathBuf {
    project.join(HOST_FOLDER).join(FLAME)
}

/// Reads the whole tree from `state.json` of the project in the folder `project`.
///
/// Reads the state. Without the file it is an empty tree. A file that is damaged, of another program or of a newer
/// callstack is an error of the kind `unavailable`, whose hint names the next step.
pub fn load_state(project: &Path) -> Result<StackState, EngineError> {
    let path = folder(project).join(STATE);
    match load::<StackState>(&path)? {
        Some(state) if state.version > VERSION => Err(newer(&path, state.version)),
        Some(state) => Ok(state),
        None => Ok(StackState::default()),
    }
}

/// Writes the whole tree to `state.json`, making the folder if need be. Frames have files of their own
/// besides ([`save_frame`]).
///
/// False, and nothing is changed, where the file holds a newer revision of the same store. A file that
/// can't be read is not overwritten: that is the error of [`load_state`].
pub fn save_state(project: &Path, state: &StackState) -> Result<bool, EngineError> {
    let present = load_state(project)?;
    if present.store.is_some() && present.store == state.store && present.revision > state.revision
    {
        return Ok(false);
    }
    let folder = folder(project);
    prepare(&folder)?;
    write_state(&folder, state)?;
    Ok(true)
}

/// Reads one frame by its id (`ses_…`, `frm-…`, `plan-…`) from its file.
///
/// None where there is no such file. A file that can't be read is an error of the kind `unavailable`.
pub fn load_frame(project: &Path, id: &str) -> Result<Option<FrameMetadata>, EngineError> {
    Ok(frame_file(&folder(project), id)?.1)
}

/// Writes one frame to its file, making the folder if need be; `state.json` stays as it is.
///
/// A file that can't be read is not overwritten: that is the error of [`load_frame`].
pub fn save_frame(project: &Path, frame: &FrameMetadata) -> Result<(), EngineError> {
    let folder = folder(project);
    prepare(&folder)?;
    let (path, _) = frame_file(&folder, &frame.session_id)?;
    write(&path, &pretty(frame)?, Durably::No)
}

/// Returns the file that a frame has or would get, and its content.
fn frame_file(folder: &Path, id: &str) -> Result<(PathBuf, Option<FrameMetadata>), EngineError> {
    let frames = folder.join(FRAMES);
    let plain = frames.join(file_name(id));
    // Another frame's id may come to the same name.
    let path = match load::<FrameMetadata>(&plain)? {
        Some(frame) if frame.session_id == id => return Ok((plain, Some(frame))),
        None if !is_cut(id) => plain,
        _ => frames.join(distinct_file_name(id)),
    };
    let found = load::<FrameMetadata>(&path)?.filter(|frame| frame.session_id == id);
    Ok((path, found))
}

/// A frame's id as the name of its file. What is not a letter, a digit or `-` becomes `_`.
pub(crate) fn file_name(id: &str) -> String {
    format!("{}.json", sanitized(id))
}

/// The same for a frame whose plain name is taken by another one.
pub(crate) fn distinct_file_name(id: &str) -> String {
    let hash = Sha256::digest(id.as_bytes());
    let hash = hash.iter().take(4).fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte));
    format!("{}~{hash:08x}.json", sanitized(id))
}

/// Whether an id is a file's name as it is.
pub(crate) fn is_plain(id: &str) -> bool {
    sanitized(id) == id
}

fn is_cut(id: &str) -> bool {
    id.len() > LONGEST_NAME
}

fn sanitized(id: &str) -> Cow<'_, str> {
    let fine = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
    if id.is_empty() {
        return Cow::Borrowed("_");
    }
    if !is_cut(id) && id.chars().all(fine) {
        return Cow::Borrowed(id);
    }
    let name = id.chars().map(|char| if fine(char) { char } else { '_' });
    Cow::Owned(name.take(LONGEST_NAME).collect())
}

/// Makes the folder for its owner only. Neither git nor OpenCode's snapshots see it: an undo would bring old files
/// back.
pub(crate) fn prepare(folder: &Path) -> Result<(), EngineError> {
    refuse_links(folder)?;
    let failed = |error: io::Error| unwritable(folder, error);
    if !folder.is_dir() {
        // A project that has just been moved away is not made again.
        folder.parent().map_or(Ok(()), make).and_then(|()| make(folder)).map_err(failed)?;
        restrict(folder).map_err(failed)?;
    }
    fs::create_dir_all(folder.join(FRAMES)).map_err(failed)?;
    keep_from_git(folder, folder.join(STATE).exists(), Some(PRESETS)).map_err(failed)?;
    if folder.join(PRESETS).is_dir() {
        // Git would not see new ones among them.
        drop(include_in_git(folder));
    } else if let Some((project, within)) = place(folder) {
        callstack_store::exclude_from_git(project, &within);
    }
    Ok(())
}

/// Whether the `.gitignore` in the folder keeps git away from the files.
pub(crate) fn is_kept_from_git(folder: &Path) -> bool {
    callstack_store::is_kept_from_git(folder, Some(PRESETS))
}

/// Takes the folder out of what the repository around it ignores, if callstack has entered it there.
pub(crate) fn include_in_git(folder: &Path) -> io::Result<()> {
    let Some((project, within)) = place(folder) else { return Ok(()) };
    callstack_store::include_in_git(project, &within)
}

/// The project that a folder of the files lies in, and the folder's path in it.
fn place(folder: &Path) -> Option<(&Path, String)> {
    let project = folder.parent()?.parent()?;
    Some((project, within(project, folder)?.to_str()?.to_owned()))
}

/// Returns the path of a folder of the files from its project, as git knows it: the folder around it may be a link to
/// another one of the project.
pub(crate) fn within(project: &Path, folder: &Path) -> Option<PathBuf> {
    let around = fs::canonicalize(folder.parent()?)
        .or_else(|_| fs::canonicalize(project).map(|project| project.join(HOST_FOLDER)));
    let inside = around.ok()?.strip_prefix(fs::canonicalize(project).ok()?).ok()?.to_path_buf();
    Some(inside.join(folder.file_name()?))
}

fn make(folder: &Path) -> io::Result<()> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Makes sure that neither the folder nor the one of frames in it is a link, which may have come with the
/// project and lead anywhere, and that none on the way to them leads out of the project.
pub(crate) fn refuse_links(folder: &Path) -> Result<(), EngineError> {
    if let Some(project) = folder.parent().and_then(Path::parent) {
        plain::refuse_way_out(project, folder).map_err(|error| unwritable(folder, error))?;
    }
    for folder in [folder, &folder.join(FRAMES)] {
        if fs::symlink_metadata(folder).is_ok_and(|it| it.is_symlink()) {
            let error = io::Error::new(io::ErrorKind::NotADirectory, "it is a link");
            return Err(unwritable(folder, error));
        }
    }
    Ok(())
}

pub(crate) fn write_state(folder: &Path, state: &StackState) -> Result<(), EngineError> {
    let text = serde_json::to_string(state).map_err(EngineError::unwritable)?;
    write(&folder.join(STATE), &escape_json(&text), Durably::Yes)
}

pub(crate) fn pretty(value: &impl Serialize) -> Result<String, EngineError> {
    let text = serde_json::to_string_pretty(value).map_err(EngineError::unwritable)?;
    Ok(escape_json(&text).into_owned())
}

/// Whether the file has to be on the disk before work continues.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durably {
    Yes,
    No,
}

/// Replaces a file as a whole.
pub(crate) fn write(path: &Path, text: &str, durably: Durably) -> Result<(), EngineError> {
    let replace = || {
        let folder = path.parent().unwrap_or(path);
        let mut file = unfinished::builder().tempfile_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.write_all(b"\n")?;
        if durably == Durably::Yes {
            file.as_file().sync_data()?;
        }
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    replace().map_err(|error| unwritable(path, error))
}

/// Reads a file; none where there is none.
fn load<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, EngineError> {
    let text = match plain::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(path, error)),
    };
    serde_json::from_slice(&text).map(Some).map_err(|error| unreadable(path, error))
}

/// The content of a folder that frames are to be written to.
pub(crate) enum Present {
    /// Nothing that could be lost.
    Nothing,
    /// A tree.
    State(StackState),
    /// Something else, or the remains of a tree.
    Other,
}

pub(crate) fn lies_in(folder: &Path) -> Result<Present, EngineError> {
    let path = folder.join(STATE);
    let text = match plain::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let frames = fs::read_dir(folder.join(FRAMES)).into_iter().flatten().flatten();
            let mut others = frames.filter(|entry| !is_frame_of_ours(&entry.path()));
            return Ok(others.next().map_or(Present::Nothing, |_| Present::Other));
        }
        Err(error) => return Err(unreadable(&path, error)),
    };
    match serde_json::from_slice::<StackState>(&text) {
        Ok(state) if state.version > VERSION => Err(newer(&path, state.version)),
        Ok(state) => Ok(Present::State(state)),
        Err(_) => Ok(Present::Other),
    }
}

/// Only callstack gives frames handles.
fn is_frame_of_ours(path: &Path) -> bool {
    if path.file_name().and_then(|it| it.to_str()).is_some_and(unfinished::is_ours) {
        return true;
    }
    load::<FrameMetadata>(path).is_ok_and(|frame| frame.is_some_and(|it| !it.handle.is_empty()))
}

fn newer(path: &Path, version: u32) -> EngineError {
    EngineError::new(
        Kind::Unavailable,
        format!(
            "{} has version {version}, and this callstack knows versions up to {VERSION}",
            path.display()
        ),
    )
    .with_hint("Nothing was changed. Install the newer callstack that wrote it.")
}

fn unreadable(path: &Path, cause: impl std::error::Error + Send + Sync + 'static) -> EngineError {
    EngineError::new(Kind::Unavailable, format!("{} can't be read: {cause}", path.display()))
        .with_hint(
            "Nothing was changed, and it is not overwritten. If it is yours, move it away; \
             callstack writes it again from its store at the next change.",
        )
        .caused_by(cause)
}

fn unwritable(path: &Path, error: io::Error) -> EngineError {
    EngineError::new(Kind::Unavailable, format!("{} can't be written: {error}", path.display()))
        .with_hint(
            "The frames themselves are safe in the store. Free some space or make the folder \
             writable; STACK_FILES=off does without these files.",
        )
        .caused_by(error)
}
