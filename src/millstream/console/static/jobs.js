// All jobs: is it alive, does it keep up, how far is event time.
import { h, s, show, keyed, text, css, empty } from './dom.js';
import { follow, post, readOnly } from './api.js';
import { confirmed, problem, toast } from './dialog.js';
import * as f from './format.js';

export function jobsPage(place) {
  document.title = 'Jobs · Millstream';
  const search = h('input', { type: 'search', placeholder: 'Search jobs', 'aria-label': 'Search jobs', oninput: () => draw() });
  const summary = h('div', { class: 'sub' });
  const body = h('tbody');
  const list = h('section', { class: 'panel', 'aria-label': 'Jobs' }, h('div', { class: 'scroll' }, h('table', { class: 'jobs' },
    h('thead', {}, h('tr', {}, h('th', {}, 'Job'), h('th', {}, 'State'), h('th', { class: 'n' }, 'Rows/s'), h('th', { class: 'wide' }, 'Last 5 minutes'),
      h('th', { class: 'n' }, 'Event time'), h('th', {}, 'Keeps up'), ['Late', 'Rejected', 'Restarts', 'Since'].map((each) => h('th', { class: 'n wider' }, each)), h('th', {}, h('span', { class: 'hide' }, 'Actions')))), body)));
  const content = h('div');
  const rows = keyed(body, row);
  let latest = null;

  function draw() {
    if (!latest) return;
    if (latest.error) { show(content, h('div', { class: 'alert' }, h('strong', {}, latest.error.what), h('span', {}, latest.error.fix))); return; }
    const words = search.value.trim().toLowerCase();
    const found = latest.jobs.filter((job) => !words || [job.name, job.id, job.owner, job.state, job.program].some((each) => each.toLowerCase().includes(words)));
    show(summary, summed(latest.jobs));
    if (!latest.jobs.length) show(content, h('section', { class: 'panel' }, empty('No jobs yet', 'Every job that runs with a checkpoint appears here, however it was started.', 'millstream run app.py --detach')));
    else if (!found.length) show(content, h('section', { class: 'panel' }, empty('No job matches', `None of ${f.plural(latest.jobs.length, 'job')} contains “${search.value}”.`)));
    else {
      rows(found.map((job) => ({ ...job, now: latest.now })), (job) => job.id);
      if (content.firstChild !== list) show(content, list);
    }
  }

  show(place, h('div', { class: 'head' }, h('div', { class: 'titles' }, h('h1', {}, 'Jobs'), summary), h('span', { class: 'grow' }), search), content);
  return follow(() => '/api/jobs/events', (news) => { latest = news; draw(); });
}

// The three questions for all jobs at once.
function summed(jobs) {
  if (!jobs.length) return 'none yet';
  const running = jobs.filter((job) => job.state === 'running');
  const bad = jobs.filter((job) => job.state === 'failed' || job.state === 'lost').length;
  const behind = running.filter((job) => ['bad', 'warn'].includes(keepsUp(job)[1])).length;
  const lag = Math.max(...running.map((job) => job.lag ?? -Infinity));
  return [`${f.number(running.length)} of ${f.plural(jobs.length, 'job')} running`,
    Number.isFinite(lag) ? ` · event time at most ${f.duration(Math.max(0, lag))} behind` : '',
    behind ? h('span', { class: 'chip warn inline' }, `${f.number(behind)} ${behind === 1 ? 'does' : 'do'} not keep up`) : null,
    bad ? h('span', { class: 'chip bad inline' }, `${f.number(bad)} failed or lost`) : null];
}

