// Paints one panel of the live picture, and finds what is under the pointer.
import * as f from './format.js';

const LID = 3;
const NAMES = { EARLY: 'early', ON_TIME: 'on time', LATE: 'late' };
const INKS = { EARLY: 'early', ON_TIME: 'on-time', LATE: 'late' };
const DASHES = { EARLY: [5, 3], ON_TIME: [], LATE: [2, 2] };

const acrossOf = (scene, panel) => (time) => panel.left + ((time - scene.from) / (scene.to - scene.from)) * (panel.right - panel.left);
const upOf = (scene, panel) => (at) => panel.bottom - ((at - scene.bottom) / (scene.top - scene.bottom)) * (panel.bottom - panel.top);

export function drawPanel(pen, scene, panel, lowest) {
  const { colours } = scene;
  const x = acrossOf(scene, panel);
  const y = upOf(scene, panel);
  pen.save();
  pen.fillStyle = colours.sunk;
  pen.fillRect(panel.left, panel.top, panel.right - panel.left, panel.bottom - panel.top);
  axes(pen, scene, panel, x, y, lowest);
  pen.beginPath();
  pen.rect(panel.left, panel.top, panel.right - panel.left, panel.bottom - panel.top);
  pen.clip();
  ideal(pen, scene, panel, x, y);
  const shown = [...boxes(scene, panel, x, y)];
  for (const box of shown) paintBox(pen, scene, box);
  curve(pen, scene, panel, x, y);
  const highest = new Map(shown.map((box) => [box.firing.place, box]));
  for (const box of shown) label(pen, scene, panel, box, highest.get(box.firing.place) === box);
  for (const dot of dots(scene, panel, x, y)) paintDot(pen, scene, dot);
  pen.restore();
  pen.fillStyle = colours.text;
  pen.font = '600 12px system-ui, sans-serif';
  pen.textAlign = 'left';
  pen.textBaseline = 'top';
  const words = cut(pen, panel.key, panel.right - panel.left - 20);
  const width = pen.measureText(words).width + 12;
  pen.globalAlpha = 0.86;
  pen.fillStyle = colours.panel;
  pen.fillRect(panel.left + 6, panel.top + 6, width, 20);
  pen.globalAlpha = 1;
  pen.fillStyle = colours.text;
  pen.fillText(words, panel.left + 12, panel.top + 10);
}

function axes(pen, scene, panel, x, y, lowest) {
  const { colours } = scene;
  pen.font = '10.5px system-ui, sans-serif';
  pen.lineWidth = 1;
  pen.strokeStyle = colours.line;
  pen.fillStyle = colours.faint;
  pen.textBaseline = 'middle';
  pen.textAlign = 'right';
  for (const at of ticks(scene.bottom, scene.top, Math.max(2, (panel.bottom - panel.top) / 46))) {
    line(pen, panel.left, y(at), panel.right, y(at));
    pen.fillText(f.clock(at), panel.left - 7, y(at));
  }
  pen.textAlign = 'center';
  for (const time of ticks(scene.from, scene.to, (panel.right - panel.left) / 84)) {
    line(pen, x(time), panel.top, x(time), panel.bottom);
    if (lowest) pen.fillText(f.clock(time), Math.min(Math.max(x(time), panel.left + 20), panel.right - 22), panel.bottom + 13);
  }
}

function ideal(pen, scene, panel, x, y) {
  pen.strokeStyle = scene.colours['line-strong'];
  pen.setLineDash([4, 4]);
  line(pen, x(scene.bottom), y(scene.bottom), x(scene.top), y(scene.top));
  pen.setLineDash([]);
}

function curve(pen, scene, panel, x, y) {
  const marks = (scene.story.marks.get(scene.step) ?? []).filter(([at]) => at <= scene.seen);
  if (!marks.length) return;
  pen.strokeStyle = scene.colours.mark;
  pen.lineWidth = 2.25;
  pen.lineJoin = 'round';
  pen.beginPath();
  let begun = false;
  let before = null;
  for (const [at, mark] of marks) {
    if (at >= scene.bottom - 120) {
      if (!begun) { pen.moveTo(x(before ?? mark), y(at)); begun = true; } else pen.lineTo(x(before), y(at));
      pen.lineTo(x(mark), y(at));
    }
    before = mark;
  }
  if (begun) pen.lineTo(x(before), y(Math.min(scene.top, Math.max(marks.at(-1)[0], Math.min(scene.seen, scene.top)))));
  pen.stroke();
}

function* boxes(scene, panel, x, y) {
  for (const each of scene.story.firings) {
    if (each.step !== scene.step || each.key !== panel.key || each.at > scene.seen || each.at < scene.bottom || each.base > scene.top) continue;
    const left = each.start === null ? panel.left : x(each.start);
    const right = each.end === null ? panel.right : x(each.end);
    if (right < panel.left || left > panel.right) continue;
    const top = y(each.at);
    yield { firing: each, left, right: Math.max(right, left + 3), top, bottom: Math.max(y(each.base), top + LID + 2) };
  }
}

function paintBox(pen, scene, { firing, left, right, top, bottom }) {
  const ink = scene.colours[INKS[firing.timing]] ?? scene.colours.muted;
  pen.fillStyle = ink;
  pen.globalAlpha = 0.15;
  pen.fillRect(left + 1, top, right - left - 2, bottom - top);
  pen.globalAlpha = 0.45;
  pen.strokeStyle = ink;
  pen.lineWidth = 1;
  pen.strokeRect(left + 1.5, top + 0.5, Math.max(1, right - left - 3), bottom - top - 1);
  pen.globalAlpha = 1;
  pen.lineWidth = LID;
  pen.setLineDash(DASHES[firing.timing] ?? []);
  line(pen, left + 1, top + LID / 2, right - 1, top + LID / 2);
  pen.setLineDash([]);
}

