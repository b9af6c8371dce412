/** Moving planned frames: among those beside them, below another one, and out of one. */

import type { Details, Frame } from '../source/data.ts';
import { data, told, tree } from '../state/model.ts';
import { type Act, busy, done, perform } from '../state/steer.ts';
import { copied, type Plan, plan, planned, replan, unplan } from '../state/acts.ts';
import { go } from '../state/route.ts';

const isPlanned = (frame: Frame): boolean => frame.status === 'planned';
const beside = (frame: Frame): Frame[] => tree.value.beside(frame).filter(isPlanned);
const sameParent = (a: Frame, b: Frame): boolean => (a.parent ?? '') === (b.parent ?? '');

/** Moves a planned frame before another one, or below it. */
export async function move(frame: Frame, where: 'before' | 'into', target: Frame): Promise<void> {
  if (busy.value || !isPlanned(frame) || tree.value.above(target).includes(frame)) return;
  if (where === 'into') await nest(frame, target);
  else if (sameParent(frame, target)) await perform(order(frame, target));
  else {
    const parent = tree.value.get(target.parent);
    if (parent) await nest(frame, parent, target);
  }
}

/** The changes that bring a frame before a sibling of its. */
function order(frame: Frame, before: Frame): Act[] {
  const all = beside(frame);
  const next = all[all.indexOf(frame) + 1];
  const to = { before: before.handle };
  return [next ? replan(frame, to, { before: next.handle }) : toEnd(frame, to, all)];
}

/** A move of the last of siblings, which goes back to the end by moving all others before it. */
function toEnd(frame: Frame, to: { before: string }, all: Frame[]): Act {
  const from = all.indexOf(all.find((it) => it.handle === to.before)!);
  const others = all.slice(from).filter((it) => it !== frame);
  return { ...replan(frame, to), undo: () => others.map((it) => replan(it, { before: frame.handle })) };
}

/** The changes that bring a frame after all siblings. */
function last(frame: Frame): Act[] {
  const all = beside(frame);
  return all.slice(all.indexOf(frame) + 1).map((it) => replan(it, { before: frame.handle }));
}

/** Plans a frame again below another one, with the plans below it, and removes it from its old place. */
async function nest(frame: Frame, parent: Frame, before?: Frame): Promise<void> {
  try {
    const details = new Map<string, Details>();
    await gather(frame, details);
    const what = copied(frame, details, (it) => tree.value.children(it.handle));
    const from = tree.value.get(frame.parent);
    const leaving = from && unplan(frame, [plan(from, [what])]);
    if (!leaving || !(await perform([planting(frame, what, parent), leaving]))) return;
    const made = done.value?.text;
    const handle = placed.get(frame.handle);
    if (handle && before) await perform([replan({ ...frame, handle }, { before: before.handle })], made);
    if (handle) go({ frame: handle }, true);
  } catch (error) {
    done.value = { text: told(error), failed: true, undo: undefined };
  }
}

const placed = new Map<string, string>();

function planting(frame: Frame, what: Plan, parent: Frame): Act {
  return {
    ...plan(parent, [what]),
    name: `Move ${frame.handle} below ${parent.handle}`,
    undo: (answer) => {
      const [handle] = planned(answer.data);
      if (!handle) return undefined;
      placed.set(frame.handle, handle);
      return [unplan({ ...parent, handle })];
    },
  };
}

async function gather(frame: Frame, details: Map<string, Details>): Promise<void> {
  details.set(frame.handle, await data().details(frame.handle));
  for (const inner of tree.value.children(frame.handle).filter(isPlanned)) await gather(inner, details);
}

/** Moves a planned frame by a key: up and down among its siblings, in and out. Returns whether the key moves frames. */
export function moved(key: string, frame: Frame): boolean {
  if (!['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight'].includes(key)) return false;
  if (!isPlanned(frame) || busy.value) return true;
  const all = beside(frame);
  const at = all.indexOf(frame);
  const [above, below, afterNext] = [all[at - 1], all[at + 1], all[at + 2]];
  const parent = tree.value.get(frame.parent);
  const outer = tree.value.get(parent?.parent);
  if (key === 'ArrowUp' && above) void perform(order(frame, above));
  else if (key === 'ArrowDown' && afterNext) void perform(order(frame, afterNext));
  else if (key === 'ArrowDown' && below) void perform(last(frame));
  else if (key === 'ArrowRight' && above) void nest(frame, above);
  else if (key === 'ArrowLeft' && outer) void nest(frame, outer);
  return true;
}
