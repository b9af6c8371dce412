//! A store that users work with from homes of their own: members of a group, or root in the project of somebody else.
//! Only root can stand for several users.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::kept::push_in;
use super::killed::process::Process;
use super::test_env::{BINARY, Said, TestEnv};

/// The numbers of the users and of their group; no account has them.
const OWNER: u32 = 61_001;
const MEMBER: u32 = 61_002;
const GROUP: u32 = 64_242;

/// A project of the owner, where the test may work as any user.
struct Desk(TestEnv);

/// Somebody with a home.
struct Person<'d> {
    desk: &'d TestEnv,
    home: PathBuf,
    /// None for root.
    user: Option<u32>,
}

impl Desk {
    /// None where only one user can be had.
    fn new() -> Option<Self> {
        let desk = TestEnv::without_store();
        let given = chown(desk.project(), Some(OWNER), Some(GROUP));
        let open = |path: &Path| fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
        open(desk.sealed.root());
        let as_owner = || {
            let owner = Person { desk: &desk, home: desk.sealed.home(), user: Some(OWNER) };
            owner.command(BINARY, &["--version"]).output().is_ok_and(|it| it.status.success())
        };
        if given.is_err() || !as_owner() {
            eprintln!(
                "skipped: only root works as other users, and these have to reach the binary"
            );
            return None;
        }
        Some(Self(desk))
    }

    fn person(&self, name: &str, user: Option<u32>) -> Person<'_> {
        let home = self.0.sealed.root().join(name);
        fs::create_dir_all(&home).unwrap();
        chown(&home, user, user.map(|_| GROUP)).unwrap();
        Person { desk: &self.0, home, user }
    }

    fn store(&self) -> PathBuf {
        self.0.project().join(".callstack")
    }

    fn of(&self, path: &str) -> (u32, u32) {
        let found = fs::metadata(self.store().join(path)).unwrap();
        (found.uid(), found.mode() & 0o7777)
    }
}

impl Person<'_> {
    fn command(&self, program: &str, args: &[&str]) -> Command {
        let mut command = self.desk.sealed.command_in(&self.desk.project(), program);
        command.args(args).env("HOME", &self.home);
        for (name, folder) in [("STATE", "state"), ("CONFIG", "config"), ("DATA", "data")] {
            command.env(format!("XDG_{name}_HOME"), self.home.join(folder));
        }
        if let Some(user) = self.user {
            command.uid(user).gid(GROUP);
        }
        command
    }

    fn run(&self, args: &[&str]) -> Said {
        self.desk.finish(self.command(BINARY, args))
    }

    #[track_caller]
    fn ok(&self, args: &[&str]) -> String {
        let said = self.run(args);
        assert_eq!(said.code, 0, "{args:?}\n{}{}", said.stdout, said.stderr);
        said.stdout
    }

    #[track_caller]
    fn push(&self, title: &str) {
        self.ok(&["push", "--here", title, "-c", "it is there"]);
    }

    #[track_caller]
    fn shows(&self, titles: &[&str]) {
        let shown = self.ok(&["tree", "--all"]);
        assert!(titles.iter().all(|title| shown.contains(title)), "{titles:?} in {shown}");
    }

    fn sh(&self, script: &str) {
        let said = self.desk.finish(self.command("sh", &["-c", script]));
        assert_eq!(said.code, 0, "{script}: {}", said.stderr);
    }

    fn start(&self) -> Process {
        Process::of(self.command(BINARY, &["host", "opencode"]))
    }
}

/// A store that its owner shares with a member of the group, and both.
fn shared(desk: &Desk) -> (Person<'_>, Person<'_>) {
    let (owner, member) = (desk.person("owner", Some(OWNER)), desk.person("member", Some(MEMBER)));
    fs::set_permissions(desk.0.project(), Permissions::from_mode(0o2775)).unwrap();
    owner.push("real");
    owner.sh("chmod 2770 .callstack && chmod 660 .callstack/callstack.db");
    owner.push("shared");
    member.ok(&["trust", "--yes"]);
    member.shows(&["real", "shared"]);
    (owner, member)
}

