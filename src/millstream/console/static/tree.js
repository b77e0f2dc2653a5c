// A value as a tree, if it is JSON; else as text.
import { h } from './dom.js';

const MOST_CHILDREN = 500;

export function tree(value) {
  if (value === null) return h('div', { class: 'tree nil' }, 'null');
  try {
    const parsed = JSON.parse(value);
    if (parsed !== null && typeof parsed === 'object') return h('div', { class: 'tree' }, node(null, parsed, 0));
  } catch { /* it is text */ }
  return h('pre', { class: 'log' }, value);
}

function node(name, value, depth) {
  const label = name === null ? [] : [h('span', { class: 'k' }, name), ': '];
  if (value === null || typeof value !== 'object') {
    const kind = value === null ? 'nil' : typeof value === 'string' ? 'str' : 'num';
    return h('div', { class: 'leaf' }, label, h('span', { class: kind }, typeof value === 'string' ? JSON.stringify(value) : String(value)));
  }
  const entries = Object.entries(value);
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  const details = h('details', { open: depth < 3 }, h('summary', {}, label, h('span', { class: 'nil' }, `${open} ${entries.length} ${close}`)));
  const fill = () => { if (details.open && details.children.length === 1) details.append(...entries.slice(0, MOST_CHILDREN).map(([key, each]) => node(key, each, depth + 1)), ...(entries.length > MOST_CHILDREN ? [h('div', { class: 'leaf nil' }, `… ${entries.length - MOST_CHILDREN} more`)] : [])); };
  details.addEventListener('toggle', fill);
  fill();
  return details;
}
