//! The session and the frame that an event names.

use super::Event;
use crate::frame::FrameNum;

impl Event {
    /// The session that the event names. None where it names none, or messages of several.
    pub fn session(&self) -> Option<&str> {
        match self {
            Self::SessionOpened { session } => Some(&session.id),
            Self::RootSet { session, .. }
            | Self::SessionRecorded { session, .. }
            | Self::ActiveSet { session, .. }
            | Self::FrameStarted { session, .. }
            | Self::OutputsMasked { session, .. }
            | Self::StepsNamed { session, .. }
            | Self::Rendered { session, .. }
            | Self::SessionStateSet { session, .. }
            | Self::MessagesRecorded { session, .. }
            | Self::CallAnswered { session, .. }
            | Self::CompactionDropped { session, .. }
            | Self::CompactionTold { session }
            | Self::Subagent { session, .. } => Some(session),
            Self::FrameCreated { frame } => frame.session.as_deref(),
            Self::SpanOpened { span } => Some(&span.session),
            Self::SuggestionMade { suggestion } => Some(&suggestion.session),
            Self::DelegationBegun { delegation } => Some(&delegation.session),
            Self::CompactionAsked { compaction } => Some(&compaction.session),
            Self::CompactionSettled { compaction } => Some(&compaction.session),
            Self::FrameRenamed { .. }
            | Self::FrameEnded { .. }
            | Self::FrameReopened { .. }
            | Self::FramePlaced { .. }
            | Self::FrameConsolidated { .. }
            | Self::FrameDetached { .. }
            | Self::FrameAttached { .. }
            | Self::PlanOrdered { .. }
            | Self::IdentitySet { .. }
            | Self::ArtifactRecorded { .. }
            | Self::DecisionRecorded { .. }
            | Self::PinSet { .. }
            | Self::PinRemoved { .. }
            | Self::SpanClosed { .. }
            | Self::CloseUndone { .. }
            | Self::SpanDetached { .. }
            | Self::FoldSet { .. }
            | Self::EvidenceTaken { .. }
            | Self::Purged { .. }
            | Self::SuggestionEnded { .. }
            | Self::DelegationDelivered { .. }
            | Self::SettingSet { .. }
            | Self::CheckpointSet { .. }
            | Self::FilesRecorded { .. }
            | Self::FilesCorrected { .. }
            | Self::FilesRestoring { .. }
            | Self::FilesRestored { .. } => None,
        }
    }

    /// The frame that the event names first. None where it names none.
    pub fn frame(&self) -> Option<FrameNum> {
        match self {
            Self::FrameCreated { frame } => Some(frame.num),
            Self::RootSet { frame, .. }
            | Self::FrameStarted { frame, .. }
            | Self::FrameRenamed { frame, .. }
            | Self::FrameEnded { frame, .. }
            | Self::FrameReopened { frame, .. }
            | Self::FramePlaced { frame, .. }
            | Self::FrameConsolidated { frame, .. }
            | Self::FrameDetached { frame }
            | Self::FrameAttached { frame }
            | Self::PlanOrdered { frame, .. }
            | Self::IdentitySet { frame, .. }
            | Self::ArtifactRecorded { frame, .. }
            | Self::DecisionRecorded { frame, .. }
            | Self::PinSet { frame, .. }
            | Self::EvidenceTaken { frame, .. }
            | Self::CheckpointSet { frame, .. }
            | Self::FilesRecorded { frame, .. }
            | Self::FilesCorrected { frame, .. }
            | Self::FilesRestoring { frame, .. }
            | Self::FilesRestored { frame, .. } => Some(*frame),
            Self::ActiveSet { frame, .. } => *frame,
            Self::SpanOpened { span } => Some(span.frame),
            Self::SuggestionMade { suggestion } => Some(suggestion.frame),
            Self::DelegationBegun { delegation } => Some(delegation.frame),
            Self::CompactionAsked { compaction } => Some(compaction.frame),
            Self::CompactionSettled { compaction } => compaction.frame,
            Self::CallAnswered { answer, .. } => answer.closed,
            Self::SessionOpened { session } => session.active,
            Self::SessionRecorded { .. }
            | Self::PinRemoved { .. }
            | Self::SpanClosed { .. }
            | Self::CloseUndone { .. }
            | Self::SpanDetached { .. }
            | Self::FoldSet { .. }
            | Self::OutputsMasked { .. }
            | Self::StepsNamed { .. }
            | Self::Rendered { .. }
            | Self::SessionStateSet { .. }
            | Self::MessagesRecorded { .. }
            | Self::Purged { .. }
            | Self::SuggestionEnded { .. }
            | Self::DelegationDelivered { .. }
            | Self::SettingSet { .. }
            | Self::CompactionDropped { .. }
            | Self::CompactionTold { .. }
            | Self::Subagent { .. } => None,
        }
    }
}
