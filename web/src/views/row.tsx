/** A row of the list of frames, and dragging it. */

import { signal } from '@preact/signals';
import type { Frame } from '../source/data.ts';
import { active, closed, largest, now, sessionOf, shown, toggle, tree, words } from '../state/model.ts';
import { chosen, go } from '../state/route.ts';
import { rowAt, whyFound } from '../state/tree.ts';
import { ago, counted, duration, exact, percent, short, tokens } from '../text/format.ts';
import { Changed, Marked, seeFrame, Sign } from './bits.tsx';
import { worked } from './flame-layout.ts';
import { move } from './moves.ts';
import { CHECKED, shortId, standing } from './words.ts';

/** The planned frame that is dragged, and its place if it were dropped now. */
const dragged = signal<string | undefined>(undefined);
const target = signal<{ handle: string; where: 'before' | 'into' } | undefined>(undefined);

interface RowProps {
  /** The frame's place in the tree. */
  place: number;
  /** The row's place in the list. */
  at: number;
  height: number;
}

export function RowView({ place, at, height }: RowProps) {
  // For a moment after the tree has changed, the list may still be that of the old one.
  if (place >= tree.value.frames.length) return null;
  const { frame: it, open, aside, position, siblings } = rowAt(tree.value, closed.value, shown.value, place);
  const why = words.value && !aside ? whyFound(it, words.value) : '';
  const over = target.value?.handle === it.handle ? target.value.where : '';
  return (
    <div
      id={`row-${it.handle}`}
      data-frame={it.handle}
      class={`row ${it.status} ${aside ? 'aside' : ''} ${active.value.has(it.handle) ? 'active' : ''} ${over}`}
      role="treeitem"
      aria-level={it.depth + 1}
      aria-setsize={siblings}
      aria-posinset={position}
      aria-expanded={open}
      aria-selected={chosen.value === it.handle}
      style={`top:${at * height}px;--depth:${it.depth}`}
      draggable={it.status === 'planned'}
    >
      <span class="indent" />
      <span class="twisty" aria-hidden="true">{open === undefined ? '' : open ? '▾' : '▸'}</span>
      <Sign frame={it} />
      <span class="handle">{it.handle}</span>
      <span class="title">
        <Marked text={it.title} words={words.value} />
        {it.stillSent ? <span class="tag" title="Finished, but still sent step by step">still sent</span> : null}
      </span>
      {why ? <span class="tag why">{why}</span> : null}
      <Facts frame={it} />
    </div>
  );
}

/** The remarks on a frame after the title in its row. */
function Facts({ frame: it }: { frame: Frame }) {
  const above = tree.value.get(it.parent);
  const session = it.session !== above?.session ? sessionOf(it.session) : undefined;
  const time = worked(it, now.value);
  const used = it.tokens ?? 0;
  return (
    <span class="facts">
      {session ? (
        <span class="session" title={`Session ${session.id} of ${session.host}`}>
          {it.agent || session.agent || session.host} <span class="id">{shortId(session.id)}</span>
        </span>
      ) : null}
      {it.pins ? <span class="pins" role="img" aria-label={counted(it.pins, 'pin')} title={`${it.pins} pinned`}>⚑{exact(it.pins)}</span> : null}
      {it.checked ? (
        <span class={`check ${it.checked}`} role="img" aria-label={CHECKED[it.checked]} title={CHECKED[it.checked]}>
          {it.checked === 'failed' ? '☒' : it.checked === 'passed' ? '☑' : '☑?'}
        </span>
      ) : <span class="check" />}
      {it.added || it.removed ? <Changed added={it.added} removed={it.removed} /> : <span class="changed" />}
      <span class="time" title={it.endedAt ? `ended ${ago(it.endedAt, now.value)}` : standing(it).name}>
        {time > 0 ? duration(time) : ''}
      </span>
      <span class="used" title={used ? `about ${tokens(used)}, ${percent(used, largest.value)} of the largest` : ''}>
        {used > 0 ? short(used) : ''}
        <span class={`bar ${used > 0 ? '' : 'none'}`} aria-hidden="true"><span style={`width:${Math.min(100, (used / largest.value) * 100)}%`} /></span>
      </span>
    </span>
  );
}

const rowOf = (event: Event): HTMLElement | null => (event.target instanceof Element ? event.target.closest<HTMLElement>('.row') : null);
const frameOf = (event: Event): Frame | undefined => tree.value.get(rowOf(event)?.dataset['frame']);

/** Handlers of the mouse for the list itself, so that rows need none. */
export const mouse = {
  onClick: (event: MouseEvent): void => {
    const it = frameOf(event);
    if (!it) return;
    const isTwisty = event.target instanceof Element && event.target.matches('.twisty') && tree.value.children(it.handle).length > 0;
    if (isTwisty) toggle(it.handle, closed.value.has(it.handle));
    else {
      go({ frame: it.handle, tab: 'overview' });
      seeFrame();
    }
  },
  onDragStart: (event: DragEvent): void => {
    dragged.value = frameOf(event)?.handle;
    event.dataTransfer?.setData('text/plain', dragged.value ?? '');
  },
  onDragEnd: (): void => {
    dragged.value = undefined;
    target.value = undefined;
  },
  onDragOver: (event: DragEvent): void => {
    const [row, it] = [rowOf(event), frameOf(event)];
    if (!row || !it || !dragged.value || dragged.value === it.handle) {
      target.value = undefined;
      return;
    }
    const { top, height } = row.getBoundingClientRect();
    const where = event.clientY - top < height / 3 && it.status === 'planned' ? 'before' : 'into';
    event.preventDefault();
    if (target.value?.handle !== it.handle || target.value.where !== where) target.value = { handle: it.handle, where };
  },
  onDragLeave: (event: DragEvent): void => {
    if (event.target === event.currentTarget) target.value = undefined;
  },
  onDrop: (event: DragEvent): void => {
    event.preventDefault();
    const [what, to] = [tree.value.get(dragged.value), target.value];
    const it = tree.value.get(to?.handle);
    target.value = undefined;
    if (what && to && it) move(what, to.where, it);
  },
};
