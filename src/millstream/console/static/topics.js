// All topics, and all consumer groups.
import { h, show, panel, empty } from './dom.js';
import { get, post, readOnly } from './api.js';
import { formDialog, toast } from './dialog.js';
import * as f from './format.js';

const EVERY = 5000;
export const GROUP_STATES = { Stable: 'reading', Empty: 'no members', Dead: 'gone', PreparingRebalance: 'rebalancing', CompletingRebalance: 'rebalancing' };

export function topicsPage(place) {
  document.title = 'Topics · Millstream';
  const search = h('input', { type: 'search', placeholder: 'Search topics', 'aria-label': 'Search topics', oninput: () => draw() });
  const internal = h('input', { type: 'checkbox', onchange: () => draw() });
  const summary = h('div', { class: 'sub mono' });
  const content = h('div', { class: 'stack' });
  let latest = null;
  let groups = null;

  async function load() {
    try {
      latest = await get('/api/topics');
      groups = (await get('/api/groups')).groups;
    } catch (error) { latest = { error }; }
    draw();
  }

  function draw() {
    if (!latest) return;
    if (latest.error) { show(summary); show(content, away(latest.error)); return; }
    const words = search.value.trim().toLowerCase();
    const found = latest.topics.filter((each) => (internal.checked || !each.internal) && each.name.toLowerCase().includes(words));
    show(summary, `${latest.servers} · ${f.plural(latest.brokers.length, 'broker')} · ${f.plural(latest.topics.length, 'topic')}`);
    show(content, topicTable(found, latest.topics.length), panel('Consumer groups', 'lag: offsets that a group has not read yet', groups.length ? groupTable(groups) : empty('No consumer groups', 'A consumer that commits its offsets creates its group.')));
  }

  show(place, h('div', { class: 'head' }, h('div', { class: 'titles' }, h('h1', {}, 'Topics'), summary), h('span', { class: 'grow' }),
    h('label', { class: 'tools muted small' }, internal, 'Kafka’s own'), search, readOnly() ? null : h('button', { type: 'button', class: 'primary', onclick: () => create(load) }, 'Create a topic')), content);
  load();
  const timer = setInterval(() => { if (!document.hidden) load(); }, EVERY);
  return () => clearInterval(timer);
}

export function away(error) {
  const brokers = error.code === 'MS320';
  return h('div', { class: 'alert', role: 'alert' }, h('strong', {}, brokers ? 'Kafka does not answer' : error.message), brokers ? h('span', {}, error.message) : null, error.fix ? h('span', { class: 'muted' }, error.fix) : null,
    h('span', { class: 'muted' }, brokers ? 'Jobs are shown as before; this page looks again every few seconds.' : ''));
}

function topicTable(found, all) {
  if (!found.length) return h('section', { class: 'panel' }, all ? empty('No topic matches', 'Search for another name, or show Kafka’s own topics too.') : empty('No topics yet', 'Programs read from topics and write to them.', 'millstream topics create scores'));
  return panel('Topics', null, h('div', { class: 'scroll' }, h('table', {}, h('thead', {}, h('tr', {}, h('th', {}, 'Topic'), h('th', { class: 'n' }, 'Partitions'), h('th', { class: 'n', title: 'By their offsets: the markers of transactions count too' }, 'Messages'), h('th', { class: 'n wide' }, 'Replication'), h('th', {}, 'Health'))),
    h('tbody', {}, found.slice(0, 500).map((each) => {
      const link = h('a', { href: `/topics/${encodeURIComponent(each.name)}`, 'data-link': true, class: 'strong' }, each.name);
      return h('tr', { class: 'go', onclick: (event) => { if (!event.target.closest('a')) link.click(); } }, h('td', {}, link), h('td', { class: 'n' }, f.number(each.partitions)), h('td', { class: 'n' }, each.messages === undefined ? '–' : f.number(each.messages)), h('td', { class: 'n wide' }, f.number(each.replication)),
        h('td', {}, each.leaderless ? h('span', { class: 'chip bad' }, `${f.plural(each.leaderless, 'partition')} without a leader`) : each.behind ? h('span', { class: 'chip warn' }, `${f.plural(each.behind, 'partition')} not in sync`) : h('span', { class: 'chip good' }, 'in sync')));
    })))), found.length > 500 ? h('div', { class: 'body muted' }, `The first 500 of ${f.number(found.length)} are shown: search for others.`) : null);
}

// Groups with their lag: in one topic, or in all of them.
export function groupTable(groups, topic = null) {
  const lag = (lags) => (topic === null ? Object.values(lags).reduce((sum, each) => sum + each, 0) : lags[topic]);
  return h('div', { class: 'scroll' }, h('table', {}, h('thead', {}, h('tr', {}, h('th', {}, 'Group'), h('th', {}, 'State'), h('th', { class: 'n' }, 'Lag'), h('th', { class: 'wide' }, 'Protocol'))), h('tbody', {}, groups.map((each) => {
    const link = h('a', { href: `/groups/${encodeURIComponent(each.name)}`, 'data-link': true, class: 'strong' }, each.name);
    return h('tr', { class: 'go', onclick: (event) => { if (!event.target.closest('a')) link.click(); } }, h('td', {}, link), h('td', {}, h('span', { class: `chip ${each.state === 'Stable' ? 'good' : ''}` }, GROUP_STATES[each.state] ?? each.state)), h('td', { class: 'n' }, each.lags ? f.number(lag(each.lags)) : '–'), h('td', { class: 'muted wide' }, each.type));
  }))));
}

function create(done) {
  const name = h('input', { required: true, maxlength: '249', pattern: '[A-Za-z0-9._\\-]+', autocomplete: 'off', spellcheck: 'false' });
  const partitions = h('input', { type: 'number', min: '1', max: '10000', placeholder: 'as the brokers decide' });
  const replication = h('input', { type: 'number', min: '1', max: '100', placeholder: 'as the brokers decide' });
  const settings = h('textarea', { rows: '3', placeholder: 'retention.ms=86400000', spellcheck: 'false' });
  formDialog('Create a topic', [h('label', { class: 'field' }, 'Name', name), h('div', { class: 'two' }, h('label', { class: 'field' }, 'Partitions', partitions), h('label', { class: 'field' }, 'Replication', replication)), h('label', { class: 'field' }, 'Settings, one in a line', settings)], 'Create', async () => {
    const pairs = settings.value.split('\n').map((each) => each.trim()).filter(Boolean).map((each) => [each.slice(0, each.indexOf('=')).trim(), each.slice(each.indexOf('=') + 1).trim()]);
    await post('/api/topics', { name: name.value, partitions: partitions.value ? Number(partitions.value) : null, replication: replication.value ? Number(replication.value) : null, settings: Object.fromEntries(pairs) });
    toast(`${name.value} is created`);
    done();
  });
  name.focus();
}
