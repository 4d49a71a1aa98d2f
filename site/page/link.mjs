// The state as the part of an address behind '#': never sent to a server. `v` is the form's version;
// defaults are left out; what is unknown or out of range is ignored and named.
import {integer} from './format.mjs';
import {initialState, kFields} from './setup.mjs';

const kVersion = 1;
const kMaxShown = 40; // characters of what is refused

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

function readGpu(pairs, state, refuse) {
  if (pairs.has('g')) state.gpu = pairs.get('g').slice(0, 80);
  if (pairs.has('gb')) {
    const vram = Number(pairs.get('gb'));
    if (vram >= 1 && vram <= 2048) state.vram = vram;
    else refuse('gb', 'vram', '1 to 2,048');
  }
  if (pairs.has('cc')) {
    if (/^\d{1,2}\.\d$/.test(pairs.get('cc'))) state.capability = pairs.get('cc');
    else refuse('cc', 'compute_capability', 'a number such as 8.6');
  }
}

function expected({kind, min, max, values}) {
  if (kind === 'boolean') return '0 or 1';
  if (kind === 'choice') return values.filter((value) => value !== '').join(', ');
  return `${integer(min)} to ${integer(max)}`;
}

// "batch: b=0, expected 1 to 4,096"
function refused(pairs, short, name = '', expectation = '') {
  const given = `${short}=${pairs.get(short)}`;
  const shown = given.length > kMaxShown ? `${given.slice(0, kMaxShown)}...` : given;
  return (name && `${name}: `) + shown + (expectation && `, expected ${expectation}`);
}

// {state, ignored: [one description each], newer: true where a later version of the page wrote the link}, or null
// where the text is no link of this page.
export function fromHash(hash) {
  const pairs = new URLSearchParams(hash.replace(/^#/, ''));
  const version = Number(pairs.get('v'));
  if (!(version >= 1)) return null;
  const state = initialState();
  const ignored = [];
  const refuse = (...about) => ignored.push(refused(pairs, ...about));
  const known = new Set(['v', 'm', 'p', 'g', 'gb', 'cc', ...kFields.map((field) => field.short)]);
  for (const name of new Set(pairs.keys())) {
    if (!known.has(name)) refuse(name);
  }
  state.model = (pairs.get('m') ?? '').slice(0, 500);
  state.pasted = pairs.get('p') === '1';
  readGpu(pairs, state, refuse);
  for (const field of kFields) {
    if (!pairs.has(field.short)) continue;
    const value = read(field, pairs.get(field.short));
    if (value === undefined) refuse(field.short, field.key, expected(field));
    else state[field.key] = value;
  }
  return {state, ignored, newer: version > kVersion};
}
