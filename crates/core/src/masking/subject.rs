//! The subject of a call's output, which shows whether a newer output replaces an older one.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher as _};

use crate::evidence::Action;
use crate::transcript::ToolCall;

/// The subject of an output, in hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Lines of a file.
    Read {
        /// The path.
        path: u64,
        /// The tool and all of its arguments.
        call: u64,
        /// The numbers of the first and the last line, where the output numbers them.
        lines: Option<(u32, u32)>,
    },
    /// A file that was written whole.
    Written {
        /// The path.
        path: u64,
    },
    /// Any other call, by its tool and all of its arguments.
    Called(u64),
}

impl Subject {
    /// The subject of a call that went well.
    pub fn of(call: &ToolCall) -> Self {
        let asked = hash(&(&call.tool, &call.input_text()));
        match &call.action {
            Action::Read(path) => Self::read(path, asked, call.output_text()),
            Action::Wrote(paths) => match (paths.as_slice(), call.edits.as_slice()) {
                ([path], [edit]) if edit.before.is_none() => Self::written(path),
                _ => Self::Called(asked),
            },
            Action::Ran(_) | Action::Other => Self::Called(asked),
        }
    }

    /// The subject of an output that shows a file; `call` is a hash of the tool and its arguments.
    pub fn read(path: &str, call: u64, output: &str) -> Self {
        Self::Read { path: hash(path), call, lines: shown_lines(output) }
    }

    /// The subject of a call that wrote a file whole.
    pub fn written(path: &str) -> Self {
        Self::Written { path: hash(path) }
    }

    /// The subject of a call that is nothing but itself.
    pub fn called(tool: &str, input: &str) -> Self {
        Self::Called(hash(&(tool, input)))
    }
}

/// The hash that subjects are known by.
pub fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The part of an output that decides whether a newer one replaces it.
#[derive(Clone, Copy, Debug)]
pub struct OutputSubject {
    /// Its subject, where that is known.
    pub subject: Option<Subject>,
    /// Its message's place in the transcript.
    pub at: usize,
    /// The place at which the innermost frame begins that is open around it; 0 without one. The output leaves with
    /// that frame, and replaces nothing before it.
    pub frame: usize,
}

/// Finds the outputs that a newer one replaced; one answer for each, in the order of the request.
pub fn replaced(outputs: &[OutputSubject]) -> Vec<bool> {
    let mut newer: HashMap<u64, Vec<(Subject, usize)>> = HashMap::new();
    let mut answers: Vec<bool> = Vec::with_capacity(outputs.len());
    for output in outputs.iter().rev() {
        let Some(subject) = output.subject else {
            answers.push(false);
            continue;
        };
        let known = newer.entry(subject.key()).or_default();
        let replaces =
            |(newer, frame): &(Subject, usize)| *frame <= output.at && newer.replaces(&subject);
        answers.push(known.iter().any(replaces));
        if !known.iter().any(|(newer, frame)| *frame <= output.frame && newer.replaces(&subject)) {
            known.push((subject, output.frame));
        }
    }
    answers.reverse();
    answers
}

impl Subject {
    fn key(&self) -> u64 {
        match self {
            Self::Read { path, .. } | Self::Written { path } => *path,
            Self::Called(call) => *call,
        }
    }

    fn replaces(&self, older: &Self) -> bool {
        match (self, older) {
            (
                Self::Written { path },
                Self::Read { path: read, .. } | Self::Written { path: read },
            ) => path == read,
            (
                Self::Read { path, call, lines },
                Self::Read { path: older, call: asked, lines: shown },
            ) => {
                let covers = lines.zip(*shown).map(|(new, old)| new.0 <= old.0 && new.1 >= old.1);
                path == older && covers.unwrap_or(call == asked)
            }
            (Self::Called(call), Self::Called(older)) => call == older,
            _ => false,
        }
    }
}

/// Returns the numbers of the first and the last line that an output shows, where lines stand after their numbers.
fn shown_lines(output: &str) -> Option<(u32, u32)> {
    let first = output.lines().find_map(line_number)?;
    let last = output.lines().rev().find_map(line_number)?;
    (first <= last).then_some((first, last))
}

/// Splits a line into the number before it and the rest, in the forms in which agents' tools number lines.
pub fn numbered(line: &str) -> Option<(u32, &str)> {
    let line = line.trim_start_matches(' ');
    let digits = line.len() - line.trim_start_matches(|it: char| it.is_ascii_digit()).len();
    let (number, rest) = line.split_at(digits);
    let rest = rest.strip_prefix(['\t', '|', ':', '→'])?;
    Some((number.parse().ok()?, rest))
}

fn line_number(line: &str) -> Option<u32> {
    numbered(line).map(|(number, _)| number)
}

#[cfg(test)]
#[path = "subject_tests.rs"]
mod tests;
