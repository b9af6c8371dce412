//! Dialogs, above the panes.

use callstack_engine::search::SearchHit;
use callstack_engine::{EngineError, Hint, Restoring, RollbackPlan, Why};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Widget as _};
use unicode_width::UnicodeWidthStr as _;

use super::bar::part_name;
use super::theme::{BOLD, DIM, PLAIN, SELECTED, Theme};
use super::writer::{Writer, fitted, short};
use crate::data::answers::Window;
use crate::model::app::{App, Target};
use crate::model::details::Remote;
use crate::model::dialog::{Dialog, Launch, Pick, Preview, Search};
use crate::model::form::{Entry, Form, quoted};
use crate::model::keys::KEYS;

/// The most columns of a dialog.
const WIDEST: u16 = 100;
/// Rows of a text in a form.
const TEXT: u16 = 3;
/// Messages of a part that are shown, the largest first.
const MESSAGES: usize = 8;

pub(crate) fn draw(frame: &mut Frame<'_>, app: &mut App, theme: Theme) {
    let Some(mut dialog) = app.dialog.take() else { return };
    // A click beside the dialog's own places means nothing.
    app.targets.clear();
    match &mut dialog {
        Dialog::Help { scroll } => text(frame, app, ("Keys", scroll, &[]), &help(theme)),
        Dialog::Window { scroll } => {
            let room = usize::from(width(frame.area()));
            let lines = window(&app.window, room, theme);
            text(frame, app, ("What fills the next request", scroll, &[]), &lines);
        }
        Dialog::Failed(error) => {
            let lines = failed(error, app.options.for_a_terminal, width(frame.area()), theme);
            text(frame, app, ("That did not work", &mut 0, &[]), &lines);
        }
        Dialog::Command(launch) => {
            let lines = command(launch, width(frame.area()), theme);
            text(frame, app, ("Leave the tree for a while?", &mut 0, &["↵ go"]), &lines);
        }
        Dialog::Rollback(preview) => rollback(frame, app, preview, theme),
        Dialog::Pick(pick) => draw_pick(frame, app, pick),
        Dialog::Search(search) => draw_search(frame, app, search, theme),
        Dialog::Form(form) => draw_form(frame, app, form, theme),
    }
    app.dialog = Some(dialog);
}

/// The columns inside of a dialog.
fn width(area: Rect) -> u16 {
    area.width.saturating_sub(6).clamp(4, WIDEST)
}

/// Opens a box in the middle of the screen, and returns its inside.
fn open(frame: &mut Frame<'_>, title: &str, lines: usize) -> Rect {
    let area = frame.area();
    let inner = width(area).min(area.width.saturating_sub(2));
    let most = area.height.saturating_sub(2);
    let rows = u16::try_from(lines).unwrap_or(u16::MAX).saturating_add(2).min(most);
    let columns = (inner + 4).min(area.width);
    let outer = Rect {
        x: area.x + (area.width - columns) / 2,
        y: area.y + (area.height - rows) / 2,
        width: columns,
        height: rows,
    };
    Clear.render(outer, frame.buffer_mut());
    let title = format!(" {} ", fitted(title, usize::from(inner.saturating_sub(2))));
    Block::bordered().title(title).border_style(BOLD).render(outer, frame.buffer_mut());
    Rect {
        x: outer.x + 2.min(outer.width),
        y: outer.y + 1.min(outer.height),
        width: columns.saturating_sub(4),
        height: rows.saturating_sub(2),
    }
}

/// Draws buttons into the last line of a dialog.
fn buttons(frame: &mut Frame<'_>, app: &mut App, inner: Rect, names: &[(&str, Target)]) {
    let Some(y) = inner.bottom().checked_sub(1).filter(|_| inner.height > 0) else { return };
    let mut x = inner.x;
    for (name, target) in names {
        let text = format!("[ {name} ]");
        let columns = u16::try_from(text.width()).unwrap_or(0);
        if x + columns > inner.right() {
            break;
        }
        frame.buffer_mut().set_string(x, y, text, BOLD);
        app.targets.push((Rect::new(x, y, columns, 1), *target));
        x += columns + 2;
    }
}

