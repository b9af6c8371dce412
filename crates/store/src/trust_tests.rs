#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use tempfile::TempDir;

use super::*;
use crate::logs::LOGS;
use crate::store::Store;

/// A user's state folder and a folder for projects.
struct Home {
    _folder: TempDir,
    state: PathBuf,
    projects: PathBuf,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (state, projects) = (root.join("state"), root.join("projects"));
        fs::create_dir(&projects).unwrap();
        Self { _folder: folder, state, projects }
    }

    /// A registry of a user in whose projects git tracks nothing.
    fn registry(&self) -> Registry {
        Registry::new(&self.state, |_, _| Ok(Vec::new()))
    }

    fn project(&self, name: &str) -> PathBuf {
        let project = self.projects.join(name);
        fs::create_dir(&project).unwrap();
        project
    }

    /// A project with a store that was made here.
    fn with_store(&self, name: &str) -> PathBuf {
        let project = self.project(name);
        drop(Store::open(&self.registry().admit(&project).unwrap()).unwrap());
        project
    }

    fn refused(&self, project: &Path) -> Distrust {
        match self.registry().admit(project) {
            Err(StoreError::Distrusted(distrust)) => distrust,
            other => panic!("{other:?}"),
        }
    }
}

fn copied(from: &Path, to: &Path) {
    let done = Command::new("cp").arg("-a").args([from, to]).status().unwrap();
    assert!(done.success());
}

#[test]
fn a_store_that_was_made_here_is_admitted_again() {
    let home = Home::new();
    let project = home.with_store("project");
    let first = home.registry().admit(&project).unwrap();
    let states = first.states().unwrap().to_path_buf();
    assert!(states.starts_with(&home.state));
    assert_eq!(first.again().unwrap().states(), Some(states.as_path()));
    let records = home.registry().records().unwrap();
    assert_eq!(records.iter().map(|it| &it.project).collect::<Vec<_>>(), [&project]);
}

#[test]
fn a_store_that_is_not_on_record_is_refused_and_left_as_it_is() {
    let home = Home::new();
    let project = home.with_store("project");
    fs::remove_dir_all(&home.state).unwrap();
    let before = fs::read(project.join(FOLDER).join(DATABASE)).unwrap();
    assert!(matches!(home.refused(&project), Distrust::Unrecorded { is_marked: true, .. }));
    fs::remove_file(project.join(FOLDER).join(ID)).unwrap();
    assert!(matches!(home.refused(&project), Distrust::Unrecorded { is_marked: false, .. }));
    assert_eq!(fs::read(project.join(FOLDER).join(DATABASE)).unwrap(), before);
    assert!(home.registry().records().unwrap().is_empty());

    let taken = home.registry().take_over(&project).unwrap();
    assert_eq!((&taken.record.project, taken.copied), (&project, None));
    drop(Store::open(&home.registry().admit(&project).unwrap()).unwrap());
}

#[test]
fn a_moved_store_keeps_its_id_and_a_copy_gets_its_own() {
    let home = Home::new();
    let (first, second) = (home.with_store("first"), home.projects.join("second"));
    let id = id_of(&first).unwrap().unwrap();
    fs::rename(&first, &second).unwrap();
    let refused = home.refused(&second);
    assert!(matches!(&refused, Distrust::Elsewhere { recorded, .. } if *recorded == first));
    let moved = home.registry().take_over(&second).unwrap();
    assert_eq!((&moved.record.id, moved.copied), (&id, None));
    home.registry().admit(&second).unwrap();

    let third = home.projects.join("third");
    copied(&second, &third);
    assert!(matches!(home.refused(&third), Distrust::Elsewhere { .. }));
    let copy = home.registry().take_over(&third).unwrap();
    assert_ne!(copy.record.id, id);
    assert_eq!(copy.copied, Some(moved.states));
    for project in [&second, &third] {
        home.registry().admit(project).unwrap();
    }
    assert_eq!(home.registry().records().unwrap().len(), 2);
}

