//! The host process dies, hangs, or is not there: the agent's work goes on, and nothing is lost.

mod away;
mod delegations;
mod killed;
mod missing;
mod store;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The processes whose parent is `parent` and whose command line ends with `host opencode`.
fn hosts_of(parent: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| parent_of(*pid) == Some(parent) && is_host(*pid)).collect()
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

fn is_host(pid: u32) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.ends_with(b"host\0opencode\0")
}

/// Ends the only host process of an `OpenCode` as `kill -9` does, and waits until it is gone.
#[track_caller]
pub(crate) fn kill_host(opencode: u32) {
    let hosts = hosts_of(opencode);
    let [pid] = hosts[..] else { panic!("the host processes are {hosts:?}") };
    let killed = Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap();
    assert!(killed.success());
    let started = Instant::now();
    while is_host(pid) {
        assert!(started.elapsed() < Duration::from_secs(5), "{pid} outlives its SIGKILL");
        sleep(Duration::from_millis(2));
    }
}

/// Waits until a host process has followed the one that was killed.
#[track_caller]
pub(crate) fn wait_for_host(opencode: u32) {
    let started = Instant::now();
    while hosts_of(opencode).is_empty() {
        assert!(started.elapsed() < Duration::from_secs(20), "no host process follows");
        sleep(Duration::from_millis(5));
    }
}

/// Writes a program that stands in for the binary.
fn program(path: &Path, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    // A running script must not change under its interpreter.
    drop(fs::remove_file(path));
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_owned()
}
