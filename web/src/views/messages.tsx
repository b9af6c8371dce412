import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Message, Messages, Part } from '../source/data.ts';
import { errorText } from '../state/model.ts';
import { counted, date, exact, isSameDay, time, tokens } from '../text/format.ts';
import { line } from '../text/visible.ts';
import { Handle, Note, Problem, Text } from './bits.tsx';

/** Lines of an output that are shown before it is opened. */
const LONG = 1200;
/** Reasoning up to this many characters is open. */
const SHORT = 300;

interface MessageListProps {
  first: Messages;
  /** Reads the messages after a place. */
  more: (from: number) => Promise<Messages>;
  whole?: (message: Message) => Promise<Message>;
  /** Whether each message says whose frame it belongs to. */
  frames?: boolean;
}

/** Messages with their parts, as many as were read so far. */
export function MessageList({ first, more, whole, frames = false }: MessageListProps) {
  const further = useSignal<Messages[]>([]);
  const problem = useSignal('');
  useEffect(() => {
    further.value = [];
  }, [first.messages[0]?.id, first.total === 0]);
  const pages = [first, ...further.value];
  const all = pages.flatMap((page) => page.messages);
  const next = pages.at(-1)?.more;
  const read = async (): Promise<void> => {
    if (next === undefined) return;
    try {
      const page = await more(next);
      further.value = [...further.value, page];
      problem.value = '';
    } catch (error) {
      problem.value = errorText(error);
    }
  };
  if (all.length === 0) return <Note>There are no messages.</Note>;
  return (
    <>
      <ol class="messages">
        {all.map((message, at) => (
          <MessageView key={`${message.place}-${message.id}`} message={message} before={all[at - 1]?.at} whole={whole} frames={frames} />
        ))}
      </ol>
      <Problem text={problem.value} />
      {next !== undefined ? (
        <p>
          <button type="button" onClick={read}>Show more</button>{' '}
          <span class="dim">{exact(all.length)} of {counted(first.total, 'message')}</span>
        </p>
      ) : null}
    </>
  );
}

interface MessageProps {
  message: Message;
  /** The time of the message before it. */
  before: number | undefined;
  whole: ((message: Message) => Promise<Message>) | undefined;
  frames: boolean;
}

function MessageView({ message, before, whole, frames }: MessageProps) {
  const read = useSignal<Message | undefined>(undefined);
  const problem = useSignal('');
  const it = read.value ?? message;
  const isCut = !read.value && message.parts.some((part) => part.cut);
  return (
    <li class={`message ${it.role}`}>
      <p class="said-by">
        <strong>{it.role === 'assistant' ? 'agent' : it.role}</strong>
        {frames && it.frame ? <Handle handle={it.frame} /> : null}
        {it.tokens ? <span class="dim">{tokens(it.tokens)}</span> : null}
        {it.at ? <time class="dim" dateTime={new Date(it.at).toISOString()} title={date(it.at)}>{before && isSameDay(it.at, before) ? time(it.at) : date(it.at)}</time> : null}
      </p>
      {it.parts.map((part, at) => <PartView key={at} part={part} role={it.role} />)}
      {isCut && whole ? (
        <p>
          <button
            type="button"
            onClick={() => whole(message).then((got) => { read.value = got; }, (error: unknown) => { problem.value = errorText(error); })}
          >
            Show the whole message
          </button>
        </p>
      ) : null}
      <Problem text={problem.value} />
    </li>
  );
}

const firstLine = (text: string): string => line(text.trim().split('\n', 1)[0] ?? '').slice(0, 160);

function PartView({ part, role }: { part: Part; role: string }) {
  if (part.kind === 'tool') return <ToolView part={part} />;
  const text = part.text ?? '';
  if (part.kind === 'reasoning') {
    return (
      <details class="part reasoning" open={text.length <= SHORT}>
        <summary>Reasoning <span class="dim">{counted(part.chars ?? text.length, 'character')}</span></summary>
        <Text text={text} />
      </details>
    );
  }
  if (role === 'system') {
    return (
      <details class="part system">
        <summary>{firstLine(text)} <span class="dim">{counted(part.chars ?? text.length, 'character')}</span></summary>
        <Long text={text} cut={part.cut} chars={part.chars} />
      </details>
    );
  }
  return (
    <div class={`part ${part.kind} ${part.origin ?? ''}`}>
      {part.origin === 'callstack' || part.origin === 'host' ? <span class="tag">{part.origin}</span> : null}
      <Long text={text} cut={part.cut} chars={part.chars} />
    </div>
  );
}

function ToolView({ part }: { part: Part }) {
  const stands = part.outputOrigin === 'fold' || part.outputOrigin === 'mask';
  const output = part.output ?? '';
  const given = argumentsOf(part.input ?? '');
  return (
    <details class={`part tool ${stands ? 'stands-for' : ''}`} open={stands}>
      <summary>
        <code>{line(part.tool ?? '')}</code> <bdi class="input">{line(given ? given.map(([, value]) => value).join(' · ') : part.input ?? '').slice(0, 160)}</bdi>
        {output ? <span class="dim"> → {counted(part.chars ?? output.length, 'character')}</span> : null}
        {part.state && part.state !== 'completed' ? <span class="tag">{part.state}</span> : null}
        {stands ? <span class="tag">{part.outputOrigin === 'fold' ? 'stands for a frame' : 'replaced by newer output'}</span> : null}
      </summary>
      {part.frame ? <p>Frame <Handle handle={part.frame} /></p> : null}
      {given ? (
        <dl class="arguments">{given.map(([name, value]) => <div key={name}><dt>{line(name)}</dt><dd><Text text={value} /></dd></div>)}</dl>
      ) : (part.input ?? '').length > 160 ? <Text text={part.input ?? ''} class="input" /> : null}
      <Long text={output} cut={part.cut} chars={part.chars} />
    </details>
  );
}

/** The arguments of a call by name; nothing if they are no complete JSON object. */
function argumentsOf(input: string): [string, string][] | undefined {
  try {
    const given: unknown = JSON.parse(input);
    if (typeof given !== 'object' || given === null || Array.isArray(given)) return undefined;
    return Object.entries(given).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]);
  } catch {
    return undefined;
  }
}

function Long({ text, cut, chars }: { text: string; cut: boolean | undefined; chars: number | undefined }) {
  const open = useSignal(false);
  const isLong = text.length > 2 * LONG;
  return (
    <>
      <Text text={isLong && !open.value ? text.slice(0, LONG) : text} />
      {isLong ? (
        <button type="button" class="link" aria-expanded={open.value} onClick={() => { open.value = !open.value; }}>
          {open.value ? 'Show less' : `Show ${exact(text.length - LONG)} further characters`}
        </button>
      ) : null}
      {cut ? <p class="dim">Cut here{chars ? `; ${counted(chars, 'character')} in all` : ''}.</p> : null}
    </>
  );
}
