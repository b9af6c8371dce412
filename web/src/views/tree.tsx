import { useSignal, useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { active, closed, filter, hasChanges, listed, loaded, reveal, shown, toggle, tree, words } from '../state/model.ts';
import { chosen, go } from '../state/route.ts';
import { rowAt } from '../state/tree.ts';
import { exact } from '../text/format.ts';
import { Command, Line } from './bits.tsx';
import { moved } from './moves.ts';
import { mouse, RowView } from './row.tsx';

/** Rows beyond the window that are drawn, so that a fast scroll shows no gap. */
const BEYOND = 5;

/** The list of frames. Only the rows in sight are in the document. */
export function TreeView() {
  const box = useRef<HTMLDivElement>(null);
  /** The number of rows above the window. */
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
  const inSight = Math.ceil(height.value / rowHeight.value) + 1;
  const first = Math.max(0, Math.min(top.value, all.length) - BEYOND);
  const last = Math.min(all.length, top.value + inSight + BEYOND);
  const current = place(all, chosen.value);
  const places = Array.from({ length: Math.max(0, last - first) }, (_, at) => first + at);
  // A screen reader reads the chosen row, which has to exist even where it is out of sight.
  const aside = current >= 0 && (current < first || current >= last) ? current : -1;
  if (aside >= 0) places.push(aside);
  // A row that comes into sight takes the elements of one that left it.
  const slots = inSight + 2 * BEYOND;

  return (
    <>
      {all.length > 0 ? <Columns /> : null}
      <div class="tree-box" ref={box} onScroll={(event) => { top.value = Math.floor(event.currentTarget.scrollTop / rowHeight.value); }}>
        {loaded.value && tree.value.frames.length === 0 ? (
          <div class="empty">
            <h2>There are no frames yet.</h2>
            <p>
              A frame is a piece of an agent's work with a goal of its own. Once it has ended, its results stay in what the
              model is sent, and its steps leave. Frames appear here as soon as an agent works in this project.
            </p>
            <p>To let an agent work in frames, here:</p>
            <Command text="callstack init opencode" />
            <Command text="callstack init mcp" />
            <p>To see past sessions of Claude Code, Codex, pi and OpenCode as frames:</p>
            <Command text="callstack import" />
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
            {...mouse}
            onFocus={() => { if (current < 0) go({ frame: firstChosen(all) }, true); }}
          >
            {places.map((at) => (
              <RowView key={at === aside ? 'chosen' : at % slots} place={all[at]!} at={at} height={rowHeight.value} />
            ))}
          </div>
        ) : null}
      </div>
    </>
  );
}

/** The heads of the list's columns. */
const Columns = () => (
  <div class="columns" aria-hidden="true">
    <span class="title">Frame</span>
    <span class="facts">
      <span class="check">Checks</span>
      <span class="changed" title="Lines that were added and removed">{hasChanges.value ? 'Lines' : ''}</span>
      <span class="time" title="Time for which it was open">Time</span>
      <span class="used" title="Estimated tokens of the work in it and below it">Tokens<span class="bar" /></span>
    </span>
  </div>
);

/** The position of a frame in the list, whose places are sorted. */
function place(all: number[], handle: string | undefined): number {
  const wanted = handle === undefined ? -1 : tree.peek().place(handle);
  let [low, high] = [0, all.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (all[middle]! < wanted) low = middle + 1;
    else high = middle;
  }
  return wanted >= 0 && all[low] === wanted ? low : -1;
}

/** The frame to choose first: one that an agent works in, else the first of the list. */
function firstChosen(all: number[]): string | undefined {
  const { frames } = tree.value;
  const worked = all.find((at) => active.value.has(frames[at]?.handle ?? ''));
  return frames[worked ?? all[0] ?? -1]?.handle;
}

/** Chooses another row, opens and closes frames, as trees do everywhere; with Alt a planned frame moves. */
function key(event: KeyboardEvent, all: number[], at: number): void {
  const row = all[at] === undefined ? undefined : rowAt(tree.value, closed.value, shown.value, all[at]);
  if (event.altKey && row && moved(event.key, row.frame)) {
    event.preventDefault();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const to = (next: number): void => {
    const target = tree.value.frames[all[Math.max(0, Math.min(all.length - 1, next))] ?? -1];
    if (target) go({ frame: target.handle }, true);
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
