//! Drawings.

use std::fmt::Write as _;

use callstack_core::frame::Status;
use callstack_core::text::format_duration;

use crate::outline::Bar;
use crate::told::thousands;
use crate::ways::Way;

use super::escaped;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 240.0;
/// Room for the numbers at the left, for the names at the right ends of the lines, and above.
const LEFT: f64 = 72.0;
const RIGHT: f64 = 92.0;
const TOP: f64 = 14.0;
/// Room for an axis below a drawing, and for its label below that.
const AXIS: f64 = 20.0;
const COUNTED: f64 = 18.0;
const ROW: f64 = 24.0;
/// A letter, and the line that it is on.
const LETTER: f64 = 6.8;
const LINE: f64 = 14.0;
/// Marks on an axis, at most.
const MARKS: u64 = 6;

/// Milliseconds between marks on an axis of time.
const STEPS: [u64; 20] = [
    1_000,
    2_000,
    5_000,
    10_000,
    15_000,
    30_000,
    60_000,
    120_000,
    300_000,
    600_000,
    900_000,
    1_800_000,
    3_600_000,
    7_200_000,
    14_400_000,
    21_600_000,
    43_200_000,
    86_400_000,
    172_800_000,
    604_800_000,
];

fn colour(way: Way) -> &'static str {
    match way {
        Way::Linear => "#888e96",
        Way::Compaction => "#c2703d",
        Way::Masking => "#9a6fc0",
        Way::Window => "#3f8fc0",
        Way::Frames => "#2f9e57",
    }
}

/// The size of each request, a line a way, with its name at its end.
pub(super) fn curves(curves: &[(Way, Vec<u64>)]) -> String {
    let largest = curves.iter().flat_map(|(_, curve)| curve).copied().max().unwrap_or(0).max(1);
    let between = step(largest);
    let top = largest.div_ceil(between) * between;
    let y = |tokens: u64| TOP + HEIGHT - HEIGHT * tokens as f64 / top as f64;
    let (right, bottom) = (WIDTH - RIGHT, TOP + HEIGHT);
    let mut text = format!(
        "<div class=\"wide\"><svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"Tokens of each request\">\n",
        bottom + AXIS + COUNTED
    );
    for tokens in marks(between, top) {
        // Writing to a string can't fail.
        let _ = writeln!(
            text,
            "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{0:.1}\" y2=\"{0:.1}\" stroke=\"#8884\"/>\
             <text x=\"{1:.1}\" y=\"{2:.1}\" text-anchor=\"end\">{3}</text>",
            y(tokens),
            LEFT - 6.0,
            y(tokens) + 4.0,
            thousands(tokens)
        );
    }
    let calls = curves.iter().map(|(_, curve)| curve.len()).max().unwrap_or_default();
    let last = calls.saturating_sub(1).max(1) as f64;
    let x = |at: usize| LEFT + (right - LEFT) * at as f64 / last;
    let calls = calls as u64;
    // The first call is labelled instead of none.
    let first = usize::from(step(calls) == 1);
    for call in marks(step(calls), calls).skip(first).map(|call| call.max(1)) {
        let at = usize::try_from(call - 1).unwrap_or_default();
        mark(&mut text, x(at), bottom, &thousands(call));
    }
    let _ = writeln!(
        text,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">call of the model</text>",
        f64::midpoint(LEFT, right),
        bottom + AXIS + COUNTED - 5.0
    );
    for (way, curve) in curves {
        let points = curve.iter().enumerate().map(|(at, it)| format!("{:.1},{:.1}", x(at), y(*it)));
        let _ = writeln!(
            text,
            "<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\" points=\"{}\"/>",
            colour(*way),
            points.collect::<Vec<_>>().join(" ")
        );
    }
    let ends = curves.iter().map(|(_, curve)| y(curve.last().copied().unwrap_or_default()));
    for ((way, _), y) in curves.iter().zip(apart(&ends.collect::<Vec<_>>(), TOP, bottom)) {
        let _ = writeln!(
            text,
            "<text x=\"{:.1}\" y=\"{:.1}\" style=\"fill:{}\">{}</text>",
            right + 6.0,
            y + 4.0,
            colour(*way),
            way.name()
        );
    }
    text.push_str("</svg></div>\n");
    text
}

/// Places near those that are wanted, a line apart from one another, between two ends.
fn apart(wanted: &[f64], from: f64, to: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|one, other| wanted[*one].total_cmp(&wanted[*other]));
    let mut placed = wanted.to_vec();
    let mut least = from;
    for at in &order {
        placed[*at] = placed[*at].max(least);
        least = placed[*at] + LINE;
    }
    let mut most = to;
    for at in order.iter().rev() {
        placed[*at] = placed[*at].min(most);
        most = placed[*at] - LINE;
    }
    placed
}

/// The unit of the length of frames' bars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Time,
    Tokens,
}

