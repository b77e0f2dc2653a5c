// Requests to the console's own server, and the events that it sends.

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
  await open();
  const headers = { 'content-type': 'application/json', 'x-csrf-token': session.csrf };
  return answerOf(await send(path, { method: 'POST', headers, body: JSON.stringify(body) }));
}

// Calls back with each event until it is closed; the browser connects again by itself.
export function follow(path, take) {
  let source = null;
  let timer = null;
  const address = typeof path === 'function' ? path : () => path;
  const connect = () => {
    source = new EventSource(address());
    source.onopen = () => linked(true);
    source.onmessage = (event) => { linked(true); take(JSON.parse(event.data)); };
    source.onerror = () => {
      linked(false);
      source.close();
      timer = setTimeout(connect, 2000);
    };
  };
  connect();
  return () => { clearTimeout(timer); source.close(); linked(null); };
}

function linked(on) {
  status.className = `link ${on === null ? '' : on ? 'on' : 'off'}`;
  status.textContent = on === null ? '' : on ? 'live' : 'not connected';
}
