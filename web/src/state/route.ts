import { computed, signal } from '@preact/signals';

export const VIEWS = ['frames', 'flame', 'window', 'calls', 'request'] as const;
export type View = (typeof VIEWS)[number];
export const TABS = ['overview', 'diff', 'log', 'fold', 'request'] as const;
export type Tab = (typeof TABS)[number];

/** The place in the address: `#/f24/diff?view=flame&session=ses_1`. */
export interface Route {
  frame: string | undefined;
  tab: Tab;
  view: View;
  session: string | undefined;
  /** The message of the call whose request is shown; the next request without one. */
  call: string | undefined;
}

function known<T extends string>(all: readonly T[], name: string | null | undefined): T {
  return all.find((it) => it === name) ?? all[0]!;
}

function parsed(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const [frame, tab] = path.split('/').map(decoded);
  const parameters = new URLSearchParams(query);
  return {
    frame: frame || undefined,
    tab: known(TABS, tab),
    view: known(VIEWS, parameters.get('view')),
    session: parameters.get('session') ?? undefined,
    call: parameters.get('call') ?? undefined,
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The address of a place in the page. */
export function address(to: Route): string {
  const path = to.frame ? `/${encodeURIComponent(to.frame)}${to.tab === 'overview' ? '' : `/${to.tab}`}` : '/';
  const parameters = new URLSearchParams();
  if (to.view !== 'frames') parameters.set('view', to.view);
  if (to.session) parameters.set('session', to.session);
  if (to.call) parameters.set('call', to.call);
  return `#${path}${parameters.size > 0 ? `?${parameters}` : ''}`;
}

export const route = signal<Route>(parsed(''));

/** Follows the address, beginning with the present one. */
export function begin(): void {
  const read = (): void => {
    route.value = parsed(location.hash);
  };
  read();
  addEventListener('hashchange', read);
  addEventListener('popstate', read);
}

/** Where a change of the place leads. */
export const towards = (change: Partial<Route>): Route => ({ ...route.value, ...change });

/** Goes elsewhere. Steps between frames of one view leave no trace in the history, since keys make many of them. */
export function go(change: Partial<Route>, replace = false): void {
  const to = towards(change);
  const next = address(to);
  if (next === location.hash) return;
  if (replace) history.replaceState(null, '', next);
  else history.pushState(null, '', next);
  route.value = to;
}

export const chosen = computed(() => route.value.frame);
export const view = computed(() => route.value.view);
