/** A word as a shell reads it. */
function quoted(word: string): string {
  return /^[\w./:=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** The command of a terminal that does the same; arguments that are not given are left out. */
export function command(...words: (string | undefined | false)[]): string {
  const given = words.filter((word): word is string => typeof word === 'string');
  return ['callstack', ...given].map(quoted).join(' ');
}

/** Texts as the last arguments of a command, also where they look like options. */
export function texts(...words: string[]): string[] {
  return words.some((word) => word.startsWith('-')) ? ['--', ...words] : words;
}

/** An option with its value; nothing without one. */
export function option(name: string, value: string | undefined): string[] {
  if (!value) return [];
  return value.startsWith('-') ? [`${name}=${value}`] : [name, value];
}
