import { useSignal, useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Frame } from '../source/data.ts';
import { active, closed, filter, listed, loaded, now, reveal, sessions, shown, toggle, tree, words } from '../state/model.ts';
import { chosen, go } from '../state/route.ts';
import type { Row } from '../state/tree.ts';
import { ago, duration, exact, percent, short, tokens } from '../text/format.ts';
import { worked } from './flame-layout.ts';
import { Changed, Line, Marked, seeFrame, Sign } from './bits.tsx';
import { move, moved } from './moves.ts';
import { CHECKED, shortId, standing } from './words.ts';

/** Rows beyond the window that are drawn, so that a fast scroll shows no gap. */
const BEYOND = 8;

/** The list of frames. Only the rows in sight are in the document. */
export function TreeView() {
  const box = useRef<HTMLDivElement>(null);
  const top = useSignal(0);
  const height = useSignal(600);
  const rowHeight = useSignal(30);

  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const measure = (): void => {
      height.value = element.clientHeight;
      rowHeight.value = Number.parseFloat(getComputedStyle(element).getPropertyValue('--row')) || 30;
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);

  useSignalEffect(() => {
    const handle = chosen.value;
    if (handle && loaded.value) reveal(handle);
  });
  // The chosen row comes into sight when it changes, not whenever the tree does.
  useSignalEffect(() => {
    const at = place(listed.peek(), chosen.value);
    const element = box.current;
    if (at < 0 || !element || !loaded.value) return;
    const above = at * rowHeight.peek();
    if (above < element.scrollTop) element.scrollTop = above;
    const beyond = above + rowHeight.peek() - element.scrollTop - element.clientHeight;
    if (beyond > 0) element.scrollTop += beyond;
  });

  const all = listed.value;
  const first = Math.max(0, Math.floor(top.value / rowHeight.value) - BEYOND);
  const last = Math.min(all.length, Math.ceil((top.value + height.value) / rowHeight.value) + BEYOND);
  const current = place(all, chosen.value);
  const places = Array.from({ length: Math.max(0, last - first) }, (_, at) => first + at);
  // A screen reader reads the chosen row, which has to exist even where it is out of sight.
  const aside = current >= 0 && (current < first || current >= last) ? current : -1;
  if (aside >= 0) places.push(aside);
  // A row that comes into sight takes the elements of one that left it.
  const slots = Math.ceil(height.value / rowHeight.value) + 2 * BEYOND + 1;
  const largest = Math.max(1, ...tree.value.children().map((it) => it.tokens ?? 0));

  return (
    <>
      {all.length > 0 ? <Columns /> : null}
      <div class="tree-box" ref={box} onScroll={(event) => { top.value = event.currentTarget.scrollTop; }}>
        {loaded.value && tree.value.frames.length === 0 ? (
          <div class="empty">
            <p>There are no frames yet.</p>
            <p>They appear here as soon as an agent works in this project. <code>callstack init opencode</code> sets one up.</p>
          </div>
        ) : null}
        {shown.value?.size === 0 ? (
          <div class="empty">
            <p>No frame matches. <button type="button" onClick={() => filter('')}>Show all</button></p>
            <p>Words are looked for in titles, results, files, agents and messages: <Line text={words.value} /></p>
          </div>
        ) : null}
        {all.length > 0 ? (
          <div
            class="tree"
            role="tree"
            id="tree"
            aria-label={`Frames, ${exact(tree.value.frames.length)} in all`}
            tabIndex={0}
            aria-activedescendant={current >= 0 ? `row-${chosen.value}` : undefined}
            style={{ height: `${all.length * rowHeight.value}px` }}
            onKeyDown={(event) => key(event, all, current)}
            onFocus={() => { if (current < 0 && all[0]) go({ frame: all.find((row) => active.value.has(row.frame.handle))?.frame.handle ?? all[0].frame.handle }, true); }}
          >
            {places.map((at) => (
              <RowView key={at === aside ? 'chosen' : at % slots} row={all[at]!} at={at} height={rowHeight.value} largest={largest} />
            ))}
          </div>
        ) : null}
      </div>
    </>
  );
}

/** What the columns of the list are. */
const Columns = () => (
  <div class="columns" aria-hidden="true">
    <span class="title">Frame</span>
    <span class="facts">
      <span class="changed">Lines</span>
      <span class="time">Work</span>
      <span class="used">Tokens<span class="bar" /></span>
    </span>
  </div>
);

const place = (all: Row[], handle: string | undefined): number =>
  handle === undefined ? -1 : all.findIndex((row) => row.frame.handle === handle);

