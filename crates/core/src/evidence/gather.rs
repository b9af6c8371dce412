//! Everything that might be told of a span, with how and when it was used.
//!
//! Secrets are masked in each text while it is whole: in the pieces that are told of it nothing tells them
//! from other names.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use super::terms::{Kind, file_name, scan};
use super::{
    Action, Call, CommandRun, Evidence, Happening, SeenError, TestCounts, TestRun, WrittenFile,
    counts, errors,
};
use crate::secrets::{mask, secrets};
use crate::text::cap;

/// Bytes of an output that are searched for terms, at its beginning and at its end.
const HEAD: usize = 12_000;
const TAIL: usize = 4_000;
/// Bytes of a command that are told.
const COMMAND: usize = 240;
/// Exits of a command that are told.
pub(super) const EXITS: usize = 3;

/// How a term was used.
#[derive(Clone, Debug, Default)]
pub(super) struct Use {
    /// In how many of the agent's texts and calls it stands.
    pub own: usize,
    /// In how many results of calls it stands.
    pub shown: usize,
    /// The last happening whose author wrote it.
    pub last_own: usize,
    /// The last result that shows it.
    pub last_shown: usize,
    /// Whether the agent wrote it in its words, not only in calls.
    pub said: bool,
}

/// How a file was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FileUse {
    #[default]
    Named,
    Read,
    Written,
}

/// A term with its use.
#[derive(Debug)]
pub(super) struct Term<'a> {
    pub kind: Kind,
    pub text: Cow<'a, str>,
    pub used: Use,
    pub file: FileUse,
}

/// A command with its runs.
#[derive(Debug, Default)]
pub(super) struct Command {
    pub line: String,
    pub exits: Vec<i64>,
    pub runs: usize,
    pub last: usize,
    pub failed: bool,
    pub tests: Option<TestCounts>,
    pub failed_before: Option<u64>,
}

/// An error and the last thing that is known of it.
#[derive(Debug)]
pub(super) struct Trouble {
    pub text: String,
    pub gone: bool,
}

/// All that is known of a span.
#[derive(Debug, Default)]
pub(super) struct Gathered<'a> {
    pub terms: Vec<Term<'a>>,
    pub commands: Vec<Command>,
    pub troubles: Vec<Trouble>,
    /// How many things happened.
    pub length: usize,
}

/// Something that can be told, by its place in what was gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Item {
    Term(usize),
    Command(usize),
    Trouble(usize),
}

/// Where a text stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Words,
    Call,
    Result,
}

struct Gatherer<'a> {
    project: &'a str,
    terms: HashMap<(Kind, Cow<'a, str>), (Use, FileUse)>,
    /// The paths among them by the names of their files.
    paths: HashMap<Cow<'a, str>, Vec<Cow<'a, str>>>,
    /// Commands in the order of their last runs, with gaps where they were run before, and their places.
    commands: Vec<Option<Command>>,
    command_places: HashMap<String, usize>,
    /// The same for errors, and which were seen at each thing that was tried since it last went well.
    troubles: Vec<Option<Trouble>>,
    trouble_places: HashMap<String, usize>,
    tried: HashMap<String, Vec<usize>>,
}

pub(super) fn gather<'a>(span: &'a [Happening], project: &'a str) -> Gathered<'a> {
    let mut all = Gatherer {
        project,
        terms: HashMap::new(),
        paths: HashMap::new(),
        commands: Vec::new(),
        command_places: HashMap::new(),
        troubles: Vec::new(),
        trouble_places: HashMap::new(),
        tried: HashMap::new(),
    };
    for (at, happening) in span.iter().enumerate() {
        // From one on: zero says never.
        let at = at + 1;
        match happening {
            Happening::Said(text) => all.text(mask(text), Source::Words, at),
            Happening::Thought(_) => {}
            Happening::Called(call) => all.call(call, at),
        }
    }
    let mut terms: Vec<_> = all
        .terms
        .into_iter()
        .map(|((kind, text), (used, file))| Term { kind, text, used, file })
        .collect();
    terms.sort_unstable_by(|one, other| (one.kind, &one.text).cmp(&(other.kind, &other.text)));
    let commands = all.commands.into_iter().flatten().collect();
    let troubles = all.troubles.into_iter().flatten().collect();
    Gathered { terms, commands, troubles, length: span.len() }
}