/// Draws lines that can be scrolled, with the given buttons and one that closes.
fn text(
    frame: &mut Frame<'_>,
    app: &mut App,
    (title, scroll, agree): (&str, &mut usize, &[&str]),
    lines: &[Line<'_>],
) {
    let inner = open(frame, title, lines.len() + 2);
    let room = usize::from(inner.height.saturating_sub(2));
    *scroll = (*scroll).min(lines.len().saturating_sub(room));
    for (line, y) in lines.iter().skip(*scroll).take(room).zip(inner.y..inner.bottom()) {
        frame.buffer_mut().set_line(inner.x, y, line, inner.width);
    }
    let mut names: Vec<_> = agree.iter().map(|name| (*name, Target::Agree)).collect();
    names.push((if agree.is_empty() { "Esc close" } else { "Esc cancel" }, Target::Cancel));
    if lines.len() > room {
        names.push(("↑↓ more", Target::Item(0)));
    }
    buttons(frame, app, inner, &names);
}

fn help(theme: Theme) -> Vec<Line<'static>> {
    let mut writer = Writer::new(usize::from(WIDEST));
    for (heading, bindings) in KEYS {
        writer.gap();
        writer.line(&[(BOLD, heading)]);
        for binding in *bindings {
            let keys = binding.keys.join(" ");
            let pad = " ".repeat(10_usize.saturating_sub(keys.width()));
            writer.line(&[
                (theme.hint(), &format!("  {keys}{pad}")),
                (PLAIN, &format!(" {}", binding.effect)),
            ]);
        }
    }
    writer.gap();
    let signs = "Signs: ○ planned, ▶ in progress, ✓ completed, ✗ failed, ‖ blocked, ⊘ invalidated";
    writer.text(DIM, "", signs);
    let more = "◌ never ended in an imported session, ← open, ↗ worked on in a session of its own, * finished but still sent step by step";
    writer.text(DIM, "", more);
    writer.finish().lines
}

fn window(window: &Remote<Window>, room: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut writer = Writer::new(room);
    match window {
        Remote::Known(window) => {
            let limit = window.limit.map(|limit| format!(" of {}", short(limit)));
            let basis = if window.basis == "reported" { "" } else { ", estimated" };
            let sum = format!(
                "{} tokens{}{basis} · session {}",
                short(window.tokens),
                limit.unwrap_or_default(),
                window.session
            );
            writer.text(PLAIN, "", &sum);
            for part in window.parts.iter().filter(|part| part.tokens > 0) {
                writer.gap();
                let share = 100.0 * part.tokens as f64 / window.tokens.max(1) as f64;
                writer.line(&[
                    (theme.part(&part.kind).patch(BOLD), part_name(&part.kind)),
                    (PLAIN, &format!("  {} tokens, {share:.0}%", short(part.tokens))),
                    (DIM, &format!("  {}", part_meaning(&part.kind))),
                ]);
                let mut messages: Vec<_> = part.messages.iter().collect();
                messages.sort_by_key(|message| std::cmp::Reverse(message.tokens));
                let rest = messages.len().saturating_sub(MESSAGES);
                for message in messages.into_iter().take(MESSAGES) {
                    let frame = message.frame.as_deref().unwrap_or(message.role.as_str());
                    writer.line(&[
                        (PLAIN, &format!("{:>7} ", short(message.tokens))),
                        (theme.hint(), &format!("{frame} ")),
                        (PLAIN, &message.line),
                    ]);
                }
                if rest > 0 {
                    writer.line(&[(DIM, &format!("        and {rest} smaller ones"))]);
                }
            }
        }
        Remote::Failed(error) => writer.text(theme.bad(), "", &error.message),
        Remote::Asked | Remote::Unasked => writer.text(DIM, "", "Reading…"),
    }
    writer.finish().lines
}

fn part_meaning(kind: &str) -> &'static str {
    match kind {
        "system" => "the agent's instructions and tools",
        "pins" => "pinned rules",
        "summary" => "the last compaction's summary",
        "results" => "what stands for finished frames",
        "user" => "your words",
        "live" => "steps that are sent as they were",
        "notes" => "callstack's reminders",
        _ => "",
    }
}

