// A searchable list of GPUs: the combobox pattern with a list box, all by keyboard, plus one entry for
// a card that is not in the list.
import {h} from './dom.mjs';
import {gib} from './format.mjs';
import {kCustomGpu} from './setup.mjs';

const kCustomLabel = 'Another card, by its memory';
const kMostShown = 40; // characters of what was typed

// Words that drivers and people add and the list leaves out.
const kFiller = /\b(nvidia|geforce|tesla|gpu|blackwell|generation|(workstation|server) edition)\b/gi;

function squeezed(text) {
  return text.toLowerCase().replace(/[^a-z0-9.]/g, '').replace('mobile', 'laptop');
}

function matches(gpu, words) {
  const name = squeezed(gpu.name);
  return words.every((word) => name.includes(squeezed(word)));
}

// "4090" and "RTX 4090" are the RTX 4090 24GB, not its laptop namesake.
function isCalled({name}, typed) {
  const wanted = squeezed(typed.replace(kFiller, ''));
  return [name, name.replace(/ \S+$/, '')]
    .map(squeezed)
    .some((key) => ['', 'rtx', 'gtx'].some((line) => key === line + wanted));
}

// What the driver reports, or, where no source states that, the size on the box.
function size({total_bytes: reported, marketed_bytes: marketed}) {
  return reported ? gib(reported, 1) : `${gib(marketed, 0)} on the box`;
}

export class GpuPicker {
  #input;
  #list;
  #changed;
  #said;
  #gpus = [];
  #value = '';
  #shown = [];
  #active = -1;

  // `changed(name)` is called when a person picks a card; kCustomGpu stands for another one. `said(text)`
  // hears why what was typed is no card, and an empty text once that is over.
  constructor(input, list, changed, said) {
    this.#said = said;
    this.#input = input;
    this.#list = list;
    this.#changed = changed;
    input.addEventListener('focus', () => input.select());
    input.addEventListener('click', () => this.#open(''));
    input.addEventListener('input', () => this.#open(input.value));
    input.addEventListener('keydown', (event) => this.#key(event));
    input.addEventListener('blur', () => this.#leave());
    // Before blur, or the list would close under the finger.
    list.addEventListener('pointerdown', (event) => event.preventDefault());
    list.addEventListener('click', (event) => {
      const option = event.target.closest('[role=option]');
      if (option !== null) this.#choose(Number(option.dataset.index));
    });
  }

  get value() {
    return this.#value;
  }

  set value(name) {
    this.#value = name;
    this.#write();
  }

  set gpus(gpus) {
    this.#gpus = gpus;
    this.#write();
  }

  get #written() {
    return this.#value === kCustomGpu ? kCustomLabel : this.#value;
  }

  #write() {
    this.#input.value = this.#written;
  }

  #open(filter) {
    this.#said('');
    const words = filter
      .replace(kFiller, '')
      .trim()
      .split(/\s+/)
      .filter((word) => word !== '');
    const found = this.#gpus.filter((gpu) => matches(gpu, words));
    this.#shown = [...found, {name: kCustomGpu}];
    this.#active = words.length > 0 ? 0 : this.#shown.findIndex(({name}) => name === this.#value);
    this.#list.replaceChildren(...this.#shown.map((gpu, index) => this.#option(gpu, index)));
    this.#list.hidden = false;
    this.#input.setAttribute('aria-expanded', 'true');
    this.#mark();
  }

  #option(gpu, index) {
    const custom = gpu.name === kCustomGpu;
    return h(
      'li',
      {
        role: 'option',
        id: `gpu-${index}`,
        'data-index': index,
        'aria-selected': String(gpu.name === this.#value),
        class: custom ? 'custom' : null,
      },
      h('span', {}, custom ? kCustomLabel : gpu.name),
      custom ? null : h('span', {class: 'unit'}, size(gpu)),
    );
  }

  #close() {
    this.#list.hidden = true;
    this.#input.setAttribute('aria-expanded', 'false');
    this.#input.removeAttribute('aria-activedescendant');
  }

  #mark() {
    for (const option of this.#list.children) option.classList.remove('active');
    const option = this.#list.children[this.#active];
    if (option === undefined) {
      this.#input.removeAttribute('aria-activedescendant');
      return;
    }
    option.classList.add('active');
    option.scrollIntoView({block: 'nearest'});
    this.#input.setAttribute('aria-activedescendant', option.id);
  }

  #choose(index) {
    const gpu = this.#shown[index];
    this.#close();
    if (gpu === undefined) return;
    const different = gpu.name !== this.#value;
    this.value = gpu.name;
    this.#input.select();
    if (different) this.#changed(gpu.name);
  }

  #key(event) {
    const open = !this.#list.hidden;
    const last = this.#shown.length - 1;
    const moves = {
      ArrowDown: (at) => (at >= last ? 0 : at + 1),
      ArrowUp: (at) => (at <= 0 ? last : at - 1),
      PageDown: (at) => Math.min(last, at + 8),
      PageUp: (at) => Math.max(0, at - 8),
    };
    if (Object.hasOwn(moves, event.key)) {
      event.preventDefault();
      if (!open) this.#open('');
      else {
        this.#active = moves[event.key](this.#active);
        this.#mark();
      }
    } else if (event.key === 'Enter') {
      event.preventDefault();
      if (open) this.#choose(this.#active);
      else this.#open('');
    } else if (event.key === 'Escape' && open) {
      event.preventDefault();
      this.#close();
      this.#write();
    }
  }

  // What was typed counts if it leaves exactly one card, or is the name of exactly one; otherwise the old
  // choice comes back, and that is said.
  #leave() {
    const typed = this.#input.value.trim();
    const names = this.#shown.map(({name}) => name).filter((name) => name !== kCustomGpu);
    const other = !this.#list.hidden && typed !== '' && typed !== this.#written;
    const called = this.#shown.filter((gpu) => isCalled(gpu, typed));
    const one = called.length === 1 ? this.#shown.indexOf(called[0]) : names.length === 1 ? 0 : -1;
    if (other && one !== -1) this.#choose(one);
    this.#close();
    this.#write();
    if (other && one === -1) this.#said(this.#refusal(typed, names));
  }

  #refusal(typed, names) {
    const shown = typed.length > kMostShown ? `${typed.slice(0, kMostShown)}...` : typed;
    const why =
      names.length === 0
        ? `\u201c${shown}\u201d is no card of the list: pick one, or \u201c${kCustomLabel}\u201d.`
        : `\u201c${shown}\u201d may be ${names.slice(0, 3).join(', ')}${names.length > 3 ? ' or others' : ''}: pick one.`;
    return `${why} The answer is still for ${this.#value === kCustomGpu ? 'the card below' : this.#value}.`;
  }
}
