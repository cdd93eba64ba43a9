import { randomUUID } from 'node:crypto';
import { parsedUrl } from '../../core/model/parsed-url.ts';
import type { Clock } from '../../core/model/ports/host-ports.ts';
import { OAuthError } from './oauth-error.ts';
import type { OAuthClient, OAuthStore } from './ports.ts';

const MAX_CLIENTS = 100;
const MAX_URIS = 10;
const MAX_URI = 2000;
const MAX_NAME = 100;

interface OAuthClientsParts {
  readonly store: OAuthStore;
  readonly clock: Clock;
  /** Reads the JSON at a public https address. Rejects with the reason. */
  readonly readDocument: (url: URL) => Promise<unknown>;
}

/**
 * The programs that may ask for access. A program either has registered (RFC 7591), or describes itself in a document
 * at its own address.
 */
export class OAuthClients {
  readonly #parts: OAuthClientsParts;

  constructor(parts: OAuthClientsParts) {
    this.#parts = parts;
  }

  /** Returns a client. Throws an OAuthError if it is unknown or its document is unusable. */
  async find(id: string): Promise<OAuthClient> {
    const known = this.#known(id);
    return known instanceof URL ? documentClient(id, await this.#read(known)) : known;
  }

  /** Throws an OAuthError unless the client is registered, or its id can be the address of a document. */
  assertKnown(id: string): void {
    this.#known(id);
  }

  #known(id: string): OAuthClient | URL {
    const registered = this.#parts.store.client(id);
    if (registered !== undefined) return registered;
    const url = id.length <= MAX_URI ? parsedUrl(id) : undefined;
    const isDocument = url?.protocol === 'https:' && url.pathname !== '/' && url.hash === '' && url.username === '';
    if (url === undefined || !isDocument) throw new OAuthError('invalid_client', 'This client is not registered.', 401);
    return url;
  }

  /** Registers a client and returns its record. Throws an OAuthError for unusable redirect addresses. */
  register(given: unknown): object {
    const { store, clock } = this.#parts;
    const client = { id: randomUUID(), ...metadataOf(given) };
    if (!store.addClient(client, clock.now(), MAX_CLIENTS)) {
      throw new OAuthError('temporarily_unavailable', `All ${MAX_CLIENTS} client registrations are in use.`, 503);
    }
    return {
      client_id: client.id,
      client_id_issued_at: Math.floor(clock.now() / 1000),
      client_name: client.name,
      redirect_uris: client.redirectUris,
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    };
  }

  async #read(url: URL): Promise<unknown> {
    try {
      return await this.#parts.readDocument(url);
    } catch (error) {
      const reason = error instanceof SyntaxError ? 'it is not JSON' : String((error as Error).message).slice(0, 200);
      throw new OAuthError('invalid_client', `The document of this client cannot be read: ${reason}.`, 401);
    }
  }
}

/**
 * Reports whether the client has registered this address, and may still have it. For a loopback address, the port may
 * differ, but nothing else.
 */
export function isRedirectOf({ redirectUris }: OAuthClient, uri: string): boolean {
  const asked = parsedUrl(uri);
  if (asked === undefined || !isRedirectUri(uri)) return false;
  return redirectUris.includes(uri) || redirectUris.some((listed) => isSameButPort(parsedUrl(listed), asked));
}

/** Reports whether a redirect address leads to a program on the computer instead of a web server. */
export function isOwnScheme(uri: string): boolean {
  return !/^https?:$/.test(parsedUrl(uri)?.protocol ?? '');
}

function documentClient(id: string, given: unknown): OAuthClient {
  if ((given as { readonly client_id?: unknown } | null)?.client_id !== id) {
    throw new OAuthError('invalid_client', 'The `client_id` in the document is not the address of the document.', 401);
  }
  return { id, ...metadataOf(given) };
}

function metadataOf(given: unknown): Omit<OAuthClient, 'id'> {
  const { client_name: name, redirect_uris: uris } = (given ?? {}) as Readonly<Record<string, unknown>>;
  const isList = Array.isArray(uris) && uris.length > 0 && uris.length <= MAX_URIS;
  if (!isList || !uris.every(isRedirectUri)) {
    const message = `redirect_uris must be 1 to ${MAX_URIS} addresses. Each must use https, http at a loopback address, or a scheme made from a program's domain name, such as com.example.app.`;
    throw new OAuthError('invalid_redirect_uri', message);
  }
  const shown = typeof name === 'string' ? name.trim().slice(0, MAX_NAME) : '';
  return { name: shown === '' ? 'A program without a name' : shown, redirectUris: uris as string[] };
}

/**
 * The schemes of well-known MCP clients that have no dot. Any other scheme without one could belong to an app that acts
 * on what it receives, such as `ssh:` or `shortcuts:`.
 */
const CLIENT_SCHEMES: ReadonlySet<string> = new Set(
  'chatgpt cherrystudio claude cursor goose kiro lmstudio trae vscode vscode-insiders vscodium windsurf zed'
    .split(' ')
    .map((name) => `${name}:`),
);
/** Matches a scheme that a program made from its domain name (RFC 8252, 7.1), such as `com.example.app:`. */
const DOMAIN_SCHEME = /^(?!x-apple|com\.apple\.)[a-z][a-z\d-]*\.[a-z\d.-]+:$/;
/**
 * Matches a plain host name or address. The host in a URL can also contain `;` or `,`, but either character would end a
 * directive of `pagePolicy`.
 */
const PLAIN_HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])$/;

function isRedirectUri(uri: unknown): boolean {
  const url = typeof uri === 'string' && uri.length <= MAX_URI ? parsedUrl(uri) : undefined;
  if (url === undefined) return false;
  const { protocol, hostname, hash, username, password } = url;
  if (hash !== '' || username !== '' || password !== '') return false;
  if (protocol === 'https:') return PLAIN_HOST.test(hostname);
  if (protocol === 'http:') return isLoopback(url);
  return CLIENT_SCHEMES.has(protocol) || (DOMAIN_SCHEME.test(protocol) && !/\.[.:]/.test(protocol));
}

function isLoopback({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
}

function isSameButPort(listed: URL | undefined, asked: URL): boolean {
  if (listed === undefined || !isLoopback(listed)) return false;
  listed.port = asked.port;
  return listed.href === asked.href;
}
