// core as a module: the file that becomes wasm/peakline.mjs beside the page. Text goes through the
// memory of three C functions (web/c_abi.cpp); this loads peakline.wasm, which lies beside it, in a
// page, a worker or Node.
const kPage = 65536;
const kMostPages = 32768; // 2 GiB

async function compiled(url, imports) {
  if (url.protocol === 'file:') {
    const {readFile} = await import('node:fs/promises');
    return WebAssembly.instantiate(await readFile(url), imports);
  }
  const answer = await fetch(url, {credentials: 'same-origin'});
  if (!answer.ok) throw new Error(`${url}: status ${answer.status}`);
  // Not every static host knows the type, without which nothing may be compiled while it arrives.
  return /^application\/wasm\b/.test(answer.headers.get('Content-Type'))
    ? WebAssembly.instantiateStreaming(answer, imports)
    : WebAssembly.instantiate(await answer.arrayBuffer(), imports);
}

export default async function create({printErr = console.error} = {}) {
  let memory;
  const env = {
    _abort_js() {
      const error = new WebAssembly.RuntimeError('the module called abort()');
      printErr(error.message);
      throw error;
    },
    // Grows by a fifth at least, so that a long event list is not copied again and again.
    emscripten_resize_heap(wanted) {
      const now = memory.buffer.byteLength;
      for (const size of [Math.max(wanted >>> 0, now * 1.2), wanted >>> 0]) {
        const pages = Math.min(Math.ceil(size / kPage), kMostPages);
        if (pages * kPage < wanted >>> 0) return 0;
        try {
          memory.grow(pages - now / kPage);
          return 1;
        } catch {
          // The smaller size may still be had.
        }
      }
      return 0;
    },
  };
  const {instance} = await compiled(new URL('peakline.wasm', import.meta.url), {env});
  const {peakline_allocate, peakline_free, peakline_call, __wasm_call_ctors} = instance.exports;
  memory = instance.exports.memory;
  __wasm_call_ctors();
  return {
    _peakline_allocate: peakline_allocate,
    _peakline_free: peakline_free,
    _peakline_call: peakline_call,
    get HEAPU8() {
      return new Uint8Array(memory.buffer); // growing leaves older views empty
    },
  };
}
