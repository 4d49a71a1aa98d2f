// The built module as one function from request text to reply text.
import {existsSync} from 'node:fs';

const module = new URL('../../site/wasm/peakline.mjs', import.meta.url);
if (!existsSync(module)) {
  console.error('site/wasm/peakline.mjs is missing: build the wasm preset first');
  process.exit(1);
}
const {default: createCore} = await import(module);
export const core = await createCore();

export function callText(text) {
  const bytes = new TextEncoder().encode(text);
  const pointer = core._peakline_allocate(bytes.length);
  if (pointer === 0) throw new Error(`no room for a request of ${bytes.length} bytes`);
  core.HEAPU8.set(bytes, pointer);
  const at = core._peakline_call(pointer, bytes.length) >>> 0;
  const memory = core.HEAPU8;
  const reply = new TextDecoder().decode(memory.subarray(at, memory.indexOf(0, at)));
  core._peakline_free(pointer);
  return reply;
}
