import type { Frame } from '../source/data.ts';
import { active, tree } from '../state/model.ts';
import { counted } from '../text/format.ts';
import { Handle, Line, Sign } from './bits.tsx';

/** The most frames of a kind that are listed. */
const MOST = 8;

/** The open, blocked and planned frames, shown while no frame is chosen. */
export function Now() {
  const all = tree.value.frames;
  return (
    <div class="now">
      <Group name="Agents work in" frames={all.filter((it) => active.value.has(it.handle) && it.status === 'in_progress')} />
      <Group name="Blocked" frames={all.filter((it) => it.status === 'blocked')} why />
      <Group name="Planned" frames={all.filter((it) => it.status === 'planned')} />
    </div>
  );
}

function Group({ name, frames, why = false }: { name: string; frames: Frame[]; why?: boolean }) {
  if (frames.length === 0) return null;
  return (
    <section>
      <h2>{name}</h2>
      <ul>
        {frames.slice(0, MOST).map((it) => (
          <li key={it.handle}>
            <Sign frame={it} /> <Handle handle={it.handle} /> <Line text={it.title} />
            {why && (it.unfinished ?? it.result) ? <Line text={`: ${it.unfinished ?? it.result}`} class="dim" /> : null}
          </li>
        ))}
        {frames.length > MOST ? <li class="dim">and {counted(frames.length - MOST, 'further one')}</li> : null}
      </ul>
    </section>
  );
}
