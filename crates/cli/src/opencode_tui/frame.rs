//! A frame as the plugin shows it when somebody opens it.

use anstream::adapter::strip_str;
use callstack_engine::FrameMetadata;
use serde_json::{Value, json};

use super::actions;
use super::project::Open;
use crate::commands::show;
use crate::error::CommandError;
use crate::page::Page;

/// Columns of the text.
const WIDTH: usize = 100;

/// Returns a frame's page, with its actions.
pub(super) fn described(
    open: &Open,
    session: Option<&str>,
    frame: &str,
) -> Result<Value, CommandError> {
    let data =
        open.run(session, "stack_frame_details", json!({"frame": frame, "near": true}))?.data;
    let mut page = Page::default();
    show::draw(&data, false, Some(WIDTH), &mut page)?;
    let frame: FrameMetadata =
        serde_json::from_value(data.clone()).map_err(CommandError::of_shape)?;
    let active = match session {
        Some(session) => open.active(session)?.map(|num| num.to_string()),
        None => None,
    };
    let imported = data["imported"] == true;
    Ok(json!({
        "handle": frame.handle,
        "text": strip_str(page.as_str()).to_string(),
        "session": frame.worked_in,
        "actions": actions::of(
            &frame.handle,
            frame.status,
            active.as_deref() == Some(&frame.handle),
            imported,
        ),
    }))
}
