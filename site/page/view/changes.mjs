// The cheapest changes that make a run fit, each simulated by core; and streaming, where nothing
// else is left.
import {h} from '../dom.mjs';

const kCosts = {slower: 'slower', quality: 'another training'};

export function showChanges(list, changes, streaming) {
  list.replaceChildren(
    ...changes.map(({sentence, cost}) =>
      h('li', {}, sentence, kCosts[cost] ? ` (${kCosts[cost]})` : ''),
    ),
    ...(streaming ? [h('li', {}, streaming.sentence)] : []),
  );
}
