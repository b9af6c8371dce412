use serde_json::json;

use super::*;
use crate::secrets::fakes::{MIXED, fakes, made, marks};

#[test]
fn values_of_json_are_masked_by_their_names_and_forms() {
    let (_, token) = &fakes()[4];
    let secret = ["swordfish", "9"].concat();
    let mut value = json!({
        "command": format!("curl -H 'X: {token}'"),
        "nested": [{"password": secret, "tokens": 12, "token": "string"}],
        "text": "plain",
    });
    assert!(mask_value(&mut value));
    assert_eq!(
        value,
        json!({
            "command": "curl -H 'X: ‹masked: GitHub token›'",
            "nested": [{"password": "‹masked: password›", "tokens": 12, "token": "string"}],
            "text": "plain",
        })
    );
    assert!(!mask_value(&mut value), "there is nothing left to mask");
}

#[test]
fn what_only_something_beside_it_tells_is_masked_in_values() {
    let secret = &*["Tr0ub4", "dorXk9"].concat();
    let long = &*format!("{secret}{secret}");
    let [begin, end] = marks();
    let rows = [made(64, MIXED), made(60, MIXED)];
    for (value, left) in [
        (json!({"env": [{"name": "DB_PASSWORD", "value": secret}]}), secret),
        (json!({"headers": [{"name": "X-Api-Key", "value": long}]}), secret),
        (json!({"headers": [["X-Api-Key", long]]}), secret),
        (json!(["psql", "--password", secret]), secret),
        (json!(["curl", "-u", format!("admin:{secret}"), "https://a.test"]), secret),
        (json!({"Name": "/db", "Type": "SecureString", "Value": secret}), secret),
        (json!({"password": {"value": secret}}), secret),
        (json!({format!("export API_KEY={long}"): 1}), secret),
        (json!({"lines": [begin, rows[0], rows[1], end], "after": "kept"}), &rows[0][20..]),
        (json!({"lines": [begin, rows[0], rows[1], end], "after": "kept"}), &rows[1][20..]),
        (json!([format!("{begin}\n"), format!("{}\n", rows[0]), end]), &rows[0][20..]),
    ] {
        let before = value;
        let mut value = before.clone();
        assert!(mask_value(&mut value), "{before}");
        assert!(!value.to_string().contains(left), "{value}");
        assert!(!mask_value(&mut value), "there is nothing left to mask: {value}");
        assert_eq!(mask_json(&before.to_string()), value.to_string());
    }
}

#[test]
fn words_about_secrets_in_several_lines_of_a_value_stay() {
    let log = "    Mask rows\n\n    What stood after `secret:`, was left as it is; now\n    it goes, and `row` with it.\n";
    for text in [log.to_owned(), log.repeat(3)] {
        let mut value = json!({"content": text, "lines": [{"output": text}]});
        assert!(!mask_value(&mut value), "{value}");
    }
}

#[test]
fn the_shape_of_a_value_stays() {
    let [begin, end] = marks();
    let row = made(64, MIXED);
    let secret = ["Tr0ub4", "dorXk9"].concat();
    let mut value = json!({
        "empty": [[], {}, "", null, -1.5, true],
        "lines": [format!("a \"b\" {begin}"), row, end],
        "args": ["psql", "--password", secret, "é\n"],
    });
    assert!(mask_value(&mut value));
    let label = "‹masked: private key›";
    assert_eq!(
        value,
        json!({
            "empty": [[], {}, "", null, -1.5, true],
            "lines": [format!("a \"b\" {label}"), label, label],
            "args": ["psql", "--password", "‹masked: password›", "é\n"],
        })
    );
}

#[test]
fn names_that_are_secrets_stay_apart() {
    let token = |with: &str| ["gh", "p_", &with.repeat(6)].concat();
    let mut value = json!({token("a1B2c3"): "alice", token("d4E5f6"): "bob", "carol": "dave"});
    assert!(mask_value(&mut value));
    let expected = json!({
        "‹masked: GitHub token›": "alice", "‹masked: GitHub token› 2": "bob", "carol": "dave",
    });
    assert_eq!(value, expected);
    assert!(!mask_value(&mut value), "there is nothing left to mask: {value}");
}

#[test]
fn a_private_key_of_several_lines_that_is_a_name_is_masked() {
    let [begin, end] = marks();
    let rows = [made(64, MIXED), made(60, MIXED)];
    let key = [&begin, &rows[0], &rows[1], &end].map(String::as_str).join("\n");
    for before in ["", "a", "password"] {
        let mut value = json!({before: "b", key.clone(): "c"});
        assert!(mask_value(&mut value));
        assert!(!value.to_string().contains(&rows[0][20..]), "{value}");
    }
}
