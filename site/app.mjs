// Wires the form, the hub, core and the answer together. Every change asks core again; there is no
// button to press.
import {Address} from './page/address.mjs';
import {Answer} from './page/answer.mjs';
import {rangeIn} from './page/config_place.mjs';
import {Controls} from './page/controls.mjs';
import {CoreClient, CoreFailure} from './page/core_client.mjs';
import {byId, debounced, h, watchHeight} from './page/dom.mjs';
import {count, integer} from './page/format.mjs';
import {cleanEndpoint, kDefaultEndpoint} from './page/hub.mjs';
import {fromKept, toKept} from './page/kept_config.mjs';
import {acceptDrops, ModelSource} from './page/model_source.mjs';
import {toSetup, untouched} from './page/setup.mjs';
import {asText, copy, download} from './page/share.mjs';
import {kept, thisTab} from './page/storage.mjs';
import {watchTheme} from './page/theme.mjs';
import {patternSheet} from './page/view/categories.mjs';

const core = new CoreClient(new URL('worker.mjs', import.meta.url));
const answer = new Answer();
const controls = new Controls((key) => {
  address.write(controls.state, key);
  ask();
});
const address = new Address(restore);
let source = {kind: 'none'};
let endpoint =
  cleanEndpoint(
    new URLSearchParams(window.location.search).get('endpoint') ?? kept.get('endpoint') ?? '',
  ) ?? kDefaultEndpoint;
const model = new ModelSource(byId('model'), byId('model-status'), () => endpoint, sourceChanged);

// ---- one question, one answer

const kPauseMilliseconds = 400;
let questions = 0;

function explainNothing() {
  if (source.kind === 'reading')
    answer.reading('Reading', `The config.json of ${source.id} is on its way.`);
  else if (source.kind === 'problem')
    answer.waiting('No model yet', `${source.title}. What to do stands below the model's name.`);
  else
    answer.waiting(
      'No model yet',
      'Name one, or drop a config.json anywhere on this page. The answer follows every change you make.',
    );
}

async function ask() {
  const turn = ++questions;
  if (source.text === undefined) {
    explainNothing();
    return;
  }
  answer.busy(true);
  const {state} = controls;
  const request = {schema: 1, op: 'fit', config: source.text, setup: toSetup(state)};
  try {
    const reply = await core.call('fit', request);
    answer.busy(false);
    showReply(reply, untouched(state));
    if (reply.ok && reply.report.memory)
      setTimeout(() => askForAdvice(request, turn), kPauseMilliseconds);
  } catch (failure) {
    if (failure?.kind === 'superseded') return;
    answer.busy(false);
    showFailure(failure);
  }
}

// What would make it fit, what expandable segments save: more runs, so only once the questions
// pause. The answer stands without them.
async function askForAdvice(request, turn) {
  if (turn !== questions) return;
  try {
    const reply = await core.call('changes', {...request, changes: true});
    if (turn === questions && reply.ok) answer.showAdvice(reply.report);
  } catch (failure) {
    console.info('no advice:', failure);
  }
}

function nameOf({kind, id}) {
  return kind === 'hub' ? id : 'config.json';
}

// A config given as text has no name: where it came from, and what it describes.
function describe({kind, id, commit, label}, {model}) {
  if (kind === 'hub') return commit ? `${id} at ${commit.slice(0, 7)}` : id;
  const layers = model.num_layers > 0 ? `, ${integer(model.num_layers)} layers` : '';
  const size = model.num_parameters > 0 ? `, ${count(model.num_parameters)} parameters` : '';
  return `${label}: ${model.model_type}${layers}${size}`;
}

function showReply(reply, starting) {
  showModule('');
  controls.clearMarks();
  if (!reply.ok) {
    controls.showResolved(null);
    answer.errors(reply.errors, placeOf);
    model.doubt(reply.errors.some(({where}) => (where ?? '').startsWith('config')));
    return;
  }
  controls.showResolved(reply.report.setup);
  model.doubt(false);
  answer.show(reply.report, starting);
  document.title = `${answer.short}: ${nameOf(source)} | Peakline`;
  byId('link-note').textContent =
    source.kind === 'text'
      ? 'This config was given as text: a link carries the settings, not the config.'
      : '';
}

// A function that leads to the place an error names, or null.
function placeOf(where) {
  if (where.startsWith('config')) return () => showConfigAt(where);
  const control = controls.controlAt(where);
  if (control === null) return null;
  control.setAttribute('aria-invalid', 'true');
  return () => {
    control.closest('details')?.setAttribute('open', '');
    control.focus();
  };
}

