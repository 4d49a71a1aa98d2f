// What a person may type or paste for a model, and where its config.json is.

export const kDefaultEndpoint = 'https://huggingface.co';
const kHubHosts = new Set(['huggingface.co', 'www.huggingface.co', 'hf.co', 'www.hf.co']);
const kName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,95}$/;
const kOtherKinds = {
  datasets: 'a dataset',
  spaces: 'a Space',
  collections: 'a collection',
  papers: 'a paper',
  docs: 'a page of documentation',
};

// The endpoint without its trailing slash, or null: https anywhere, http on this machine only.
export function cleanEndpoint(text) {
  let url;
  try {
    url = new URL(text.trim());
  } catch {
    return null;
  }
  const loopback = url.hostname === '127.0.0.1' || url.hostname === 'localhost';
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && loopback)) return null;
  if (url.username !== '' || url.password !== '') return null;
  return (url.origin + url.pathname).replace(/\/+$/, '');
}

function problem(message) {
  return {kind: 'problem', message};
}

function model(names, revision, folder = '') {
  if (names.length === 0 || names.length > 2 || !names.every((name) => kName.test(name))) {
    return problem(
      `"${names.join('/').slice(0, 120)}" is not a model id; expected organisation/model, a hub ` +
        `address, or the text of a config.json.`,
    );
  }
  return {kind: 'model', id: names.join('/'), revision: revision || 'main', folder};
}

// "..", however often its dots are encoded: a path with it leads out of the model or its revision.
function climbs(part) {
  let text = part;
  for (let turn = 0; turn < 5; ++turn) {
    if (text.split(/[/\\]/).some((step) => step === '.' || step === '..')) return true;
    const before = text;
    try {
      text = decodeURIComponent(text);
    } catch {
      return false;
    }
    if (text === before) return false;
  }
  return true;
}

// "organisation/model/tree/main/sub" and its kin: the path part of a hub address.
function fromPath(path, revision = '') {
  const steps = path.split('/').filter((part) => part !== '');
  if ([...steps, revision].some(climbs)) {
    return problem(
      `"${path.slice(0, 120)}" holds a step such as "..", which leads elsewhere. Type the organisation and the model alone.`,
    );
  }
  const parts = steps.map((part) => decodeURIComponent(part));
  if (parts[0] === 'api') parts.shift();
  if (parts[0] === 'models' && parts.length > 1) parts.shift();
  if (Object.hasOwn(kOtherKinds, parts[0] ?? '')) {
    return problem(`That address is ${kOtherKinds[parts[0]]}; expected a model.`);
  }
  const view = parts.findIndex(
    (part, index) =>
      index >= 1 &&
      [
        'tree',
        'blob',
        'resolve',
        'raw',
        'commit',
        'revision',
        'commits',
        'discussions',
        'edit',
      ].includes(part),
  );
  if (view === -1) return model(parts.slice(0, parts.length === 1 ? 1 : 2), revision);
  const names = parts.slice(0, view);
  if (['discussions', 'commits'].includes(parts[view])) return model(names, revision);
  // A revision of a pull request holds slashes itself: refs/pr/3.
  const taken = parts[view + 1] === 'refs' ? 3 : 1;
  const rest = parts.slice(view + 1 + taken);
  if (rest.length > 0 && /\.[A-Za-z0-9]+$/.test(rest.at(-1))) rest.pop();
  return model(names, parts.slice(view + 1, view + 1 + taken).join('/'), rest.join('/'));
}

function fromAddress(text, endpoint) {
  let url;
  try {
    url = new URL(text);
  } catch {
    return problem(`"${text.slice(0, 120)}" is not an address a browser can read.`);
  }
  const base = new URL(endpoint);
  if (!kHubHosts.has(url.hostname) && url.host !== base.host) {
    return problem(
      `That address is on ${url.host}, and models are looked up at ${base.host}. Type the id alone, or change the hub address under "More settings".`,
    );
  }
  const prefix = url.host === base.host ? base.pathname.replace(/\/$/, '') : '';
  try {
    return fromPath(
      url.pathname.startsWith(prefix) ? url.pathname.slice(prefix.length) : url.pathname,
    );
  } catch {
    return problem(`"${text.slice(0, 120)}" holds an escape sequence that cannot be read.`);
  }
}

// One of {kind: 'empty'}, {kind: 'config', text}, {kind: 'model', id, revision, folder},
// {kind: 'problem', message}.
export function readModelInput(input, endpoint = kDefaultEndpoint) {
  let text = input.trim();
  if (text === '') return {kind: 'empty'};
  if (text.startsWith('{') || text.startsWith('[')) return {kind: 'config', text: input};
  const quoted = /from_pretrained\(\s*["']([^"']+)["']/.exec(text);
  if (quoted !== null) text = quoted[1];
  text = text
    .replace(/^(git clone|hf download|huggingface-cli download|ollama run)\s+/, '')
    .replace(/^["'`<]+|["'`>]+$/g, '');
  text = text
    .replace(/^git@(hf\.co|huggingface\.co):/, 'https://$1/')
    .replace(/^hf:\/\//, '')
    .replace(/\.git$/, '');
  if (/^https?:\/\//i.test(text)) return fromAddress(text, endpoint);
  const host = text.split('/')[0].toLowerCase();
  if (kHubHosts.has(host)) return fromAddress(`https://${text}`, endpoint);
  const [path, revision = ''] = text.split('@');
  try {
    return fromPath(path.split(/[?#]/)[0], revision.trim());
  } catch {
    return problem(`"${text.slice(0, 120)}" holds an escape sequence that cannot be read.`);
  }
}

export function configAddress(endpoint, {id, revision, folder}) {
  const inside = folder === '' ? '' : `${folder.split('/').map(encodeURIComponent).join('/')}/`;
  return `${endpoint}/${id}/resolve/${encodeURIComponent(revision)}/${inside}config.json`;
}

export function modelPage(endpoint, id) {
  return `${endpoint}/${id}`;
}
