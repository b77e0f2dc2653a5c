// Elements from data. Text is always text: nothing here parses HTML.

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'style') for (const [key, each] of Object.entries(value)) element.style.setProperty(key, each);
    else if (name === 'value') element.value = value;
    else if (name === 'checked' || name === 'disabled' || name === 'hidden') element[name] = Boolean(value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.flat(3).filter((each) => each !== null && each !== undefined && each !== false));
  return element;
}

export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
export const show = (element, ...children) => { element.replaceChildren(...children.flat(3).filter((each) => each !== null && each !== undefined && each !== false)); return element; };

// A container whose children follow a list: each item keeps its element, so that focus and
// selection survive updates.
export function keyed(container, make) {
  const known = new Map();
  return (items, key) => {
    const wanted = [];
    const seen = new Set();
    for (const item of items) {
      const name = key(item);
      seen.add(name);
      if (!known.has(name)) known.set(name, make(item));
      const made = known.get(name);
      made.update(item);
      wanted.push(made.element);
    }
    for (const [name, made] of known) if (!seen.has(name)) { made.element.remove(); known.delete(name); }
    wanted.forEach((element, at) => { if (container.children[at] !== element) container.insertBefore(element, container.children[at] ?? null); });
  };
}

// Writes only what has changed: screen readers and selections stay calm.
export function text(element, value) { if (element.textContent !== value) element.textContent = value; }
export function css(element, name) { if (element.className !== name) element.className = name; }

export function panel(title, note, ...body) {
  const head = h('header', {}, h('h2', {}, title), note ? (note.nodeType ? note : h('span', { class: 'note' }, note)) : null);
  return h('section', { class: 'panel', 'aria-label': title }, head, ...body);
}

export function empty(title, words, command) {
  return h('div', { class: 'empty' }, h('strong', {}, title), words ? h('span', {}, words) : null, command ? h('pre', {}, command) : null);
}

export function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim(); }