fn failed(
    error: &EngineError,
    for_a_terminal: fn(&Hint) -> String,
    room: u16,
    theme: Theme,
) -> Vec<Line<'static>> {
    let mut writer = Writer::new(usize::from(room));
    writer.text(theme.bad(), "", &error.message);
    if let Some(hint) = &error.hint {
        writer.gap();
        writer.text(theme.hint(), "", &for_a_terminal(hint));
    }
    writer.finish().lines
}

fn command(launch: &Launch, room: u16, theme: Theme) -> Vec<Line<'static>> {
    let mut writer = Writer::new(usize::from(room));
    writer.text(PLAIN, "", &launch.about);
    writer.text(PLAIN, "", "The tree comes back when it ends.");
    writer.gap();
    let words: Vec<_> = launch.words.iter().map(|word| quoted(word)).collect();
    writer.text(theme.hint(), "  ", &words.join(" "));
    writer.finish().lines
}

fn rollback(frame: &mut Frame<'_>, app: &mut App, preview: &mut Preview, theme: Theme) {
    let mut writer = Writer::new(usize::from(width(frame.area())));
    let mut agrees: &[&str] = &[];
    match &preview.plan {
        Remote::Known(plan) => {
            plan_lines(&mut writer, plan, preview.rollback.undo, theme);
            if !plan.restored.is_empty() {
                agrees = &["↵ restore them"];
            }
        }
        Remote::Failed(error) => {
            writer.text(theme.bad(), "", &error.message);
            if let Some(hint) = &error.hint {
                writer.text(theme.hint(), "", &(app.options.for_a_terminal)(hint));
            }
        }
        Remote::Asked | Remote::Unasked => {
            writer.text(DIM, "", "Looking at the files…");
        }
    }
    let mut command = format!("callstack rollback {}", preview.rollback.frame);
    command.push_str(if preview.rollback.undo { " --undo" } else { "" });
    command.push_str(if preview.rollback.all { " --all" } else { "" });
    writer.gap();
    writer.text(DIM, "", &command);
    if !preview.rollback.undo && preview.plan.known().is_some() {
        let all = if preview.rollback.all {
            "a: only files that its tools were seen writing"
        } else {
            "a: also files that changed without a tool that was seen"
        };
        writer.text(DIM, "", all);
    }
    let frame_num = preview.rollback.frame;
    let title = if preview.rollback.undo {
        format!("Take the last rollback of {frame_num} back?")
    } else {
        format!("Undo what {frame_num} did to files?")
    };
    let lines = writer.finish().lines;
    text(frame, app, (&title, &mut preview.scroll, agrees), &lines);
}

fn plan_lines(writer: &mut Writer, plan: &RollbackPlan, undo: bool, theme: Theme) {
    if plan.restored.is_empty() {
        writer.text(PLAIN, "", "There is nothing to restore.");
    }
    for file in &plan.restored {
        let how = match file.how {
            Restoring::Reverted => "as it was",
            Restoring::Removed => "removed, it was not there",
            Restoring::BroughtBack => "brought back",
        };
        writer.line(&[(PLAIN, &file.path), (DIM, &format!("  {how}"))]);
    }
    if !plan.restored.is_empty() && !undo {
        writer.gap();
        let warning = if plan.from_before {
            "How it found the files is not recorded: they go back to the nearest state before it."
        } else {
            "What anybody else changed in them since it began goes, too. `U` takes it all back."
        };
        writer.text(theme.warn(), "", warning);
    }
    if !plan.left.is_empty() {
        writer.gap();
        writer.line(&[(BOLD, "Left as they are")]);
    }
    for file in &plan.left {
        writer
            .line(&[(PLAIN, &format!("  {}", file.path)), (DIM, &format!("  {}", why(file.why)))]);
    }
}

