use super::*;

fn terms(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    scan(text, "/home/me/app", |kind, term| found.push(format!("{kind:?} {term}")));
    found
}

#[test]
fn paths_are_relative_to_the_project_however_they_are_written() {
    assert_eq!(
        terms("see /home/me/app/src/a.rs:12:3, ./src/b.rs and `src/c.test.ts`. Not a/b nor x.rs"),
        ["Path src/a.rs", "Path src/b.rs", "Path src/c.test.ts"]
    );
    assert_eq!(terms(r#"open "D:\src\it\main.go""#), ["Path D:/src/it/main.go"]);
    assert_eq!(terms("/etc/app/conf.d/x.toml"), ["Path /etc/app/conf.d/x.toml"]);
}

#[test]
fn names_are_distinguished_from_words() {
    assert_eq!(
        terms("The parseDate of user_name::from_str, SHA256 and Result or a_ b"),
        [
            "Identifier parseDate",
            "Identifier user_name",
            "Identifier from_str",
            "Identifier SHA256"
        ]
    );
}

#[test]
fn numbers_stand_by_themselves() {
    assert_eq!(
        terms("port 8080, 12.5% of #45; v1.2.3 2026-01-15 12:30 x7 7 007"),
        ["Number 8080", "Number 12.5", "Number 45"]
    );
    assert_eq!(terms("  12→let total = 40\n13\tx\n14:y\n15| z"), ["Number 40"]);
}

#[test]
fn addresses_are_whole() {
    assert_eq!(
        terms("(https://a.example/x/y.html?q=1&z=2#top). http://"),
        ["Url https://a.example/x/y.html?q=1&z=2#top"]
    );
}

#[test]
fn without_a_project_paths_are_as_they_are_written() {
    let mut found = Vec::new();
    scan(r"D:\src\it\main.go and /home/me/app/src/a.rs", "", |_, term| found.push(term));
    assert_eq!(found, [r"D:\src\it\main.go", "/home/me/app/src/a.rs"]);
}

#[test]
fn files_without_a_folder_are_named_by_their_ending() {
    assert_eq!(
        terms("date.rs, .gitignore, Makefile, config.Load and v1.2; date_util.test.ts:"),
        ["File date.rs", "File date_util.test.ts"]
    );
}

#[test]
fn what_is_quoted_is_taken_whole_unless_it_is_a_term_anyway() {
    assert_eq!(
        terms(
            "don't say \"no such day\" or `make test`; 'x' \"src/a.rs\" \"aName\" \" b \" it's \"42\""
        ),
        [
            "Path src/a.rs",
            "Identifier aName",
            "Number 42",
            "Quoted no such day",
            "Quoted make test"
        ]
    );
}
