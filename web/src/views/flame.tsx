import { useComputed, useSignal, useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Frame } from '../source/data.ts';
import { now, session, sessionOf, shown, tree } from '../state/model.ts';
import { chosen, go } from '../state/route.ts';
import { date, duration, percent, short, tokens } from '../text/format.ts';
import { line } from '../text/visible.ts';
import { theme } from '../state/theme.ts';
import { ticksOf } from './flame-axis.ts';
import { hit, LABELS, paint, type Look, ROW } from './flame-paint.ts';
import { type Measure, layout, type Rect, worked } from './flame-layout.ts';
import { seeFrame, zoomed } from './bits.tsx';
import { STATUS, standing } from './words.ts';

export type Colours = 'status' | 'agent' | 'tokens';

/** The amount by which a key or a notch of a wheel zooms and pans. */
const ZOOM = 1.25;
const PAN = 0.1;
/** The deepest zoom: this part of the whole fills the window. */
const DEEPEST = 1e-6;
/** The axis above the rows. */
const AXIS = 22;

interface View {
  from: number;
  to: number;
}

/** Frames as bars above those that they opened, by time or by tokens. */
export function FlameView() {
  const measure = useSignal<Measure>('time');
  const colours = useSignal<Colours>('status');
  const view = useSignal<View>({ from: 0, to: 1 });
  const over = useSignal<{ rect: Rect; x: number; y: number } | undefined>(undefined);
  const size = useSignal({ width: 0, height: 0, zoom: 1 });
  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const legend = useRef<HTMLUListElement>(null);

  const placed = useComputed(() => layout(tree.value, measure.value, now.value));
  const names = useComputed(() => legendOf(colours.value, tree.value.frames));

  useEffect(() => {
    const observer = new ResizeObserver(() => {
      const { clientWidth = 0, clientHeight = 0 } = box.current ?? {};
      size.value = { width: clientWidth, height: clientHeight, zoom: zoomed() };
    });
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);

  useSignalEffect(() => {
    const { rects, rows, runs } = placed.value;
    const { width, height, zoom } = size.value;
    const [axis, row] = [AXIS * zoom, ROW * zoom];
    void theme.value;
    const context = canvas.current?.getContext('2d', { alpha: false });
    if (!context || !canvas.current || width === 0) return;
    const look: Look = {
      width,
      height: Math.max(height, axis + rows * row),
      axis,
      row,
      view: view.value,
      chosen: chosen.value,
      over: over.value?.rect.frame.handle,
      shown: shown.value && new Set([...shown.value].map((place) => tree.value.frames[place]?.handle)),
      colourOf: classOf(colours.value, names.value, tree.value.frames),
      colours: swatches(legend.current),
      ticks: ticksOf(placed.value, measure.value, view.value, ((LABELS * zoom) / width) * (view.value.to - view.value.from)),
      runs,
      style: getComputedStyle(canvas.current),
    };
    const request = requestAnimationFrame(() => paint(context, rects, look));
    return () => cancelAnimationFrame(request);
  });

  const zoom = (factor: number, around = (view.value.from + view.value.to) / 2): void => {
    const { from, to } = view.value;
    const width = Math.min(1, Math.max(DEEPEST, (to - from) / factor));
    const left = around - ((around - from) / (to - from)) * width;
    view.value = kept({ from: left, to: left + width });
  };
  const pan = (by: number): void => {
    const { from, to } = view.value;
    view.value = kept({ from: from + by * (to - from), to: to + by * (to - from) });
  };
  const fit = (handle?: string): void => {
    const rect = handle === undefined ? undefined : placed.value.rects.find((it) => it.frame.handle === handle);
    if (!rect) view.value = { from: 0, to: 1 };
    else {
      const margin = Math.max(DEEPEST, rect.x1 - rect.x0) * 0.02;
      view.value = kept({ from: rect.x0 - margin, to: Math.max(rect.x1 + margin, rect.x0 + DEEPEST) });
    }
  };
  // The chart begins with the session that is chosen, where there are others.
  const begun = useRef<string | undefined>(undefined);
  useSignalEffect(() => {
    const root = session.value?.root;
    const shows = `${session.value?.id} ${measure.value}`;
    if (placed.value.rects.length === 0 || shows === begun.current) return;
    begun.current = shows;
    const isAll = placed.value.rects.filter((it) => it.row === 0).length < 2;
    fit(!isAll && placed.value.rects.some((it) => it.frame.handle === root) ? root : undefined);
  });
  const at = (event: MouseEvent): Rect | undefined => {
    const { left, top } = canvas.current!.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    return hit(placed.value.rects, view.value, x / size.value.width, Math.floor((y / size.value.zoom - AXIS) / ROW), size.value.width);
  };
  const pointers = useRef(new Map<number, { x: number; moved: number }>());

  const wheel = (event: WheelEvent): void => {
    const { left } = canvas.current!.getBoundingClientRect();
    const { from, to } = view.value;
    if (event.ctrlKey || event.metaKey || event.altKey) {
      event.preventDefault();
      const place = from + ((event.clientX - left) / size.value.width) * (to - from);
      zoom(Math.exp(-event.deltaY / 200), place);
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      pan((event.deltaX || event.deltaY) / size.value.width);
    }
  };
  // A listener of its own: only one that isn't passive can keep the page from zooming instead.
  useEffect(() => {
    const element = canvas.current;
    element?.addEventListener('wheel', wheel, { passive: false });
    return () => element?.removeEventListener('wheel', wheel);
  });

  const down = (event: PointerEvent): void => {
    pointers.current.set(event.pointerId, { x: event.clientX, moved: 0 });
    canvas.current?.setPointerCapture(event.pointerId);
  };
  const dragged = (event: PointerEvent): void => {
    const pointer = pointers.current.get(event.pointerId);
    if (!pointer) {
      const rect = at(event);
      over.value = rect && { rect, x: event.offsetX, y: event.offsetY };
      return;
    }
    const others = [...pointers.current].filter(([id]) => id !== event.pointerId);
    const by = event.clientX - pointer.x;
    const other = others[0]?.[1];
    if (other) {
      const apart = Math.abs(pointer.x - other.x);
      const { left } = canvas.current!.getBoundingClientRect();
      const { from, to } = view.value;
      const middle = from + (((pointer.x + other.x) / 2 - left) / size.value.width) * (to - from);
      if (apart > 8) zoom(Math.abs(event.clientX - other.x) / apart, middle);
    } else if (by !== 0) pan(-by / size.value.width);
    pointers.current.set(event.pointerId, { x: event.clientX, moved: pointer.moved + Math.abs(by) });
  };
  const up = (event: PointerEvent): void => {
    const pointer = pointers.current.get(event.pointerId);
    pointers.current.delete(event.pointerId);
    const rect = pointer && pointer.moved < 4 ? at(event) : undefined;
    if (!rect) return;
    go({ frame: rect.frame.handle });
    seeFrame();
  };

  const key = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey) return;
    const current = tree.value.get(chosen.value);
    const to = (frame: Frame | undefined): void => {
      if (!frame) return;
      go({ frame: frame.handle }, true);
      follow(frame.handle);
    };
    const beside = current ? tree.value.beside(current) : tree.value.children();
    const place = current ? beside.indexOf(current) : -1;
    switch (event.key) {
      case '+': case '=': zoom(ZOOM); break;
      case '-': zoom(1 / ZOOM); break;
      case '0': fit(); break;
      case 'Enter': fit(current?.handle); break;
      case 'ArrowLeft': if (event.shiftKey) pan(-PAN); else to(beside[place - 1]); break;
      case 'ArrowRight': if (event.shiftKey) pan(PAN); else to(beside[place + 1]); break;
      case 'ArrowDown': to(tree.value.children(current?.handle)[0]); break;
      case 'ArrowUp': to(tree.value.get(current?.parent)); break;
      default: return;
    }
    event.preventDefault();
  };
  /** Brings a frame into the window. */
  const follow = (handle: string): void => {
    const rect = placed.value.rects.find((it) => it.frame.handle === handle);
    if (!rect) return;
    const { from, to } = view.value;
    const middle = (rect.x0 + rect.x1) / 2;
    if (middle < from || middle > to) view.value = kept({ from: middle - (to - from) / 2, to: middle + (to - from) / 2 });
    const { zoom: factor } = size.value;
    const [top, tall] = [(AXIS + rect.row * ROW) * factor, ROW * factor];
    const scroller = box.current;
    if (scroller && (top < scroller.scrollTop || top + tall > scroller.scrollTop + scroller.clientHeight)) {
      scroller.scrollTop = top - scroller.clientHeight / 2;
    }
  };

  const { width, zoom: factor } = size.value;
  const height = Math.max(size.value.height, (AXIS + placed.value.rows * ROW) * factor);
  const current = tree.value.get(chosen.value);
  const pointed = over.value;
  return (
    <section class="flame" aria-label="Flame chart">
      <div class="tools">
        <Choice name="Bar width" id="measure" options={{ time: 'Time', tokens: 'Tokens' }} value={measure} />
        <Choice name="Colour by" id="colours" options={{ status: 'Status', agent: 'Agent', tokens: 'Tokens' }} value={colours} />
        <span class="buttons">
          <button type="button" onClick={() => zoom(ZOOM * ZOOM)} aria-label="Zoom in">+</button>
          <button type="button" onClick={() => zoom(1 / ZOOM / ZOOM)} aria-label="Zoom out">−</button>
          <button type="button" onClick={() => fit()}>Show all</button>
          <button type="button" disabled={!current} onClick={() => fit(current?.handle)}>Fit frame</button>
        </span>
      </div>
      <ul class="legend" ref={legend} aria-label="Colours">
        {names.value.map((name, place) => (
          <li key={name}><span class={`swatch ${colours.value}-${colours.value === 'status' ? name : place}`} /> {colours.value === 'status' ? STATUS[name as Frame['status']]?.name ?? name : line(name)}</li>
        ))}
      </ul>
      <div class="canvas-box" ref={box}>
        <canvas
          ref={canvas}
          width={Math.round(width * devicePixelRatio)}
          height={Math.round(height * devicePixelRatio)}
          style={{ width: `${width}px`, height: `${height}px` }}
          tabIndex={0}
          role="application"
          aria-label={`Flame chart of ${placed.value.rects.length} frames by ${measure.value}. ${current ? spoken(current) : 'No frame is chosen.'} Arrow keys go from frame to frame, plus and minus zoom, Shift with arrows pans, Enter fits the frame, 0 shows all. The list of frames says the same.`}
          onKeyDown={key}
          onPointerDown={down}
          onPointerMove={dragged}
          onPointerUp={up}
          onPointerCancel={(event) => pointers.current.delete(event.pointerId)}
          onPointerLeave={() => { over.value = undefined; }}
          onDblClick={(event) => fit(at(event)?.frame.handle)}
        />
        {pointed ? (
          <div class="tip" style={{ left: `${Math.min(pointed.x + 12, Math.max(0, width - 260))}px`, top: `${pointed.y + 16}px` }}>
            <Tip frame={pointed.rect.frame} />
          </div>
        ) : null}
      </div>
      <p class="hint">
        <span class="with-mouse">Drag pans, Ctrl with the wheel zooms, a double click fits a frame.</span>
        <span class="with-fingers">Drag pans, two fingers zoom, a tap chooses a frame.</span>
        {measure.value === 'time' && placed.value.runs.length > 1 ? ' Grey stripes are times without work, shortened.' : ''}
      </p>
      <p class="unseen" aria-live="polite">{current ? spoken(current) : ''}</p>
    </section>
  );
}

