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

/**
 * The rows of a patch. One that was cut may end anywhere. One that was rebuilt from edits has a part for each edit, and
 * line numbers only where they are known.
 */
export function rowsOf(patch: string, isRebuilt = false): Row[] {
  const rows: Row[] = [];
  let [before, after] = [0, 0];
  let edits = 0;
  let isPlaced = true;
  const number = (of: number): number | undefined => (isPlaced ? of : undefined);
  for (const text of patch.split('\n')) {
    const place = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,\d+)? @@/.exec(text);
    if (place) {
      [before, after] = [Number(place[1]), Number(place[3])];
      edits += 1;
      isPlaced = !isRebuilt || before > 0 || place[2] === '0';
      rows.push({ kind: 'place', before: undefined, after: undefined, text: isRebuilt ? `Edit ${edits}${isPlaced ? `, from line ${Math.max(1, after)}` : ''}` : text });
    } else if (text.startsWith('+')) rows.push({ kind: 'added', before: undefined, after: number(after++), text: text.slice(1) });
    else if (text.startsWith('-')) rows.push({ kind: 'removed', before: number(before++), after: undefined, text: text.slice(1) });
    else if (text.startsWith(' ')) rows.push({ kind: 'same', before: number(before++), after: number(after++), text: text.slice(1) });
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
