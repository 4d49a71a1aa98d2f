// The parts of the page that need no browser: what a person may type, the link, numbers as words.
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {test} from 'node:test';
import {axisMarks, count, gib, percent} from '../../site/page/format.mjs';
import {cleanEndpoint, configAddress, readModelInput} from '../../site/page/hub.mjs';
import {rangeIn} from '../../site/page/config_place.mjs';
import {fromKept, toKept} from '../../site/page/kept_config.mjs';
import {fromHash, toHash} from '../../site/page/link.mjs';
import {initialState, kFields, toSetup, untouched} from '../../site/page/setup.mjs';

const asked = (text, endpoint) => {
  const {kind, id, revision, folder} = readModelInput(text, endpoint);
  return kind === 'model' ? `${id}@${revision}${folder ? `:${folder}` : ''}` : kind;
};

test('every way to name a model', () => {
  const forms = {
    'org/name': 'org/name@main',
    name: 'name@main',
    '  org/name/ ': 'org/name@main',
    'org/name@v2': 'org/name@v2',
    'org/name@refs/pr/3': 'org/name@refs/pr/3',
    'https://huggingface.co/org/name': 'org/name@main',
    'http://www.huggingface.co/org/name?library=x': 'org/name@main',
    'huggingface.co/org/name': 'org/name@main',
    'hf.co/org/name': 'org/name@main',
    'https://huggingface.co/models/org/name': 'org/name@main',
    'https://huggingface.co/api/models/org/name': 'org/name@main',
    'https://huggingface.co/org/name/tree/main': 'org/name@main',
    'https://huggingface.co/org/name/blob/v1.0/config.json': 'org/name@v1.0',
    'https://huggingface.co/org/name/resolve/abc123/sub/folder/config.json?download=true':
      'org/name@abc123:sub/folder',
    'https://huggingface.co/org/name/tree/refs%2Fpr%2F3': 'org/name@refs/pr/3',
    'https://huggingface.co/org/name/blob/refs/pr/3/config.json': 'org/name@refs/pr/3',
    'https://huggingface.co/org/name/discussions/12': 'org/name@main',
    'https://huggingface.co/org/name/commit/abc123': 'org/name@abc123',
    'hf://org/name': 'org/name@main',
    'git@hf.co:org/name.git': 'org/name@main',
    'git clone https://huggingface.co/org/name': 'org/name@main',
    'hf download org/name': 'org/name@main',
    'AutoModelForCausalLM.from_pretrained("org/name", device_map="auto")': 'org/name@main',
    '"org/name"': 'org/name@main',
    '': 'empty',
    '{"model_type": "x"}': 'config',
    'https://huggingface.co/datasets/org/name': 'problem',
    'https://huggingface.co/spaces/org/name': 'problem',
    'https://example.org/org/name': 'problem',
    'https://huggingface.co/': 'problem',
    'org/na me': 'problem',
    'a/b/c/../d': 'problem',
    'org/name/tree/main/%2e%2e/%2e%2e/other': 'problem',
    'org/name/tree/main/%252e%252e/other': 'problem',
    'org/name/tree/main/%25252e%25252e/other': 'problem',
    'https://huggingface.co/org/name/tree/main/%252e%252e/other': 'problem',
    'https://huggingface.co/org/name/tree/main/a%2f..%2f..%2fother': 'problem',
    'https://huggingface.co/org/name/tree/main/..%5cother': 'problem',
    'https://huggingface.co/org/name/tree/main/%25252525252525252e': 'problem',
    'org/name@..': 'problem',
    'org/name@v1/%2e%2e': 'problem',
    'org/name@v1..2': 'org/name@v1..2',
    'https://huggingface.co/org/name/tree/main/a..b/c': 'org/name@main:a..b/c',
    '%E0%A4%A': 'problem',
    'javascript:alert(1)': 'problem',
  };
  for (const [text, expected] of Object.entries(forms)) assert.equal(asked(text), expected, text);
  assert.equal(
    asked('https://mirror.example/hf/org/name/tree/main', 'https://mirror.example/hf'),
    'org/name@main',
  );
});