/** Chooses another row, opens and closes frames, as trees do everywhere; with Alt a planned frame moves. */
function key(event: KeyboardEvent, all: Row[], at: number): void {
  const row = all[at];
  if (event.altKey && row && moved(event.key, row.frame)) {
    event.preventDefault();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const to = (next: number): void => {
    const target = all[Math.max(0, Math.min(all.length - 1, next))];
    if (target) go({ frame: target.frame.handle }, true);
  };
  const page = 20;
  switch (event.key) {
    case 'ArrowDown': to(at + 1); break;
    case 'ArrowUp': to(at < 0 ? 0 : at - 1); break;
    case 'PageDown': to(at + page); break;
    case 'PageUp': to(at - page); break;
    case 'Home': to(0); break;
    case 'End': to(all.length - 1); break;
    case 'ArrowRight':
      if (row?.open === false) toggle(row.frame.handle, true);
      else if (row?.open) to(at + 1);
      break;
    case 'ArrowLeft':
      if (row?.open && !shown.value) toggle(row.frame.handle, false);
      else if (row?.frame.parent) go({ frame: row.frame.parent }, true);
      break;
    case 'Enter':
      if (row) document.getElementById('detail')?.focus();
      break;
    case '*': closed.value = new Set(); break;
    default: return;
  }
  event.preventDefault();
}

interface RowProps {
  row: Row;
  at: number;
  height: number;
  largest: number;
}

function RowView({ row, at, height, largest }: RowProps) {
  const { frame: it, open, aside } = row;
  const over = useSignal<'' | 'before' | 'into'>('');
  const isPlanned = it.status === 'planned';
  const isChosen = chosen.value === it.handle;
  return (
    <div
      id={`row-${it.handle}`}
      class={`row ${it.status} ${aside ? 'aside' : ''} ${active.value.has(it.handle) ? 'active' : ''} ${over.value}`}
      role="treeitem"
      aria-level={it.depth + 1}
      aria-setsize={row.siblings}
      aria-posinset={row.position}
      aria-expanded={open}
      aria-selected={isChosen}
      style={{ top: `${at * height}px`, '--depth': String(it.depth) }}
      draggable={isPlanned}
      onClick={() => { go({ frame: it.handle, tab: 'overview' }); seeFrame(); }}
      onDragStart={(event) => { event.dataTransfer?.setData('text/plain', it.handle); drag.handle = it.handle; }}
      onDragEnd={() => { drag.handle = undefined; }}
      onDragOver={(event) => {
        const { top, height: rect } = event.currentTarget.getBoundingClientRect();
        const where = event.clientY - top < rect / 3 && isPlanned ? 'before' : 'into';
        if (!drag.handle || drag.handle === it.handle) return;
        event.preventDefault();
        over.value = where;
      }}
      onDragLeave={() => { over.value = ''; }}
      onDrop={(event) => {
        event.preventDefault();
        const what = tree.value.get(drag.handle);
        const where = over.value;
        over.value = '';
        if (what && where) move(what, where, it);
      }}
    >
      <span class="indent" />
      <span
        class="twisty"
        aria-hidden="true"
        onClick={(event) => {
          event.stopPropagation();
          if (open !== undefined) toggle(it.handle, !open);
        }}
      >
        {open === undefined ? '' : open ? '▾' : '▸'}
      </span>
      <Sign frame={it} />
      <span class="handle">{it.handle}</span>
      <span class="title"><Marked text={it.title} words={words.value} />{it.stillSent ? <span class="tag" title="Finished, but still sent step by step">still sent</span> : null}</span>
      <Facts frame={it} largest={largest} />
    </div>
  );
}

const drag: { handle: string | undefined } = { handle: undefined };

/** The remarks on a frame after the title in its row. */
function Facts({ frame: it, largest }: { frame: Frame; largest: number }) {
  const above = tree.value.get(it.parent);
  const session = it.session !== above?.session ? sessions.value.find((one) => one.id === it.session) : undefined;
  const time = worked(it, now.value);
  const used = it.tokens ?? 0;
  return (
    <span class="facts">
      {session ? (
        <span class="session" title={`Session ${session.id} of ${session.host}`}>
          {it.agent || session.agent || session.host} <span class="id">{shortId(session.id)}</span>
        </span>
      ) : null}
      {it.pins ? <span class="pins" title={`${it.pins} pinned`}>⚑{exact(it.pins)}</span> : null}
      {it.checked ? (
        <span class={`check ${it.checked}`} role="img" aria-label={CHECKED[it.checked]} title={CHECKED[it.checked]}>
          {it.checked === 'failed' ? '✗' : it.checked === 'passed' ? '✓' : '✓?'}
        </span>
      ) : null}
      {it.added || it.removed ? <Changed added={it.added} removed={it.removed} /> : null}
      <span class="time" title={it.endedAt ? `ended ${ago(it.endedAt, now.value)}` : standing(it).name}>
        {time > 0 ? duration(time) : ''}
      </span>
      <span class="used" title={used ? `about ${tokens(used)}, ${percent(used, largest)} of the largest` : ''}>
        {used > 0 ? short(used) : ''}
        <span class="bar" aria-hidden="true"><span style={{ width: `${Math.min(100, (used / largest) * 100)}%` }} /></span>
      </span>
    </span>
  );
}

