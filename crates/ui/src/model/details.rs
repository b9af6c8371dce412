//! The details of the selected frame, in tabs.

use callstack_core::frame::{FrameNum, Status};
use callstack_engine::EngineError;
use ratatui::text::Line;

use crate::data::answers::{Details as Answer, Diff, Folded};
use crate::data::loads::Load;
use crate::data::messages::{Paged, Piece};

/// Messages that are asked for at a time.
pub(crate) const COUNT: u64 = 30;

/// Something that is asked for.
#[derive(Debug, Default)]
pub(crate) enum Remote<T> {
    #[default]
    Unasked,
    Asked,
    Known(T),
    Failed(EngineError),
}

impl<T> Remote<T> {
    pub(crate) fn known(&self) -> Option<&T> {
        if let Self::Known(value) = self { Some(value) } else { None }
    }

    /// Takes an answer.
    pub(crate) fn take(&mut self, answer: Result<T, EngineError>) {
        *self = match answer {
            Ok(value) => Self::Known(value),
            Err(error) => Self::Failed(error),
        };
    }
}

/// A view of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tab {
    #[default]
    Result,
    Files,
    Log,
    Sent,
    Pins,
}

impl Tab {
    pub(crate) const ALL: [Self; 5] =
        [Self::Result, Self::Files, Self::Log, Self::Sent, Self::Pins];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Result => "Result",
            Self::Files => "Files",
            Self::Log => "Log",
            Self::Sent => "Sent",
            Self::Pins => "Pins",
        }
    }
}

/// The lines of a tab, broken for a width.
#[derive(Debug, Default)]
pub(crate) struct Body {
    pub(crate) lines: Vec<Line<'static>>,
    /// The lines at which files or messages begin.
    pub(crate) marks: Vec<usize>,
}

/// The known data of the selected frame.
#[derive(Debug, Default)]
pub(crate) struct Details {
    pub(crate) frame: Option<FrameNum>,
    pub(crate) tab: Tab,
    pub(crate) answer: Remote<Box<Answer>>,
    pub(crate) diff: Remote<Diff>,
    pub(crate) log: Remote<Paged>,
    /// The next request of its session, where it is not folded.
    pub(crate) sent: Remote<Paged>,
    /// The text that replaces it if it is finished, with the messages that left.
    pub(crate) folded: Remote<(Folded, Paged)>,
    pub(crate) scroll: usize,
    /// Lines of the screen, since it was last drawn.
    pub(crate) height: usize,
    body: Option<(usize, Body)>,
    /// Messages that are being asked for, from their place on.
    asked: Option<u64>,
    /// Whether the end is to be shown once it is there.
    to_end: bool,
}

impl Details {
    /// Shows a frame, if it is not shown already.
    pub(crate) fn show(&mut self, frame: Option<FrameNum>) -> Vec<Load> {
        if self.frame == frame {
            return Vec::new();
        }
        *self = Self { frame, tab: self.tab, height: self.height, ..Self::default() };
        let mut loads: Vec<_> = frame.map(Load::Details).into_iter().collect();
        if frame.is_some() {
            self.answer = Remote::Asked;
        }
        loads.extend(self.wanted());
        loads
    }

    pub(crate) fn turn_to(&mut self, tab: Tab) -> Vec<Load> {
        if self.tab != tab {
            self.tab = tab;
            self.scroll = 0;
            self.to_end = false;
            self.changed();
        }
        self.wanted()
    }

    /// Returns the questions to ask for the tab.
    fn wanted(&mut self) -> Vec<Load> {
        let Some(frame) = self.frame else { return Vec::new() };
        let mut loads = Vec::new();
        match self.tab {
            Tab::Result | Tab::Pins => {}
            Tab::Files => {
                if let Remote::Unasked = self.diff {
                    self.diff = Remote::Asked;
                    loads.push(Load::Diff(frame));
                }
            }
            Tab::Log => {
                if let Remote::Unasked = self.log {
                    self.log = Remote::Asked;
                    loads.push(Load::Log { frame, from: 0, count: COUNT });
                }
            }
            // Whether it is folded is known with its details.
            Tab::Sent => match self.is_finished() {
                Some(true) => {
                    if let Remote::Unasked = self.folded {
                        self.folded = Remote::Asked;
                        loads.push(Load::Folded { frame, from: 0 });
                    }
                }
                Some(false) => {
                    if let Remote::Unasked = self.sent {
                        self.sent = Remote::Asked;
                        let session = self.session();
                        loads.push(Load::Sent { session, from: 0, count: COUNT });
                    }
                }
                None => {}
            },
        }
        loads
    }

    pub(crate) fn session(&self) -> Option<String> {
        self.answer.known().and_then(|answer| answer.frame.worked_in.clone())
    }

    /// Whether its work has come to an end, if that is known.
    pub(crate) fn is_finished(&self) -> Option<bool> {
        let answer = self.answer.known()?;
        Some(answer.frame.status.is_finished() && answer.frame.status != Status::Invalidated)
    }

