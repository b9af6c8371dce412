//! A client that a third-party generator makes from the description: it compiles, and can use the server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use callstack_server::Options;
use serde_json::{Value, json};

use crate::live::Live;

/// The generator, the compiler and the program that uses the client.
fn packages() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../integrations/http")
}

/// Runs a script of node in a folder; its output.
#[expect(clippy::unwrap_used, reason = "a helper of tests is no test to the lint")]
fn node(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("node").args(arguments).current_dir(folder).output().unwrap();
    let (said, wrong) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{arguments:?}: {said}{wrong}");
    said.into_owned()
}

#[tokio::test]
async fn a_generated_client_compiles_and_pushes_pops_and_follows() {
    let packages = packages();
    let modules = packages.join("node_modules");
    if !modules.is_dir() {
        eprintln!("skipped: `npm ci` in integrations/http installs the generator of clients");
        return;
    }
    let live = Live::start(Options::default()).await;
    let built = tempfile::tempdir().unwrap();
    let folder = built.path().to_path_buf();
    std::os::unix::fs::symlink(modules.canonicalize().unwrap(), folder.join("node_modules"))
        .unwrap();
    for name in ["client.ts", "tsconfig.json", "package.json"] {
        fs::copy(packages.join(name), folder.join(name)).unwrap();
    }
    let description = live.get("/openapi.json").await;
    fs::write(folder.join("openapi.json"), description.to_string()).unwrap();
    let url = format!("http://127.0.0.1:{}", live.port);
    let run = format!(
        "import {{ drive }} from './built/client.js'\n\
         console.log(JSON.stringify(await drive('{url}', '{}')))",
        live.token
    );
    fs::write(folder.join("run.js"), run).unwrap();
    let generated = tokio::task::spawn_blocking(move || {
        let generator = "node_modules/openapi-typescript/bin/cli.js";
        node(&folder, &[generator, "openapi.json", "--output", "api.ts"]);
        node(&folder, &["node_modules/typescript/bin/tsc", "--project", "."]);
        node(&folder, &["run.js"])
    });
    let mut answer: Value = serde_json::from_str(&generated.await.unwrap()).unwrap();
    let events = answer["events"].take();
    let events: Vec<_> = events.as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    assert_eq!(events.iter().filter(|kind| **kind == "frame_created").count(), 2, "{events:?}");
    assert_eq!(events.last(), Some(&"frame_ended"));
    let project = live.project.path().file_name().unwrap().to_str().unwrap();
    let expected = json!({
        "project": project,
        "pushed": "f1",
        "planned": "planned",
        "popped": "completed",
        "tree": [
            ["Write the parser", "completed", "All fixtures parse."],
        ],
        "missing": "not_found",
        "events": null,
    });
    assert_eq!(answer, expected);
    live.stop().await;
}
