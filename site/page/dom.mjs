// Elements without markup strings: everything shown goes through text nodes and attributes.

const kSvg = 'http://www.w3.org/2000/svg';

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(
    ...children.flat().filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

export function h(tag, properties, ...children) {
  return fill(document.createElement(tag), properties, children);
}

export function svg(tag, properties, ...children) {
  return fill(document.createElementNS(kSvg, tag), properties, children);
}

export function byId(id) {
  return document.getElementById(id);
}

// Calls `action` once the calls stop coming for `milliseconds`.
export function debounced(milliseconds, action) {
  let timer = 0;
  const run = (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...values), milliseconds);
  };
  run.cancel = () => clearTimeout(timer);
  return run;
}

// Keeps the height of an element in its --own-height, for style sheets.
export function watchHeight(element) {
  new ResizeObserver(() =>
    element.style.setProperty('--own-height', `${element.offsetHeight}px`),
  ).observe(element);
}
