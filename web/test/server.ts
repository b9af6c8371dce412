/** A server with a made-up project, which records the requested changes. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import type { Frame } from '../src/source/data.ts';
import type { Report } from '../src/source/offline.ts';

const TOKEN = '0123456789abcdef';
const ASSETS = new URL('../../crates/page/assets/', import.meta.url);
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
const FILES: Record<string, [string, string]> = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/page.css': ['page.css', 'text/css; charset=utf-8'],
  '/page.js': ['page.js', 'text/javascript; charset=utf-8'],
};

export interface Asked {
  operation: string;
  session: string | null;
  args: Record<string, unknown>;
}

type Answering = (args: Record<string, unknown>) => { text?: string; data?: unknown } | undefined;

export class Project {
  readonly changes: Asked[] = [];
  /** The most changes that were under way at once. */
  atOnce = 0;
  /** The time that a change takes, in milliseconds. */
  slowness = 0;
  #underWay = 0;
  /** Answers of operations that are not those of the report. */
  readonly answers = new Map<string, Answering>();
  readonly report: Report;
  /** The projects that the server says it has; all have the same frames. */
  readonly projects = [{ id: '01', folder: '/home/ada/parser', name: 'parser' }];
  /** The projects that something was asked of. */
  readonly asked = new Set<string>();
  readonly #server: Server;
  readonly #streams = new Set<ServerResponse>();
  #refusal = '';

  constructor(report: Report) {
    this.report = report;
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  async start(): Promise<string> {
    await new Promise<void>((listening) => this.#server.listen(0, '127.0.0.1', listening));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/#${TOKEN}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  get streams(): number {
    return this.#streams.size;
  }

  frame(handle: string): Frame {
    const frame = this.report.frames.frames.find((it) => it.handle === handle);
    if (!frame) throw new Error(`there is no ${handle}`);
    return frame;
  }

  /** Notifies all clients of a change. */
  changed(): void {
    this.report.frames.revision += 1;
    for (const stream of this.#streams) stream.write(`id: ${this.report.frames.revision}\ndata: {}\n\n`);
  }

  refuse(detail: string): void {
    this.#refusal = detail;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://localhost');
    response.setHeader('Content-Security-Policy', POLICY);
    const [name, type] = FILES[url.pathname] ?? [];
    if (name && type) {
      response.setHeader('Content-Type', type).end(await readFile(new URL(name, ASSETS)));
      return;
    }
    if (request.headers.authorization !== `Bearer ${TOKEN}`) {
      response.writeHead(401, { 'Content-Type': 'application/problem+json' }).end('{"detail":"no"}');
      return;
    }
    if (url.pathname === '/v1/projects') {
      response.setHeader('Content-Type', 'application/json').end(JSON.stringify(this.projects));
      return;
    }
    const [, project = '', path] = /^\/projects\/([^/]+)(.*)$/.exec(url.pathname) ?? [];
    this.asked.add(project);
    if (path === '/v1/events') {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write('retry: 1000\n\nevent: open\nid: 1\ndata: {}\n\n');
      this.#streams.add(response);
      request.on('close', () => this.#streams.delete(response));
      return;
    }
    let body = '';
    for await (const chunk of request) body += chunk;
    const operation = url.pathname.split('/').at(-1) ?? '';
    const args = JSON.parse(body || '{}') as Record<string, unknown>;
    const data = this.#read(operation, args);
    if (data !== undefined) {
      response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ title: operation, text: '', data }));
      return;
    }
    if (this.#refusal) {
      response.writeHead(409, { 'Content-Type': 'application/problem+json' }).end(JSON.stringify({ detail: this.#refusal, hint: 'Do something else.' }));
      return;
    }
    this.changes.push({ operation, session: url.searchParams.get('session'), args });
    this.#underWay += 1;
    this.atOnce = Math.max(this.atOnce, this.#underWay);
    await new Promise((done) => setTimeout(done, this.slowness));
    this.#underWay -= 1;
    const answer = this.answers.get(operation)?.(args) ?? {};
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ title: operation, text: answer.text ?? `${operation} done`, data: answer.data ?? {} }));
  }

  #read(operation: string, args: Record<string, unknown>): unknown {
    const { report } = this;
    const [frame, session] = [String(args['frame'] ?? ''), String(args['session'] ?? '')];
    switch (operation) {
      case 'stack_frames': return args['since'] === report.frames.revision ? { ...report.frames, unchanged: true, frames: [], sessions: [] } : report.frames;
      case 'stack_frame_details': return report.details[frame] ?? { handle: frame, artifacts: [], decisions: [] };
      case 'stack_diff': return report.diffs[frame] ?? { frame, total: 0, files: [], why: 'Nothing is recorded.' };
      case 'stack_folded': return report.folds[frame] ?? { frame, folded: false, total: 0, left: [] };
      case 'stack_read_frame': return report.logs[frame] ?? { frame, total: 0, messages: [] };
      case 'stack_window': return report.sessions[session]?.window ?? null;
      case 'stack_calls': return report.sessions[session]?.calls ?? null;
      case 'stack_sent': return report.sessions[session]?.sent ?? null;
      case 'stack_search': return { places: String(args['query']).includes('zebra') ? [{ frame: { handle: 'f9' } }, { frame: null }] : [], more: false, behind: false };
      default: return undefined;
    }
  }
}
