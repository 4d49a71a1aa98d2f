// The form and the state it stands for. Every change of a control reports at once.
import {byId, h} from './dom.mjs';
import {integer} from './format.mjs';
import {GpuPicker} from './gpu_picker.mjs';
import {applies, initialState, kCustomGpu, kFields, valueAt} from './setup.mjs';

const kStops = [
  128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576,
  32768, 49152, 65536, 98304, 131072,
];
const kCapabilities = [
  ['7.5', 'Turing'],
  ['8.0', 'Ampere, data centre'],
  ['8.6', 'Ampere'],
  ['8.9', 'Ada'],
  ['9.0', 'Hopper'],
  ['10.0', 'Blackwell, data centre'],
  ['12.0', 'Blackwell'],
];
const kFirstLevel = {
  per_device_train_batch_size: 'batch',
  max_length: 'length',
  gradient_checkpointing: 'checkpointing',
};

function field(key) {
  return kFields.find((candidate) => candidate.key === key);
}

function showGpuProblem(problem) {
  byId('gpu-status').dataset.tone = 'bad';
  byId('gpu-status').replaceChildren(problem === '' ? '' : h('p', {}, problem));
}

export class Controls {
  #state = initialState();
  #changed;
  #picker;
  #inputs = {}; // key -> its control

