//! Installing the plugin in a project and removing it.

use serde_json::Value;

use super::terminal::on_a_terminal_with;
use super::test_env::{BINARY, TestEnv, says};

const PLUGIN: &str = ".opencode/plugin/callstack.ts";

#[test]
fn twice_changes_nothing_and_remove_leaves_the_folder_as_it_was() {
    let desk = TestEnv::without_store();
    desk.sealed.write("src/main.rs", "fn main() {}\n").unwrap();
    let before = desk.files();
    says!(desk, ["init", "opencode"], @r"
    exit 0
    plugin installed: $ROOT/project/.opencode/plugin/callstack.ts
    commands installed: /push /pop /plan /frame-status
    interface installed: $ROOT/project/.opencode/tui/callstack.tsx
    store made: $ROOT/project/.callstack/callstack.db
    Restart OpenCode in this project. `callstack tree` shows what its agent does.
    ");
    let plugin = desk.sealed.read(PLUGIN).unwrap();
    says!(desk, ["init", "opencode"], @r"
    exit 0
    plugin is there: $ROOT/project/.opencode/plugin/callstack.ts
    commands are there: /push /pop /plan /frame-status
    interface is there: $ROOT/project/.opencode/tui/callstack.tsx
    store is there: $ROOT/project/.callstack/callstack.db
    Restart OpenCode in this project. `callstack tree` shows what its agent does.
    ");
    assert_eq!(desk.sealed.read(PLUGIN).unwrap(), plugin);
    says!(desk, ["init", "opencode", "--remove"], @r"
    exit 0
    plugin removed: $ROOT/project/.opencode/plugin/callstack.ts
    commands removed: /push /pop /plan /frame-status
    interface removed: $ROOT/project/.opencode/tui/callstack.tsx
    store removed: $ROOT/project/.callstack
    ");
    assert_eq!(desk.files(), before);
    assert!(!desk.project().join(".callstack").exists());
    says!(desk, ["init", "opencode", "--remove"], @r"
    exit 0
    plugin absent: $ROOT/project/.opencode/plugin/callstack.ts
    commands absent: /push /pop /plan /frame-status
    interface absent: $ROOT/project/.opencode/tui/callstack.tsx
    ");
}

#[test]
fn the_plugin_starts_this_binary_and_knows_the_default_tools() {
    let desk = TestEnv::without_store();
    desk.ok(&["init", "opencode"]);
    let plugin = desk.sealed.read(PLUGIN).unwrap();
    let marked = |marker: &str| -> Value {
        let line = plugin.lines().find_map(|line| line.strip_suffix(marker)).unwrap();
        serde_json::from_str(line.split_once(" = ").unwrap().1).unwrap()
    };
    let binary = std::path::Path::new(BINARY).canonicalize().unwrap();
    let recorded = desk.sealed.home().join(".local/state/callstack/binary");
    assert_eq!(std::fs::read_to_string(recorded).unwrap().trim_end(), binary.to_str().unwrap());
    // It may be committed, and others have callstack elsewhere.
    for path in [binary.parent().unwrap(), desk.sealed.root()] {
        assert!(!plugin.contains(path.to_str().unwrap()), "{}", path.display());
    }
    let tools = marked(" // callstack:tools");
    let names: Vec<_> =
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let default = [
        "stack_frame_push",
        "stack_frame_pop",
        "stack_frame_plan",
        "stack_frame_activate",
        "stack_add_decision",
        "stack",
    ];
    assert_eq!(names, default);
    assert_eq!(tools[0]["parameters"]["type"], "object");
}

#[test]
fn what_the_user_has_in_opencodes_folder_stays() {
    let desk = TestEnv::without_store();
    desk.sealed.write(".opencode/plugin/mine.ts", "export {}\n").unwrap();
    desk.ok(&["init", "opencode"]);
    desk.sealed.write(".opencode/agent.md", "be kind\n").unwrap();
    desk.ok(&["init", "opencode", "--remove"]);
    let left =
        [".opencode/", ".opencode/agent.md", ".opencode/plugin/", ".opencode/plugin/mine.ts"];
    assert_eq!(desk.files(), left);
}

#[test]
fn folders_that_were_there_stay_even_when_they_are_empty() {
    let desk = TestEnv::without_store();
    std::fs::create_dir_all(desk.project().join(".opencode")).unwrap();
    desk.ok(&["init", "opencode"]);
    desk.ok(&["init", "opencode"]);
    desk.ok(&["init", "opencode", "--remove"]);
    assert_eq!(desk.files(), [".opencode/"]);
}

#[test]
fn a_plugin_of_that_name_which_is_not_ours_is_left_alone() {
    let desk = TestEnv::without_store();
    desk.sealed.write(PLUGIN, "export const Mine = 1\n").unwrap();
    says!(desk, ["init", "opencode"], @r#"
    exit 4
    --- stderr
    error: $ROOT/project/.opencode/plugin/callstack.ts is not callstack's, and is left as it is
    hint: Give it another name, and try again.
    "#);
    says!(desk, ["init", "opencode", "--remove"], @r#"
    exit 4
    --- stderr
    error: $ROOT/project/.opencode/plugin/callstack.ts is not callstack's, and is left as it is
    hint: Give it another name, and try again.
    "#);
    assert_eq!(desk.sealed.read(PLUGIN).unwrap(), "export const Mine = 1\n");
}

#[test]
fn an_older_plugin_is_brought_up_to_date() {
    let desk = TestEnv::without_store();
    desk.ok(&["init", "opencode"]);
    let current = desk.sealed.read(PLUGIN).unwrap();
    desk.sealed
        .write(PLUGIN, &current.replace("const HOOK_MS = 250", "const HOOK_MS = 9"))
        .unwrap();
    assert_eq!(desk.json(&["doctor"])["plugin"]["current"], false);
    assert_eq!(desk.json(&["init", "opencode"])["plugin"]["change"], "updated");
    assert_eq!(desk.sealed.read(PLUGIN).unwrap(), current);
    assert_eq!(desk.json(&["doctor"])["plugin"]["current"], true);
}

#[test]
fn another_folder_can_be_named() {
    let desk = TestEnv::without_store();
    let said = desk.run_in(desk.sealed.root(), &["init", "opencode", "project", "--json"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let data: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(data["project"], desk.project().to_str().unwrap());
    assert_eq!(data["store"]["change"], "made");
    assert!(desk.project().join(PLUGIN).is_file());
    says!(desk, ["init", "opencode", "nowhere"], @r#"
    exit 2
    --- stderr
    error: $ROOT/project/nowhere is no folder that can be used: No such file or directory (os error 2)
    hint: Name a folder that is there.
    "#);
    says!(desk, ["init", "vim"], @r"
    exit 2
    --- stderr
    error: invalid value 'vim' for '<opencode|mcp>'
      [possible values: opencode, mcp]

    For more information, try '--help'.
    ");
}

#[test]
fn a_store_that_cannot_be_used_leaves_the_project_as_it_was() {
    let desk = TestEnv::without_store();
    desk.sealed.write(".callstack/callstack.db", &"no database ".repeat(600)).unwrap();
    desk.ok(&["trust", "--yes"]);
    let said = desk.run(&["init", "opencode"]);
    assert_eq!(said.code, 6, "{}", said.stderr);
    assert_eq!(desk.files(), [""; 0]);
}

#[test]
fn a_slash_command_that_somebody_changed_is_theirs() {
    let desk = TestEnv::without_store();
    let of = |name: &str| format!(".opencode/command/{name}.md");
    desk.sealed.write(&of("plan"), "My own plan: $ARGUMENTS\n").unwrap();
    desk.ok(&["init", "opencode"]);
    let push = desk.sealed.read(&of("push")).unwrap();
    desk.sealed.write(&of("push"), &format!("{push}Run the tests first.\n")).unwrap();
    desk.sealed.write(&of("pop"), "").unwrap();
    says!(desk, ["init", "opencode"], @r"
    exit 0
    plugin is there: $ROOT/project/.opencode/plugin/callstack.ts
    command is not as callstack wrote it, and kept: $ROOT/project/.opencode/command/push.md
    command is not as callstack wrote it, and kept: $ROOT/project/.opencode/command/pop.md
    command is not as callstack wrote it, and kept: $ROOT/project/.opencode/command/plan.md
    command is there: $ROOT/project/.opencode/command/frame-status.md
    interface is there: $ROOT/project/.opencode/tui/callstack.tsx
    store is there: $ROOT/project/.callstack/callstack.db
    Restart OpenCode in this project. `callstack tree` shows what its agent does.
    ");
    assert!(desk.sealed.read(&of("push")).unwrap().ends_with("Run the tests first.\n"));
    assert_eq!(desk.sealed.read(&of("plan")).unwrap(), "My own plan: $ARGUMENTS\n");
    desk.ok(&["init", "opencode", "--remove"]);
    let left = [".opencode/", ".opencode/command/"].map(str::to_owned);
    let files = ["plan", "pop", "push"].map(of);
    assert_eq!(desk.files(), [&left[..], &files[..]].concat());
}

#[test]
fn nothing_is_written_or_removed_through_a_link_out_of_the_project() {
    for linked in [".opencode", ".opencode/plugin", ".opencode/command", ".opencode/tui"] {
        let desk = TestEnv::without_store();
        let outside = desk.sealed.root().join("outside");
        std::fs::create_dir_all(&outside).unwrap();
        std::fs::write(outside.join("callstack.ts"), "const TOOLS = 1 // callstack:tools\n")
            .unwrap();
        let link = desk.project().join(linked);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&outside, &link).unwrap();
        let expected = format!(
            "exit 4\n--- stderr\nerror: $ROOT/project/{linked} is a link that leads out of the project, to \
             $ROOT/outside\nhint: Nothing was changed. Put what belongs to the project in its place, and try again.\n"
        );
        for args in [&["init", "opencode"][..], &["init", "opencode", "--remove"]] {
            assert_eq!(desk.whole_output(&desk.run(args)), expected, "{args:?}");
        }
        std::fs::remove_file(outside.join("callstack.ts")).unwrap();
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0, "{linked}");
        std::fs::remove_dir(&outside).unwrap();
        assert_eq!(desk.run(&["init", "opencode"]).code, 4, "a link that leads nowhere");
        assert!(!outside.exists() && !desk.project().join(".callstack").exists());
    }
    // Within the project it is the project's own affair.
    let desk = TestEnv::without_store();
    std::fs::create_dir(desk.project().join("tools")).unwrap();
    std::os::unix::fs::symlink("tools", desk.project().join(".opencode")).unwrap();
    desk.ok(&["init", "opencode"]);
    assert!(desk.project().join("tools/plugin/callstack.ts").is_file());
    desk.ok(&["init", "opencode", "--remove"]);
    assert_eq!(desk.files(), [".opencode", "tools/"]);
}

#[test]
fn a_store_in_which_something_was_done_goes_only_if_that_is_said() {
    let desk = TestEnv::without_store();
    desk.ok(&["init", "opencode"]);
    desk.ok(&["push", "Build", "-c", "x"]);
    let written = desk.project().join(".opencode/stack/state.json");
    assert!(written.is_file());
    says!(desk, ["init", "opencode", "--remove"], @r"
    exit 0
    plugin removed: $ROOT/project/.opencode/plugin/callstack.ts
    commands removed: /push /pop /plan /frame-status
    interface removed: $ROOT/project/.opencode/tui/callstack.tsx
    files removed: $ROOT/project/.opencode/stack
    store kept: $ROOT/project/.callstack
    It holds all frames and logs. Delete it with `--remove --with-store`.
    ");
    assert_eq!(desk.files(), [""; 0]);
    desk.is_whole(&["f1"]);
    says!(desk, ["init", "opencode", "--remove", "--with-store"], @r"
    exit 2
    --- stderr
    error: this would delete $ROOT/project/.callstack with all frames, messages and logs, and nobody can be asked here
    hint: Give --yes to do it.
    ");
    desk.is_whole(&["f1"]);
    desk.ok(&["init", "opencode"]);
    let before = desk.files();
    let all = "init opencode --remove --with-store";
    if let Some(shown) = on_a_terminal_with(&desk, all, &[("NO_COLOR", "1")], "n\n") {
        assert!(shown.contains("nothing was removed"), "{shown}");
        assert_eq!(desk.files(), before);
    }
    desk.ok(&["init", "opencode", "--remove", "--with-store", "--yes"]);
    assert!(!desk.project().join(".callstack").exists());
    let stores = desk.sealed.home().join(".local/state/callstack/stores");
    assert_eq!(std::fs::read_dir(stores).unwrap().count(), 0);
}

#[test]
fn files_of_another_store_and_presets_stay() {
    let desk = TestEnv::without_store();
    let preset = ".opencode/stack/presets/mine.toml";
    desk.sealed.write(preset, "").unwrap();
    desk.ok(&["init", "opencode"]);
    desk.ok(&["push", "Build", "-c", "x"]);
    desk.ok(&["init", "opencode", "--remove"]);
    let files: Vec<_> = desk.files().into_iter().filter(|it| !it.ends_with('/')).collect();
    assert_eq!(files, [".opencode/stack/.gitignore", preset]);

    let desk = TestEnv::without_store();
    let state = r#"{"version":1,"frames":{},"rootFrameIDs":[],"updatedAt":1,"store":"another"}"#;
    desk.ok(&["init", "opencode"]);
    desk.sealed.write(".opencode/stack/state.json", state).unwrap();
    let said = desk.ok(&["init", "opencode", "--remove"]);
    assert!(said.contains("files of another store, and kept: "), "{said}");
    assert_eq!(desk.sealed.read(".opencode/stack/state.json").unwrap(), state);
}

#[test]
fn it_says_what_to_commit_in_a_work_tree_of_git() {
    let desk = TestEnv::without_store();
    desk.sealed.git_init().unwrap();
    let said = desk.ok(&["init", "opencode"]);
    assert!(said.contains("\nCommit what is new in .opencode if "), "{said}");
    desk.ok(&["push", "Build", "-c", "x"]);
    let mut status = desk.sealed.command("git");
    status.args(["status", "--porcelain", "-uall"]);
    let seen = desk.finish(status).stdout;
    let files: Vec<_> = seen.lines().map(|line| line.trim_start_matches("?? ")).collect();
    let commands = ["frame-status", "plan", "pop", "push"];
    let commands = commands.map(|name| format!(".opencode/command/{name}.md"));
    assert_eq!(files[..4], commands);
    assert_eq!(
        files[4..],
        [
            ".opencode/plugin/callstack.ts",
            ".opencode/tui.json",
            ".opencode/tui/callstack.tsx",
            ".opencode/tui/callstack/back-end.ts",
            ".opencode/tui/callstack/text.ts",
        ]
    );
}

#[test]
fn a_list_of_plugins_that_is_there_gets_an_entry_and_loses_no_more_than_that() {
    for name in [".opencode/tui.json", ".opencode/tui.jsonc"] {
        let desk = TestEnv::without_store();
        let text = "{\n  // mine\n  \"theme\": \"system\",\n  \"plugin\": [\"./mine.tsx\"],\n}\n";
        desk.sealed.write(name, text).unwrap();
        desk.ok(&["init", "opencode"]);
        let listed = text.replace("mine.tsx\"", "mine.tsx\", \"./tui/callstack.tsx\"");
        assert_eq!(desk.sealed.read(name).unwrap(), listed);
        assert_eq!(desk.json(&["doctor"])["plugin"]["interfaceCurrent"], true);
        let data = desk.json(&["init", "opencode"]);
        let changes: Vec<_> =
            data["interface"].as_array().unwrap().iter().map(|it| &it["change"]).collect();
        assert_eq!(changes, ["unchanged", "unchanged"]);
        desk.ok(&["init", "opencode", "--remove"]);
        assert_eq!(desk.sealed.read(name).unwrap(), text);
        assert_eq!(desk.files(), [".opencode/", name]);
    }
}

#[test]
fn a_list_of_plugins_that_cannot_be_read_is_left_alone_and_the_rest_is_installed() {
    let desk = TestEnv::without_store();
    desk.sealed.write(".opencode/tui.json", "{ \"plugin\": ").unwrap();
    let printed = desk.ok(&["init", "opencode"]);
    assert!(printed.contains("plugin installed: "), "{printed}");
    assert!(printed.contains("interface not installed, since this can't be read: "), "{printed}");
    assert_eq!(desk.sealed.read(".opencode/tui.json").unwrap(), "{ \"plugin\": ");
    assert!(!desk.project().join(".opencode/tui").exists());
    desk.ok(&["init", "opencode", "--remove"]);
    assert_eq!(desk.files(), [".opencode/", ".opencode/tui.json"]);
}

#[test]
fn an_older_interface_is_brought_up_to_date_and_one_of_somebody_elses_is_kept() {
    let desk = TestEnv::without_store();
    desk.ok(&["init", "opencode"]);
    let before = desk.files();
    let part = ".opencode/tui/callstack/text.ts";
    let current = desk.sealed.read(part).unwrap();
    desk.sealed.write(part, "export {}\n").unwrap();
    assert_eq!(desk.json(&["doctor"])["plugin"]["interfaceCurrent"], false);
    assert_eq!(desk.json(&["init", "opencode"])["interface"][0]["change"], "updated");
    assert_eq!(desk.sealed.read(part).unwrap(), current);
    assert_eq!(desk.files(), before);
    desk.ok(&["init", "opencode", "--remove"]);

    desk.sealed.write(".opencode/tui/callstack.tsx", "export default {}\n").unwrap();
    let printed = desk.ok(&["init", "opencode"]);
    assert!(printed.contains("interface is not as callstack wrote it, and kept: "), "{printed}");
    assert!(!desk.project().join(".opencode/tui.json").exists());
    desk.ok(&["init", "opencode", "--remove"]);
    assert_eq!(desk.sealed.read(".opencode/tui/callstack.tsx").unwrap(), "export default {}\n");
}

#[cfg(unix)]
#[test]
fn what_is_kept_outside_of_the_project_is_private_whatever_the_umask_is() {
    use std::os::unix::fs::PermissionsExt as _;
    let desk = TestEnv::without_store();
    let script = format!(
        "umask 000; '{BINARY}' init opencode && '{BINARY}' push Work && '{BINARY}' config --user STACK_TOOLS full"
    );
    let said = desk
        .sealed
        .command("sh")
        .args(["-c", &script])
        .current_dir(desk.project())
        .output()
        .unwrap();
    assert!(said.status.success(), "{said:?}");
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    for folder in
        [".local", ".local/state", ".local/state/callstack", ".config", ".config/callstack"]
    {
        assert_eq!(mode(&desk.sealed.home().join(folder)), 0o700, "{folder}");
    }
    assert_eq!(mode(&desk.project().join(".callstack")), 0o700);
}

#[test]
fn what_is_installed_goes_also_beside_a_store_that_is_not_trusted() {
    let desk = TestEnv::without_store();
    desk.ok(&["init", "opencode"]);
    std::fs::remove_dir_all(desk.sealed.home().join(".local/state/callstack/stores")).unwrap();
    let said = desk.ok(&["init", "opencode", "--remove", "--with-store", "--yes"]);
    assert!(said.contains("plugin removed") && said.contains("store kept"), "{said}");
    assert!(desk.project().join(".callstack").is_dir());
    assert!(!desk.project().join(PLUGIN).exists());
}
