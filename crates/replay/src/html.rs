//! A page with all figures, in one file that needs no other and runs nothing.

mod svg;

use std::fmt::Write as _;

use callstack_core::control::steers;
use callstack_core::secrets::cut_to_token_budget;
use callstack_core::text::format_duration;

use crate::outline::Outline;
use crate::report::{LARGE, OfLinear, Report, SessionReport, WayReport};

const STYLE: &str = "
:root{color-scheme:light dark;--ink:#1b1f24;--dim:#667;--line:#d5d9de;--back:#fff}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8eb;--dim:#9aa;--line:#3a4048;--back:#15181c}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--back);max-width:1060px;margin:2em auto;padding:0 1em}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.6em 0}
th,td{padding:.15em .7em;text-align:right;border-bottom:1px solid var(--line)}
th:first-child,td:first-child{text-align:left}
.frames td{font-weight:600}
p,.dim{color:var(--dim)}h1,h2,h3,summary{color:var(--ink)}
svg{width:100%;height:auto;display:block;margin:.3em 0 1em}
svg text{font:11px system-ui,sans-serif;fill:var(--ink)}
ul{list-style:none;padding-left:1.2em;margin:.2em 0;border-left:1px solid var(--line)}
li{margin:.2em 0}details{margin:1em 0}
";

/// The page. Outlines are those of the report's sessions, in their order.
pub fn html(report: &Report, outlines: &[Outline]) -> String {
    let mut page = String::from(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>callstack replay</title>\n",
    );
    let mut put = |text: &str| page.push_str(text);
    put(&format!(
        "<style>{STYLE}</style>\n</head>\n<body>\n<h1>What frames would have saved</h1>\n"
    ));
    put(
        "<p>For each call of the model in these recordings, what would have been sent: everything as \
         recorded (linear), with a summary at the model's limit (compaction), with a line for each older \
         tool output (masking), the newest messages only (window), and with finished work folded (frames). \
         Told are first the tokens of the conversation alone, then those of whole requests, with system \
         prompt and tools. Billed: what a request \
         begins with in common with the one before counts 0.1, the rest 1.25, and after a pause of five \
         minutes all of it. Kept: how many of the names, paths, numbers and quoted strings that the agent \
         wrote next, and had before it as recorded, were in what was sent. Verbatim: how many of the edits \
         whose old text was before the agent as recorded still had it. With reads: what is billed when the \
         agent reads a file again for each change whose text, or file, is gone. Without pauses: the \
         shares that the same session would have if nobody had ever paused.</p>\n",
    );
    if report.sessions.len() > 1 {
        put("<h2>All sessions together</h2>\n");
        put(&table(&report.sum));
        put("<h3>Whole requests</h3>\n");
        put(&whole(&report.sum));
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
    }
    for (session, outline) in report.sessions.iter().zip(outlines) {
        put(&section(session, outline));
    }
    put("</body>\n</html>\n");
    page
}

fn section(session: &SessionReport, outline: &Outline) -> String {
    let mut text = String::new();
    let title = session.title.as_deref().unwrap_or(&session.session);
    let fit = &session.tokens;
    // Writing to a string can't fail.
    let _ = write!(
        text,
        "<h2>{}</h2>\n<p>{} {}: {} calls, {} frames, {} recorded compactions. {:.2} tokens for an \
         estimated one and {} for system prompt and tools, by {} reports of the provider.{}</p>\n",
        escaped(title),
        escaped(session.format),
        escaped(&session.session),
        session.calls,
        session.frames,
        session.compactions,
        fit.factor,
        fit.beside,
        fit.reports,
        if session.largest_step.of_largest >= LARGE {
            format!(
                " {} tokens were shown in one step, {:.0} % of the largest request ({:.0} % with system prompt \
                 and tools): the largest request can't become smaller than that.",
                session.largest_step.tokens,
                session.largest_step.of_largest * 100.0,
                session.largest_step.whole * 100.0
            )
        } else {
            String::new()
        }
    );
    text.push_str(&table(&session.ways));
    text.push_str("<h3>Whole requests</h3>\n");
    text.push_str(&whole(&session.ways));
    text.push_str("<h3>Tokens of each request</h3>\n");
    text.push_str(&svg::curves(&outline.curves));
    if outline.frames.len() > 1 {
        let took = format_duration(i64::try_from(outline.time).unwrap_or(i64::MAX));
        let _ = writeln!(text, "<h3>Frames over time ({took})</h3>");
        text.push_str(&svg::flame(&outline.frames, outline.time, |bar| bar.time));
        let _ = writeln!(
            text,
            "<h3>Frames over what was said and done ({} tokens)</h3>",
            outline.tokens
        );
        text.push_str(&svg::flame(&outline.frames, outline.tokens, |bar| bar.tokens));
        text.push_str("<details><summary>The frames and what they returned</summary>\n");
        text.push_str(&tree(outline));
        text.push_str("</details>\n");
    }
    text
}

fn tree(outline: &Outline) -> String {
    let mut text = String::new();
    let mut open = 0;
    for bar in &outline.frames {
        while open > bar.depth {
            text.push_str("</ul>\n");
            open -= 1;
        }
        while open <= bar.depth {
            text.push_str("<ul>\n");
            open += 1;
        }
        let results = cut_to_token_budget(bar.results.trim(), 60, " …");
        let _ = writeln!(
            text,
            "<li>{} {} <span class=\"dim\">{}, {} tokens</span> {}</li>",
            bar.num,
            escaped(&bar.title),
            bar.status,
            bar.tokens.1 - bar.tokens.0,
            escaped(&results)
        );
    }
    text.push_str(&"</ul>\n".repeat(open as usize));
    text
}

fn table(ways: &[WayReport]) -> String {
    let mut text = String::from(
        "<table>\n<tr><th></th><th>mean</th><th>median</th><th>largest</th><th>of linear</th><th>input</th>\
         <th>of linear</th><th>billed</th><th>of linear</th><th>kept</th><th>of</th><th></th></tr>\n",
    );
    for of in ways {
        let sizes = &of.conversation;
        let median = sizes.median.map(|median| median.to_string()).unwrap_or_default();
        let _ = writeln!(
            text,
            "<tr class=\"{0}\"><td>{0}</td><td>{1:.0}</td><td>{median}</td><td>{2}</td><td>{3:.3}</td>\
             <td>{4}</td><td>{5:.3}</td><td>{6:.2}</td><td>{7:.3}</td><td>{8}</td><td>{9}</td>\
             <td>{10:.1} %</td></tr>",
            of.way.name(),
            sizes.mean,
            sizes.largest,
            sizes.of_linear.largest,
            sizes.input,
            sizes.of_linear.input,
            sizes.billed,
            sizes.of_linear.billed,
            of.kept,
            of.used,
            of.retention * 100.0
        );
    }
    text.push_str("</table>\n");
    text
}

fn whole(ways: &[WayReport]) -> String {
    let mut text = String::from(
        "<table>\n<tr><th></th><th>largest</th><th>of linear</th><th>billed</th><th>of linear</th>\
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
            "<tr class=\"{0}\"><td>{0}</td><td>{1}</td><td>{2:.3}</td><td>{3:.2}</td><td>{4:.3}</td>\
             <td>{5:.2}</td><td>{6:.3}</td><td>{7}</td><td>{8}</td><td>{9}</td>{10}</tr>",
            of.way.name(),
            sizes.largest,
            sizes.of_linear.largest,
            sizes.billed,
            sizes.of_linear.billed,
            sizes.billed_with_reads,
            sizes.of_linear.billed_with_reads,
            of.reads,
            of.verbatim,
            of.edits,
            unpaused.as_deref().unwrap_or("<td></td><td></td>")
        );
    }
    text.push_str("</table>\n");
    text
}

fn means(report: &Report) -> String {
    let mut text = String::from(
        "<table>\n<tr><th></th><th>largest</th><th>input</th><th>billed</th><th>with reads</th>\
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
    text.push_str("</table>\n");
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
            // What reorders or hides text.
            _ if steers(char) || matches!(char, '\u{200b}'..='\u{200d}') => {
                shown.push('\u{fffd}');
            }
            _ => shown.push(char),
        }
    }
    shown
}
