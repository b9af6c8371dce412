import type { Checked, Frame, Status } from '../source/data.ts';
import { sessionOf } from '../state/model.ts';

export const STATUS: Record<Status, { sign: string; name: string }> = {
  planned: { sign: '○', name: 'planned' },
  in_progress: { sign: '▶', name: 'in progress' },
  completed: { sign: '✓', name: 'completed' },
  failed: { sign: '✗', name: 'failed' },
  blocked: { sign: '‖', name: 'blocked' },
  invalidated: { sign: '⊘', name: 'invalidated' },
};

export const CHECKED: Record<Checked, string> = {
  passed: 'checks passed',
  passed_before: 'checks passed before the last change',
  failed: 'a check failed',
};

/** The sign and the name of where a frame stands. */
export function standing(frame: Frame): { sign: string; name: string } {
  const isRecorded = frame.imported || sessionOf(frame.session)?.recorded;
  if (isRecorded && frame.status === 'in_progress') return { sign: '◌', name: 'left open in a recorded session' };
  return STATUS[frame.status] ?? { sign: '?', name: frame.status };
}

/** The names of the parts of a request. */
export const PARTS: Record<string, { name: string; what: string }> = {
  system: { name: 'System and tools', what: 'System prompt and definitions of tools' },
  pins: { name: 'Pins', what: 'Constraints that nothing trims' },
  summary: { name: 'Summary', what: "The agent's own summary of an earlier part of the conversation" },
  results: { name: 'Results', what: 'What stands for finished frames and for outputs that newer ones replaced' },
  user: { name: "The user's words", what: 'What the user wrote and attached; never folded away' },
  live: { name: 'Live work', what: 'Steps that are sent as they are' },
  notes: { name: 'Notes', what: 'Reminders of callstack' },
  free: { name: 'Free', what: "What is left of the model's limit" },
};

/** A session's id, short enough to read. */
export const shortId = (id: string): string => (id.length > 14 ? `${id.slice(0, 13)}…` : id);
