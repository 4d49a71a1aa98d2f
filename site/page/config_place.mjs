// Where in the text of a config an error points: "config: line 3, column 7" or "config:/hidden_size".

// {start, end} in characters, or null.
export function rangeIn(text, where) {
  const place = /line (\d+), column (\d+)/.exec(where);
  if (place !== null) {
    const lines = text.split('\n').slice(0, Number(place[1]) - 1);
    const end = Math.min(
      text.length,
      lines.reduce((sum, line) => sum + line.length + 1, Number(place[2])),
    );
    return {start: Math.max(0, end - 1), end};
  }
  const key = /\/([^/]+)$/.exec(where);
  if (key === null) return null;
  const quoted = JSON.stringify(key[1].replaceAll('~1', '/').replaceAll('~0', '~'));
  const start = text.indexOf(quoted);
  return start === -1 ? null : {start, end: start + quoted.length};
}
