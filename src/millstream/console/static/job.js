// A job: how it goes, its graph, its charts, its live picture, what was late or rejected, its log.
import { h, show, text, css, panel, empty } from './dom.js';
import { get, follow, post, readOnly } from './api.js';
import { confirmed, problem } from './dialog.js';
import { action, keepsUp, lagText } from './jobs.js';
import { chart } from './charts.js';
import { graph, stepDetails } from './graph.js';
import { picture } from './picture.js';
import { tabList } from './tabs.js';
import { Story } from './picture_data.js';
import { panesTable, refusedTables, runsTable } from './job_tables.js';
import * as f from './format.js';

const SPANS = [[300, '5 min'], [900, '15 min'], [3600, '1 h']];
const RATE_OVER = 20; // seconds over which the rates of steps are taken
const TABS = [['overview', 'Overview'], ['picture', 'Live picture'], ['refused', 'Late & rejected'], ['log', 'Log'], ['runs', 'Runs']];

export function jobPage(place, id) {
  let close = () => {};
  get(`/api/jobs/${encodeURIComponent(id)}`).then(
    (job) => { close = begun(place, id, job); },
    (error) => show(place, h('section', { class: 'panel' }, empty('This job cannot be shown', error.message, error.fix))));
  return () => close();
}

function begun(place, id, first) {
  document.title = `${first.name} · Millstream`;
  const story = new Story();
  let batches = [];
  let samples = [];
  let job = first;
  let now = first.now;
  let steps = '';
  let flow = null;
  let span = 300;
  let last = 0; // what is newer than this is new: a connection that is made again begins earlier
  let fitted = false;
  const path = encodeURIComponent(id);

  const state = h('span', { class: 'pill' });
  const button = action(path);
  const remove = h('button', { class: 'small', type: 'button', onclick: drop }, 'Remove');
  const alarm = h('div');
  const stats = statsRow();
  const live = picture(story);
  const chosen = h('div');
  const graphBody = h('div');
  const spans = h('span', { class: 'tools' }, SPANS.map(([seconds, words]) => h('button', { class: 'small', type: 'button', 'data-span': seconds, onclick: () => { span = seconds; draw(); } }, words)));
  const charts = {
    rows: chart('Throughput', { format: f.rate }),
    time: chart('Batch time', { format: f.duration, stacked: true, note: 'by phase' }),
    lag: chart('Watermark lag', { format: f.duration, note: 'per source partition' }),
    state: chart('State', { format: f.short, note: 'rows' }),
  };
  const panes = panesTable();
  const refused = refusedTables();
  const log = h('pre', { class: 'log', tabindex: '0', hidden: true });
  const noLog = h('div');
  const logNote = h('span', { class: 'note' });
  const runs = runsTable();
  let over = null;
  const bodies = {
    overview: h('div', { class: 'stack' }, panel('Dataflow', 'click a step for its four answers', graphBody, chosen), over = h('div', { class: 'stack' }, h('div', { class: 'head tight' }, h('h2', {}, 'Over time'), h('span', { class: 'muted small' }, 'UTC'), h('span', { class: 'grow' }), spans), h('div', { class: 'cols' }, Object.values(charts).map((each) => each.element)))),
    picture: h('div', { class: 'stack' }, live.element, panes.element),
    refused: refused.element,
    log: panel('Log', logNote, log, noLog),
    runs: runs.element,
  };
  const tabs = tabList(TABS, bodies, () => { draw(); if (tabs.chosen() === 'log') readLog(); });

  show(place, h('div', { class: 'crumb' }, h('a', { href: '/', 'data-link': true }, 'Jobs'), ' /'),
    h('div', { class: 'head' }, h('div', { class: 'titles' }, h('h1', {}, first.name), h('div', { class: 'sub mono' }, `${first.program} · ${first.owner} · ${first.id}`)), state, h('span', { class: 'grow' }), remove, button.element),
    h('div', { class: 'stack' }, alarm, stats.element, tabs.element, h('div', {}, Object.values(bodies))));

  async function drop() {
    if (!(await confirmed({ title: `Remove ${job.name} from the registry?`, words: 'Its history, metrics and log are deleted. Its checkpoint stays.', action: 'Remove', danger: true, typed: job.name }))) return;
    try {
      await post(`/api/jobs/${path}/delete`, { name: job.name });
      document.dispatchEvent(new CustomEvent('millstream:go', { detail: '/' }));
    } catch (error) { problem(error); }
  }

  async function readLog() {
    try {
      const { there, lines, cut } = await get(`/api/jobs/${path}/log`);
      const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
      text(log, lines.join('\n'));
      log.hidden = !there;
      show(noLog, there ? null : empty('No log is kept', 'Jobs that run in the background have one. The output of others is where they were started.', 'millstream run app.py --detach'));
      text(logNote, there ? `${f.plural(lines.length, 'line')}${cut ? ', the last ones' : ''}` : '');
      if (atEnd) log.scrollTop = log.scrollHeight;
    } catch (error) { problem(error); }
  }

  function take(news) {
    if (news.error) { show(alarm, h('div', { class: 'alert' }, h('strong', {}, news.error.what), h('span', {}, news.error.fix))); return; }
    if (news.job.run !== job.run || (news.job.progress.steps?.length && !first.plan.length)) refresh();
    job = news.job;
    now = news.now;
    const fresh = ({ ended }) => ended > last;
    const [more, shown] = [news.batches.filter(fresh), news.samples.filter(fresh)];
    last = Math.max(last, ...more.concat(shown).map((each) => each.ended));
    batches = batches.concat(more).filter((each) => each.ended > now - 3700 || !job.alive);
    if (shown.length) samples = samples.concat(shown).slice(-400);
    story.addBatches(more);
    story.addSamples(shown);
    draw();
    if (!fitted && story.firings.length) { fitted = true; live.fit(); }
  }

  async function refresh() {
    try { first = await get(`/api/jobs/${path}`); draw(); } catch { /* the next event reports it */ }
  }

  function draw() {
    css(state, `pill ${job.state}`);
    text(state, job.stopping && job.state === 'running' ? 'stopping' : job.state);
    button.update(job);
    remove.hidden = readOnly() || job.alive;
    drawAlarm();
    const end = job.alive ? now : Math.max(job.ended ?? 0, batches.at(-1)?.ended ?? 0) || now;
    const recent = batches.filter((each) => each.ended > end - RATE_OVER);
    stats.update(job, batches.filter((each) => each.ended > end - 60));
    tabs.count('refused', (job.late ?? 0) + (job.rejected ?? 0));
    if (tabs.chosen() === 'overview') drawOverview(end, recent);
    if (tabs.chosen() === 'picture') { live.update(now, job.alive ? null : end); panes.update(samples); }
    if (tabs.chosen() === 'refused') refused.update(samples, job);
    if (tabs.chosen() === 'runs') runs.update(first.runs, now);
  }

  function drawOverview(end, recent) {
    over.hidden = !batches.length && !job.alive;
    const shape = JSON.stringify([job.alive || first.plan.length, first.plan.map((each) => each.id)]);
    if (shape !== steps) {
      steps = shape;
      flow = first.plan.length ? graph(first.plan, (step) => { flow.select(step.id); show(chosen, stepDetails(step, first.physical)); }) : null;
      show(graphBody, flow ? flow.element : job.alive ? empty('The plan is not recorded yet', 'It appears when the job has started.') : empty('There is no plan', 'The job ended before its program was built.'));
    }
    flow?.update(job.progress ?? {}, ratesOf(recent, first.plan), slowestOf(job.progress ?? {}, recent, first.plan, end), end);
    for (const each of spans.children) each.setAttribute('aria-pressed', String(Number(each.dataset.span) === span));
    const begun = Math.min(end - 60, (batches[0]?.ended ?? end) - 5);
    drawCharts(charts, batches, [Math.max(end - span, begun), end]);
  }

  function drawAlarm() {
    const bad = job.state === 'failed' || job.state === 'lost' || (job.state === 'starting' && job.reason);
    const words = bad ? job.reason : job.waiting ? `The watermark waits for ${job.waiting}: this has been silent for long, and no window can end before it speaks again.` : '';
    if (alarm.dataset.words === words + job.state) return;
    alarm.dataset.words = words + job.state;
    show(alarm, words ? h('div', { class: `alert${bad ? '' : ' warn'}`, role: 'alert' }, bad ? h('strong', {}, job.state === 'lost' ? 'The process of this job died' : job.state === 'starting' ? 'It failed, and is started again' : 'This job has failed') : null, h('pre', {}, words),
      job.code && bad ? h('a', { href: `/errors/${job.code}`, 'data-link': true }, `What ${job.code} means, and what to do`) : null) : null);
  }

  draw();
  if (tabs.chosen() === 'log') readLog();
  const stop = follow(() => `/api/jobs/${path}/events${last ? `?seconds=${Math.ceil(Math.max(0, now - last)) + 60}` : ''}`, take);
  const timer = setInterval(() => { if (tabs.chosen() === 'log') readLog(); }, 3000);
  return () => { stop(); live.close(); clearInterval(timer); };
}

