// The dataflow graph, left to right: each step with what it does now.
import { h, s, show, text, css } from './dom.js';
import * as f from './format.js';

const WIDTH = 196;
const GAP_X = 56;
const GAP_Y = 14;
const ORDER = ['in', 'out', 'watermark', 'state', 'late', 'rejected'];
const ANSWERS = ['what', 'where', 'when', 'how'];

// The column of a step is the longest way from a source to it.
function columnsOf(steps) {
  const column = new Map();
  for (const step of steps) column.set(step.id, Math.max(-1, ...step.inputs.map((each) => column.get(each) ?? -1)) + 1);
  return column;
}

export function graph(steps, select) {
  const columns = columnsOf(steps);
  const lanes = [];
  for (const step of steps) (lanes[columns.get(step.id)] ??= []).push(step);
  const edges = s('svg', { class: 'edges', 'aria-hidden': 'true' });
  const cards = new Map(steps.map((step) => [step.id, card(step, select)]));
  const body = h('div', { class: 'graph-body' }, edges, lanes.map((lane, at) => h('div', { class: 'lane', style: { left: `${at * (WIDTH + GAP_X)}px`, width: `${WIDTH}px`, gap: `${GAP_Y}px` } }, lane.map((step) => cards.get(step.id).element))));
  const element = h('div', { class: 'graph scroll', tabindex: '0', role: 'group', 'aria-label': 'The steps of the job' }, body);

  function place() {
    const height = Math.max(...lanes.map((lane) => lane.reduce((sum, step) => sum + cards.get(step.id).element.offsetHeight + GAP_Y, -GAP_Y)), 60);
    const width = lanes.length * (WIDTH + GAP_X) - GAP_X;
    body.style.width = `${width}px`;
    body.style.height = `${height}px`;
    edges.setAttribute('width', width);
    edges.setAttribute('height', height);
    show(edges, steps.flatMap((step) => step.inputs.map((input) => edge(cards.get(input)?.element, cards.get(step.id).element))));
  }

  function edge(from, to) {
    if (!from) return null;
    const x1 = from.parentElement.offsetLeft + WIDTH;
    const y1 = from.parentElement.offsetTop + from.offsetTop + from.offsetHeight / 2;
    const x2 = to.parentElement.offsetLeft;
    const y2 = to.parentElement.offsetTop + to.offsetTop + to.offsetHeight / 2;
    const bend = Math.max(24, (x2 - x1) / 2);
    return [s('path', { d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2 - 5} ${y2}`, class: 'edge' }), s('path', { d: `M${x2} ${y2}l-7 -4v8z`, class: 'tip-of' })];
  }

  new ResizeObserver(place).observe(body);
  return {
    element,
    update(progress, rates, slowest, now) {
      const known = new Map((progress.steps ?? []).map((each) => [each.id, each]));
      for (const step of steps) cards.get(step.id).update(known.get(step.id) ?? {}, rates.get(step.name) ?? {}, slowest?.id === step.id ? slowest.why : null, now);
      place();
    },
    select(id) { for (const [name, each] of cards) each.element.setAttribute('aria-pressed', String(name === id)); },
  };
}

function card(step, select) {
  const lines = h('span', { class: 'lines' });
  const badge = h('span', { class: 'badge', hidden: true });
  const element = h('button', { class: 'step', type: 'button', 'aria-pressed': 'false', onclick: () => select(step) },
    h('span', { class: 'kind' }, step.kind.replaceAll('_', ' ')), h('span', { class: 'step-name' }, step.name), lines, badge);
  const rows = new Map();
  const set = (label, value, kind = '') => {
    if (value === null) { rows.get(label)?.element.remove(); rows.delete(label); return; }
    if (!rows.has(label)) { const shown = h('b'); const row = h('span', {}, h('i', {}, label), shown); row.style.order = String(ORDER.indexOf(label)); lines.append(row); rows.set(label, { element: row, shown }); }
    text(rows.get(label).shown, value);
    css(rows.get(label).shown, kind);
  };
  return {
    element,
    update(done, rate, slow, now) {
      set('in', rate.in === undefined ? null : f.rate(rate.in));
      set('out', rate.out === undefined ? null : f.rate(rate.out));
      const mark = done.watermark ? Date.parse(done.watermark) / 1000 : null;
      set('watermark', mark === null || Number.isNaN(mark) ? null : done.watermark.startsWith('9999') ? 'at its end' : done.watermark.startsWith('0001') ? 'waiting' : `${f.duration(now - mark)} behind`);
      set('state', done.watermark || done.state_rows ? `${f.short(done.state_rows)} rows, ${f.bytes(done.state_bytes)}` : null);
      set('late', done.late ? f.number(done.late) : null, 'warned');
      set('rejected', done.rejected ? f.number(done.rejected) : null, 'warned');
      badge.hidden = !slow;
      text(badge, slow ? `slowest: ${slow}` : '');
      element.classList.toggle('slow', Boolean(slow));
    },
  };
}

// What a step does: the four questions first, then what else is known of it.
export function stepDetails(step, physical) {
  const details = [...step.details].sort((a, b) => ANSWERS.indexOf(a.label) - ANSWERS.indexOf(b.label));
  const mine = (physical ?? '').split('\n');
  const stages = [];
  let heading = '';
  for (const line of mine) {
    if (line && !line.startsWith(' ')) heading = line;
    else if (line.includes(`'${step.name}'`)) stages.push(`${heading}: ${line.trim().replaceAll(/ {2,}/g, ' · ')}`);
  }
  return h('div', { class: 'details' },
    h('h3', {}, `${step.kind.replaceAll('_', ' ')} `, h('code', {}, step.name), step.parallelism ? h('span', { class: 'chip inline' }, f.plural(step.parallelism, 'task')) : null),
    h('dl', {}, details.map((each) => [h('dt', {}, ANSWERS.includes(each.label) ? `${each.label}?` : each.label), h('dd', {}, each.text)]),
      h('dt', {}, 'columns'), h('dd', { class: 'mono' }, Object.entries(step.columns).map(([name, type]) => `${name} ${type ?? ''}`.trim()).join(', ')),
      stages.length ? [h('dt', {}, 'runs in'), h('dd', {}, stages.map((each) => h('div', {}, each)))] : null));
}
