//! Frames in answers for programs: by the handles that programs pass.

use callstack_core::frame::FrameNum;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serializer};

/// A frame of a record.
pub(crate) mod one {
    use super::*;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    pub(crate) fn serialize<S: Serializer>(frame: &FrameNum, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(frame)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<FrameNum, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

/// Frames of a record.
pub(crate) mod many {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(frames: &[FrameNum], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(frames.iter().map(ToString::to_string))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<FrameNum>, D::Error> {
        let handles = Vec::<String>::deserialize(from)?;
        handles.iter().map(|handle| handle.parse().map_err(D::Error::custom)).collect()
    }
}
