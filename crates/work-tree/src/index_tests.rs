use std::process::Command;

use tempfile::TempDir;

use super::*;

/// A repository in the folder `project` of a temporary one.
struct Repository {
    folder: TempDir,
}

impl Repository {
    fn new(options: &[&str]) -> Self {
        let repository = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(repository.project()).unwrap();
        repository.git(&[&["init", "-q"], options].concat());
        for file in ["a", "b/one", "b/two", ".callstack/callstack.db", ".callstack/git/config"] {
            repository.write(file);
        }
        repository
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn write(&self, file: &str) {
        let file = self.project().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "content").unwrap();
    }

    fn git(&self, args: &[&str]) -> String {
        let author = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
        let mut git = Command::new("git");
        git.current_dir(self.project()).args(author).args(args);
        let done = git.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stdout).unwrap()
    }

    fn entries(&self) -> Vec<String> {
        let entries = entries(&self.project().join(".git")).unwrap();
        entries.into_iter().map(|(path, _)| path.to_str().unwrap().to_owned()).collect()
    }

    /// The paths agree with git's, and there are about this many.
    #[track_caller]
    fn agrees(&self, count: usize) {
        let said = self.git(&["ls-files"]);
        let said: Vec<_> = said.lines().collect();
        assert_eq!(
            (self.entries(), said.len()),
            (said.iter().map(|&it| it.into()).collect(), count)
        );
    }
}

fn below(project: &Path) -> io::Result<Vec<PathBuf>> {
    tracked_below(project, Path::new(".callstack"), false)
}

#[test]
fn an_index_of_each_version_says_what_git_says() {
    for version in ["2", "3", "4"] {
        for format in ["sha1", "sha256"] {
            let repository = Repository::new(&["--object-format", format]);
            assert_eq!(repository.entries(), [""; 0], "nothing was added");
            repository.git(&["update-index", "--index-version", version]);
            repository.agrees(0);
            repository.git(&["add", "-f", "a", "b"]);
            repository.git(&["update-index", "--index-version", version]);
            repository.agrees(3);
            assert_eq!(below(&repository.project()).unwrap(), [""; 0].map(PathBuf::from));
            // One that is only intended to be added has more flags, and one name is longer than flags can record.
            repository.git(&["add", "-f", "-N", ".callstack"]);
            let long = format!("{}/{}", vec!["d".repeat(200); 15].join("/"), "e".repeat(200));
            let cacheinfo =
                format!("100644,{},{long}", "1".repeat(if format == "sha1" { 40 } else { 64 }));
            repository.git(&["update-index", "--add", "--cacheinfo", &cacheinfo]);
            repository.agrees(6);
            let found = [".callstack/callstack.db", ".callstack/git/config"].map(PathBuf::from);
            assert_eq!(below(&repository.project()).unwrap(), found);
        }
    }
}

#[test]
fn a_split_index_counts_with_the_one_that_it_adds_to() {
    let repository = Repository::new(&[]);
    repository.git(&["add", "-f", ".callstack", "a"]);
    repository.git(&["update-index", "--split-index"]);
    assert_eq!(below(&repository.project()).unwrap().len(), 2);
    repository.git(&["config", "splitIndex.maxPercentChange", "100"]);
    repository.git(&["add", "b"]);
    let found = repository.entries();
    assert!(
        ["a", "b/one", ".callstack/callstack.db"].iter().all(|it| found.contains(&(*it).into()))
    );
    for file in fs::read_dir(repository.project().join(".git")).unwrap() {
        let path = file.unwrap().path();
        if path.file_name().unwrap().to_str().unwrap().starts_with("sharedindex") {
            fs::remove_file(path).unwrap();
        }
    }
    below(&repository.project()).unwrap_err();
}

#[test]
fn a_folder_that_a_sparse_index_does_not_list_is_tracked() {
    let repository = Repository::new(&[]);
    repository.git(&["add", "-f", "."]);
    repository.git(&["commit", "-q", "-m", "all"]);
    repository.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "b"]);
    assert_eq!(repository.entries(), [".callstack/", "a", "b/one", "b/two"]);
    assert_eq!(below(&repository.project()).unwrap(), [Path::new(".callstack/")]);
    let inside = repository.project().join(".callstack/git");
    fs::create_dir_all(&inside).unwrap();
    below(&inside).unwrap_err();
}

#[test]
fn work_trees_and_repositories_around_are_found() {
    let repository = Repository::new(&[]);
    repository.git(&["add", "-f", "."]);
    repository.git(&["commit", "-q", "-m", "all"]);
    repository.git(&["worktree", "add", "-q", "../beside"]);
    let beside = repository.folder.path().join("beside");
    assert_eq!(below(&beside).unwrap().len(), 2);
    let inner = repository.project().join("libs/inner");
    fs::create_dir_all(inner.join(".callstack")).unwrap();
    fs::write(inner.join(".callstack/callstack.db"), "").unwrap();
    repository.git(&["add", "-f", "libs"]);
    repository.git(&["init", "-q", "libs/inner"]);
    assert_eq!(below(&inner).unwrap(), [Path::new(".callstack/callstack.db")]);
    fs::write(inner.join(".git/index"), "damaged").unwrap();
    below(&inner).unwrap_err();
}

#[test]
fn a_part_of_an_index_is_no_index() {
    let repository = Repository::new(&[]);
    for version in ["2", "4"] {
        repository.git(&["add", "-f", "."]);
        repository.git(&["update-index", "--index-version", version]);
        let bytes = fs::read(repository.project().join(".git/index")).unwrap();
        assert_eq!(parse(&bytes).unwrap().entries.len(), 5);
        for length in 0..bytes.len() - 20 {
            let read = parse(&bytes[..length]);
            assert!(read.is_none_or(|index| index.entries.len() == 5), "{length}");
        }
    }
}
