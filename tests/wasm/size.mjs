// usage: size.mjs MODULE.wasm [--brief]
// The page must stay quick to load: the core module, compressed as hosts do for today's browsers
// (brotli), against its budget. gzip is reported beside it. Exit 1 above the budget.
import {readFileSync} from 'node:fs';
import {brotliCompressSync, constants, gzipSync} from 'node:zlib';

const BUDGET = 150_000; // bytes on the wire

const [file, option] = process.argv.slice(2);
let raw;
try {
  raw = readFileSync(file);
} catch {
  console.error(`${file} is missing: build the wasm preset first`);
  process.exit(2);
}
const brotli = brotliCompressSync(raw, {
  params: {[constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY},
}).length;
const gzip = gzipSync(raw, {level: 9}).length;
const kb = (bytes) => `${(bytes / 1000).toFixed(1)} KB`;
if (option === '--brief') console.log(`${kb(brotli)} (gzip ${kb(gzip)})`);
else console.log(`${raw.length} bytes: ${kb(brotli)} brotli, ${kb(gzip)} gzip; ${kb(BUDGET)} allowed`);
if (brotli > BUDGET) {
  console.error(`${brotli - BUDGET} bytes over its budget`);
  process.exitCode = 1;
}
