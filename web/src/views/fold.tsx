import { data } from '../state/model.ts';
import { useLoaded } from '../state/load.ts';
import { counted, percent, tokens } from '../text/format.ts';
import { Note, Text } from './bits.tsx';
import { MessageList } from './messages.tsx';

/** The messages that left the requests, beside the text that replaces them. */
export function FoldView({ handle }: { handle: string }) {
  const loaded = useLoaded(handle, () => data().folded(handle));
  const { value, problem } = loaded.value;
  if (problem) return <Note>{problem}</Note>;
  if (!value) return <Note>Reading …</Note>;
  const asMessages = { total: value.total, messages: value.left, ...(value.more === undefined ? {} : { more: value.more }) };
  return (
    <>
      <p>
        {value.folded ? (
          <>
            <strong>{tokens(value.tokensBefore)}</strong> were folded away, <strong>{tokens(value.tokensAfter)}</strong> stand for them
            ({percent(value.tokensAfter, value.tokensBefore)}), as the model is sent them: with the frames inside it, and in the provider's tokens.
          </>
        ) : (
          <>Its steps are still sent as they are. {value.told}</>
        )}
      </p>
      <div class="fold">
        <section aria-label="What left">
          <h3>What left <span class="dim">{counted(value.total, 'message')}</span></h3>
          <MessageList
            first={asMessages}
            more={async (from) => {
              const page = await data().folded(handle, from);
              return { total: page.total, messages: page.left, ...(page.more === undefined ? {} : { more: page.more }) };
            }}
          />
        </section>
        <section aria-label="What stands for it">
          <h3>What stands for it</h3>
          {value.text ? <Text text={value.text} class="stands" /> : <Note>Nothing yet.</Note>}
        </section>
      </div>
    </>
  );
}
