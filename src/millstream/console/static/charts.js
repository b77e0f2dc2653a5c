// Charts over time, in SVG: lines or stacked areas, with a reading under the pointer.
import { h, s, show } from './dom.js';
import * as f from './format.js';

const LEFT = 52;
const RIGHT = 12;
const TOP = 8;
const BOTTOM = 22;
const MOST_POINTS = 240;

// A chart that is redrawn by update([{ name, points: [[seconds, value], …] }, …], [from, to]).
export function chart(title, { format = f.short, stacked = false, height = 168, note = '' } = {}) {
  const legend = h('span', { class: 'legend' });
  const box = h('div', { class: 'chart' });
  const tip = h('div', { class: 'tip', hidden: true });
  const element = h('section', { class: 'panel', 'aria-label': title }, h('header', {}, h('h2', {}, title), note ? h('span', { class: 'note' }, note) : null, h('span', { class: 'grow' }), legend), h('div', { class: 'body chart-body' }, box, tip));
  let data = [];
  let range = [0, 1];
  let hover = null;

  function draw() {
    const width = Math.max(240, box.clientWidth || 480);
    const shown = data.map((each, at) => ({ ...each, colour: each.colour ?? `var(--s${(at % 6) + 1})`, points: thinned(each.points.filter(([t]) => t >= range[0]), range) }));
    const layers = stacked ? stack(shown) : shown;
    const values = layers.flatMap((each) => each.points.map((point) => point[1])).filter(Number.isFinite);
    if (!values.length) { show(box, h('div', { class: 'chart-empty', style: { height: `${height}px` } }, 'No batches in this time')); show(legend); return; }
    const [low, high, ticks] = scale(Math.min(0, ...values), Math.max(...values));
    const x = (t) => LEFT + ((t - range[0]) / (range[1] - range[0])) * (width - LEFT - RIGHT);
    const y = (v) => TOP + (1 - (v - low) / (high - low || 1)) * (height - TOP - BOTTOM);
    const parts = [];
    for (const tick of ticks) parts.push(s('line', { x1: LEFT, x2: width - RIGHT, y1: y(tick), y2: y(tick), class: 'grid' }), s('text', { x: LEFT - 8, y: y(tick) + 4, class: 'tick end' }, format(tick)));
    for (const t of times(range, width < 420 ? 3 : 5)) parts.push(s('text', { x: x(t), y: height - 5, class: 'tick mid' }, f.clock(t).slice(0, range[1] - range[0] > 600 ? 5 : 8)));
    for (const each of [...layers].reverse()) {
      const line = each.points.map(([t, v], at) => `${at ? 'L' : 'M'}${x(t).toFixed(1)} ${y(v).toFixed(1)}`).join('');
      if (stacked && each.points.length > 1) {
        const under = each.base.map(([t, v]) => `L${x(t).toFixed(1)} ${y(v).toFixed(1)}`).reverse().join('');
        parts.push(s('path', { d: `${line}${under}Z`, fill: each.colour, 'fill-opacity': 0.28 }));
      } else if (layers.length === 1 && each.points.length > 1) {
        const [first, last] = [each.points[0][0], each.points.at(-1)[0]];
        parts.push(s('path', { d: `${line}L${x(last).toFixed(1)} ${y(Math.max(low, 0))}L${x(first).toFixed(1)} ${y(Math.max(low, 0))}Z`, fill: each.colour, 'fill-opacity': 0.1 }));
      }
      parts.push(s('path', { d: line, fill: 'none', stroke: each.colour, 'stroke-width': 1.75, 'stroke-linejoin': 'round', 'stroke-linecap': 'round' }));
      if (each.points.length === 1) parts.push(s('circle', { cx: x(each.points[0][0]), cy: y(each.points[0][1]), r: 2.5, fill: each.colour }));
    }
    if (hover !== null) parts.push(s('line', { x1: hover, x2: hover, y1: TOP, y2: height - BOTTOM, class: 'cross' }));
    show(box, s('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${title}: ${shown.map((each) => `${each.name} ${format(each.points.at(-1)?.[1])}`).join(', ')}` }, parts));
    show(legend, shown.length > 1 ? shown.slice(0, 6).map((each) => h('span', {}, h('i', { style: { background: each.colour } }), each.name)) : [h('span', { class: 'now' }, format(shown[0].points.at(-1)?.[1]))]);
    if (hover !== null) reading(shown, x, width);
  }

  function reading(shown, x, width) {
    const t = range[0] + ((hover - LEFT) / (width - LEFT - RIGHT)) * (range[1] - range[0]);
    const lines = shown.map((each) => [each, nearest(each.points, t)]).filter(([, point]) => point);
    if (!lines.length) { tip.hidden = true; return; }
    show(tip, h('div', { class: 'dim' }, f.clock(lines[0][1][0])), lines.map(([each, [, value]]) => h('div', {}, h('i', { style: { background: each.colour } }), `${each.name} `, h('b', {}, format(value)))));
    tip.hidden = false;
    tip.style.left = `${Math.min(Math.max(8, hover + 12), width - tip.offsetWidth - 4)}px`;
  }

  box.addEventListener('pointermove', (event) => { hover = Math.min(Math.max(event.clientX - box.getBoundingClientRect().left, LEFT), box.clientWidth - RIGHT); draw(); });
  box.addEventListener('pointerleave', () => { hover = null; tip.hidden = true; draw(); });
  new ResizeObserver(() => draw()).observe(box);
  return { element, update(series, between) { data = series; range = between; draw(); } };
}

function nearest(points, t) {
  let best = null;
  for (const point of points) if (best === null || Math.abs(point[0] - t) < Math.abs(best[0] - t)) best = point;
  return best;
}

// At most so many points: of each part of the time, the mean.
function thinned(points, [from, to]) {
  if (points.length <= MOST_POINTS) return points;
  const bins = new Map();
  for (const [t, v] of points) {
    const bin = Math.floor(((t - from) / (to - from)) * MOST_POINTS);
    const known = bins.get(bin) ?? [0, 0, 0];
    bins.set(bin, [known[0] + t, known[1] + v, known[2] + 1]);
  }
  return [...bins.entries()].sort((a, b) => a[0] - b[0]).map(([, [t, v, n]]) => [t / n, v / n]);
}

function stack(series) {
  let base = null;
  return series.map((each) => {
    const below = base ?? each.points.map(([t]) => [t, 0]);
    const points = each.points.map(([t, v], at) => [t, v + (below[at]?.[1] ?? 0)]);
    base = points;
    return { ...each, points, base: below };
  });
}

function scale(low, high) {
  if (high <= low) high = low + 1;
  const step = 10 ** Math.floor(Math.log10((high - low) / 3));
  const nice = [1, 2, 5, 10].map((each) => each * step).find((each) => (high - low) / each <= 4) ?? step * 10;
  const top = Math.ceil(high / nice) * nice;
  const bottom = Math.floor(low / nice) * nice;
  const ticks = [];
  for (let at = bottom; at <= top + nice / 2; at += nice) ticks.push(Number(at.toPrecision(12)));
  return [bottom, top, ticks];
}

function times([from, to], count) {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400];
  const step = steps.find((each) => (to - from) / each <= count) ?? 86400;
  const found = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) if ((at - from) / (to - from) > 0.03 && (at - from) / (to - from) < 0.97) found.push(at);
  return found;
}
