import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Caller, Callers } from '../../domain/caller.ts';
import type { AppError } from '../../domain/errors.ts';
import { problem } from '../../domain/problems.ts';

/** Form of a limited key. Only such a key may come as a Bearer token (decision S2). */
const BEARER = /^Bearer +(postern_[\w-]+) *$/i;

/**
 * Finds the caller of a key. Compares digests, the owner's first, so that the time taken reveals neither content nor
 * length (decision E6).
 */
export class ApiKeys {
  readonly #digest: Buffer;
  readonly #callers: Callers;

  constructor(apiKey: string, callers: Callers) {
    this.#digest = digest(Buffer.from(apiKey));
    this.#callers = callers;
  }

  /** Returns undefined for an invalid key, and if two headers contain different keys (decision S2). */
  inHeader({ headers }: IncomingMessage): Caller | undefined {
    const given = headers['x-api-key'];
    const bearer = BEARER.exec(headers.authorization ?? '')?.[1];
    if (given === undefined) return bearer === undefined ? undefined : this.#callers.find(bearer);
    // Two headers of one name arrive joined, which is no valid key.
    if (typeof given !== 'string' || (bearer !== undefined && bearer !== given)) return undefined;
    // Node decodes header bytes as Latin-1; the key in the configuration is UTF-8.
    return this.#is(Buffer.from(given, 'latin1')) ? this.#callers.owner : this.#callers.find(given);
  }

  /**
   * Reads `api_key` from a raw query, with `+` as a plus and as a space: clients write both. A limited key may also
   * be a Bearer token.
   */
  inQuery(rawQuery: string, { headers }: IncomingMessage): Caller | undefined {
    const given = rawQuery.split('&').filter((part) => part.startsWith('api_key='));
    const [value] = given;
    const bearer = BEARER.exec(headers.authorization ?? '')?.[1];
    if (value === undefined && bearer !== undefined) return this.#callers.find(bearer);
    if (value === undefined || given.length > 1) return undefined;
    const written = value.slice('api_key='.length);
    const keys = [written, written.replaceAll('+', ' ')].map(decoded);
    if (keys.some((key) => key !== undefined && this.#is(Buffer.from(key)))) return this.#callers.owner;
    const [key] = keys;
    if (key === undefined || (bearer !== undefined && bearer !== key)) return undefined;
    return this.#callers.find(key);
  }

  #is(given: Buffer): boolean {
    return timingSafeEqual(digest(given), this.#digest);
  }
}

function digest(bytes: Buffer): Buffer {
  return hash('sha256', bytes, 'buffer');
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The path of MCP, where the owner's key is refused. */
const AT_MCP = /^(?:https?:\/\/[^/?]*)?\/mcp(?:\?|$)/i;
/** Something in the form of a limited key, in a header or a query. */
const LIKE_A_LIMITED_KEY = /(?:^|Bearer +|api_key=)postern_/i;

/**
 * Returns the same error for a missing key and a wrong one (decision E6). Only the form of what was sent, and the place,
 * choose the text: an agent with a limited key must not be told where to find the owner's. A Bearer token has another
 * text, which is the same for the owner's key and for any other text. Without a request, a limited key has ended.
 */
export function unauthorized(request?: Pick<IncomingMessage, 'headers' | 'url'>): AppError {
  if (request === undefined) return refused('limited_key_refused');
  const { headers, url = '' } = request;
  const { 'x-api-key': given, authorization = '' } = headers;
  const isLimited = [String(given), authorization, url].some((text) => LIKE_A_LIMITED_KEY.test(text));
  if (isLimited || AT_MCP.test(url)) return refused('limited_key_refused');
  return refused(given === undefined && /^Bearer\b/i.test(authorization) ? 'bearer_refused' : 'unauthorized');
}

function refused(name: 'limited_key_refused' | 'bearer_refused' | 'unauthorized'): AppError {
  return problem(name, {}, { headers: { 'WWW-Authenticate': 'ApiKey realm="postern"' } });
}
