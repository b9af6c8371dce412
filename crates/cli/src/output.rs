//! The only place that prints.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use anstream::stream::{AsLockedWrite, RawStream};
use anstream::{AutoStream, ColorChoice};
use callstack_core::control::escape_json;
use callstack_engine::EngineError;
use serde_json::{Value, json};

use crate::error::CommandError;
use crate::examples::meant;
use crate::page::{BAD, DIM, HINT, PLAIN, Page};
use crate::pager::Pager;
use crate::reporter::Reporter;
use crate::wording::for_a_terminal;

/// Standard output and standard error.
#[derive(Debug)]
pub(crate) struct Output {
    json: bool,
    width: Option<usize>,
    stdout: io::Stdout,
    stderr: io::Stderr,
    pager: Option<Pager>,
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        Self { json, width: width(), stdout: io::stdout(), stderr: io::stderr(), pager: None }
    }

    /// Whether JSON is asked for instead of text for people.
    pub(crate) fn json(&self) -> bool {
        self.json
    }

    /// Returns the columns of the terminal; `None` if there is none, and lines may have any length.
    pub(crate) fn width(&self) -> Option<usize> {
        self.width
    }

    /// Returns the columns that the terminal has now, since it may have been resized.
    pub(crate) fn width_now(&mut self) -> Option<usize> {
        self.width = width();
        self.width
    }

    /// Whether the output goes to a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.stdout.is_terminal()
    }

    /// Whether colours are wanted on standard output.
    pub(crate) fn colours(&self) -> bool {
        AutoStream::choice(&self.stdout) != ColorChoice::Never
    }

    /// Does something on the terminal's other screen, without a cursor; afterwards the first one is there again, as it
    /// was.
    pub(crate) fn on_a_screen_of_its_own(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<(), CommandError>,
    ) -> Result<(), CommandError> {
        self.generated("\u{1b}[?1049h\u{1b}[?25l")?;
        let outcome = work(self);
        outcome.and(self.generated("\u{1b}[?25h\u{1b}[?1049l"))
    }

    /// Prints a page that replaces the screen's content; the end of one that is longer than the screen. Terminals that
    /// know synchronized updates show it at once.
    pub(crate) fn redraw(&mut self, page: &Page) -> Result<(), CommandError> {
        let height = terminal_size::terminal_size_of(&self.stdout).map(|(_, rows)| rows.0);
        let lines: Vec<_> = page.as_str().lines().collect();
        let room = height.map_or(usize::MAX, |rows| usize::from(rows).saturating_sub(1).max(2));
        let mut shown = Page::default();
        let hidden = lines.len().saturating_sub(room);
        let hidden = if hidden > 0 { hidden + 1 } else { 0 };
        if hidden > 0 {
            shown.put(DIM, &format!("… {hidden} lines above")).end();
        }
        // Each line replaces the one before it, so that nothing is blank in between.
        let shown = [shown.as_str().trim_end()].into_iter().filter(|line| !line.is_empty());
        let shown: Vec<_> = shown.chain(lines.into_iter().skip(hidden)).collect();
        let text = shown.join("\n");
        let text =
            if self.colours() { text } else { anstream::adapter::strip_str(&text).to_string() };
        let text = text.replace('\n', "\u{1b}[K\r\n");
        self.generated(&format!("\u{1b}[?2026h\u{1b}[H{text}\u{1b}[K\r\n\u{1b}[J\u{1b}[?2026l"))
    }

    /// Prints a page for people.
    pub(crate) fn page(&mut self, page: &Page) -> Result<(), CommandError> {
        if let Some(pager) = &mut self.pager {
            return pager.write(page.as_str()).map_err(CommandError::of_output);
        }
        emit(self.stdout.lock(), page.as_str()).map_err(CommandError::of_output)
    }

    /// Prints JSON for programs.
    pub(crate) fn value(&mut self, value: &Value) -> Result<(), CommandError> {
        self.generated(&pretty(value))
    }

    /// Prints text that this program makes for other programs, such as completions.
    pub(crate) fn generated(&mut self, text: &str) -> Result<(), CommandError> {
        let mut out = self.stdout.lock();
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        written.map_err(CommandError::of_output)
    }

    /// Prints the output of `put` for other programs while it is written.
    pub(crate) fn stream<T>(
        &mut self,
        put: impl FnOnce(&mut dyn io::Write) -> Result<T, CommandError>,
    ) -> Result<T, CommandError> {
        let mut out = io::BufWriter::new(self.stdout.lock());
        let put = put(&mut out)?;
        out.flush().map_err(CommandError::of_output)?;
        Ok(put)
    }

    /// Shows the output of `show` in a pager, if that is wanted and there is a terminal.
    pub(crate) fn paged(
        &mut self,
        wanted: bool,
        show: impl FnOnce(&mut Self) -> Result<(), CommandError>,
    ) -> Result<(), CommandError> {
        self.pager = if wanted && self.stdout.is_terminal() { Pager::start() } else { None };
        let outcome = show(self);
        if let Some(pager) = self.pager.take() {
            pager.finish();
        }
        outcome
    }

    /// Prints stored JSON, byte for byte; on a terminal with the characters escaped that control it, as JSON allows.
    pub(crate) fn stored(&mut self, json: &str) -> Result<(), CommandError> {
        if self.stdout.is_terminal() {
            let mut page = Page::default();
            page.block("", &escape_json(json));
            return self.page(&page);
        }
        self.generated(&format!("{json}\n"))
    }

    /// Shows the progress of long work to a person at the terminal, on one line that replaces the one before; an empty
    /// line ends it.
    pub(crate) fn progress(&mut self, line: &str) {
        if !self.stderr.is_terminal() {
            return;
        }
        let most = self.width().unwrap_or(80).saturating_sub(1);
        let line: String = line.chars().filter(|char| !char.is_control()).take(most).collect();
        // Work goes on even if its progress can't be shown.
        drop(self.stderr.lock().write_all(format!("\r\u{1b}[K{line}").as_bytes()));
    }

    /// Asks the person at the terminal and returns the answer; `None` if nobody can be asked.
    pub(crate) fn ask(&mut self, question: &str) -> Result<Option<String>, CommandError> {
        let stdin = io::stdin();
        if !stdin.is_terminal() || !self.stderr.is_terminal() {
            return Ok(None);
        }
        let mut page = Page::default();
        page.put(PLAIN, question).put(PLAIN, " ");
        emit(self.stderr.lock(), page.as_str()).map_err(CommandError::of_output)?;
        let mut answer = String::new();
        stdin.read_line(&mut answer).map_err(CommandError::of_output)?;
        Ok(Some(answer))
    }

    /// Asks the person at the terminal whether to go on. Fails with `unasked` if nobody can be asked.
    pub(crate) fn confirm(
        &mut self,
        question: &str,
        unasked: EngineError,
    ) -> Result<bool, CommandError> {
        let Some(answer) = self.ask(&format!("{question} [y/N]"))? else {
            return Err(unasked.into());
        };
        Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    /// Prints the value if JSON is asked for, else the page.
    pub(crate) fn either(
        &mut self,
        value: &Value,
        page: impl FnOnce(&mut Page),
    ) -> Result<(), CommandError> {
        if self.json {
            return self.value(value);
        }
        let mut shown = Page::default();
        page(&mut shown);
        self.page(&shown)
    }

    /// Prints a remark on standard error.
    pub(crate) fn remark(&mut self, text: &str) {
        let mut page = Page::default();
        page.put(DIM, &format!("callstack: {text}")).end();
        self.aside(page.as_str());
    }

    /// Prints a failure on standard error and returns its exit code.
    pub(crate) fn failure(&mut self, failure: &CommandError) -> ExitCode {
        if let CommandError::Failed(error) = failure {
            self.report(error);
        }
        failure.exit_code()
    }

    /// Prints the help that was asked for, or the error of the command line.
    pub(crate) fn usage(
        &mut self,
        error: &clap::Error,
        arguments: &[OsString],
    ) -> Result<(), CommandError> {
        let hostile = arguments.iter().any(|it| it.to_string_lossy().chars().any(char::is_control));
        let text = if hostile {
            let mut page = Page::default();
            page.block("", &error.render().to_string());
            page.as_str().to_owned()
        } else {
            error.render().ansi().to_string()
        };
        if !error.use_stderr() {
            return emit(self.stdout.lock(), &text).map_err(CommandError::of_output);
        }
        if self.json {
            let text = error.render().to_string();
            let message = text.lines().next().unwrap_or_default();
            let message = message.strip_prefix("error: ").unwrap_or(message);
            let hint = match meant(error) {
                Some(meant) => format!("It may be `callstack {meant}` that you want."),
                None => "`callstack help` lists commands and what they take.".to_owned(),
            };
            return Err(EngineError::invalid(message, hint).into());
        }
        self.aside(&text);
        Err(CommandError::Reported(callstack_engine::Kind::Invalid))
    }

    /// Writes to standard error. If that fails, there is no other place to report it.
    fn aside(&mut self, text: &str) {
        drop(emit(self.stderr.lock(), text));
    }

    fn report(&mut self, error: &EngineError) {
        let message = &error.message;
        let hint = error.hint.as_ref().map(for_a_terminal).filter(|hint| !hint.is_empty());
        if self.json {
            let value = json!({"error": {
                "kind": error.kind.as_str(),
                "message": message,
                "hint": hint,
            }});
            self.aside(&pretty(&value));
            return;
        }
        let mut page = Page::default();
        page.put(BAD, "error:").put(PLAIN, " ").put(PLAIN, message).end();
        if let Some(hint) = hint {
            page.put(HINT, "hint:").put(PLAIN, " ").put(PLAIN, &hint).end();
        }
        self.aside(page.as_str());
    }
}

