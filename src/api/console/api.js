import { mayAskByItself, noteLimit } from './budget.js';
import { keptKey } from './kept-key.js';

/** Relative, so that it also works behind a proxy that adds a folder. */
export const API = new URL('api/v1/', location.href);

let key = keptKey();

/** The key this page uses. */
export const currentKey = () => key;

export function useKey(candidate) {
  key = candidate;
}

/** A refusal in the service's own words; status 0 if there was no answer. */
class Refusal extends Error {
  constructor(status, { detail, errors = [], hint, ...members }) {
    const mistakes = errors.filter(({ message }) => message !== detail).map(({ message }) => message);
    super([detail, ...mistakes, hint].filter(Boolean).join(' '));
    this.status = status;
    this.members = members;
  }
}

/**
 * Calls the API. Throws a Refusal. `isByItself`: nobody clicked, so the call may be refused to spare the limit. `key`
 * replaces this page's key.
 */
export async function call(path, { method = 'GET', body, isByItself, key: asked } = {}) {
  const response = await ask(path, {
    method,
    isByItself,
    key: asked,
    headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return response.status === 204 ? undefined : response.json();
}

/** Returns one page of a list, with the path of the next one if there is one. Throws a Refusal. */
export async function pageOf(path, { signal, isByItself } = {}) {
  const response = await ask(path, { signal, isByItself });
  const [, next] = /<([^<>]+)>; rel="next"/.exec(response.headers.get('Link') ?? '') ?? [];
  return {
    items: await response.json(),
    headers: response.headers,
    // Below this page's own API: a proxy may have added a folder.
    next: next && `${path.split('?')[0]}?${next.split('?')[1]}`,
  };
}

/** The offset of the newest event and change; undefined if the service has changes switched off. */
export async function newestOffset() {
  try {
    const { headers } = await ask('events?changes=true', {});
    return /[?&]after=([\w-]+)/.exec(headers.get('link') ?? '')?.[1];
  } catch (error) {
    if (error.status === 404) return undefined;
    throw error;
  }
}

/** The bytes of an attachment, and the answer's type. Throws a Refusal. */
export async function bytesOf(path, { isByItself } = {}) {
  const response = await ask(path, { isByItself });
  return { bytes: await response.blob(), type: response.headers.get('Content-Type') ?? '' };
}

/** Uploads a file; resolves with its id. */
export async function upload(file) {
  const response = await ask('attachments', {
    method: 'POST',
    headers: {
      'Content-Type': file.type || 'application/octet-stream',
      'Content-Disposition': `attachment; filename*=UTF-8''${encodeURIComponent(file.name)}`,
    },
    body: file,
  });
  return (await response.json()).id;
}

async function ask(path, { headers, isByItself = false, key: asked = key, ...options }) {
  if (isByItself && !mayAskByItself()) throw new Refusal(0, { detail: 'Not asked, to spare the limit.' });
  let response;
  try {
    response = await fetch(new URL(path, API), { ...options, headers: { ...headers, 'X-API-Key': asHeader(asked) } });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Refusal(0, { detail: 'Postern does not answer. Is it running?' });
  }
  noteLimit(response.headers);
  if (response.ok) return response;
  throw new Refusal(response.status, await response.json().catch(() => ({ detail: `Status ${response.status}.` })));
}

/** Encodes the key for a header, as UTF-8 bytes (decision E6). */
function asHeader(text) {
  return String.fromCharCode(...new TextEncoder().encode(text));
}