#[test]
fn a_path_that_is_no_text_is_recorded_as_it_is() {
    let home = Home::new();
    for name in [&b"caf\xe9"[..], b"two\nlines", b" ends with a line\n", b"id "] {
        let project = home.projects.join(OsString::from_vec(name.to_vec()));
        fs::create_dir(&project).unwrap();
        home.registry().admit(&project).unwrap();
        fs::write(project.join(FOLDER).join("callstack.log"), "").unwrap();
        home.registry().admit(&project).unwrap();
        assert!(home.registry().records().unwrap().iter().any(|it| it.project == project));
        assert!(home.registry().revoke(&project).unwrap());
        assert!(matches!(home.refused(&project), Distrust::Unrecorded { .. }));
    }
}

#[test]
fn an_empty_folder_is_used() {
    let home = Home::new();
    let project = home.project("project");
    fs::create_dir(project.join(FOLDER)).unwrap();
    fs::write(project.join(FOLDER).join(".gitignore"), "*\n").unwrap();
    home.registry().admit(&project).unwrap();
    // An id that nobody has on record says nothing.
    let other = home.project("other");
    fs::create_dir(other.join(FOLDER)).unwrap();
    fs::write(other.join(FOLDER).join(ID), format!("{}\n", "ab".repeat(16))).unwrap();
    home.registry().admit(&other).unwrap();
    fs::write(other.join(FOLDER).join("callstack.log"), "").unwrap();
    home.registry().admit(&other).unwrap();
}

#[test]
fn links_and_what_is_no_file_are_refused() {
    let home = Home::new();
    let outside = home.projects.join("outside");
    for name in [DATABASE, "callstack.db-wal", "callstack.log", ".gitignore", ID, LOGS, "other"] {
        let project = home.with_store(&format!("with {name}"));
        let path = project.join(FOLDER).join(name);
        drop(fs::remove_file(&path));
        for target in [&outside, &home.projects] {
            symlink(target, &path).unwrap();
            assert!(matches!(home.refused(&project), Distrust::Link { .. }), "{name}");
            assert!(home.registry().take_over(&project).is_err(), "{name}");
            fs::remove_file(&path).unwrap();
        }
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert!(matches!(home.refused(&project), Distrust::NoFile { .. }), "{name}");
        fs::remove_file(&path).unwrap();
        if name != LOGS && name != "other" {
            fs::create_dir(&path).unwrap();
            assert!(matches!(home.refused(&project), Distrust::NoFile { .. }), "{name}");
        }
    }
    let project = home.with_store("with a link in its logs");
    fs::create_dir(project.join(FOLDER).join(LOGS)).unwrap();
    symlink(&outside, project.join(FOLDER).join(LOGS).join("f1.md")).unwrap();
    assert!(matches!(home.refused(&project), Distrust::Link { .. }));
    let project = home.project("that is a link");
    symlink(&home.projects, project.join(FOLDER)).unwrap();
    assert!(matches!(home.refused(&project), Distrust::Link { .. }));
    assert!(!outside.exists());
}

#[test]
fn a_store_that_everybody_may_write_is_refused() {
    let home = Home::new();
    let project = home.with_store("project");
    let folder = project.join(FOLDER);
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    set(&folder, 0o777).unwrap();
    assert!(matches!(home.refused(&project), Distrust::Open { .. }));
    set(&folder, 0o755).unwrap();
    set(&folder.join(DATABASE), 0o666).unwrap();
    assert!(matches!(home.refused(&project), Distrust::Open { .. }));
    set(&folder.join(DATABASE), 0o660).unwrap();
    for shared in [0o700, 0o750, 0o770, 0o2770] {
        set(&folder, shared).unwrap();
        home.registry().admit(&project).unwrap();
    }
}

#[test]
fn a_store_of_another_user_is_refused() {
    use std::os::unix::fs::chown;
    let home = Home::new();
    let project = home.with_store("project");
    let folder = project.join(FOLDER);
    if chown(&folder, Some(65_534), None).is_err() {
        // Only root can give files away.
        return;
    }
    assert!(matches!(home.refused(&project), Distrust::Owner { owner: 65_534, .. }));
    // Whose project it is, root works on as that user would.
    chown(&project, Some(65_534), None).unwrap();
    home.registry().admit(&project).unwrap();
    chown(&folder, Some(0), None).unwrap();
    home.registry().admit(&project).unwrap();
    chown(&folder, Some(65_533), None).unwrap();
    assert!(matches!(home.refused(&project), Distrust::Owner { .. }));
    // An empty one may be filled by its owner at any time.
    let empty = home.project("empty");
    fs::create_dir(empty.join(FOLDER)).unwrap();
    chown(empty.join(FOLDER), Some(65_534), None).unwrap();
    assert!(matches!(home.refused(&empty), Distrust::Owner { .. }));
}

