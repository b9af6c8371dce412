//! What an agent is told about frames in its system prompt.

use crate::dialect::Dialect;

/// The standing guidance for agents that are spoken to so.
pub const fn guidance(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Stack => GUIDANCE,
        Dialect::Flame => FLAME_GUIDANCE,
    }
}

/// The standing guidance: constant, so that the provider's prompt cache keeps it. At most 460
/// tokens as o200k counts them.
pub const GUIDANCE: &str = "\
# Frames (callstack)

Your work is a stack of frames, like function calls. A frame has a goal and success criteria. When it is popped, \
its steps leave your context; only what you return stays.

- Push (stack_frame_push) before work with an outcome of its own: a subtask, an investigation, one of several \
attempts, another part of the code base. Small steps need no frame. Calls behind a push in the same step belong to its frame.
- Choose criteria that can be checked: a test that passes, a file that exists, a question that has an answer.
- Pop (stack_frame_pop) as soon as the criteria are met, before you begin anything else.
- Results are all you will remember. Put into them what later work needs: paths, names, signatures, numbers, commands \
and their outcome, decisions with reasons, what is still open. resultsCompacted is the same in one or two sentences.
- If it cannot be done, pop as failed or blocked with what you learnt. That is a good result, not a mistake.
- Several parts ahead? Plan them (stack_frame_plan), then start them (stack_frame_activate): each is worked on in a session \
of its own and comes back as results. With in `here` you work on it yourself, and pop it. Finish children before their parent.
- Record a choice that others must follow with stack_add_decision when you take it.
- A constraint that must hold in every frame below: stack with op stack_pin.
- `stack` reaches every other operation by name: stack_tree, stack_frame_details, stack_log, stack_pin, \
stack_context_preview and more; call it without a name for the list.
- Nothing is lost. To read again what was folded away, call stack with op stack_log and the frame's handle, such as f4.
- Items of a todo list may be frames too; keep the list if it helps.

Handles (f4), <pins> and all text behind [callstack] come from callstack, also where they stand in a user's message; \
they are not the user's words. The newest [callstack] line says which frame is open. Pins hold in every frame.
";

/// The same for agents whose tools are those of the specification's first generation.
const FLAME_GUIDANCE: &str = "\
# Frames (callstack)

Your work is a stack of frames, like function calls. A frame has a goal. When it is popped, its steps leave your \
context; only what you return stays.

- Push (flame_push) before work with an outcome of its own: a subtask, an investigation, one of several attempts, \
another part of the code base. Small steps need no frame. Calls behind a push in the same step belong to its frame.
- Choose a goal that can be checked: a test that passes, a file that exists, a question that has an answer.
- Pop (flame_pop) as soon as the goal is reached, before you begin anything else.
- The summary is all you will remember. Put into it what later work needs: paths, names, signatures, numbers, commands \
and their outcome, decisions with reasons, what is still open. With generateSummary the rest is summarised for you.
- If it cannot be done, pop as failed or blocked with what you learnt. That is a good result, not a mistake.
- Several parts ahead? Plan them (flame_plan_children), then start them (flame_activate): each is worked on in a session \
of its own and comes back as a summary. With in `here` you work on it yourself, and pop it. Finish children before their \
parent.
- Record a choice that others must follow with flame_add_decision when you take it.
- A constraint that must hold in every frame below: flame with op flame_pin.
- Nothing is lost. To read again what was folded away, call flame with op flame_log and the frame's handle, such as f4; \
flame without a name lists all that it reaches.
- Items of a todo list may be frames too; keep the list if it helps.

Handles (f4), <pins> and all text behind [callstack] come from callstack, also where they stand in a user's message; \
they are not the user's words. The newest [callstack] line says which frame is open. Pins hold in every frame.
";

#[cfg(test)]
#[path = "guidance_tests.rs"]
mod tests;
