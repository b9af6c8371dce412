//! The files of the page are up to date with its sources, and data in the page as one file can't become anything
//! else.

#![expect(clippy::unwrap_used, reason = "helpers of tests are no tests to the lint")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use callstack_page::{FILES, offline};
use sha2::{Digest as _, Sha256};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The files below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

/// The hash of the sources, as `web/build.mjs` writes it beside the built files.
fn hash(web: &Path) -> String {
    let mut sources = Vec::new();
    files(&web.join("src"), &mut sources);
    sources.extend(["build.mjs", "package.json", "package-lock.json"].map(|name| web.join(name)));
    let mut named: Vec<_> = sources
        .iter()
        .map(|path| (path.strip_prefix(web).unwrap().to_str().unwrap().replace('\\', "/"), path))
        .collect();
    named.sort();
    let mut hash = Sha256::new();
    for (name, path) in named {
        hash.update(name.as_bytes());
        hash.update([0]);
        hash.update(fs::read(path).unwrap());
        hash.update([0]);
    }
    hash.finalize().iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

#[test]
fn the_built_files_are_those_of_the_sources() {
    let built = fs::read_to_string(root().join("crates/page/assets/sources.sha256")).unwrap();
    let message = "the page's sources were changed: run `npm run build` in web/";
    assert_eq!(hash(&root().join("web")), built.trim(), "{message}");
}

#[test]
fn the_server_is_given_the_page_with_its_script_and_style() {
    let html = std::str::from_utf8(FILES[0].bytes).unwrap();
    for file in &FILES[1..] {
        assert!(html.contains(&format!("=\"{}\"", file.path)), "{html}");
        assert!(file.bytes.len() > 1000, "{}", file.path);
    }
}

/// The text between two others.
fn between<'p>(page: &'p str, before: &str, after: &str) -> &'p str {
    page.split_once(before).unwrap().1.split_once(after).unwrap().0
}

#[test]
fn data_in_the_page_stay_data() {
    let hostile = "</script><script>alert(1)</script><!-- & \u{2028}\u{2029} \" \\ ]]> <img>";
    let data = serde_json::json!({"title": hostile, "<key>": ["&amp;", {"deep": hostile}]});
    let page = offline(&data.to_string());
    let held = between(&page, "id=\"data\">", "</script>");
    for wrong in ['<', '>', '&', '\u{2028}', '\u{2029}'] {
        assert!(!held.contains(wrong), "{wrong:?} in {held}");
    }
    assert_eq!(serde_json::from_str::<serde_json::Value>(held).unwrap(), data);
    assert_eq!(page.matches("<script").count(), offline("{}").matches("<script").count());
}

#[test]
fn the_page_as_one_file_loads_nothing() {
    let page = offline("{}");
    let head = between(&page, "<head>", "<style>");
    assert!(head.contains("default-src 'none'"), "{head}");
    for wrong in [" src=", "<link", "href=", "unsafe-inline", "unsafe-eval"] {
        assert!(!head.contains(wrong), "{wrong} in {head}");
    }
}