test('every form of an address asks for the same as the program does', () => {
  const table = new URL('../hub/addresses.json', import.meta.url);
  const commit = '0123456789abcdef0123456789abcdef01234567';
  const {models, refused} = JSON.parse(readFileSync(table, 'utf8').replaceAll('{commit}', commit));
  for (const {typed, asked} of models) {
    const model = readModelInput(typed);
    assert.equal(model.kind, 'model', `${typed}: ${model.message}`);
    assert.equal(configAddress('', model), asked, typed);
  }
  for (const {typed, words} of refused) {
    const {kind, message} = readModelInput(typed);
    assert.equal(kind, 'problem', typed);
    for (const word of words) assert.ok(message.includes(word), `${typed}: ${message}`);
  }
});

test('the address of a config.json is escaped', () => {
  assert.equal(
    configAddress('https://h', {id: 'org/name', revision: 'refs/pr/3', folder: 'a b/c', file: 'config.json'}),
    'https://h/org/name/resolve/refs%2Fpr%2F3/a%20b/c/config.json',
  );
});

test('endpoints: https anywhere, http on this machine', () => {
  const cases = {
    'https://huggingface.co/': 'https://huggingface.co',
    'https://m.example/hf/': 'https://m.example/hf',
    'http://127.0.0.1:8080': 'http://127.0.0.1:8080',
    'http://localhost:1/': 'http://localhost:1',
    'http://m.example': null,
    'ftp://m.example': null,
    'https://user:secret@m.example': null,
    'javascript:1': null,
    '': null,
  };
  for (const [text, expected] of Object.entries(cases))
    assert.equal(cleanEndpoint(text), expected, text);
});

test('a link holds the whole state and leaves defaults out', () => {
  assert.equal(toHash(initialState()), '#v=1');
  const state = {
    ...initialState(),
    model: 'org/name@v1',
    gpu: 'custom',
    vram: 11.5,
    capability: '8.6',
  };
  for (const field of kFields) {
    if (field.kind === 'boolean') state[field.key] = !field.initial;
    else if (field.kind === 'integer') state[field.key] = field.initial + 7;
    else state[field.key] = field.values.find((value) => value !== field.initial);
  }
  const {state: again, ignored, newer} = fromHash(toHash(state));
  assert.deepEqual(again, state);
  assert.deepEqual([ignored, newer], [[], false]);
});

test('short keys of the link are unique', () => {
  const keys = ['v', 'm', 'p', 'g', 'gb', 'cc', ...kFields.map(({short}) => short)];
  assert.equal(new Set(keys).size, keys.length);
});

test('a link that is not right is read as far as it goes', () => {
  const {state, ignored, newer} = fromHash('#v=2&m=org/name&b=0&l=1e9&t=magic&c=yes&x=1&cc=eight');
  assert.equal(newer, true);
  assert.deepEqual(ignored.sort(), [
    'compute_capability: cc=eight, expected a number such as 8.6',
    'gradient_checkpointing: c=yes, expected 0 or 1',
    'max_length: l=1e9, expected 1 to 1,048,576',
    'method: t=magic, expected full, lora, qlora',
    'per_device_train_batch_size: b=0, expected 1 to 4,096',
    'x=1',
  ]);
  assert.deepEqual({...state, model: ''}, initialState());
  for (const hash of ['', '#', '#answer', '#v=0', '#v=x', '#m=org/name'])
    assert.equal(fromHash(hash), null, hash);
});

test('a kept config is taken only where it is one', () => {
  const source = {kind: 'text', text: '{"a": 1}', label: 'Pasted config.json'};
  assert.deepEqual(fromKept(toKept(source)), {text: source.text, label: source.label});
  assert.equal(toKept({kind: 'hub', text: '{}', id: 'org/name'}), null);
  assert.equal(toKept({kind: 'none'}), null);
  const long = toKept({...source, text: 'x'.repeat(200_001)});
  assert.deepEqual(fromKept(long), {tooLong: 200_001, most: 200_000});
  assert.ok(long.length < 100);
  assert.equal(fromKept('{"text": "{}", "label": 5}').label, 'Pasted config.json');
  for (const stored of ['{junk', 'null', '5', '"x"', '[]', '{"text":5}', '{"tooLong":"x"}', '{}', ''])
    assert.equal(fromKept(stored), null, stored);
});

