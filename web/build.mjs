// Bundles the script and style of reports and gathers the licences; `make web` runs it.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync, existsSync, mkdirSync } from 'node:fs';
import { build } from 'esbuild';

const target = new URL('../src/zveno/report/bundle/', import.meta.url);
mkdirSync(target, { recursive: true });

// The digest that tests compare: of every source and of the versions that are locked.
const sources = [...readdirSync('src').sort().map((name) => `src/${name}`), 'build.mjs', 'package-lock.json'];
const digest = createHash('sha256');
for (const file of sources) digest.update(`${file}\n`).update(readFileSync(file));
const banner = `/* zveno report; sources sha256 ${digest.digest('hex')}; licences in LICENSES.txt */`;

const result = await build({
  entryPoints: ['src/main.js'],
  bundle: true,
  minify: true,
  format: 'iife',
  target: 'es2022',
  legalComments: 'none',
  banner: { js: banner, css: banner },
  outdir: 'out',
  write: false,
  metafile: true,
});
for (const file of result.outputFiles) {
  writeFileSync(new URL(file.path.endsWith('.js') ? 'report.js' : 'report.css', target), file.contents);
}

const packages = new Set();
for (const input of Object.keys(result.metafile.inputs)) {
  const match = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input);
  if (match) packages.add(match[1]);
}
const licences = [...packages].sort().map((name) => {
  const folder = `node_modules/${name}`;
  const { version, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
  const file = ['LICENSE', 'LICENSE.md', 'LICENSE.txt'].map((each) => `${folder}/${each}`).find(existsSync);
  const text = file ? readFileSync(file, 'utf8').trim() : '(the package carries no licence file)';
  return `${name} ${version} (${license})\n\n${text}\n`;
});
writeFileSync(new URL('LICENSES.txt', target), licences.join(`\n${'-'.repeat(78)}\n\n`));
