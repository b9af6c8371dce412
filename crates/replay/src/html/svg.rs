//! Drawings.

use std::fmt::Write as _;

use callstack_core::frame::Status;

use crate::outline::Bar;
use crate::ways::Way;

use super::escaped;

const WIDTH: f64 = 1_000.0;
const HEIGHT: f64 = 260.0;
/// Room for the numbers at the left, and for the legend above.
const LEFT: f64 = 70.0;
const TOP: f64 = 22.0;
const ROW: f64 = 22.0;

fn colour(way: Way) -> &'static str {
    match way {
        Way::Linear => "#888e96",
        Way::Compaction => "#c2703d",
        Way::Masking => "#9a6fc0",
        Way::Window => "#3f8fc0",
        Way::Frames => "#2f9e57",
    }
}

/// The size of each request, a line a way.
pub(super) fn curves(curves: &[(Way, Vec<u64>)]) -> String {
    let largest = curves.iter().flat_map(|(_, curve)| curve).copied().max().unwrap_or(0).max(1);
    let mut text = format!(
        "<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"Tokens of each request\">\n",
        HEIGHT + TOP + 16.0
    );
    for part in 0..=4_u64 {
        let tokens = largest * part / 4;
        let y = TOP + HEIGHT - HEIGHT * part as f64 / 4.0;
        // Writing to a string can't fail.
        let _ = writeln!(
            text,
            "<line x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#8884\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{tokens}</text>",
            LEFT - 6.0,
            y + 4.0
        );
    }
    for (place, (way, curve)) in curves.iter().enumerate() {
        let step = (WIDTH - LEFT) / curve.len().saturating_sub(1).max(1) as f64;
        let points: Vec<String> = curve
            .iter()
            .enumerate()
            .map(|(at, tokens)| {
                let y = TOP + HEIGHT - HEIGHT * *tokens as f64 / largest as f64;
                format!("{:.1},{y:.1}", LEFT + step * at as f64)
            })
            .collect();
        let _ = writeln!(
            text,
            "<polyline fill=\"none\" stroke=\"{0}\" stroke-width=\"1.6\" points=\"{1}\"/>\
             <text x=\"{2:.0}\" y=\"12\" style=\"fill:{0}\">{3}</text>",
            colour(*way),
            points.join(" "),
            LEFT + 90.0 * place as f64,
            way.name()
        );
    }
    text.push_str("</svg>\n");
    text
}

/// Frames as bars, those inside a frame below it.
pub(super) fn flame(bars: &[Bar], whole: u64, place: impl Fn(&Bar) -> (u64, u64)) -> String {
    let deepest = bars.iter().map(|bar| bar.depth).max().unwrap_or_default();
    let height = ROW * f64::from(deepest + 1);
    let mut text =
        format!("<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"Frames\">\n");
    let x = |at: u64| WIDTH * at as f64 / whole.max(1) as f64;
    for bar in bars {
        let (from, to) = place(bar);
        let (from, width) = (x(from), (x(to) - x(from)).max(1.0));
        let fill = match bar.status {
            Status::Completed => "#2f9e57",
            Status::InProgress => "#c29a2d",
            Status::Failed => "#c0453f",
            Status::Blocked => "#9a6fc0",
            Status::Planned | Status::Invalidated => "#888e96",
        };
        let y = ROW * f64::from(bar.depth);
        let _ = writeln!(
            text,
            "<g><title>{} {}</title><rect x=\"{from:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
             height=\"{:.1}\" fill=\"{fill}\" fill-opacity=\".55\" stroke=\"var(--back)\"/>",
            bar.num,
            escaped(&bar.title),
            ROW - 2.0
        );
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at most 1,000"
        )]
        let letters = ((width - 8.0).max(0.0) / 6.2) as usize;
        if letters > 3 {
            let shown: String = bar.title.chars().take(letters).collect();
            let _ = write!(
                text,
                "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                from + 4.0,
                y + 14.0,
                escaped(&shown)
            );
        }
        text.push_str("</g>\n");
    }
    text.push_str("</svg>\n");
    text
}
