/** Texts on a number of columns. */

export const columns = (text: string) => Bun.stringWidth(text)

/** As much of a text as fits into so many columns. */
export function cut(text: string, width: number): string {
  if (columns(text) <= width) return text
  let shorter = text.slice(0, 2 * Math.max(0, width))
  while (shorter && columns(shorter) + 1 > width) shorter = [...shorter].slice(0, -1).join("")
  return width > 0 ? shorter + "…" : ""
}

/** A text on exactly so many columns. */
export function fit(text: string, width: number): string {
  const shown = cut(text, width)
  return shown + " ".repeat(Math.max(0, width - columns(shown)))
}

/** A text in at most so many lines. */
export function wrapped(text: string, width: number, most: number): string[] {
  const lines = [""]
  for (const word of text.split(" ")) {
    if (lines.length > most) break
    const longer = `${lines.at(-1)} ${word}`.trim()
    if (columns(longer) <= width || !lines.at(-1)) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  const over = lines.length > most
  return lines.slice(0, most).map((line, at) => cut(over && at === most - 1 ? line + " …" : line, width)).filter(Boolean)
}
