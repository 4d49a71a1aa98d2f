// Talks to the worker that owns core. One request is under way at a time; of those waiting, only the
// newest of each channel is kept, so that dragging a slider never builds a queue. A call that aborts
// or hangs ends its worker; the next call gets a fresh one.

export class CoreFailure extends Error {
  // kind: 'superseded' | 'crashed' | 'hung' | 'unavailable'
  constructor(kind, message, details = []) {
    super(message);
    this.kind = kind;
    this.details = details;
  }
}

const kLoadMilliseconds = 30_000;
const kCallMilliseconds = 8_000;
const kPauseMilliseconds = 5_000; // a module that could not be loaded is not asked for at every change

export class CoreClient {
  #url;
  #worker = null;
  #ready = false;
  #nextId = 1;
  #underWay = null; // {id, request, resolve, reject}
  #waiting = new Map(); // channel -> the same
  #timer = 0;
  #unavailable = null; // {failure, time}: how the last attempt to load ended, and when

  constructor(url) {
    this.#url = url;
  }

  // Lets the next call load the module again at once.
  retry() {
    this.#unavailable = null;
  }

  // Resolves to the parsed reply. Rejects with a CoreFailure.
  call(channel, request) {
    return new Promise((resolve, reject) => {
      if (
        this.#unavailable !== null &&
        performance.now() - this.#unavailable.time < kPauseMilliseconds
      ) {
        reject(this.#unavailable.failure);
        return;
      }
      this.#waiting
        .get(channel)
        ?.reject(new CoreFailure('superseded', 'a newer question took its place'));
      this.#waiting.set(channel, {
        id: this.#nextId++,
        request: JSON.stringify(request),
        resolve,
        reject,
      });
      if (this.#worker === null) this.#spawn();
      this.#pump();
    });
  }

  #spawn() {
    this.#unavailable = null;
    let worker;
    try {
      worker = new Worker(this.#url, {type: 'module'});
    } catch (error) {
      this.#loadFailed(
        `this browser, or the frame around the page, allows no worker (${error.name})`,
        [],
      );
      return;
    }
    this.#worker = worker;
    worker.addEventListener('message', ({data}) => {
      if (worker === this.#worker) this.#receive(data);
    });
    worker.addEventListener('error', (event) => {
      event.preventDefault();
      if (worker !== this.#worker) return;
      if (this.#ready) this.#end('crashed', event.message || 'the worker stopped', []);
      else this.#loadFailed(event.message || 'the worker script could not be loaded', []);
    });
    this.#watch(kLoadMilliseconds, () => this.#loadFailed('the module took too long to load', []));
  }

  #pump() {
    if (!this.#ready || this.#underWay !== null) return;
    const [first] = this.#waiting;
    if (first === undefined) return;
    const [channel, question] = first;
    this.#waiting.delete(channel);
    this.#underWay = question;
    this.#watch(kCallMilliseconds, () =>
      this.#end('hung', 'the calculation did not finish and was stopped', []),
    );
    this.#worker.postMessage({id: question.id, request: question.request});
  }

  #receive(message) {
    if (message.type === 'ready') {
      this.#unwatch();
      this.#ready = true;
    } else if (message.type === 'unavailable') {
      this.#loadFailed(message.message, message.missing);
      return;
    } else if (this.#underWay !== null && message.id === this.#underWay.id) {
      if (message.crashed !== undefined) {
        this.#end('crashed', message.crashed, message.log);
        return;
      }
      this.#unwatch();
      const {resolve, reject} = this.#underWay;
      this.#underWay = null;
      try {
        resolve(JSON.parse(message.reply));
      } catch (error) {
        reject(new CoreFailure('crashed', `the reply is no JSON: ${error.message}`));
      }
    }
    this.#pump();
  }

  // The call under way took its worker with it. What waits goes to a new one.
  #end(kind, message, details) {
    const failed = this.#underWay;
    this.#discard();
    failed?.reject(new CoreFailure(kind, message, details));
    if (this.#waiting.size > 0) this.#spawn();
  }

  #loadFailed(message, missing) {
    this.#discard();
    const failure = new CoreFailure('unavailable', message, missing);
    this.#unavailable = {failure, time: performance.now()};
    for (const {reject} of this.#waiting.values()) reject(failure);
    this.#waiting.clear();
  }

  #discard() {
    this.#unwatch();
    this.#worker?.terminate();
    this.#worker = null;
    this.#ready = false;
    this.#underWay = null;
  }

  #watch(milliseconds, expired) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(expired, milliseconds);
  }

  #unwatch() {
    clearTimeout(this.#timer);
  }
}
