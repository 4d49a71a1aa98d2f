// Reads one config.json from a hub. No token, no cookie, no referrer: only what is public.
// Every way this fails becomes a HubProblem with a sentence that says what to do.
import {configAddress, modelPage} from './hub.mjs';

const kMaxBytes = 10 * 1024 * 1024; // the hub's own limit for a config
const kMilliseconds = 15_000;

export class HubProblem extends Error {
  // kind names the case; action is {label, what: 'retry' | 'main'} or {label, href}; details are for
  // a bug report.
  constructor(kind, title, message, {action = null, details = ''} = {}) {
    super(message);
    this.kind = kind;
    this.title = title;
    this.action = action;
    this.details = details;
  }
}

const kRetry = {label: 'Try again', what: 'retry'};

function describe(answer, code) {
  const request = answer.headers.get('X-Request-Id');
  return `HTTP ${answer.status}${code ? ` ${code}` : ''}${request ? `, request ${request}` : ''}`;
}

// The hub names the case in X-Error-Code; a status alone means several things.
function refusalByCode(code, model, endpoint, details) {
  const {id, revision, folder, file} = model;
  if (code === 'GatedRepo') {
    return new HubProblem(
      'gated',
      'This model is gated',
      `Its authors want their terms accepted before the files of ${id} can be read, and this page ` +
        `never asks for a token. Accept the terms on the model's page, then paste its ` +
        `config.json here; or run peakline fit ${id} with HF_TOKEN set.`,
      {action: {label: "Open the model's page", href: modelPage(endpoint, id)}, details},
    );
  }
  if (code === 'EntryNotFound') {
    return new HubProblem(
      'no_config',
      `No ${file} there`,
      `${folder === '' ? id : `${id}, folder ${folder},`} at ${revision} has no ${file}. ` +
        `GGUF, adapter and diffusion repositories have none: name the model it was made from, ` +
        `or paste a config.json.`,
      {details},
    );
  }
  if (code === 'RevisionNotFound') {
    return new HubProblem(
      'no_revision',
      'No such revision',
      `${id} has no revision "${revision}".`,
      {action: revision === 'main' ? null : {label: 'Read main instead', what: 'main'}, details},
    );
  }
  return null;
}

function refusalByStatus(status, id, host, details) {
  if (status === 401 || status === 404) {
    return new HubProblem(
      'not_found',
      'Not found, or private',
      `${host} shows no public model called ${id}. Check the spelling, capital letters and the ` +
        `organisation included. If it is private, paste its config.json here, or run peakline ` +
        `fit ${id} with HF_TOKEN set.`,
      {details},
    );
  }
  if (status === 429) {
    return new HubProblem(
      'too_many',
      'Too many requests',
      `${host} limits how much one internet address may read, and everyone behind yours shares ` +
        `that. It resets within five minutes. A pasted config.json needs no request at all.`,
      {action: kRetry, details},
    );
  }
  if (status === 403) {
    return new HubProblem(
      'refused',
      'Access refused',
      `${host} refuses this file: the repository may be restricted. Paste its config.json if you ` +
        `have it.`,
      {details},
    );
  }
  return new HubProblem(
    'hub_fault',
    'The hub has a problem',
    `${host} answered with status ${status}. Try again in a moment, or paste a config.json.`,
    {action: kRetry, details},
  );
}

function refusal(answer, model, endpoint) {
  const code = answer.headers.get('X-Error-Code') ?? '';
  const details = describe(answer, code);
  if (/\bis disabled\b/.test(answer.headers.get('X-Error-Message') ?? '')) {
    return new HubProblem(
      'disabled',
      'This model is disabled',
      `${new URL(endpoint).host} has disabled access to ${model.id}. Name another copy of the ` +
        `model, or paste a config.json you already have.`,
      {details},
    );
  }
  return (
    refusalByCode(code, model, endpoint, details) ??
    refusalByStatus(answer.status, model.id, new URL(endpoint).host, details)
  );
}

function unreachable(endpoint) {
  const host = new URL(endpoint).host;
  if (navigator.onLine === false) {
    return new HubProblem(
      'offline',
      'You are offline',
      'A model id needs the hub; a pasted or dropped config.json does not.',
      {action: kRetry},
    );
  }
  return new HubProblem(
    'unreachable',
    `${host} cannot be reached`,
    'The network may be down, something may block the request, or the hub may not let browsers ' +
      'read it. A pasted or dropped config.json needs no network.',
    {action: kRetry},
  );
}

async function readBounded(answer) {
  const tooLarge = () =>
    new HubProblem(
      'too_large',
      'The file is too large',
      'A config.json is at most 10 MiB; this one is larger.',
    );
  if (Number(answer.headers.get('Content-Length')) > kMaxBytes) throw tooLarge();
  const reader = answer.body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for (;;) {
    const {done, value} = await reader.read();
    if (done) return text + decoder.decode();
    size += value.length;
    if (size > kMaxBytes) {
      await reader.cancel();
      throw tooLarge();
    }
    text += decoder.decode(value, {stream: true});
  }
}

// {text, id, commit}: `id` is the hub's current name, which a rename may have changed.
export async function fetchConfig(endpoint, model, signal) {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), kMilliseconds);
  const stop = () => limit.abort();
  signal.addEventListener('abort', stop);
  try {
    const answer = await fetch(configAddress(endpoint, model), {
      signal: limit.signal,
      credentials: 'omit',
      referrerPolicy: 'no-referrer',
    });
    if (!answer.ok) throw refusal(answer, model, endpoint);
    const text = await readBounded(answer);
    if (/^\s*</.test(text)) {
      throw new HubProblem(
        'not_json',
        'A web page came back',
        `${new URL(endpoint).host} answered with a web page where a config.json was expected. Check the hub address under "More settings".`,
      );
    }
    const moved = /\/api\/resolve-cache\/models\/([^/]+(?:\/[^/]+)?)\/[0-9a-f]{40}\//.exec(
      answer.url,
    );
    return {
      text,
      id: moved === null ? model.id : decodeURIComponent(moved[1]),
      commit: answer.headers.get('X-Repo-Commit') ?? '',
    };
  } catch (error) {
    if (error instanceof HubProblem || signal.aborted) throw error;
    if (limit.signal.aborted) {
      throw new HubProblem(
        'slow',
        'No answer',
        `${new URL(endpoint).host} did not answer within ${kMilliseconds / 1000} seconds.`,
        {action: kRetry},
      );
    }
    throw unreachable(endpoint);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
}
