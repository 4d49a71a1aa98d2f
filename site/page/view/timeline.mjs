// Live tensor bytes over the events of a step: the silhouette whose highest point is the peak. The
// horizontal axis counts allocations and frees, not time. The table twin is filled when it is opened.
import {h, svg} from '../dom.mjs';
import {axisMarks, bytesInColumn, bytesUnit, gib, integer, share} from '../format.mjs';
import {phaseName} from './categories.mjs';

const kHeight = 230;
const kPlot = {top: 26, bottom: 196, left: 34};
const kRoomAbove = 1.08;
const kNear = 1.6; // usable memory is drawn up to this many times the peak
const kLabelPixels = 6.6; // about one character of a phase's name

function highest(points) {
  return points.reduce((best, point) => (point.tensor_bytes > best.tensor_bytes ? point : best));
}

// Runs of neighbouring points of one phase.
function bands(points) {
  const runs = [];
  for (const point of points) {
    const last = runs.at(-1);
    if (last?.phase === point.phase) last.to = point.t;
    else {
      if (last) last.to = point.t;
      runs.push({phase: point.phase, from: point.t, to: point.t});
    }
  }
  return runs;
}

function scales(points, width, end) {
  const first = points[0].t;
  const span = Math.max(1, points.at(-1).t - first);
  return {
    x: (t) => kPlot.left + ((t - first) / span) * (width - kPlot.left - 1),
    y: (bytes) => kPlot.bottom - share(bytes, end) * (kPlot.bottom - kPlot.top),
  };
}

function phaseBands(points, {x}) {
  return bands(points).map(({phase, from, to}, index) => {
    const [left, width, name] = [x(from), x(to) - x(from), phaseName(phase)];
    return svg(
      'g',
      {class: index % 2 === 0 ? 'band' : 'band odd'},
      svg(
        'rect',
        {x: left, y: kPlot.top, width: Math.max(0, width), height: kPlot.bottom - kPlot.top},
        svg('title', {}, name),
      ),
      name.length * kLabelPixels < width
        ? svg('text', {x: left + width / 2, y: kPlot.bottom + 18, 'text-anchor': 'middle'}, name)
        : null,
    );
  });
}

// Memory stays at a level until the next event, so the silhouette is made of steps.
function silhouette(points, {x, y}) {
  let line = `M${x(points[0].t).toFixed(1)} ${y(points[0].tensor_bytes).toFixed(1)}`;
  for (const {t, tensor_bytes: bytes} of points.slice(1))
    line += `H${x(t).toFixed(1)}V${y(bytes).toFixed(1)}`;
  const close = `V${kPlot.bottom}H${x(points[0].t).toFixed(1)}Z`;
  return [svg('path', {d: line + close, class: 'area'}), svg('path', {d: line, class: 'outline'})];
}

function peakMark(point, {x, y}, width) {
  const [at, height] = [x(point.t), y(point.tensor_bytes)];
  const end = at > width / 2;
  return svg(
    'g',
    {class: 'peak-mark'},
    svg('path', {d: `M${at} ${kPlot.bottom}V${height}`}),
    svg('circle', {cx: at, cy: height, r: 4}),
    svg(
      'text',
      {x: at + (end ? -8 : 8), y: Math.max(14, height - 8), 'text-anchor': end ? 'end' : 'start'},
      `peak ${gib(point.tensor_bytes)}`,
    ),
  );
}

function usableLine(usable, end, {y}, width) {
  if (usable > end) return null;
  return svg(
    'g',
    {class: 'capacity'},
    svg('path', {d: `M${kPlot.left} ${y(usable)}H${width}`}),
    svg('text', {x: kPlot.left + 4, y: y(usable) - 5}, `usable ${gib(usable, 1)}`),
  );
}

function levels(end, {y}, width) {
  return axisMarks(end, 4).map(({at, text}) =>
    svg(
      'g',
      {class: 'tick'},
      svg('path', {d: `M${kPlot.left} ${y(at)}H${width}`, class: 'level'}),
      svg('text', {x: kPlot.left - 6, y: y(at) + 4, 'text-anchor': 'end'}, text),
    ),
  );
}

// Follows the pointer: what lives at the moment below it.
function readout(drawing, points, {x, y}) {
  const mark = svg(
    'g',
    {class: 'readout', visibility: 'hidden'},
    svg('path', {}),
    svg('circle', {r: 3.5}),
  );
  const words = h('figcaption', {class: 'timeline-words', 'aria-hidden': 'true'}, '\u00a0');
  const clear = () => {
    mark.setAttribute('visibility', 'hidden');
    words.textContent = '\u00a0';
  };
  drawing.append(mark);
  drawing.addEventListener('pointerleave', clear);
  drawing.addEventListener('pointermove', (event) => {
    const box = drawing.getBoundingClientRect();
    const at = event.clientX - box.left;
    const point = points.findLast(({t}) => x(t) <= at) ?? points[0];
    mark.setAttribute('visibility', 'visible');
    mark.firstChild.setAttribute('d', `M${x(point.t)} ${kPlot.top}V${kPlot.bottom}`);
    mark.lastChild.setAttribute('cx', x(point.t));
    mark.lastChild.setAttribute('cy', y(point.tensor_bytes));
    words.replaceChildren(
      `event ${integer(point.t)}, ${phaseName(point.phase)}: `,
      h('strong', {}, gib(point.tensor_bytes)),
    );
  });
  return words;
}

export function showTimeline(figure, report) {
  const points = report.memory.timeline;
  if (points.length < 2) {
    figure.replaceChildren();
    return;
  }
  const width = Math.max(240, figure.clientWidth);
  const peak = highest(points);
  const usable = report.verdict.usable_bytes;
  // The usable line is worth its room only where the peak comes near it.
  const near = share(usable, peak.tensor_bytes) < kNear;
  const end = (near ? Math.max(usable, peak.tensor_bytes) : peak.tensor_bytes) * kRoomAbove;
  const scale = scales(points, width, end);
  const label =
    `Live tensor memory over ${integer(points.at(-1).t - points[0].t)} allocations and frees; the ` +
    `peak, ${gib(peak.tensor_bytes)}, is in ${phaseName(peak.phase)}. The tables below hold the same.`;
  const drawing = svg(
    'svg',
    {role: 'img', 'aria-label': label, viewBox: `0 0 ${width} ${kHeight}`, width, height: kHeight},
    phaseBands(points, scale),
    levels(end, scale, width),
    silhouette(points, scale),
    usableLine(usable, end, scale, width),
    peakMark(peak, scale, width),
    svg('text', {class: 'axis-name', x: 0, y: 12}, 'GiB'),
    svg(
      'text',
      {class: 'axis-name', x: width, y: kHeight - 4, 'text-anchor': 'end'},
      'allocations and frees, in order',
    ),
  );
  figure.replaceChildren(drawing, readout(drawing, points, scale));
}

export function showTimelineTable(box, report) {
  const rows = report.memory.timeline.map(({t, tensor_bytes: bytes, phase}) =>
    h(
      'tr',
      {},
      h('td', {class: 'number'}, integer(t)),
      h('td', {}, phaseName(phase)),
      h('td', {class: 'number'}, bytesInColumn(bytes)),
    ),
  );
  box.replaceChildren(
    h(
      'table',
      {},
      h('caption', {class: 'sr-only'}, 'Live tensor memory, event by event'),
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          h('th', {scope: 'col', class: 'number'}, 'event'),
          h('th', {scope: 'col'}, 'Phase'),
          h('th', {scope: 'col', class: 'number'}, bytesUnit()),
        ),
      ),
      h('tbody', {}, rows),
    ),
  );
}
