//! Evidence that readers of trials took for noise, or that misled them.

use super::tests::{all, edited, ran, read, rendered, said, wrote};
use super::*;

#[test]
fn words_explain_the_one_change_that_they_stand_before() {
    let room = Room { reasons: true, ..all(400) };
    let rendered = |span: &[Activity]| take(span, "", "", room, &|_| None).lines().join("\n");
    let edit = |path: &str| edited(path, "the old way", "the new way of it");
    let one = [said("The old way is slow."), edit("a.txt")];
    assert!(rendered(&one).ends_with("; why: The old way is slow."), "{}", rendered(&one));
    let twice = [said("The old way is slow."), edit("a.txt"), edit("a.txt")];
    assert!(rendered(&twice).contains("why: The old way is slow."));
    let several = [said("All of them are slow."), edit("a.txt"), edit("b.txt"), edit("c.txt")];
    assert!(!rendered(&several).contains("why:"), "{}", rendered(&several));
    let long_ago = [said("Let me look first."), read("/b.rs", "1\tfn b() {}\n"), edit("a.txt")];
    assert!(!rendered(&long_ago).contains("why:"), "{}", rendered(&long_ago));
}

#[test]
fn a_script_that_was_run_needs_no_other_check() {
    let script = edited("/home/me/app/scratch/try.py", "", "print(1)\n");
    let unchecked = "no known test, build or lint command was run";
    for line in [
        "python scratch/try.py",
        "PYTHONPATH=. /venv/bin/python -W ignore -u scratch/try.py | head",
    ] {
        assert!(
            !rendered(&[script.clone(), ran(line, "1", 0)], "", 400).contains(unchecked),
            "{line}"
        );
    }
    let failing = ran("python scratch/try.py", "boom", 1);
    assert!(rendered(&[script.clone(), failing], "", 400).contains(unchecked));
    let kept = ran("git add scratch/try.py && git commit -qm Try", "", 0);
    assert!(rendered(&[script.clone(), kept], "", 400).contains(unchecked));
    let other = edited("/home/me/app/a.py", "a = 1", "a = 2");
    let run = ran("python scratch/try.py", "1", 0);
    assert!(rendered(&[script, other, run], "", 400).contains(unchecked));
}

#[test]
fn commands_that_write_files_are_named() {
    let script = "python - <<'EOF'\nPath('a.py').write_text(new)\nEOF";
    let span = [ran(script, "", 0), ran("sed -i s/a/b/ b.py", "sed: no such file", 1)];
    assert_eq!(
        take(&span, "", "", all(400), &|_| None).lines().first().map(String::as_str),
        Some(
            "commands that may have changed files: `python - <<'EOF' Path('a.py').write_text(new) EOF`"
        )
    );
}

#[test]
fn of_a_new_file_with_many_definitions_the_first_are_named() {
    let checks: Vec<_> = (1..=30).map(|n| format!("def check_{n}():\n    pass\n")).collect();
    let after = checks.concat();
    let path = "/home/me/app/checks.py".to_owned();
    let new = wrote(Edit { path, after, original: Some(String::new()), ..Edit::default() });
    let rendered = rendered(&[new], "", 400);
    assert!(
        rendered.contains("check_12 and 18 more") && !rendered.contains("check_13"),
        "{rendered}"
    );
}