// The value, after the one that it takes back, struck through. The last one of a window stands
// above its box if that is too low for it.
function label(pen, scene, panel, { firing, left, right, top, bottom }, isLast) {
  const low = bottom - top < 16;
  const from = Math.max(left, panel.left) + 7;
  const room = Math.min(right, panel.right) - from - 5;
  if (room < 14 || (low && !isLast)) return;
  const size = low ? 12 : Math.min(14, Math.max(11, bottom - top - 6));
  const middle = low ? top - size - 1 : top + LID + Math.min(3, (bottom - top - LID - size) / 2);
  const old = firing.back.map(firstValue).join(' ');
  pen.font = `650 ${size}px system-ui, sans-serif`;
  const words = cut(pen, firing.value && firstValue(firing.value), room);
  if (words.length < 6 && words.endsWith('…')) return; // a part of a number would be another number
  pen.textBaseline = 'top';
  pen.textAlign = 'left';
  pen.font = `${size - 2}px system-ui, sans-serif`;
  const oldWidth = old ? pen.measureText(old).width + 6 : 0;
  const shows = old && oldWidth < room - 18;
  if (shows) {
    written(pen, scene, old, from, middle + 1.5, scene.colours.muted);
    pen.strokeStyle = scene.colours.strike;
    pen.lineWidth = 1.5;
    line(pen, from - 1, middle + size / 2, from + oldWidth - 5, middle + size / 2);
  }
  pen.font = `650 ${size}px system-ui, sans-serif`;
  written(pen, scene, words, from + (shows ? oldWidth : 0), middle, scene.colours[`${INKS[firing.timing]}-ink`] ?? scene.colours.text);
}

const firstValue = (values) => values.split(', ')[0].replace(/^\S+ (?=\S)/, '');

function written(pen, scene, words, x, y, ink) {
  pen.lineWidth = 3;
  pen.lineJoin = 'round';
  pen.strokeStyle = scene.colours.panel;
  pen.globalAlpha = 0.75;
  pen.strokeText(words, x, y);
  pen.globalAlpha = 1;
  pen.fillStyle = ink;
  pen.fillText(words, x, y);
}

function* dots(scene, panel, x, y) {
  for (const each of scene.story.late) {
    if (each.step === scene.step && each.key === panel.key && each.at <= scene.seen && each.at >= scene.bottom && each.at <= scene.top) yield { late: each, off: Math.sign(Math.max(0, x(each.time) - panel.right) - Math.max(0, panel.left - x(each.time))), x: Math.min(Math.max(x(each.time), panel.left + 6), panel.right - 6), y: y(each.at) };
  }
}

// Late rows are often much older than what is shown: an arrow at the edge points to them.
function paintDot(pen, scene, dot) {
  pen.beginPath();
  if (dot.off) { pen.moveTo(dot.x + dot.off * 5, dot.y); pen.lineTo(dot.x - dot.off * 3, dot.y - 5); pen.lineTo(dot.x - dot.off * 3, dot.y + 5); pen.closePath(); } else pen.arc(dot.x, dot.y, 4.5, 0, Math.PI * 2);
  pen.fillStyle = scene.colours.panel;
  pen.fill();
  pen.lineWidth = 2;
  pen.strokeStyle = scene.colours.strike;
  pen.stroke();
}

export function hitIn(scene, px, py) {
  const panel = scene.panels.find((each) => py >= each.top && py <= each.bottom && px >= each.left && px <= each.right);
  if (!panel) return null;
  const x = acrossOf(scene, panel);
  const y = upOf(scene, panel);
  for (const dot of dots(scene, panel, x, y)) {
    if (Math.hypot(dot.x - px, dot.y - py) < 8) return { lines: [['late row of', dot.late.key], ['event time', f.clock(dot.late.time, true)], ['arrived', f.clock(dot.late.at)], ['reason', dot.late.reason], ...(dot.late.record ? [['row', dot.late.record]] : [])] };
  }
  let best = null;
  for (const box of boxes(scene, panel, x, y)) {
    if (px >= box.left && px <= box.right && py >= box.top - 3 && py <= box.bottom && (!best || box.bottom - box.top < best.bottom - best.top)) best = box;
  }
  if (!best) return null;
  const { firing } = best;
  const window = `${firing.start === null ? '−∞' : f.clock(firing.start)} – ${firing.end === null ? '∞' : f.clock(firing.end)}`;
  return { lines: [['key', firing.key], ['window', window], ...Object.entries(firing.values ?? {}).map(([name, value]) => [name, String(value)]), ...firing.back.map((each) => ['takes back', each]), ['timing', `${NAMES[firing.timing] ?? firing.timing}, pane ${firing.index}`], ['emitted', f.clock(firing.at, true)]] };
}

function line(pen, x1, y1, x2, y2) { pen.beginPath(); pen.moveTo(x1, y1); pen.lineTo(x2, y2); pen.stroke(); }

function cut(pen, words, room) {
  if (pen.measureText(words).width <= room) return words;
  let kept = words;
  while (kept.length > 1 && pen.measureText(`${kept}…`).width > room) kept = kept.slice(0, -1);
  return `${kept}…`;
}

function ticks(from, to, most) {
  const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400, 604800];
  const step = steps.find((each) => (to - from) / each <= most) ?? 604800;
  const found = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) found.push(at);
  return found;
}
