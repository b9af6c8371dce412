/** The answers of operations, as far as the page shows them. Times and durations are milliseconds. */

export type Status = 'planned' | 'in_progress' | 'completed' | 'failed' | 'blocked' | 'invalidated';
export type Checked = 'passed' | 'passed_before' | 'failed';

export interface Frame {
  handle: string;
  id: string;
  parent?: string | null;
  depth: number;
  title: string;
  status: Status;
  sign?: string;
  session?: string;
  agent?: string;
  createdAt: number;
  begunAt?: number;
  endedAt?: number;
  updatedAt: number;
  workedMs?: number;
  tokens?: number;
  ownTokens?: number;
  result?: string;
  files?: string[];
  added?: number;
  removed?: number;
  checked?: Checked;
  pins?: number;
  decisions?: number;
  stillSent?: boolean;
  imported?: boolean;
  derived?: boolean;
  active?: boolean;
  unfinished?: string;
}

export interface Session {
  id: string;
  host: string;
  parent?: string;
  recorded?: boolean;
  active?: string;
  root?: string;
  agent?: string;
  at?: number;
}

export interface Frames {
  revision: number;
  active?: string;
  unchanged?: boolean;
  frames: Frame[];
  sessions: Session[];
}

export interface ChangedFile {
  path: string;
  /** The change of the file as a whole; nothing if it was edited. */
  fate?: 'created' | 'rewritten' | 'removed';
  added: number;
  removed: number;
}

export interface CheckRun {
  /** The command. */
  line: string;
  /** Nothing if the outcome is not known. */
  passed?: boolean;
  said?: string;
}

/** The recorded facts about a frame. */
export interface Evidence {
  changes?: ChangedFile[];
  moreChanges?: number;
  writtenBesides?: string[];
  checks?: CheckRun[];
  failures?: { what: string; how: string }[];
  /** Whether files were changed without any check. */
  neverChecked?: boolean;
  /** Files that were changed after the last check. */
  unchecked?: string[];
}

export interface Details {
  handle: string;
  title: string;
  status: Status;
  successCriteria: string;
  results?: string;
  resultsSource?: string;
  invalidationReason?: string;
  createdAt: number;
  begunAt?: number;
  endedAt?: number;
  artifacts: string[];
  changedArtifacts?: Record<string, string>;
  decisions: string[];
  pins?: Record<string, string>;
  evidence?: Evidence;
  logPath?: string;
  workedIn?: string;
  view?: {
    /** The program that its session belongs to. */
    host?: string;
    sessionParent?: string;
    recorded?: boolean;
  };
}

export type Basis = 'reported' | 'estimated';

export interface PartMessage {
  id: string;
  role: string;
  line: string;
  tokens: number;
  frame?: string;
  at?: number;
  call?: string;
}

export interface WindowPart {
  kind: string;
  tokens: number;
  basis: Basis;
  count: number;
  messages: PartMessage[];
}

export interface Window {
  session: string;
  host?: string;
  model?: string;
  limit?: number;
  tokens: number;
  free?: number;
  factor: number;
  lastRequest?: { message: string; at: number; tokens: number; estimated: number };
  basis: Basis;
  parts: WindowPart[];
}

export interface Call {
  place: number;
  message: string;
  at: number;
  tookMs?: number;
  frame?: string;
  agent?: string;
  model?: string;
  tokens: number;
  cached?: number;
  output?: number;
  billedHundredths?: number;
  tokensWithout?: number;
  billedWithoutHundredths?: number;
  cost?: number;
  compacted?: boolean;
}

export interface FoldMark {
  frame?: string;
  title?: string;
  status?: Status;
  kind: string;
  call?: number;
  tokensBefore: number;
  tokensAfter: number;
  message?: string;
}

export interface Sum {
  requests: number;
  sent: number;
  billedHundredths?: number;
  sentWithout?: number;
  billedWithoutHundredths?: number;
}

export interface Calls {
  session: string;
  limit?: number;
  factor: number;
  total: number;
  from: number;
  calls: Call[];
  folds: FoldMark[];
  sum: Sum;
  children?: number;
}

export interface Part {
  kind: string;
  origin?: string;
  text?: string;
  tool?: string;
  call?: string;
  state?: string;
  input?: string;
  output?: string;
  outputOrigin?: string;
  frame?: string;
  chars?: number;
  cut?: boolean;
}

export interface Message {
  place: number;
  id: string;
  role: string;
  tokens?: number;
  at?: number;
  frame?: string;
  parts: Part[];
}

/** A part of a list of messages; `more` is the place to continue with. */
export interface Messages {
  total: number;
  from?: number;
  more?: number;
  messages: Message[];
}

export interface Sent extends Messages {
  session: string;
  call?: string;
  next?: boolean;
}

export interface Folded {
  frame: string;
  title: string;
  status: Status;
  folded: boolean;
  held?: string;
  told?: string;
  text?: string;
  tokensBefore: number;
  tokensAfter: number;
  total: number;
  from?: number;
  more?: number;
  left: Message[];
}

export interface FileDiff {
  path: string;
  kind: 'created' | 'changed' | 'deleted' | 'unrecorded';
  added?: number;
  removed?: number;
  binary?: boolean;
  seen?: boolean;
  patch?: string;
  cut?: boolean;
}

export interface Diff {
  frame: string;
  source?: string;
  since?: string;
  until?: string;
  total: number;
  from?: number;
  more?: number;
  files: FileDiff[];
  why?: string;
}

/** Figures of a way in which a recorded session could have been sent. */
export interface Way {
  way: string;
  whole: { largest: number; input: number; billed: number; billedWithReads: number };
  used: number;
  kept: number;
  edits: number;
  verbatim: number;
  reads: number;
}

/** Tokens of each request of a way. */
export interface Curve {
  way: string;
  tokens: number[];
}

/** The data of recorded sessions beside their frames. */
export interface Replay {
  report: { sessions: { session: string; ways: Way[] }[]; sum: Way[] };
  curves: { session: string; curves: Curve[] }[];
}
