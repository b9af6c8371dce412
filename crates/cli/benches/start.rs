//! The time of the binary from its start to its end.

use std::process::{Command, Stdio};

use callstack_store::Store;

use super::measure::{Samples, Table, load, ms};

const ROUNDS: usize = 200;
const GOAL: f64 = 10.0;

/// Times commands that a person or a script waits for.
pub(crate) fn run() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    drop(Store::open_unchecked(&callstack_store::prepare(folder.path()).unwrap()).unwrap());
    let mut table =
        Table::new(&["command", "median", "p99", "beside it: /bin/true", "goal (median)"]);
    for args in [&["--version"][..], &["status"], &["tree", "--json"]] {
        let (mut own, mut least) = <(Samples, Samples)>::default();
        let mut worked = true;
        for _ in 0..ROUNDS {
            least.time(|| start(folder.path(), "/bin/true", &[]));
            worked &= own.time(|| start(folder.path(), env!("CARGO_BIN_EXE_callstack"), args));
        }
        let verdict = match (worked, own.median() <= GOAL) {
            (false, _) => "the command failed",
            (true, true) => "met",
            (true, false) => "missed",
        };
        table.row([
            format!("callstack {}", args.join(" ")),
            ms(own.median()),
            ms(own.p99()),
            ms(least.median()),
            format!("{GOAL}: {verdict}"),
        ]);
    }
    table.print(&format!("Start-up (milliseconds; {})", load()));
}

fn start(folder: &std::path::Path, program: &str, args: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(args).current_dir(folder).env("PWD", folder);
    // The store was made without a record.
    command.env("CALLSTACK_TRUST", folder);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().unwrap().success()
}