/// Any of them could replace it, and one of them may have made it again.
#[test]
fn a_store_of_another_member_is_used_where_the_group_may_write_to_the_project() {
    use std::os::unix::fs::{PermissionsExt as _, chown};
    let home = Home::new();
    let project = home.with_store("project");
    let folder = project.join(FOLDER);
    if chown(&folder, Some(65_534), Some(65_534)).is_err() {
        eprintln!("skipped: only root gives files away");
        return;
    }
    chown(&project, Some(65_533), Some(65_534)).unwrap();
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    for (of_folder, of_project, is_used) in [
        (0o2770, 0o2775, true),
        (0o2750, 0o2775, false),
        (0o700, 0o775, false),
        (0o770, 0o755, false),
    ] {
        set(&folder, of_folder).unwrap();
        set(&project, of_project).unwrap();
        assert_eq!(
            home.registry().admit(&project).is_ok(),
            is_used,
            "{of_folder:o} {of_project:o}"
        );
    }
    set(&folder, 0o770).unwrap();
    set(&project, 0o775).unwrap();
    chown(&project, None, Some(65_533)).unwrap();
    assert!(
        matches!(home.refused(&project), Distrust::Owner { owner: 65_534, .. }),
        "another group"
    );
}

/// No hard link says what it was, as where the home is on another file system.
#[test]
fn a_further_connection_makes_a_shared_folder_again_as_it_was() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    let project = home.project("project");
    let trusted = home.registry().admit(&project).unwrap();
    let open = crate::Store::open(&trusted).unwrap();
    let folder = project.join(FOLDER);
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    set(&folder, 0o2770).unwrap();
    set(&folder.join(DATABASE), 0o660).unwrap();
    fs::remove_file(trusted.states().unwrap().join("callstack.db")).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    trusted.again().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&folder), 0o2770);
    open.check_files().unwrap();
    assert_eq!((mode(&folder), mode(&folder.join(DATABASE))), (0o2770, 0o660));
}

#[test]
fn a_store_that_git_tracks_is_refused() {
    let home = Home::new();
    let project = home.with_store("project");
    let says = |answer: Result<Vec<&'static str>, &'static str>| {
        let paths = answer.map(|it| it.into_iter().map(PathBuf::from).collect());
        let answer: Result<Vec<PathBuf>, String> = paths.map_err(str::to_owned);
        Registry::new(&home.state, move |_, _| answer.clone())
    };
    let tracking = || says(Ok(vec![".callstack/.gitignore", ".callstack/callstack.db"]));
    // Git is not asked where there is no repository.
    tracking().admit(&project).unwrap();
    fs::create_dir(project.join(".git")).unwrap();
    let refused = tracking().admit(&project).unwrap_err();
    let StoreError::Distrusted(Distrust::Tracked { paths, .. }) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(paths, [Path::new(".callstack/callstack.db")]);
    assert!(tracking().take_over(&project).is_err());
    assert!(tracking().trusting([project.clone()]).admit(&project).is_err());
    let ignoring = || says(Ok(vec![".callstack/.gitignore"]));
    ignoring().admit(&project).unwrap();
    // Its new content would have git take what the store holds.
    fs::write(project.join(FOLDER).join(DATABASE), "").unwrap();
    fs::write(project.join(FOLDER).join(".gitignore"), "!*\n").unwrap();
    assert!(ignoring().admit(&project).is_err());
    fs::write(project.join(FOLDER).join(".gitignore"), "# all\n*\n").unwrap();
    ignoring().admit(&project).unwrap();
    let unclear = says(Err("it took too long")).admit(&project).unwrap_err();
    assert!(matches!(unclear, StoreError::Distrusted(Distrust::Unclear { .. })), "{unclear:?}");
}