function showConfigAt(where) {
  byId('config-details').open = true;
  const area = byId('config-text');
  area.focus();
  const found = rangeIn(area.value, where);
  if (found === null) return;
  area.setSelectionRange(found.start, found.end);
  const lines = area.value.split('\n').length;
  area.scrollTop =
    (area.scrollHeight * Math.max(0, area.value.slice(0, found.start).split('\n').length - 4)) /
    lines;
}

// A failure of the module has a kind; any other error is one of the page itself.
function showFailure(failure) {
  const {kind = failure?.name ?? 'unknown', message = String(failure), stack = ''} = failure ?? {};
  const more = Array.isArray(failure?.details) ? failure.details : [stack];
  const details = [`${kind}: ${message}`, ...more, navigator.userAgent];
  if (!(failure instanceof CoreFailure)) {
    answer.failure(
      'The answer cannot be shown',
      'That is a fault in Peakline, not in your input. Other settings, or another model, may work.',
      details,
      ask,
    );
  } else if (kind === 'unavailable') {
    showModule(
      more.length > 0
        ? `Missing on this server: ${more.join(' and ')}.`
        : `It could not be loaded: ${message}.`,
    );
    answer.failure(
      'Nothing to compute with',
      'The calculation module did not load; the form keeps what you enter.',
      details,
      () => {
        core.retry();
        ask();
      },
    );
  } else if (kind === 'hung') {
    answer.failure(
      'No answer in time',
      'The calculation did not finish and was stopped. Another model or other settings may work; a fresh module is ready.',
      details,
      ask,
    );
  } else {
    answer.failure(
      'The calculation stopped',
      'That is a fault in Peakline, not in your input. A fresh module is ready: change something, or try again.',
      details,
      ask,
    );
  }
}

function showModule(problem) {
  const banner = byId('module-banner');
  banner.hidden = problem === '';
  banner.replaceChildren(
    problem === ''
      ? ''
      : h(
          'p',
          {},
          h('strong', {}, 'The calculation module is not there. '),
          problem,
          ' Whoever serves this page builds it with ',
          h('code', {}, 'bash scripts/run.sh'),
          '; reloading the page asks for it again.',
        ),
  );
}

// ---- where the model comes from

function sourceChanged(next) {
  source = next;
  const typed = next.kind === 'text' ? '' : byId('model').value.trim();
  const pasted = next.kind === 'text';
  thisTab.set('config', toKept(next));
  if (next.text !== undefined && byId('config-text').value !== next.text)
    byId('config-text').value = next.text;
  if (next.kind === 'none') byId('config-text').value = '';
  byId('sample').parentElement.hidden = next.kind !== 'none';
  const {state} = controls;
  if (state.model !== typed || state.pasted !== pasted) {
    controls.write({...state, model: typed, pasted});
    address.write(controls.state, 'model');
  }
  ask();
}

function takePasted() {
  const stored = thisTab.get('config');
  const found = stored === null ? null : fromKept(stored);
  if (found?.text !== undefined) {
    model.takeText(found.text, found.label);
    return;
  }
  if (found === null) thisTab.set('config', null);
  const tooLong = found !== null;
  byId('model-status').dataset.tone = 'bad';
  byId('model-status').replaceChildren(
    h(
      'p',
      {},
      h('strong', {}, tooLong ? 'The pasted config.json is gone. ' : 'This link has no model. '),
      tooLong
        ? `It had ${integer(found.tooLong)} characters, and a tab keeps at most ${integer(found.most)} over a reload: paste it again, and the settings apply.`
        : 'It was made from a pasted config.json, which a link cannot carry: paste that config here, and the settings of the link apply.',
    ),
  );
  ask();
}

// What a link asked for and does not get, where the person can see it.
function showIgnored(ignored, newer) {
  const banner = byId('link-banner');
  banner.hidden = ignored.length === 0 && !newer;
  const sentences = [];
  if (newer) sentences.push('This link was made by a later version of the page.');
  if (ignored.length > 0)
    sentences.push(
      `Not taken from the link, so that the page's own values stand: ${ignored.join('; ')}.`,
    );
  banner.replaceChildren(h('p', {}, sentences.join(' ')));
}

function restore({state, ignored, newer}) {
  showIgnored(ignored, newer);
  const wanted = state.model;
  const held = controls.state;
  controls.write(state);
  if (state.pasted) {
    if (source.kind === 'text') ask();
    else takePasted();
  } else if (wanted !== held.model || source.kind === 'none' || held.pasted) {
    model.take(wanted);
  } else {
    ask();
  }
}