function statsRow() {
  const element = h('div', { class: 'stats' });
  const cells = new Map();
  const set = (label, value, more = '', kind = '', alarm = '') => {
    if (!cells.has(label)) { const [a, b] = [h('div', { class: 'value' }), h('div', { class: 'more' })]; cells.set(label, [a, b]); element.append(h('div', { class: 'stat' }, h('div', { class: 'label' }, label), a, b)); }
    const [a, b] = cells.get(label);
    text(a, value); css(a, `value ${kind}`); text(b, more); css(b, `more ${alarm}`); b.title = more;
  };
  return {
    element,
    update(job, recent) {
      const lags = recent.filter((each) => each.watermark && Math.abs(each.watermark) < 2 ** 53).map((each) => [each.ended, each.ended - each.watermark / 1e6]);
      const drift = lags.length > 1 && lags.at(-1)[0] - lags[0][0] > 5 ? (lags.at(-1)[1] - lags[0][1]) / (lags.at(-1)[0] - lags[0][0]) : null;
      const [words, kind] = keepsUp({ ...job, drift });
      set('Throughput', job.state === 'running' ? f.rate(job.rate) : '–', `${f.plural(job.rows ?? 0, 'row')}, ${f.plural(job.batches ?? 0, 'batch', 'batches')}`);
      set('Keeps up', job.state === 'running' ? words : '–', job.last_batch_seconds === null || job.last_batch_seconds === undefined ? '' : `last batch ${f.duration(job.last_batch_seconds)}`, kind === 'bad' ? 'bad' : kind === 'warn' ? 'alarm' : '');
      set('Event time', lagText(job), job.watermark && !/^(9999|0001)/.test(job.watermark) ? `watermark ${f.clock(Date.parse(job.watermark) / 1000)} UTC` : '');
      set('State', job.state_rows === null || job.state_rows === undefined ? '–' : `${f.short(job.state_rows)} rows`, job.state_bytes ? f.bytes(job.state_bytes) : '');
      set('Late', f.number(job.late), '', job.late ? 'alarm' : '');
      set('Rejected', f.number(job.rejected), '', job.rejected ? 'alarm' : '');
      set('Restarts', f.number(job.restarts), job.supervised ? `run ${job.run}, supervised` : `run ${job.run ?? '–'}`, job.restarts ? 'alarm' : '');
    },
  };
}

