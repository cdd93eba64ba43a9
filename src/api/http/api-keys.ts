import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Caller, Callers } from '../../domain/caller.ts';
import type { AppError } from '../../domain/errors.ts';
import { problem } from '../../domain/problems.ts';

/** What a limited key looks like. Only such a key may come as a Bearer token (decision S2). */
const BEARER = /^Bearer +(postern_[\w-]+) *$/i;

/**
 * Who presents a key. The owner's is compared first, over digests, so that neither content nor length shows in the
 * time it takes (decision E6).
 */
export class ApiKeys {
  readonly #digest: Buffer;
  readonly #callers: Callers;

  constructor(apiKey: string, callers: Callers) {
    this.#digest = digest(Buffer.from(apiKey));
    this.#callers = callers;
  }

  /** undefined: nobody, also when two headers hold different keys (decision S2). */
  inHeader({ headers }: IncomingMessage): Caller | undefined {
    const given = headers['x-api-key'];
    const bearer = BEARER.exec(headers.authorization ?? '')?.[1];
    if (given === undefined) return bearer === undefined ? undefined : this.#callers.find(bearer);
    // Two headers come joined: no key.
    if (typeof given !== 'string' || (bearer !== undefined && bearer !== given)) return undefined;
    // Node decodes header bytes as Latin-1; the key in the configuration is UTF-8.
    return this.#is(Buffer.from(given, 'latin1')) ? this.#callers.owner : this.#callers.find(given);
  }

  /** `api_key` in a raw query, its `+` read as a plus and as a space: clients write both. A limited key may be a Bearer too. */
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

/** The same for a missing key and a wrong one (decision E6). */
export function unauthorized(): AppError {
  return problem('unauthorized', {}, { headers: { 'WWW-Authenticate': 'ApiKey realm="postern"' } });
}
