import { readFile } from 'node:fs/promises';
import type { Report } from '../src/source/offline.ts';

const ASSETS = new URL('../../crates/page/assets/', import.meta.url);

/** The offline page with a report in it, as the program writes it; of another build where its folder is given. */
export async function offline(report: Report, assets: URL = ASSETS): Promise<string> {
  const page = await readFile(new URL('offline.html', assets), 'utf8');
  const text = JSON.stringify(report).replace(/[<>&\u2028\u2029]/g, (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return page.replace('id="data"></script>', () => `id="data">${text}</script>`);
}
