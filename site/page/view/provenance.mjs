// What an answer rests on: each value with the kind of its knowledge, never only a number.
import {h} from '../dom.mjs';

const kKinds = {
  exact: 'read from a file or a device',
  derived: 'follows from the config and the rules of the step',
  measured: 'seen on a real GPU',
  assumed: 'not known here: a default, or a range',
};

export function kindBadge(kind, why = kKinds[kind], text = kind) {
  return h('span', {class: `badge kind-${kind}`, title: why}, text);
}

const kOrder = ['measured', 'exact', 'derived', 'assumed'];

export function showKinds(paragraph, provenance) {
  const used = kOrder.filter((kind) => provenance.some((entry) => entry.kind === kind));
  paragraph.replaceChildren(
    ...used.map((kind) => h('span', {}, kindBadge(kind), ` ${kKinds[kind]}`)),
  );
}

// "/memory/context_bytes" -> "context": the last part, as words.
function valueName(value) {
  return value
    .replace(/^\/?(memory|verdict|setup|model)\//, '')
    .replace(/^num_/, '')
    .replace(/_bytes$/, '')
    .replaceAll('/', ' \u203a ')
    .replaceAll('_', ' ')
    .trim();
}

export function showProvenance(list, provenance) {
  const sorted = [...provenance].sort((a, b) => kOrder.indexOf(a.kind) - kOrder.indexOf(b.kind));
  list.replaceChildren(
    ...sorted.map(({value, kind, sentence}) =>
      h(
        'li',
        {},
        kindBadge(kind),
        h('div', {}, h('span', {class: 'value'}, valueName(value)), ' ', sentence),
      ),
    ),
  );
}

export function showNotes(list, notes) {
  list.replaceChildren(...notes.map((note) => h('li', {}, note)));
}
