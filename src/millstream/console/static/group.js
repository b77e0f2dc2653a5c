// A consumer group: how far it is behind, live, and a reset with a preview.
import { h, show, panel, empty } from './dom.js';
import { follow, post, readOnly } from './api.js';
import { confirmed, formDialog, problem, toast } from './dialog.js';
import { away, GROUP_STATES } from './topics.js';
import * as f from './format.js';

export function groupPage(place, name) {
  document.title = `${name} · Millstream`;
  const path = `/api/groups/${encodeURIComponent(name)}`;
  const content = h('div', { class: 'stack' });
  const state = h('span', { class: 'chip' });
  const buttons = h('span', { class: 'tools' });
  let topics = '';

  function draw(group) {
    if (group.error) { show(content, away({ ...group.error, message: group.error.what })); return; }
    state.className = `chip ${group.state === 'Stable' ? 'good' : ''}`;
    show(state, GROUP_STATES[group.state] ?? group.state);
    if (topics !== group.topics.join()) {
      topics = group.topics.join();
      show(buttons, readOnly() ? null : [h('button', { class: 'danger', type: 'button', onclick: remove }, 'Delete'), h('button', { type: 'button', onclick: () => reset(path, name, group.topics) }, 'Reset offsets')]);
    }
    show(content, h('div', { class: 'stats' }, stat('Lag', f.number(group.lag), 'offsets not read yet'), stat('Members', f.number(group.members.length), group.type), stat('Partitions', f.number(group.count), f.plural(group.topics.length, 'topic'))),
      panel('Partitions', 'those farthest behind first', group.partitions.length ? h('div', { class: 'scroll' }, h('table', {}, h('thead', {}, h('tr', {}, h('th', {}, 'Topic'), ['Partition', 'Offset', 'End', 'Lag'].map((each) => h('th', { class: 'n' }, each)), h('th', {}, 'Read by'))),
        h('tbody', {}, group.partitions.map((each) => h('tr', {}, h('td', {}, h('a', { href: `/topics/${encodeURIComponent(each.topic)}`, 'data-link': true }, each.topic)), h('td', { class: 'n' }, String(each.partition)), h('td', { class: 'n' }, f.number(each.offset)), h('td', { class: 'n' }, f.number(each.end)), h('td', { class: `n ${each.lag ? 'warned' : ''}` }, f.number(each.lag)), h('td', { class: 'muted' }, each.member ?? '–')))))) : empty('It has read nothing', 'A group without offsets and members is about to be removed by Kafka.')));
  }

  async function remove() {
    if (!(await confirmed({ title: `Delete group ${name}?`, words: 'Its offsets are deleted: consumers of this group begin anew.', action: 'Delete the group', danger: true, typed: name }))) return;
    try {
      await post(`${path}/delete`, { name });
      document.dispatchEvent(new CustomEvent('millstream:go', { detail: '/topics' }));
    } catch (error) { problem(error); }
  }

  show(place, h('div', { class: 'crumb' }, h('a', { href: '/topics', 'data-link': true }, 'Topics'), ' / groups /'), h('div', { class: 'head' }, h('h1', {}, name), state, h('span', { class: 'grow' }), buttons), content);
  return follow(() => `${path}/events`, draw);
}

const stat = (label, value, more) => h('div', { class: 'stat' }, h('div', { class: 'label' }, label), h('div', { class: 'value' }, value), h('div', { class: 'more' }, more));

function reset(path, name, topics) {
  const topic = h('select', { 'aria-label': 'Topic', onchange: () => anew() }, topics.map((each) => h('option', { value: each }, each)));
  const to = h('select', { 'aria-label': 'To', onchange: () => { at.hidden = to.value !== 'at'; anew(); } }, [['beginning', 'the beginning'], ['end', 'the end'], ['at', 'an offset or a time']].map(([value, words]) => h('option', { value }, words)));
  const at = h('input', { hidden: true, placeholder: '42, or 2026-11-18T10:00:00Z', 'aria-label': 'Offset or time', oninput: () => anew() });
  const preview = h('div', { class: 'tall' });
  let shown = null;
  const anew = () => { shown = null; show(preview); made.dialog.querySelector('button[type="submit"]').textContent = 'Preview'; };
  const made = formDialog(`Reset ${name}`, [h('div', { class: 'two' }, h('label', { class: 'field' }, 'Topic', topic), h('label', { class: 'field' }, 'To', to)), at, preview], 'Preview', async () => {
    const body = { topic: topic.value, to: to.value === 'at' ? at.value : to.value };
    const asked = JSON.stringify(body);
    const sure = shown === asked;
    const { moves } = await post(`${path}/reset`, { ...body, execute: sure });
    if (sure) { toast(`${name} is reset in ${f.plural(moves.length, 'partition')}`); return true; }
    shown = asked;
    show(preview, h('table', {}, h('thead', {}, h('tr', {}, ['Partition', 'Now', 'Then'].map((each) => h('th', { class: 'n' }, each)))), h('tbody', {}, moves.slice(0, 200).map((each) => h('tr', {}, h('td', { class: 'n' }, String(each.partition)), h('td', { class: 'n' }, f.number(each.before)), h('td', { class: 'n strong' }, f.number(each.after)))))));
    made.dialog.querySelector('button[type="submit"]').textContent = 'Reset to these';
    return false;
  });
}
