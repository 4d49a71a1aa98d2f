// The module as JavaScript sees it: allocate, call, free, and memory that may move.
import assert from 'node:assert/strict';
import test from 'node:test';

import {callText as replyText, core} from './core.mjs';

const callText = (text) => JSON.parse(replyText(text));
const call = (request) => callText(JSON.stringify(request));

test('version answers with the core version', () => {
  const reply = call({schema: 1, op: 'version'});
  assert.equal(reply.ok, true);
  assert.match(reply.core_version, /^\d+\.\d+\.\d+$/);
});

test('gpus lists cards with sizes beyond 32 bits', () => {
  const reply = call({schema: 1, op: 'gpus'});
  assert.equal(reply.ok, true);
  assert.ok(reply.gpus.length >= 100);
  assert.ok(reply.gpus.some((card) => card.total_bytes > 2 ** 36));
});

test('garbage is answered, not aborted on', () => {
  const unknown = '{"schema": 1, "op": "no"}';
  for (const text of ['', '{', 'null', '[]', '{"schema": 1}', '\u0000', unknown]) {
    const reply = callText(text);
    assert.equal(reply.ok, false, JSON.stringify(text));
    assert.match(reply.errors[0].code, /^E\d{4}$/);
    assert.notEqual(reply.errors[0].message, '');
  }
});

test('a request of 8 MiB is read after memory has grown', () => {
  const config = `{"model_type": "${'x'.repeat(8 << 20)}"}`;
  const reply = call({schema: 1, op: 'fit', config, setup: {}});
  assert.equal(typeof reply.ok, 'boolean');
});

test('a thousand calls keep the memory where it is', () => {
  call({schema: 1, op: 'gpus'});
  const before = core.HEAPU8.length;
  for (let i = 0; i < 1000; ++i) call({schema: 1, op: 'gpus'});
  assert.equal(core.HEAPU8.length, before);
});
