//! Frames in what programs are answered: by their handles, as they take them.

use callstack_core::frame::FrameNum;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

/// A frame of a record.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
pub(crate) fn one<S: Serializer>(frame: &FrameNum, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(frame)
}

/// Frames of a record.
pub(crate) fn many<S: Serializer>(frames: &[FrameNum], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(frames.iter().map(ToString::to_string))
}

/// Frames in a value.
pub(crate) fn list(frames: impl IntoIterator<Item = FrameNum>) -> Value {
    frames.into_iter().map(|frame| frame.to_string()).collect()
}

/// A record whose own shape has numbers in these fields.
pub(crate) fn named(record: &impl Serialize, fields: &[&str]) -> Value {
    let mut value = json!(record);
    for field in fields {
        if let Some(num) = value[*field].as_u64() {
            value[*field] = FrameNum(num).to_string().into();
        }
    }
    value
}