impl Reporter for Output {
    fn progress(&mut self, line: &str) {
        Self::progress(self, line);
    }

    fn remark(&mut self, text: &str) {
        Self::remark(self, text);
    }
}

/// Writes text, with its styles only on a terminal.
fn emit<S: RawStream + AsLockedWrite + io::IsTerminal>(stream: S, text: &str) -> io::Result<()> {
    let terminal = io::IsTerminal::is_terminal(&stream);
    let choice = if terminal { AutoStream::choice(&stream) } else { ColorChoice::Never };
    let mut stream = AutoStream::new(stream, choice);
    stream.write_all(text.as_bytes())?;
    stream.flush()
}

/// Returns JSON on several lines. Characters that control a terminal are escaped, as JSON allows.
fn pretty(value: &Value) -> String {
    escape_json(&format!("{value:#}\n")).into_owned()
}

/// Returns the value of `COLUMNS`, else the columns of the terminal.
fn width() -> Option<usize> {
    let wanted = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || {
        let stdout = io::stdout();
        let size = terminal_size::terminal_size_of(&stdout);
        size.filter(|_| stdout.is_terminal()).map(|(width, _)| usize::from(width.0))
    };
    wanted.or_else(terminal).filter(|width| *width > 0)
}

#[cfg(test)]
mod tests {
    use callstack_core::control::steers;

    use super::*;

    #[test]
    fn json_holds_no_character_that_steers_a_terminal() {
        let value = json!({"title": "a\u{1b}[2J\u{9b}1m\u{7f}\u{202e}b\n"});
        let text = pretty(&value);
        assert!(text.chars().all(|char| char == '\n' || !steers(char)), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
