//! The server as a process: its reports of changes by other processes, the single server of a project, and its end.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Deserializer, Value};

use super::test_env::TestEnv;

/// The longest wait before the test fails.
const PATIENCE: Duration = Duration::from_mins(1);

/// A server that has printed its address.
struct Serving {
    child: Child,
    address: Value,
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Serving {
    fn start(desk: &TestEnv, args: &[&str]) -> Self {
        let mut command = desk.command(&desk.project(), &[&["serve", "--json"], args].concat());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let stdout = child.stdout.take().unwrap();
        let mut values = Deserializer::from_reader(stdout).into_iter::<Value>();
        Self { address: values.next().unwrap().unwrap(), child }
    }

    fn port(&self) -> u16 {
        self.address["port"].as_u64().unwrap().try_into().unwrap()
    }

    /// Begins a request.
    fn ask(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port())).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let token = self.address["token"].as_str().unwrap();
        let port = self.port();
        let head = format!(
            "{request} HTTP/1.1\r\nHost: localhost:{port}\r\nAuthorization: Bearer {token}\r\n\
             Connection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    }

    fn answer(&self, request: &str) -> String {
        let mut answer = String::new();
        self.ask(request).read_to_string(&mut answer).unwrap();
        answer
    }

    fn json(&self, request: &str) -> Value {
        let answer = self.answer(request);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    }

    /// Asks the process to end, and waits for that. Returns its exit code.
    fn end(mut self, signal: Signal) -> Option<i32> {
        let id = i32::try_from(self.child.id()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), signal).unwrap();
        self.child.wait().unwrap().code()
    }
}

/// The files of servers in the user's state folder.
fn records(desk: &TestEnv) -> Vec<PathBuf> {
    let folder = desk.sealed.home().join(".local/state/callstack/servers");
    let of = |folder: PathBuf| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = of(folder).flat_map(of);
    files.filter(|path| path.extension().is_some_and(|ending| ending != "lock")).collect()
}

#[test]
fn what_other_processes_do_is_reported_and_a_signal_ends_it_in_order() {
    let desk = TestEnv::new();
    for signal in [Signal::TERM, Signal::INT] {
        let serving = Serving::start(&desk, &[]);
        let answer = serving.answer("POST /v1/operations/stack_status");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let mut events = BufReader::new(serving.ask("GET /v1/events")).lines();
        let mut until = |words: &str| {
            let mut lines = events.by_ref().map(Result::unwrap);
            assert!(lines.any(|line| line.contains(words)), "the stream ends without {words}");
        };
        until("event: open");
        for title in ["one process", "another process"] {
            desk.ok(&["push", title, "-c", "done"]);
            until(title);
        }
        assert_eq!(records(&desk).len(), 1);
        assert_eq!(serving.end(signal), Some(0));
        // The stream was ended, not cut off: its last chunk is the empty one.
        let lines: Vec<_> = events.by_ref().map(Result::unwrap).collect();
        assert!(lines.ends_with(&["0".to_owned(), String::new()]), "{lines:?}");
        assert!(records(&desk).is_empty());
    }
}

#[test]
fn a_project_is_served_once_unless_another_port_is_named() {
    let desk = TestEnv::new();
    let first = Serving::start(&desk, &[]);
    let port = first.port().to_string();
    for args in [&[][..], &["--port", &port]] {
        let second = Serving::start(&desk, args);
        assert_eq!(second.address, first.address);
        assert_eq!(second.address["pid"].as_u64(), Some(first.child.id().into()));
    }
    let said = desk.ok(&["serve"]);
    let page = first.address["page"].as_str().unwrap();
    assert!(said.contains(page) && said.contains("serves this project already"), "{said}");
    // One that another project is served at is not free.
    let elsewhere = TestEnv::new();
    let said = elsewhere.run(&["serve", "--port", &port]);
    assert!(said.code != 0 && said.stderr.contains("can't listen"), "{}", said.stderr);
    // The files that a killed process leaves have no meaning.
    assert_eq!(first.end(Signal::KILL), None);
    let again = Serving::start(&desk, &["--port", &port]);
    assert_eq!(again.port().to_string(), port);
    assert!(again.answer("POST /v1/operations/stack_tree").starts_with("HTTP/1.1 200"));
}

#[test]
fn all_projects_on_record_are_served_each_at_its_own_paths() {
    let desk = TestEnv::new();
    desk.ok(&["push", "in the first", "-c", "done"]);
    let gone = desk.sealed.root().join("gone");
    let second = desk.sealed.root().join("second");
    for (folder, title) in [(&second, "in the second"), (&gone, "in none")] {
        fs::create_dir(folder).unwrap();
        let said = desk.run_in(folder, &["push", title, "-c", "done", "--here"]);
        assert_eq!(said.code, 0, "{}", said.stderr);
    }
    fs::remove_dir_all(gone.join(".callstack")).unwrap();
    let serving = Serving::start(&desk, &["--all"]);
    let listed = serving.json("GET /v1/projects");
    let listed = listed.as_array().unwrap();
    assert_eq!(listed.len(), 2, "{listed:?}");
    for project in listed {
        let first = project["folder"] == desk.project().to_str().unwrap();
        assert!(project["changed_at"].as_i64().unwrap() > 0);
        let tree =
            serving.json(&format!("GET /projects/{}/frame/tree", project["id"].as_str().unwrap()));
        assert_eq!(tree[0]["title"], if first { "in the first" } else { "in the second" });
    }
    assert!(!gone.join(".callstack").exists());
    // It stands beside a server of one project, and is found again from anywhere.
    let own = Serving::start(&desk, &[]);
    assert_ne!(own.port(), serving.port());
    let said = desk.run_in(&second, &["serve", "--all"]);
    assert!(said.stdout.contains("serves all projects already"), "{}", said.stdout);
    assert!(said.stdout.contains(serving.address["page"].as_str().unwrap()), "{}", said.stdout);
    // A store that is no longer trusted is no longer a project.
    desk.ok(&["trust", "--revoke"]);
    assert_eq!(serving.json("GET /v1/projects").as_array().unwrap().len(), 1);
}

#[test]
fn a_browser_is_led_to_the_page_by_a_file_that_its_owner_reads() {
    let desk = TestEnv::new();
    let folder = desk.sealed.root().join("programs");
    fs::create_dir(&folder).unwrap();
    let opener = folder.join("xdg-open");
    let seen = desk.sealed.root().join("seen");
    let pipe = std::process::Command::new("mkfifo").arg(&seen).status().unwrap();
    assert!(pipe.success());
    fs::write(&opener, format!("#!/bin/sh\nexec /bin/cat \"$1\" > {}\n", seen.display())).unwrap();
    fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = desk.command(&desk.project(), &["serve", "--open", "--json"]);
    command.env("PATH", &folder).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let stdout = child.stdout.take().unwrap();
    let mut values = Deserializer::from_reader(stdout).into_iter::<Value>();
    let serving = Serving { address: values.next().unwrap().unwrap(), child };
    let shown = fs::read_to_string(&seen).unwrap();
    assert!(shown.contains(serving.address["page"].as_str().unwrap()), "{shown}");
    for file in records(&desk) {
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600, "{file:?}");
    }
    assert_eq!(serving.end(Signal::TERM), Some(0));
    assert!(records(&desk).is_empty());
}

#[test]
fn where_there_is_no_store_there_is_nothing_to_serve() {
    let desk = TestEnv::without_store();
    let said = desk.run(&["serve"]);
    assert_eq!(said.code, 3, "{}", said.stderr);
    assert!(said.stderr.contains("no callstack store"), "{}", said.stderr);
}
