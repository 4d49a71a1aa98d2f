// Keeps the address in step with the form: Back undoes, reload and links restore. Quick changes of one
// control make one entry of the history.
import {fromHash, toHash} from './link.mjs';
import {initialState} from './setup.mjs';

const kOneGestureMilliseconds = 1500;
const kSpaceHost = 'https://huggingface.co';

export class Address {
  #last = {what: '', time: -Infinity};

  // `restore(link)` hears of Back, Forward and edited addresses.
  constructor(restore) {
    window.addEventListener('popstate', () => {
      this.#last = {what: '', time: -Infinity};
      restore(this.read());
    });
  }

  read() {
    return fromHash(window.location.hash) ?? {state: initialState(), ignored: [], newer: false};
  }

  // `what` names the control that changed.
  write(state, what) {
    const hash = toHash(state);
    if (hash === window.location.hash || (window.location.hash === '' && hash === '#v=1')) return;
    const time = performance.now();
    const same = what === this.#last.what && time - this.#last.time < kOneGestureMilliseconds;
    this.#last = {what, time};
    try {
      if (same) window.history.replaceState(null, '', hash);
      else window.history.pushState(null, '', hash);
    } catch {
      return; // a sandboxed frame may own no history; the page works without it
    }
    // A Space passes its address in only once; this tells its frame about changes.
    if (window.parent !== window) window.parent.postMessage({hash}, kSpaceHost);
  }

  // A link to share: like the address, at the exact revision that was read.
  link(state, source) {
    const pinned =
      source.kind === 'hub' && source.commit
        ? {...state, model: `${source.id}@${source.commit}`}
        : state;
    return new URL(toHash(pinned), window.location.href).href;
  }
}
