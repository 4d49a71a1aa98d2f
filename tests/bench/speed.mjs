// usage: speed.mjs [--runs N] [--target MS]
// speed.cpp through the module of the page: from the request's text to the parsed report. Exit 1 when
// the slowest median is above the target.
import {readFileSync} from 'node:fs';
import {performance} from 'node:perf_hooks';
import {parseArgs} from 'node:util';

import {callText} from '../wasm/core.mjs';

const WARM_UP = 10; // the engine compiles hot functions again while they run
const {values} = parseArgs({
  options: {runs: {type: 'string', default: '100'}, target: {type: 'string'}},
});
const runs = Math.max(1, Number(values.runs));
const data = (name) => readFileSync(new URL(`data/${name}`, import.meta.url), 'utf8');
const config = data('decoder_32_layers.json');

let slowest = 0;
for (const {name, setup} of JSON.parse(data('questions.json'))) {
  const request = JSON.stringify({schema: 1, op: 'fit', config, setup});
  const times = [];
  let size = 0;
  for (let run = -WARM_UP; run < runs; ++run) {
    const begin = performance.now();
    const text = callText(request);
    const reply = JSON.parse(text);
    const took = performance.now() - begin;
    if (!reply.report?.memory) {
      console.log(`${name}: no report: ${text.slice(0, 200)}`);
      process.exit(2);
    }
    size = text.length;
    if (run >= 0) times.push(took);
  }
  times.sort((a, b) => a - b);
  const at = (q) => times[Math.max(Math.ceil(q * runs), 1) - 1].toFixed(2).padStart(6);
  console.log(
      `${name.padEnd(22)} min ${at(0)}  median ${at(0.5)}  p95 ${at(0.95)} ms` +
      `  (${runs} runs, ${size} characters of JSON)`);
  slowest = Math.max(slowest, Number(at(0.5)));
}
console.log(`slowest median ${slowest.toFixed(2)} ms`);
process.exitCode = values.target && slowest > Number(values.target) ? 1 : 0;
