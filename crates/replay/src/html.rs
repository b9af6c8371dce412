//! A page with all figures, in one file that needs no other and runs nothing.

mod frames;
mod svg;

use std::fmt::Write as _;

use callstack_core::control::steers;
use callstack_core::text::format_duration;

use crate::outline::{Bar, Outline};
use crate::report::{LARGE, OfLinear, Report, SessionReport, WayReport};
use crate::told::{change, rounded, thousands};
use crate::ways::Way;

use self::svg::Unit;

const STYLE: &str = "
:root{color-scheme:light dark;--ink:#1b1f24;--dim:#667;--line:#d5d9de;--back:#fff;--here:#2f9e5722}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8eb;--dim:#9aa;--line:#3a4048;--back:#15181c}}
*{box-sizing:border-box}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--back);max-width:960px;margin:1.5em auto;padding:0 1em;overflow-wrap:anywhere}
.wide{overflow-x:auto;margin:.4em 0 1em}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.15em .6em;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th:first-child,td:first-child{text-align:left;padding-left:0}
.frames td,.frames th,.change{font-weight:600}
p,.dim,dd{color:var(--dim)}h1,h2,h3,summary,dt{color:var(--ink)}h1{line-height:1.2}
svg{width:100%;min-width:600px;height:auto;display:block}
svg text{font:12px system-ui,sans-serif;fill:var(--ink)}
svg a:hover rect,svg a:focus rect{fill-opacity:.85}
ul{list-style:none;padding-left:.9em;margin:.2em 0;border-left:1px solid var(--line)}
li{margin:.2em 0}a{color:inherit}details{margin:1em 0}summary{cursor:pointer}
.more{display:none;border-left:3px solid #2f9e57;padding-left:.8em;margin:.3em 0 1em}
:target{background:var(--here)}:target+.more{display:block}
.more h4{margin:.8em 0 .2em}.more p{margin:0;color:var(--ink)}
.log{margin:0;padding:0;list-style:none;font-size:13px}.log b{display:inline-block;min-width:3.2em;font-weight:600}
@media(max-width:480px){body{padding:0 .7em;margin:.8em auto}h1{font-size:1.4em}h2{font-size:1.15em}th,td{padding:.15em .4em}}
@media print{.more{display:block}}
";

/// The meanings of the words in the tables.
const WORDS: [(&str, &str); 10] = [
    ("linear", "Everything is sent, as recorded."),
    ("compaction", "A summary replaces what was said before, at the model's limit."),
    ("masking", "A line replaces each older tool output."),
    ("window", "Only the newest messages are sent."),
    ("frames", "Finished work is folded."),
    (
        "bill, billed",
        "What a request has in common with the beginning of the one before counts 0.1, the rest 1.25. After a \
         pause of five minutes all of it counts 1.25.",
    ),
    (
        "with reads",
        "The bill if the agent reads a file again for each edit whose old text, or file, is no longer in what \
         is sent.",
    ),
    (
        "kept",
        "How many of the names, paths, numbers and quoted strings that the agent wrote next, and had read \
         before, are in what is sent.",
    ),
    (
        "text at hand, verbatim",
        "How many of the edits have their old text in what is sent, of those that had it as recorded.",
    ),
    ("without pauses", "The same if nobody had ever paused."),
];

/// The page's title in a browser.
const TITLE: &str = "callstack replay";

/// Whether a file that begins so is such a page.
pub fn is_page(head: &[u8]) -> bool {
    String::from_utf8_lossy(head).contains(&format!("<title>{TITLE}</title>"))
}

/// The page. Outlines are those of the report's sessions, in their order.
pub fn html(report: &Report, outlines: &[Outline]) -> String {
    let mut page = String::from(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>",
    );
    page.push_str(TITLE);
    page.push_str("</title>\n");
    let mut put = |text: &str| page.push_str(text);
    put(&format!(
        "<style>{STYLE}</style>\n</head>\n<body>\n<h1>What frames would have saved</h1>\n"
    ));
    put(&verdict(report));
    put("<details><summary>What the words mean</summary>\n<dl>\n");
    for (word, meaning) in WORDS {
        put(&format!("<dt>{word}</dt><dd>{meaning}</dd>\n"));
    }
    put("</dl>\n</details>\n");
    if report.sessions.len() > 1 {
        put("<details><summary>All figures of all sessions together</summary>\n");
        put(&tables(&report.sum));
        if report.mean.sessions > 0 {
            let (count, from) = (report.mean.sessions, report.mean.from_calls);
            put(&if count == 1 {
                "<h3>Of linear</h3>\n".to_owned()
            } else {
                format!(
                    "<h3>In the mean of {count} sessions with at least {from} calls, of linear</h3>\n"
                )
            });
            put(&means(report));
        }
        put("</details>\n");
    }
    for (number, (session, outline)) in (1..).zip(report.sessions.iter().zip(outlines)) {
        put(&section(number, session, outline));
    }
    put("</body>\n</html>\n");
    page
}

/// Returns the first words of the command line's report, with the same figures.
fn verdict(report: &Report) -> String {
    let find = |way: Way| report.sum.iter().find(|it| it.way == way);
    let (Some(linear), Some(frames)) = (find(Way::Linear), find(Way::Frames)) else {
        return String::new();
    };
    let calls = report.sessions.iter().map(|it| it.calls).sum();
    let count: usize = report.sessions.iter().map(|it| it.frames).sum();
    let mut text = format!(
        "<p>{} of the model in {}, {}. Tokens of whole requests, with system prompt and tools.</p>\n<div class=\"wide\"><table>\n\
         <tr><th></th><th>as recorded</th><th>with frames</th><th></th></tr>\n",
        counted(calls, "call"),
        counted(report.sessions.len() as u64, "session"),
        counted(count as u64, "frame"),
    );
    let bill = rounded(linear.whole.billed);
    for (name, from, to) in [
        ("Largest request", linear.whole.largest, frames.whole.largest),
        ("Tokens sent", linear.whole.input, frames.whole.input),
        ("Bill", bill, rounded(frames.whole.billed)),
        ("Bill with reads", bill, rounded(frames.whole.billed_with_reads)),
    ] {
        // Writing to a string can't fail.
        let _ = writeln!(
            text,
            "<tr><th scope=\"row\">{name}</th><td>{}</td><td>{}</td><td class=\"change\">{}</td></tr>",
            thousands(from),
            thousands(to),
            change(from, to)
        );
    }
    if frames.edits > 0 {
        let _ = writeln!(
            text,
            "<tr><th scope=\"row\">Text at hand</th><td>{1} edits</td><td>{0} of {1}</td><td></td></tr>",
            thousands(frames.verbatim),
            thousands(frames.edits)
        );
    }
    text.push_str("</table></div>\n");
    text
}

fn section(number: usize, session: &SessionReport, outline: &Outline) -> String {
    let mut text = String::new();
    let title = session.title.as_deref().unwrap_or(&session.session);
    let fit = &session.tokens;
    // Writing to a string can't fail.
    let _ = write!(
        text,
        "<h2>{}</h2>\n<p>{} {}: {}, {}, {}.{}</p>\n",
        escaped(title),
        escaped(session.format),
        escaped(&session.session),
        counted(session.calls, "call"),
        counted(session.frames as u64, "frame"),
        counted(session.compactions as u64, "recorded compaction"),
        if session.largest_step.of_largest >= LARGE {
            format!(
                " {} tokens were shown in one step, {:.0} % of the largest request ({:.0} % with system prompt \
                 and tools): the largest request can't become smaller than that.",
                thousands(session.largest_step.tokens),
                session.largest_step.of_largest * 100.0,
                session.largest_step.whole * 100.0
            )
        } else {
            String::new()
        }
    );
    text.push_str("<h3>Tokens of each request</h3>\n");
    text.push_str(&svg::curves(&outline.curves));
    if !outline.frames.is_empty() {
        let target = |bar: &Bar| format!("s{number}-{}", bar.num);
        let took = format_duration(i64::try_from(outline.time).unwrap_or(i64::MAX));
        let _ = writeln!(text, "<h3>Frames over time ({took})</h3>");
        text.push_str(&svg::flame(&outline.frames, outline.time, Unit::Time, target));
        let _ = writeln!(
            text,
            "<h3>Frames over what was said and done ({} tokens)</h3>",
            thousands(outline.tokens)
        );
        text.push_str(&svg::flame(&outline.frames, outline.tokens, Unit::Tokens, target));
        text.push_str(
            "<h3>The frames</h3>\n<p>Choose one to see its result, its files and its log.</p>\n",
        );
        text.push_str(&frames::tree(&outline.frames, target));
    }
    let _ = writeln!(
        text,
        "<details><summary>All figures of this session</summary>\n<p>{:.2} tokens for an estimated one and {} \
         for system prompt and tools, by {} of the provider.</p>",
        fit.factor,
        thousands(fit.beside),
        counted(fit.reports as u64, "report"),
    );
    text.push_str(&tables(&session.ways));
    text.push_str("</details>\n");
    text
}

/// A number of things: `1 frame`, `2,000 frames`.
fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", thousands(count), if count == 1 { "" } else { "s" })
}

