/** Small parts that many views use. */

import { type ComponentChildren } from 'preact';
import { useEffect, useErrorBoundary, useRef, useState } from 'preact/hooks';
import type { Frame } from '../source/data.ts';
import { address, towards } from '../state/route.ts';
import { tree } from '../state/model.ts';
import { exact } from '../text/format.ts';
import { line, visible } from '../text/visible.ts';
import { standing } from './words.ts';

/** A text of somebody else as one line, apart from what stands around it. */
export const Line = ({ text, class: className }: { text: string; class?: string }) => (
  <bdi class={className}>{line(text)}</bdi>
);

/** A text of somebody else as one line, with the words of the filter marked. */
export const Marked = ({ text, words }: { text: string; words: string }) => {
  const wanted = words.split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return <Line text={text} />;
  const found = new RegExp(`(${wanted.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|')})`, 'giu');
  // The parts between the brackets of the pattern have odd places.
  return <bdi>{line(text).split(found).map((part, at) => (at % 2 === 1 ? <mark key={at}>{part}</mark> : part))}</bdi>;
};

/** A text of somebody else with its lines. */
export const Text = ({ text, class: className = '' }: { text: string; class?: string }) => (
  <pre class={`text ${className}`} dir="auto">{visible(text)}</pre>
);

export const Sign = ({ frame }: { frame: Frame }) => {
  const { sign, name } = standing(frame);
  return <span class={`sign ${frame.status}`} role="img" aria-label={name} title={name}>{sign}</span>;
};

/** A frame's handle, which leads to it. */
export const Handle = ({ handle }: { handle: string }) => {
  const frame = tree.value.get(handle);
  return (
    <a class="handle" href={address(towards({ frame: handle, tab: 'overview' }))} title={frame ? line(frame.title) : ''}>
      {handle}
    </a>
  );
};

export const Changed = ({ added = 0, removed = 0 }: { added?: number | undefined; removed?: number | undefined }) => (
  <span class="changed">
    {added > 0 || removed === 0 ? <span class="added" role="img" aria-label={`${exact(added)} lines added`}>+{exact(added)}</span> : null}{' '}
    {removed > 0 ? <span class="removed" role="img" aria-label={`${exact(removed)} lines removed`}>−{exact(removed)}</span> : null}
  </span>
);

export const Problem = ({ text }: { text: string }) => (text ? <p class="problem" role="alert">{text}</p> : null);
export const Note = ({ children }: { children: ComponentChildren }) => <p class="note">{children}</p>;

/** A button that puts a text on the clipboard. */
export const Copy = ({ text, name = 'Copy' }: { text: string; name?: string }) => {
  const [state, set] = useState('');
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      set('Copied');
    } catch {
      set('Select it and copy by hand');
    }
    setTimeout(() => set(''), 2000);
  };
  return (
    <button type="button" class="copy" onClick={copy} title={text}>
      <span aria-live="polite">{state || name}</span>
    </button>
  );
};

/** A command for a terminal, to be copied. */
export const Command = ({ text }: { text: string }) => (
  <p class="command">
    <code>{visible(text)}</code> <Copy text={text} name="Copy command" />
  </p>
);

interface TabsProps<T extends string> {
  name: string;
  /** The id that the panel is labelled by, without the tab's name. */
  id: string;
  all: readonly { id: T; name: string; note?: string }[];
  chosen: T;
  choose: (tab: T) => void;
}

/** Tabs, of which the arrow keys choose one. */
export function Tabs<T extends string>({ name, id, all, chosen, choose }: TabsProps<T>) {
  const key = (event: KeyboardEvent): void => {
    const at = all.findIndex((tab) => tab.id === chosen);
    const step = { ArrowRight: 1, ArrowLeft: -1, Home: -at, End: all.length - 1 - at }[event.key];
    const next = step === undefined ? undefined : all[(at + step + all.length) % all.length];
    if (!next) return;
    event.preventDefault();
    choose(next.id);
    document.getElementById(`${id}-${next.id}`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={name} onKeyDown={key}>
      {all.map((tab) => (
        <button
          key={tab.id}
          type="button"
          role="tab"
          id={`${id}-${tab.id}`}
          aria-selected={tab.id === chosen}
          aria-controls={`${id}-panel`}
          tabIndex={tab.id === chosen ? 0 : -1}
          onClick={() => choose(tab.id)}
        >
          {tab.name}
          {tab.note ? <span class="count"> {tab.note}</span> : null}
        </button>
      ))}
    </div>
  );
}

/** Scrolls to the frame on narrow screens, where it stands below the view. */
export function seeFrame(): void {
  requestAnimationFrame(() => {
    const detail = document.getElementById('detail');
    if (detail && matchMedia('(max-width: 56rem)').matches) detail.scrollIntoView();
  });
}

/** How much larger than usual texts are: on a large screen, or where the reader wants it so. */
export const zoomed = (): number => Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / 16 || 1;

/** Confines an error while drawing a part to that part. */
export function Guard({ children }: { children: ComponentChildren }) {
  const [error] = useErrorBoundary((thrown) => console.error(thrown));
  return error ? <Problem text={`This can't be shown: ${error instanceof Error ? error.message : String(error)}`} /> : <>{children}</>;
}

interface ModalProps {
  /** The id of its title. */
  name: string;
  close: () => void;
  children: ComponentChildren;
}

/** A window above the page, which waits for it; Escape closes it. */
export function Modal({ name, close, children }: ModalProps) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    box.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return <dialog ref={box} onClose={close} aria-labelledby={name}>{children}</dialog>;
}
