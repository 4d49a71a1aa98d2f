// The answer as plain text, and the ways it leaves the page: clipboard and file, by a press only.
import {gib} from './format.mjs';
import {labelOf, phaseName} from './view/categories.mjs';
import {leaves, shown} from './view/setup_table.mjs';

// What says which run this was; the report has the rest.
const kTold = [
  'method',
  'gpu.name',
  'gpu.total_bytes',
  'per_device_train_batch_size',
  'max_length',
  'gradient_checkpointing',
  'dtype',
  'autocast',
  'optim',
];

function settings(report, untouched) {
  const {setup, origins = {}} = report;
  const words = leaves(setup, '')
    .filter(
      ([key]) => kTold.includes(key) || (origins[key] === 'given' && !untouched.has(key) && key !== 'schema'),
    )
    .filter(([key]) => key !== 'gpu.total_bytes' || origins[key] === 'given')
    .map(([key, value]) => `${key} ${shown(value)}`);
  return `Settings: ${words.join(', ')}`;
}

// `untouched`: keys of the setup that have the page's own first value.
export function asText(report, name, link, untouched = new Set()) {
  const {memory, verdict} = report;
  const lines = [name, settings(report, untouched), verdict.sentence];
  if (memory) {
    const {low_bytes: low, high_bytes: high} = memory.interval;
    lines.push(
      `Whole process (estimate): ${gib(low)} to ${gib(high)} of ${gib(verdict.usable_bytes)} usable`,
      `Tensors at the peak: ${gib(memory.tensor_peak_bytes)}, in ${phaseName(memory.peak_phase)}, at ${memory.peak_op}`,
    );
    for (const {category, bytes} of memory.at_peak)
      lines.push(`  ${labelOf(category)}: ${gib(bytes)}`);
  }
  for (const note of report.notes) lines.push(`Note: ${note}`);
  lines.push(`Peakline ${report.core_version}, ${new Date().toISOString().slice(0, 10)}`);
  if (link) lines.push(link);
  return lines.join('\n');
}

// False where the browser refuses, as it may in a frame.
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

export function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], {type: 'application/json'}));
  const anchor = document.createElement('a');
  anchor.href = address;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
