import type { Calls, Details, Diff, Folded, Frames, Message, Messages, Sent, Window } from './data.ts';
import { type Answer, Refused, type Source } from './source.ts';
import { follow } from './stream.ts';

const PAGE = 20;

/** The key of the token in the storage of the tab. */
const TOKEN = 'token';

/** Takes the token out of the address, which is shown and remembered, and keeps it for this tab. */
export function takeToken(): void {
  const [, token, route = ''] = /^#([^/?]+)(.*)$/.exec(location.hash) ?? [];
  if (!token) return;
  sessionStorage.setItem(TOKEN, token);
  history.replaceState(null, '', `${location.pathname}${location.search}${route ? `#${route}` : ''}`);
}

/** A project that the server serves. */
export interface Project {
  id: string;
  folder: string;
  name: string;
}

/** The parameter of the page's address that names the project. */
const PROJECT = 'project';

/** Returns the page's address for another project. */
export function ofProject(id: string): string {
  return `${location.pathname}?${new URLSearchParams({ [PROJECT]: id })}`;
}

/** A server that asks a store. */
export class Live implements Source {
  title = '';
  /** The projects that the server serves, if there are several, and which one is shown. */
  projects: Project[] = [];
  project = new URLSearchParams(location.search).get(PROJECT) ?? '';
  readonly steers = true;
  readonly remarks: string[] = [];
  readonly at = undefined;
  readonly start = undefined;
  readonly replay = undefined;

  /** Connects to the server; where it has several projects and the address names none, to the one that changed last. */
  static async connect(): Promise<Live> {
    const live = new Live();
    // A server that refuses the list says why with the first answer that is shown.
    const all: Project[] = await live.#list().catch(() => []);
    const shown = live.project ? all.find(({ id }) => id === live.project) : all[0];
    if (shown) live.project = shown.id;
    live.title = shown?.name ?? '';
    if (all.length > 1) {
      live.projects = all;
      if (shown) history.replaceState(null, '', `${ofProject(shown.id)}${location.hash}`);
    }
    return live;
  }

  async #list(): Promise<Project[]> {
    return (await this.#answered('/v1/projects')).json();
  }

  /** Asks the server for something of the project. */
  ask(path: string, request: RequestInit = {}): Promise<Response> {
    return this.#answered(this.project ? `/projects/${encodeURIComponent(this.project)}${path}` : path, request);
  }

  async #answered(path: string, request: RequestInit = {}): Promise<Response> {
    const headers = new Headers(request.headers);
    headers.set('Authorization', `Bearer ${sessionStorage.getItem(TOKEN) ?? ''}`);
    let response;
    try {
      response = await fetch(path, { ...request, headers });
    } catch {
      throw new Refused('The server does not answer.', 'Is `callstack serve` still running?');
    }
    if (response.status === 401) {
      throw new Refused(
        'This tab is not let in.',
        'Open the address that `callstack serve` prints: it holds the token.',
        true,
      );
    }
    if (!response.ok) {
      const problem = await response.json().catch(() => ({}));
      throw new Refused(problem.detail ?? `The server answered ${response.status}.`, problem.hint);
    }
    return response;
  }

  async run(operation: string, args: Record<string, unknown>, session?: string): Promise<Answer> {
    const given = Object.fromEntries(Object.entries(args).filter(([, value]) => value !== undefined));
    const query = session ? `?session=${encodeURIComponent(session)}` : '';
    const response = await this.ask(`/v1/operations/${operation}${query}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(given),
    });
    return response.json();
  }

  async #data<T>(operation: string, args: Record<string, unknown>): Promise<T> {
    return (await this.run(operation, args)).data as T;
  }

  frames(since?: number): Promise<Frames> {
    return this.#data('stack_frames', { since });
  }

  details(frame: string): Promise<Details> {
    return this.#data('stack_frame_details', { frame });
  }

  diff(frame: string, from?: number, path?: string): Promise<Diff> {
    return this.#data('stack_diff', path ? { frame, path, limit: 1_000_000 } : { frame, from, count: PAGE });
  }

  folded(frame: string, from?: number): Promise<Folded> {
    return this.#data('stack_folded', { frame, from, count: PAGE });
  }

  log(frame: string, from?: number): Promise<Messages> {
    return this.#data('stack_read_frame', { frame, from, count: PAGE });
  }

  window(session: string): Promise<Window> {
    return this.#data('stack_window', { session });
  }

  calls(session: string): Promise<Calls> {
    return this.#data('stack_calls', { session });
  }

  sent(session: string, call?: string, from?: number): Promise<Sent> {
    return this.#data('stack_sent', { session, call, from, count: PAGE });
  }

  async message(session: string, call: string | undefined, message: string): Promise<Message> {
    const sent = await this.#data<Sent>('stack_sent', { session, call, message });
    const [whole] = sent.messages;
    if (!whole) throw new Refused('The message is not there any more.');
    return whole;
  }

  async search(query: string): Promise<string[]> {
    const found = await this.#data<{ places: { frame?: { handle: string } | null }[] }>('stack_search', { query, limit: 100 });
    return found.places.flatMap((place) => place.frame?.handle ?? []);
  }

  follow(changed: () => void, state: (problem: string) => void): void {
    follow(this.project, (path, headers) => this.ask(path, { headers }), changed, state);
  }
}
