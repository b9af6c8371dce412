use std::thread;
use std::time::Duration;

use callstack_engine::{Engine, EngineError, EventBatch, FrameList, SystemWorld, World as _};
use serde_json::{Value, json};

use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::{PLAIN, Page};
use crate::signals::Ending;
use crate::tree_view::Drawing;

/// The shortest time between two drawings with `--watch`.
const PAUSE: Duration = Duration::from_millis(100);
/// The longest one: times go on, and the terminal may have another size.
const REDRAW: Duration = Duration::from_millis(500);
/// Events that are taken at a time.
const BATCH: usize = 1_000;

/// Show frames as a tree
///
/// Signs: ○ planned, ▶ in progress, ✓ completed, ✗ failed, ‖ blocked, ⊘ invalidated, ◌ never ended in an imported
/// session. The title is followed by how long the frame took, about how many tokens were said and done in it (from
/// 72 columns on), the files that it changed, how its checks ended, and the beginning of its results. `still sent`
/// marks a finished frame whose steps the model still reads, because folding so little does not pay. Several finished
/// frames in a row are shown as one line; --all shows each.
///
/// Above an imported session stands what its recording tells of it: the day, how often the model was called, how
/// long it took, the tokens of its largest request.
///
/// --json prints the whole state: every frame by its id, the roots, and the frame that was open last. Keys,
/// tokens and passwords of known forms are masked unless --reveal is given.
#[derive(Debug, clap::Args)]
pub(crate) struct TreeArgs {
    /// Only this frame, such as f3, and what is below it
    frame: Option<String>,
    /// How many levels to show below the first one
    #[arg(long, value_name = "N")]
    depth: Option<usize>,
    /// Show each finished frame on a line of its own
    #[arg(long, short)]
    all: bool,
    /// Draw again whenever something changes, until Ctrl-C
    #[arg(long, short, conflicts_with = "json")]
    watch: bool,
    /// Show secrets instead of masking them
    #[arg(long)]
    reveal: bool,
}

pub(crate) fn run(
    args: &TreeArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let engine = invocation.engine_with_remarks(output)?;
    if output.json() {
        let arguments = part(args, invocation, &engine)?;
        let answer = invocation.run_revealing(args.reveal, &engine, "stack_tree", arguments)?;
        return output.value(&answer.data);
    }
    if !args.watch {
        return output.page(&drawn(args, invocation, &engine, output.width())?);
    }
    if !output.is_terminal() {
        let hint = "Leave --watch out, or watch on a terminal.";
        return Err(EngineError::invalid("--watch draws on a terminal only", hint).into());
    }
    watch(args, invocation, &engine, output)
}

/// Draws the tree whenever it changes, until the process is asked to end. The screen is then as it was before, and the
/// last tree stands on it.
fn watch(
    args: &TreeArgs,
    invocation: &Invocation<'_>,
    engine: &Engine,
    output: &mut Output,
) -> Result<(), CommandError> {
    let mut events = engine.watch_events(engine.newest_event()?);
    let stopper = events.stopper();
    let ending = Ending::watch(move || stopper.stop()).map_err(CommandError::of_output)?;
    let mut shown = drawn(args, invocation, engine, output.width_now())?;
    let outcome = output.on_a_screen_of_its_own(|output| {
        output.redraw(&shown)?;
        while !events.is_stopped() {
            if events.wait(REDRAW)? {
                thread::sleep(PAUSE);
                while matches!(events.next_batch(BATCH)?, EventBatch::Events(it) if it.len() == BATCH)
                {
                }
            }
            let page = drawn(args, invocation, engine, output.width_now())?;
            if page.as_str() != shown.as_str() {
                output.redraw(&page)?;
                shown = page;
            }
        }
        Ok(())
    });
    output.page(&shown)?;
    outcome?;
    ending.end();
    Ok(())
}

fn drawn(
    args: &TreeArgs,
    invocation: &Invocation<'_>,
    engine: &Engine,
    width: Option<usize>,
) -> Result<Page, CommandError> {
    let mut arguments = part(args, invocation, engine)?;
    arguments["detail"] = json!("whole");
    let answer = invocation.run_revealing(args.reveal, engine, "stack_frames", arguments)?;
    let list: FrameList = serde_json::from_value(answer.data).map_err(CommandError::of_shape)?;
    let drawing = Drawing {
        below: args.frame.is_some(),
        depth: args.depth,
        all: args.all,
        width,
        now: SystemWorld.now(),
    };
    let mut page = Page::default();
    if drawing.draw(&mut page, &list) == 0 {
        page.put(PLAIN, "there are no frames yet").end();
    }
    Ok(page)
}

/// Returns the arguments that name a part of the tree.
fn part(
    args: &TreeArgs,
    invocation: &Invocation<'_>,
    engine: &Engine,
) -> Result<Value, CommandError> {
    Ok(match &args.frame {
        Some(frame) => json!({"frame": frame}),
        None if invocation.names_a_session() => {
            json!({"session": invocation.caller(engine)?.session})
        }
        None => json!({}),
    })
}
