// Requests to the console's own server, and the events that it sends.
import { text } from './dom.js';

let session = null;
const status = document.getElementById('link');

export async function open() {
  session ??= await get('/api/session');
  document.getElementById('read-only').hidden = !session.read_only;
  return session;
}

export const readOnly = () => Boolean(session?.read_only);

export class Failure extends Error {
  constructor(error, status) {
    super(error.what);
    this.code = error.code;
    this.fix = error.fix;
    this.status = status;
  }
}

async function answerOf(response) {
  if (response.status === 401) location.href = '/login';
  const body = await response.json().catch(() => ({ error: { what: `the server answered ${response.status}`, fix: 'try again' } }));
  if (!response.ok) throw new Failure(body.error ?? { what: `the server answered ${response.status}` }, response.status);
  return body;
}

async function send(path, options) {
  try {
    return await fetch(path, { credentials: 'same-origin', ...options });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Failure({ what: 'the console does not answer', fix: 'start it again: millstream console' }, 0);
  }
}

export async function get(path, signal) {
  return answerOf(await send(path, { signal }));
}

export async function post(path, body = {}) {
  session = await get('/api/session'); // the console may have been started again
  const headers = { 'content-type': 'application/json', 'x-csrf-token': session.csrf };
  return answerOf(await send(path, { method: 'POST', headers, body: JSON.stringify(body) }));
}

// Calls back with each event until it is closed, and connects again when that is lost. `path` is
// called at each connection. A tab that nobody sees has none: browsers allow six for each site.
export function follow(path, take) {
  let source = null;
  let timer = null;
  const connect = () => {
    source = new EventSource(path());
    source.onopen = () => linked(true);
    source.onmessage = (event) => { linked(true); take(JSON.parse(event.data)); };
    source.onerror = () => {
      linked(false);
      source.close();
      timer = setTimeout(connect, 2000);
    };
  };
  const close = () => { clearTimeout(timer); source?.close(); source = null; linked(null); };
  const seen = () => { close(); if (!document.hidden) connect(); };
  document.addEventListener('visibilitychange', seen);
  seen();
  return () => { document.removeEventListener('visibilitychange', seen); close(); };
}

function linked(on) {
  status.className = `link ${on === null ? '' : on ? 'on' : 'off'}`;
  status.hidden = on === null;
  text(status, on === null ? '' : on ? 'live' : 'not connected');
}
