import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Caller, Callers } from '../model/caller.ts';
import type { AppError } from '../model/errors.ts';
import { decodedPart } from '../model/parsed-url.ts';
import { problem } from '../model/problems.ts';

/** Only limited keys are accepted as Bearer tokens (decision S2). */
const BEARER = /^Bearer +(postern_[\w-]+) *$/i;

/**
 * Finds the caller that a key belongs to. Compares digests, so that the time taken reveals neither the content nor the
 * length of a key.
 */
export class ApiKeys {
  readonly #digest: Buffer;
  readonly #callers: Callers;

  constructor(apiKey: string, callers: Callers) {
    this.#digest = digest(Buffer.from(apiKey));
    this.#callers = callers;
  }

  /**
   * Finds the caller by a key in a header. Returns undefined for an invalid key, and for two headers with different
   * keys (decision S2).
   */
  inHeader({ headers }: IncomingMessage): Caller | undefined {
    const given = headers['x-api-key'];
    const bearer = BEARER.exec(headers.authorization ?? '')?.[1];
    if (given === undefined) return bearer === undefined ? undefined : this.#callers.find(bearer);
    // Node joins repeated X-API-Key headers with a comma and a space. The result is not a valid key.
    if (typeof given !== 'string' || (bearer !== undefined && bearer !== given)) return undefined;
    // Node decodes header bytes as Latin-1. Encoding the text as Latin-1 restores the client's bytes, which must equal
    // the UTF-8 bytes of the owner's key.
    return this.#is(Buffer.from(given, 'latin1')) ? this.#callers.owner : this.#callers.find(given);
  }

  /**
   * Finds the caller by `api_key` in a raw query. Tries each `+` as a plus and as a space, because some clients leave a
   * plus unencoded and others encode a space as `+`. Also accepts a limited key as a Bearer token.
   */
  inQuery(rawQuery: string, { headers }: IncomingMessage): Caller | undefined {
    const given = rawQuery.split('&').filter((part) => part.startsWith('api_key='));
    const [value] = given;
    const bearer = BEARER.exec(headers.authorization ?? '')?.[1];
    if (value === undefined && bearer !== undefined) return this.#callers.find(bearer);
    if (value === undefined || given.length > 1) return undefined;
    const written = value.slice('api_key='.length);
    const keys = [written, written.replaceAll('+', ' ')].map(decodedPart);
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

/** Matches a header or a URL that contains a limited key. */
const LIKE_A_LIMITED_KEY = /(?:^|Bearer +|api_key=)postern_/i;

/**
 * Returns the error for a missing or wrong key; both get the same text (decision E6). The text depends only on the path
 * and the form of the key, so that holders of limited keys do not learn where the owner's key is. Without `request`,
 * returns the error for a limited key that is wrong, expired or revoked.
 */
export function unauthorized(request?: Pick<IncomingMessage, 'headers' | 'url'>, isForLimitedKeys = false): AppError {
  if (request === undefined || isForLimitedKeys) return refused('limited_key_refused');
  const { headers, url = '' } = request;
  const { 'x-api-key': given, authorization = '' } = headers;
  const isLimited = [String(given), authorization, url].some((text) => LIKE_A_LIMITED_KEY.test(text));
  if (isLimited) return refused('limited_key_refused');
  return refused(given === undefined && /^Bearer\b/i.test(authorization) ? 'bearer_refused' : 'unauthorized');
}

function refused(name: 'limited_key_refused' | 'bearer_refused' | 'unauthorized'): AppError {
  return problem(name, {}, { headers: { 'WWW-Authenticate': 'ApiKey realm="postern"' } });
}
