// Numbers of the report as words. Nothing here computes with bytes: it only writes them.
import {h} from './dom.mjs';

const kBytesPerGiB = 2 ** 30;
const whole = new Intl.NumberFormat('en-US');

export function integer(value) {
  return whole.format(value);
}

// "9.18": GiB without the unit, for columns that carry it in their head.
export function gibNumber(bytes, digits = 2) {
  const value = bytes / kBytesPerGiB;
  const smallest = 10 ** -digits;
  if (value !== 0 && Math.abs(value) < smallest) return `${value < 0 ? '>\u2212' : '<'}${smallest}`;
  return value.toFixed(digits).replace('-', '\u2212');
}

export function gib(bytes, digits = 2) {
  return `${gibNumber(bytes, digits)} GiB`;
}

export function exactBytes(bytes) {
  return `${integer(bytes)} bytes`;
}

// A number that shows its exact bytes when pointed at, or once all of them do: a touch screen and a
// keyboard have nothing to point with.
export function bytesSpan(bytes, text = gib(bytes), exact = exactBytes(bytes)) {
  return h(
    'span',
    {class: 'bytes', title: exactBytes(bytes)},
    h('span', {class: 'rounded'}, text),
    h('span', {class: 'exact'}, exact),
  );
}

// The same in a column, whose head has the unit.
export function bytesInColumn(bytes) {
  return bytesSpan(bytes, gibNumber(bytes), integer(bytes));
}

export function bytesUnit() {
  return [h('span', {class: 'rounded'}, 'GiB'), h('span', {class: 'exact'}, 'bytes')];
}

export function percent(part, total) {
  if (total <= 0) return '';
  const value = (100 * part) / total;
  return value > 0 && value < 0.1 ? '<0.1' : value.toFixed(1);
}

// 7241732096 -> "7.24 billion"
export function count(value) {
  const scales = [
    [1e12, 'trillion'],
    [1e9, 'billion'],
    [1e6, 'million'],
  ];
  for (const [scale, word] of scales) {
    if (value >= scale) return `${(value / scale).toFixed(2)} ${word}`;
  }
  return integer(value);
}

// How much of `whole` a part is: for drawing and for comparisons of what is drawn.
export function share(part, whole) {
  return whole > 0 ? part / whole : 0;
}

const kRoundSteps = [1, 2, 2.5, 5, 10];

// Marks for an axis from 0 to `end`: about `wanted` multiples of a round step in GiB, with their text.
export function axisMarks(end, wanted) {
  const length = end / kBytesPerGiB;
  const rough = length / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * kRoundSteps.find((candidate) => candidate * power >= rough * 0.999);
  const marks = [];
  for (let index = 0; index * step <= length * 0.985; ++index) {
    const value = Number((index * step).toPrecision(6));
    marks.push({at: value * kBytesPerGiB, text: String(value)});
  }
  return marks;
}
