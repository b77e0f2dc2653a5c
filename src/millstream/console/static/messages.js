// Browses the messages of a topic: by offset, time or the end, with a filter, or live.
import { h, s, show, text, empty } from './dom.js';
import { get } from './api.js';
import { tree } from './tree.js';
import { problem } from './dialog.js';
import * as f from './format.js';

const MOST_KEPT = 500;
const LIVE_EVERY = 1000;

export function browser(path) {
  const from = h('select', { 'aria-label': 'From', onchange: () => { at.hidden = from.value !== 'offset' && from.value !== 'time'; at.type = from.value === 'time' ? 'datetime-local' : 'text'; at.step = '1'; at.value = ''; if (at.hidden) load(from.value); else at.focus(); } },
    [['end', 'the newest'], ['beginning', 'the oldest'], ['offset', 'an offset'], ['time', 'a time (UTC)']].map(([value, words]) => h('option', { value }, words)));
  const at = h('input', { hidden: true, 'aria-label': 'Offset or time', onchange: () => load(position()) });
  const partition = h('input', { type: 'number', min: '0', placeholder: 'all', class: 'short', 'aria-label': 'Partition', onchange: () => load(position()) });
  const key = h('input', { placeholder: 'exact key', 'aria-label': 'Key', spellcheck: 'false', onchange: () => load(position()) });
  const words = h('input', { type: 'search', placeholder: 'text in the message', 'aria-label': 'Text', onchange: () => load(position()) });
  const live = h('button', { class: 'small', type: 'button', 'aria-pressed': 'false', onclick: () => tail(!timer) }, 'Live tail');
  const older = h('button', { class: 'small', type: 'button', onclick: () => load(back()) }, '← Older');
  const newer = h('button', { class: 'small', type: 'button', onclick: () => load(following) }, 'Newer →');
  const note = h('span', { class: 'note', role: 'status' });
  const bars = h('div');
  const body = h('tbody');
  const table = h('div', { class: 'scroll' }, h('table', { class: 'messages' }, h('thead', {}, h('tr', {}, h('th', {}, 'Time (UTC)'), h('th', { class: 'n' }, 'Partition'), h('th', { class: 'n' }, 'Offset'), h('th', {}, 'Key'), h('th', {}, 'Value'))), body));
  const list = h('div');
  const element = h('section', { class: 'panel', 'aria-label': 'Messages' }, h('header', {}, h('h2', {}, 'Messages'), note, h('span', { class: 'grow' }), h('span', { class: 'tools' }, older, newer, live)),
    h('div', { class: 'body' }, h('div', { class: 'filters' }, h('label', { class: 'field' }, 'From', from), h('label', { class: 'field' }, h('span', { class: 'hide' }, 'Offset or time'), at), h('label', { class: 'field' }, 'Partition', partition), h('label', { class: 'field' }, 'Key', key), h('label', { class: 'field' }, 'Filter', words)), bars), list);
  let timer = null;
  let first = '';
  let following = '';
  let count = 0;
  let asking = null; // the last question: answers to earlier ones are not shown

  function position() {
    if (from.value === 'offset') return at.value.trim() || 'beginning';
    if (from.value === 'time') return at.value ? `${at.value}Z` : 'beginning';
    return from.value;
  }

  const back = () => first.split(',').map((each) => { const [number, offset] = each.split(':'); return `${number}:${Math.max(0, Number(offset) - Math.max(5, Math.ceil(50 / first.split(',').length)))}`; }).join(',');

  async function load(start, keep = false) {
    const query = new URLSearchParams({ from: start, partition: partition.value, key: key.value, text: words.value, count: '50' });
    const mine = asking = {};
    try {
      const found = await get(`${path}/messages?${query}`);
      if (mine !== asking) return;
      if (!keep) first = found.first;
      following = found.next;
      draw(found.messages, keep);
      const part = found.partitions < found.of ? ` · of the first ${f.number(found.partitions)} of ${f.number(found.of)} partitions: choose one to see others` : '';
      text(note, (key.value || words.value ? `${f.plural(count, 'match', 'matches')} in ${f.plural(found.seen, 'message')}` : f.plural(count, 'message')) + part);
    } catch (error) { tail(false); problem(error); }
    if (mine === asking) asking = null;
  }

  // New ones are added on top; those that are open stay open.
  function draw(messages, keep) {
    const made = [...messages].reverse().flatMap((each) => message(path, each));
    if (keep) body.prepend(...made); else body.replaceChildren(...made);
    while (body.children.length > 2 * MOST_KEPT) body.lastChild.remove();
    count = body.children.length / 2;
    const shown = count ? table : empty('No messages here', key.value || words.value ? 'None matches in what was looked at: continue with Newer, or filter less.' : 'Choose another position, or produce one.');
    if (list.firstChild !== table || !count) show(list, shown);
  }

  // Pausing keeps where it was: it resumes there, and nothing is left out.
  function tail(on) {
    clearInterval(timer);
    timer = on ? setInterval(() => { if (!asking && !document.hidden) load(following || 'end', true); }, LIVE_EVERY) : null;
    live.setAttribute('aria-pressed', String(on));
    text(live, on ? 'Pause' : 'Live tail');
    if (on && !asking) load(following || 'end', true);
  }

  async function volume() {
    try {
      const { bars: found, step } = await get(`${path}/volume`);
      show(bars, found.length > 1 ? volumeBar(found, step, (start) => { from.value = 'time'; at.hidden = false; at.type = 'datetime-local'; at.step = '0.001'; at.value = new Date(start).toISOString().slice(0, 23); load(`${at.value}Z`); }) : null);
    } catch { show(bars); }
  }

  load('end');
  volume();
  const again = setInterval(() => { if (!document.hidden) volume(); }, 20000);
  return {
    element,
    close: () => { clearInterval(again); tail(false); },
    newest: () => { from.value = 'end'; at.hidden = true; load('end'); volume(); },
    partitions(number) { partition.max = String(number - 1); },
  };
}

