// Drives a server with a client that is generated from its description: `npx openapi-typescript openapi.json -o api.ts`.
import createClient from 'openapi-fetch';
import type { paths } from './api.js';

// An answer that is an error ends the program, with the server's description of it.
function data<T>({ data, error }: { data?: T; error?: { detail: string; hint?: string | null } }): T {
  if (data === undefined) throw new Error(`${error?.detail} ${error?.hint ?? ''}`);
  return data;
}

// Pushes a frame and a planned one, pops the first, and returns the tree and the events after that.
export async function drive(baseUrl: string, token: string) {
  const signal = AbortSignal.timeout(60_000);
  const headers = { Authorization: `Bearer ${token}` };
  const client = createClient<paths>({ baseUrl, headers, signal });
  const [project] = data(await client.GET('/v1/projects'));
  const events = await client.GET('/v1/events', { parseAs: 'stream', params: { query: { after: '0' } } });

  const pushed = data(await client.POST('/v1/operations/stack_frame_push', {
    params: { query: { session: 'page' }, header: { 'Idempotency-Key': 'push' } },
    body: { title: 'Write the parser', successCriteria: 'It parses' },
  }));
  const planned = data(await client.POST('/frame/push', { body: { goal: 'Document it', planned: true } }));
  const popped = data(await client.POST('/v1/operations/stack_frame_pop', {
    body: { results: 'All fixtures parse.' },
  }));
  const tree = data(await client.GET('/frame/tree'));
  const missing = await client.POST('/v1/operations/stack_frame_details', { body: { frame: 'f99' } });

  return {
    project: project?.name,
    pushed: pushed.data.handle,
    planned: planned.frame.status,
    popped: 'status' in popped.data ? popped.data.status : null,
    tree: tree.map(({ title, frame }) => [title, frame.status, frame.compaction ?? null]),
    missing: missing.error?.kind,
    events: await until(events.response.body, 'frame_ended'),
  };
}

// Reads the kinds of events up to the first one of a kind.
async function until(body: ReadableStream<Uint8Array> | null, last: string) {
  const kinds: string[] = [];
  if (!body) return kinds;
  const decoder = new TextDecoder();
  let rest = '';
  for (const reader = body.getReader();;) {
    const { done, value } = await reader.read();
    if (done) return kinds;
    const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const line = block.split('\n').find((line) => line.startsWith('data: '));
      const kind = line && (JSON.parse(line.slice(6)) as { event?: { kind: string } }).event?.kind;
      if (kind) kinds.push(kind);
      if (kind === last) {
        await reader.cancel();
        return kinds;
      }
    }
  }
}
