// The state as the part of an address behind '#': never sent to a server. `v` is the form's version;
// defaults are left out; what is unknown or out of range is ignored and named.
import {initialState, kFields} from './setup.mjs';

const kVersion = 1;

function written(field, value) {
  return field.kind === 'boolean' ? (value ? '1' : '0') : String(value);
}

export function toHash(state) {
  const initial = initialState();
  const pairs = new URLSearchParams({v: kVersion});
  if (state.model !== '' && !state.pasted) pairs.set('m', state.model);
  if (state.pasted) pairs.set('p', '1');
  if (state.gpu !== initial.gpu) pairs.set('g', state.gpu);
  if (state.gpu === 'custom') {
    pairs.set('gb', state.vram);
    pairs.set('cc', state.capability);
  }
  for (const field of kFields) {
    if (state[field.key] !== initial[field.key])
      pairs.set(field.short, written(field, state[field.key]));
  }
  return (
    '#' +
    pairs
      .toString()
      .replaceAll('%2F', '/')
      .replaceAll('%40', '@')
      .replaceAll('%2C', ',')
      .replaceAll('%3A', ':')
  );
}

function read(field, text) {
  if (field.kind === 'boolean') return text === '1' ? true : text === '0' ? false : undefined;
  if (field.kind === 'choice') return field.values.includes(text) ? text : undefined;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
  return value >= field.min && value <= field.max ? value : undefined;
}

function readGpu(pairs, state, ignored) {
  if (pairs.has('g')) state.gpu = pairs.get('g').slice(0, 80);
  if (pairs.has('gb')) {
    const vram = Number(pairs.get('gb'));
    if (vram >= 1 && vram <= 2048) state.vram = vram;
    else ignored.push('gb');
  }
  if (pairs.has('cc')) {
    if (/^\d{1,2}\.\d$/.test(pairs.get('cc'))) state.capability = pairs.get('cc');
    else ignored.push('cc');
  }
}

// {state, ignored: [names], newer: true where a later version of the page wrote the link}, or null
// where the text is no link of this page.
export function fromHash(hash) {
  const pairs = new URLSearchParams(hash.replace(/^#/, ''));
  const version = Number(pairs.get('v'));
  if (!(version >= 1)) return null;
  const state = initialState();
  const ignored = [];
  const known = new Set(['v', 'm', 'p', 'g', 'gb', 'cc', ...kFields.map((field) => field.short)]);
  for (const name of pairs.keys()) {
    if (!known.has(name)) ignored.push(name);
  }
  state.model = (pairs.get('m') ?? '').slice(0, 500);
  state.pasted = pairs.get('p') === '1';
  readGpu(pairs, state, ignored);
  for (const field of kFields) {
    if (!pairs.has(field.short)) continue;
    const value = read(field, pairs.get(field.short));
    if (value === undefined) ignored.push(field.short);
    else state[field.key] = value;
  }
  return {state, ignored, newer: version > kVersion};
}