  // `changed(key)` is called after the state has changed.
  constructor(changed) {
    this.#changed = changed;
    byId('capability').replaceChildren(
      ...kCapabilities.map(([value, name]) => h('option', {value}, `${value} (${name})`)),
    );
    this.#picker = new GpuPicker(
      byId('gpu'),
      byId('gpu-list'),
      (name) => this.#set('gpu', name),
      showGpuProblem,
    );
    this.#buildSecondLevel();
    for (const [key, id] of Object.entries(kFirstLevel)) this.#inputs[key] = byId(id);
    for (const key of Object.keys(this.#inputs)) this.#listen(key);
    this.#listenToTheRest();
    this.write(this.#state);
  }

  get state() {
    return this.#state;
  }

  set gpus(gpus) {
    this.#picker.gpus = gpus;
    this.#gpus = gpus;
    this.#showGpu();
  }
  #gpus = [];

  // Puts a state into the form, as a link or the Back button gives it.
  write(state) {
    this.#state = state;
    this.#picker.value = state.gpu;
    byId('vram').value = state.vram;
    byId('capability').value = state.capability;
    for (const radio of document.getElementsByName('method'))
      radio.checked = radio.value === state.method;
    for (const [key, input] of Object.entries(this.#inputs)) {
      if (input.type === 'checkbox') input.checked = state[key];
      else input.value = state[key];
      input.removeAttribute('aria-invalid');
    }
    this.#showSlider();
    this.#showGpu();
    this.#showApplicable();
  }

  #set(key, value) {
    if (this.#state[key] === value) return;
    this.#state = {...this.#state, [key]: value};
    this.#showSlider();
    this.#showGpu();
    this.#showApplicable();
    this.#changed(key);
  }

  #listen(key) {
    const input = this.#inputs[key];
    const {kind, min, max} = field(key);
    if (kind === 'boolean') input.addEventListener('change', () => this.#set(key, input.checked));
    else if (kind === 'choice') input.addEventListener('change', () => this.#set(key, input.value));
    else
      this.#listenToNumber(
        input,
        key,
        (value) => Number.isInteger(value) && value >= min && value <= max,
        `A whole number from ${integer(min)} to ${integer(max)}.`,
      );
  }

  // What is out of range is marked and waits; leaving the control brings the last good value back.
  #listenToNumber(input, key, good, expected) {
    input.addEventListener('input', () => {
      const value = input.value === '' ? NaN : Number(input.value);
      input.setCustomValidity(good(value) ? '' : expected);
      input.toggleAttribute('aria-invalid', !good(value));
      if (!good(value)) input.setAttribute('aria-invalid', 'true');
      input.title = good(value) ? '' : expected;
      if (good(value)) this.#set(key, value);
    });
    input.addEventListener('change', () => {
      input.value = this.#state[key];
      input.removeAttribute('aria-invalid');
      input.title = '';
    });
  }

  #listenToTheRest() {
    for (const radio of document.getElementsByName('method'))
      radio.addEventListener('change', () => this.#set('method', radio.value));
    const slider = byId('length-slider');
    slider.max = kStops.length - 1;
    slider.addEventListener('input', () => {
      byId('length').value = kStops[slider.value];
      this.#set('max_length', kStops[slider.value]);
    });
    for (const button of document.querySelectorAll('[data-step]')) {
      button.addEventListener('click', () => {
        const {min, max} = field('per_device_train_batch_size');
        const value = Math.min(
          max,
          Math.max(min, this.#state.per_device_train_batch_size + Number(button.dataset.step)),
        );
        byId('batch').value = value;
        this.#set('per_device_train_batch_size', value);
      });
    }
    byId('capability').addEventListener('change', (event) =>
      this.#set('capability', event.target.value),
    );
    this.#listenToNumber(
      byId('vram'),
      'vram',
      (value) => value >= 1 && value <= 2048,
      'From 1 to 2,048 GiB.',
    );
  }

  #buildSecondLevel() {
    const grid = byId('more-grid');
    for (const {key, kind, min, max, values, label, names} of kFields.filter(
      (candidate) => candidate.second,
    )) {
      const id = `setting-${key.replaceAll('.', '-').replaceAll('_', '-')}`;
      const help = h('p', {class: 'help', id: `${id}-help`});
      let input;
      let head;
      if (kind === 'boolean') {
        input = h('input', {type: 'checkbox', id, 'aria-describedby': help.id});
        head = h(
          'label',
          {class: 'switch'},
          input,
          h('span', {class: 'track', 'aria-hidden': 'true'}),
          h('span', {}, label),
        );
      } else {
        head = h('label', {for: id}, label);
        input =
          kind === 'integer'
            ? h('input', {
                type: 'number',
                id,
                min,
                max,
                step: 1,
                inputmode: 'numeric',
                'aria-describedby': help.id,
              })
            : h(
                'select',
                {id, 'aria-describedby': help.id},
                values.map((value) =>
                  h('option', {value}, value === '' ? 'automatic' : (names?.[value] ?? value)),
                ),
              );
      }
      this.#inputs[key] = input;
      grid.append(
        h(
          'div',
          {class: 'setting', 'data-key': key},
          head,
          kind === 'boolean' ? null : input,
          help,
        ),
      );
    }
  }

  // What each setting means, in core's words.
  set keys(keys) {
    for (const {name, meaning} of keys) {
      const help = document.querySelector(`[data-key="${name}"] .help`);
      if (help !== null) help.textContent = meaning;
    }
  }

  // What "automatic" came to in the last answer.
  showResolved(setup) {
    for (const [key, input] of Object.entries(this.#inputs)) {
      if (input.tagName !== 'SELECT') continue;
      const value = setup === null ? undefined : valueAt(setup, key);
      const shown =
        value === null
          ? key === 'autocast'
            ? 'off'
            : "the library's choice"
          : Array.isArray(value)
            ? value.join(', ')
            : value;
      input.options[0].textContent = value === undefined ? 'automatic' : `automatic: ${shown}`;
    }
  }

  clearMarks() {
    for (const control of [
      byId('gpu'),
      byId('capability'),
      byId('vram'),
      ...Object.values(this.#inputs),
    ])
      control.removeAttribute('aria-invalid');
  }

  // The control of a place in the setup, as core's errors name it, or null.
  controlAt(where) {
    const key = where.replace(/^\//, '').replaceAll('/', '.');
    if (key === 'gpu' || key === 'gpu.name') return byId('gpu');
    if (key.startsWith('gpu.'))
      return byId(key === 'gpu.compute_capability' ? 'capability' : 'vram');
    if (key === 'method') return document.querySelector('input[name=method]:checked');
    return this.#inputs[key] ?? null;
  }

  #showSlider() {
    const slider = byId('length-slider');
    const length = this.#state.max_length;
    const above = kStops.findIndex((stop) => stop >= length);
    slider.value = above === -1 ? kStops.length - 1 : above;
    slider.setAttribute('aria-valuetext', `${integer(length)} tokens`);
    slider.style.setProperty('--filled', `${(100 * slider.value) / (kStops.length - 1)}%`);
  }

  #showGpu() {
    const custom = this.#state.gpu === kCustomGpu;
    byId('custom-gpu').hidden = !custom;
    const gpu = this.#gpus.find(({name}) => name === this.#state.gpu);
    byId('gpu-help').textContent =
      custom || gpu === undefined ? '' : `Compute capability ${gpu.compute_capability}`;
  }

  #showApplicable() {
    for (const candidate of kFields) {
      const box = document.querySelector(`[data-key="${candidate.key}"]`);
      if (box !== null) box.hidden = !applies(candidate, this.#state);
    }
  }
}
