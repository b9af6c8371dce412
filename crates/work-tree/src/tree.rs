//! Git's listings of states and of our index, and entries that stand for files whose content is not recorded.

use std::fs::Metadata;
use std::time::UNIX_EPOCH;

/// Git's mode for a repository inside another, whose content it never reads. It stands for a file that is there and
/// whose content is not recorded.
const UNRECORDED: &[u8] = b"160000";
const ABSENT: &[u8] = b"000000";

/// A path that differs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    mode_before: &'a [u8],
    mode_after: &'a [u8],
    pub(crate) id_before: &'a [u8],
    pub(crate) id_after: &'a [u8],
    /// `A`, `D` or another.
    pub(crate) letter: &'a [u8],
    pub(crate) path: &'a [u8],
}

/// Reads git's output in the format `--raw -z`.
pub(crate) fn entries(output: &[u8]) -> impl Iterator<Item = Entry<'_>> {
    let mut fields = output.split(|byte| *byte == 0);
    std::iter::from_fn(move || {
        let mut columns = fields.next()?.strip_prefix(b":")?.split(|byte| *byte == b' ');
        Some(Entry {
            mode_before: columns.next()?,
            mode_after: columns.next()?,
            id_before: columns.next()?,
            id_after: columns.next()?,
            letter: columns.next()?,
            path: fields.next()?,
        })
    })
}

impl Entry<'_> {
    /// Whether the content before is one that is recorded.
    pub(crate) fn is_recorded_before(&self) -> bool {
        self.mode_before != ABSENT && self.mode_before != UNRECORDED
    }

    /// Whether there is content afterwards that is recorded.
    pub(crate) fn is_recorded_after(&self) -> bool {
        self.mode_after != ABSENT && self.mode_after != UNRECORDED
    }

    /// Whether the content before or afterwards is not recorded.
    pub(crate) fn is_unrecorded(&self) -> bool {
        self.mode_before == UNRECORDED || self.mode_after == UNRECORDED
    }
}

/// A file that a state holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recorded {
    mode: Vec<u8>,
    pub(crate) id: Vec<u8>,
}

impl Recorded {
    pub(crate) fn new(mode: &[u8], id: &[u8]) -> Self {
        Self { mode: mode.to_vec(), id: id.to_vec() }
    }
}

/// Reads git's output for a state in the format `-r -z`.
pub(crate) fn listed(said: &[u8]) -> impl Iterator<Item = (&[u8], Recorded)> {
    said.split(|byte| *byte == 0).filter_map(|line| {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let mut columns = line[..tab].split(|byte| *byte == b' ');
        let (mode, _, id) = (columns.next()?, columns.next()?, columns.next()?);
        Some((&line[tab + 1..], Recorded::new(mode, id)))
    })
}

/// The entry of a path in an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexEntry<'a> {
    /// Its content.
    Content,
    /// That there is a file; the name of its entry.
    Presence(&'a [u8]),
}

/// Reads git's output for an index in the format `--stage -z`.
pub(crate) fn indexed(output: &[u8]) -> impl Iterator<Item = (&[u8], IndexEntry<'_>)> {
    output.split(|byte| *byte == 0).filter_map(|line| {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let mut columns = line[..tab].split(|byte| *byte == b' ');
        let (mode, id) = (columns.next()?, columns.next()?);
        let standing =
            if mode == UNRECORDED { IndexEntry::Presence(id) } else { IndexEntry::Content };
        Some((&line[tab + 1..], standing))
    })
}

/// Returns the input of git in the format `--index-info` that removes a path.
pub(crate) fn nothing() -> String {
    format!("0 {:040}", 0)
}

/// The same: that there is a file, with this entry.
pub(crate) fn presence(name: &str) -> String {
    format!("160000 {name}")
}

/// Returns the name of the entry for a file whose content is not recorded. It shows whether the file was written
/// meanwhile, where that can be known.
pub(crate) fn unrecorded(metadata: Option<&Metadata>) -> String {
    let written = metadata.and_then(|it| it.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    let written = written.unwrap_or_default();
    // No name may be all zeros.
    let seconds = written.as_secs() | 1 << 63;
    let bytes = metadata.map_or(0, Metadata::len);
    format!("{bytes:016x}{seconds:016x}{:08x}", written.subsec_nanos())
}
