//! A person at the page steers a session of an agent: in Chromium, through the server, up to the next request.

use std::env;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use callstack_scripted_model::{Checks, Step, content_text};
use callstack_testkit::Sealed;
use serde_json::{Deserializer, Value};

use super::steps::{bash, pop, push};
use super::talk::Talk;
use super::tree::tree;

/// `callstack serve`, until the test is over.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Serving {
    /// Starts a server of the project; the address of its page.
    fn start(sealed: &Sealed) -> (Self, String) {
        let mut command = sealed.command(Path::new(env!("CARGO_BIN_EXE_callstack")));
        let command = command.args(["serve", "--json"]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let serving = Self(child);
        let address =
            Deserializer::from_reader(stdout).into_iter::<Value>().next().unwrap().unwrap();
        (serving, address["page"].as_str().unwrap().to_owned())
    }
}

/// Returns a browser of this computer, and the folder with its driver; none, with a printed reason.
fn browser() -> Option<(PathBuf, PathBuf)> {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
    if !web.join("node_modules/@playwright/test").exists() {
        eprintln!("skipped: `npm ci` in web/ installs what drives the browser");
        return None;
    }
    let named = env::var_os("CALLSTACK_CHROMIUM").map(PathBuf::from);
    let path = env::var_os("PATH").unwrap_or_default();
    let found = ["chromium", "chromium-browser", "google-chrome"]
        .iter()
        .flat_map(|name| env::split_paths(&path).map(move |folder| folder.join(name)))
        .find(|place| place.exists());
    let Some(chromium) = named.or(found) else {
        eprintln!("skipped: there is no Chromium on the PATH, and CALLSTACK_CHROMIUM names none");
        return None;
    };
    Some((chromium, web))
}

#[test]
fn what_a_person_does_at_the_page_is_in_the_agents_next_request() {
    let Some((chromium, web)) = browser() else { return };
    let Some(talk) = Talk::new(&[]) else { return };
    let lines = "for line in $(seq 400); do echo line $line of what is shown of one; done";
    // A frame that the page pops leaves the next request, in which no call of the agent shows the pop.
    let checks = Checks { prefix: false, reasoning: true };
    let steps = [
        push("First part", "counted"),
        bash(lines),
        pop("It has 400 lines."),
        push("Second part", "counted"),
        Step::text("I have a question."),
        Step::text("I see."),
    ];
    let session = talk.session_with(checks, steps);
    session.say("Count the lines.");
    let (_serving, address) = Serving::start(&talk.project.sealed);
    let output =
        Command::new("node").arg(web.join("test/agent.mjs")).arg(chromium).arg(address).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    session.say("Go on.");
    let after = tree(&talk.project.sealed, &session.id);
    assert!(after.contains("  Second part completed\n"), "{after}");
    let requests = session.finished();
    let last = requests.last().unwrap().messages().last().unwrap();
    let message = content_text(&last["content"]);
    for line in
        ["- pinned p1 in f1", "Never touch migrations/", "f3", "A person counted 200 lines."]
    {
        let text = if line.starts_with("A person") {
            requests.last().unwrap().render()
        } else {
            message.clone()
        };
        assert!(text.contains(line), "{line}\nis not in\n{text}");
    }
}
