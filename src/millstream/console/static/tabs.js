// Parts of a page, one of which is shown; its name is in the address.
import { h, text } from './dom.js';
import { number } from './format.js';

// `tabs` are names with words; `bodies` have an element for each name.
export function tabList(tabs, bodies, changed) {
  const asked = location.hash.slice(1);
  let chosen = bodies[asked] ? asked : tabs[0][0];
  const counts = {};
  const buttons = tabs.map(([name, words]) => h('button', { role: 'tab', type: 'button', id: `tab-${name}`, 'aria-controls': `body-${name}`, onclick: () => pick(name) }, words, counts[name] = h('span', { class: 'count' })));
  const element = h('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Parts of this page', onkeydown: (event) => {
    const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!way) return;
    const next = (tabs.findIndex(([name]) => name === chosen) + way + tabs.length) % tabs.length;
    pick(tabs[next][0]);
    buttons[next].focus();
  } }, buttons);
  function pick(name, quiet = false) {
    chosen = name;
    if (!quiet) history.replaceState(null, '', `#${name}`);
    tabs.forEach(([each], at) => { buttons[at].setAttribute('aria-selected', String(each === name)); buttons[at].tabIndex = each === name ? 0 : -1; });
    for (const [each, body] of Object.entries(bodies)) body.hidden = each !== name;
    if (!quiet) changed();
  }
  for (const [name, body] of Object.entries(bodies)) { body.id = `body-${name}`; body.setAttribute('role', 'tabpanel'); body.setAttribute('aria-labelledby', `tab-${name}`); }
  pick(chosen, true);
  return { element, chosen: () => chosen, count: (name, value) => text(counts[name], value ? number(value) : '') };
}
