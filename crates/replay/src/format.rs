//! The format of figures, at a terminal and on a page.

use callstack_core::evidence::{Fate, FileChange};

/// A number with its thousands set apart.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns the change from `from` to `to`, such as `−72 %`.
pub fn change(from: u64, to: u64) -> String {
    if from == 0 {
        return String::new();
    }
    let percent = (100.0 * (to as f64 / from as f64 - 1.0)).round();
    match percent {
        ..0.0 => format!("−{:.0} %", -percent),
        0.0 => "0 %".to_owned(),
        _ => format!("+{percent:.0} %"),
    }
}

/// A number of tokens in a few letters, such as `145k`.
pub fn short(tokens: u64) -> String {
    match tokens {
        ..1000 => thousands(tokens),
        1000..1_000_000 => format!("{}k", tokens.saturating_add(500) / 1000),
        1_000_000..9_995_000 => format!("{:.2}M", tokens as f64 / 1e6),
        _ => format!("{:.1}M", tokens as f64 / 1e6),
    }
}

/// A number of tokens that was computed with fractions.
pub fn rounded(number: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "tokens, at least 0"
    )]
    let rounded = number.round() as u64;
    rounded
}

/// Returns the lines that were changed in a file, such as `+26 −3`.
pub fn lines_of(change: &FileChange) -> String {
    let counted = match (change.added, change.removed) {
        (0, 0) => String::new(),
        (added, 0) => format!("+{added}"),
        (0, removed) => format!("−{removed}"),
        (added, removed) => format!("+{added} −{removed}"),
    };
    match change.fate {
        Fate::Edited => counted,
        Fate::Created => format!("{counted} new"),
        Fate::Rewritten => format!("{counted} written whole"),
        Fate::Removed => "removed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!([0, 999, 1000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn changes_have_their_sign() {
        assert_eq!(change(145_000, 40_000), "−72 %");
        assert_eq!(change(100, 106), "+6 %");
        assert_eq!(change(1000, 999), "0 %");
        assert_eq!(change(0, 5), "");
    }

    #[test]
    fn sizes_are_short() {
        let shown = [999, 1000, 144_791, 999_499, 2_618_000, 9_996_000, 11_861_627].map(short);
        assert_eq!(shown, ["999", "1k", "145k", "999k", "2.62M", "10.0M", "11.9M"]);
    }
}
