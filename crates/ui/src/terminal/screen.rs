//! The screen, and the restoring of the terminal.

use std::io::{self, BufWriter, Stdout, Write as _};
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::{Hide, Show};
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use crossterm::{execute, queue};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

use crate::model::app::App;
use crate::view::draw;

/// Bytes of a drawing that are sent at once.
const BUFFER: usize = 64 * 1024;

/// Whether the terminal is ours now, and has to be restored once.
static IS_OURS: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

/// The screen. The terminal is restored when it is dropped.
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
}

impl Screen {
    /// Takes the whole screen. A panic restores the terminal before it is reported.
    pub(crate) fn enter() -> io::Result<Self> {
        HOOK.call_once(|| {
            let default_hook = panic::take_hook();
            panic::set_hook(Box::new(move |panic| {
                // The panic is reported in any case.
                drop(restore());
                default_hook(panic);
            }));
        });
        let out = BufWriter::with_capacity(BUFFER, io::stdout());
        take_over()?;
        let terminal = Terminal::new(CrosstermBackend::new(out)).inspect_err(|_| {
            drop(restore());
        })?;
        Ok(Self { terminal })
    }

    /// Draws what has changed. Terminals that know synchronized updates show it at once.
    pub(crate) fn draw(&mut self, app: &mut App) -> io::Result<()> {
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        self.terminal.draw(|frame| draw(frame, app))?;
        queue!(self.terminal.backend_mut(), EndSynchronizedUpdate)?;
        self.terminal.backend_mut().flush()
    }

    /// Has everything drawn again.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        // `Terminal::clear` would ask the terminal for its cursor, and wait for an answer among the keys.
        let area = self.terminal.size()?.into();
        self.terminal.resize(area)
    }

    /// Takes the whole screen again.
    pub(crate) fn come_back(&mut self) -> io::Result<()> {
        take_over()?;
        self.clear()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        drop(restore());
    }
}

fn take_over() -> io::Result<()> {
    enable_raw_mode()?;
    IS_OURS.store(true, Ordering::SeqCst);
    let taken = execute!(
        io::stdout(),
        EnterAlternateScreen,
        EnableMouseCapture,
        EnableBracketedPaste,
        Hide
    );
    taken.inspect_err(|_| drop(restore()))
}

/// Whether the view has the terminal now.
#[cfg(unix)]
pub(crate) fn is_ours() -> bool {
    IS_OURS.load(Ordering::SeqCst)
}

/// Restores the terminal, if it is ours.
pub(crate) fn restore() -> io::Result<()> {
    if !IS_OURS.swap(false, Ordering::SeqCst) {
        return Ok(());
    }
    let left = execute!(
        io::stdout(),
        EndSynchronizedUpdate,
        DisableBracketedPaste,
        DisableMouseCapture,
        LeaveAlternateScreen,
        Show
    );
    disable_raw_mode().and(left)
}