interface ChoiceProps<T extends string> {
  name: string;
  id: string;
  options: Record<T, string>;
  value: { value: T };
}

function Choice<T extends string>({ name, id, options, value }: ChoiceProps<T>) {
  return (
    <label>
      {name}{' '}
      <select id={id} value={value.value} onChange={(event) => { value.value = event.currentTarget.value as T; }}>
        {Object.entries<string>(options).map(([key, text]) => <option key={key} value={key}>{text}</option>)}
      </select>
    </label>
  );
}

function Tip({ frame }: { frame: Frame }) {
  const { sign, name } = standing(frame);
  const time = worked(frame, now.value);
  return (
    <>
      <strong>{sign} {frame.handle}</strong> <bdi>{line(frame.title)}</bdi>
      <br />
      {[name, frame.agent, time > 0 ? duration(time) : '', frame.tokens ? tokens(frame.tokens) : '', frame.begunAt ? date(frame.begunAt) : '']
        .filter(Boolean).join(' · ')}
    </>
  );
}

function spoken(frame: Frame): string {
  const root = tree.value.children()[0];
  const part = frame.tokens && root?.tokens ? `, ${percent(frame.tokens, root.tokens)} of the first frame's tokens` : '';
  return `${frame.handle}, ${line(frame.title)}, ${standing(frame).name}, ${duration(worked(frame, now.value))}${part}.`;
}

