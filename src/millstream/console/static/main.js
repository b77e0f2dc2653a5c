// Which page is shown, and the switch between light and dark.
import { h, show, empty } from './dom.js';
import * as api from './api.js';
import { jobsPage } from './jobs.js';
import { jobPage } from './job.js';
import { topicsPage } from './topics.js';
import { topicPage } from './topic.js';
import { groupPage } from './group.js';
import { errorPage } from './error_page.js';
import { loginPage } from './login.js';

const main = document.getElementById('main');
const routes = [
  [/^\/$/, jobsPage, 'jobs'],
  [/^\/jobs\/([^/]+)$/, jobPage, 'jobs'],
  [/^\/topics$/, topicsPage, 'topics'],
  [/^\/topics\/([^/]+)$/, topicPage, 'topics'],
  [/^\/groups\/([^/]+)$/, groupPage, 'topics'],
  [/^\/errors\/(MS\d+)$/, errorPage, ''],
  [/^\/login$/, loginPage, ''],
];
let leave = null;

export function go(path) {
  history.pushState(null, '', path);
  draw();
  main.focus({ preventScroll: true });
}

async function draw() {
  leave?.();
  leave = null;
  const path = location.pathname;
  const [found, page, section] = routes.map(([pattern, each, name]) => [pattern.exec(path), each, name]).find(([match]) => match) ?? [null, null, ''];
  for (const link of document.querySelectorAll('[data-nav]')) {
    if (link.dataset.nav === section) link.setAttribute('aria-current', 'page'); else link.removeAttribute('aria-current');
  }
  if (!page) { show(main, empty('There is no such page', path)); return; }
  try {
    if (page !== loginPage) await api.open();
    const place = h('div');
    show(main, place);
    const left = page(place, ...found.slice(1).map(decodeURIComponent));
    if (typeof left === 'function') leave = left;
  } catch (error) {
    show(main, empty('This page cannot be shown', error.message, error.fix));
  }
  window.scrollTo(0, 0);
}

document.addEventListener('click', (event) => {
  const link = event.target.closest?.('a[data-link]');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  const [asked, shown] = [link, location].map((each) => each.pathname + each.search + each.hash);
  if (asked !== shown) go(asked);
});
document.addEventListener('millstream:go', (event) => go(event.detail));
window.addEventListener('popstate', draw);

const button = document.getElementById('theme');
const system = matchMedia('(prefers-color-scheme: dark)');
function theme() {
  const chosen = localStorage.getItem('theme') ?? (system.matches ? 'dark' : 'light');
  document.documentElement.dataset.theme = chosen;
  button.textContent = chosen === 'dark' ? '☀' : '☾';
  document.dispatchEvent(new Event('millstream:theme'));
}
button.addEventListener('click', () => {
  localStorage.setItem('theme', document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
  theme();
});
system.addEventListener('change', theme);
theme();
draw();
