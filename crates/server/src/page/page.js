'use strict';

const SIGNS = {
  planned: '○', in_progress: '▶', completed: '✓', failed: '✗', blocked: '‖', invalidated: '⊘',
};
const RETRY = 1000;
const state = document.getElementById('state');
const tree = document.getElementById('tree');

// The token is kept for this tab and leaves the address, which is shown and remembered.
if (location.hash.length > 1) {
  sessionStorage.setItem('token', location.hash.slice(1));
  history.replaceState(null, '', location.pathname);
}

class Refused extends Error {}

async function ask(path, headers = {}) {
  const token = sessionStorage.getItem('token') ?? '';
  const response = await fetch(path, { headers: { ...headers, Authorization: `Bearer ${token}` } });
  if (response.status === 401) throw new Refused('This tab is not let in. Open the address that `callstack serve` prints.');
  if (!response.ok) throw new Error((await response.json()).detail);
  return response;
}

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}

function row(frame, open) {
  const { status, goal, compaction } = frame.frame;
  const item = element('li', status);
  item.append(element('span', 'sign', SIGNS[status] ?? '?'), element('span', 'title', frame.title));
  item.firstChild.setAttribute('role', 'img');
  item.firstChild.setAttribute('aria-label', status.replace('_', ' '));
  if (goal !== frame.title) item.append(' ', element('span', 'goal', goal));
  if (compaction) {
    const details = element('details');
    details.dataset.id = frame.id;
    details.open = open.has(frame.id);
    details.append(element('summary', '', 'Results'), element('pre', '', compaction));
    item.append(details);
  }
  if (frame.children.length) {
    const below = element('ul');
    below.append(...frame.children.map((child) => row(child, open)));
    item.append(below);
  }
  return item;
}

async function draw() {
  const roots = await (await ask('/frame/tree')).json();
  const open = new Set([...tree.querySelectorAll('details[open]')].map((it) => it.dataset.id));
  tree.replaceChildren(...roots.map((frame) => row(frame, open)));
  state.textContent = roots.length ? '' : 'There are no frames yet.';
}

let drawing = Promise.resolve();
let waiting = false;
// Several changes at once are drawn once.
function changed() {
  if (waiting) return;
  waiting = true;
  drawing = drawing
    .then(() => new Promise((done) => setTimeout(done, 100)))
    .then(() => { waiting = false; return draw(); })
    .catch((error) => { state.textContent = error.message; });
}

// A browser opens few connections to one host, so one tab reads the events for all of them.
const others = new BroadcastChannel('callstack');
others.onmessage = changed;

async function follow() {
  let last;
  for (;;) {
    try {
      const response = await ask('/v1/events', last ? { 'Last-Event-ID': last } : {});
      changed();
      const lines = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = '';;) {
        const { done, value } = await lines.read();
        if (done) break;
        const blocks = (rest + value).split('\n\n');
        rest = blocks.pop();
        for (const block of blocks) last = /^id: (.*)$/m.exec(block)?.[1] ?? last;
        if (blocks.some((block) => block.includes('data: '))) {
          others.postMessage('changed');
          changed();
        }
      }
    } catch (error) {
      state.textContent = error.message;
      if (error instanceof Refused) return;
    }
    await new Promise((done) => setTimeout(done, RETRY));
  }
}

changed();
navigator.locks.request('callstack-events', follow);