function row(job) {
  const cells = Object.fromEntries(['state', 'rate', 'spark', 'lag', 'keeps', 'late', 'rejected', 'restarts', 'since', 'action', 'reason'].map((name) => [name, h('span')]));
  const link = h('a', { href: `/jobs/${job.id}`, 'data-link': true, class: 'name' }, job.name);
  const element = h('tr', { class: 'go', onclick: (event) => { if (!event.target.closest('button, a')) link.click(); } },
    h('td', { class: 'job' }, link, h('div', { class: 'dim small program' }, job.program), cells.reason),
    h('td', { class: 'at-top' }, cells.state), h('td', { class: 'n strong', 'data-label': 'Rows/s' }, cells.rate), h('td', { class: 'wide' }, cells.spark), h('td', { class: 'n', 'data-label': 'Event time' }, cells.lag),
    h('td', { 'data-label': 'Keeps up' }, cells.keeps), h('td', { class: 'n wider' }, cells.late), h('td', { class: 'n wider' }, cells.rejected), h('td', { class: 'n wider' }, cells.restarts),
    h('td', { class: 'n wider muted' }, cells.since), h('td', { class: 'n actions' }, cells.action));
  const button = action(job.id);
  const watch = h('a', { class: 'button small', href: `/jobs/${job.id}#picture`, 'data-link': true, 'aria-label': `Live picture of ${job.name}` }, 'Picture');
  show(cells.action, watch, button.element);
  let drawn = '';
  return {
    element,
    update(now) {
      css(cells.state, `pill ${now.state}`);
      text(cells.state, now.stopping && now.state === 'running' ? 'stopping' : now.state);
      text(cells.rate, f.rate(now.rate));
      text(cells.lag, lagText(now));
      const [words, kind] = keepsUp(now);
      css(cells.keeps, words ? `chip ${kind}` : '');
      text(cells.keeps, words);
      for (const name of ['late', 'rejected', 'restarts']) { text(cells[name], f.number(now[name])); css(cells[name], now[name] ? 'warned' : 'dim'); }
      text(cells.since, f.ago(now.ended ?? now.started, now.now));
      css(cells.reason, now.reason ? 'reason' : '');
      text(cells.reason, now.reason ? now.reason.split('\n')[0] : '');
      const bins = now.recent.join();
      if (bins !== drawn) { drawn = bins; show(cells.spark, sparkline(now.recent)); }
      watch.hidden = !now.batches;
      button.update(now);
    },
  };
}

// How far event time is behind the clock: of a job that has ended, as it was then.
export function lagText(job) {
  if (job.lag === null || job.lag === undefined) return job.watermark === null || job.watermark === undefined ? '–' : job.watermark.startsWith('9999') ? 'at its end' : 'waiting';
  return job.lag < 0 ? `${f.duration(-job.lag)} ahead` : `${f.duration(job.lag)} behind`;
}

// A job keeps up if its lag does not grow: by less than a tenth of a second in each second.
export function keepsUp(job) {
  if (job.state !== 'running') return ['', ''];
  if (job.waiting) return [`waits for ${job.waiting}`, 'warn'];
  if (job.drift === null || job.drift === undefined) return [job.batches ? 'yes' : 'starting', job.batches ? 'good' : ''];
  if (job.drift > 0.1 && job.rate) return ['falls behind', 'bad'];
  if (!job.rate) return ['no new rows', ''];
  return ['yes', 'good'];
}

function sparkline(bins) {
  const top = Math.max(...bins, 1);
  const width = 4;
  const bars = bins.map((value, at) => s('rect', { x: at * width, y: 24 - Math.max(value ? 1.5 : 0.75, (value / top) * 23), width: width - 1, height: Math.max(value ? 1.5 : 0.75, (value / top) * 23), rx: 0.6, class: value ? 'bar-on' : 'bar-off' }));
  return s('svg', { class: 'spark', viewBox: `0 0 ${bins.length * width} 24`, width: bins.length * width, height: 24, 'aria-hidden': 'true' }, bars);
}

// Stop or resume, whichever applies.
export function action(id) {
  let job = null;
  const element = h('button', { class: 'small', type: 'button' });
  element.addEventListener('click', async () => {
    const stops = job.alive;
    const sure = await confirmed(stops
      ? { title: `Stop ${job.name}?`, words: 'It ends after the batch under way, and can be resumed from its checkpoint.', action: 'Stop the job', danger: true }
      : { title: `Resume ${job.name}?`, words: 'It starts again in the background, where its checkpoint ends.', action: 'Resume the job' });
    if (!sure) return;
    element.disabled = true;
    try {
      await post(`/api/jobs/${id}/${stops ? 'stop' : 'resume'}`);
      toast(stops ? `${job.name} stops after the batch under way` : `${job.name} is starting`);
    } catch (error) { problem(error); }
    element.disabled = false;
  });
  return {
    element,
    update(now) {
      job = now;
      element.hidden = readOnly() || !(now.alive || now.resumable);
      text(element, now.alive ? 'Stop' : 'Resume');
      css(element, `small${now.alive ? ' danger' : ''}`);
      element.disabled = Boolean(now.stopping);
    },
  };
}