impl<'a> Gatherer<'a> {
    /// Takes the terms of a text in which its secrets are masked.
    fn text(&mut self, text: Cow<'a, str>, source: Source, at: usize) {
        match text {
            Cow::Borrowed(text) => scan(text, "", |kind, term| self.used(kind, term, source, at)),
            Cow::Owned(text) => scan(&text, "", |kind, term| {
                self.used(kind, term.into_owned().into(), source, at);
            }),
        }
    }

    fn used(&mut self, kind: Kind, term: Cow<'a, str>, source: Source, at: usize) {
        let (used, _) = self.term(kind, term);
        match source {
            Source::Result if used.last_shown < at => {
                used.shown += 1;
                used.last_shown = at;
            }
            Source::Result => {}
            Source::Words | Source::Call => {
                used.said |= source == Source::Words;
                if used.last_own < at {
                    used.own += 1;
                    used.last_own = at;
                }
            }
        }
    }

    fn term(&mut self, kind: Kind, term: Cow<'a, str>) -> &mut (Use, FileUse) {
        match self.terms.entry((kind, term)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let path = &new.key().1;
                if kind == Kind::Path {
                    let name = match path {
                        Cow::Borrowed(path) => Cow::Borrowed(file_name(path)),
                        Cow::Owned(path) => Cow::Owned(file_name(path).to_owned()),
                    };
                    self.paths.entry(name).or_default().push(path.clone());
                }
                new.insert(Default::default())
            }
        }
    }

    fn call(&mut self, call: &'a Call, at: usize) {
        self.text(mask(&call.input), Source::Call, at);
        let output = mask(&call.output);
        if output.len() <= HEAD + TAIL {
            self.text(output.clone(), Source::Result, at);
        } else {
            let tail = output.ceil_char_boundary(output.len() - TAIL);
            for part in [0..output.floor_char_boundary(HEAD), tail..output.len()] {
                self.text(part_of(&output, part), Source::Result, at);
            }
        }
        let failed = call.has_failed();
        let tried = match &call.action {
            Action::Ran(command) => command_line(command, self.project),
            Action::Read(path) => format!("{} {path}", call.tool),
            Action::Wrote(paths) => format!("{} {}", call.tool, paths.join(" ")),
            Action::Other => call.tool.clone(),
        };
        match &call.action {
            Action::Ran(_) => self.command(&tried, call, failed, at),
            Action::Read(path) => self.file(path, FileUse::Read, at),
            Action::Wrote(paths) => {
                let used = if failed { FileUse::Named } else { FileUse::Written };
                for path in paths {
                    self.file(path, used, at);
                }
            }
            Action::Other => {}
        }
        self.removed(call);
        if !failed {
            for place in self.tried.remove(&tried).into_iter().flatten() {
                if let Some(trouble) = &mut self.troubles[place] {
                    trouble.gone = true;
                }
            }
        } else if let Some(text) = errors::telling_line(&call.action, &output) {
            let place = self.troubles.len();
            if let Some(before) = self.trouble_places.insert(text.to_owned(), place) {
                self.troubles[before] = None;
            }
            self.troubles.push(Some(Trouble { text: text.to_owned(), gone: false }));
            self.tried.entry(tried).or_default().push(place);
        }
    }

    fn file(&mut self, path: &'a str, file: FileUse, at: usize) {
        if path.is_empty() || path.contains(['\n', '\r']) || !secrets(path).is_empty() {
            return;
        }
        // However the agent wrote it; a host may tell it relative to the project.
        let ends = |written: &str| {
            let rest = written.strip_suffix(path);
            rest.is_some_and(|folder| folder.is_empty() || folder.ends_with(['/', '\\']))
        };
        let mut told = false;
        let named = self.paths.get(file_name(path)).into_iter().flatten();
        for written in named.filter(|written| ends(written)) {
            if let Some((used, known)) = self.terms.get_mut(&(Kind::Path, written.clone())) {
                told |= used.own > 0;
                *known = (*known).max(file);
            }
        }
        if told {
            return;
        }
        let (used, known) = self.term(Kind::Path, Cow::Borrowed(path));
        *known = (*known).max(file);
        if used.last_own < at {
            used.own += 1;
            used.last_own = at;
        }
    }

    /// What was written and is gone is only named.
    fn removed(&mut self, call: &Call) {
        for removed in call.removed(self.project) {
            for ((kind, path), (_, file)) in &mut self.terms {
                let was_written = *kind == Kind::Path && *file == FileUse::Written;
                if was_written && removed.takes(path, self.project) {
                    *file = FileUse::Named;
                }
            }
        }
    }

    fn command(&mut self, line: &str, call: &Call, failed: bool, at: usize) {
        if line.is_empty() {
            return;
        }
        // One that is run again stands where it was run last.
        let place = self.commands.len();
        let before = self.command_places.insert(line.to_owned(), place);
        let before = before.and_then(|before| self.commands[before].take());
        let new = || Command { line: line.to_owned(), ..Command::default() };
        let mut known = before.unwrap_or_else(new);
        known.exits.extend(call.exit);
        known.exits.drain(..known.exits.len().saturating_sub(EXITS));
        known.runs += 1;
        known.last = at;
        known.failed = failed;
        if let Some(counts) = counts(&call.output) {
            let before = known.tests.replace(counts).map(|before| before.failed);
            known.failed_before = before.filter(|before| *before != counts.failed);
        }
        self.commands.push(Some(known));
    }
}

