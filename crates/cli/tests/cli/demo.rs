//! The demo where there is no OpenCode that works.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::test_env::TestEnv;

#[test]
fn a_demo_that_fails_leaves_nothing() {
    let desk = TestEnv::without_store();
    let broken = desk
        .sealed
        .write("opencode.sh", "#!/bin/sh\necho 'no such provider' >&2\nexit 1\n")
        .unwrap();
    fs::set_permissions(&broken, fs::Permissions::from_mode(0o755)).unwrap();
    desk.sealed.put_on_path("opencode", &broken).unwrap();
    let said = desk.run(&["demo"]);
    assert_eq!(said.code, 6, "{}", said.stderr);
    assert!(said.stderr.contains("no such provider"), "{}", said.stderr);
    let left = fs::read_dir(desk.sealed.root()).unwrap();
    let mut left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(left.find(|name| name.starts_with("callstack-demo-")), None);
    assert_eq!(desk.json(&["trust", "--list"])["stores"], serde_json::json!([]));
}
