import { signal } from '@preact/signals';

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const KEY = 'theme';

/** The reader's choice. The system's setting counts until then. */
export const theme = signal<Theme | 'system dark'>('system');

export function choose(to: Theme): void {
  theme.value = to;
  document.documentElement.style.colorScheme = to === 'system' ? '' : to;
  try {
    sessionStorage.setItem(KEY, to);
  } catch {
    // A page from a file may have no storage; the choice then ends with the page.
  }
}

/** Takes up the choice of this tab, and follows the system. */
export function begin(): void {
  try {
    const kept = THEMES.find((it) => it === sessionStorage.getItem(KEY));
    if (kept) choose(kept);
  } catch {
    // As above.
  }
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', ({ matches }) => {
    if (theme.value.startsWith('system')) theme.value = matches ? 'system dark' : 'system';
  });
}
