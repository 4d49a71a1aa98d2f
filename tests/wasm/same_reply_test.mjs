// usage: same_reply_test.mjs CALL_CORE
// One request of every kind, many settings of one model, every question of tests/cases and every
// input of tests/errors: the module and the native core must answer with the same bytes.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {readdirSync, readFileSync} from 'node:fs';

import {callText} from './core.mjs';

const sample = readFileSync('scripts/sample/config.json', 'utf8');
const fit = (config, setup) => JSON.stringify({schema: 1, op: 'fit', config, setup});

function* settings() {
  for (const method of ['full', 'lora', 'qlora', 'inference'])
    for (const gradient_checkpointing of [false, true])
      for (const max_length of [512, 2048, 8192])
        for (const batch of [1, 3])
          for (const name of ['RTX 3060 12GB', 'A100 80GB']) {
            const sizes = {max_length, per_device_train_batch_size: batch};
            yield {method, gradient_checkpointing, ...sizes, gpu: {name}};
          }
  for (const optim of ['adamw_torch', 'adamw_torch_fused', 'sgd', 'adamw_bnb_8bit']) yield {optim};
  for (const r of [0, 1, 64, 4096]) yield {method: 'lora', lora: {r, lora_dropout: 0.05}};
  yield {dtype: 'float32', autocast: null, max_grad_norm: 0.3};
}

function* cases() {
  for (const name of readdirSync('tests/cases').filter((n) => n.endsWith('.json')).sort()) {
    const {config, config_text, setup} = JSON.parse(readFileSync(`tests/cases/${name}`, 'utf8'));
    yield fit(config_text ?? JSON.stringify(config), setup);
  }
}

function* mistakes() {
  for (const name of readdirSync('tests/errors').filter((n) => n.startsWith('bad-')).sort()) {
    const {config, setup} = JSON.parse(readFileSync(`tests/errors/${name}`, 'utf8'));
    if (config !== undefined) yield fit(config, {});
    try {
      if (setup !== undefined) yield fit(sample, JSON.parse(setup));
    } catch {
      // A setup that is no JSON cannot be part of a request.
    }
  }
}

const requests = [
  ...['version', 'gpus', 'setup_keys', 'no such'].map((op) => JSON.stringify({schema: 1, op})),
  '', '{', 'null', '{"schema": 2, "op": "version"}', '{"schema": 1, "op": "\u00fcber"}',
  ...[...settings()].map((setup) => fit(sample, setup)),
  ...cases(),
  ...mistakes(),
];
assert.ok(requests.every((request) => !request.includes('\n')));

const native = spawnSync(process.argv[2], {input: requests.join('\n') + '\n', maxBuffer: 1 << 28});
assert.equal(native.status, 0, `${process.argv[2]}: ${native.error ?? native.stderr}`);
const replies = native.stdout.toString('utf8').split('\n').slice(0, -1);
assert.equal(replies.length, requests.length);

let different = 0;
for (const [i, request] of requests.entries()) {
  const reply = callText(request);
  if (reply === replies[i]) continue;
  const at = [...reply].findIndex((letter, k) => letter !== replies[i][k]);
  console.log(request.slice(0, 200));
  console.log(`  native ${replies[i].slice(at - 40, at + 80)}`);
  console.log(`  wasm   ${reply.slice(at - 40, at + 80)}`);
  different += 1;
}
const fits = replies.filter((reply) => reply.includes('"verdict"')).length;
console.log(`${requests.length} requests, ${fits} reports, ${different} different`);
assert.ok(fits >= 40, 'too few of the requests led to a report: this test compares nothing');
assert.equal(different, 0);
