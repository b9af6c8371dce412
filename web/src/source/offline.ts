import type { Calls, Details, Diff, Folded, Frames, Message, Messages, Replay, Sent, Window } from './data.ts';
import { type Answer, Refused, type Source } from './source.ts';

/** The document of an offline page. */
export interface Report {
  kind: 'callstack-report';
  version: number;
  madeAt: number;
  by: string;
  source: 'store' | 'recording';
  title: string;
  start?: string;
  frames: Frames;
  details: Record<string, Details>;
  diffs: Record<string, Diff>;
  folds: Record<string, Folded>;
  logs: Record<string, Messages>;
  sessions: Record<string, { window?: Window; calls?: Calls; sent?: Sent }>;
  replay?: Replay;
  leftOut?: string[];
}

/** The text of the element that holds the document; nothing where a server gives the data. */
export function embedded(): string | undefined {
  return document.getElementById('data')?.textContent?.trim() || undefined;
}

/** The data that the page was written with. */
export class Offline implements Source {
  readonly steers = false;
  readonly #report: Report;
  readonly #texts = new Map<string, string>();

  constructor(text: string) {
    this.#report = JSON.parse(text) as Report;
    if (this.#report.kind !== 'callstack-report' || this.#report.version !== 1) {
      throw new Refused('This page does not understand its data.', 'Write it again with the callstack that is installed.');
    }
  }

  get title(): string {
    return this.#report.title;
  }

  get remarks(): string[] {
    return this.#report.leftOut ?? [];
  }

  get replay(): Replay | undefined {
    return this.#report.replay;
  }

  get start(): string | undefined {
    return this.#report.start;
  }

  get at(): number {
    return this.#report.madeAt;
  }

  async frames(): Promise<Frames> {
    return this.#report.frames;
  }

  async details(frame: string): Promise<Details> {
    return found(this.#report.details?.[frame]);
  }

  async diff(frame: string, from = 0, path?: string): Promise<Diff> {
    const diff = found(this.#report.diffs?.[frame]);
    if (path) throw absent();
    if (from > 0) throw absent();
    return diff;
  }

  async folded(frame: string, from = 0): Promise<Folded> {
    if (from > 0) throw absent();
    return found(this.#report.folds?.[frame]);
  }

  async log(frame: string, from = 0): Promise<Messages> {
    if (from > 0) throw absent();
    return found(this.#report.logs?.[frame]);
  }

  async window(session: string): Promise<Window> {
    return found(this.#report.sessions?.[session]?.window);
  }

  async calls(session: string): Promise<Calls> {
    return found(this.#report.sessions?.[session]?.calls);
  }

  async sent(session: string, call?: string, from = 0): Promise<Sent> {
    if (call || from > 0) throw absent();
    return found(this.#report.sessions?.[session]?.sent);
  }

  async message(): Promise<Message> {
    throw absent();
  }

  async search(query: string): Promise<string[]> {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    return Object.entries(this.#report.details ?? {})
      .filter(([handle, details]) => words.every((word) => this.#text(handle, details).includes(word)))
      .map(([handle]) => handle);
  }

  #text(handle: string, details: Details): string {
    let text = this.#texts.get(handle);
    if (text === undefined) {
      const { results = '', successCriteria, decisions, artifacts } = details;
      text = [results, successCriteria, ...decisions, ...artifacts].join('\n').toLowerCase();
      this.#texts.set(handle, text);
    }
    return text;
  }

  async run(): Promise<Answer> {
    throw new Refused('A file changes nothing.', 'Run `callstack serve` in the project.');
  }

  follow(): void {
    // A file stays as it is.
  }
}

function found<T>(part: T | undefined): T {
  if (part === undefined) throw absent();
  return part;
}

function absent(): Refused {
  return new Refused('This is not in the file.', '`callstack serve` shows all of it, and `callstack log` the messages.');
}
