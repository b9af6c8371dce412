//! The number of real tokens in an estimated one, learnt from the reports of the host's provider.

use callstack_store::View;

use crate::conversation::host_message::HostMessage;
use crate::error::EngineError;

/// Estimated tokens below which a step is not used: framing outweighs the text.
const LEAST: usize = 64;
/// Plausible ratios; others come from hidden reasoning, images and folds.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 0.4..=3.0;
/// The weight of a single step against all before it.
const WEIGHT: f64 = 0.2;
/// The steps in which the factor changes, so that a rebuilt context does not differ each time.
const STEP: f64 = 0.25;
/// The same for 100 estimated tokens.
const STEP_PERCENT: u32 = 25;

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
    /// Returns the calibration after a further message.
    pub(crate) fn after(mut self, shown: &HostMessage) -> Self {
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
        f64::from(self.percent()) / 100.0
    }

    /// Real tokens for 100 estimated ones.
    pub(crate) fn percent(&self) -> u32 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "plausible slopes are small and above 0"
        )]
        let steps = (self.factor / STEP).round() as u32;
        steps * STEP_PERCENT
    }
}

/// Returns the real tokens for each estimated one in a session, by its host's reports up to its last request,
/// whichever process that one went through.
pub(crate) fn tokens_per_estimate(view: &View<'_>, session: &str) -> Result<f64, EngineError> {
    let kept = view.tokens_per_estimate(session)?;
    Ok(kept.map_or_else(|| Calibration::default().factor(), |percent| f64::from(percent) / 100.0))
}

#[cfg(test)]
mod tests {
    use callstack_core::transcript::{Message, MessageKind, Role};

    use super::*;

    fn step(tokens: u64, said: usize, heard: usize) -> HostMessage {
        HostMessage {
            tokens: Some(tokens),
            said,
            heard,
            ..HostMessage::of(
                Message {
                    id: String::new(),
                    role: Role::Assistant,
                    standing: MessageKind::Normal,
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