function message(path, each) {
  const place = h('tr', { hidden: true, class: 'opened' });
  const line = h('tr', { class: 'go', tabindex: '0', 'aria-expanded': 'false', onclick: open, onkeydown: (event) => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); open(); } } },
    h('td', { class: 'mono' }, each.timestamp === null ? '–' : f.moment(each.timestamp / 1000, true)), h('td', { class: 'n', 'data-label': 'partition' }, String(each.partition)), h('td', { class: 'n', 'data-label': 'offset' }, f.number(each.offset)), h('td', { class: 'mono cut' }, each.key ?? h('span', { class: 'dim' }, 'null')),
    h('td', { class: 'value' }, each.value === null ? h('span', { class: 'dim' }, 'null') : h('span', { class: 'one' }, each.value.slice(0, 400))));
  function open() {
    place.hidden = !place.hidden;
    line.setAttribute('aria-expanded', String(!place.hidden));
    if (!place.hidden && !place.firstChild) fillIn(each);
  }
  function fillIn(shown) {
    const whole = h('button', { class: 'small', type: 'button', onclick: async () => { try { fillIn(await get(`${path}/message?partition=${each.partition}&offset=${each.offset}`)); } catch (error) { problem(error); } } }, `Show all ${f.bytes(shown.size)}`);
    show(place, h('td', { colspan: '5' }, shown.headers.length ? h('div', { class: 'small' }, h('span', { class: 'muted' }, 'headers '), shown.headers.map(([name, value]) => h('span', { class: 'chip inline' }, `${name}: ${value ?? 'null'}`))) : null,
      shown.encoding === 'base64' ? h('div', { class: 'muted small' }, 'not text, shown in base64') : null, tree(shown.value), shown.cut ? whole : null));
  }
  return [line, place];
}

// One stop of the Tab key: the arrow keys go from bar to bar.
function along(event) {
  const next = { ArrowLeft: 'previousSibling', ArrowRight: 'nextSibling' }[event.key];
  const bar = next && event.target[next];
  if (!bar) return;
  event.target.setAttribute('tabindex', '-1');
  bar.setAttribute('tabindex', '0');
  bar.focus();
  event.preventDefault();
}

function volumeBar(bars, step, seek) {
  const top = Math.max(...bars.map(([, count]) => count), 1);
  const width = 1000 / bars.length;
  return h('div', {}, s('svg', { class: 'volume', viewBox: '0 0 1000 56', preserveAspectRatio: 'none', role: 'group', 'aria-label': 'Messages over time: choose where to read, with the arrow keys and Enter', onkeydown: along }, bars.map(([start, count], at) => {
    const height = count ? Math.max(2, (count / top) * 52) : 0.5;
    return s('g', { tabindex: at === bars.length - 1 ? '0' : '-1', role: 'button', 'aria-label': `${count} messages from ${f.moment(start / 1000)}`, onclick: () => seek(start), onkeydown: (event) => { if (event.key === 'Enter') seek(start); } }, s('title', {}, `${f.plural(count, 'message')} from ${f.moment(start / 1000)}`), s('rect', { x: at * width, y: 0, width, height: 56, style: { opacity: '0' } }), s('rect', { x: at * width + 1, y: 55 - height, width: Math.max(1, width - 2), height, rx: 1 }));
  })), h('div', { class: 'tools dim small' }, h('span', {}, f.moment(bars[0][0] / 1000)), h('span', { class: 'grow' }), h('span', {}, `each bar ${f.duration(step / 1000)}`), h('span', { class: 'grow' }), h('span', {}, f.moment((bars.at(-1)[0] + step) / 1000))));
}
