// The cheapest changes that make a run fit, each simulated by core.
import {h} from '../dom.mjs';

const kCosts = {slower: 'slower', quality: 'another training'};

export function showChanges(list, changes) {
  list.replaceChildren(
    ...changes.map(({sentence, cost}) =>
      h('li', {}, sentence, kCosts[cost] ? ` (${kCosts[cost]})` : ''),
    ),
  );
}
