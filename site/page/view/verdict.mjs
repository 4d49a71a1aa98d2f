// The verdict in one word, one shape and one sentence, and the handful of numbers behind it.
import {h, svg} from '../dom.mjs';
import {bytesSpan, count, gib, gibNumber, integer} from '../format.mjs';
import {kindBadge} from './provenance.mjs';

const kAnswers = {
  fits: 'Fits',
  too_close: 'Too close to call',
  does_not_fit: 'Does not fit',
  not_modelled: 'Not modelled yet',
};

const kShapes = {
  fits: () => [
    svg('circle', {cx: 20, cy: 20, r: 18, class: 'shape'}),
    svg('path', {d: 'M12 20.5l5.5 5.5L28.5 14.5', class: 'glyph'}),
  ],
  too_close: () => [
    svg('path', {d: 'M20 3.5 38 35.5H2z', class: 'shape'}),
    svg('path', {d: 'M20 15v9.5M20 29.5v.5', class: 'glyph'}),
  ],
  does_not_fit: () => [
    svg('path', {d: 'M12.5 2h15L38 12.5v15L27.5 38h-15L2 27.5v-15z', class: 'shape'}),
    svg('path', {d: 'M13.5 13.5l13 13M26.5 13.5l-13 13', class: 'glyph'}),
  ],
  not_modelled: () => [
    svg('circle', {cx: 20, cy: 20, r: 17, class: 'shape open', 'stroke-dasharray': '6 4'}),
    svg('path', {
      d: 'M14.5 15.5a5.5 5.5 0 1 1 8 5c-1.8 1-2.5 2-2.5 4M20 29.5v.5',
      class: 'glyph on-open',
    }),
  ],
  none: () => [
    svg('path', {d: 'M3 32h7l7-20 6 14 4-6 4 12h6', class: 'line'}),
    svg('path', {d: 'M3 9h34', class: 'line dashed'}),
  ],
};

function icon(answer) {
  return svg(
    'svg',
    {
      class: 'verdict-icon',
      viewBox: '0 0 40 40',
      width: 40,
      height: 40,
      'aria-hidden': 'true',
      focusable: 'false',
    },
    kShapes[answer](),
  );
}

// A headline with nothing computed behind it: waiting for a model, or for the hub.
export function showWaiting(box, headline, sentence) {
  box.dataset.answer = 'none';
  box.replaceChildren(
    icon('none'),
    h('div', {}, h('h2', {}, headline), h('p', {class: 'sentence'}, sentence)),
  );
}

// "Fits: needs ..." below a headline that says "Fits" becomes "Needs ...".
function withoutAnswer(sentence, word) {
  if (!sentence.startsWith(`${word}: `)) return sentence;
  const rest = sentence.slice(word.length + 2);
  return rest.charAt(0).toUpperCase() + rest.slice(1);
}

export function showVerdict(box, report) {
  const {answer, sentence, risk} = report.verdict;
  box.dataset.answer = Object.hasOwn(kAnswers, answer) ? answer : 'none';
  const risky =
    answer === 'fits' && risk ? h('span', {class: `risk risk-${risk}`}, `${risk} risk`) : null;
  box.replaceChildren(
    icon(box.dataset.answer),
    h(
      'div',
      {},
      h('h2', {}, kAnswers[answer] ?? answer, ' ', risky),
      h('p', {class: 'sentence'}, withoutAnswer(sentence, kAnswers[answer])),
    ),
  );
}

// One line for screen readers and for the bar at the foot of small screens.
export function shortVerdict(report) {
  const word = kAnswers[report.verdict.answer] ?? report.verdict.answer;
  const interval = report.memory?.interval;
  if (!interval) return word;
  const {low_bytes: low, high_bytes: high} = interval;
  return `${word}: ${gibNumber(low, 1)} to ${gib(high, 1)} of ${gib(report.verdict.usable_bytes, 1)}`;
}

function fact(term, value, note, {badge = null, absent = false} = {}) {
  return h(
    'div',
    {class: 'fact'},
    h('dt', {}, term, badge ? ' ' : null, badge),
    h(
      'dd',
      {},
      h('span', {class: absent ? 'figure absent' : 'figure'}, value),
      note ? h('span', {class: 'note'}, note) : null,
    ),
  );
}

function range(interval) {
  return h(
    'span',
    {class: 'estimated'},
    bytesSpan(interval.low_bytes, gibNumber(interval.low_bytes, 1)),
    '\u2009\u2013\u2009',
    bytesSpan(interval.high_bytes, gib(interval.high_bytes, 1)),
  );
}

function marginNote(margin) {
  const short = margin < 0;
  return h(
    'span',
    {},
    bytesSpan(margin, gib(margin, 1).replace('\u2212', '')),
    short ? ' short at the high end' : ' to spare at the high end',
  );
}

function memoryFacts({memory, verdict}) {
  return [
    fact('Whole process', range(memory.interval), 'what nvidia-smi would show', {
      badge: kindBadge('assumed', memory.interval.why, 'estimate'),
    }),
    fact(
      'Usable',
      bytesSpan(verdict.usable_bytes, gib(verdict.usable_bytes, 1)),
      marginNote(verdict.margin_bytes),
    ),
    fact('Tensors', bytesSpan(memory.tensor_peak_bytes), 'alive at the same moment'),
    fact('Kept', bytesSpan(memory.static_bytes), 'of these, alive before the first step'),
    ...allocatorFacts(memory),
  ];
}

// Until core simulates the caching allocator, it repeats the tensors for both of its numbers.
function allocatorFacts({
  tensor_peak_bytes: tensors,
  allocated_peak_bytes: allocated,
  reserved_peak_bytes: reserved,
  allocator_saving: saving,
}) {
  if (!reserved || (reserved === tensors && allocated === tensors)) {
    const note = 'allocated and reserved by PyTorch';
    return [fact('Allocator', 'not simulated yet', note, {absent: true})];
  }
  return [
    fact('Allocated', bytesSpan(allocated), 'torch.cuda.max_memory_allocated'),
    fact('Reserved', bytesSpan(reserved), saving?.sentence ?? 'held by the caching allocator'),
  ];
}

const kBeside = {host_ram: 'Host memory', pinned: 'Pinned memory', disk: 'Disk'};

// What a run takes beside the card. A batch is little: pinned memory is told where it was asked for.
function besideFacts({verdict}) {
  return (verdict.limits ?? [])
    .filter(({resource, answer}) => kBeside[resource] && (answer || resource !== 'pinned'))
    .map(({resource, needed_bytes: needed, sentence}) =>
      fact(kBeside[resource], bytesSpan(needed), sentence),
    );
}

// The report counts adapters among the parameters.
function trainedWords(method, all, trainable) {
  if (trainable === all) return 'all trained';
  const adapted = method === 'lora' || method === 'qlora';
  return adapted ? `${count(trainable)} of them in adapters` : `${count(trainable)} trained`;
}

export function showFacts(list, report) {
  const {num_parameters: all, num_trainable_parameters: trainable} = report.model;
  const parameters =
    all > 0
      ? [
          fact(
            'Parameters',
            h('span', {title: integer(all)}, count(all)),
            report.model.alternative?.sentence ??
              (trainable > 0
                ? h('span', {title: integer(trainable)}, trainedWords(report.setup.method, all, trainable))
                : null),
          ),
        ]
      : [];
  const facts = report.memory ? memoryFacts(report) : [];
  list.replaceChildren(
    ...facts.slice(0, 2),
    ...parameters,
    ...facts.slice(2),
    ...besideFacts(report),
  );
}