fn why(why: Why) -> &'static str {
    match why {
        Why::ChangedSince => "has changed since",
        Why::NotRecorded => "what it held is not recorded",
        Why::EndUnknown => "may be somebody's later work",
        Why::BeginUnknown => "may be earlier work",
        Why::WrittenMeanwhile => "somebody wrote to it meanwhile",
        Why::NotText => "its name is no text",
        Why::NotWritable => "can't be written",
        Why::NotSeen => "no tool of the frame was seen writing it",
    }
}

fn draw_pick(frame: &mut Frame<'_>, app: &mut App, pick: &Pick) {
    let inner = open(frame, &pick.title, pick.items.len() + 2);
    let room = usize::from(inner.height.saturating_sub(2)).max(1);
    let top = (pick.at + 1).saturating_sub(room);
    let items = pick.items.iter().enumerate().skip(top).take(room);
    for ((at, item), y) in items.zip(inner.y..inner.bottom()) {
        let style = if at == pick.at { SELECTED } else { PLAIN };
        let mark = if at == pick.at { "›" } else { " " };
        let text = fitted(&format!("{mark} {item}"), usize::from(inner.width));
        frame.buffer_mut().set_string(inner.x, y, text, style);
        app.targets.push((Rect { y, height: 1, ..inner }, Target::Item(at)));
    }
    let names = [("↵ this one", Target::Agree), ("Esc cancel", Target::Cancel)];
    buttons(frame, app, inner, &names);
}

fn draw_search(frame: &mut Frame<'_>, app: &mut App, search: &Search, theme: Theme) {
    let rows = usize::from(frame.area().height).saturating_sub(6);
    let inner = open(frame, "Search everything that is kept", rows);
    let room = usize::from(inner.width);
    let input = format!("› {}▏", search.text);
    // The end of a long query is what is being written.
    let start = input.char_indices().map(|(at, _)| at);
    let mut start = start.skip_while(|at| input.get(*at..).is_some_and(|it| it.width() > room));
    let shown = input.get(start.next().unwrap_or(0)..).unwrap_or_default();
    frame.buffer_mut().set_stringn(inner.x, inner.y, shown, room, BOLD);
    let list =
        Rect { y: inner.y + 2.min(inner.height), height: inner.height.saturating_sub(4), ..inner };
    let hint = match &search.found {
        Remote::Unasked => {
            "Words, in any order; a \"quoted string\"; a path. ↵ searches.".to_owned()
        }
        Remote::Asked => "Searching…".to_owned(),
        Remote::Failed(error) => error.message.clone(),
        Remote::Known(found) if found.is_empty() => format!("Nothing holds {}.", search.asked),
        Remote::Known(_) => String::new(),
    };
    let hint = fitted(&hint, room);
    frame.buffer_mut().set_stringn(list.x, list.y, hint, room, DIM);
    let places = search.found.known().map(Vec::as_slice).unwrap_or_default();
    let fits = usize::from(list.height / 2).max(1);
    let top = (search.at + 1).saturating_sub(fits);
    for (line, (at, place)) in places.iter().enumerate().skip(top).take(fits).enumerate() {
        let y = list.y + u16::try_from(2 * line).unwrap_or(0);
        if y + 1 >= list.bottom().max(list.y + 2) {
            break;
        }
        draw_place(frame, Rect { y, height: 2, ..list }, place, at == search.at, theme);
        app.targets.push((Rect { y, height: 2, ..list }, Target::Item(at)));
    }
    let go = if search.asked == search.text.trim() && !places.is_empty() {
        "↵ go there"
    } else {
        "↵ search"
    };
    buttons(frame, app, inner, &[(go, Target::Agree), ("Esc close", Target::Cancel)]);
}

