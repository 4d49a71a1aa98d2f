// The one input for a model: an id or address that is looked up, or the text of a config.json that was
// pasted, dropped, opened or edited. Reports what it holds; older look-ups are aborted.
import {debounced, h} from './dom.mjs';
import {readModelInput} from './hub.mjs';
import {fetchConfig} from './hub_fetch.mjs';

const kTypingMilliseconds = 450;
const kMaxFileBytes = 10 * 1024 * 1024;

export class ModelSource {
  #input;
  #status;
  #endpoint;
  #report;
  #known = new Map(); // address and revision -> what the hub answered, for this visit
  #asked; // what the input meant when it was last read
  #holdsText = false; // a config was given as text, and the input is empty for that reason
  #look = null; // AbortController of the look-up under way
  #later;

  // `endpoint()` gives the hub's address; `report(source)` hears of every change: {kind: 'none' |
  // 'reading' | 'problem' | 'hub' | 'text', ...}.
  constructor(input, status, endpoint, report) {
    this.#input = input;
    this.#status = status;
    this.#endpoint = endpoint;
    this.#report = report;
    this.#later = debounced(kTypingMilliseconds, () => this.read());
    input.addEventListener('input', () => this.#typed());
    input.addEventListener('paste', (event) => this.#pasted(event));
    input.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') {
        event.preventDefault();
        this.read({again: true});
      }
    });
    input.addEventListener('change', () => this.read());
  }

  // Takes the text of a config.json, with a word on where it came from.
  takeText(text, label) {
    this.#stop();
    this.#holdsText = true;
    this.#input.value = '';
    this.#input.removeAttribute('aria-invalid');
    this.#status.dataset.tone = 'good';
    this.#status.replaceChildren(
      h(
        'p',
        {},
        `${label}. It stays in this tab; a link cannot carry it. `,
        h('button', {type: 'button', class: 'link', onclick: () => this.clear()}, 'Remove'),
      ),
    );
    this.#report({kind: 'text', text, label});
  }

  // A config that core could not use is no good news, whatever way it came.
  doubt(wrong) {
    const {dataset} = this.#status;
    if (dataset.tone !== (wrong ? 'good' : 'wrong')) return;
    dataset.tone = wrong ? 'wrong' : 'good';
    if (wrong)
      this.#status.append(
        h('p', {class: 'doubt'}, 'It cannot be used as it stands: the answer names the place.'),
      );
    else this.#status.querySelector('.doubt')?.remove();
  }

  clear() {
    this.#holdsText = false;
    this.#input.value = '';
    this.#input.focus();
    this.read({again: true});
  }

  // Looks up what a link names.
  take(model) {
    this.#holdsText = false;
    this.#input.value = model;
    return this.read();
  }

  async takeFile(file) {
    if (file.size > kMaxFileBytes) {
      this.#refuse(
        'The file is too large',
        `${file.name} is larger than the 10 MiB a config.json may have.`,
      );
      return;
    }
    if (/\.(safetensors|gguf|bin|pt|pth)$/i.test(file.name)) {
      this.#refuse(
        'Not a config.json',
        `${file.name} holds weights; drop the config.json that lies beside it.`,
      );
      return;
    }
    this.takeText(await file.text(), `Read from ${file.name}`);
  }

  // Looks at the input now. `again` looks up even what is known.
  async read({again = false} = {}) {
    this.#later.cancel();
    const asked = readModelInput(this.#input.value, this.#endpoint());
    const same = this.#asked !== undefined && JSON.stringify(asked) === JSON.stringify(this.#asked);
    if ((same && !again) || (asked.kind === 'empty' && this.#holdsText)) return;
    if (asked.kind === 'config') {
      this.takeText(asked.text, 'Pasted config.json');
      return;
    }
    this.#stop();
    this.#holdsText = false;
    this.#asked = asked;
    this.#input.removeAttribute('aria-invalid');
    if (asked.kind === 'empty') {
      this.#say('', '');
      this.#report({kind: 'none'});
    } else if (asked.kind === 'problem') {
      this.#refuse('Not a model', asked.message);
    } else {
      await this.#lookUp(asked);
    }
  }

  #typed() {
    const value = this.#input.value.trim();
    if (value.startsWith('{') && value.endsWith('}')) this.read();
    else this.#later();
  }

  // A pasted file keeps its line breaks, which a one-line input would lose: errors name lines.
  #pasted(event) {
    const text = event.clipboardData?.getData('text/plain') ?? '';
    const file = event.clipboardData?.files?.[0];
    if (file !== undefined) {
      event.preventDefault();
      this.takeFile(file);
    } else if (text.trim().startsWith('{')) {
      event.preventDefault();
      this.takeText(text, 'Pasted config.json');
    } else {
      setTimeout(() => this.read(), 0);
    }
  }

  #stop() {
    this.#later.cancel();
    this.#look?.abort();
    this.#look = null;
    this.#asked = undefined;
  }

  async #lookUp(model) {
    const endpoint = this.#endpoint();
    const key = JSON.stringify([endpoint, model]);
    const look = new AbortController();
    this.#look = look;
    if (!this.#known.has(key)) {
      this.#say('busy', `Reading the config.json of ${model.id} from ${new URL(endpoint).host}`);
      this.#report({kind: 'reading', id: model.id});
    }
    try {
      const found = this.#known.get(key) ?? (await fetchConfig(endpoint, model, look.signal));
      if (look.signal.aborted) return;
      this.#known.set(key, found);
      this.#found(endpoint, model, found);
    } catch (problem) {
      if (look.signal.aborted) return;
      this.#refuse(
        problem.title ?? 'The config.json could not be read',
        problem.message,
        problem.action,
        problem.details,
        model,
      );
    }
  }

  #found(endpoint, model, found) {
    const moved =
      found.id.toLowerCase() === model.id.toLowerCase() ? '' : ` (${model.id} is now called so)`;
    const at = found.commit === '' ? ` at ${model.revision}` : ` at ${found.commit.slice(0, 7)}`;
    this.#say(
      'good',
      `Read the config.json of ${found.id}${moved}${at} from ${new URL(endpoint).host}.`,
    );
    this.#report({
      kind: 'hub',
      text: found.text,
      id: found.id,
      revision: model.revision,
      commit: found.commit,
    });
  }

  #refuse(title, message, action = null, details = '', model = null) {
    this.#input.setAttribute('aria-invalid', 'true');
    const more = [];
    if (action?.href)
      more.push(
        h('a', {href: action.href, target: '_blank', rel: 'noopener noreferrer'}, action.label),
      );
    else if (action)
      more.push(
        h(
          'button',
          {type: 'button', class: 'link', onclick: () => this.#act(action.what, model)},
          action.label,
        ),
      );
    if (details) more.push(h('span', {class: 'details'}, details));
    this.#status.dataset.tone = 'bad';
    this.#status.replaceChildren(
      h('p', {}, h('strong', {}, `${title}. `), message),
      more.length > 0 ? h('p', {class: 'more-line'}, more) : '',
    );
    this.#report({kind: 'problem', title, message});
  }

  #act(what, model) {
    if (what === 'main') this.#input.value = model.id;
    this.#input.focus();
    this.read({again: true});
  }

  #say(tone, message) {
    this.#status.dataset.tone = tone;
    this.#status.replaceChildren(message === '' ? '' : h('p', {}, message));
  }
}

// Files dropped anywhere on the page, and a mark on the page while one hovers above it.
export function acceptDrops(target, take) {
  let depth = 0;
  const mark = () => target.classList.toggle('dropping', depth > 0);
  const carries = (event) =>
    [...(event.dataTransfer?.types ?? [])].some(
      (type) => type === 'Files' || type === 'text/plain',
    );
  target.addEventListener('dragenter', (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    depth += 1;
    mark();
  });
  target.addEventListener('dragleave', () => {
    depth = Math.max(0, depth - 1);
    mark();
  });
  target.addEventListener('dragover', (event) => {
    if (carries(event)) event.preventDefault();
  });
  target.addEventListener('drop', (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    depth = 0;
    mark();
    take(event.dataTransfer);
  });
}