async function takeSample() {
  const reply = await fetch(new URL('sample_config.json', import.meta.url)).catch(() => null);
  if (reply?.ok)
    model.takeText(await reply.text(), 'A sample: a decoder of 1.1 billion parameters');
}

function takeDrop(data) {
  const file = data.files[0];
  const text = data.getData('text/plain').trim();
  if (file !== undefined) model.takeFile(file);
  else if (text.startsWith('{')) model.takeText(text, 'Dropped config.json');
  else if (text !== '') model.take(text);
}

function watchSource() {
  byId('open-file').addEventListener('click', () => byId('file').click());
  byId('file').addEventListener('change', ({target}) => {
    if (target.files.length > 0) model.takeFile(target.files[0]);
    target.value = '';
  });
  byId('sample').addEventListener('click', takeSample);
  acceptDrops(document.documentElement, takeDrop);
  byId('config-text').addEventListener(
    'input',
    debounced(250, () => {
      const text = byId('config-text').value;
      if (text.trim() === '') model.clear();
      else model.takeText(text, 'Edited config.json');
    }),
  );
}

function showEndpoint() {
  byId('privacy-host').textContent = new URL(endpoint).host;
  byId('endpoint').value = endpoint === kDefaultEndpoint ? '' : endpoint;
}

function watchEndpoint() {
  const input = byId('endpoint');
  input.addEventListener('change', () => {
    const wanted = input.value.trim() === '' ? kDefaultEndpoint : cleanEndpoint(input.value);
    const bad = wanted === null;
    input.toggleAttribute('aria-invalid', bad);
    if (bad) input.setAttribute('aria-invalid', 'true');
    byId('endpoint-help').textContent = bad
      ? 'Expected an address that starts with https://; http:// only for this machine.'
      : 'Where model ids are looked up; a mirror must use https.';
    if (bad || wanted === endpoint) return;
    endpoint = wanted;
    kept.set('endpoint', endpoint === kDefaultEndpoint ? null : endpoint);
    showEndpoint();
    model.read({again: true});
  });
}

// ---- the answer on its way out

function watchActions() {
  const said = (text) => {
    byId('copied').textContent = text;
    setTimeout(() => (byId('copied').textContent = ''), 4000);
  };
  const link = () => address.link(controls.state, source);
  const textOfAnswer = () =>
    asText(
      answer.report,
      describe(source, answer.report),
      source.kind === 'hub' ? link() : '',
      untouched(controls.state),
    );
  byId('copy-link').addEventListener('click', async () =>
    said(
      (await copy(link())) ? 'Link copied' : 'The browser refused; copy the address bar instead',
    ),
  );
  byId('copy-text').addEventListener('click', async () =>
    said(
      (await copy(textOfAnswer()))
        ? 'Text copied'
        : 'The browser refused; use Download report',
    ),
  );
  byId('download').addEventListener('click', () =>
    download('peakline-report.json', JSON.stringify(answer.report, null, 1)),
  );
  byId('exact').addEventListener('click', ({currentTarget: button}) => {
    const on = document.documentElement.classList.toggle('exact-bytes');
    button.setAttribute('aria-pressed', String(on));
  });
  window.addEventListener('beforeprint', () => {
    byId('printed').textContent =
      `${nameOf(source)}, ${new Date().toISOString().slice(0, 10)}, ${link()}`;
  });
  byId('skip').addEventListener('click', (event) => {
    event.preventDefault();
    byId('answer').focus();
  });
}

async function readCatalogue() {
  const [gpus, keys, version] = await Promise.all([
    core.call('gpus', {schema: 1, op: 'gpus'}),
    core.call('keys', {schema: 1, op: 'setup_keys'}),
    core.call('version', {schema: 1, op: 'version'}),
  ]);
  if (gpus.ok) controls.gpus = gpus.gpus;
  if (keys.ok) controls.keys = keys.keys;
  if (version.ok) byId('version').textContent = `Peakline core ${version.core_version}.`;
}

document.body.prepend(patternSheet());
watchTheme(byId('theme'));
watchHeight(byId('question'));
watchSource();
watchEndpoint();
watchActions();
showEndpoint();
byId('question').addEventListener('submit', (event) => event.preventDefault());
restore(address.read());
readCatalogue().catch((failure) => {
  if (failure.kind !== 'superseded') showFailure(failure);
});
