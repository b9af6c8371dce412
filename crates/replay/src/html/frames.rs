//! The frames of a session as a list: each with its result, its files and the beginning of its log.

use std::fmt::Write as _;

use callstack_core::secrets::cut_to_token_budget;
use callstack_core::text::format_duration;

use crate::outline::Bar;
use crate::told::thousands;

use super::escaped;

/// Tokens of a result.
const RESULT: usize = 400;

/// Returns the list. The details of a frame are shown once it is chosen.
pub(super) fn tree(bars: &[Bar], target: impl Fn(&Bar) -> String) -> String {
    let mut text = String::new();
    let mut open = 0;
    for bar in bars {
        while open > bar.depth {
            text.push_str("</ul>\n");
            open -= 1;
        }
        while open <= bar.depth {
            text.push_str("<ul>\n");
            open += 1;
        }
        let target = target(bar);
        let took = i64::try_from(bar.time.1.saturating_sub(bar.time.0)).unwrap_or(i64::MAX);
        // Writing to a string can't fail.
        let _ = writeln!(
            text,
            "<li><div id=\"{target}\"><a href=\"#{target}\">{} {}</a> <span class=\"dim\">{}, {}, {} tokens\
             </span></div>\n<div class=\"more\">",
            bar.num,
            escaped(&bar.title),
            bar.status.as_str().replace('_', " "),
            format_duration(took),
            thousands(bar.tokens.1.saturating_sub(bar.tokens.0)),
        );
        more(&mut text, bar);
        text.push_str("</div></li>\n");
    }
    text.push_str(&"</ul>\n".repeat(open as usize));
    text
}

fn more(text: &mut String, bar: &Bar) {
    let results = cut_to_token_budget(bar.results.trim(), RESULT, " …");
    let results = if results.is_empty() { "None was given." } else { results.as_ref() };
    // Writing to a string can't fail.
    let _ = writeln!(text, "<h4>Result</h4><p>{}</p>", escaped(results));
    if !bar.files.is_empty() {
        text.push_str("<h4>Files</h4>\n<ul>\n");
        for file in &bar.files {
            let _ = writeln!(text, "<li>{}</li>", escaped(file));
        }
        text.push_str("</ul>\n");
    }
    if !bar.log.is_empty() {
        text.push_str("<h4>Log</h4>\n<ol class=\"log\">\n");
        for line in &bar.log {
            let _ = writeln!(text, "<li><b>{}</b> {}</li>", line.who, escaped(&line.text));
        }
        text.push_str("</ol>\n");
    }
    if bar.more > 0 {
        let _ = writeln!(
            text,
            "<p class=\"dim\">and {} more: <code>callstack import</code> keeps all of it</p>",
            thousands(bar.more as u64)
        );
    }
}
