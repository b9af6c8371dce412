import { useComputed, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type uPlot from 'uplot';
import { data, session } from '../state/model.ts';
import { useLoaded } from '../state/load.ts';
import { address, go, towards } from '../state/route.ts';
import type { Calls, FoldMark } from '../source/data.ts';
import { counted, exact, percent, short, tokens } from '../text/format.ts';
import { line } from '../text/visible.ts';
import { Note } from './bits.tsx';
import { figure, frame, usePlot } from './plot.ts';
import { ReplayView } from './replay.tsx';

type Figure = 'sent' | 'billed';

/** The size of each call's request, with and without frames. */
export function CallsView() {
  const id = session.value?.id;
  const loaded = useLoaded(id, () => data().calls(id ?? ''));
  const { value, problem } = loaded.value;
  if (!id) return <Note>There is no session yet.</Note>;
  if (problem) return <Note>{problem}</Note>;
  if (!value) return <Note>Reading …</Note>;
  if (data().replay) return <ReplayView session={id} />;
  if (value.calls.length === 0) return <Note>The model was not called in this session yet.</Note>;
  return <Chart calls={value} session={id} />;
}

const billed = (hundredths: number | undefined): number | undefined =>
  hundredths === undefined ? undefined : Math.round(hundredths / 100);

/** A sentence on the savings or costs of frames. */
function Verdict({ requests, withFrames, without, verb }: { requests: number; withFrames: number | undefined; without: number | undefined; verb: string }) {
  const asked = counted(requests, 'request');
  if (withFrames === undefined) return <p>{asked}.</p>;
  if (without === undefined) return <p>{asked}: <strong>{tokens(withFrames)} {verb}</strong>.</p>;
  const isLess = without >= withFrames;
  return (
    <>
      <p>
        {asked}: with frames <strong class={isLess ? 'good' : 'warn'}>{percent(Math.abs(without - withFrames), without)} {isLess ? 'less' : 'more'}</strong>{' '}
        was {verb}, <strong>{tokens(withFrames)}</strong> against an estimated {exact(without)} without.
      </p>
      {isLess ? null : <p class="dim">The tools and the guidance of callstack are in every request, some 1,500 tokens: in a short session they cost more than folds save.</p>}
    </>
  );
}

function Chart({ calls, session: id }: { calls: Calls; session: string }) {
  const which = useSignal<Figure>('sent');
  const box = useRef<HTMLDivElement>(null);
  const shown = useSignal(calls);
  const marks = useSignal<{ mark: FoldMark; left: number }[]>([]);
  useEffect(() => { shown.value = calls; }, [calls]);
  const series = useComputed(() => seriesOf(shown.value, which.value));
  const { sum } = calls;

  usePlot(box, (element, plots) => drawing(element, plots, series.value, which.value, shown.value, (drawn) => { marks.value = placed(shown.value.folds, drawn); }));

  const without = which.value === 'sent' ? sum.sentWithout : billed(sum.billedWithoutHundredths);
  const withFrames = which.value === 'sent' ? sum.sent : billed(sum.billedHundredths);
  return (
    <section class="pad calls" aria-label="Calls of the model">
      <h2>Calls of the model</h2>
      <Verdict requests={sum.requests} withFrames={withFrames} without={without} verb={which.value} />
      <p class="tools">
        <label>
          Figures{' '}
          <select value={which.value} onChange={(event) => { which.value = event.currentTarget.value as Figure; }}>
            <option value="sent">Tokens sent</option>
            <option value="billed">Billed, in tokens of input: from the cache × 0.1, others × 1.25</option>
          </select>
        </label>
        <span class="key sent">With frames, as reported</span>
        <span class="key without">Without, estimated</span>
        {calls.folds.length > 0 ? <span><span class="fold-mark" aria-hidden="true">▾</span> something was folded</span> : null}
      </p>
      <div class="chart">
        <div ref={box} role="img" aria-label={`Tokens of ${counted(calls.calls.length, 'call')}: ${sum.sent ? tokens(sum.sent) : ''} with frames, ${sum.sentWithout ? tokens(sum.sentWithout) : 'an unknown number'} without. The table below has the folds.`} />
        <div class="marks" aria-hidden="true">
          {marks.value.map(({ mark, left }, at) => (
            <a
              key={at}
              class={mark.kind}
              style={{ left: `${left}px` }}
              tabIndex={-1}
              {...(mark.frame ? { href: address(towards({ frame: mark.frame, tab: 'fold' })) } : {})}
              title={`${mark.frame ?? mark.kind}${mark.title ? ` ${line(mark.title)}` : ''}: ${short(mark.tokensBefore)} → ${short(mark.tokensAfter)} tokens`}
            >
              ▾
            </a>
          ))}
        </div>
      </div>
      <h3>What left <span class="dim">{counted(calls.folds.length, 'time')}</span></h3>
      {calls.folds.length === 0 ? <Note>Nothing was folded yet.</Note> : (
        <div class="scroll" tabIndex={0} role="region" aria-label="Folds of the session">
          <table class="folds">
            <thead><tr><th scope="col">Before call</th><th scope="col">What</th><th scope="col" class="number">Tokens that left</th><th scope="col" class="number">Tokens that stand for it</th></tr></thead>
            <tbody>
              {calls.folds.map((mark, at) => (
                <tr key={at}>
                  <td>{mark.call === undefined ? 'the next' : (
                    <button type="button" class="link" onClick={() => go({ view: 'request', session: id, call: calls.calls.find((it) => it.place === mark.call)?.message })}>{exact(mark.call + 1)}</button>
                  )}</td>
                  <td>{mark.frame ? <a href={address(towards({ frame: mark.frame, tab: 'fold' }))}>{mark.frame} <bdi>{line(mark.title ?? '')}</bdi></a> : KINDS[mark.kind] ?? mark.kind}</td>
                  <td class="number">{exact(mark.tokensBefore)}</td>
                  <td class="number">{exact(mark.tokensAfter)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

const KINDS: Record<string, string> = { mask: 'an output that a newer one replaced', since: 'steps closed after the fact' };

/** Numbers of calls, what was sent, and what would have been. */
type Series = [number[], (number | null)[], (number | null)[]];

function seriesOf({ calls }: Calls, figure: Figure): Series {
  const value = (call: Calls['calls'][number]): number | undefined => (figure === 'sent' ? call.tokens : billed(call.billedHundredths));
  const other = (call: Calls['calls'][number]): number | undefined =>
    figure === 'sent' ? call.tokensWithout : billed(call.billedWithoutHundredths);
  return [
    calls.map((call) => call.place + 1),
    calls.map((call) => value(call) ?? null),
    calls.map((call) => other(call) ?? null),
  ];
}

function drawing(box: HTMLElement, plots: typeof uPlot, series: Series, which: Figure, calls: Calls, drawn: (plot: uPlot) => void) {
  const style = getComputedStyle(box);
  const property = (name: string): string => style.getPropertyValue(name);
  const stepped = plots.paths.stepped?.({ align: 1 });
  const limit = which === 'sent' ? calls.limit : undefined;
  const largest = Math.max(1, ...series[1].map((it) => it ?? 0), ...series[2].map((it) => it ?? 0));
  const stroke = (name: string): uPlot.Series => ({ stroke: property(name), width: 2, ...(stepped ? { paths: stepped } : {}), value: figure });
  const options = {
    ...frame(style, largest),
    series: [
      { label: 'Call', value: figure },
      { ...stroke('--sent'), label: 'With frames', points: { show: series[0].length < 40 } },
      { ...stroke('--without'), label: 'Without', dash: [6, 4], points: { show: false } },
    ],
    hooks: { draw: [(plot: uPlot) => { limitLine(plot, limit, property('--line')); drawn(plot); }] },
  };
  return { options, series };
}

function limitLine(plot: uPlot, limit: number | undefined, colour: string): void {
  if (!limit) return;
  const y = plot.valToPos(limit, 'y', true);
  if (y < plot.bbox.top) return;
  plot.ctx.save();
  plot.ctx.strokeStyle = colour;
  plot.ctx.strokeRect(plot.bbox.left, y, plot.bbox.width, 1);
  plot.ctx.restore();
}

/** Where the marks of folds stand above the chart. */
function placed(folds: FoldMark[], plot: uPlot): { mark: FoldMark; left: number }[] {
  const [from, to] = [plot.scales['x']?.min ?? 0, plot.scales['x']?.max ?? 0];
  return folds.flatMap((mark) => {
    const at = mark.call === undefined ? undefined : mark.call + 1;
    if (at === undefined || at < from || at > to) return [];
    return [{ mark, left: plot.over.offsetLeft + plot.valToPos(at, 'x') }];
  });
}
