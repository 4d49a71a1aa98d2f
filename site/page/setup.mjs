// The settings of the page: their keys in core's spelling, short keys for the link, page defaults.
// An empty choice is left out of the setup, so that core's own default decides.

export const kFields = [
  {key: 'method', short: 't', kind: 'choice', values: ['full', 'lora', 'qlora'], initial: 'lora'},
  {key: 'per_device_train_batch_size', short: 'b', kind: 'integer', min: 1, max: 4096, initial: 1},
  {key: 'max_length', short: 'l', kind: 'integer', min: 1, max: 1048576, initial: 2048},
  {key: 'gradient_checkpointing', short: 'c', kind: 'boolean', initial: true},
  {
    key: 'use_reentrant',
    short: 're',
    kind: 'boolean',
    initial: false,
    second: true,
    label: 'Reentrant checkpointing',
    only: (state) => state.gradient_checkpointing,
  },
  {
    key: 'lora.r',
    short: 'r',
    kind: 'integer',
    min: 1,
    max: 4096,
    initial: 16,
    second: true,
    label: 'Adapter rank',
    only: usesAdapters,
  },
  {
    key: 'lora.target_modules',
    short: 'tm',
    kind: 'choice',
    values: ['', 'all-linear', 'q_proj,v_proj', 'q_proj,k_proj,v_proj,o_proj'],
    initial: '',
    second: true,
    label: 'Adapters on',
    only: usesAdapters,
    names: {
      'all-linear': 'every linear layer',
      'q_proj,v_proj': 'q and v',
      'q_proj,k_proj,v_proj,o_proj': 'q, k, v and o',
    },
  },
  {
    key: 'quantization.prepare_model_for_kbit_training',
    short: 'kb',
    kind: 'boolean',
    initial: true,
    second: true,
    label: 'k-bit preparation',
    only: isQuantised,
  },
  {
    key: 'quantization.bnb_4bit_use_double_quant',
    short: 'dq',
    kind: 'boolean',
    initial: true,
    second: true,
    label: 'Double quantisation',
    only: isQuantised,
  },
  {
    key: 'optim',
    short: 'o',
    kind: 'choice',
    values: ['', 'adamw_torch_fused', 'adamw_torch', 'adamw_bnb_8bit', 'sgd'],
    initial: '',
    second: true,
    label: 'Optimizer',
  },
  {
    key: 'dtype',
    short: 'd',
    kind: 'choice',
    values: ['', 'bfloat16', 'float16', 'float32'],
    initial: '',
    second: true,
    label: 'Weights in',
  },
  {
    key: 'autocast',
    short: 'a',
    kind: 'choice',
    values: ['', 'bf16', 'fp16', 'off'],
    initial: '',
    second: true,
    label: 'Autocast',
  },
  {
    key: 'attn_implementation',
    short: 'at',
    kind: 'choice',
    values: ['', 'sdpa', 'eager', 'flash_attention_2'],
    initial: '',
    second: true,
    label: 'Attention',
  },
  {
    key: 'attention_mask',
    short: 'k',
    kind: 'choice',
    values: ['', 'none', 'ones', 'padded'],
    initial: '',
    second: true,
    label: 'Attention mask',
  },
  {
    key: 'gradient_accumulation_steps',
    short: 'ga',
    kind: 'integer',
    min: 1,
    max: 65536,
    initial: 1,
    second: true,
    label: 'Accumulation steps',
  },
  {
    key: 'use_liger_kernel',
    short: 'lg',
    kind: 'boolean',
    initial: false,
    second: true,
    label: 'Liger kernels',
  },
];

export const kCustomGpu = 'custom';

// The whole state that a link carries. `model` is what was typed, `pasted` says that a config was
// given as text, which a link cannot hold.
export function initialState() {
  const state = {model: '', pasted: false, gpu: 'RTX 4090 24GB', vram: 24, capability: '8.0'};
  for (const field of kFields) state[field.key] = field.initial;
  return state;
}

function usesAdapters(state) {
  return state.method === 'lora' || state.method === 'qlora';
}

function isQuantised(state) {
  return state.method === 'qlora';
}

export function applies(field, state) {
  return field.only === undefined || field.only(state);
}

function place(setup, key, value) {
  const names = key.split('.');
  const last = names.pop();
  let target = setup;
  for (const name of names) target = target[name] ??= {};
  target[last] = value;
}

function setupValue(field, value) {
  if (field.key === 'autocast' && value === 'off') return null;
  if (field.key === 'lora.target_modules' && value.includes('_')) return value.split(',');
  return value;
}

// The partial setup of contracts: what the person chose, in core's keys.
export function toSetup(state) {
  const setup = {schema: 1};
  for (const field of kFields) {
    if (!applies(field, state) || state[field.key] === '') continue;
    place(setup, field.key, setupValue(field, state[field.key]));
  }
  setup.gpu = {name: state.gpu};
  if (state.gpu === kCustomGpu) {
    setup.gpu.total_bytes = Math.round(state.vram * 2 ** 30);
    setup.gpu.compute_capability = state.capability;
  }
  return setup;
}

// Keys of the setup that the page gives with its own first value: nobody chose them.
export function untouched(state) {
  const initial = initialState();
  const keys = kFields
    .filter((field) => applies(field, state) && state[field.key] !== '')
    .map(({key}) => key)
    .filter((key) => state[key] === initial[key]);
  return new Set(state.gpu === initial.gpu ? [...keys, 'gpu.name'] : keys);
}

// A value of the resolved setup by its dotted key.
export function valueAt(setup, key) {
  return key.split('.').reduce((value, name) => value?.[name], setup);
}
