// Builds the page into the crate that holds it: the files that a server serves, and the frame of an offline page.
// `node build.mjs --check` only reports whether they are up to date.
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const assets = join(here, '../crates/page/assets');

const { outputFiles } = await build({
  absWorkingDir: here,
  entryPoints: { page: 'src/main.tsx' },
  outdir: 'assets',
  bundle: true,
  minify: true,
  // A classic script: a page from a file may not load modules.
  format: 'iife',
  target: ['chrome123', 'firefox121', 'safari17.5'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  charset: 'utf8',
  legalComments: 'none',
  write: false,
});
const built = (ending) => outputFiles.find(({ path }) => path.endsWith(ending)).text;
const [script, style] = [built('.js'), built('.css')];
for (const [text, end] of [[script, '</script'], [style, '</style']]) {
  if (text.toLowerCase().includes(end)) throw new Error(`${end} would end the element that holds it`);
}

const html = await readFile(join(here, 'src/index.html'), 'utf8');
const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
// Nothing is loaded, nothing is sent, and only this script and this style count.
const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; base-uri 'none'; \
form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'`;
const put = (text, what, by) => {
  if (!text.includes(what)) throw new Error(`index.html holds no ${what}`);
  return text.replace(what, () => by);
};
let offline = put(html, '<meta charset="utf-8">', `<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="${policy}">`);
offline = put(offline, '<link rel="stylesheet" href="/page.css">', `<style>${style}</style>`);
offline = put(offline, '<script src="/page.js" defer></script>\n', '');
offline = put(
  offline,
  '<div id="page"></div>',
  // The script comes first: it shows the page while the data are still read.
  `<div id="page"></div>\n<script>${script}</script>\n<script type="application/json" id="data"></script>`,
);

// The hash of the sources of the files, for a check without Node.
const sources = (await readdir(join(here, 'src'), { recursive: true, withFileTypes: true }))
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
sources.push(...['build.mjs', 'package.json', 'package-lock.json'].map((name) => join(here, name)));
const named = sources.map((path) => [relative(here, path).replaceAll('\\', '/'), path]).sort(([a], [b]) => (a < b ? -1 : 1));
const sum = createHash('sha256');
for (const [name, path] of named) sum.update(name).update('\0').update(await readFile(path)).update('\0');

const files = { 'index.html': html, 'page.js': script, 'page.css': style, 'offline.html': offline, 'sources.sha256': `${sum.digest('hex')}\n` };
if (process.argv.includes('--check')) {
  const stale = [];
  for (const [name, text] of Object.entries(files)) {
    const kept = await readFile(join(assets, name), 'utf8').catch(() => '');
    if (kept !== text) stale.push(name);
  }
  if (stale.length > 0) {
    console.error(`${stale.join(', ')} in crates/page/assets: not what is built; run \`npm run build\` in web/`);
    process.exitCode = 1;
  }
} else {
  await mkdir(assets, { recursive: true });
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(assets, name), text)));
}
