/** Characters that are not seen, or change how others are shown: controls, overrides of direction, joiners. */
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

const named = (character: string): string =>
  `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`;

/** A text in which every character is visible, so that none can change how a line reads. */
export function visible(text: string): string {
  return text.replace(/\r\n/g, '\n').replace(HIDDEN, named);
}

/** A text as one line. */
export function line(text: string): string {
  return visible(text.replace(/\s+/g, ' ').trim());
}
