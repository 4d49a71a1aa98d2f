// Owns the wasm module, so that the page can end it and start another when a call aborts or hangs.
//   in:  {id, request}                  a request of core, as text
//   out: {type: 'ready'}                the module answers
//        {type: 'unavailable', message, missing}   it could not be loaded; `missing` names files
//        {id, reply}                    core's reply, as text
//        {id, crashed, log}             the call aborted: this worker is of no more use
const encoder = new TextEncoder();
const decoder = new TextDecoder();
const log = []; // the module's last words, for a bug report
const kMaxLogLines = 20;

let core = null;

function note(line) {
  log.push(String(line).slice(0, 500));
  if (log.length > kMaxLogLines) log.shift();
}

function callCore(request) {
  const bytes = encoder.encode(request);
  const start = core._peakline_allocate(bytes.length) >>> 0;
  if (start === 0) throw new Error(`the module has no room for a request of ${bytes.length} bytes`);
  core.HEAPU8.set(bytes, start);
  const reply = core._peakline_call(start, bytes.length) >>> 0;
  const memory = core.HEAPU8; // a fresh view: the call may have grown the memory
  const text = decoder.decode(memory.subarray(reply, memory.indexOf(0, reply)));
  core._peakline_free(start);
  return text;
}

// Which of the module's files the server does not have.
async function missingFiles() {
  const missing = [];
  for (const name of ['wasm/peakline.mjs', 'wasm/peakline.wasm']) {
    const answer = await fetch(new URL(name, import.meta.url), {method: 'HEAD'}).catch(() => null);
    if (answer === null || !answer.ok) missing.push(name);
  }
  return missing;
}

async function load() {
  try {
    const {default: create} = await import('./wasm/peakline.mjs');
    core = await create({print: note, printErr: note});
    self.postMessage({type: 'ready'});
  } catch (error) {
    const message = String(error?.message ?? error).slice(0, 500);
    self.postMessage({type: 'unavailable', message, missing: await missingFiles()});
  }
}

self.addEventListener('message', ({data: {id, request}}) => {
  try {
    self.postMessage({id, reply: callCore(request)});
  } catch (error) {
    self.postMessage({id, crashed: String(error?.message ?? error).slice(0, 500), log: [...log]});
  }
});

load();
