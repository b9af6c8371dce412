//! Files that are written beside the one that they replace, so that nobody ever reads half of it. They are left there
//! if their writer is killed.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The beginning of the name of such a file.
const BEGIN: &str = ".callstack-";
/// The end of its name.
pub(crate) const END: &str = ".tmp";
/// Characters between the two.
const RANDOM: usize = 12;
/// Nobody takes as long as this to write a file.
const OLD: Duration = Duration::from_hours(24);

/// Returns a builder of such files. They are for their owner only, unless another mode is set.
pub fn builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(BEGIN).suffix(END).rand_bytes(RANDOM);
    builder
}

/// Removes such files from a folder that were not changed for a day; nothing else, and nothing in folders below.
pub fn sweep(folder: &Path) {
    sweep_before(folder, SystemTime::now().checked_sub(OLD));
}

fn sweep_before(folder: &Path, end: Option<SystemTime>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if !entry.file_name().to_str().is_some_and(is_ours) {
            continue;
        }
        let metadata = entry.metadata().ok().filter(fs::Metadata::is_file);
        let changed = metadata.and_then(|metadata| metadata.modified().ok());
        if changed.zip(end).is_some_and(|(changed, end)| changed < end) {
            // One that can't be removed only takes some space.
            drop(fs::remove_file(entry.path()));
        }
    }
}

/// Whether a file of this name was made by [`builder`].
pub(crate) fn is_ours(name: &str) -> bool {
    let random = name.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END));
    random.is_some_and(|it| it.len() == RANDOM && it.bytes().all(|it| it.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn only_old_files_of_ours_are_swept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let (file, ours) = builder().tempfile_in(path).unwrap().keep().unwrap();
        let old = SystemTime::now() - 2 * OLD;
        let foreign = [
            ".callstack-.tmp",
            ".callstack-abcdefghijk.tmp",
            ".callstack-abcdefghijkl",
            ".callstack-abcdef-hijkl.tmp",
            "x.callstack-abcdefghijkl.tmp",
            ".tmpabcdef.tmp",
            "state.json",
        ];
        for name in foreign {
            fs::File::create(path.join(name)).unwrap().set_modified(old).unwrap();
        }
        fs::create_dir(path.join(".callstack-abcdefghijkl.tmp")).unwrap();
        let names = || -> BTreeSet<String> {
            let entries = fs::read_dir(path).unwrap();
            entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect()
        };
        let before = names();
        assert_eq!(before.len(), foreign.len() + 2);
        sweep(path);
        assert_eq!(names(), before, "somebody may still be writing it");
        file.set_modified(old).unwrap();
        sweep(path);
        let mut rest = before;
        rest.remove(ours.file_name().unwrap().to_str().unwrap());
        assert_eq!(names(), rest);
        sweep(&path.join("nowhere"));
    }
}
