/** Figures and times in the reader's language and zone. */

/** A formatter, created at its first use: creating one takes longer than all its other work. */
function form<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

const whole = form(() => new Intl.NumberFormat());
const compact = form(() => new Intl.NumberFormat(undefined, { notation: 'compact', maximumSignificantDigits: 3 }));
const share = form(() => new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 0 }));
const moment = form(() => new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' }));
const clock = form(() => new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' }));
const shortClock = form(() => new Intl.DateTimeFormat(undefined, { timeStyle: 'short' }));
const dayClock = form(() => new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', hour: 'numeric', minute: '2-digit' }));
const relative = form(() => new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' }));

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
const MONTH = 30 * DAY;
const YEAR = 365 * DAY;

export const exact = (number: number): string => whole().format(number);
export const short = (number: number): string => compact().format(number);
export const percent = (part: number, of: number): string => {
  const found = of > 0 ? part / of : 0;
  return found > 0 && found < 0.005 ? `<${share().format(0.01)}` : share().format(found);
};
export const date = (at: number): string => moment().format(at);
export const day = (at: number): string => dayClock().format(at);
export const timeShort = (at: number): string => shortClock().format(at);
export const time = (at: number): string => clock().format(at);

export const tokens = (number: number): string => `${exact(number)} ${number === 1 ? 'token' : 'tokens'}`;
export const counted = (number: number, one: string, more = `${one}s`): string =>
  `${exact(number)} ${number === 1 ? one : more}`;

const units = new Map<string, () => Intl.NumberFormat>(
  ['day', 'hour', 'minute', 'second'].map((unit) => [unit, form(() => new Intl.NumberFormat(undefined, { style: 'unit', unit, unitDisplay: 'narrow' }))]),
);

const unit = (value: number, name: string): string => units.get(name)?.().format(value) ?? String(value);

/** Whether two times are of one day of the reader's. */
export const isSameDay = (one: number, other: number): boolean => new Date(one).toDateString() === new Date(other).toDateString();

/** A duration in its two largest units. */
export function duration(ms: number): string {
  const parts: [number, string][] = [
    [Math.floor(ms / DAY), 'day'],
    [Math.floor((ms % DAY) / HOUR), 'hour'],
    [Math.floor((ms % HOUR) / MINUTE), 'minute'],
    [Math.floor((ms % MINUTE) / SECOND), 'second'],
  ];
  const first = parts.findIndex(([value]) => value > 0);
  if (first < 0) return unit(ms < SECOND && ms > 0 ? 1 : 0, 'second');
  const largest = parts.slice(first, first + 2).filter(([value]) => value > 0);
  return largest.map(([value, name]) => unit(value, name)).join(' ');
}

/** How long ago something was. */
export function ago(at: number, now: number): string {
  const past = at - now;
  for (const [size, name] of [[YEAR, 'year'], [MONTH, 'month'], [DAY, 'day'], [HOUR, 'hour'], [MINUTE, 'minute']] as const) {
    if (Math.abs(past) >= size) return relative().format(Math.round(past / size), name);
  }
  return relative().format(Math.round(past / SECOND), 'second');
}
