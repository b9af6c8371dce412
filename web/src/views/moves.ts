/** Moving planned frames: among those beside them, below another one, and out of one. */

import type { Details, Frame } from '../source/data.ts';
import { data, errorText, tree } from '../state/model.ts';
import { type Act, done, inTurn, perform } from '../state/steer.ts';
import { copied, type Plan, plan, planned, replan, unplan } from '../state/acts.ts';
import { chosen, go } from '../state/route.ts';

const isPlanned = (frame: Frame): boolean => frame.status === 'planned';
const beside = (frame: Frame): Frame[] => tree.value.beside(frame).filter(isPlanned);
const sameParent = (a: Frame, b: Frame): boolean => (a.parent ?? '') === (b.parent ?? '');

/** Moves a planned frame before another one, or below it, once it is its turn. */
export function move(frame: Frame, where: 'before' | 'into', target: Frame): void {
  inTurn(() => moving(frame, where, target));
}

async function moving(frame: Frame, where: 'before' | 'into', target: Frame): Promise<void> {
  if (!isPlanned(frame) || tree.value.above(target).includes(frame)) return;
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
    // Unless the reader went elsewhere meanwhile.
    if (handle && chosen.value === frame.handle) go({ frame: handle }, true);
  } catch (error) {
    done.value = { text: errorText(error), failed: true, undo: undefined };
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

const ARROWS = ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight'];

/** Moves a planned frame by a key: up and down among its siblings, in and out. Returns whether the key moves frames. */
export function moved(key: string, frame: Frame): boolean {
  if (!ARROWS.includes(key)) return false;
  // The frame may have another handle by the time that it is its turn.
  if (isPlanned(frame)) inTurn(() => step(key, tree.value.get(now(frame.handle))));
  return true;
}

/** The handle that a frame has after its moves. */
function now(handle: string): string {
  const next = placed.get(handle);
  return next === undefined || tree.value.get(handle) ? handle : now(next);
}

async function step(key: string, frame: Frame | undefined): Promise<void> {
  if (!frame || !isPlanned(frame)) return;
  const all = beside(frame);
  const at = all.indexOf(frame);
  const [above, below, afterNext] = [all[at - 1], all[at + 1], all[at + 2]];
  const parent = tree.value.get(frame.parent);
  const outer = tree.value.get(parent?.parent);
  if (key === 'ArrowUp' && above) await perform(order(frame, above));
  else if (key === 'ArrowDown' && afterNext) await perform(order(frame, afterNext));
  else if (key === 'ArrowDown' && below) await perform(last(frame));
  else if (key === 'ArrowRight' && above) await nest(frame, above);
  else if (key === 'ArrowLeft' && outer) await nest(frame, outer);
}
