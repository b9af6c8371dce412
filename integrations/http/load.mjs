#!/usr/bin/env node
// Measures `callstack serve` under load: clients that follow the events, and others that change the tree.
//
//   node integrations/http/load.mjs CALLSTACK [--frames 100000] [--seconds 60] [--watchers 100] [--writers 50]
//       [--pages 0] [--strangers 0] [--beside] [--idle 60] [--folder DIR]
//
// CALLSTACK is the binary, built with the release profile. Each writer makes two changes a second in a frame of its
// own that has 50 to 99 finished children. --pages asks for all frames, as so many open pages do. --strangers opens so
// many connections without the token. --beside lets other processes write, too: a command each second, and an agent
// over `callstack mcp`. --idle is the time for which the server is watched at rest, without and with the watchers.
// --folder keeps the project with its store for the next run.
//
// Fails if a watcher misses an event or has one twice, or a call is refused. The clients are in this process, the
// watchers on a thread of it: they share the computer with the server, and their processor time is reported, too.

import { execFile, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, get, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

const PAUSE = 500;

const number = (otherwise) => ({ type: 'string', default: String(otherwise) });
const share = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN;

// p50, p99 and the longest of some times in milliseconds.
function percentiles(times) {
  const sorted = times.sort((a, b) => a - b);
  return [share(sorted, 0.5), share(sorted, 0.99), share(sorted, 1)].map((ms) => ms.toFixed(1)).join(' / ') + ' ms';
}

// A tree in the format of `callstack export`: the writers' frames and others, with their finished children.
function tree(count, writers) {
  const frames = {};
  const frame = (id, parent, status, more) =>
    (frames[id] = { title: `Frame ${id}`, status, successCriteria: `${id} is done`, parentSessionID: parent, ...more });
  frame('whole', undefined, 'in_progress', { workedIn: 'whole' });
  for (let group = 0, left = count - 1; left > 0; group++) {
    const isWriter = group < writers;
    const more = isWriter ? { workedIn: `writer-${group}` } : { results: 'Done.' };
    frame(`g${group}`, 'whole', isWriter ? 'in_progress' : 'completed', more);
    // A pop that ends the hundredth consolidates them: not for all writers at the same moment.
    for (let n = Math.min(50 + (group % 50), --left); n > 0; n--, left--) {
      frame(`g${group}-${n}`, `g${group}`, 'completed', { results: `Done: ${n} of group ${group}.` });
    }
  }
  return { version: 1, frames };
}

// Follows the events as many clients, in a worker: their work is not counted among the time that writers wait.
function watch({ port, token, watchers, begun }) {
  const delays = [];
  const last = new Array(watchers).fill(begun);
  const wrong = [];
  const agent = new Agent({ maxSockets: Infinity });
  const headers = { authorization: `Bearer ${token}` };
  let connected = 0;
  for (let watcher = 0; watcher < watchers; watcher++) {
    get({ port, headers, agent, path: `/v1/events?after=${begun}` }, (answer) => {
      if (++connected === watchers) parentPort.postMessage('connected');
      let rest = '';
      answer.setEncoding('latin1').on('data', (text) => {
        const now = Date.now();
        const blocks = (rest + text).split('\n\n');
        rest = blocks.pop();
        for (const block of blocks) {
          const [, seq, at] = /^id: (\d+)-(\d+)\ndata/.exec(block) ?? [];
          if (block.startsWith('event: gap')) wrong.push(`watcher ${watcher}: a gap after ${last[watcher]}`);
          if (!seq) continue;
          if (+seq !== last[watcher] + 1) wrong.push(`watcher ${watcher}: ${seq} after ${last[watcher]}`);
          last[watcher] = +seq;
          delays.push(now - at);
        }
      });
      answer.on('close', () => wrong.push(`watcher ${watcher}: the stream ended after ${last[watcher]}`));
    });
  }
  // After the last event is named, they answer once all have received it, or some have not for ten seconds.
  parentPort.on('message', async (end) => {
    for (let tries = 0; last.some((seq) => seq < end) && tries < 1000; tries++) await sleep(10);
    const late = last.filter((seq) => seq !== end).length;
    parentPort.postMessage({ wrong, late, had: delays.length, delays: percentiles(delays) });
    process.exit();
  });
}

class Server {
  static async start(binary, project, env) {
    const child = spawn(binary, ['serve', '--json'], { cwd: project, env, stdio: ['ignore', 'pipe', 'inherit'] });
    let said = '';
    for await (const part of child.stdout) if ((said += part).includes('}')) break;
    return Object.assign(new Server(), JSON.parse(said), { child, agent: new Agent({ keepAlive: true }) });
  }

  call(operation, session, body) {
    const headers = { authorization: `Bearer ${this.token}`, 'content-type': 'application/json' };
    const path = `/v1/operations/${operation}?session=${session}`;
    return new Promise((done, failed) => {
      const asked = request({ port: this.port, agent: this.agent, method: 'POST', path, headers }, (answer) => {
        let text = '';
        answer.on('data', (part) => answer.statusCode !== 200 && (text += part));
        answer.on('end', () => (answer.statusCode === 200 ? done() : failed(new Error(`${operation}: ${text}`))));
      });
      asked.on('error', failed).end(JSON.stringify(body));
    });
  }

  // The number of the newest event: a stream begins with it.
  newest() {
    const headers = { authorization: `Bearer ${this.token}` };
    return new Promise((done) => {
      get({ port: this.port, headers, path: '/v1/events' }, (answer) =>
        answer.setEncoding('utf8').once('data', (text) => {
          answer.destroy();
          done(+/id: (\d+)/.exec(text)[1]);
        }));
    });
  }

  // Its processor time, in milliseconds, and its memory now and at most, in kB.
  figures() {
    const fields = readFileSync(`/proc/${this.pid}/stat`, 'utf8').split(') ')[1].split(' ');
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8');
    const kB = (name) => +new RegExp(`${name}:\\s+(\\d+)`).exec(status)[1];
    return { busy: 10 * (+fields[11] + +fields[12]), now: kB('VmRSS'), most: kB('VmHWM') };
  }

  async idle(seconds, how) {
    const before = this.figures().busy;
    await sleep(1000 * seconds);
    console.log(`idle, ${how}: ${this.figures().busy - before} ms of processor time in ${seconds} s`);
  }
}

// Two changes a second until the time is over, by turns.
async function write(server, writer, writers, until, took) {
  const session = `writer-${writer}`;
  const changes = [
    ['stack_frame_push', { title: `Part of ${session}`, successCriteria: 'It is done' }],
    ['stack_pin', { text: `The public functions of ${session} stay as they are.` }],
    ['stack_add_decision', { decision: `${session} keeps its tables, since both readers need them.` }],
    ['stack_frame_pop', { results: 'Done: all of its tests pass, and nothing is left to do.' }],
  ];
  const begun = performance.now() + (PAUSE * writer) / writers;
  for (let n = 0; ; n++) {
    await sleep(Math.max(0, begun + n * PAUSE - performance.now()));
    if (performance.now() > until) return;
    const [operation, body] = changes[n % changes.length];
    const asked = performance.now();
    await server.call(operation, session, body);
    (took[operation] ??= []).push(performance.now() - asked);
  }
}

// Other processes that write to the same store: a command each second, and an agent.
async function beside(binary, project, env, until) {
  const agent = spawn(binary, ['mcp'], { cwd: project, env, stdio: ['pipe', 'pipe', 'inherit'] });
  const answers = createInterface({ input: agent.stdout })[Symbol.asyncIterator]();
  let calls = 0;
  const ask = async (method, params) => {
    agent.stdin.write(JSON.stringify({ jsonrpc: '2.0', id: ++calls, method, params }) + '\n');
    const { result } = JSON.parse((await answers.next()).value);
    if (!result || result.isError) throw new Error(`${method} over MCP: ${JSON.stringify(result)}`);
  };
  const clientInfo = { name: 'load', version: '1' };
  await ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
  agent.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  const changes = async () => {
    while (performance.now() < until) {
      const frame = { title: 'A frame of an agent', successCriteria: 'It is done' };
      await ask('tools/call', { name: 'stack_frame_push', arguments: frame });
      await ask('tools/call', { name: 'stack_frame_pop', arguments: { results: 'Done' } });
      await sleep(1000);
    }
  };
  const commands = [];
  const shell = async () => {
    while (performance.now() < until) {
      const begun = performance.now();
      const words = ['--session', 'whole', 'decision', `Command ${commands.length}`];
      await promisify(execFile)(binary, words, { cwd: project, env });
      commands.push(performance.now() - begun);
      await sleep(1000);
    }
  };
  await Promise.all([changes(), shell()]);
  agent.stdin.end();
  console.log(`beside: ${calls - 1} changes over MCP, ${commands.length} commands: ${percentiles(commands)}`);
}

// An open page: it reads all frames after a change, and rests twice as long as that took.
async function page(server, until, took) {
  while (performance.now() < until) {
    const asked = performance.now();
    await server.call('stack_frames', 'page', {});
    took.push(performance.now() - asked);
    await sleep(2 * took.at(-1));
  }
}

// Connections that never show a token, and stay until the server closes them.
async function strangers(server, count, until) {
  const sockets = [];
  const pause = (until - performance.now()) / 2 / (count / 100);
  let closed = 0;
  while (sockets.length < count) {
    if (sockets.length % 100 === 0) await sleep(pause);
    const socket = connect(server.port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\n'));
    socket.on('error', () => {}).on('close', () => closed++);
    sockets.push(socket);
  }
  await sleep(until - performance.now());
  if (count) console.log(`strangers: ${count} connections, of which the server closed ${closed}`);
  for (const socket of sockets) socket.destroy();
}

async function main() {
  const options = {
    frames: number(100_000), seconds: number(60), watchers: number(100), writers: number(50),
    pages: number(0), strangers: number(0), idle: number(60), beside: { type: 'boolean' }, folder: { type: 'string' },
  };
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  if (positionals.length !== 1) throw new Error('say which callstack is measured');
  const binary = resolve(positionals[0]);
  const [frames, seconds, watchers, writers] =
    [values.frames, values.seconds, values.watchers, values.writers].map(Number);
  const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'callstack-load-'));
  const project = join(folder, 'project');
  const env = { PATH: process.env.PATH, HOME: folder };
  if (!existsSync(project)) {
    mkdirSync(project, { recursive: true });
    writeFileSync(join(folder, 'tree.json'), JSON.stringify(tree(frames, writers)));
    const begun = performance.now();
    execFileSync(binary, ['import', '../tree.json', '--here'], { cwd: project, env, stdio: 'ignore' });
    console.log(`imported ${frames} frames in ${Math.round(performance.now() - begun)} ms`);
  }
  const server = await Server.start(binary, project, env);
  try {
    await server.idle(values.idle, 'without clients');
    const begun = await server.newest();
    const workerData = { port: server.port, token: server.token, watchers, begun };
    const worker = new Worker(new URL(import.meta.url), { workerData });
    const next = () => new Promise((done, failed) => worker.once('message', done).once('error', failed));
    await next();
    await server.idle(values.idle, `with ${watchers} watchers`);
    const [rest, own] = [server.figures(), process.cpuUsage()];
    console.log(`memory at rest: ${rest.now} kB, at most ${rest.most} kB`);

    const [took, until] = [{}, performance.now() + 1000 * seconds];
    const work = Array.from({ length: writers }, (_, writer) => write(server, writer, writers, until, took));
    if (values.beside) work.push(beside(binary, project, env, until));
    const read = [];
    for (let n = 0; n < +values.pages; n++) work.push(page(server, until, read));
    work.push(strangers(server, +values.strangers, until));
    await Promise.all(work);
    const [loaded, { user, system }] = [server.figures(), process.cpuUsage(own)];
    const end = await server.newest();
    worker.postMessage(end);
    const { wrong, late, had, delays } = await next();

    const all = Object.values(took).flat();
    console.log(`${frames} frames, ${watchers} watchers, ${writers} writers, ${seconds} s`);
    console.log('p50 / p99 / longest of');
    console.log(`operations, ${all.length} of ${writers * seconds * (1000 / PAUSE)}: ${percentiles(all)}`);
    for (const [operation, times] of Object.entries(took)) console.log(`  ${operation}: ${percentiles(times)}`);
    console.log(`from a change to a watcher: ${delays}`);
    if (read.length) console.log(`all frames, ${read.length} times: ${percentiles(read)}`);
    console.log(`events: ${end - begun}, of which watchers had ${had} of ${(end - begun) * watchers}`);
    console.log(`memory at most: ${loaded.most} kB (${loaded.now} kB at the end)`);
    const busy = Math.round((user + system) / 1000);
    console.log(`processor time: server ${loaded.busy - rest.busy} ms, clients ${busy} ms`);
    for (const line of wrong.slice(0, 9)) console.log(line);
    if (wrong.length || late) throw new Error(`${wrong.length} faults, ${late} watchers were not at the end`);
  } finally {
    server.agent.destroy();
    const ended = new Promise((done) => server.child.on('close', done));
    server.child.kill();
    await ended;
    if (!values.folder) rmSync(folder, { recursive: true });
  }
}

if (isMainThread) await main();
else watch(workerData);
