// The live picture: event time across, processing time up, the watermark as it moves.
import { h, show, text, colour } from './dom.js';
import * as f from './format.js';
import { drawPanel, hitIn } from './picture_paint.js';

const MOST_PANELS = 4;
const PANEL = 214;
const ONE = 420;
const FOOT = 26;
const LEFT = 62;
const RIGHT = 14;
const SPEED = 6;

export function picture(story) {
  const canvas = h('canvas', { tabindex: '0', role: 'img', 'aria-label': 'The live picture: event time across, processing time up. Arrow keys move it, plus and minus zoom, space pauses.' });
  const tip = h('div', { class: 'tip', hidden: true });
  const step = h('select', { 'aria-label': 'Step', onchange: () => draw() });
  const key = h('select', { 'aria-label': 'Key', onchange: () => draw() });
  const pause = h('button', { class: 'small', type: 'button', onclick: () => setLive(!live) }, 'Pause');
  const again = h('button', { class: 'small', type: 'button', onclick: () => replay() }, 'Replay');
  const slider = h('input', { type: 'range', class: 'replay', min: '0', max: '1000', value: '1000', 'aria-label': 'Moment', oninput: () => seek(Number(slider.value) / 1000) });
  const shownAt = h('span', { class: 'mono' });
  const nothing = h('div', { class: 'empty', hidden: true }, h('strong', {}, 'No panes yet'), h('span', {}, 'They appear here as soon as a step with windows emits some.'));
  const legend = h('div', { class: 'picture-foot' },
    swatch('early', 'early, by the clock'), swatch('on-time', 'on time, by the watermark'), swatch('late', 'late, a correction'),
    swatch('mark', 'watermark', 'line'), swatch('strike', 'late row, dropped', 'dot'), h('span', { class: 'swatch' }, h('s', {}, '12'), 'taken back'), h('span', { class: 'grow' }), h('span', { class: 'wide dim' }, 'drag to move · click, then wheel to zoom · double-click for live'));
  const element = h('section', { class: 'panel picture', 'aria-label': 'Live picture' },
    h('header', {}, h('h2', {}, 'Live picture'), h('span', { class: 'note wide' }, 'event time across, processing time up, UTC'), h('span', { class: 'grow' }), h('span', { class: 'tools' }, step, key, zoomer('Zoom in', '+', 1 / 1.4), zoomer('Zoom out', '−', 1.4), pause, again)),
    canvas, tip, nothing, h('div', { class: 'picture-foot' }, slider, shownAt), legend);

  let live = true;
  let span = 60; // seconds of processing time
  let wide = 1.1; // seconds of event time for each of them
  let middle = 0; // of event time, when it does not follow
  let until = Date.now() / 1000; // the newest processing time that is drawn
  let skew = 0;
  let seen = Infinity; // a replay shows only what had happened by then
  let playing = null;
  let hover = null;

  const across = () => span * wide;
  const nowThere = () => Date.now() / 1000 + skew;

  function setLive(on) {
    live = on;
    seen = Infinity;
    playing = null;
    if (on) slider.value = '1000';
    text(pause, on ? 'Pause' : 'Live');
    draw();
  }

  function seek(share) {
    const range = story.range(step.value);
    if (!range) return;
    live = false;
    text(pause, 'Live');
    seen = until = range[0] + share * (range[1] - range[0]);
    middle = centre();
    draw();
  }

  function replay() {
    const range = story.range(step.value);
    if (!range) return;
    live = false;
    text(pause, 'Live');
    playing = { from: Math.max(range[0], range[1] - 180), to: range[1], began: performance.now() };
    requestAnimationFrame(frame);
  }

  function frame(at) {
    if (!playing || !element.isConnected) return;
    seen = until = playing.from + ((at - playing.began) / 1000) * SPEED;
    const range = story.range(step.value);
    if (range) slider.value = String(Math.round(((seen - range[0]) / (range[1] - range[0] || 1)) * 1000));
    if (seen >= playing.to) { setLive(true); return; }
    middle = centre();
    draw();
    requestAnimationFrame(frame);
  }

  // Where event time is at the newest moment: the watermark, or the clock.
  function centre() {
    const marks = story.marks.get(step.value) ?? [];
    for (let at = marks.length - 1; at >= 0; at -= 1) if (marks[at][0] <= until) return marks[at][1] - across() * 0.36;
    const firing = story.firings.findLast?.((each) => each.step === step.value && each.end !== null);
    return firing ? firing.end - across() * 0.36 : until - span / 2;
  }

  function choose() {
    options(step, [...story.steps].sort().map((each) => [each, each]));
    const most = story.topKeys(50);
    options(key, [['', most.length > MOST_PANELS ? `${MOST_PANELS} of ${f.number(story.keys.size)} keys` : 'all keys'], ...most.map((each) => [`=${each}`, each])]);
    step.hidden = story.steps.size < 2;
    key.hidden = most.length < 2;
  }

  function draw() {
    choose();
    const there = story.firings.length > 0 || story.late.length > 0;
    nothing.hidden = there;
    canvas.hidden = legend.hidden = slider.parentElement.hidden = !there;
    if (!there) return;
    if (live) { until = nowThere(); middle = centre(); }
    text(shownAt, live ? 'now' : f.clock(until));
    const keys = key.value ? [key.value.slice(1)] : story.topKeys(MOST_PANELS);
    const height = keys.length === 1 ? ONE : PANEL;
    const width = element.clientWidth - 2;
    const ratio = devicePixelRatio || 1;
    const total = keys.length * height + FOOT;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(total * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(total * ratio);
      canvas.style.height = `${total}px`;
    }
    const pen = canvas.getContext('2d');
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, total);
    const scene = scenery(width, height, keys);
    scene.panels.forEach((panel, at) => drawPanel(pen, scene, panel, at === scene.panels.length - 1));
    pointed(scene);
  }

  function scenery(width, height, keys) {
    const low = middle - across() / 2;
    return {
      story, step: step.value, seen, from: low, to: low + across(), bottom: until - span, top: until + span * 0.07,
      colours: Object.fromEntries(['early', 'on-time', 'late', 'early-ink', 'on-time-ink', 'late-ink', 'mark', 'strike', 'text', 'muted', 'faint', 'line', 'line-strong', 'panel', 'sunk'].map((name) => [name, colour(name)])),
      panels: keys.map((each, at) => ({ key: each, left: LEFT, right: width - RIGHT, top: at * height + 8, bottom: (at + 1) * height - 8 })),
    };
  }

  function pointed(scene) {
    const found = hover === null ? null : hitIn(scene, hover.x, hover.y);
    tip.hidden = !found;
    if (!found) return;
    show(tip, found.lines.map(([label, value, mark]) => h('div', {}, h('span', { class: 'dim' }, `${label} `), h('b', { class: mark ?? '' }, value))));
    tip.style.left = `${Math.min(hover.x + 14, element.clientWidth - tip.offsetWidth - 8)}px`;
    tip.style.top = `${canvas.offsetTop + Math.max(4, hover.y - tip.offsetHeight - 10)}px`;
  }

  function zoomer(name, sign, by) { return h('button', { class: 'small', type: 'button', 'aria-label': name, title: name, onclick: () => zoom(by) }, sign); }
  function zoom(by) { span = Math.min(86400, Math.max(4, span * by)); draw(); }
  function hold() { if (live) { live = false; text(pause, 'Live'); } playing = null; }
  function move(across, up) { hold(); middle += across; until += up; draw(); }

  let drag = null;
  canvas.addEventListener('pointerdown', (event) => { drag = { x: event.clientX, y: event.clientY }; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener('pointerup', () => { drag = null; });
  canvas.addEventListener('pointermove', (event) => {
    const box = canvas.getBoundingClientRect();
    hover = { x: event.clientX - box.left, y: event.clientY - box.top };
    if (drag) {
      const panel = (canvas.clientHeight - FOOT) / (key.value ? 1 : Math.max(1, story.topKeys(MOST_PANELS).length));
      move(-((event.clientX - drag.x) / (box.width - LEFT - RIGHT)) * across(), ((event.clientY - drag.y) / panel) * span);
      drag = { x: event.clientX, y: event.clientY };
    } else draw();
  });
  canvas.addEventListener('pointerleave', () => { hover = null; tip.hidden = true; });
  canvas.addEventListener('wheel', (event) => {
    // A page that is scrolled past the picture must not stop at it.
    if (document.activeElement !== canvas && !event.ctrlKey) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15);
  }, { passive: false });
  canvas.addEventListener('dblclick', () => setLive(true));
  canvas.addEventListener('keydown', (event) => {
    const [aside, up] = [across() / 8, span / 8];
    const moves = { ArrowLeft: [-aside, 0], ArrowRight: [aside, 0], ArrowUp: [0, up], ArrowDown: [0, -up] };
    if (moves[event.key]) move(...moves[event.key]);
    else if (event.key === '+' || event.key === '=') zoom(1 / 1.3);
    else if (event.key === '-') zoom(1.3);
    else if (event.key === ' ') setLive(!live);
    else if (event.key === 'Home') setLive(true);
    else return;
    event.preventDefault();
  });
  new ResizeObserver(() => draw()).observe(element);
  document.addEventListener('millstream:theme', () => { if (element.isConnected) draw(); });
  const timer = setInterval(() => { if (live && element.isConnected && element.offsetParent) draw(); }, 250);

  return {
    element,
    close: () => { clearInterval(timer); playing = null; },
    // A job that has ended is shown as it was at its end.
    update(now, ended) { skew = ended ? ended - Date.now() / 1000 : now - Date.now() / 1000; draw(); },
    // Six windows upwards, but no more than ten minutes; at least three windows across.
    fit() {
      const pane = story.firings.at(-1);
      const size = pane && pane.start !== null && pane.end !== null ? pane.end - pane.start : 10;
      span = Math.min(600, Math.max(30, size * 6));
      wide = Math.max(1.1, (size * 3) / span);
      draw();
    },
  };
}

function swatch(name, words, kind = '') {
  return h('span', { class: 'swatch' }, h('i', { class: kind, style: { 'border-color': `var(--${name})`, background: kind ? 'none' : `color-mix(in srgb, var(--${name}) 18%, transparent)` } }), words);
}

function options(select, wanted) {
  const now = [...select.options].map((each) => `${each.value}\n${each.text}`).join('\t');
  if (now === wanted.map((each) => each.join('\n')).join('\t')) return;
  const before = select.value;
  show(select, wanted.map(([value, words]) => h('option', { value }, words)));
  if (wanted.some(([value]) => value === before)) select.value = before;
}