fn draw_place(
    frame: &mut Frame<'_>,
    area: Rect,
    place: &SearchHit,
    is_selected: bool,
    theme: Theme,
) {
    let mut writer = Writer::new(usize::from(area.width));
    let style = if is_selected { SELECTED } else { BOLD };
    let (handle, title) = match &place.frame {
        Some(found) => (found.handle.as_str(), found.title.as_str()),
        None => ("no frame", ""),
    };
    let message = place.message.as_ref();
    let message = message.map(|it| format!("  message {} ({})", it.position, it.role));
    writer.line(&[
        (style, if is_selected { "› " } else { "  " }),
        (style, handle),
        (style, " "),
        (style, title),
        (DIM, message.as_deref().unwrap_or_default()),
    ]);
    let mut parts = vec![(PLAIN, "    ")];
    let mut at = 0;
    for [start, end] in &place.marks {
        parts.push((PLAIN, place.snippet.get(at..*start).unwrap_or_default()));
        parts.push((theme.warn(), place.snippet.get(*start..*end).unwrap_or_default()));
        at = *end;
    }
    parts.push((PLAIN, place.snippet.get(at..).unwrap_or_default()));
    writer.line(&parts);
    for (line, y) in writer.finish().lines.iter().zip(area.y..area.bottom()) {
        frame.buffer_mut().set_line(area.x, y, line, area.width);
    }
}

fn draw_form(frame: &mut Frame<'_>, app: &mut App, form: &Form, theme: Theme) {
    let room = usize::from(width(frame.area()));
    let mut about = Writer::new(room);
    about.text(PLAIN, "", &form.about);
    let about = about.finish().lines;
    let mut command = Writer::new(room);
    command.text(DIM, "", &form.command_line());
    let command = command.finish().lines;
    let height = |entry: &Entry| match entry {
        Entry::Text(area) => u16::try_from(area.lines().len()).unwrap_or(TEXT).clamp(1, TEXT),
        Entry::Choice { .. } => 1,
    };
    let fields: u16 = form.fields.iter().map(|field| height(&field.value) + 1).sum();
    let inner = open(frame, &form.title, about.len() + command.len() + usize::from(fields) + 4);
    let mut y = inner.y;
    let bottom = inner.bottom().saturating_sub(1);
    let put = |frame: &mut Frame<'_>, y: &mut u16, line: &Line<'_>| {
        if *y < bottom {
            frame.buffer_mut().set_line(inner.x, *y, line, inner.width);
            *y += 1;
        }
    };
    for line in &about {
        put(frame, &mut y, line);
    }
    y += 1;
    for (place, field) in form.fields.iter().enumerate() {
        let is_here = place == form.at;
        let mark = if is_here { "› " } else { "  " };
        let missing = form.missing.is_some_and(|missing| missing == field.label);
        let missing = if missing { "  is needed" } else { "" };
        let spans = [
            ratatui::text::Span::styled(format!("{mark}{}", field.label), BOLD),
            ratatui::text::Span::styled(missing, theme.bad()),
        ];
        let from = y;
        put(frame, &mut y, &Line::from(spans.to_vec()));
        let rows = height(&field.value).min(bottom.saturating_sub(y));
        let area = Rect { x: inner.x + 2, y, width: inner.width.saturating_sub(2), height: rows };
        match &field.value {
            Entry::Text(text) => {
                let mut text = (**text).clone();
                if !is_here {
                    text.set_cursor_style(PLAIN);
                }
                if area.height > 0 {
                    frame.render_widget(&text, area);
                }
            }
            Entry::Choice { of, at } => {
                let mut x = area.x;
                for (choice, name) in of.iter().enumerate() {
                    let shown =
                        if choice == *at { format!("[{name}]") } else { format!(" {name} ") };
                    let style =
                        if choice == *at { if is_here { SELECTED } else { BOLD } } else { DIM };
                    let left = usize::from(area.right().saturating_sub(x));
                    if area.height > 0 {
                        (x, _) = frame.buffer_mut().set_stringn(x, area.y, shown, left, style);
                    }
                }
            }
        }
        y += rows;
        app.targets.push((Rect { y: from, height: y - from, ..inner }, Target::Item(place)));
    }
    if !form.fields.is_empty() {
        y += 1;
    }
    for line in &command {
        put(frame, &mut y, line);
    }
    let last = form.at + 1 >= form.fields.len();
    let go = if last { "↵ do it" } else { "Do it" };
    let mut names = vec![(go, Target::Agree), ("Esc cancel", Target::Cancel)];
    if form.fields.len() > 1 {
        names.push(("Tab next field", Target::Item((form.at + 1) % form.fields.len())));
    }
    buttons(frame, app, inner, &names);
}
