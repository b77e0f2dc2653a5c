// What the live picture is drawn from: firings, late rows and the watermark, of the last minutes.
import { keyText, valueText } from './format.js';

const MOST_FIRINGS = 4000;
const MOST_LATE = 1000;
const MOST_MARKS = 4000;

// Times are in seconds. A firing is a pane with those that it takes back.
export class Story {
  constructor() {
    this.firings = [];
    this.late = [];
    this.marks = new Map();
    this.keys = new Map();
    this.steps = new Set();
    this.last = new Map();
  }

  addBatches(batches) {
    for (const batch of batches) {
      for (const [step, mark] of Object.entries(batch.watermarks ?? {})) {
        if (Math.abs(mark) > 2 ** 53) continue;
        if (!this.marks.has(step)) this.marks.set(step, []);
        const known = this.marks.get(step);
        if (!known.length || batch.ended > known.at(-1)[0]) known.push([batch.ended, mark / 1e6]);
        if (known.length > MOST_MARKS) known.shift();
      }
    }
  }

  addSamples(batches) {
    for (const { ended, samples } of batches) {
      const backs = new Map();
      for (const [step, kind, values] of samples) {
        if (kind === 'pane') this.#pane(step, values, ended, backs);
        else if (kind === 'late') this.#late(step, values, ended);
      }
      for (const back of backs.values()) this.#fire({ ...back, value: '', back: [back.value] });
    }
    this.firings.splice(0, Math.max(0, this.firings.length - MOST_FIRINGS));
    this.late.splice(0, Math.max(0, this.late.length - MOST_LATE));
  }

  #pane(step, pane, at, backs) {
    this.steps.add(step);
    const key = keyText(pane.key);
    const place = `${step}\n${key}\n${pane.start}\n${pane.end}`;
    const firing = { step, key, at, start: pane.start === null ? null : pane.start / 1e6, end: pane.end === null ? null : pane.end / 1e6, timing: pane.timing, index: pane.index, value: valueText(pane.values), values: pane.values, place, back: [] };
    if (pane.kind === '-') { backs.set(place, firing); return; }
    const back = backs.get(place);
    if (back) { firing.back = [back.value]; backs.delete(place); }
    this.#fire(firing);
  }

  // A box stands on the pane before it; the first one on where its window begins, if that is near.
  #fire(firing) {
    const before = this.last.get(firing.place);
    const span = firing.start === null || firing.end === null ? 10 : firing.end - firing.start;
    firing.base = before ?? Math.max(firing.start ?? -Infinity, firing.at - span);
    if (firing.base > firing.at) firing.base = firing.at - Math.min(span, 2);
    firing.first = before === undefined;
    if (this.last.size > 20000) this.last.clear();
    this.last.set(firing.place, firing.at);
    this.firings.push(firing);
    const known = this.keys.get(firing.key) ?? 0;
    this.keys.set(firing.key, known + 1);
  }

  #late(step, row, at) {
    this.steps.add(step);
    const time = row.time ?? (row.start === null ? null : (row.start + (row.end ?? row.start)) / 2);
    if (time !== null) this.late.push({ step, key: keyText(row.key), at, time: time / 1e6, reason: row.reason, record: row.record });
  }

  // The keys with most firings, in the order of their names.
  topKeys(most) {
    return [...this.keys.entries()].sort((a, b) => b[1] - a[1]).slice(0, most).map(([key]) => key).sort();
  }

  range(step) {
    const times = this.firings.filter((each) => each.step === step).map((each) => each.at).concat((this.marks.get(step) ?? []).map(([at]) => at));
    return times.length ? [times.reduce((a, b) => Math.min(a, b)), times.reduce((a, b) => Math.max(a, b))] : null;
  }
}
