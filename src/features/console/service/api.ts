import { mayAskByItself, noteLimit, noteLimited, untilAllowed } from './budget.ts';
import { keptKey } from './kept-key.ts';
import { placePath } from './place.ts';
import { currentRoute } from './route.ts';

/** The URL is relative to the page, so that it also works behind a proxy that adds a folder to the path. */
export const API = new URL(`${placePath}api/v1/`, location.href);

let key = keptKey();

/** Returns the API key that this page sends with its requests. */
export const currentKey = (): string => key;

export function useKey(candidate: string): void {
  key = candidate;
}

interface Problem {
  readonly detail?: string;
  readonly errors?: readonly { readonly message: string }[];
  readonly hint?: string;
  readonly code?: string;
}

/**
 * An error answer of the service, with the service's own text as the message. `status` is the HTTP status, or 0 if the
 * request was not answered. It is also 429 if the page did not make the request, to stay within the limit.
 */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string | undefined;
  readonly members: Readonly<Record<string, unknown>>;

  constructor(status: number, { detail, errors = [], hint, code, ...members }: Problem) {
    const mistakes = errors.filter(({ message }) => message !== detail).map(({ message }) => message);
    super([detail, ...mistakes, hint].filter(Boolean).join(' '));
    this.status = status;
    this.code = code;
    this.members = members;
  }
}

/** Reports whether the service cannot answer for now: it is still starting, or its Mac is away. */
export const isAway = (error: unknown): boolean => [0, 503].includes(statusOf(error) ?? -1);

/** Reports whether neither the service nor the Mac behind it has answered. */
export const isUnreachable = (error: unknown): boolean =>
  error instanceof Refusal && (error.status === 0 || /^mac_(?:away|silent)$/.test(error.code ?? ''));

/** Returns the status of a refusal; undefined for any other error. */
export const statusOf = (error: unknown): number | undefined => (error instanceof Refusal ? error.status : undefined);

export interface Asked {
  /** True for a call that no click caused. To stay within the request limit, it may throw without making a request. */
  readonly isByItself?: boolean | undefined;
  /** True if the answer is also wanted once its view was left: another view waits for it, or an action. */
  readonly isKept?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface CallOptions extends Asked {
  readonly method?: string;
  readonly body?: unknown;
  /** Replaces this page's key. */
  readonly key?: string;
  readonly idempotencyKey?: string;
}

/** Calls the API. Throws a Refusal. */
export async function call<Answer = unknown>(
  path: string,
  { method = 'GET', body, idempotencyKey, ...options }: CallOptions = {},
): Promise<Answer> {
  const response = await ask(path, {
    ...options,
    method,
    headers: {
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
    },
    body: body === undefined ? null : JSON.stringify(body),
  });
  return response.status === 204 ? (undefined as Answer) : ((await response.json()) as Answer);
}

export interface AnswerPage<Item> {
  readonly items: Item[];
  readonly headers: Headers;
  /** The path of the next page; undefined if this is the last one. */
  readonly next: string | undefined;
}

/** Returns one page of a list. Throws a Refusal. */
export async function pageOf<Item = unknown>(path: string, options: Asked = {}): Promise<AnswerPage<Item>> {
  const response = await ask(path, options);
  const [, next] = /<([^<>]+)>; rel="next"/.exec(response.headers.get('Link') ?? '') ?? [];
  return {
    items: (await response.json()) as Item[],
    headers: response.headers,
    next: next && new URL(next, new URL(path, API)).href,
  };
}

/** Returns the offset in the link to the next page of events; undefined if there is none. */
export const offsetIn = (link: string): string | undefined => /[?&]after=([\w-]+)/.exec(link)?.[1];

/** Returns the newest offset in the feed of events and changes; undefined if changes are switched off. */
export async function newestOffset(): Promise<string | undefined> {
  try {
    const { headers } = await ask('events?changes=true', { isKept: true });
    return offsetIn(headers.get('link') ?? '');
  } catch (error) {
    if (statusOf(error) === 404) return undefined;
    throw error;
  }
}

/** Returns the bytes of an attachment and their Content-Type. Throws a Refusal. */
export async function bytesAt(path: string, { isByItself }: Asked = {}): Promise<{ bytes: Blob; type: string }> {
  const response = await ask(path, { isByItself });
  return { bytes: await response.blob(), type: response.headers.get('Content-Type') ?? '' };
}

/** Uploads a file. Resolves with its id. */
export async function upload(file: File): Promise<string> {
  const response = await ask('attachments', {
    method: 'POST',
    headers: {
      'Content-Type': file.type || 'application/octet-stream',
      'Content-Disposition': `attachment; filename*=UTF-8''${encodeURIComponent(file.name)}`,
    },
    body: file,
  });
  return ((await response.json()) as { readonly id: string }).id;
}

interface AskOptions extends Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: BodyInit | null;
  readonly key?: string;
}

/**
 * Makes a request. One that only reads waits while the request limit is reached, so that a view keeps what it shows and
 * then loads by itself. If that view has been left meanwhile, throws a Refusal without words.
 */
async function ask(
  path: string,
  { isByItself = false, isKept = false, key: asked = key, ...options }: AskOptions,
): Promise<Response> {
  if (isByItself && !mayAskByItself()) {
    throw new Refusal(429, { detail: 'Not loaded, to stay within the request limit.' });
  }
  const { method = 'GET' } = options;
  const isPatient = method === 'GET' && !isByItself;
  const { view } = currentRoute();
  for (;;) {
    if (isPatient && (await untilAllowed()) && !isKept && currentRoute().view !== view) throw new Refusal(0, {});
    const response = await answerTo(path, { ...options, key: asked });
    noteLimit(response.headers);
    if (response.ok) return response;
    if (response.status === 429) noteLimited(response.headers);
    if (response.status === 429 && isPatient) continue;
    const problem = (await response.json().catch(() => ({ detail: `Status ${response.status}.` }))) as Problem;
    throw new Refusal(response.status, problem);
  }
}

async function answerTo(
  path: string,
  { headers, key: asked = key, signal, ...options }: AskOptions,
): Promise<Response> {
  const url = new URL(path, API);
  // Ids and links come from answers. None leads to another service, which would get this page's key.
  if (!url.href.startsWith(API.href)) {
    throw new Refusal(0, { detail: 'The service gave an address that is not its own.' });
  }
  try {
    return await fetch(url, {
      ...options,
      signal: signal ?? null,
      headers: { ...headers, 'X-API-Key': asHeader(asked) },
    });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new Refusal(0, { detail: 'Postern does not answer. Is it running?' });
  }
}

/** Encodes the key for a header, as UTF-8 bytes (decision E6). */
const asHeader = (text: string): string => String.fromCharCode(...new TextEncoder().encode(text));

/**
 * Returns a curl command for the request behind a view. The command contains `$KEY` instead of the key itself, because
 * commands are copied into logs and chats.
 */
export const curlOf = (path: string, options = ''): string =>
  `curl ${options}-H "X-API-Key: $KEY" "${new URL(path, API).href.replaceAll('$', '%24').replaceAll('`', '%60').replaceAll('!', '%21')}"`;