#[test]
fn an_admitted_store_is_looked_at_again_before_it_is_opened_again() {
    let home = Home::new();
    let project = home.with_store("project");
    let trusted = home.registry().admit(&project).unwrap();
    trusted.again().unwrap();
    symlink("/elsewhere", project.join(FOLDER).join("callstack.log")).unwrap();
    assert!(matches!(trusted.again(), Err(StoreError::Distrusted(Distrust::Link { .. }))));
    fs::remove_file(project.join(FOLDER).join("callstack.log")).unwrap();
    home.registry().revoke(&project).unwrap();
    assert!(matches!(trusted.again(), Err(StoreError::Distrusted(Distrust::Unrecorded { .. }))));
}

#[test]
fn named_projects_need_no_record() {
    let home = Home::new();
    let project = home.with_store("project");
    fs::remove_dir_all(&home.state).unwrap();
    fs::remove_file(project.join(FOLDER).join(ID)).unwrap();
    let registry = || home.registry().trusting([project.clone()]);
    let states = registry().admit(&project).unwrap().states().unwrap().to_path_buf();
    assert_eq!(registry().admit(&project).unwrap().states(), Some(states.as_path()));
    assert!(matches!(home.refused(&project), Distrust::Unrecorded { .. }));
    // A folder around it is not meant.
    let around = home.registry().trusting([home.projects.clone()]);
    assert!(around.admit(&project).is_err());
    symlink("/elsewhere", project.join(FOLDER).join("callstack.log")).unwrap();
    assert!(registry().admit(&project).is_err());
}