function kept({ from, to }: View): View {
  const width = to - from;
  const left = Math.max(0, Math.min(1 - width, from));
  return { from: left, to: Math.min(1, left + width) };
}

/** Steps of tokens that have a colour each: up to this share of the largest frame. */
const STEPS = [0.01, 0.05, 0.2, 0.5, 1];

function agentOf(frame: Frame): string {
  return frame.agent || sessionOf(frame.session)?.host || 'no agent yet';
}

/** The most agents that have a colour of their own. */
const AGENTS = 7;

function legendOf(colours: Colours, frames: Frame[]): string[] {
  if (colours === 'status') return Object.keys(STATUS);
  if (colours === 'tokens') return STEPS.map((step) => `up to ${short(step * largest(frames))} tokens`);
  const counts = new Map<string, number>();
  for (const frame of frames) counts.set(agentOf(frame), (counts.get(agentOf(frame)) ?? 0) + 1);
  const names = [...counts].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  return names.length > AGENTS ? [...names.slice(0, AGENTS), 'others'] : names;
}

const largest = (frames: Frame[]): number => frames.reduce((most, frame) => (frame.depth === 0 ? Math.max(most, frame.tokens ?? 0) : most), 1);

/** Returns which entry of the legend a frame belongs to. */
function classOf(colours: Colours, names: string[], frames: Frame[]): (frame: Frame) => number {
  if (colours === 'status') return (frame) => Math.max(0, names.indexOf(frame.status));
  if (colours === 'agent') {
    const places = new Map(names.map((name, place) => [name, place]));
    return (frame) => places.get(agentOf(frame)) ?? names.length - 1;
  }
  const most = largest(frames);
  return (frame) => Math.max(0, STEPS.findIndex((step) => (frame.tokens ?? 0) <= step * most));
}

/** The colours of the legend, as the theme has them. */
function swatches(legend: HTMLElement | null): string[] {
  const entries = [...(legend?.querySelectorAll('.swatch') ?? [])];
  return entries.map((entry) => getComputedStyle(entry).backgroundColor);
}
