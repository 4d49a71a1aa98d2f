// The bar in numbers: each category with its share, and its largest tensors behind a button.
import {h} from '../dom.mjs';
import {bytesInColumn, bytesUnit, integer, percent, share} from '../format.mjs';
import {code, labelOf, phaseName, swatch} from './categories.mjs';

const kSmallShare = 0.001;
const kFewestFolded = 3;

let smallShown = false;
const opened = new Set(); // categories a person has opened; stays through recomputation

function cell(bytes) {
  return h('td', {class: 'number'}, bytesInColumn(bytes));
}

function tensorRow({name, shape, dtype, bytes, count, rule}, total, category) {
  const times = count > 1 ? ` \u00d7 ${integer(count)}` : '';
  const size = `${shape.map(integer).join(' \u00d7 ') || 'scalar'}, ${dtype}${times}`;
  return h(
    'tr',
    {class: 'tensor', 'data-of': category, hidden: !opened.has(category)},
    h(
      'td',
      {},
      h('span', {class: 'tensor-name'}, name),
      h('span', {class: 'tensor-size'}, size, rule ? h('span', {class: 'rule'}, rule) : null),
    ),
    cell(bytes),
    h('td', {class: 'number share'}, percent(bytes, total)),
  );
}

function toggle(button, category) {
  const open = !opened.has(category);
  if (open) opened.add(category);
  else opened.delete(category);
  button.setAttribute('aria-expanded', String(open));
  for (const row of button.closest('table').querySelectorAll(`tr[data-of="${category}"]`))
    row.hidden = !open;
}

function categoryRow({category, bytes, tensors}, total) {
  const name = [swatch(category), h('span', {}, labelOf(category))];
  const head =
    tensors.length === 0
      ? h('span', {class: 'category-name'}, name)
      : h(
          'button',
          {
            type: 'button',
            class: 'category-name',
            'aria-expanded': String(opened.has(category)),
            onclick: (event) => toggle(event.currentTarget, category),
          },
          name,
        );
  return h(
    'tr',
    {class: 'category'},
    h('th', {scope: 'row'}, head),
    cell(bytes),
    h('td', {class: 'number share'}, percent(bytes, total)),
  );
}

// What is too small to matter stands behind one button.
function foldedRows(entries, rowsOf) {
  const body = h('tbody', {id: 'small-categories', hidden: !smallShown}, entries.flatMap(rowsOf));
  const button = h(
    'button',
    {
      type: 'button',
      class: 'category-name fold',
      'aria-expanded': String(smallShown),
      'aria-controls': body.id,
      onclick: () => {
        smallShown = !smallShown;
        body.hidden = !smallShown;
        button.setAttribute('aria-expanded', String(smallShown));
      },
    },
    h('span', {}, `${entries.length} smaller ones, each below 0.1 %`),
  );
  const head = h('tr', {class: 'category'}, h('th', {scope: 'row', colspan: 3}, button));
  return [h('tbody', {}, head), body];
}

export function showPeakTable(box, memory) {
  const total = memory.tensor_peak_bytes;
  const entries = memory.at_peak.filter(({bytes}) => bytes > 0);
  const small = entries.filter(({bytes}) => share(bytes, total) < kSmallShare);
  const folded = small.length >= kFewestFolded ? small : [];
  const rowsOf = (entry) => [
    categoryRow(entry, total),
    ...entry.tensors.map((tensor) => tensorRow(tensor, total, entry.category)),
  ];
  box.replaceChildren(
    h(
      'table',
      {class: 'peak'},
      h('caption', {class: 'sr-only'}, 'What is alive at the peak, by category'),
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          h('th', {scope: 'col'}, 'Category, largest tensors'),
          h('th', {scope: 'col', class: 'number'}, bytesUnit()),
          h('th', {scope: 'col', class: 'number share'}, '%'),
        ),
      ),
      h('tbody', {}, entries.filter((entry) => !folded.includes(entry)).flatMap(rowsOf)),
      folded.length > 0 ? foldedRows(folded, rowsOf) : null,
      h(
        'tfoot',
        {},
        h(
          'tr',
          {},
          h('th', {scope: 'row'}, 'All tensors'),
          cell(total),
          h('td', {class: 'number share'}, '100'),
        ),
      ),
    ),
  );
}

export function showMoment(paragraph, memory) {
  paragraph.replaceChildren(
    'The peak is reached in ',
    h('strong', {}, phaseName(memory.peak_phase)),
    ', when ',
    code(memory.peak_op),
    ' allocates its result.',
  );
}

export function showPhaseTable(box, memory) {
  const peak = memory.tensor_peak_bytes;
  const rows = memory.phases.map(({name, tensor_peak_bytes: most, end_bytes: end}) =>
    h(
      'tr',
      {class: most === peak ? 'highest' : null},
      h(
        'th',
        {scope: 'row'},
        phaseName(name),
        most === peak ? h('span', {class: 'mark'}, 'peak') : null,
      ),
      cell(most),
      cell(end),
    ),
  );
  box.replaceChildren(
    h(
      'table',
      {},
      h('caption', {class: 'sr-only'}, 'Tensor memory by phase of the step'),
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          h('th', {scope: 'col'}, 'Phase'),
          h('th', {scope: 'col', class: 'number'}, 'highest, ', bytesUnit()),
          h('th', {scope: 'col', class: 'number'}, 'at its end, ', bytesUnit()),
        ),
      ),
      h('tbody', {}, rows),
    ),
  );
}
