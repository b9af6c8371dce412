//! The arguments of `/plan`: titles on lines of their own or with `|` between them, each with its criteria after a
//! colon, deeper ones after `>` or indented.

use callstack_core::framing::identity_of_goal;
use serde_json::{Value, json};

/// Columns of indentation for one `>`.
const MARK: usize = 2;

/// A frame to be planned.
#[derive(Debug, Default, PartialEq, Eq)]
struct Item {
    title: String,
    criteria: String,
    children: Vec<Item>,
}

/// The frames, as the operation that plans takes them.
pub(super) fn children(given: &str) -> Vec<Value> {
    values(&items(given))
}

fn values(items: &[Item]) -> Vec<Value> {
    let value = |item: &Item| {
        json!({"title": item.title, "successCriteria": item.criteria,
            "children": values(&item.children)})
    };
    items.iter().map(value).collect()
}

fn items(given: &str) -> Vec<Item> {
    let mut roots = Vec::new();
    // The columns of the items around the present one, each deeper than the one before.
    let mut columns: Vec<usize> = Vec::new();
    for line in given.lines() {
        let indent = line.len() - line.trim_start().len();
        for part in line.split('|') {
            let (column, words) = placed(indent, part);
            let Some(item) = item(words) else { continue };
            while columns.last().is_some_and(|around| *around >= column) {
                columns.pop();
            }
            level(&mut roots, columns.len()).push(item);
            columns.push(column);
        }
    }
    roots
}

/// The children of the last item so many levels down.
fn level(items: &mut Vec<Item>, depth: usize) -> &mut Vec<Item> {
    match depth {
        0 => items,
        // There is one: the level was reached through it.
        _ if items.is_empty() => items,
        _ => {
            let last = items.len() - 1;
            level(&mut items[last].children, depth - 1)
        }
    }
}

fn placed(indent: usize, part: &str) -> (usize, &str) {
    let mut words = part.trim();
    let mut column = indent;
    while let Some(rest) = words.strip_prefix('>') {
        column += MARK;
        words = rest.trim_start();
    }
    for bullet in ["- ", "* "] {
        words = words.strip_prefix(bullet).unwrap_or(words).trim_start();
    }
    (column, words)
}

fn item(words: &str) -> Option<Item> {
    if words.is_empty() {
        return None;
    }
    if let Some((title, criteria)) = words.split_once(": ") {
        let (title, criteria) = (title.trim().to_owned(), criteria.trim().to_owned());
        if !title.is_empty() && !criteria.is_empty() {
            return Some(Item { title, criteria, children: Vec::new() });
        }
    }
    let identity = identity_of_goal(words);
    Some(Item { title: identity.title, criteria: identity.success_criteria, children: Vec::new() })
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn drawn(given: &str) -> String {
        fn draw(items: &[Item], depth: usize, out: &mut String) {
            for item in items {
                let criteria = if item.criteria == item.title { "" } else { &item.criteria };
                writeln!(out, "{}{} ({criteria})", "  ".repeat(depth), item.title).unwrap();
                draw(&item.children, depth + 1, out);
            }
        }
        let mut out = String::new();
        draw(&items(given), 0, &mut out);
        out
    }

    #[test]
    fn titles_stand_side_by_side() {
        assert_eq!(drawn("Read | Write |"), "Read ()\nWrite ()\n");
        assert_eq!(drawn("Read\n- Write\n\n"), "Read ()\nWrite ()\n");
    }

    #[test]
    fn criteria_stand_after_a_colon() {
        assert_eq!(
            drawn("Write tests: all are green | Ship"),
            "Write tests (all are green)\nShip ()\n"
        );
    }

    #[test]
    fn deeper_ones_stand_after_a_mark_or_indented() {
        let expected = "Shop ()\n  Cart (it adds up)\n    Coupons ()\n  Login ()\nDocs ()\n";
        for given in [
            "Shop | > Cart: it adds up | >> Coupons | > Login | Docs",
            "Shop\n  - Cart: it adds up\n      - Coupons\n  - Login\nDocs",
            "Shop | > Cart: it adds up | > > Coupons\n> Login\nDocs",
        ] {
            assert_eq!(drawn(given), expected, "{given}");
        }
        assert_eq!(drawn(">> Deep | Flat"), "Deep ()\nFlat ()\n");
    }
}
