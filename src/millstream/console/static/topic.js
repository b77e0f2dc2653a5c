// A topic: its messages, its partitions and its settings.
import { h, show, panel, empty } from './dom.js';
import { get, post, readOnly } from './api.js';
import { confirmed, formDialog, problem, toast } from './dialog.js';
import { away, groupTable } from './topics.js';
import { tabList } from './tabs.js';
import { browser } from './messages.js';
import * as f from './format.js';

const PAGE = 1000; // partitions in one answer
const TABS = [['messages', 'Messages'], ['partitions', 'Partitions'], ['groups', 'Consumer groups'], ['settings', 'Settings']];

export function topicPage(place, name) {
  document.title = `${name} · Millstream`;
  const path = `/api/topics/${encodeURIComponent(name)}`;
  const summary = h('div', { class: 'sub' });
  const partitions = h('div');
  const settings = h('div');
  const groups = h('div');
  const failed = h('div');
  const messages = browser(path);
  const sizes = h('button', { class: 'small', type: 'button', onclick: () => load(true) }, 'Show sizes');
  const bodies = {
    messages: messages.element,
    partitions: panel('Partitions', sizes, partitions),
    groups: panel('Consumer groups', 'lag in this topic: offsets that a group has not read yet', groups),
    settings: panel('Settings', 'that differ from those of the brokers', settings),
  };
  const tabs = tabList(TABS, bodies, () => load());
  let start = 0; // the first partition that is shown
  const bytes = new Map(); // of partitions: asking for them takes seconds, so only on request

  async function load(size = false) {
    if (size) sizes.disabled = true;
    try {
      const topic = await get(`${path}?first=${start}${size ? '&size=1' : ''}`);
      for (const each of topic.partitions) { if (size) bytes.set(each.number, each.size); each.size = bytes.get(each.number) ?? null; }
      show(failed);
      show(summary, `${f.plural(topic.count, 'partition')} · ${topic.count > topic.partitions.length ? '' : `${f.plural(topic.messages, 'message')} · `} replication ${topic.replication}`);
      messages.partitions(topic.count);
      tabs.count('partitions', topic.count);
      show(partitions, partitionTable(topic), topic.count > topic.partitions.length ? pager(topic) : null);
      const own = Object.entries(topic.settings);
      show(settings, own.length ? h('div', { class: 'scroll' }, h('table', {}, h('tbody', {}, own.map(([key, value]) => h('tr', {}, h('td', { class: 'mono' }, key), h('td', { class: 'mono' }, value ?? '')))))) : empty('No settings of its own', 'All are those of the brokers.'));
      if (tabs.chosen() === 'groups') await loadGroups();
    } catch (error) { if (size) problem(error); else show(failed, away(error)); }
    if (size) sizes.disabled = false;
  }

  function pager(topic) {
    const turn = (words, to) => h('button', { class: 'small', type: 'button', disabled: to < 0 || to >= topic.count, onclick: () => { start = to; load(); } }, words);
    return h('div', { class: 'body tools' }, turn('← Previous', start - PAGE), turn('Next →', start + PAGE), h('span', { class: 'muted' }, `${f.number(start)} to ${f.number(start + topic.partitions.length - 1)} of ${f.number(topic.count)}`));
  }

  async function loadGroups() {
    const readers = (await get('/api/groups')).groups.filter((each) => !each.lags || name in each.lags);
    show(groups, readers.length ? groupTable(readers, name) : empty('No consumer group reads it', 'A group appears here when it has committed an offset. Jobs of Millstream keep their offsets in their checkpoints.'));
  }

  async function remove() {
    if (!(await confirmed({ title: `Delete topic ${name}?`, words: 'All its messages are deleted, and jobs that read it stop.', action: 'Delete the topic', danger: true, typed: name }))) return;
    try {
      await post(`${path}/delete`, { name });
      toast(`${name} is deleted`);
      document.dispatchEvent(new CustomEvent('millstream:go', { detail: '/topics' }));
    } catch (error) { problem(error); }
  }

  show(place, h('div', { class: 'crumb' }, h('a', { href: '/topics', 'data-link': true }, 'Topics'), ' /'),
    h('div', { class: 'head' }, h('div', { class: 'titles' }, h('h1', {}, name), summary), h('span', { class: 'grow' }),
      readOnly() ? null : [h('button', { class: 'danger', type: 'button', onclick: remove }, 'Delete'), h('button', { class: 'primary', type: 'button', onclick: () => produce(path, name, messages.newest) }, 'Produce a message')]),
    h('div', { class: 'stack' }, failed, tabs.element, h('div', {}, Object.values(bodies))));
  load();
  const timer = setInterval(() => { if (!document.hidden) load(); }, 5000);
  return () => { clearInterval(timer); messages.close(); };
}

function partitionTable(topic) {
  const sized = topic.partitions.some((each) => each.size !== null);
  return h('div', { class: 'scroll tall', tabindex: '0' }, h('table', {}, h('thead', {}, h('tr', {}, ['#', 'Leader', 'In sync', 'First', 'End', ...(sized ? ['Size'] : [])].map((each) => h('th', { class: 'n' }, each)))),
    h('tbody', {}, topic.partitions.map((each) => h('tr', {}, h('td', { class: 'n strong' }, String(each.number)), h('td', { class: 'n' }, each.leader === null ? h('span', { class: 'chip bad' }, 'none') : String(each.leader)),
      h('td', { class: `n ${each.in_sync.length < each.replicas.length ? 'warned' : ''}` }, `${each.in_sync.length} of ${each.replicas.length}`), h('td', { class: 'n' }, f.number(each.start)), h('td', { class: 'n' }, f.number(each.end)), sized ? h('td', { class: 'n' }, f.bytes(each.size)) : null)))));
}

function produce(path, name, done) {
  const key = h('input', { spellcheck: 'false', placeholder: 'no key', 'aria-label': 'Key' });
  const value = h('textarea', { rows: '8', spellcheck: 'false', 'aria-label': 'Value' });
  const headers = h('textarea', { rows: '2', spellcheck: 'false', placeholder: 'name=value, one in a line' });
  const partition = h('input', { type: 'number', min: '0', placeholder: 'by the key' });
  formDialog(`Produce to ${name}`, [h('div', { class: 'two' }, h('label', { class: 'field' }, 'Key', key), h('label', { class: 'field' }, 'Partition', partition)), h('label', { class: 'field' }, 'Value', value), h('label', { class: 'field' }, 'Headers', headers)], 'Produce', async () => {
    const pairs = headers.value.split('\n').filter((each) => each.includes('=')).map((each) => [each.slice(0, each.indexOf('=')).trim(), each.slice(each.indexOf('=') + 1)]);
    const made = await post(`${path}/messages`, { key: key.value === '' ? null : key.value, value: value.value, headers: Object.fromEntries(pairs), partition: partition.value === '' ? null : Number(partition.value) });
    toast(`Written to partition ${made.partition} at offset ${f.number(made.offset)}`);
    done();
  });
  value.focus();
}
