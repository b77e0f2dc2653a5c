// Tables of a job's page: its last panes, what was late or rejected, and its runs.
import { h, show, empty, panel } from './dom.js';
import * as f from './format.js';

const MOST = 200;
const NUMBERS = new Set(['Run', 'Batches', 'Rows', 'Late', 'Rejected']);
const NAMES = { EARLY: 'early', ON_TIME: 'on time', LATE: 'late' };

function* newest(samples, kind) {
  for (let at = samples.length - 1; at >= 0; at -= 1) {
    const { ended, batch } = samples[at];
    for (let each = samples[at].samples.length - 1; each >= 0; each -= 1) {
      const [step, found, values] = samples[at].samples[each];
      if (found === kind) yield { step, ended, batch, ...values };
    }
  }
}

function some(samples, kind) {
  const rows = [];
  for (const row of newest(samples, kind)) { rows.push(row); if (rows.length === MOST) break; }
  return rows;
}

const window = (row) => (row.start === null && row.end === null ? 'all of time' : `${row.start === null ? '−∞' : f.clock(row.start / 1e6)} – ${row.end === null ? '∞' : f.clock(row.end / 1e6)}`);

function table(heads, rows) {
  return h('div', { class: 'scroll tall', tabindex: '0' }, h('table', {}, h('thead', {}, h('tr', {}, heads.map((each) => h('th', { scope: 'col', class: NUMBERS.has(each) ? 'n' : '' }, each)))), h('tbody', {}, rows)));
}

export function panesTable() {
  const body = h('div');
  let drawn = null;
  return {
    element: panel('Last panes', 'the newest first; a sample if there are many', body),
    update(samples) {
      if (drawn === samples) return;
      drawn = samples;
      const rows = some(samples, 'pane');
      show(body, rows.length ? table(['Emitted', 'Key', 'Window', 'Values', 'Timing', 'Pane', 'Step'], rows.map((row) => h('tr', { class: row.kind === '-' ? 'back' : '' },
        h('td', { class: 'mono' }, f.clock(row.ended)), h('td', { class: 'strong' }, f.keyText(row.key)), h('td', { class: 'mono' }, window(row)), h('td', { class: 'struck text' }, f.valueText(row.values)),
        h('td', {}, h('span', { class: `timing ${row.timing}` }, NAMES[row.timing] ?? row.timing)), h('td', {}, `${row.index}${row.first ? ' first' : ''}${row.last ? ' last' : ''}`), h('td', { class: 'muted' }, row.step))))
        : empty('No panes yet', 'A step with windows emits them; samples of the last batches are kept here.'));
    },
  };
}

export function refusedTables() {
  const late = h('div');
  const rejected = h('div');
  const element = h('div', { class: 'stack' }, panel('Late rows', 'too late for their windows; samples, the newest first', late), panel('Rejected records', 'samples, the newest first', rejected));
  let drawn = null;
  return {
    element,
    update(samples, job) {
      if (drawn === samples) return;
      drawn = samples;
      const lateRows = some(samples, 'late');
      const rejectedRows = some(samples, 'rejected');
      show(late, lateRows.length ? table(['Arrived', 'Key', 'Event time', 'Window', 'Reason', 'Row', 'Step'], lateRows.map((row) => h('tr', {}, h('td', { class: 'mono' }, f.clock(row.ended)), h('td', { class: 'strong' }, f.keyText(row.key)), h('td', { class: 'mono' }, row.time === null ? '–' : f.clock(row.time / 1e6, true)), h('td', { class: 'mono' }, window(row)), h('td', {}, row.reason), h('td', { class: 'mono small text' }, row.record ?? h('span', { class: 'dim' }, 'not read by the program')), h('td', { class: 'muted' }, row.step))))
        : empty(job.late ? 'No samples are kept' : 'No late rows', job.late ? `${f.plural(job.late, 'row')} came too late; those of the last batches are shown here.` : 'Rows that come after their window has expired are listed here, with the reason.'));
      show(rejected, rejectedRows.length ? table(['Arrived', 'Reason', 'Record', 'Step'], rejectedRows.map((row) => h('tr', {}, h('td', { class: 'mono' }, f.clock(row.ended)), h('td', { class: 'text' }, row.reason), h('td', { class: 'mono small text' }, row.record), h('td', { class: 'muted' }, row.step))))
        : empty(job.rejected ? 'No samples are kept' : 'Nothing was rejected', job.rejected ? `${f.plural(job.rejected, 'record')} were rejected; those of the last batches are shown here.` : 'Records that cannot be decoded, or that a step refuses, are listed here, with the reason.'));
    },
  };
}

export function runsTable() {
  const body = h('div');
  return {
    element: panel('Runs', 'the last first; times are in UTC', body),
    update(runs, now) {
      show(body, runs.length ? table(['Run', 'State', 'Started', 'Lasted', 'Batches', 'Rows', 'Late', 'Rejected', 'Process', 'Reason'], runs.map((run) => h('tr', {},
        h('td', { class: 'n' }, f.number(run.number)), h('td', {}, h('span', { class: `pill ${run.state}` }, run.state)), h('td', { class: 'mono' }, f.moment(run.started)), h('td', {}, f.duration((run.ended ?? now) - run.started)),
        ...['batches', 'rows', 'late', 'rejected'].map((name) => h('td', { class: 'n' }, f.number(run[name]))), h('td', { class: 'muted' }, `${run.pid} on ${run.host}`),
        h('td', { class: 'cut' }, run.code ? h('a', { href: `/errors/${run.code}`, 'data-link': true }, run.code) : null, ' ', (run.reason ?? '').split('\n')[0])))) : empty('It was never started'));
    },
  };
}
