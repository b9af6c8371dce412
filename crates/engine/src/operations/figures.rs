//! The figures of a session's requests, as answers show them.

use callstack_core::saving::Saving;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::saving::Savings;

/// The requests of a session and of those that it started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestFigures {
    /// Of the session alone
    pub session: Figures,
    /// Number of sessions that it started, directly or not, with known requests
    pub subagents: u64,
    /// Of all of them together
    pub total: Figures,
}

/// Requests that a host reports. Bills are in tokens of input: those from a cache count 0.1, all others 1.25.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// Number of requests
    pub requests: u64,
    /// Their tokens
    pub sent: u64,
    /// Their bill
    pub billed: f64,
    /// What they would have been without callstack
    pub estimated_without: Estimate,
}

/// Requests that were never sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Their tokens
    pub sent: u64,
    /// Their bill
    pub billed: f64,
}

impl RequestFigures {
    pub(super) fn of(savings: &Savings) -> Self {
        Self {
            session: Figures::of(&savings.session),
            subagents: savings.below,
            total: Figures::of(&savings.total),
        }
    }
}

impl Figures {
    fn of(saving: &Saving) -> Self {
        let bill = |hundredths: u64| hundredths as f64 / 100.0;
        Self {
            requests: saving.requests,
            sent: saving.sent,
            billed: bill(saving.billed_hundredths),
            estimated_without: Estimate {
                sent: saving.sent_without,
                billed: bill(saving.billed_without_hundredths),
            },
        }
    }
}
