import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { filter, frame, kind, loaded, now, problem, remarks, session, sessions, shown, steers, title, tree, words } from '../state/model.ts';
import { go, route, type View, view, VIEWS } from '../state/route.ts';
import { done, undoLast } from '../state/steer.ts';
import { type Kind, KINDS } from '../state/tree.ts';
import { choose, type Theme, theme, THEMES } from '../state/theme.ts';
import { ago, counted, exact } from '../text/format.ts';
import { line } from '../text/visible.ts';
import { form, FormDialog, offers } from './actions.tsx';
import { Guard, Modal, Tabs } from './bits.tsx';
import { CallsView } from './calls.tsx';
import { FlameView } from './flame.tsx';
import { FrameView } from './frame.tsx';
import { SessionRequest } from './request.tsx';
import { Projects, server } from './projects.tsx';
import { TreeView } from './tree.tsx';
import { WindowStrip, WindowView } from './window.tsx';
import { shortId, STATUS } from './words.ts';

const NAMES: Record<View, string> = { frames: 'Frames', flame: 'Flame chart', window: 'Window', calls: 'Calls', request: 'Request' };
const FILTERS: Record<Kind, string> = { all: 'all frames', unfinished: 'unfinished', failed: 'failed', changed: 'with changed files', sent: 'still sent' };

const LOOKS: Record<Theme, string> = { system: 'Theme: system', light: 'Theme: light', dark: 'Theme: dark' };

const help = signal(false);

export function App() {
  useEffect(() => {
    document.addEventListener('keydown', shortcut);
    return () => document.removeEventListener('keydown', shortcut);
  }, []);
  const which = view.value;
  return (
    <>
      <Head />
      <main class={`shows-${which} ${route.value.frame ? 'has-frame' : ''}`}>
        <div class="view" role="tabpanel" id="view-panel" aria-labelledby={`view-${which}`} tabIndex={-1}>
          <Guard key={which}>
            {which === 'frames' ? <TreeView /> : null}
            {which === 'flame' ? <FlameView /> : null}
            {which === 'window' ? <WindowView /> : null}
            {which === 'calls' ? <CallsView /> : null}
            {which === 'request' ? <SessionRequest /> : null}
          </Guard>
        </div>
        <FrameView />
      </main>
      <FormDialog />
      <Help />
      <Toast />
    </>
  );
}

function Head() {
  const all = tree.value.frames.length;
  const count = shown.value?.size;
  // Only these views show the effect of the filter.
  const isListed = view.value === 'frames' || view.value === 'flame';
  return (
    <header class="head">
      <a class="skip" href="#/" onClick={(event) => { event.preventDefault(); document.getElementById('view-panel')?.focus(); }}>Skip to the frames</a>
      <div class="bar">
        <h1>callstack</h1>
        {title.value && (server.value?.projects.length ?? 0) < 2 ? <bdi class="project">{line(title.value)}</bdi> : null}
        <Projects />
        <Tabs name="Views" id="view" all={VIEWS.map((id) => ({ id, name: NAMES[id] }))} chosen={view.value} choose={(to) => go({ view: to })} />
        <select aria-label="Theme" class="theme" value={theme.value.split(' ')[0]} onChange={(event) => choose(event.currentTarget.value as Theme)}>
          {THEMES.map((it) => <option key={it} value={it}>{LOOKS[it]}</option>)}
        </select>
        <button type="button" class="help-button" aria-label="Keys" onClick={() => { help.value = true; }}>?</button>
      </div>
      <div class="bar">
        {isListed ? <input
          id="filter"
          type="search"
          aria-label="Filter by title, result, file, agent or message"
          placeholder="Filter"
          value={words.value}
          onInput={(event) => filter(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'ArrowDown' || event.key === 'Enter') document.getElementById('tree')?.focus();
          }}
        /> : null}
        {isListed ? <select aria-label="Frames to show" class="kinds" value={kind.value} onChange={(event) => { kind.value = event.currentTarget.value as Kind; }}>
          {KINDS.map((it) => <option key={it} value={it}>{FILTERS[it]}</option>)}
        </select> : null}
        <span class="dim count" role="status">
          {loaded.value ? (count === undefined ? counted(all, 'frame') : `${exact(count)} of ${exact(all)}`) : 'Reading …'}
        </span>
        {sessions.value.length > 0 ? <Sessions /> : null}
        <WindowStrip />
      </div>
      {problem.value ? <p class="problem" role="alert">{problem.value}</p> : null}
      {remarks.value.length > 0 ? (
        <details class="remarks"><summary>Left out of this file</summary><ul>{remarks.value.map((it) => <li key={it}>{line(it)}</li>)}</ul></details>
      ) : null}
    </header>
  );
}

