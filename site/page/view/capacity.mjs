// One bar for everything alive at the peak, drawn against the memory a run may use, with the interval
// of the whole process above it. The table beside it says the same in numbers.
import {h, svg} from '../dom.mjs';
import {axisMarks, exactBytes, gib, share} from '../format.mjs';
import {byPlace, fillOf, labelOf, swatch} from './categories.mjs';

const kHeight = 118;
const kRoomAtTheEnd = 1.04;
const kBar = {top: 46, height: 40};

function segments(report) {
  const {memory} = report;
  const tensors = [...memory.at_peak].sort(byPlace);
  return [
    ...tensors,
    {category: 'context', bytes: memory.context_bytes},
    {category: 'workspace', bytes: memory.workspace_bytes},
  ].filter(({bytes}) => bytes > 0);
}

function bar(parts, x) {
  const drawn = [];
  let from = 0;
  for (const {category, bytes} of parts) {
    const to = from + x(bytes);
    // A hair of space between neighbours, unless the segment is thinner than that.
    const width = Math.max(to - from - 1, 0.6);
    drawn.push(
      svg(
        'rect',
        {
          x: from,
          y: kBar.top,
          width,
          height: kBar.height,
          fill: fillOf(category),
          class: 'segment',
        },
        svg('title', {}, `${labelOf(category)}: ${gib(bytes)} (${exactBytes(bytes)})`),
      ),
    );
    from = to;
  }
  return drawn;
}

function axis(end, x, width) {
  const y = kBar.top + kBar.height;
  return axisMarks(end, Math.max(3, Math.floor(width / 90))).map(({at, text}) =>
    svg(
      'g',
      {class: 'tick', transform: `translate(${x(at).toFixed(1)} 0)`},
      svg('path', {d: `M0 ${y + 4}v5`}),
      svg(
        'text',
        {x: 0, y: y + 23, 'text-anchor': at === 0 ? 'start' : 'middle'},
        at === 0 ? '0 GiB' : text,
      ),
    ),
  );
}

function capacityLine(usable, x, width) {
  const at = x(usable);
  const anchor = at > width - 90 ? 'end' : 'middle';
  return svg(
    'g',
    {class: 'capacity'},
    svg('rect', {
      x: at,
      y: kBar.top,
      width: Math.max(0, width - at),
      height: kBar.height,
      class: 'beyond',
    }),
    svg('path', {d: `M${at} 22V${kBar.top + kBar.height + 8}`}),
    svg(
      'text',
      {x: anchor === 'end' ? Math.min(at + 4, width) : at, y: 15, 'text-anchor': anchor},
      `usable ${gib(usable, 1)}`,
    ),
  );
}

function intervalBracket({low_bytes: low, high_bytes: high}, x) {
  const [from, to, y] = [x(low), x(high), kBar.top - 9];
  return svg(
    'g',
    {class: 'interval'},
    svg('rect', {
      x: from,
      y: kBar.top - 3,
      width: Math.max(to - from, 1),
      height: kBar.height + 6,
      class: 'interval-area',
    }),
    svg('path', {d: `M${from} ${y - 4}v8M${from} ${y}H${to}M${to} ${y - 4}v8`}),
    svg('title', {}, `Whole process: ${gib(low)} to ${gib(high)}`),
  );
}

function description({memory, verdict}) {
  const parts = segments({memory}).map(({category, bytes}) => `${labelOf(category)} ${gib(bytes)}`);
  const {low_bytes: low, high_bytes: high} = memory.interval;
  return (
    `Bar of what is alive at the peak: ${parts.join(', ')}. The whole process needs ` +
    `${gib(low)} to ${gib(high)}; ${gib(verdict.usable_bytes)} are usable.`
  );
}

export function showCapacity(figure, report) {
  const width = Math.max(240, figure.clientWidth);
  const {memory, verdict} = report;
  const largest = Math.max(verdict.usable_bytes, memory.interval.high_bytes);
  const end = largest * kRoomAtTheEnd;
  const x = (bytes) => share(bytes, end) * width;
  figure.replaceChildren(
    svg(
      'svg',
      {
        role: 'img',
        'aria-label': description(report),
        viewBox: `0 0 ${width} ${kHeight}`,
        width,
        height: kHeight,
      },
      svg('rect', {x: 0, y: kBar.top, width, height: kBar.height, class: 'room'}),
      bar(segments(report), x),
      intervalBracket(memory.interval, x),
      capacityLine(verdict.usable_bytes, x, width),
      axis(end, x, width),
    ),
    h(
      'figcaption',
      {class: 'legend'},
      h(
        'span',
        {},
        swatch('context'),
        `context and workspaces ${gib(memory.context_bytes)} + ${gib(memory.workspace_bytes)}`,
      ),
      h('span', {}, swatch('uncertain'), 'the estimate, low end to high end'),
    ),
  );
}
