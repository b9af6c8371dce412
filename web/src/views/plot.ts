/** The common parts of the charts of calls. */

import { signal, useSignalEffect } from '@preact/signals';
import type { RefObject } from 'preact';
import { useRef } from 'preact/hooks';
import type uPlot from 'uplot';
import { theme } from '../state/theme.ts';
import { exact, short } from '../text/format.ts';
import { zoomed } from './bits.tsx';

/** The library of the charts. Its code runs when the first one is drawn, not before the first paint of the page. */
const library = signal<typeof uPlot | undefined>(undefined);

/** A third of the width, and no more than half of the window. */
const heightOf = (width: number): number => Math.max(180, Math.min(Math.max(320, innerHeight / 2), width / 3));

/** Draws a chart into a box, anew whenever a signal that `drawing` reads or the theme changes, and keeps it as wide. */
export function usePlot(box: RefObject<HTMLElement | null>, drawing: (box: HTMLElement, plots: typeof uPlot) => { options: Omit<uPlot.Options, 'width' | 'height'>; series: uPlot.AlignedData }): void {
  const plot = useRef<uPlot | undefined>(undefined);
  useSignalEffect(() => {
    const element = box.current;
    void theme.value;
    const plots = library.value;
    if (!plots) void import('uplot').then(({ default: loaded }) => { library.value = loaded; });
    if (!element || !plots) return undefined;
    const { options, series } = drawing(element, plots);
    const width = Math.max(200, element.clientWidth);
    // Without a pointer, the figures below are those of the newest call.
    const newest = (drawn: uPlot): void => {
      if (drawn.cursor.idx == null) drawn.setLegend({ idx: drawn.data[0].length - 1 }, false);
    };
    const hooks = { ...options.hooks, ready: [newest], setLegend: [newest] };
    plot.current = new plots({ ...options, hooks, width, height: heightOf(width) }, series, element);
    const observer = new ResizeObserver(() => {
      const wide = element.clientWidth;
      if (plot.current && wide > 0 && Math.abs(plot.current.width - wide) > 1) plot.current.setSize({ width: wide, height: heightOf(wide) });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.current?.destroy();
      plot.current = undefined;
    };
  });
}

/** Steps of an axis of whole numbers. */
const WHOLE = Array.from({ length: 8 }, (_, power) => [1, 2, 5].map((it) => it * 10 ** power)).flat();

/** Numbers of calls below, tokens at the side. */
function axes(style: CSSStyleDeclaration): uPlot.Axis[] {
  const property = (name: string): string => style.getPropertyValue(name);
  const grid = { stroke: property('--line'), width: 1 };
  const axis = { stroke: property('--dim'), grid, ticks: grid, font: `${Math.round(12 * zoomed())}px ${style.fontFamily}` };
  return [
    { ...axis, label: 'Call', labelFont: axis.font, labelSize: 20 * zoomed(), incrs: WHOLE, values: (_, all) => all.map((it) => (Number.isInteger(it) ? exact(it) : '')) },
    { ...axis, label: 'Tokens', labelFont: axis.font, labelSize: 20 * zoomed(), size: 56 * zoomed(), space: 44 * zoomed(), values: (_, all) => all.map((it) => short(it)) },
  ];
}

/** The common options of charts of tokens by call, with values up to `largest`. */
export function frame(style: CSSStyleDeclaration, largest: number): Pick<uPlot.Options, 'scales' | 'legend' | 'cursor' | 'axes'> {
  return {
    scales: { x: { time: false }, y: { range: [0, largest * 1.08] } },
    legend: { show: true, live: true, markers: { show: false } },
    cursor: { drag: { x: true, y: false } },
    axes: axes(style),
  };
}

export const figure = (_: uPlot, value: number | null): string => (value == null ? '–' : exact(value));
