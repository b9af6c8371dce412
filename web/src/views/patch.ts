/** Patches of files, line by line. */

/** A line of a patch. */
export interface Row {
  kind: 'same' | 'added' | 'removed' | 'place';
  before: number | undefined;
  after: number | undefined;
  text: string;
  /** The line in its pair that it became, or was. */
  pair?: string;
}

/** The rows of a patch. One that was cut may end anywhere. */
export function rowsOf(patch: string): Row[] {
  const rows: Row[] = [];
  let [before, after] = [0, 0];
  for (const text of patch.split('\n')) {
    const place = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(text);
    if (place) {
      [before, after] = [Number(place[1]), Number(place[2])];
      rows.push({ kind: 'place', before: undefined, after: undefined, text });
    } else if (text.startsWith('+')) rows.push({ kind: 'added', before: undefined, after: after++, text: text.slice(1) });
    else if (text.startsWith('-')) rows.push({ kind: 'removed', before: before++, after: undefined, text: text.slice(1) });
    else if (text.startsWith(' ')) rows.push({ kind: 'same', before: before++, after: after++, text: text.slice(1) });
    else if (text.startsWith('\\')) rows.push({ kind: 'place', before: undefined, after: undefined, text });
  }
  return paired(rows);
}

/** Pairs removed lines with as many added ones right after them. */
function paired(rows: Row[]): Row[] {
  for (let at = 0; at < rows.length; ) {
    let added = at;
    while (rows[added]?.kind === 'removed') added += 1;
    let end = added;
    while (rows[end]?.kind === 'added') end += 1;
    if (added - at === end - added) {
      for (let step = 0; step < added - at; step += 1) {
        rows[at + step]!.pair = rows[added + step]!.text;
        rows[added + step]!.pair = rows[at + step]!.text;
      }
    }
    at = Math.max(end, at + 1);
  }
  return rows;
}