    /// Returns the questions to ask again for the shown tab, after the store changed. Old answers are shown until the
    /// new ones come.
    pub(crate) fn refreshed(&mut self) -> Vec<Load> {
        let Some(frame) = self.frame else { return Vec::new() };
        let mut loads = vec![Load::Details(frame)];
        let end = |paged: &Paged| {
            let last = paged.messages.last().map_or(0, |message| message.place);
            paged.more.is_none().then_some(last)
        };
        match self.tab {
            // Finished work no longer changes its files, and reading them takes a while.
            Tab::Files if self.is_finished() != Some(true) => loads.push(Load::Diff(frame)),
            Tab::Log => loads.extend(self.log.known().and_then(end).map(|from| Load::Log {
                frame,
                from,
                count: COUNT,
            })),
            Tab::Sent if self.is_finished() == Some(false) => {
                let session = self.session();
                loads.extend(self.sent.known().map(|sent| Load::Sent {
                    session,
                    from: sent.first(),
                    count: (sent.messages.len() as u64).max(COUNT),
                }));
            }
            // The text that replaces a frame changes only with the frame, whose details show that.
            Tab::Result | Tab::Pins | Tab::Files | Tab::Sent => {}
        }
        if self.tab != Tab::Files {
            self.diff = Remote::Unasked;
        }
        if self.tab != Tab::Log {
            self.log = Remote::Unasked;
        }
        if self.tab != Tab::Sent {
            self.sent = Remote::Unasked;
            self.folded = Remote::Unasked;
        }
        loads
    }

    pub(crate) fn take_answer(
        &mut self,
        frame: FrameNum,
        answer: Result<Answer, EngineError>,
    ) -> Vec<Load> {
        if self.frame != Some(frame) {
            return Vec::new();
        }
        let before = self.answer.known().map(|answer| answer.frame.updated_at);
        self.answer.take(answer.map(Box::new));
        if before.is_some() && before != self.answer.known().map(|answer| answer.frame.updated_at) {
            self.folded = Remote::Unasked;
        }
        self.changed();
        self.wanted()
    }

    pub(crate) fn take_diff(&mut self, frame: FrameNum, diff: Result<Diff, EngineError>) {
        if self.frame == Some(frame) {
            self.diff.take(diff);
            self.changed();
        }
    }

    pub(crate) fn take_log(&mut self, frame: FrameNum, piece: Result<Piece, EngineError>) {
        if self.frame == Some(frame) {
            self.put(Tab::Log, piece);
        }
    }

    pub(crate) fn take_sent(&mut self, session: Option<&str>, piece: Result<Piece, EngineError>) {
        if self.session().as_deref() == session {
            self.put(Tab::Sent, piece);
        }
    }

    fn put(&mut self, tab: Tab, piece: Result<Piece, EngineError>) {
        self.asked = None;
        let list = if tab == Tab::Log { &mut self.log } else { &mut self.sent };
        match (list, piece) {
            (Remote::Known(paged), Ok(piece)) => {
                let before = piece.from < paged.first();
                paged.put(piece);
                if before && self.tab == tab && !self.to_end {
                    // The messages on the screen stay there: the lines before them are drawn only now.
                    self.keep_place();
                }
            }
            (list, Ok(piece)) => {
                let mut paged = Paged::default();
                paged.put(piece);
                *list = Remote::Known(paged);
            }
            (list, Err(error)) => *list = Remote::Failed(error),
        }
        self.changed();
    }

    /// Counts the place of the screen from the end, until the lines are known.
    fn keep_place(&mut self) {
        if let Some((_, body)) = &self.body {
            self.scroll = usize::MAX - body.lines.len().saturating_sub(self.scroll);
        }
    }

    pub(crate) fn take_folded(&mut self, frame: FrameNum, folded: Result<Folded, EngineError>) {
        if self.frame != Some(frame) {
            return;
        }
        self.asked = None;
        let folded = folded.map(|mut folded| {
            let messages = std::mem::take(&mut folded.left);
            let (total, from, more) = (folded.total, folded.from, folded.more);
            (folded, Piece { total, from, more, messages })
        });
        match (&mut self.folded, folded) {
            (Remote::Known((head, paged)), Ok((folded, piece))) => {
                *head = folded;
                paged.put(piece);
            }
            (list, folded) => list.take(folded.map(|(folded, piece)| {
                let mut paged = Paged::default();
                paged.put(piece);
                (folded, paged)
            })),
        }
        self.changed();
    }

    /// The lines of the tab have to be made again.
    pub(crate) fn changed(&mut self) {
        self.body = None;
    }