function Sessions() {
  const all = sessions.value.toSorted((a, b) => (b.at ?? 0) - (a.at ?? 0)).slice(0, 200);
  return (
    <select aria-label="Session" class="sessions" value={session.value?.id ?? ''} onChange={(event) => go({ session: event.currentTarget.value, call: undefined })}>
      {all.map((it) => {
        const root = tree.value.get(it.root ?? it.active);
        const name = [root ? line(root.title).slice(0, 40) : '', it.agent || it.host, shortId(it.id)].filter(Boolean).join(' · ');
        return <option key={it.id} value={it.id}>{it.recorded ? `${name} (recorded)` : it.at ? `${name}, ${ago(it.at, now.value)}` : name}</option>;
      })}
    </select>
  );
}

function Toast() {
  const it = done.value;
  return (
    <div class="toast" role="status" aria-live="polite">
      {it ? (
        <p class={it.failed ? 'failed' : ''}>
          {line(it.text)}{' '}
          {it.undo ? <button type="button" onClick={undoLast}>Undo</button> : null}{' '}
          <button type="button" aria-label="Close this message" onClick={() => { done.value = undefined; }}>×</button>
        </p>
      ) : null}
    </div>
  );
}

const KEYS: [string, string][] = [
  ['/', 'Filter'],
  ['1 – 5', 'Frames, flame chart, window, calls, request'],
  ['↑ ↓ Home End', 'In the list: the frame above, below, first, last'],
  ['→ ←', 'Open and close, in and out'],
  ['*', 'Open all'],
  ['Enter', 'To the frame’s details; in the flame chart: fit it'],
  ['+ − 0', 'In the flame chart: zoom in, out, show all; Shift with arrows pans'],
  ['Alt with arrows', 'Move a planned frame: order, in and out'],
  ['a', 'To the actions of the frame'],
  ['p', 'Pin a rule to the frame'],
  ['u', 'Undo what was done last'],
  ['Esc', 'Back to the list'],
  ['?', 'These keys'],
];

function Help() {
  if (!help.value) return null;
  return (
    <Modal name="help-title" close={() => { help.value = false; }}>
      <h2 id="help-title" tabIndex={-1} autofocus>Keys and signs</h2>
      <dl class="keys signs">
        {Object.values(STATUS).map(({ sign, name }) => <div key={name}><dt>{sign}</dt><dd>{name}</dd></div>)}
        <div><dt>☑ ☒</dt><dd>the last check passed, failed; ☑? passed before the last change of files</dd></div>
        <div><dt>⚑</dt><dd>pinned rules</dd></div>
        <div><dt><strong>bold</strong></dt><dd>an agent works in it</dd></div>
      </dl>
      <dl class="keys">{KEYS.map(([key, what]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{what}</dd></div>)}</dl>
      <p class="buttons"><button type="button" class="primary" onClick={() => { help.value = false; }}>Close</button></p>
    </Modal>
  );
}

/** Keys that work anywhere but where one writes. */
function shortcut(event: KeyboardEvent): void {
  const target = event.target as Element | null;
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
  if (event.key === 'Escape' && target?.id === 'filter') {
    filter('');
    document.getElementById('tree')?.focus();
    return;
  }
  if (target?.matches('input, textarea, select')) return;
  const at = frame.value;
  switch (event.key) {
    case '/':
      if (!document.getElementById('filter')) go({ view: 'frames' });
      // After the view is rendered, and before the next key arrives: a letter typed quickly belongs to the filter.
      queueMicrotask(() => document.getElementById('filter')?.focus());
      break;
    case '?': help.value = true; break;
    case 'u': undoLast(); break;
    case 'a': document.querySelector<HTMLElement>('.actions button')?.focus(); break;
    case 'p':
      if (at && steers.value && offers(at).some((it) => it.form === 'pin')) form.value = { name: 'pin', frame: at };
      break;
    case 'Escape':
      if (document.getElementById('tree')) document.getElementById('tree')?.focus();
      else go({ frame: undefined, tab: 'overview' });
      break;
    default: {
      const wanted = VIEWS[Number(event.key) - 1];
      if (!wanted || target?.matches('canvas')) return;
      go({ view: wanted });
    }
  }
  event.preventDefault();
}
