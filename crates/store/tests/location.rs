//! The store that a folder belongs to, and the folder that is made when there is none.

use std::fs;
use std::path::{Path, PathBuf};

use callstack_store::{DATABASE, FOLDER, Store, StoreError, find, prepare, project_root};
use tempfile::TempDir;

/// A home with a project in it that has a folder deep inside.
struct Place {
    _folder: TempDir,
    home: PathBuf,
    project: PathBuf,
    deep: PathBuf,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let project = home.join("work/project");
    let deep = project.join("crates/inner/src");
    fs::create_dir_all(&deep).unwrap();
    Place { _folder: folder, home, project, deep }
}

fn with_store(folder: &Path) {
    fs::create_dir_all(folder.join(FOLDER)).unwrap();
}

#[test]
fn the_nearest_store_upwards_is_found() {
    let place = place();
    assert_eq!(find(&place.deep, Some(&place.home)), None);
    with_store(&place.project);
    assert_eq!(find(&place.deep, Some(&place.home)), Some(place.project.clone()));
    assert_eq!(find(&place.project, Some(&place.home)), Some(place.project.clone()));
    let inner = place.project.join("crates/inner");
    with_store(&inner);
    assert_eq!(find(&place.deep, Some(&place.home)), Some(inner));
    assert_eq!(find(&place.project, Some(&place.home)), Some(place.project.clone()));
}

#[test]
fn a_store_above_the_root_of_the_work_tree_is_never_found() {
    let place = place();
    with_store(&place.project);
    let inner = place.project.join("crates/inner");
    fs::create_dir(inner.join(".git")).unwrap();
    assert_eq!(find(&place.deep, Some(&place.home)), None);
    assert_eq!(project_root(&place.deep, Some(&place.home)), inner);
    with_store(&inner);
    assert_eq!(find(&place.deep, Some(&place.home)), Some(inner));
}

#[cfg(unix)]
#[test]
fn what_anybody_may_have_put_above_is_never_found() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = place();
    with_store(&place.project);
    let shared = fs::Permissions::from_mode(0o1777);
    fs::set_permissions(&place.project, shared).unwrap();
    fs::create_dir(place.project.join(".git")).unwrap();
    assert_eq!(find(&place.deep, Some(&place.home)), None);
    assert_eq!(project_root(&place.deep, Some(&place.home)), place.deep);
    // A command that is started in it uses it.
    assert_eq!(find(&place.project, Some(&place.home)), Some(place.project.clone()));
}

#[test]
fn the_home_folder_and_what_is_above_it_are_never_a_project() {
    let place = place();
    with_store(&place.home);
    with_store(place.home.parent().unwrap());
    assert_eq!(find(&place.deep, Some(&place.home)), None);
    assert_eq!(find(&place.home, Some(&place.home)), None);
    fs::create_dir(place.home.join(".git")).unwrap();
    assert_eq!(project_root(&place.deep, Some(&place.home)), place.deep);
}

#[test]
fn a_file_with_the_folders_name_is_no_store() {
    let place = place();
    fs::write(place.project.join(FOLDER), "").unwrap();
    assert_eq!(find(&place.deep, Some(&place.home)), None);
    assert!(matches!(prepare(&place.project), Err(StoreError::Io { .. })));
}

#[test]
fn a_new_store_goes_to_the_root_of_the_work_tree() {
    let place = place();
    assert_eq!(project_root(&place.deep, Some(&place.home)), place.deep);
    fs::create_dir(place.project.join(".git")).unwrap();
    assert_eq!(project_root(&place.deep, Some(&place.home)), place.project);
    // A worktree or submodule has a file there.
    let inner = place.project.join("crates/inner");
    fs::write(inner.join(".git"), "gitdir: elsewhere\n").unwrap();
    assert_eq!(project_root(&place.deep, Some(&place.home)), inner);
}

#[test]
fn git_never_sees_a_store() {
    let place = place();
    let folder = prepare(&place.project).unwrap();
    assert_eq!(folder, place.project.join(FOLDER));
    let ignore = folder.join(".gitignore");
    assert_eq!(fs::read_to_string(&ignore).unwrap(), "*\n");
    fs::remove_file(&ignore).unwrap();
    prepare(&place.project).unwrap();
    assert_eq!(fs::read_to_string(&ignore).unwrap(), "*\n", "it comes back");
    drop(Store::open_unchecked(&folder).unwrap());
    fs::write(&ignore, "# mine\n").unwrap();
    prepare(&place.project).unwrap();
    assert_eq!(fs::read_to_string(&ignore).unwrap(), "# mine\n", "a changed one stays");
}

#[cfg(unix)]
#[test]
fn a_store_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = place();
    let folder = prepare(&place.project).unwrap();
    let store = Store::open_unchecked(&folder).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&folder.join(DATABASE)), 0o600);
    for beside in ["-wal", "-shm"] {
        assert_eq!(mode(&folder.join(format!("{DATABASE}{beside}"))), 0o600, "{beside}");
    }
    drop(store);
    // A store that is shared with a group on purpose stays shared.
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o770)).unwrap();
    prepare(&place.project).unwrap();
    assert_eq!(mode(&folder), 0o770);
    // Nobody shares one with everybody on purpose.
    for open in [0o755, 0o775, 0o777, 0o701] {
        fs::set_permissions(&folder, fs::Permissions::from_mode(open)).unwrap();
        prepare(&place.project).unwrap();
        assert_eq!(mode(&folder), 0o700, "{open:o}");
    }
}

#[cfg(unix)]
#[test]
fn a_folder_that_was_there_before_the_store_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    for open in [0o750, 0o755, 0o777] {
        let place = place();
        let folder = place.project.join(FOLDER);
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(open)).unwrap();
        prepare(&place.project).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700, "{open:o}");
    }
}

#[test]
fn a_file_that_would_have_git_take_a_new_store_is_replaced() {
    for came in ["", "!*\n", "*\n!callstack.db\n"] {
        let place = place();
        with_store(&place.project);
        let ignore = place.project.join(FOLDER).join(".gitignore");
        fs::write(&ignore, came).unwrap();
        prepare(&place.project).unwrap();
        assert_eq!(fs::read_to_string(&ignore).unwrap(), "*\n", "{came:?}");
    }
    // A file that ignores everything there stays as its owner wrote it.
    let place = place();
    with_store(&place.project);
    let ignore = place.project.join(FOLDER).join(".gitignore");
    fs::write(&ignore, "# ours\n*\n").unwrap();
    prepare(&place.project).unwrap();
    assert_eq!(fs::read_to_string(&ignore).unwrap(), "# ours\n*\n");
}