/// What the process of the member holds is the store's newest state, so it restores that, as the member's.
#[test]
fn a_store_that_the_process_of_a_member_restores_is_used_by_all() {
    // The process may just be making a file there.
    for gone in ["rm -rf .callstack || rm -rf .callstack", "rm -f .callstack/callstack.db*"] {
        for idle in [0, 1200] {
            let Some(desk) = Desk::new() else { return };
            let (owner, member) = shared(&desk);
            let mut process = member.start();
            push_in(&mut process, "first");
            std::thread::sleep(Duration::from_millis(idle));
            owner.sh(gone);
            std::thread::sleep(Duration::from_millis(idle));
            push_in(&mut process, "second");
            assert_eq!(desk.of("").1, 0o2770, "{gone}");
            assert_eq!(desk.of("callstack.db"), (MEMBER, 0o660), "{gone}");
            owner.push("third");
            assert!(process.close());
            for person in [&owner, &member] {
                person.shows(&["real", "first", "second", "third"]);
            }
        }
    }
}

/// Root has a live agent in the project of a user, as in a container.
#[test]
fn a_store_that_the_process_of_root_restores_is_its_users() {
    for idle in [0, 1200] {
        let Some(desk) = Desk::new() else { return };
        let (owner, root) = (desk.person("owner", Some(OWNER)), desk.person("root", None));
        owner.push("real");
        root.ok(&["trust", "--yes"]);
        let mut process = root.start();
        push_in(&mut process, "first");
        std::thread::sleep(Duration::from_millis(idle));
        owner.sh("rm -rf .callstack || rm -rf .callstack");
        std::thread::sleep(Duration::from_millis(idle));
        push_in(&mut process, "second");
        let found = ["", "callstack.db", "id", ".gitignore"].map(|name| desk.of(name).0);
        assert_eq!(found, [OWNER; 4]);
        owner.push("third");
        assert!(process.close());
        owner.shows(&["real", "first", "second", "third"]);
    }
}

/// The owner's home has no hard link, such as on another file system: the member's is the last one.
#[test]
fn a_store_that_a_member_alone_still_has_comes_back_as_theirs() {
    let Some(desk) = Desk::new() else { return };
    let (owner, member) = shared(&desk);
    member.push("first");
    owner.sh("rm -rf .callstack $XDG_STATE_HOME");
    member.push("second");
    member.shows(&["real", "shared", "first", "second"]);
    assert_eq!(desk.of("").1, 0o2770);
    assert_eq!(desk.of("callstack.db"), (MEMBER, 0o660));
}

/// A member has made the file another database: it is put aside where it is, and nothing is made of it in the project.
#[test]
fn a_store_that_a_member_alone_still_has_needs_its_key() {
    let Some(desk) = Desk::new() else { return };
    let (owner, member) = shared(&desk);
    member.push("first");
    let path = desk.store().join("callstack.db");
    let begin = "mkdir $HOME/other && cd $HOME/other && $0 push --here foreign -c x";
    let foreign = format!("{begin} && cat .callstack/callstack.db > {}", path.display());
    let made = owner.command("sh", &["-c", &foreign, BINARY]).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    owner.sh("rm -rf .callstack $XDG_STATE_HOME $HOME/other");
    member.push("second");
    let shown = member.ok(&["tree", "--all"]);
    assert!(!shown.contains("foreign") && shown.contains("second"), "{shown}");
    member.sh("ls $XDG_STATE_HOME/callstack/stores/*/callstack.db-aside-1");
}

/// Whose start restores it is said by whatever looks for it.
#[test]
fn a_store_that_another_member_restores_is_named() {
    let Some(desk) = Desk::new() else { return };
    let (owner, member) = shared(&desk);
    owner.sh("rm -rf .callstack");
    for args in [
        &["tree"][..],
        &["push", "--here", "more", "-c", "x"],
        &["doctor"],
        &["init", "opencode", "--remove", "--with-store", "--yes"],
    ] {
        let said = member.run(args);
        assert_eq!(said.code, 7, "{args:?}: {}{}", said.stdout, said.stderr);
        let said = said.stdout + &said.stderr;
        assert!(said.contains(&format!("belongs to another user, {OWNER}")), "{args:?}: {said}");
        assert!(said.contains("when that user starts callstack here"), "{args:?}: {said}");
    }
    owner.push("back");
    member.shows(&["real", "shared", "back"]);
}

