import { render } from 'preact';
import { embedded, Offline } from './source/offline.ts';
import { Live, takeToken } from './source/live.ts';
import { begin, data, errorText, problem } from './state/model.ts';
import { begin as beginRoute, go, route } from './state/route.ts';
import { begin as beginTheme } from './state/theme.ts';
import { App } from './views/app.tsx';
import { seeFrame } from './views/bits.tsx';
import { server } from './views/projects.tsx';
import './style/page.css';

/** Begins with the data in the document, or with those of the server that sent it. */
async function start(): Promise<void> {
  const text = embedded();
  if (text === undefined) takeToken();
  beginRoute();
  try {
    const source = text === undefined ? await Live.connect() : new Offline(text);
    if (source instanceof Live) server.value = source;
    await begin(source);
    const { start: first } = data();
    const { replay } = data();
    if (first && !route.value.frame) go({ frame: first }, true);
    else if (route.value.frame) seeFrame();
    // The subject of a replay are its figures.
    if (replay && !location.hash) go({ view: 'calls' }, true);
  } catch (error) {
    problem.value = errorText(error);
  }
}

beginTheme();
const root = document.getElementById('page');
if (root) render(<App />, root);
// In a file the data stand after the script. The page is painted before they are read.
if (document.readyState === 'loading') {
  document.addEventListener('DOMContentLoaded', () => requestAnimationFrame(() => setTimeout(() => void start())));
} else void start();