#[test]
fn processes_that_begin_a_store_at_once_agree_on_it() {
    let home = Home::new();
    for round in 0..20 {
        let project = home.project(&format!("project {round}"));
        let states: Vec<_> = std::thread::scope(|scope| {
            let begin = || home.registry().admit(&project).unwrap().states().map(Path::to_path_buf);
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(begin)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(states.iter().all(|it| *it == states[0]), "{states:?}");
    }
    assert_eq!(home.registry().records().unwrap().len(), 20);
}

#[test]
fn an_id_names_nothing_but_a_store() {
    for text in ["../../etc", "", "AB", &"A".repeat(32), &"a".repeat(31), &"a".repeat(33)] {
        assert_eq!(StoreId::parse(text.as_bytes()), None, "{text}");
    }
    let id = StoreId::random();
    assert_eq!(StoreId::parse(format!("{id}\n").as_bytes()), Some(id));
}

/// A project whose store is open and holds a message.
fn live(home: &Home, name: &str) -> (PathBuf, Trusted, Store) {
    let project = home.project(name);
    let trusted = home.registry().admit(&project).unwrap();
    let store = Store::open(&trusted).unwrap();
    keep(&store, "msg-1").unwrap();
    (project, trusted, store)
}

fn keep(store: &Store, id: &str) -> Result<(), StoreError> {
    let body = crate::MessageBody { id: id.to_owned(), json: "{}".to_owned() };
    store.write(|change| change.record_messages(1, "ses_a", std::slice::from_ref(&body)).map(drop))
}

fn messages(project: &Path, home: &Home) -> usize {
    let store = Store::open(&home.registry().admit(project).unwrap()).unwrap();
    store.read(|view| view.messages("ses_a")).unwrap().len()
}

#[test]
fn a_store_that_is_made_again_under_a_process_stays_the_one_on_record() {
    let home = Home::new();
    let (project, trusted, store) = live(&home, "project");
    fs::remove_dir_all(project.join(FOLDER)).unwrap();
    keep(&store, "msg-2").unwrap();
    assert_eq!(id_of(&project).unwrap(), trusted.id);
    assert_eq!(messages(&project, &home), 2);
    fs::remove_dir_all(project.join(FOLDER)).unwrap();
    let again = trusted.again().unwrap();
    assert_eq!(again.states(), trusted.states());
    assert_eq!(home.registry().records().unwrap().len(), 1);
}

#[test]
fn a_store_that_another_process_began_meanwhile_takes_the_mark_of_the_one_that_is_put_back() {
    let home = Home::new();
    let (project, trusted, store) = live(&home, "project");
    fs::remove_dir_all(project.join(FOLDER)).unwrap();
    fs::remove_file(trusted.states().unwrap().join(crate::kept::KEPT)).unwrap();
    let theirs = home.registry().admit(&project).unwrap();
    assert_ne!(theirs.id, trusted.id);
    let elsewhere = home.registry().admit(&home.project("elsewhere")).unwrap();
    drop(Store::open(&elsewhere).unwrap());
    fs::rename(elsewhere.folder().join(DATABASE), theirs.folder().join(DATABASE)).unwrap();
    keep(&store, "msg-2").unwrap();
    assert_eq!(id_of(&project).unwrap(), trusted.id);
    assert_eq!(messages(&project, &home), 2);
}

#[test]
fn a_store_that_was_not_made_here_is_never_gone_on_with() {
    let home = Home::new();
    let (foreign, _, theirs) = live(&home, "foreign");
    drop(theirs);
    for is_marked in [false, true] {
        let (project, _, store) = live(&home, &format!("project-{is_marked}"));
        fs::remove_dir_all(project.join(FOLDER)).unwrap();
        copied(&foreign.join(FOLDER), &project.join(FOLDER));
        if !is_marked {
            fs::remove_file(project.join(FOLDER).join(ID)).unwrap();
        }
        let before = fs::read(project.join(FOLDER).join(DATABASE)).unwrap();
        for _ in 0..2 {
            let error = keep(&store, "msg-2").unwrap_err();
            assert!(matches!(error, StoreError::Vanished { .. }), "{error:?}");
        }
        assert_eq!(fs::read(project.join(FOLDER).join(DATABASE)).unwrap(), before);
        fs::remove_dir_all(project.join(FOLDER)).unwrap();
        keep(&store, "msg-2").unwrap();
        assert_eq!(messages(&project, &home), 2);
    }
}

#[test]
fn a_link_in_the_place_of_a_store_is_not_followed() {
    let home = Home::new();
    let (foreign, _, theirs) = live(&home, "foreign");
    drop(theirs);
    let (project, _, store) = live(&home, "project");
    let ends = |path: &Path| fs::read(path.join(FOLDER).join(DATABASE)).unwrap();
    let before = ends(&foreign);
    fs::remove_dir_all(project.join(FOLDER)).unwrap();
    symlink(foreign.join(FOLDER), project.join(FOLDER)).unwrap();
    assert!(matches!(keep(&store, "msg-2"), Err(StoreError::Vanished { .. })));
    fs::remove_file(project.join(FOLDER)).unwrap();
    keep(&store, "msg-2").unwrap();
    fs::remove_file(project.join(FOLDER).join(DATABASE)).unwrap();
    symlink(foreign.join(FOLDER).join(DATABASE), project.join(FOLDER).join(DATABASE)).unwrap();
    assert!(matches!(keep(&store, "msg-3"), Err(StoreError::Vanished { .. })));
    assert_eq!(ends(&foreign), before);
}

#[test]
fn a_store_whose_project_is_gone_is_not_made_again() {
    let home = Home::new();
    let (project, _, store) = live(&home, "project");
    fs::remove_dir_all(&project).unwrap();
    assert!(matches!(keep(&store, "msg-2"), Err(StoreError::Vanished { .. })));
    assert!(!project.exists());
}

#[test]
fn a_copy_that_the_environment_names_gets_an_id_of_its_own() {
    let home = Home::new();
    let project = home.with_store("project");
    let copy = home.projects.join("copy");
    copied(&project, &copy);
    let registry = home.registry().trusting([copy.clone(), project.clone()]);
    let states = |project: &Path| registry.admit(project).unwrap().states().unwrap().to_path_buf();
    let (first, second) = (states(&project), states(&copy));
    assert_ne!(first, second);
    assert_eq!(second, states(&copy), "it keeps its id");
    assert_eq!(first, states(&project));
}

#[test]
fn a_project_that_everybody_may_write_to_is_refused_unless_it_is_named() {
    let home = Home::new();
    let project = home.with_store("project");
    let admit = |mode| {
        fs::set_permissions(&project, fs::Permissions::from_mode(mode)).unwrap();
        home.registry().admit(&project)
    };
    for mode in [0o700, 0o775, 0o1777] {
        admit(mode).unwrap();
    }
    let refused = admit(0o777).unwrap_err();
    assert!(matches!(refused, StoreError::Distrusted(Distrust::Exposed { .. })), "{refused:?}");
    home.registry().take_over(&project).unwrap_err();
    home.registry().trusting([project.clone()]).admit(&project).unwrap();
}

#[test]
fn a_folder_around_the_project_that_everybody_may_write_to_is_refused_as_the_project_is() {
    let home = Home::new();
    let project = home.with_store("project");
    let set = |mode| fs::set_permissions(&home.projects, fs::Permissions::from_mode(mode)).unwrap();
    set(0o777);
    let refused = home.refused(&project);
    assert!(matches!(&refused, Distrust::Exposed { folder } if *folder == home.projects));
    home.registry().take_over(&project).unwrap_err();
    home.registry().trusting([project.clone()]).admit(&project).unwrap();
    for mode in [0o1777, 0o775] {
        set(mode);
        home.registry().admit(&project).unwrap();
    }
}

#[test]
fn records_in_a_folder_that_everybody_may_write_to_prove_nothing() {
    let home = Home::new();
    let project = home.with_store("project");
    let named = || home.registry().trusting([project.clone()]).admit(&project).unwrap();
    for place in [home.state.join("stores"), home.state.clone()] {
        let set = |mode| fs::set_permissions(&place, fs::Permissions::from_mode(mode)).unwrap();
        set(0o777);
        let refused = home.refused(&project);
        assert!(matches!(&refused, Distrust::RecordExposed { folder } if *folder == place));
        home.registry().take_over(&project).unwrap_err();
        assert_eq!(home.registry().records().unwrap(), []);
        assert_eq!(named().states(), None, "nothing is kept where others may change it");
        for mode in [0o1777, 0o700] {
            set(mode);
            home.registry().admit(&project).unwrap();
            assert!(named().states().is_some());
        }
    }
}

#[test]
fn a_record_of_another_user_proves_nothing() {
    use std::os::unix::fs::chown;
    const OTHER: u32 = 65_534;
    let home = Home::new();
    let project = home.with_store("project");
    let states = home.registry().admit(&project).unwrap().states().unwrap().to_path_buf();
    let record = states.join("record");
    if chown(&record, Some(OTHER), None).is_err() {
        // Only root can give files away.
        return;
    }
    assert!(matches!(home.refused(&project), Distrust::Unrecorded { is_marked: true, .. }));
    chown(&record, Some(0), None).unwrap();
    chown(&states, Some(OTHER), None).unwrap();
    assert!(matches!(home.refused(&project), Distrust::Unrecorded { is_marked: true, .. }));
    home.registry().take_over(&project).unwrap_err();
    let named = home.registry().trusting([project.clone()]).admit(&project).unwrap();
    assert_eq!(named.states(), None, "nothing is kept where others may change it");
    // In the state folder of a user, root works with the user's records.
    chown(&record, Some(OTHER), None).unwrap();
    chown(home.state.join("stores"), Some(OTHER), None).unwrap();
    home.registry().admit(&project).unwrap();
}

#[test]
fn a_record_that_others_may_write_proves_nothing() {
    let home = Home::new();
    let project = home.with_store("project");
    let states = home.registry().admit(&project).unwrap().states().unwrap().to_path_buf();
    for (path, open, closed) in
        [(states.join("record"), 0o622, 0o600), (states.clone(), 0o777, 0o700)]
    {
        fs::set_permissions(&path, fs::Permissions::from_mode(open)).unwrap();
        assert!(matches!(home.refused(&project), Distrust::Unrecorded { is_marked: true, .. }));
        fs::set_permissions(&path, fs::Permissions::from_mode(closed)).unwrap();
        home.registry().admit(&project).unwrap();
    }
    fs::set_permissions(&states, fs::Permissions::from_mode(0o777)).unwrap();
    home.registry().take_over(&project).unwrap();
    home.registry().admit(&project).unwrap();
}
