import type { Calls, Details, Diff, Folded, Frames, Message, Messages, Replay, Sent, Window } from './data.ts';

/** The reason why something can't be shown, with a remedy. */
export class Refused extends Error {
  readonly hint: string | undefined;
  /** Whether asking again can't help. */
  readonly final: boolean;

  constructor(message: string, hint?: string, final = false) {
    super(message);
    this.hint = hint;
    this.final = final;
  }
}

/** The answer of an operation. */
export interface Answer {
  title: string;
  text: string;
  data: unknown;
}

/** Where the page has its data from: a server, or the file that it stands in. */
export interface Source {
  /** The subject of the page, such as the project's folder. */
  readonly title: string;
  /** Whether frames can be changed. */
  readonly steers: boolean;
  /** Remarks on missing data. */
  readonly remarks: string[];
  /** The time at which the data were written; nothing if they are live. */
  readonly at: number | undefined;
  /** The frame to show first. */
  readonly start: string | undefined;
  /** Other ways to send recorded sessions, where the page is about these. */
  readonly replay: Replay | undefined;

  frames(since?: number): Promise<Frames>;
  details(frame: string): Promise<Details>;
  diff(frame: string, from?: number, path?: string): Promise<Diff>;
  folded(frame: string, from?: number): Promise<Folded>;
  log(frame: string, from?: number): Promise<Messages>;
  window(session: string): Promise<Window>;
  calls(session: string): Promise<Calls>;
  sent(session: string, call?: string, from?: number): Promise<Sent>;
  /** A message of a request, whole. */
  message(session: string, call: string | undefined, message: string): Promise<Message>;
  /** Handles of frames whose results, files or messages hold words that the tree does not have. */
  search(query: string): Promise<string[]>;

  /** Carries out an operation in a session. */
  run(operation: string, args: Record<string, unknown>, session: string | undefined): Promise<Answer>;
  /** Calls `changed` whenever frames may have changed, and `state` with the fault of the connection, if any. */
  follow(changed: () => void, state: (problem: string) => void): void;
}