fn tables(ways: &[WayReport]) -> String {
    let (conversation, whole) = (table(ways), whole(ways));
    format!("<h3>The conversation alone</h3>\n{conversation}<h3>Whole requests</h3>\n{whole}")
}

fn table(ways: &[WayReport]) -> String {
    let mut text = String::from(
        "<div class=\"wide\"><table>\n<tr><th></th><th>mean</th><th>median</th><th>largest</th><th>of linear</th><th>input</th>\
         <th>of linear</th><th>billed</th><th>of linear</th><th>kept</th><th>of</th><th></th></tr>\n",
    );
    for of in ways {
        let sizes = &of.conversation;
        let median = sizes.median.map(thousands).unwrap_or_default();
        let _ = writeln!(
            text,
            "<tr class=\"{0}\"><td>{0}</td><td>{1}</td><td>{median}</td><td>{2}</td><td>{3:.3}</td>\
             <td>{4}</td><td>{5:.3}</td><td>{6}</td><td>{7:.3}</td><td>{8}</td><td>{9}</td>\
             <td>{10:.1} %</td></tr>",
            of.way.name(),
            thousands(rounded(sizes.mean)),
            thousands(sizes.largest),
            sizes.of_linear.largest,
            thousands(sizes.input),
            sizes.of_linear.input,
            thousands(rounded(sizes.billed)),
            sizes.of_linear.billed,
            thousands(of.kept),
            thousands(of.used),
            of.retention * 100.0
        );
    }
    text.push_str("</table></div>\n");
    text
}