    /// The lines of the tab in a width; `draw` makes them where they are not known.
    pub(crate) fn body(&mut self, width: usize, draw: impl FnOnce(&Self, usize) -> Body) -> &Body {
        if self.body.as_ref().is_none_or(|(known, _)| *known != width) {
            let body = draw(self, width);
            let lines = body.lines.len();
            if self.scroll > usize::MAX / 2 {
                self.scroll = lines.saturating_sub(usize::MAX - self.scroll);
            }
            let most = lines.saturating_sub(self.height);
            self.scroll = if self.to_end { most } else { self.scroll.min(most) };
            self.body = Some((width, body));
        }
        &self.body.get_or_insert_default().1
    }

    pub(crate) fn lines(&self) -> usize {
        self.body.as_ref().map_or(0, |(_, body)| body.lines.len())
    }

    /// Scrolls, and asks for more messages near the end of the present ones.
    pub(crate) fn roll(&mut self, by: isize) -> Vec<Load> {
        self.to_end = false;
        let most = self.lines().saturating_sub(self.height);
        self.scroll = self.scroll.saturating_add_signed(by).min(most);
        self.more()
    }

    pub(crate) fn page(&mut self, by: isize) -> Vec<Load> {
        let page = isize::try_from(self.height.saturating_sub(1).max(1)).unwrap_or(isize::MAX);
        self.roll(by.saturating_mul(page))
    }

    /// Goes to the first or the last line of the whole list.
    pub(crate) fn ends(&mut self, last: bool) -> Vec<Load> {
        self.scroll = if last { self.lines().saturating_sub(self.height) } else { 0 };
        self.to_end = last;
        let Some(paged) = self.paged() else { return Vec::new() };
        let from = if last && paged.more.is_some() {
            paged.total.saturating_sub(COUNT)
        } else if !last && paged.first() > 0 {
            0
        } else {
            return Vec::new();
        };
        self.asked = Some(from);
        self.load(from, COUNT)
    }

    /// Goes to the next file or message, or the one before.
    pub(crate) fn next_mark(&mut self, by: isize) -> Vec<Load> {
        let Some((_, body)) = &self.body else { return Vec::new() };
        let scroll = self.scroll;
        let mark = if by > 0 {
            body.marks.iter().find(|mark| **mark > scroll)
        } else {
            body.marks.iter().rfind(|mark| **mark < scroll)
        };
        match mark.copied() {
            Some(mark) => {
                self.to_end = false;
                self.scroll = mark.min(self.lines().saturating_sub(self.height));
                self.more()
            }
            None => Vec::new(),
        }
    }

    /// Shows a message of the log.
    pub(crate) fn show_message(&mut self, place: u64) -> Vec<Load> {
        self.tab = Tab::Log;
        self.scroll = 0;
        self.log = Remote::Asked;
        self.changed();
        self.load(place, COUNT)
    }

    fn paged(&self) -> Option<&Paged> {
        match (self.tab, self.is_finished()) {
            (Tab::Log, _) => self.log.known(),
            (Tab::Sent, Some(false)) => self.sent.known(),
            (Tab::Sent, _) => self.folded.known().map(|(_, paged)| paged),
            _ => None,
        }
    }

    fn more(&mut self) -> Vec<Load> {
        let Some(paged) = self.paged() else { return Vec::new() };
        let near = self.scroll + 2 * self.height.max(1) >= self.lines();
        let (from, count) = match paged.more {
            Some(more) if near => (more, COUNT),
            _ if self.scroll == 0 && paged.first() > 0 => {
                let from = paged.first().saturating_sub(COUNT);
                (from, paged.first() - from)
            }
            _ => return Vec::new(),
        };
        if self.asked.replace(from) == Some(from) {
            return Vec::new();
        }
        self.load(from, count)
    }

    fn load(&self, from: u64, count: u64) -> Vec<Load> {
        let Some(frame) = self.frame else { return Vec::new() };
        vec![match (self.tab, self.is_finished()) {
            (Tab::Sent, Some(false)) => Load::Sent { session: self.session(), from, count },
            (Tab::Sent, _) => Load::Folded { frame, from },
            _ => Load::Log { frame, from, count },
        }]
    }

    /// Files that it changed, as far as it is known, those of the diff first.
    pub(crate) fn files(&self) -> Vec<String> {
        let diff = self.diff.known().into_iter().flat_map(|diff| &diff.files);
        let mut files: Vec<String> = diff.map(|file| file.path.clone()).collect();
        if let Some(answer) = self.answer.known() {
            let changes = answer.frame.evidence.changes.iter().map(|change| &change.path);
            for path in changes.chain(&answer.frame.artifacts) {
                let same = |known: &String| known == path || path.ends_with(&format!("/{known}"));
                if !files.iter().any(same) {
                    files.push(path.clone());
                }
            }
        }
        files
    }

    /// The place among the files of the one that is on the screen.
    pub(crate) fn file_on_screen(&self) -> usize {
        let marks = self.body.as_ref().map(|(_, body)| body.marks.as_slice()).unwrap_or_default();
        if self.tab != Tab::Files {
            return 0;
        }
        marks.iter().filter(|mark| **mark <= self.scroll).count().saturating_sub(1)
    }
}
