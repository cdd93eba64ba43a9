import { keptKey } from './kept-key.js';

/** Relative, so that it also holds behind a proxy that adds a folder. */
export const API = new URL('api/v1/', location.href);

let key = keptKey();

/** The key this page asks with. */
export const currentKey = () => key;

export function useKey(candidate) {
  key = candidate;
}

/** What the service refused, in its own words; status 0 when there was no answer. */
class Refusal extends Error {
  constructor(status, { detail, errors = [], hint, ...members }) {
    const mistakes = errors.filter(({ message }) => message !== detail).map(({ message }) => message);
    super([detail, ...mistakes, hint].filter(Boolean).join(' '));
    this.status = status;
    this.members = members;
  }
}

/** One call of the API; throws a Refusal. */
export async function call(path, { method = 'GET', body } = {}) {
  const response = await ask(path, {
    method,
    headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return response.status === 204 ? undefined : response.json();
}

/** One page of a list, with the path of the next one if there is one; throws a Refusal. */
export async function pageOf(path, signal) {
  const response = await ask(path, { signal });
  const [, next] = /<([^>]+)>; rel="next"/.exec(response.headers.get('Link') ?? '') ?? [];
  return {
    items: await response.json(),
    headers: response.headers,
    // Beneath this page's own API: a proxy may have added a folder.
    next: next && `${path.split('?')[0]}?${next.split('?')[1]}`,
  };
}

/** The offset of the newest event and change; undefined where the service has changes switched off. */
export async function newestOffset() {
  try {
    const { headers } = await ask('events?changes=true', {});
    return /[?&]after=([\w-]+)/.exec(headers.get('link') ?? '')?.[1];
  } catch (error) {
    if (error.status === 404) return undefined;
    throw error;
  }
}

/** The bytes of an attachment; throws a Refusal. */
export async function bytesOf(path) {
  return (await ask(path, {})).blob();
}

async function ask(path, { headers, ...options }) {
  let response;
  try {
    response = await fetch(new URL(path, API), { ...options, headers: { ...headers, 'X-API-Key': asHeader(key) } });
  } catch {
    throw new Refusal(0, { detail: 'Postern does not answer. Is it running?' });
  }
  if (response.ok) return response;
  throw new Refusal(response.status, await response.json().catch(() => ({ detail: `Status ${response.status}.` })));
}

/** A header carries bytes: those of the key in UTF-8 (decision E6). */
function asHeader(text) {
  return String.fromCharCode(...new TextEncoder().encode(text));
}