// Rows a second of each step, by its name.
function ratesOf(recent, plan) {
  const rates = new Map();
  const span = recent.length ? Math.max(1, recent.at(-1).ended - recent[0].ended + recent[0].seconds) : 1;
  const sum = (field, name) => recent.reduce((total, each) => total + (each[field]?.[name] ?? 0), 0) / span;
  for (const step of plan) {
    const counted = (field) => recent.some((each) => each[field] && step.name in each[field]);
    const known = rates.get(step.name) ?? {};
    if (step.id.startsWith('sink:')) known.in = sum('written', step.name);
    else if (!step.inputs.length) known.out = sum('read', step.name) - sum('rejected', step.name);
    else { if (counted('taken')) known.in = sum('taken', step.name); if (counted('emitted')) known.out = sum('emitted', step.name); }
    rates.set(step.name, known);
  }
  // Steps that only pass rows on count nothing: what their neighbours count is theirs.
  for (const step of plan) {
    const known = rates.get(step.name);
    const after = plan.filter((each) => each.inputs.includes(step.id));
    if (known.out === undefined && after.length === 1) known.out = rates.get(after[0].name).in;
    if (known.in === undefined && step.inputs.length === 1) known.in = ['late', 'rejected'].includes(step.kind) ? known.out : rates.get(plan.find((each) => each.id === step.inputs[0]).name).out;
  }
  return rates;
}

