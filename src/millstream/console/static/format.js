// Numbers and times for people.

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

export function number(value) {
  return value === null || value === undefined ? '–' : whole.format(value);
}

export function short(value) {
  if (value === null || value === undefined) return '–';
  const size = Math.abs(value);
  for (const [unit, sign] of [[1e9, 'G'], [1e6, 'M'], [1e4, 'k']]) {
    if (size >= unit) { const scale = sign === 'k' ? 1e3 : unit; return `${(value / scale).toFixed(size / scale < 10 ? 2 : 1)} ${sign}`; }
  }
  return size >= 100 || Number.isInteger(value) ? whole.format(value) : value.toFixed(size < 10 ? 2 : 1).replace(/\.?0+$/, '');
}

export function rate(value) {
  return value === null || value === undefined ? '–' : `${short(value)}/s`;
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return '–';
  const size = Math.abs(seconds);
  const sign = seconds < 0 ? '−' : '';
  if (size < 0.001) return '0 s';
  if (size < 1) return `${sign}${Math.round(size * 1000)} ms`;
  if (size < 10) return `${sign}${size.toFixed(1)} s`;
  if (size < 120) return `${sign}${Math.round(size)} s`;
  if (size < 7200) return `${sign}${Math.round(size / 60)} min`;
  if (size < 172800) return `${sign}${(size / 3600).toFixed(1)} h`;
  return `${sign}${whole.format(size / 86400)} d`;
}

export function bytes(value) {
  if (value === null || value === undefined) return '–';
  for (const [unit, name] of [[1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB']]) if (value >= unit) return `${(value / unit).toFixed(value / unit < 10 ? 1 : 0)} ${name}`;
  return `${value} B`;
}

const pad = (value, size = 2) => String(value).padStart(size, '0');

// Times of events are in UTC everywhere: two people who talk about one see the same.
export function clock(seconds, fine = false) {
  if (seconds === null || seconds === undefined) return '–';
  const at = new Date(seconds * 1000);
  const base = `${pad(at.getUTCHours())}:${pad(at.getUTCMinutes())}:${pad(at.getUTCSeconds())}`;
  return fine ? `${base}.${pad(at.getUTCMilliseconds(), 3)}` : base;
}

export function moment(seconds, fine = false) {
  if (seconds === null || seconds === undefined) return '–';
  const at = new Date(seconds * 1000);
  const day = `${at.getUTCFullYear()}-${pad(at.getUTCMonth() + 1)}-${pad(at.getUTCDate())}`;
  return `${day} ${clock(seconds, fine)}`;
}

export function ago(seconds, now) {
  return seconds === null || seconds === undefined ? '–' : `${duration(Math.max(0, now - seconds))} ago`;
}

export function plural(count, word, many = `${word}s`) {
  return `${number(count)} ${count === 1 ? word : many}`;
}

export function keyText(key) {
  const values = Object.values(key ?? {});
  return values.length ? values.map((each) => (each === null ? 'null' : String(each))).join(' · ') : 'all';
}

export function valueText(values) {
  const entries = Object.entries(values ?? {});
  return entries.length === 1 ? String(entries[0][1]) : entries.map(([name, value]) => `${name} ${value}`).join(', ');
}
