// The page of an error code. Its Markdown becomes elements, never HTML.
import { h, show, empty } from './dom.js';
import { get } from './api.js';

export function errorPage(place, code) {
  document.title = `${code} · Millstream`;
  get(`/api/errors/${encodeURIComponent(code)}`).then(
    ({ page }) => show(place, h('article', { class: 'panel prose' }, markdown(page))),
    (error) => show(place, empty('There is no such code', error.message)));
}

export function markdown(source) {
  const blocks = [];
  const lines = source.split('\n');
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at];
    const heading = /^(#{1,4}) (.*)/.exec(line);
    if (line.startsWith('```')) {
      const code = [];
      for (at += 1; at < lines.length && !lines[at].startsWith('```'); at += 1) code.push(lines[at]);
      blocks.push(h('pre', {}, code.join('\n').trimEnd()));
    } else if (heading) blocks.push(h(`h${Math.min(3, heading[1].length)}`, {}, inline(heading[2])));
    else if (line.startsWith('|')) {
      const rows = [];
      for (; at < lines.length && lines[at].startsWith('|'); at += 1) if (!/^\|[\s|:-]+\|$/.test(lines[at])) rows.push(lines[at].slice(1, -1).split('|').map((cell) => cell.trim()));
      at -= 1;
      blocks.push(h('div', { class: 'scroll' }, h('table', {}, h('tbody', {}, rows.map((cells, row) => h('tr', {}, cells.map((cell) => h(row ? 'td' : 'th', {}, inline(cell)))))))));
    } else if (line.startsWith('- ')) {
      const items = [];
      for (; at < lines.length && (lines[at].startsWith('- ') || lines[at].startsWith('  ')); at += 1) if (lines[at].startsWith('- ')) items.push(lines[at].slice(2)); else items[items.length - 1] += ` ${lines[at].trim()}`;
      at -= 1;
      blocks.push(h('ul', {}, items.map((item) => h('li', {}, inline(item)))));
    } else if (line.trim()) {
      const words = [];
      for (; at < lines.length && lines[at].trim() && !/^(#|```|\||- )/.test(lines[at]); at += 1) words.push(lines[at]);
      at -= 1;
      blocks.push(h('p', {}, inline(words.join(' '))));
    }
  }
  return blocks;
}

function inline(words) {
  return words.split(/(`[^`]+`|\[[^\]]+\]\([^)]+\)|\*\*[^*]+\*\*)/).map((part) => {
    if (part.startsWith('`')) return h('code', {}, part.slice(1, -1));
    if (part.startsWith('**')) return h('b', {}, part.slice(2, -2));
    const link = /^\[([^\]]+)\]\(([^)]+)\)$/.exec(part);
    if (!link) return part;
    const code = /(MS\d{3})\.md/.exec(link[2]);
    return code ? h('a', { href: `/errors/${code[1]}`, 'data-link': true }, link[1].replaceAll('`', '')) : link[1].replaceAll('`', '');
  });
}
