// usage: build_site.mjs [FOLDER]      (default: build/site)
// Writes the page as a host should deliver it: the modules of site/ as one script and one worker, the
// style sheets as one, all of it minified; and says what a first visit transfers. Wants site/wasm (the
// wasm preset) and tests/page/node_modules (setup.sh browser). Exit 1 above the budget.
import {cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {fileURLToPath} from 'node:url';
import {brotliCompressSync, constants, gzipSync} from 'node:zlib';

const kBudget = 200_000; // bytes on the wire, as today's browsers ask for them (brotli)
const kProject = fileURLToPath(new URL('..', import.meta.url));
const kSite = `${kProject}site/`;
const kNotFetched = ['README.md', '.gitattributes']; // they speak to the host, not to the browser
const {build} = createRequire(`${kProject}tests/page/package.json`)('esbuild');

const target = process.argv[2] ?? `${kProject}build/site`;
const page = readFileSync(`${kSite}index.html`, 'utf8');
const sheets = [...page.matchAll(/<link rel="stylesheet" href="([^"]+)">\n/g)];

function written() {
  const links = sheets.map(([line]) => line).join('');
  if (sheets.length === 0 || !page.includes(links))
    throw new Error('site/index.html: expected its style sheets on lines of their own, in a row');
  const one = page.replace(links, '<link rel="stylesheet" href="style.css">\n');
  if (one.includes('<pre')) throw new Error('site/index.html: got <pre>, whose indentation counts');
  return one.replace(/^\s+/gm, '');
}

async function bundle() {
  const common = {bundle: true, minify: true, legalComments: 'none', logLevel: 'warning'};
  const modern = {...common, format: 'esm', target: 'es2022'};
  // The worker loads the module where it lies, so that a missing file can be named.
  await build({...modern, entryPoints: [`${kSite}app.mjs`], outfile: `${target}/app.mjs`});
  await build({
    ...modern,
    entryPoints: [`${kSite}worker.mjs`],
    outfile: `${target}/worker.mjs`,
    external: ['./wasm/peakline.mjs'],
  });
  await build({
    ...modern,
    entryPoints: [`${kSite}wasm/peakline.mjs`],
    outfile: `${target}/wasm/peakline.mjs`,
    external: ['node:*'],
  });
  // For browsers that refuse modules: as old as it is written.
  await build({...common, bundle: false, entryPoints: [`${kSite}boot.js`], outfile: `${target}/boot.js`});
  await build({
    ...common,
    stdin: {
      contents: sheets.map(([, file]) => `@import "./${file}";`).join('\n'),
      resolveDir: kSite,
      loader: 'css',
    },
    outfile: `${target}/style.css`,
  });
}

function transferred() {
  const sizes = readdirSync(target, {recursive: true, withFileTypes: true})
    .filter((entry) => entry.isFile() && !kNotFetched.includes(entry.name))
    .map((entry) => {
      const path = `${entry.parentPath ?? entry.path}/${entry.name}`;
      const bytes = readFileSync(path);
      return {
        file: path.slice(target.length + 1),
        bytes: bytes.length,
        gzip: gzipSync(bytes, {level: 9}).length,
        brotli: brotliCompressSync(bytes, {
          params: {[constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY},
        }).length,
      };
    })
    .sort((a, b) => b.gzip - a.gzip);
  const sum = (key) => sizes.reduce((total, size) => total + size[key], 0);
  return [...sizes, {file: 'in all', bytes: sum('bytes'), gzip: sum('gzip'), brotli: sum('brotli')}];
}

rmSync(target, {recursive: true, force: true});
mkdirSync(`${target}/wasm`, {recursive: true});
await bundle();
writeFileSync(`${target}/index.html`, written());
for (const file of ['icon.svg', 'sample_config.json', 'wasm/peakline.wasm', ...kNotFetched])
  cpSync(`${kSite}${file}`, `${target}/${file}`);

const rows = transferred();
const line = (file, ...cells) => file.padEnd(22) + cells.map((cell) => String(cell).padStart(9)).join('');
console.log(line('file', 'bytes', 'gzip', 'brotli'));
for (const {file, bytes, gzip, brotli} of rows) console.log(line(file, bytes, gzip, brotli));
const {brotli, gzip} = rows.at(-1);
const kb = (bytes) => (bytes / 1000).toFixed(1);
console.log(`${kb(brotli)} KB (gzip ${kb(gzip)} KB); ${kBudget / 1000} KB allowed`);
process.exitCode = brotli > kBudget ? 1 : 0;
