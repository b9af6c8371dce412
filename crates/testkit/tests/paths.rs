//! The paths that the files of a crate name, in imports as in code.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A module of a crate as its file has it.
pub(crate) struct ModuleFile {
    /// The paths that it names, from the root of the crate. Those that lead out of the crate are left out.
    pub(crate) paths: Vec<String>,
    /// The names that it imports or passes on, with their paths: other modules may name them through this one.
    imports: BTreeMap<String, String>,
    /// Whether it consists of declarations of modules and names that it passes on.
    pub(crate) is_contents: bool,
}

impl ModuleFile {
    /// Reads the code of a module; `module` is its path, which is empty for the root.
    pub(crate) fn read(module: &str, code: &str) -> Self {
        Self::of(module, &tokens(code))
    }

    fn of(module: &str, tokens: &[&str]) -> Self {
        let reader = Reader { module, tokens, children: children(tokens) };
        let mut read = Self { paths: Vec::new(), imports: BTreeMap::new(), is_contents: true };
        let mut at = 0;
        while at < tokens.len() {
            if let Some((leaves, end)) = reader.import(at) {
                for (path, name) in leaves {
                    let path = reader.rooted(&path);
                    read.paths.extend(path.clone());
                    read.imports.extend(path.map(|path| (name, path)));
                }
                at = end;
            } else if let Some(end) = reader.declaration(at) {
                at = end;
            } else {
                read.is_contents = false;
                if let Some((name, inside)) = reader.inline_module(at) {
                    let end = inside.end;
                    read.paths
                        .extend(Self::of(&format!("{module}::{name}"), &tokens[inside]).paths);
                    at = end;
                } else if let Some((path, end)) = reader.path(at) {
                    read.paths.extend(reader.rooted(&path));
                    at = end;
                } else {
                    at += 1;
                }
            }
        }
        read
    }
}

/// Returns the modules that a path leads to: the one that it names and, where that passes the name on, the one that the
/// name comes from.
pub(crate) fn follow(path: &str, modules: &BTreeMap<String, ModuleFile>) -> Vec<String> {
    let mut path = path.to_owned();
    let mut found = Vec::new();
    // No name is passed on as often.
    while found.len() < 16 {
        let parts: Vec<&str> = path.split("::").filter(|part| !part.is_empty()).collect();
        let known = |end: &usize| modules.contains_key(&parts[..*end].join("::"));
        let end = (0..=parts.len()).rev().find(known).unwrap_or_default();
        let module = parts[..end].join("::");
        let name = parts.get(end);
        let target = name.and_then(|name| modules.get(&module)?.imports.get(*name));
        found.push(module);
        let Some(target) = target else { return found };
        path = [&[target.as_str()], &parts[end + 1..]].concat().join("::");
    }
    panic!("{path} is passed on in a circle");
}

/// A path, and the name under which an import makes it known.
type Leaf = (Vec<String>, String);

const TEST: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];

/// Reads the tokens of a module.
struct Reader<'a> {
    module: &'a str,
    tokens: &'a [&'a str],
    children: BTreeSet<&'a str>,
}