// The step that holds the others up: by its callbacks, by commits, or by its watermark.
function slowestOf(progress, recent, plan, now) {
  const steps = progress.steps ?? [];
  if (!recent.length || steps.length < 2) return null;
  const total = recent.reduce((sum, each) => sum + each.seconds, 0);
  const commit = recent.reduce((sum, each) => sum + (each.phases?.commit ?? 0), 0);
  const called = [...steps].sort((a, b) => (b.callback_seconds ?? 0) - (a.callback_seconds ?? 0))[0];
  if (called.callback_seconds > 0.2 * (progress.last_batch_seconds ?? Infinity)) return { id: called.id, why: `${called.callback} ${f.duration(called.callback_seconds)} a batch` };
  const sink = plan.find((each) => each.id.startsWith('sink:'));
  if (commit > total / 2 && sink) return { id: sink.id, why: `commits ${Math.round((commit / total) * 100)} % of the batch` };
  const marked = steps.filter((each) => each.watermark && !/^(9999|0001)/.test(each.watermark)).map((each) => [each, now - Date.parse(each.watermark) / 1000]).sort((a, b) => b[1] - a[1])[0];
  return marked ? { id: marked[0].id, why: `${f.duration(marked[1])} behind` } : null;
}

function drawCharts(charts, batches, range) {
  const shown = batches.filter((each) => each.ended >= range[0] - 60);
  charts.rows.update([{ name: 'rows', points: perSecond(shown) }], range);
  const phases = [...new Set(shown.flatMap((each) => Object.keys(each.phases ?? {})))];
  charts.time.update(phases.map((name) => ({ name, points: shown.map((each) => [each.ended, (each.phases?.[name] ?? 0) / (each.batches ?? 1)]) })), range);
  const lags = new Map();
  for (const each of shown) for (const [source, split, mark] of each.splits ?? []) {
    if (!mark || /^(9999|0001)/.test(mark)) continue;
    const name = split === '' ? source : `${source} ${split}`;
    if (!lags.has(name)) lags.set(name, []);
    lags.get(name).push([each.ended, each.ended - Date.parse(mark) / 1000]);
  }
  const behind = [...lags.entries()].sort((a, b) => b[1].at(-1)[1] - a[1].at(-1)[1]).slice(0, 6).sort((a, b) => a[0].localeCompare(b[0]));
  charts.lag.update(behind.map(([name, points]) => ({ name, points })), range);
  const states = new Map();
  for (const each of shown) for (const [name, [rows]] of Object.entries(each.state ?? {})) { if (!states.has(name)) states.set(name, []); states.get(name).push([each.ended, rows]); }
  charts.state.update([...states.entries()].slice(0, 6).map(([name, points]) => ({ name, points })), range);
}

function perSecond(batches) {
  return batches.map((each, at) => [each.ended, each.rows / Math.max(each.span || each.seconds, at ? each.ended - batches[at - 1].ended : 0, 0.05)]);
}
