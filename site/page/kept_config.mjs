// A pasted config.json for a reload of its tab. What lies in the storage may be of another version
// of the page, or damaged: nothing is taken from it unchecked.

const kMaxCharacters = 200_000;

// The text to store for a source, null where it needs none. A config that is too long leaves a mark
// of its length, so that a reload can say what became of it.
export function toKept({kind, text, label}) {
  if (kind !== 'text') return null;
  return JSON.stringify(
    text.length <= kMaxCharacters ? {text, label} : {tooLong: text.length, most: kMaxCharacters},
  );
}

// {text, label}, {tooLong, most}, or null where the stored text is neither.
export function fromKept(stored) {
  let found;
  try {
    found = JSON.parse(stored);
  } catch {
    return null;
  }
  if (found === null || typeof found !== 'object') return null;
  const {text, label, tooLong, most} = found;
  if (typeof text === 'string')
    return {text, label: typeof label === 'string' ? label : 'Pasted config.json'};
  return Number.isInteger(tooLong) && Number.isInteger(most) ? {tooLong, most} : null;
}