impl Reader<'_> {
    fn token(&self, at: usize) -> &str {
        self.tokens.get(at).copied().unwrap_or_default()
    }

    /// Skips `#[cfg(test)]`, and `pub`, `pub(crate)` and the like.
    fn after_visibility(&self, mut at: usize) -> usize {
        if self.tokens.get(at..at + TEST.len()) == Some(&TEST) {
            at += TEST.len();
        }
        if self.token(at) == "pub" {
            at += 1;
            if self.token(at) == "(" {
                at += self.tokens[at..].iter().take_while(|it| **it != ")").count() + 1;
            }
        }
        at
    }

    /// Returns the place after the declaration of a module in a file of its own that begins here.
    fn declaration(&self, at: usize) -> Option<usize> {
        let at = self.after_visibility(at);
        (self.token(at) == "mod" && self.token(at + 2) == ";").then_some(at + 3)
    }

    /// Returns the name of a module in braces that begins here, and the place of its code.
    fn inline_module(&self, at: usize) -> Option<(&str, Range<usize>)> {
        if self.token(at) != "mod" || self.token(at + 2) != "{" {
            return None;
        }
        let mut open = 0_usize;
        let rest = self.tokens.iter().enumerate().skip(at + 2);
        for (end, token) in rest {
            match *token {
                "{" => open += 1,
                "}" => open -= 1,
                _ => {}
            }
            if open == 0 {
                return Some((self.token(at + 1), at + 3..end));
            }
        }
        None
    }

    /// Returns the names of an import that begins here, and the place after it.
    fn import(&self, at: usize) -> Option<(Vec<Leaf>, usize)> {
        let at = self.after_visibility(at);
        // `use<'a>` captures lifetimes.
        if self.token(at) != "use" || self.token(at + 1) == "<" {
            return None;
        }
        let mut leaves = Vec::new();
        let end = self.tree(at + 1, Vec::new(), &mut leaves);
        Some((leaves, end + 1))
    }

    /// Takes an import apart; returns the place after it.
    fn tree(&self, mut at: usize, mut path: Vec<String>, leaves: &mut Vec<Leaf>) -> usize {
        loop {
            match self.token(at) {
                "{" => {
                    at += 1;
                    while self.token(at) != "}" {
                        at = self.tree(at, path.clone(), leaves);
                        at += usize::from(self.token(at) == ",");
                    }
                    return at + 1;
                }
                "self" if !path.is_empty() => {}
                "*" => {}
                part => path.push(part.to_owned()),
            }
            at += 1;
            if self.token(at) == "::" {
                at += 1;
                continue;
            }
            let mut name = path.last().cloned().unwrap_or_default();
            if self.token(at) == "as" {
                self.token(at + 1).clone_into(&mut name);
                at += 2;
            }
            leaves.push((path, name));
            return at;
        }
    }

    /// Returns the path in code that begins here, and the place after it.
    fn path(&self, mut at: usize) -> Option<(Vec<String>, usize)> {
        let before = &self.tokens[..at];
        let goes_on = matches!(before.last(), Some(&("::" | ".")));
        if self.token(at + 1) != "::" || goes_on || before.ends_with(&["pub", "(", "in"]) {
            return None;
        }
        let mut path = vec![self.token(at).to_owned()];
        while self.token(at + 1) == "::" && is_name(self.token(at + 2)) {
            at += 2;
            path.push(self.token(at).to_owned());
        }
        Some((path, at + 1))
    }

    /// Returns a path from the root of the crate; none where it leads out of it.
    fn rooted(&self, path: &[String]) -> Option<String> {
        let mut own: Vec<&str> = self.module.split("::").filter(|part| !part.is_empty()).collect();
        let mut rest = path.iter().map(String::as_str).peekable();
        match *rest.peek()? {
            "crate" => own.clear(),
            "self" | "super" => {}
            child if self.children.contains(child) => {}
            _ => return None,
        }
        rest.next_if(|first| matches!(*first, "crate" | "self"));
        while rest.next_if_eq(&"super").is_some() {
            own.pop();
        }
        own.extend(rest);
        Some(own.join("::"))
    }
}

/// The modules that are declared in a file and stand in files of their own.
fn children<'a>(tokens: &[&'a str]) -> BTreeSet<&'a str> {
    let declared = tokens.windows(3).filter(|three| three[0] == "mod" && three[2] == ";");
    declared.map(|three| three[1]).collect()
}

fn is_name(token: &str) -> bool {
    token.starts_with(|it: char| it.is_alphabetic() || it == '_')
}

/// Splits code into names, `::` and single characters.
fn tokens(code: &str) -> Vec<&str> {
    let is_in_name = |it: char| it.is_alphanumeric() || it == '_';
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if is_in_name(first) {
            rest.find(|it| !is_in_name(it)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(length);
        tokens.push(token);
        rest = after.trim_start();
    }
    tokens
}

#[test]
fn imports_and_paths_are_read_from_the_root() {
    let code = "mod below;\npub(crate) use below::Lowest;\nuse super::{beside::{self, Kept}, Own as Known};\n\
                fn all() -> below::Kept { crate::kernel::Env::new(self::super::super::up::<u8>(self.it)) }\n\
                use std::sync::Arc; mod one { use super::*; use super::super::two; }\n\
                pub(in crate::house) fn it() -> impl Sized + use<'a> {}";
    let read = ModuleFile::read("house::room", code);
    assert_eq!(
        read.paths,
        [
            "house::room::below::Lowest",
            "house::beside",
            "house::beside::Kept",
            "house::Own",
            "house::room::below::Kept",
            "kernel::Env::new",
            "up",
            "house::room",
            "house::two",
        ]
    );
    assert!(!read.is_contents);
    let contents =
        ModuleFile::read("house", "mod room;\n#[cfg(test)]\nmod rest;\npub use room::A as B;");
    assert!(contents.is_contents);
    let modules = [("house", contents), ("house::room", read)];
    let modules = modules.map(|(name, read)| (name.to_owned(), read)).into();
    let to = |path| follow(path, &modules);
    assert_eq!(to("house::B::new"), ["house", "house::room"]);
    assert_eq!(to("house::room"), ["house::room"]);
    assert_eq!(to("house::room::Known"), ["house::room", "house"]);
}
