//! How many real tokens an estimated one is, learnt from what the host's provider reports.

use callstack_store::View;

use crate::conversation::shown::Shown;
use crate::error::EngineError;

/// Where the store has the factor of a session.
pub(crate) const SLOT: &str = "calibration";

/// Estimated tokens below which a step tells nothing: framing outweighs the text.
const LEAST: usize = 64;
/// What a report has to lie between to be about the text at all; hidden reasoning, images and folds are
/// not.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 0.4..=3.0;
/// How much a single step counts against all before it.
const WEIGHT: f64 = 0.2;
/// The factor moves in such steps, so that a context that is rebuilt is not another one each time.
pub(crate) const STEP: f64 = 0.25;

/// The factor of one session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Calibration {
    factor: f64,
    /// Tokens that the provider reported last.
    reported: Option<u64>,
    /// Estimated tokens that were added to the conversation since, and count at the next report.
    heard: usize,
}

impl Default for Calibration {
    fn default() -> Self {
        Self { factor: 1.0, reported: None, heard: 0 }
    }
}

impl Calibration {
    /// What it is behind a further message.
    pub(crate) fn after(mut self, shown: &Shown) -> Self {
        if let Some(tokens) = shown.tokens {
            let estimated = self.heard + shown.said;
            let grown = self.reported.and_then(|before| tokens.checked_sub(before));
            if let Some(grown) = grown.filter(|_| estimated >= LEAST) {
                let ratio = grown as f64 / estimated as f64;
                if PLAUSIBLE.contains(&ratio) {
                    self.factor += (ratio - self.factor) * WEIGHT;
                }
            }
            self.reported = Some(tokens);
            self.heard = 0;
        }
        self.heard += shown.heard;
        self
    }

    /// Real tokens for each estimated one.
    pub(crate) fn factor(&self) -> f64 {
        (self.factor / STEP).round() * STEP
    }
}

/// Real tokens for each estimated one in a session, by what its host reported up to its last request,
/// whichever process that one went through.
pub(crate) fn tokens_per_estimate(view: &View<'_>, session: &str) -> Result<f64, EngineError> {
    let kept = view.render(session, SLOT)?.and_then(|text| text.parse().ok());
    Ok(kept.unwrap_or_else(|| Calibration::default().factor()))
}

#[cfg(test)]
mod tests {
    use callstack_core::transcript::{Message, Role, Standing};

    use super::*;

    fn step(tokens: u64, said: usize, heard: usize) -> Shown {
        Shown {
            tokens: Some(tokens),
            said,
            heard,
            ..Shown::of(
                Message {
                    id: String::new(),
                    role: Role::Assistant,
                    standing: Standing::Normal,
                    parts: Vec::new(),
                },
                String::new(),
            )
        }
    }

    #[test]
    fn a_provider_that_counts_half_as_much_again_is_believed_after_a_while() {
        let mut calibration = Calibration::default();
        let mut tokens = 20_000;
        assert!((calibration.factor() - 1.0).abs() < f64::EPSILON);
        for _ in 0..20 {
            calibration = calibration.after(&step(tokens, 100, 900));
            tokens += 1_500;
        }
        assert!((calibration.factor() - 1.5).abs() < f64::EPSILON, "{calibration:?}");
    }

    #[test]
    fn folds_and_images_teach_nothing() {
        let mut calibration = Calibration::default();
        for tokens in [50_000, 8_000, 90_000, 9_000] {
            calibration = calibration.after(&step(tokens, 100, 900));
        }
        assert!((calibration.factor() - 1.0).abs() < f64::EPSILON, "{calibration:?}");
    }
}