/// A part of a text that lives as long as it, where it is no copy.
fn part_of<'a>(text: &Cow<'a, str>, part: Range<usize>) -> Cow<'a, str> {
    match text {
        Cow::Borrowed(text) => text.get(part).unwrap_or_default().into(),
        Cow::Owned(text) => text.get(part).unwrap_or_default().to_owned().into(),
    }
}

/// A command in one line, as it is told: with its secrets masked, without the change into the project's own
/// folder, which is where it runs anyway, and cut where it is very long.
pub fn command_line(command: &str, project: &str) -> String {
    // In one line, and cut, some are known for secrets no more.
    let line = mask(command).split_whitespace().collect::<Vec<_>>().join(" ");
    let project = project.trim_end_matches('/');
    let bare = line
        .strip_prefix("cd ")
        .and_then(|rest| rest.trim_start_matches('"').strip_prefix(project))
        .filter(|_| !project.is_empty())
        .and_then(|rest| rest.trim_start_matches(['/', '"']).strip_prefix(" && "));
    let line = bare.unwrap_or(&line);
    match cap(line, COMMAND) {
        whole if whole.len() == line.len() => whole.to_owned(),
        cut => format!("{cut}…"),
    }
}

impl Gathered<'_> {
    /// The evidence that consists of these items.
    pub(super) fn tell(&self, items: &[Item]) -> Evidence {
        let mut told = Evidence::default();
        let mut commands = Vec::new();
        let mut troubles = Vec::new();
        for item in items {
            match *item {
                Item::Command(at) => commands.push(at),
                Item::Trouble(at) => troubles.push(at),
                Item::Term(at) => {
                    let Some(term) = self.terms.get(at) else { continue };
                    let text = term.text.clone().into_owned();
                    match (term.kind, term.file) {
                        (Kind::Path, FileUse::Written) => {
                            told.written.push(WrittenFile { path: text, hash: None });
                        }
                        (Kind::Path, FileUse::Read) => told.read.push(text),
                        (Kind::Path, FileUse::Named) | (Kind::File, _) => told.named.push(text),
                        (Kind::Quoted, _) => told.strings.push(text),
                        (Kind::Identifier, _) => told.identifiers.push(text),
                        (Kind::Number, _) => told.numbers.push(text),
                        (Kind::Url, _) => told.urls.push(text),
                    }
                }
            }
        }
        for order in [&mut commands, &mut troubles] {
            order.sort_unstable();
        }
        let run = |at: usize| {
            let it = self.commands.get(at)?;
            Some(CommandRun { line: it.line.clone(), exits: it.exits.clone() })
        };
        let tested = |at: usize| {
            let it = self.commands.get(at)?;
            Some(TestRun {
                command: it.line.clone(),
                counts: it.tests?,
                failed_before: it.failed_before,
            })
        };
        let seen = |at: usize| {
            let it = self.troubles.get(at)?;
            Some(SeenError { text: it.text.clone(), gone: it.gone })
        };
        told.tests = commands.iter().copied().filter_map(tested).collect();
        told.commands = commands.into_iter().filter_map(run).collect();
        told.errors = troubles.into_iter().filter_map(seen).collect();
        told
    }
}