fn whole(ways: &[WayReport]) -> String {
    let mut text = String::from(
        "<div class=\"wide\"><table>\n<tr><th></th><th>largest</th><th>of linear</th><th>billed</th><th>of linear</th>\
         <th>with reads</th><th>of linear</th><th>reads</th><th>verbatim</th><th>of</th>\
         <th>without pauses: largest</th><th>with reads</th></tr>\n",
    );
    for of in ways {
        let sizes = &of.whole;
        let unpaused = of.without_pauses.map(|it| {
            format!("<td>{:.3}</td><td>{:.3}</td>", it.whole.largest, it.whole.billed_with_reads)
        });
        let _ = writeln!(
            text,
            "<tr class=\"{0}\"><td>{0}</td><td>{1}</td><td>{2:.3}</td><td>{3}</td><td>{4:.3}</td>\
             <td>{5}</td><td>{6:.3}</td><td>{7}</td><td>{8}</td><td>{9}</td>{10}</tr>",
            of.way.name(),
            thousands(sizes.largest),
            sizes.of_linear.largest,
            thousands(rounded(sizes.billed)),
            sizes.of_linear.billed,
            thousands(rounded(sizes.billed_with_reads)),
            sizes.of_linear.billed_with_reads,
            thousands(of.reads),
            thousands(of.verbatim),
            thousands(of.edits),
            unpaused.as_deref().unwrap_or("<td></td><td></td>")
        );
    }
    text.push_str("</table></div>\n");
    text
}

fn means(report: &Report) -> String {
    let mut text = String::from(
        "<div class=\"wide\"><table>\n<tr><th></th><th>largest</th><th>input</th><th>billed</th><th>with reads</th>\
         <th>kept</th><th>verbatim</th></tr>\n",
    );
    let mut row = |name: &str, of: &OfLinear, shares: &str| {
        let _ = writeln!(
            text,
            "<tr class=\"{0}\"><td>{name}</td><td>{1:.3}</td><td>{2:.3}</td><td>{3:.3}</td>\
             <td>{4:.3}</td>{shares}</tr>",
            name.split(',').next().unwrap_or_default(),
            of.largest,
            of.input,
            of.billed,
            of.billed_with_reads
        );
    };
    for of in &report.mean.ways {
        let name = of.way.name();
        let shares = |verbatim: f64| {
            let (kept, verbatim) = (of.retention * 100.0, verbatim * 100.0);
            format!("<td>{kept:.1} %</td><td>{verbatim:.1} %</td>")
        };
        row(name, &of.of_linear, &shares(of.verbatim_share));
        row(&format!("{name}, whole requests"), &of.whole, "<td></td><td></td>");
        let unpaused = of.without_pauses.verbatim_share * 100.0;
        row(
            &format!("{name}, whole requests without pauses"),
            &of.without_pauses.whole,
            &format!("<td></td><td>{unpaused:.1} %</td>"),
        );
    }
    text.push_str("</table></div>\n");
    text
}

/// Text that comes from a model, a tool or a user, as a page may hold it.
fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => shown.push_str("&amp;"),
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '"' => shown.push_str("&quot;"),
            '\'' => shown.push_str("&#39;"),
            '\n' | '\t' => shown.push(' '),
            // Characters that reorder or hide text.
            _ if steers(char) || matches!(char, '\u{200b}'..='\u{200d}') => {
                shown.push('\u{fffd}');
            }
            _ => shown.push(char),
        }
    }
    shown
}
