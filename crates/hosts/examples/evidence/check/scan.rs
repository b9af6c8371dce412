//! The definitions in a source file, by the words of its lines and their indentation.

/// A function, a type or a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub name: String,
    /// Its line, from 0.
    pub line: usize,
    /// The line after its last one.
    pub end: usize,
}

/// Words that stand in front of a name, by the kind of file.
fn words(path: &str) -> Option<&'static [&'static str]> {
    Some(match kind_of(path) {
        "rs" => &["fn", "struct", "enum", "trait", "union"],
        "py" | "pyi" => &["def", "class"],
        "go" => &["func", "type"],
        "ts" | "tsx" | "js" | "jsx" | "mjs" | "mts" | "cjs" => {
            &["function", "class", "interface", "enum"]
        }
        "rb" => &["def", "class", "module"],
        "sh" | "bash" | "zsh" => &["function"],
        _ => return None,
    })
}

/// Words that may stand in front of those.
const BEFORE: [&str; 16] = [
    "pub",
    "async",
    "export",
    "default",
    "const",
    "unsafe",
    "static",
    "abstract",
    "final",
    "public",
    "private",
    "protected",
    "declare",
    "override",
    "extern",
    "crate",
];

fn is_name(char: char) -> bool {
    char.is_alphanumeric() || char == '_' || char == '$'
}

/// The name that a line defines, if it does.
fn defined(path: &str, line: &str) -> Option<String> {
    let keywords = words(path)?;
    let bare = line.trim_start();
    if bare.starts_with(['#', '*', '/', '"', '\'', '`']) {
        return None;
    }
    let mut rest = bare;
    loop {
        let end = rest.find(|char| !is_name(char)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if keywords.contains(&word) {
            let mut after = after.trim_start_matches('*');
            if !after.starts_with(' ') {
                return None;
            }
            after = after.trim_start();
            if word == "func" && after.starts_with('(') {
                after = after.split_once(')')?.1.trim_start();
            }
            let after = after.strip_prefix("self.").unwrap_or(after);
            let end = after.find(|char| !is_name(char)).unwrap_or(after.len());
            let name = after.get(..end)?;
            let is_alias = word == "type" && kind_of(path) == "go" && after.starts_with('(');
            return (!name.is_empty() && !is_alias).then(|| name.to_owned());
        }
        if !BEFORE.contains(&word) {
            break;
        }
        rest = after.trim_start();
        if rest.starts_with('(') {
            rest = rest.split_once(')')?.1.trim_start();
        }
    }
    if is_script(path) {
        return in_script(bare, indent(line));
    }
    if kind_of(path).ends_with("sh") {
        let (name, after) = bare.split_once("()")?;
        let fits = name.chars().all(|char| is_name(char) || char == '-') && !name.is_empty();
        return (fits && after.trim_start().starts_with('{')).then(|| name.to_owned());
    }
    None
}

fn is_script(path: &str) -> bool {
    ["ts", "tsx", "js", "jsx", "mjs", "mts", "cjs"].contains(&kind_of(path))
}

/// Returns the extension of a file's name.
fn kind_of(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or_default()
}

/// A test, a method, or a function that a name is given to.
fn in_script(bare: &str, indent: usize) -> Option<String> {
    const OTHERS: [&str; 10] =
        ["if", "for", "while", "switch", "catch", "return", "super", "else", "do", "with"];
    for word in ["it", "test", "describe"] {
        let quoted = bare.strip_prefix(word).and_then(|rest| rest.strip_prefix('('));
        if let Some(rest) = quoted {
            let mark = rest.chars().next().filter(|it| "\"'`".contains(*it))?;
            return Some(rest.get(1..)?.split(mark).next()?.to_owned());
        }
    }
    let mut rest = bare;
    for word in ["export ", "public ", "private ", "protected ", "static ", "async ", "override "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    if let Some(given) = rest.strip_prefix("const ").filter(|_| indent == 0) {
        let (name, value) = given.split_once(" = ")?;
        let is_function = value.starts_with("async (") || value.starts_with('(');
        let name = name.split(':').next()?.trim();
        return (is_function && value.contains("=>")).then(|| name.to_owned());
    }
    for word in ["get ", "set "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    let end = rest.find(|char| !is_name(char)).filter(|end| *end > 0)?;
    let (name, after) = rest.split_at(end);
    let even = rest.matches('(').count() == rest.matches(')').count();
    let fits = indent > 0 && after.starts_with('(') && rest.trim_end().ends_with('{') && even;
    (fits && !OTHERS.contains(&name)).then(|| name.to_owned())
}

/// All that lines define; each reaches to the next line that is indented no deeper.
pub(crate) fn scan(path: &str, lines: &[&str]) -> Vec<Found> {
    let mut found = Vec::new();
    let mut text: Option<&str> = None;
    for (at, line) in lines.iter().enumerate() {
        let is_python = kind_of(path) == "py";
        let was_text = text.is_some();
        for mark in ["\"\"\"", "'''"].into_iter().filter(|_| is_python) {
            if line.matches(mark).count() % 2 == 1 {
                text = match text {
                    None => Some(mark),
                    Some(open) if open == mark => None,
                    open => open,
                };
            }
        }
        if (is_script(path) || kind_of(path) == "go") && line.matches('`').count() % 2 == 1 {
            text = if text == Some("`") { None } else { text.or(Some("`")) };
        }
        if was_text {
            continue;
        }
        if let Some(name) = defined(path, line) {
            found.push(Found { name, line: at, end: end(lines, at) });
        }
    }
    found
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn end(lines: &[&str], from: usize) -> usize {
    let outer = indent(lines[from]);
    let mut last = from + 1;
    for (at, line) in lines.iter().enumerate().skip(from + 1) {
        let bare = line.trim();
        if bare.is_empty() {
            continue;
        }
        if indent(line) <= outer {
            let goes_on = bare.starts_with([')', ']', '{']) || bare.starts_with("where");
            if goes_on {
                last = at + 1;
                continue;
            }
            let closes = bare.starts_with('}') || bare == "end";
            return if closes && indent(line) == outer { at + 1 } else { last };
        }
        last = at + 1;
    }
    last
}

/// The innermost of them that a line is in.
pub(crate) fn around(found: &[Found], line: usize) -> Option<&Found> {
    found.iter().filter(|it| it.line <= line && line < it.end).max_by_key(|it| it.line)
}
