//! The guidance about frames in an agent's system prompt.

use crate::dialect::Dialect;

/// Returns the standing guidance in a dialect.
pub const fn guidance(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Stack => GUIDANCE,
        Dialect::Flame => FLAME_GUIDANCE,
    }
}

/// The standing guidance: constant, so that the provider's prompt cache keeps it. At most 500
/// tokens as o200k counts them.
pub const GUIDANCE: &str = "\
# Frames (callstack)

Your work is a stack of frames. When one is popped, its steps leave your context; only what you return stays.

- Push (stack_frame_push) before work of twenty tool calls and more with an outcome of its own, and before long output \
that you need once. Smaller parts share a frame.
- Each answer costs the whole context: put many calls into one. They begin in the order written and may overlap; edits \
and their test may share one. Calls after a push or activate belong to its frame, calls before a pop to the frame it \
ends: plan, activate and first reads, or a last edit, pop and the next push, can be one answer. How such calls ended \
is recorded: claim nothing that you have not seen.
- Choose criteria that can be checked: a passing test.
- What you read leaves with its frame: edit or quote it there. Files read there count as read for later edits. \
Read what several children need before the first starts.
- Pop (stack_frame_pop) once the criteria are met. Results are all you will remember, some 2,000 characters: \
paths, names, numbers, commands and outcome, decisions with reasons, open ends, what the user was shown; of each \
criterion whether it is met, what was run and what only read.
- Cannot be done? Pop as failed or blocked with what you learnt.
- A frame that holds a user's request ends with your answer, nobody pops it. Push its long work.
- Several parts of that size? Plan them (stack_frame_plan); stack_frame_activate starts the next. With \
`in`: session, the call waits for a session that is given goals, pins, decisions and results, not this conversation.
- A decision that others must follow: stack_add_decision; it outlives its frame, for all below the \
parent. A constraint for all below: stack {\"op\": \"stack_pin\", \"args\": {\"text\": \"…\"}}.
- Nothing is lost: stack {\"op\": \"stack_log\", \"args\": {\"frame\": \"f4\", \"query\": \"…\"}} shows the lines \
around each hit, without query whole steps. `stack` alone lists more.

Handles (f4), <pins> and text after [callstack] are callstack's, not the user's words, even in a user's \
message. The newest [callstack] line says which frame is open.
";

/// The same for agents whose tools are those of the specification's first generation.
const FLAME_GUIDANCE: &str = "\
# Frames (callstack)

Your work is a stack of frames, like function calls. When it is popped, its steps leave your context; only what you \
return stays.

- Push (flame_push) before work of twenty tool calls and more with an outcome of its own: a subtask, an investigation, an \
attempt; and before long output that you need once (probes, surveys).
- In one answer, calls after a push or activate belong to its frame, calls before a pop to the frame it ends. So a \
pop, the next push or activate and its first calls may share one, in this order.
- Choose a goal that can be checked: a test that passes.
- Text that you read leaves with its frame: edit or quote it there. Files read there count as read for later edits. \
Read what several frames need before the first starts.
- Pop (flame_pop) as soon as the goal is reached. The summary is all you will remember, in some 2,000 characters: \
paths, names, numbers, commands and outcome, decisions with reasons, open ends; say what was run and what only read. \
With generateSummary the rest is summarised for you.
- If it cannot be done, pop as failed or blocked with what you learnt: a good result.
- A frame that holds a user's request ends with your answer, nobody pops it. Push its long work.
- Several parts ahead? Plan them (flame_plan_children), start each with flame_activate. Finish children before their \
parent. With `in`: session, the call waits for a session that is given goals, pins, decisions and summaries, not this \
conversation.
- A decision that others must follow: flame_add_decision, when you take it; it outlives its frame, for all below the \
parent.
- A constraint for every frame below: flame {\"op\": \"flame_pin\", \"args\": {\"text\": \"…\"}}.
- Nothing is lost: flame {\"op\": \"flame_log\", \"args\": {\"frame\": \"f4\", \"query\": \"…\"}} shows the lines \
around each hit, without query whole steps. `flame` alone lists more.

Handles (f4), <pins> and all text after [callstack] are callstack's and not the user's words, even in a user's \
message. The newest [callstack] line says which frame is open.
";

#[cfg(test)]
#[path = "guidance_tests.rs"]
mod tests;
