//! Packages: what they hold, and that they can be installed, used and removed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::test_env::{BINARY, TestEnv};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The files of a crate as a registry would get them.
fn listed(name: &str) -> BTreeSet<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["package", "--list", "--allow-dirty", "--offline", "--quiet", "-p", name]);
    let said = command.current_dir(root()).output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8(said.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// The paths that a source file includes, from the folder of its crate.
fn included(folder: &Path, file: &str) -> Vec<String> {
    let text = fs::read_to_string(folder.join(file)).unwrap();
    let named = text.split("include_str!(\"").skip(1).filter_map(|rest| rest.split_once('"'));
    let beside = Path::new(file).parent().unwrap();
    let mut paths = Vec::new();
    for (named, _) in named {
        let mut path: Vec<_> = beside.iter().collect();
        for part in Path::new(named) {
            if part == ".." {
                assert!(path.pop().is_some(), "{file} includes {named}, outside of its crate");
            } else {
                path.push(part);
            }
        }
        paths.push(path.iter().collect::<PathBuf>().to_str().unwrap().to_owned());
    }
    paths
}

#[test]
fn each_crate_holds_all_that_it_is_built_from() {
    let mut includes = 0;
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        if manifest.contains("\npublish = false\n") {
            continue;
        }
        assert!(manifest.contains("\ndescription = \""), "{}", folder.display());
        let name = folder.file_name().unwrap().to_str().unwrap();
        let files = listed(&format!("callstack-{name}"));
        for file in
            files.iter().filter(|file| Path::new(file).extension().is_some_and(|it| it == "rs"))
        {
            for path in included(&folder, file) {
                includes += 1;
                assert!(
                    files.contains(&path),
                    "{name}: {file} includes {path}, which is not there"
                );
            }
        }
        assert!(files.iter().all(|file| !file.starts_with("tests/")), "{name}: {files:?}");
    }
    assert!(includes > 8, "{includes}");
    assert!(listed("callstack-cli").contains("opencode/callstack.ts"));
}

#[test]
fn npm_and_debian_packages_are_installed_used_and_removed() {
    let desk = TestEnv::new();
    // A debug build is too large to be packed at each test.
    let binary = desk.sealed.root().join("callstack");
    fs::write(&binary, format!("#!/bin/sh\nexec '{BINARY}' \"$@\"\n")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&binary, mode).unwrap();
    let has_dpkg = Command::new("dpkg-deb").arg("--version").output().is_ok();
    let kinds = if has_dpkg {
        &["npm", "deb"][..]
    } else {
        eprintln!("without dpkg-deb no Debian package is built");
        &["npm"]
    };
    for script in ["scripts/package.sh", "scripts/test-package.sh"] {
        let mut command = desk.sealed.command(root().join(script));
        command.args(kinds);
        command.env("PATH", std::env::var_os("PATH").unwrap());
        command.env("CALLSTACK_BINARY", &binary);
        command.env("CALLSTACK_PACKAGES", desk.sealed.root().join("packages"));
        let said = desk.sealed.run("package", command, Duration::from_mins(2)).unwrap();
        assert!(said.success(), "{said}");
        for kind in kinds {
            let line = format!("{kind}: installed, used and removed");
            assert!(script.ends_with("/package.sh") || said.stdout.contains(&line), "{said}");
        }
    }
}
