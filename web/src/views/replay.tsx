import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { data } from '../state/model.ts';
import type { Curve, Replay, Way } from '../source/data.ts';
import { exact, percent, short, tokens } from '../text/format.ts';
import { line } from '../text/visible.ts';
import { figure, frame, usePlot } from './plot.ts';

/** Other ways in which a recorded session could have been sent. Nothing where the page is not about recordings. */
export function ReplayView({ session }: { session: string }) {
  const replay = data().replay;
  const report = replay?.report.sessions.find((it) => it.session === session);
  if (!replay || !report) return null;
  const curves = replay.curves.find((it) => it.session === session)?.curves ?? [];
  return (
    <section class="pad calls" aria-label="Calls of the model">
      <h2>Calls of the model</h2>
      <Outcome ways={report.ways} />
      <h3>Ways to send the session</h3>
      <Ways name="Ways to send the session" ways={report.ways} />
      <h3>Tokens of each request</h3>
      <Curves curves={curves} />
      <h3>What is compared</h3>
      <dl class="ways-told">
        {report.ways.map(({ way }) => WAYS[way] ? <div key={way}><dt>{way}</dt><dd>{WAYS[way]}</dd></div> : null)}
        <div><dt>Tokens</dt><dd>of whole requests, with system prompt and tools; <i>billed</i>: from a cache × 0.1, others × 1.25; <i>with reads</i>: and a read of the file for each edit whose text was gone</dd></div>
        <div><dt>Kept</dt><dd>of the names, paths and numbers that the agent wrote next and had read before, the share that was still in what was sent</dd></div>
        <div><dt>Text at hand</dt><dd>the edits whose old text was still in what was sent</dd></div>
      </dl>
      {replay.report.sessions.length > 1 ? <AllSessions replay={replay} /> : null}
    </section>
  );
}

const WAYS: Record<string, string> = {
  linear: 'all that was said and done, as it was recorded',
  compaction: 'all, until the limit of the model: then a summary',
  masking: 'a line for each older output of a tool',
  window: 'the newest messages alone',
  frames: 'what stands for finished work, and the rest as it was',
};

/** A sentence on the effect of frames. */
function Outcome({ ways }: { ways: Way[] }) {
  const [frames, linear] = [ways.find((it) => it.way === 'frames'), ways.find((it) => it.way === 'linear')];
  if (!frames || !linear) return null;
  return (
    <p>
      With frames, <strong>{percent(frames.whole.input, linear.whole.input)}</strong> of the tokens would have been sent ({short(frames.whole.input)} against{' '}
      {short(linear.whole.input)}), <strong>{percent(frames.whole.billed, linear.whole.billed)}</strong> billed, and{' '}
      <strong>{percent(frames.kept, frames.used)}</strong> kept of what the agent used later.
    </p>
  );
}

function AllSessions({ replay }: { replay: Replay }) {
  return (
    <details>
      <summary>All sessions together</summary>
      <Ways name="Ways to send all sessions" ways={replay.report.sum} />
    </details>
  );
}

function Ways({ name, ways }: { name: string; ways: Way[] }) {
  const linear = ways.find((it) => it.way === 'linear');
  const against = (value: number, of: number | undefined): string => (of ? percent(value, of) : '');
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={name}>
      <table class="ways">
        <thead>
          <tr>
            <th scope="col">Way</th>
            <th scope="col" class="number">Largest request</th><th scope="col" class="number">of linear</th>
            <th scope="col" class="number">Tokens sent</th><th scope="col" class="number">of linear</th>
            <th scope="col" class="number">Billed</th><th scope="col" class="number">with reads</th>
            <th scope="col" class="number">Reads</th>
            <th scope="col" class="number">Kept</th>
            <th scope="col" class="number">Text at hand</th>
          </tr>
        </thead>
        <tbody>
          {ways.map(({ way, whole, kept, used, verbatim, edits, reads }) => (
            <tr key={way}>
              <th scope="row"><span class={`way ${way}`} aria-hidden="true">━</span> {line(way)}</th>
              <td class="number">{exact(whole.largest)}</td><td class="number">{against(whole.largest, linear?.whole.largest)}</td>
              <td class="number">{exact(whole.input)}</td><td class="number">{against(whole.input, linear?.whole.input)}</td>
              <td class="number">{exact(Math.round(whole.billed))}</td><td class="number">{exact(Math.round(whole.billedWithReads))}</td>
              <td class="number">{exact(reads)}</td>
              <td class="number">{against(kept, used)}</td>
              <td class="number">{exact(verbatim)} of {exact(edits)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const most = (curves: Curve[]): number => curves.flatMap(({ tokens: sizes }) => sizes).reduce((a, b) => Math.max(a, b), 1);

/** The tokens of each request, a line for each way, in the colours of the table. */
function Curves({ curves }: { curves: Curve[] }) {
  const box = useRef<HTMLDivElement>(null);
  const key = useRef<HTMLSpanElement>(null);
  const shown = useSignal(curves);
  useEffect(() => { shown.value = curves; }, [curves]);
  usePlot(box, (element) => {
    const colour = (at: number): string => getComputedStyle(key.current?.children[at] ?? element).color;
    const longest = Math.max(0, ...shown.value.map(({ tokens: sizes }) => sizes.length));
    const calls = Array.from({ length: longest }, (_, at) => at + 1);
    return {
      options: {
        ...frame(getComputedStyle(element), most(shown.value)),
        series: [
          { label: 'Call', value: figure },
          ...shown.value.map(({ way }, at) => ({ label: line(way), stroke: colour(at), width: way === 'linear' ? 5 : 2, points: { show: false }, value: figure })),
        ],
      },
      series: [calls, ...shown.value.map(({ tokens: sizes }) => calls.map((_, at) => sizes[at] ?? null))],
    };
  });
  return (
    <div class="chart">
      <span hidden ref={key}>{curves.map(({ way }) => <span key={way} class={`way ${way}`} />)}</span>
      <div ref={box} role="img" aria-label={`Tokens of each request, up to ${tokens(most(curves))}, by way`} />
    </div>
  );
}