/// Draws frames as bars, those inside a frame below it; each leads to its details.
pub(super) fn flame(
    bars: &[Bar],
    whole: u64,
    unit: Unit,
    target: impl Fn(&Bar) -> String,
) -> String {
    let deepest = bars.iter().map(|bar| bar.depth).max().unwrap_or_default();
    let height = ROW * f64::from(deepest + 1);
    let mut text = format!(
        "<div class=\"wide\"><svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"Frames\">\n",
        height + AXIS
    );
    let x = |at: u64| WIDTH * at as f64 / whole.max(1) as f64;
    for bar in bars {
        let (from, to) = match unit {
            Unit::Time => bar.time,
            Unit::Tokens => bar.tokens,
        };
        let (from, width) = (x(from), (x(to) - x(from)).max(1.0));
        let from = from.min(WIDTH - width);
        let fill = match bar.status {
            Status::Completed => "#2f9e57",
            Status::InProgress => "#c29a2d",
            Status::Failed => "#c0453f",
            Status::Blocked => "#9a6fc0",
            Status::Planned | Status::Invalidated => "#888e96",
        };
        let y = ROW * f64::from(bar.depth);
        let name = format!("{} {}", bar.num, bar.title);
        // Writing to a string can't fail.
        let _ = write!(
            text,
            "<a href=\"#{}\"><title>{}</title><rect x=\"{from:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
             height=\"{:.1}\" fill=\"{fill}\" fill-opacity=\".55\" stroke=\"var(--back)\"/>",
            target(bar),
            escaped(&name),
            ROW - 2.0
        );
        let shown = fitted(&name, width - 8.0);
        if !shown.is_empty() {
            let _ = write!(
                text,
                "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                from + 4.0,
                y + 15.0,
                escaped(&shown)
            );
        }
        text.push_str("</a>\n");
    }
    let step = match unit {
        Unit::Time => time_step(whole),
        Unit::Tokens => step(whole),
    };
    for place in marks(step, whole) {
        let told = match unit {
            Unit::Time if place == 0 => "0".to_owned(),
            Unit::Time => format_duration(i64::try_from(place).unwrap_or(i64::MAX)),
            Unit::Tokens => thousands(place),
        };
        mark(&mut text, x(place), height, &told);
    }
    text.push_str("</svg></div>\n");
    text
}

/// A mark on an axis, labelled within the drawing.
fn mark(text: &mut String, x: f64, y: f64, told: &str) {
    let half = told.chars().count() as f64 * LETTER / 2.0;
    let middle = x.clamp(half.min(WIDTH / 2.0), (WIDTH - half).max(WIDTH / 2.0));
    // Writing to a string can't fail.
    let _ = writeln!(
        text,
        "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{y:.1}\" y2=\"{:.1}\" stroke=\"#8888\"/>\
         <text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{told}</text>",
        y + 4.0,
        y + AXIS - 3.0
    );
}

/// A round number of which a few make up `whole`.
fn step(whole: u64) -> u64 {
    let mut ten = 1_u64;
    loop {
        for round in [1, 2, 5] {
            let step = ten.saturating_mul(round);
            if whole / step <= MARKS {
                return step;
            }
        }
        ten = ten.saturating_mul(10);
    }
}

/// Milliseconds of which a few make up `whole`.
fn time_step(whole: u64) -> u64 {
    let round = STEPS.iter().find(|step| whole / **step <= MARKS).copied();
    round.unwrap_or_else(|| (whole / MARKS).max(1))
}

/// The places of marks up to `whole`.
fn marks(step: u64, whole: u64) -> impl Iterator<Item = u64> {
    (0..=whole / step).map(move |mark| mark * step)
}

/// As much of a text as fits; nothing where that says nothing.
fn fitted(text: &str, width: f64) -> String {
    let wide = |char: char| if char >= '\u{1100}' { 2.0 * LETTER } else { LETTER };
    if text.chars().map(wide).sum::<f64>() <= width {
        return text.to_owned();
    }
    let mut shown = String::new();
    let mut left = width - LETTER;
    for char in text.chars() {
        left -= wide(char);
        if left < 0.0 {
            break;
        }
        shown.push(char);
    }
    if shown.chars().count() < 3 { String::new() } else { format!("{}…", shown.trim_end()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_few() {
        let tokens = |whole| marks(step(whole), whole).collect::<Vec<_>>();
        let times = |whole| marks(time_step(whole), whole).collect::<Vec<_>>();
        assert_eq!((tokens(14), tokens(145_000)), (vec![0, 5, 10], vec![0, 50_000, 100_000]));
        assert_eq!(times(6_500_000), [0, 1_800_000, 3_600_000, 5_400_000]);
        assert_eq!((tokens(0), times(0)), (vec![0], vec![0]));
        for whole in [1, 7, 999, 123_456, u64::MAX / 2] {
            assert!(tokens(whole).len() <= 7 && times(whole).len() <= 8, "{whole}");
        }
    }

    #[test]
    fn names_at_the_ends_of_lines_never_cover_each_other() {
        let placed = apart(&[250.0, 252.0, 20.0, 251.0, 14.0], 14.0, 254.0);
        let mut sorted = placed.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted.windows(2).all(|two| two[1] - two[0] >= LINE), "{placed:?}");
        assert!(sorted[0] >= 14.0 && sorted[4] <= 254.0, "{placed:?}");
        assert!(placed[0] < placed[3] && placed[3] < placed[1], "their order stays: {placed:?}");
    }

    #[test]
    fn what_does_not_fit_is_said_to_go_on() {
        assert_eq!(fitted("f1 Parse", 100.0), "f1 Parse");
        assert_eq!(fitted("f1 Parse dates", 60.0), "f1 Pars…");
        assert_eq!(fitted("f1 Parse dates", 20.0), "");
        assert_eq!(fitted("日本語の題", 50.0), "日本語…");
    }
}
