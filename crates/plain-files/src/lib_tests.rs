use std::os::unix::fs::symlink;
use std::process::Command;

use super::*;

fn why(opened: io::Result<File>) -> String {
    opened.map_or_else(|error| error.to_string(), |_| "opened".to_owned())
}

#[test]
fn only_files_are_opened_and_links_only_where_a_person_names_them() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("file"), "content").unwrap();
    assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    let _listens = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    for (name, target) in [
        ("to file", at("file")),
        ("to pipe", at("pipe")),
        ("to device", "/dev/zero".into()),
        ("to nothing", at("nothing")),
    ] {
        symlink(target, at(name)).unwrap();
    }
    for (name, found) in [
        ("file", "opened"),
        ("pipe", "it is a named pipe, not a file"),
        ("socket", "it is a socket, not a file"),
        ("to file", "it is a link, not a file"),
        ("to pipe", "it is a link, not a file"),
        ("to nothing", "it is a link, not a file"),
    ] {
        assert_eq!(why(open(&at(name))), found, "{name}");
        let mut options = OpenOptions::new();
        let written = open_plain(options.write(true).create(true).truncate(true), &at(name));
        assert_eq!(why(written), found, "{name}");
    }
    assert!(!at("nothing").exists());
    fs::write(at("file"), "content").unwrap();
    assert_eq!(read_named(&at("to file")).unwrap(), b"content");
    assert_eq!(why(open_named(&at("to pipe"))), "it is a named pipe, not a file");
    assert_eq!(why(open_named(&at("to device"))), "it is a device, not a file");
    assert!(why(open_named(&at("to nothing"))).starts_with("No such file"));
    for (named, is_fine) in [("to file", true), ("to nothing", true), ("to pipe", false)] {
        assert_eq!(refuse_special(&at(named)).is_ok(), is_fine, "{named}");
    }
    assert_eq!(open(folder.path()).unwrap_err().kind(), io::ErrorKind::IsADirectory);
}
