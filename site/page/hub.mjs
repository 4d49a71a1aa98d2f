// What a person may type or paste for a model, and where its config.json is.

export const kDefaultEndpoint = 'https://huggingface.co';
// Names under which the hub's models lie; each is then read from the endpoint.
const kHubHosts = new Set([
  'huggingface.co',
  'www.huggingface.co',
  'hf.co',
  'www.hf.co',
  'hf-mirror.com',
]);
const kModelScope = /^(www\.)?modelscope\.(cn|ai)$/;
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

function model(names, revision, folder = '', file = 'config.json') {
  if (names.length === 0 || names.length > 2 || !names.every((name) => kName.test(name))) {
    return problem(
      `"${names.join('/').slice(0, 120)}" is not a model id; expected organisation/model, a hub ` +
        `address, or the text of a config.json.`,
    );
  }
  return {kind: 'model', id: names.join('/'), revision: revision || 'main', folder, file};
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

function leadsElsewhere(text) {
  return problem(
    `"${text.slice(0, 120)}" holds a step such as "..", which leads elsewhere. Type the organisation and the model alone.`,
  );
}

// "organisation/model/tree/main/sub" and its kin: the path part of a hub address.
function fromPath(path, revision = '') {
  const steps = path.split('/').filter((part) => part !== '');
  if ([...steps, revision].some(climbs)) return leadsElsewhere(path);
  const parts = steps.map((part) => decodeURIComponent(part));
  if (parts[0] === 'api') parts.shift();
  if (parts[0] === 'models' && parts.length > 1) parts.shift();
  if (Object.hasOwn(kOtherKinds, parts[0] ?? '')) {
    return problem(`That address is ${kOtherKinds[parts[0]]}; expected a model.`);
  }
  if (parts.length === 1 && parts[0] === 'models') {
    return problem(`That address is a list of models; open one and paste its address.`);
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
        'blame',
        'settings',
      ].includes(part),
  );
  if (view === -1) return model(parts.slice(0, parts.length === 1 ? 1 : 2), revision);
  const names = parts.slice(0, view);
  if (['discussions', 'settings'].includes(parts[view])) return model(names, revision);
  // A revision of a pull request holds slashes itself: refs/pr/3.
  const taken = parts[view + 1] === 'refs' ? 3 : 1;
  const named = parts.slice(view + 1, view + 1 + taken).join('/');
  const rest = parts.slice(view + 1 + taken);
  if (['commit', 'commits'].includes(parts[view])) return model(names, named);
  // A .json file is taken at its word; a README, weights or a folder mean the config beside them.
  const last = parts[view] === 'tree' ? '' : (rest.pop() ?? '');
  return model(names, named, rest.join('/'), last.endsWith('.json') ? last : undefined);
}

function fromAddress(text, endpoint) {
  let url;
  try {
    url = new URL(text);
  } catch {
    return problem(`"${text.slice(0, 120)}" is not an address a browser can read.`);
  }
  if (!['https:', 'http:'].includes(url.protocol)) {
    return problem(
      `"${text.slice(0, 120)}" is no http or https address; paste that of the model's page.`,
    );
  }
  // A URL has already taken such steps.
  if (text.split(/[?#]/)[0].split('/').some(climbs)) return leadsElsewhere(text);
  const base = new URL(endpoint);
  if (kModelScope.test(url.hostname)) {
    return problem(
      `That address is on ModelScope, and models are looked up at ${base.host}. Where that has the model too, type its id, organisation/model; else paste its config.json.`,
    );
  }
  if (url.username !== '' || url.password !== '') {
    return problem('That address holds a user name or a password; expected one without.');
  }
  if (!kHubHosts.has(url.hostname) && url.host !== base.host) {
    return problem(
      `That address is on ${url.host}, and models are looked up at ${base.host}. Type the id alone, or change the hub address under "More settings".`,
    );
  }
  const prefix = url.host === base.host ? base.pathname.replace(/\/$/, '') : '';
  const path = url.pathname.startsWith(prefix) ? url.pathname.slice(prefix.length) : url.pathname;
  const pinned = /^\/*([^/@]+(?:\/[^/@]+)?)@([^/]+)$/.exec(path); // org/name@v1, as pip writes it
  try {
    return pinned === null ? fromPath(path) : fromPath(pinned[1], pinned[2]);
  } catch {
    return problem(`"${text.slice(0, 120)}" holds an escape sequence that cannot be read.`);
  }
}

// One of {kind: 'empty'}, {kind: 'config', text}, {kind: 'model', id, revision, folder, file},
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
    .replace(/^git\+/, '')
    .replace(/^git@([^/:]+):/, 'https://$1/')
    .replace(/^ssh:\/\/git@/, 'https://')
    .replace(/^hf:\/\//, '')
    .replace(/\.git(?=@|\/*$)/, '');
  if (/^[a-z]+:\/\//i.test(text)) return fromAddress(text, endpoint);
  const host = text.split('/')[0].toLowerCase();
  if (kHubHosts.has(host) || kModelScope.test(host)) return fromAddress(`https://${text}`, endpoint);
  const [path, revision = ''] = text.split('@');
  try {
    return fromPath(path.split(/[?#]/)[0], revision.trim());
  } catch {
    return problem(`"${text.slice(0, 120)}" holds an escape sequence that cannot be read.`);
  }
}

export function configAddress(endpoint, {id, revision, folder, file}) {
  const steps = [...folder.split('/').filter((step) => step !== ''), file];
  return `${endpoint}/${id}/resolve/${encodeURIComponent(revision)}/${steps.map(encodeURIComponent).join('/')}`;
}

export function modelPage(endpoint, id) {
  return `${endpoint}/${id}`;
}
