import { type Signal, useSignal } from '@preact/signals';
import { data, session } from '../state/model.ts';
import { useLoaded } from '../state/load.ts';
import type { Window, WindowPart } from '../source/data.ts';
import { go } from '../state/route.ts';
import { counted, date, exact, percent, short, tokens } from '../text/format.ts';
import { line } from '../text/visible.ts';
import { Handle, Note } from './bits.tsx';
import { PARTS } from './words.ts';

/** Messages of a part that are shown before all are. */
const FIRST = 100;

const nameOf = (kind: string): string => PARTS[kind]?.name ?? kind;

/** The parts of a request with the free one, and the tokens of the bar's whole width. */
function parts(window: Window): { parts: { kind: string; tokens: number }[]; whole: number } {
  const filled: { kind: string; tokens: number }[] = window.parts.filter((part) => part.tokens > 0);
  const free = window.free ?? 0;
  const all = free > 0 ? [...filled, { kind: 'free', tokens: free }] : filled;
  return { parts: all, whole: Math.max(1, all.reduce((sum, part) => sum + part.tokens, 0)) };
}

const spoken = (window: Window): string => {
  const of = window.limit ? `, ${percent(window.tokens, window.limit)} of the ${exact(window.limit)} that the model takes` : '; what the model takes is not known';
  return `The next request is about ${tokens(window.tokens)}${of}`;
};

/** The bar as it stands at the head of every view: a link to the view of the window. */
export function WindowStrip() {
  const id = session.value?.id;
  const loaded = useLoaded(id, () => data().window(id ?? ''));
  const value = loaded.value.value;
  // A session without calls of the model has no window.
  if (!id || value?.tokens === 0) return null;
  // Its place is kept while it is read.
  if (!value) return loaded.value.problem ? null : <span class="strip dim">…</span>;
  const { parts: all, whole } = parts(value);
  return (
    <button type="button" class="strip" onClick={() => go({ view: 'window' })} title={`${spoken(value)}. Shows what fills it.`}>
      <span class="name">Next request</span>
      <span class={`stacked ${value.limit ? '' : 'open'}`} aria-hidden="true">
        {all.map(({ kind, tokens: size }) => <span key={kind} class={`part-${kind}`} style={{ width: `${(size / whole) * 100}%` }} />)}
      </span>
      <span class="figure">{short(value.tokens)}{value.limit ? ` of ${short(value.limit)}` : ''}<span class="share"> ({value.limit ? percent(value.tokens, value.limit) : 'limit unknown'})</span></span>
    </button>
  );
}

/** The parts of a session's next request. */
export function WindowView() {
  const id = session.value?.id;
  const loaded = useLoaded(id, () => data().window(id ?? ''));
  const chosen = useSignal<string | undefined>(undefined);
  const { value, problem } = loaded.value;
  if (!id) return <Note>There is no session yet.</Note>;
  if (problem) return <Note>{problem}</Note>;
  if (!value) return <Note>Reading …</Note>;
  const { parts: all, whole } = parts(value);
  const used = all.filter(({ kind }) => kind !== 'free');
  // Beside a large free part the others are too small to see.
  const isSmall = value.limit !== undefined && value.tokens < value.limit / 4;
  const kinds = [...value.parts.map((part) => part.kind), ...(value.free === undefined ? [] : ['free'])];
  const sizeOf = (kind: string): number => (kind === 'free' ? value.free : value.parts.find((it) => it.kind === kind)?.tokens) ?? 0;
  const part = value.parts.find((it) => it.kind === chosen.value);
  return (
    <section class="pad window" aria-label="What fills the window">
      <h2>What fills the next request</h2>
      <p>
        {spoken(value)}
        {value.model ? <>, for <bdi>{line(value.model)}</bdi></> : null}.{' '}
        <span class="dim">
          {value.lastRequest
            ? `The last one had ${tokens(value.lastRequest.tokens)} by the provider's count, ${date(value.lastRequest.at)}; parts are estimates.`
            : 'No request was counted by a provider yet; all figures are estimates.'}
        </span>
      </p>
      <Bar all={all} whole={whole} chosen={chosen} />
      {isSmall ? (
        <>
          <p class="dim">The {tokens(value.tokens)} by themselves:</p>
          <Bar all={used} whole={value.tokens} chosen={chosen} />
        </>
      ) : null}
      <div class="parts-beside">
      <ul class="parts">
        {kinds.map((kind) => (
          <li key={kind}>
            <button
              type="button"
              aria-expanded={kind === 'free' ? undefined : chosen.value === kind}
              disabled={kind === 'free' || sizeOf(kind) === 0}
              onClick={() => { chosen.value = chosen.value === kind ? undefined : kind; }}
            >
              <span class={`swatch part-${kind}`} />
              <span class="name">{nameOf(kind)}<span class="dim what">{PARTS[kind]?.what}</span></span>
              <span class="size">{exact(sizeOf(kind))}</span>
              <span class="share">{percent(sizeOf(kind), value.limit ?? whole)}</span>
            </button>
          </li>
        ))}
      </ul>
      {part ? <PartMessages part={part} session={id} /> : <Note>Choose a part to see its messages.</Note>}
      </div>
    </section>
  );
}

interface BarProps {
  all: { kind: string; tokens: number }[];
  whole: number;
  chosen: Signal<string | undefined>;
}

/** Parts side by side. The list below has the same, for keys and screen readers. */
const Bar = ({ all, whole, chosen }: BarProps) => (
  <div class="stacked large" aria-hidden="true">
    {all.map(({ kind, tokens: size }) => (
      <span
        key={kind}
        class={`part-${kind} ${chosen.value === kind ? 'chosen' : ''}`}
        style={{ width: `${(size / whole) * 100}%` }}
        title={`${nameOf(kind)}: ${tokens(size)}`}
        onClick={() => { chosen.value = kind === 'free' ? undefined : kind; }}
      />
    ))}
  </div>
);

function PartMessages({ part, session: id }: { part: WindowPart; session: string }) {
  const all = useSignal(false);
  const sorted = part.messages.toSorted((a, b) => b.tokens - a.tokens);
  const shown = all.value ? sorted : sorted.slice(0, FIRST);
  return (
    <section aria-label={nameOf(part.kind)}>
      <h3>{nameOf(part.kind)} <span class="dim">{counted(part.count, 'message')}, {tokens(part.tokens)}, the largest first{part.basis === 'estimated' ? '; estimated' : ''}</span></h3>
      <ol class="part-messages">
        {shown.map((message, at) => (
          <li key={`${message.id}-${at}`}>
            <span class="size">{exact(message.tokens)}</span>
            <span class="role">{message.role === 'assistant' ? 'agent' : message.role}</span>
            {message.frame ? <Handle handle={message.frame} /> : <span />}
            <bdi class="line">{line(message.line)}</bdi>
          </li>
        ))}
      </ol>
      {shown.length < sorted.length ? <button type="button" onClick={() => { all.value = true; }}>Show all {exact(sorted.length)}</button> : null}{' '}
      <button type="button" onClick={() => go({ view: 'request', session: id, call: undefined })}>Read the whole request</button>
    </section>
  );
}
