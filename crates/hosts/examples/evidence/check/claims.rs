//! The claims of a line of evidence.

/// A change of a file, as evidence has it.
#[derive(Debug, Default)]
pub(crate) struct Change {
    pub path: String,
    /// Numbers of lines that were added and removed; only the first one for a file that was written whole.
    pub counts: Option<(usize, Option<usize>)>,
    pub is_new: bool,
    pub is_removed: bool,
    pub ranges: Vec<(usize, usize)>,
    /// Whether the range is only where all places lie.
    pub is_rough: bool,
    /// Names, each with what became of it.
    pub names: Vec<(Became, Named)>,
    /// Lines, each with whether it was added.
    pub lines: Vec<(bool, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Became {
    Added,
    Changed,
    Removed,
}

/// A name, or many of them.
#[derive(Clone, Debug)]
pub(crate) enum Named {
    One(String),
    /// So many in all.
    Count(usize),
    /// So many that begin so.
    Pattern(usize, String),
}

#[derive(Debug)]
pub(crate) enum Claim {
    Change(Change),
    /// Checks that ended alike.
    Checks(Vec<String>, String),
    /// A failed action and its failure.
    Failed(String, String),
    /// A file that was read, whole or by lines.
    Read {
        path: String,
        whole: bool,
        lines: Vec<(usize, usize)>,
    },
    /// Files that were changed after the last check.
    Unchecked(String),
    NeverChecked,
    /// Line numbers of a file moved.
    Moved(String, Vec<(usize, isize)>),
    /// Text for people, which is not judged.
    Other,
}

/// Returns the claims of a line.
pub(crate) fn claims(line: &str) -> Vec<Claim> {
    if let Some(rest) = line.strip_prefix("checks: ") {
        return checks(rest);
    }
    if let Some(rest) = line.strip_prefix("failed, and not seen to go well later: ") {
        let each = rest.split("; `").map(|it| it.trim_start_matches('`'));
        let failed = each.filter_map(|it| it.split_once("`: ").or_else(|| it.split_once(": ")));
        return failed.map(|(what, how)| Claim::Failed(what.to_owned(), how.to_owned())).collect();
    }
    for (begin, whole) in [("read whole: ", true), ("read in part: ", false)] {
        if let Some(rest) = line.strip_prefix(begin) {
            return reads(rest, whole);
        }
    }
    if let Some(rest) = line.strip_prefix("changed after the last check: ") {
        return vec![Claim::Unchecked(rest.split(" and ").next().unwrap_or_default().to_owned())];
    }
    if line == "no known test, build or lint command was run" {
        return vec![Claim::NeverChecked];
    }
    if let Some(rest) = line.strip_prefix("line numbers of ") {
        let Some((path, rest)) = rest.split_once(" further up are out of date") else {
            return vec![Claim::Other];
        };
        let moves = rest.trim_start_matches(": ").split(", ").filter_map(|it| {
            let (by, rest) = it.split_once(" below line ")?;
            let by = by.rsplit(' ').next().unwrap_or_default();
            Some((rest.parse().ok()?, by.parse().ok()?))
        });
        return vec![Claim::Moved(path.to_owned(), moves.collect())];
    }
    vec![change(line).map_or(Claim::Other, Claim::Change)]
}

fn checks(rest: &str) -> Vec<Claim> {
    let mut found = Vec::new();
    for group in rest.split("; `") {
        let group = group.strip_prefix('`').unwrap_or(group);
        let Some((lines, how)) = group.rsplit_once("`: ") else { continue };
        let lines = lines.split("`, `").map(str::to_owned).collect();
        found.push(Claim::Checks(lines, how.to_owned()));
    }
    found
}

fn reads(rest: &str, whole: bool) -> Vec<Claim> {
    let mut found: Vec<Claim> = Vec::new();
    for piece in rest.split(", ") {
        let piece = piece.trim_start_matches("and ");
        let is_count = piece.ends_with(" more") || piece.ends_with(" read before");
        if is_count {
            continue;
        }
        let (path, numbers) = match piece.rsplit_once(" lines ") {
            Some((path, numbers)) => (path, Some(numbers)),
            None if span(piece).is_some() => ("", Some(piece)),
            None => (piece, None),
        };
        let lines: Vec<_> = numbers.and_then(span).into_iter().collect();
        match found.last_mut() {
            Some(Claim::Read { lines: known, .. }) if path.is_empty() => known.extend(lines),
            _ => found.push(Claim::Read { path: path.to_owned(), whole, lines }),
        }
    }
    found
}

fn span(text: &str) -> Option<(usize, usize)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some((first.parse().ok()?, last.parse().ok()?))
}

fn change(line: &str) -> Option<Change> {
    let mut change = Change::default();
    if let Some(path) = line.strip_suffix(" removed") {
        (change.path, change.is_removed) = (path.to_owned(), true);
        return Some(change);
    }
    let rest = if let Some((path, rest)) = line.split_once(" new, ") {
        (change.path, change.is_new) = (path.to_owned(), true);
        change.counts = Some((rest.split(' ').next()?.parse().ok()?, None));
        rest
    } else if let Some((path, rest)) = line.split_once(" written whole, ") {
        path.clone_into(&mut change.path);
        change.counts = Some((rest.split(' ').next()?.parse().ok()?, None));
        rest
    } else {
        let (path, rest) = line.split_once(" +")?;
        let mut words = rest.split([' ', ':']);
        path.clone_into(&mut change.path);
        let added = words.next()?.parse().ok()?;
        let removed = words.next()?.strip_prefix('-')?.parse().ok()?;
        change.counts = Some((added, Some(removed)));
        rest
    };
    if let Some((_, inside)) = rest.split_once(" (now line") {
        let inside = inside.split_once(')')?.0;
        change.ranges =
            inside.trim_start_matches(['s', ' ']).split(", ").filter_map(span).collect();
    } else if let Some((_, inside)) = rest.split_once(" places in what are now lines ") {
        change.ranges = span(inside.split_once(')')?.0).into_iter().collect();
        change.is_rough = true;
    }
    let details = rest.split_once(": ").map_or("", |(_, details)| details);
    let details =
        details.split("; why: ").next().filter(|it| !it.starts_with("why: ")).unwrap_or("");
    for part in details.split("; ") {
        if let Some(line) = unfenced(part) {
            change.lines.push((line.starts_with('+'), line.get(1..)?.to_owned()));
            continue;
        }
        let part = part.strip_prefix("also ").unwrap_or(part);
        let words = [
            ("added ", Became::Added),
            ("changed ", Became::Changed),
            ("removed ", Became::Removed),
        ];
        let found = words.into_iter().find_map(|(word, it)| Some((it, part.strip_prefix(word)?)));
        let Some((became, names)) = found else { continue };
        change.names.extend(named(names).into_iter().map(|name| (became, name)));
    }
    Some(change)
}

/// Returns a line without the backticks around it, of which there are more than it has in a row.
fn unfenced(part: &str) -> Option<&str> {
    let fence = part.get(..part.len() - part.trim_start_matches('`').len())?;
    let inside = part.strip_prefix(fence)?.strip_suffix(fence).filter(|_| !fence.is_empty())?;
    Some(if inside.ends_with("` ") { inside.trim_end() } else { inside })
}

fn named(names: &str) -> Vec<Named> {
    let mut found = Vec::new();
    let mut outer = String::new();
    let names = match names.split_once(" tests: ") {
        Some((count, names)) => {
            found.extend(count.parse().ok().map(Named::Count));
            names
        }
        None => names.strip_prefix("tests ").unwrap_or(names),
    };
    for piece in names.split(", ") {
        let piece = piece
            .split_once(" and ")
            .filter(|(_, it)| it.ends_with("more"))
            .map_or(piece, |it| it.0);
        if let Some((count, begin)) = piece.strip_suffix('*').and_then(|it| it.split_once(' ')) {
            found.extend(count.parse().ok().map(|count| Named::Pattern(count, begin.to_owned())));
            continue;
        }
        let is_inner = piece.starts_with("::") || piece.starts_with('.');
        let name = if is_inner { format!("{outer}{piece}") } else { piece.to_owned() };
        if !is_inner {
            let last = name.rfind("::").or_else(|| name.rfind('.'));
            outer = last.map_or(String::new(), |at| name[..at].to_owned());
        }
        found.push(Named::One(name));
    }
    found
}
