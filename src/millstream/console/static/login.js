// Asks for the token, where the console needs one.
import { h, show } from './dom.js';

export function loginPage(place) {
  document.title = 'Log in · Millstream';
  const field = h('input', { type: 'password', autocomplete: 'current-password', autofocus: true, name: 'token' });
  const problem = h('p', { class: 'problem', role: 'alert' });
  const form = h('form', { class: 'panel login' }, h('h1', {}, 'Millstream'), h('p', { class: 'muted' }, 'The token is in the file that the console was started with.'),
    h('label', { class: 'field' }, 'Token', field), problem, h('button', { class: 'primary', type: 'submit' }, 'Log in'));
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const answer = await fetch('/login', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ token: field.value }) });
    if (answer.ok) location.href = '/';
    else problem.textContent = (await answer.json()).error.what;
  });
  show(place, form);
}
