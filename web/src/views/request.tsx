import { useComputed } from '@preact/signals';
import { data, session, steers } from '../state/model.ts';
import { useLoaded } from '../state/load.ts';
import { go, route } from '../state/route.ts';
import type { Call } from '../source/data.ts';
import { counted, date, exact, short } from '../text/format.ts';
import { Note } from './bits.tsx';
import { MessageList } from './messages.tsx';

interface RequestProps {
  session: string;
  /** Only calls of this frame can be chosen. */
  frame?: string;
}

/** The messages of a request: of the next one, or of a call as it was sent. */
export function RequestView({ session: id, frame }: RequestProps) {
  const calls = useLoaded(id, () => data().calls(id));
  // A file holds the next request of a session alone.
  const offered = steers.value ? calls.value.value?.calls ?? [] : [];
  const ofFrame = offered.filter((call) => !frame || call.frame === frame);
  const wanted = route.value.call;
  const call = ofFrame.some((it) => it.message === wanted) ? wanted : frame ? ofFrame.at(-1)?.message : undefined;
  const sent = useLoaded(`${id} ${call ?? ''}`, () => data().sent(id, call));
  const { value, problem } = sent.value;
  const at = ofFrame.findIndex((it) => it.message === call);
  const older = call === undefined ? ofFrame.at(-1) : ofFrame[at - 1];
  const newer = call === undefined ? undefined : ofFrame[at + 1];
  const sentTokens = ofFrame[at]?.tokens ?? 0;
  // Known once all of its messages are there.
  const unseen = value && value.more === undefined ? sentTokens - value.messages.reduce((sum, it) => sum + (it.tokens ?? 0), 0) : 0;
  return (
    <>
      <p>
        <label>
          Request{' '}
          <select value={call ?? ''} onChange={(event) => go({ call: event.currentTarget.value || undefined }, true)}>
            <option value="">the next one</option>
            {ofFrame.toReversed().slice(0, 500).map((it) => <option key={it.message} value={it.message}>{named(it)}</option>)}
          </select>
        </label>{' '}
        {offered.length > 0 ? (
          <>
            <button type="button" disabled={!older} onClick={() => go({ call: older?.message }, true)} aria-label="The request before">‹</button>{' '}
            <button type="button" disabled={call === undefined} onClick={() => go({ call: newer?.message }, true)} aria-label="The request after">›</button>{' '}
          </>
        ) : null}
        {value ? <span class="dim">{counted(value.total, 'message')}</span> : null}
      </p>
      <p class="dim">
        The agent's own system prompt and its definitions of tools are not known to callstack and are not shown
        {unseen > 0 ? `: about ${short(unseen)} of the ${short(sentTokens)} tokens of this request` : ''}.
      </p>
      {problem ? <Note>{problem}</Note> : null}
      {!value && !problem ? <Note>Reading …</Note> : null}
      {value ? (
        <MessageList
          first={value}
          more={(from) => data().sent(id, call, from)}
          whole={(message) => data().message(id, call, message.id)}
          frames
        />
      ) : null}
    </>
  );
}

const named = (call: Call): string => `${exact(call.place + 1)}. ${date(call.at)}, ${short(call.tokens)} tokens${call.frame ? `, ${call.frame}` : ''}`;

/** The request of the session that is shown. */
export function SessionRequest() {
  const id = useComputed(() => session.value?.id);
  if (!id.value) return <Note>There is no session yet.</Note>;
  return <section class="pad" aria-label="Request"><RequestView session={id.value} /></section>;
}
