// What each category of memory is called, and how it looks: a colour of its own and a pattern of its
// own, so that the bar reads without colour. Order: what stays put first, what comes and goes last.
import {h, svg} from '../dom.mjs';

export const kCategories = {
  weights_frozen: {label: 'Frozen weights', motif: 'plain'},
  quant: {label: '4-bit weights and statistics', motif: 'dots'},
  weights_trainable: {label: 'Trainable weights', motif: 'rising'},
  buffers: {label: 'Buffers', motif: 'rows'},
  optimizer: {label: 'Optimizer states', motif: 'cross'},
  gradients: {label: 'Gradients', motif: 'falling'},
  other_static: {label: 'Other, kept', motif: 'grid'},
  batch: {label: 'Batch', motif: 'columns'},
  activations: {label: 'Activations', motif: 'wide_rising'},
  recomputed: {label: 'Recomputed activations', motif: 'wide_falling'},
  autocast_weight_casts: {label: 'Weights cast by autocast', motif: 'columns'},
  logits: {label: 'Logits and loss', motif: 'rings'},
  temporaries: {label: 'Temporaries', motif: 'dashes'},
  kernel_temporaries: {label: 'Kernel temporaries', motif: 'fine_grid'},
  context: {label: 'CUDA context', motif: 'rows'},
  workspace: {label: 'Library workspaces', motif: 'fine_dots'},
};

const kOrder = Object.keys(kCategories);

export function labelOf(category) {
  return kCategories[category]?.label ?? category.replaceAll('_', ' ');
}

export function byPlace(a, b) {
  return kOrder.indexOf(a.category) - kOrder.indexOf(b.category);
}

const line = (d, width = 1.4) =>
  svg('path', {d, class: 'motif', 'stroke-width': width, fill: 'none'});
const dot = (cx, cy, r) => svg('circle', {cx, cy, r, class: 'motif-fill'});

// Motif -> [tile size, marks].
const kMotifs = {
  plain: () => [8, []],
  dots: () => [8, [dot(2, 2, 1.3), dot(6, 6, 1.3)]],
  fine_dots: () => [5, [dot(2.5, 2.5, 0.9)]],
  rings: () => [
    9,
    [svg('circle', {cx: 4.5, cy: 4.5, r: 2.4, class: 'motif', 'stroke-width': 1.2, fill: 'none'})],
  ],
  rising: () => [6, [line('M-1 7 7 -1 M-1 1 1 -1 M5 7 7 5')]],
  falling: () => [6, [line('M-1 -1 7 7 M-1 5 1 7 M5 -1 7 1')]],
  wide_rising: () => [10, [line('M-1 11 11 -1', 1.6)]],
  wide_falling: () => [10, [line('M-1 -1 11 11', 1.6)]],
  rows: () => [5, [line('M0 2.5H5', 1.2)]],
  columns: () => [5, [line('M2.5 0V5', 1.2)]],
  cross: () => [7, [line('M-1 -1 8 8 M-1 8 8 -1', 1.1)]],
  grid: () => [7, [line('M3.5 0V7 M0 3.5H7', 1)]],
  fine_grid: () => [4, [line('M2 0V4 M0 2H4', 0.8)]],
  dashes: () => [8, [line('M0 2H4 M4 6H8', 1.5)]],
};

function pattern(category, motif) {
  const [size, marks] = kMotifs[motif]();
  return svg(
    'pattern',
    {
      id: `pattern-${category}`,
      width: size,
      height: size,
      patternUnits: 'userSpaceOnUse',
      class: `category-${category}`,
    },
    svg('rect', {width: size, height: size, class: 'tile'}),
    marks,
  );
}

// The patterns, once for the whole page; every bar and swatch refers to them.
export function patternSheet() {
  const over = svg(
    'pattern',
    {id: 'pattern-uncertain', width: 6, height: 6, patternUnits: 'userSpaceOnUse'},
    svg('path', {d: 'M-1 7 7 -1 M-1 1 1 -1 M5 7 7 5', class: 'uncertain-mark', fill: 'none'}),
  );
  const patterns = Object.entries(kCategories).map(([category, {motif}]) =>
    pattern(category, motif),
  );
  return svg(
    'svg',
    {width: 0, height: 0, class: 'sheet', 'aria-hidden': 'true', focusable: 'false'},
    svg('defs', {}, patterns, over),
  );
}

export function fillOf(category) {
  const known = category === 'uncertain' || Object.hasOwn(kCategories, category);
  return `url(#pattern-${known ? category : 'other_static'})`;
}

export function swatch(category) {
  return svg(
    'svg',
    {
      class: 'swatch',
      width: 18,
      height: 18,
      viewBox: '0 0 18 18',
      'aria-hidden': 'true',
      focusable: 'false',
    },
    svg('rect', {
      x: 0.5,
      y: 0.5,
      width: 17,
      height: 17,
      rx: 2,
      fill: fillOf(category),
      class: `swatch-edge edge-${category}`,
    }),
  );
}

const kPhases = {
  load: 'loading',
  data: 'batch in',
  forward: 'forward',
  loss: 'loss',
  backward: 'backward',
  'backward:loss': 'backward, loss part',
  'backward:layers': 'backward through the layers',
  'backward:recompute': 'backward, recomputing a layer',
  after_backward: 'after backward',
  clip: 'gradient clipping',
  optimizer: 'optimizer step',
  after_step: 'after the step',
  eval: 'evaluation',
  save: 'saving',
};

export function phaseName(phase) {
  return kPhases[phase] ?? phase.replaceAll('_', ' ');
}

export function code(text) {
  return h('code', {}, text);
}
