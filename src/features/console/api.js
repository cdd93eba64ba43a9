import { mayAskByItself, noteLimit } from './budget.js';
import { keptKey } from './kept-key.js';

/** The URL is relative to the page, so that it also works behind a proxy that adds a folder to the path. */
export const API = new URL('api/v1/', location.href);

let key = keptKey();

/** Returns the API key that this page sends with its requests. */
export const currentKey = () => key;

/** @param {string} candidate */
export function useKey(candidate) {
  key = candidate;
}

/**
 * An error answer of the service, with the service's own text as the message. `status` is the HTTP status, or 0 if the
 * request was not made or not answered.
 */
export class Refusal extends Error {
  /**
   * @param {number} status
   * @param {{ readonly detail?: string, readonly errors?: readonly { readonly message: string }[],
   *   readonly hint?: string, readonly code?: string }} problem
   * @param {number} [retryAfterS]
   */
  constructor(status, { detail, errors = [], hint, code, ...members }, retryAfterS = 0) {
    const mistakes = errors.filter(({ message }) => message !== detail).map(({ message }) => message);
    super([detail, ...mistakes, hint].filter(Boolean).join(' '));
    this.status = status;
    this.code = code;
    this.retryAfterS = retryAfterS;
    /** @type {Record<string, any>} */
    this.members = members;
  }
}

/**
 * Returns the status of a refusal; undefined for any other error.
 * @param {unknown} error
 */
export const statusOf = (error) => (error instanceof Refusal ? error.status : undefined);

/**
 * @typedef {{ readonly method?: string, readonly body?: unknown, readonly isByItself?: boolean | undefined,
 *   readonly key?: string, readonly signal?: AbortSignal | undefined }} CallOptions
 */

/**
 * Calls the API. Throws a Refusal. `isByItself` marks a call that no click caused. To stay within the request limit,
 * such a call may throw without making a request. `key` replaces this page's key.
 * @param {string} path
 * @param {CallOptions} [options]
 * @returns {Promise<any>}
 */
export async function call(path, { method = 'GET', body, ...options } = {}) {
  const response = await ask(path, {
    ...options,
    method,
    headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
  });
  return response.status === 204 ? undefined : response.json();
}

/**
 * Returns one page of a list, and the path of the next page if there is one. Throws a Refusal.
 * @param {string} path
 * @param {{ readonly signal?: AbortSignal, readonly isByItself?: boolean | undefined }} [options]
 * @returns {Promise<{ readonly items: any[], readonly headers: Headers, readonly next: string | undefined }>}
 */
export async function pageOf(path, { signal, isByItself } = {}) {
  const response = await ask(path, { signal, isByItself });
  const [, next] = /<([^<>]+)>; rel="next"/.exec(response.headers.get('Link') ?? '') ?? [];
  return {
    items: await response.json(),
    headers: response.headers,
    next: next && new URL(next, new URL(path, API)).href,
  };
}

/** Returns the newest offset in the feed of events and changes; undefined if changes are switched off. */
export async function newestOffset() {
  try {
    const { headers } = await ask('events?changes=true', {});
    return /[?&]after=([\w-]+)/.exec(headers.get('link') ?? '')?.[1];
  } catch (error) {
    if (statusOf(error) === 404) return undefined;
    throw error;
  }
}

/**
 * Returns the bytes of an attachment and their Content-Type. Throws a Refusal.
 * @param {string} path
 * @param {{ readonly isByItself?: boolean | undefined }} [options]
 */
export async function bytesAt(path, { isByItself } = {}) {
  const response = await ask(path, { isByItself });
  return { bytes: await response.blob(), type: response.headers.get('Content-Type') ?? '' };
}

/**
 * Uploads a file. Resolves with its id.
 * @param {File} file
 * @returns {Promise<string>}
 */
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

/**
 * @param {string} path
 * @param {{ readonly method?: string, readonly headers?: Record<string, string>, readonly body?: BodyInit | null,
 *   readonly isByItself?: boolean | undefined, readonly key?: string, readonly signal?: AbortSignal | undefined }} request
 */
async function ask(path, { headers, isByItself = false, key: asked = key, ...options }) {
  if (isByItself && !mayAskByItself())
    throw new Refusal(0, { detail: 'Not loaded, to stay within the request limit.' });
  let response;
  try {
    const request = /** @type {RequestInit} */ (options);
    response = await fetch(new URL(path, API), { ...request, headers: { ...headers, 'X-API-Key': asHeader(asked) } });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new Refusal(0, { detail: 'Postern does not answer. Is it running?' });
  }
  noteLimit(response.headers);
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({ detail: `Status ${response.status}.` }));
  throw new Refusal(response.status, problem, Number(response.headers.get('Retry-After') ?? 0));
}

/**
 * Encodes the key for a header, as UTF-8 bytes (decision E6).
 * @param {string} text
 */
function asHeader(text) {
  return String.fromCharCode(...new TextEncoder().encode(text));
}

/**
 * Returns a curl command for the request behind a view. The command contains `$KEY` instead of the key itself, because
 * commands are copied into logs and chats.
 * @param {string} path
 * @param {string} [options]
 */
export const curlOf = (path, options = '') =>
  `curl ${options}-H "X-API-Key: $KEY" "${new URL(path, API).href.replaceAll('$', '%24').replaceAll('`', '%60').replaceAll('!', '%21')}"`;
