import { Refused } from './source.ts';

const RETRY = 1000;
const CHANNEL = 'callstack';
const LOCK = 'callstack-events';

type Ask = (path: string, headers: Record<string, string>) => Promise<Response>;
type Notice = { problem: string } | 'changed';

/**
 * Follows the events of a project. A browser opens few connections to one host, so one tab reads them for all that
 * show the project: the one that holds the lock. Another takes over when it is closed.
 */
export function follow(project: string, ask: Ask, changed: () => void, state: (problem: string) => void): void {
  const others = new BroadcastChannel(`${CHANNEL} ${project}`);
  const apply = (notice: Notice): void => {
    if (notice === 'changed') changed();
    else state(notice.problem);
  };
  others.onmessage = ({ data }) => apply(data);
  const broadcast = (notice: Notice): void => {
    others.postMessage(notice);
    apply(notice);
  };
  void navigator.locks.request(`${LOCK} ${project}`, async () => {
    let last: string | undefined;
    for (;;) {
      try {
        const response = await ask('/v1/events', last ? { 'Last-Event-ID': last } : {});
        broadcast({ problem: '' });
        broadcast('changed');
        for await (const block of blocks(response)) {
          last = /^id: (.*)$/m.exec(block)?.[1] ?? last;
          if (block.includes('data: ')) broadcast('changed');
        }
      } catch (error) {
        const refused = error instanceof Refused ? error : undefined;
        broadcast({ problem: [refused?.message ?? 'The connection was lost.', refused?.hint ?? ''].join(' ').trim() });
        // The token of another tab may be right.
        if (refused?.final) return;
      }
      await new Promise((done) => setTimeout(done, RETRY));
    }
  });
}

/** The blocks of a stream of server-sent events. */
async function* blocks(response: Response): AsyncGenerator<string> {
  if (!response.body) return;
  const texts = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ''; ; ) {
    const { done, value } = await texts.read();
    if (done) return;
    const complete = (rest + value).split('\n\n');
    rest = complete.pop() ?? '';
    yield* complete;
  }
}