test('the setup names what was chosen and leaves the rest to core', () => {
  assert.deepEqual(toSetup(initialState()), {
    schema: 1,
    method: 'lora',
    per_device_train_batch_size: 1,
    max_length: 2048,
    gradient_checkpointing: true,
    use_reentrant: false,
    lora: {r: 16},
    gradient_accumulation_steps: 1,
    use_liger_kernel: false,
    gpu: {name: 'RTX 4090 24GB'},
  });
  const full = toSetup({
    ...initialState(),
    method: 'full',
    gradient_checkpointing: false,
    autocast: 'off',
    gpu: 'custom',
    vram: 11.5,
    capability: '8.6',
  });
  assert.deepEqual([full.lora, full.use_reentrant, full.autocast], [undefined, undefined, null]);
  assert.deepEqual(full.gpu, {name: 'custom', total_bytes: 12348030976, compute_capability: '8.6'});
  assert.deepEqual(
    toSetup({...initialState(), 'lora.target_modules': 'q_proj,v_proj'}).lora.target_modules,
    ['q_proj', 'v_proj'],
  );
});

test('what has the first value of the page is known', () => {
  const start = untouched(initialState());
  assert.ok(start.has('max_length') && start.has('gpu.name') && start.has('lora.r'));
  assert.equal(start.has('optim'), false, 'left to core');
  const keys = untouched({...initialState(), method: 'full', max_length: 512, gpu: 'T4 16GB'});
  assert.deepEqual(
    ['method', 'max_length', 'gpu.name', 'lora.r', 'gradient_checkpointing'].filter((key) =>
      keys.has(key),
    ),
    ['gradient_checkpointing'],
  );
});

test('the place of an error is found in the text', () => {
  const text = '{\n  "a": 1,\n  "b/c": x\n}';
  const at = (where) => {
    const found = rangeIn(text, where);
    return found === null ? null : text.slice(found.start, found.end);
  };
  assert.equal(at('config: line 3, column 10'), 'x');
  assert.equal(at('config:/a'), '"a"');
  assert.equal(at('config:/outer/b~1c'), '"b/c"');
  assert.equal(at('config:/absent'), null);
  assert.equal(at('config'), null);
  assert.equal(at('config: line 99, column 1'), '}');
});

test('numbers as words', () => {
  assert.equal(gib(9854803968), '9.18 GiB');
  assert.equal(gib(0), '0.00 GiB');
  assert.equal(gib(512), '<0.01 GiB');
  assert.equal(gib(-512), '>\u22120.01 GiB');
  assert.equal(gib(-3221225472, 1), '\u22123.0 GiB');
  assert.equal(count(7241732096), '7.24 billion');
  assert.equal(count(999), '999');
  assert.equal(percent(1, 3), '33.3');
  assert.equal(percent(1, 1e6), '<0.1');
  assert.equal(percent(0, 5), '0.0');
});

test('axes have round marks', () => {
  assert.deepEqual(
    axisMarks(12 * 2 ** 30, 6).map(({text}) => text),
    ['0', '2', '4', '6', '8', '10'],
  );
  assert.deepEqual(
    axisMarks(0.9 * 2 ** 30, 4).map(({text}) => text),
    ['0', '0.25', '0.5', '0.75'],
  );
  for (const gigabytes of [0.003, 0.2, 1, 7, 23.5, 79, 141, 3000]) {
    const marks = axisMarks(gigabytes * 2 ** 30, 6).length;
    assert.ok(marks >= 3 && marks <= 9, `${gigabytes}: ${marks}`);
  }
});
