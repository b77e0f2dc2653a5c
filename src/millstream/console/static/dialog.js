// Questions before something changes, and short messages afterwards.
import { h, show } from './dom.js';

export function confirmed({ title, words, action, danger = false, typed = null }) {
  return new Promise((resolve) => {
    const field = typed === null ? null : h('input', { autocomplete: 'off', spellcheck: 'false', 'aria-label': `Type ${typed}` });
    const yes = h('button', { class: `primary${danger ? ' danger' : ''}`, type: 'submit', disabled: typed !== null }, action);
    const form = h('form', { method: 'dialog' }, h('h2', {}, title), h('p', { class: 'muted' }, words),
      field ? h('label', { class: 'field' }, h('span', {}, 'Type ', h('code', {}, typed), ' to confirm'), field) : null,
      h('div', { class: 'actions' }, h('button', { type: 'button', onclick: () => dialog.close() }, 'Cancel'), yes));
    const dialog = h('dialog', { class: 'dialog', 'aria-label': title }, form);
    let answer = false;
    form.addEventListener('submit', (event) => { event.preventDefault(); if (yes.disabled) return; answer = true; dialog.close(); });
    field?.addEventListener('input', () => { yes.disabled = field.value !== typed; });
    dialog.addEventListener('close', () => { dialog.remove(); resolve(answer); });
    document.body.append(dialog);
    dialog.showModal();
    (field ?? yes).focus();
  });
}

export function formDialog(title, body, action, submit) {
  const problem = h('div', { class: 'problem', role: 'alert' });
  const yes = h('button', { class: 'primary', type: 'submit' }, action);
  const form = h('form', { method: 'dialog' }, h('h2', {}, title), body, problem,
    h('div', { class: 'actions' }, h('button', { type: 'button', onclick: () => dialog.close() }, 'Cancel'), yes));
  const dialog = h('dialog', { class: 'dialog', 'aria-label': title }, form);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    yes.disabled = true;
    try { if (await submit() !== false) dialog.close(); } catch (error) { show(problem, error.message, error.fix ? h('div', { class: 'muted' }, error.fix) : null); }
    yes.disabled = false;
  });
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return { dialog, problem };
}

export function toast(words, bad = false) {
  let place = document.getElementById('toasts');
  if (!place) document.body.append(place = h('div', { id: 'toasts', role: 'status' }));
  const note = h('div', { class: `toast${bad ? ' bad' : ''}` }, words);
  place.append(note);
  setTimeout(() => note.remove(), bad ? 9000 : 4000);
}

export const problem = (error) => toast(error.fix ? `${error.message} — ${error.fix}` : error.message, true);
