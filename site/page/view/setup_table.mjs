// Every value of the resolved setup, one row each, with where it comes from.
import {h} from '../dom.mjs';

const kOrigins = {
  given: 'chosen here',
  trainer_default: "the trainer's default",
  card: 'the card',
  derived: 'derived',
};

export function leaves(value, path) {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return [[path, value]];
  return Object.entries(value).flatMap(([key, inner]) =>
    leaves(inner, path === '' ? key : `${path}.${key}`),
  );
}

export function shown(value) {
  if (value === null) return 'none';
  return Array.isArray(value) ? value.join(', ') : String(value);
}

// `untouched`: keys given by the page with the value it starts with.
function origin(key, origins, untouched) {
  return origins[key] === 'given' && untouched.has(key)
    ? 'page default'
    : (kOrigins[origins[key]] ?? '');
}

export function showSetup(box, setup, origins = null, untouched = new Set()) {
  const rows = leaves(setup, '')
    .filter(([key]) => key !== 'schema')
    .map(([key, value]) =>
      h(
        'tr',
        {},
        h('th', {scope: 'row'}, h('code', {}, key)),
        h('td', {}, shown(value)),
        origins && h('td', {class: 'origin'}, origin(key, origins, untouched)),
      ),
    );
  box.replaceChildren(
    h(
      'table',
      {class: 'setup'},
      h('caption', {class: 'sr-only'}, 'Every setting of this run'),
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          h('th', {scope: 'col'}, 'Setting'),
          h('th', {scope: 'col'}, 'Value'),
          origins && h('th', {scope: 'col'}, 'From'),
        ),
      ),
      h('tbody', {}, rows),
    ),
  );
}
