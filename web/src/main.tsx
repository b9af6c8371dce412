import { render } from 'preact';
import { embedded, Offline } from './source/offline.ts';
import { Live, takeToken } from './source/live.ts';
import { begin, data, problem, told } from './state/model.ts';
import { begin as beginRoute, go, route } from './state/route.ts';
import { begin as beginTheme } from './state/theme.ts';
import { App } from './views/app.tsx';
import './style/page.css';

const text = embedded();
if (text === undefined) takeToken();
beginTheme();
beginRoute();
try {
  const source = text === undefined ? new Live() : new Offline(text);
  void begin(source).then(() => {
    const { start } = data();
    if (start && !route.value.frame) go({ frame: start }, true);
  });
} catch (error) {
  problem.value = told(error);
}
const root = document.getElementById('page');
if (root) render(<App />, root);