/// As `sudo -E callstack` does, root has the user's home.
#[test]
fn what_root_makes_in_the_home_of_a_user_is_the_users() {
    let Some(desk) = Desk::new() else { return };
    let owner = desk.person("owner", Some(OWNER));
    let root = Person { user: None, home: owner.home.clone(), desk: owner.desk };
    for first in [&owner, &root] {
        owner.sh("rm -rf .callstack $XDG_STATE_HOME");
        // Where root is first, the store is root's, and the state folder is not.
        first.push("real");
        let other = desk.0.sealed.root().join("other");
        fs::create_dir_all(&other).unwrap();
        let mut elsewhere = root.command(BINARY, &["push", "--here", "theirs", "-c", "x"]);
        elsewhere.current_dir(&other).env("PWD", &other);
        let said = desk.0.finish(elsewhere);
        assert_eq!(said.code, 0, "{}", said.stderr);
        let found =
            "find $XDG_STATE_HOME -user 0 -not -name 'callstack.db*' | grep . && exit 1 || exit 0";
        owner.sh(found);
        assert!(owner.ok(&["trust", "--list"]).contains("other"));
        fs::remove_dir_all(other).unwrap();
    }
}

/// Root restores it, in the user's home.
#[test]
fn a_store_that_root_restores_in_the_home_of_its_user_is_the_users() {
    let Some(desk) = Desk::new() else { return };
    let owner = desk.person("owner", Some(OWNER));
    let root = Person { user: None, home: owner.home.clone(), desk: owner.desk };
    for gone in
        ["rm -rf .callstack", "rm .callstack/id", "rm $XDG_STATE_HOME/callstack/stores/*/keep.lock"]
    {
        owner.push("real");
        owner.sh(gone);
        root.push("roots");
        owner.push("more");
        owner.shows(&["real", "roots", "more"]);
        owner.sh("rm -rf .callstack");
        owner.push("again");
        owner.shows(&["real", "roots", "more", "again"]);
    }
}

/// A record that root has made keeps the user from nothing.
#[test]
fn a_record_that_cannot_be_read_is_passed_over_and_named() {
    let Some(desk) = Desk::new() else { return };
    let owner = desk.person("owner", Some(OWNER));
    owner.push("real");
    let record = owner.home.join("state/callstack/stores").join("0123456789abcdef0123456789abcdef");
    fs::create_dir(&record).unwrap();
    fs::set_permissions(&record, Permissions::from_mode(0o700)).unwrap();
    owner.sh("rm -rf .callstack");
    owner.push("more");
    owner.shows(&["real", "more"]);
    for args in [&["trust", "--list"][..], &["doctor"]] {
        let said = owner.ok(args);
        assert!(
            said.contains(record.to_str().unwrap()) && said.contains("can't be read"),
            "{said}"
        );
    }
    owner.ok(&["init", "opencode", "--remove", "--with-store", "--yes"]);
    let said = owner.run(&["init", "opencode", "--remove", "--with-store", "--yes"]);
    assert!(said.code != 0 && said.stderr.contains("can't be read"), "{}", said.stderr);
}

/// The lock can't be taken: another user has made it.
#[test]
fn a_store_of_which_no_copy_is_kept_is_named() {
    let Some(desk) = Desk::new() else { return };
    let owner = desk.person("owner", Some(OWNER));
    owner.push("real");
    assert!(!owner.ok(&["doctor"]).contains("no copy of the database is kept"));
    let states = fs::read_dir(owner.home.join("state/callstack/stores")).unwrap().next().unwrap();
    let states = states.unwrap().path();
    fs::remove_file(states.join("callstack.db")).unwrap();
    chown(states.join("keep.lock"), Some(0), None).unwrap();
    let said = owner.ok(&["doctor"]);
    assert!(
        said.contains("no copy of the database is kept") && said.contains("keep.lock"),
        "{said}"
    );
}
