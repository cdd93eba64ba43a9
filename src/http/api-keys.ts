import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { AppError } from '../domain/errors.ts';
import { problem } from '../domain/problems.ts';

/** Decision E6: compared over digests, so that neither content nor length shows in the time it takes. */
export class ApiKeys {
  readonly #digest: Buffer;

  constructor(apiKey: string) {
    this.#digest = digest(Buffer.from(apiKey));
  }

  isInHeader({ headers }: IncomingMessage): boolean {
    const given = headers['x-api-key'];
    // Node decodes header bytes as Latin-1; the key in the configuration is UTF-8. Two headers come joined: no key.
    return typeof given === 'string' && this.#is(Buffer.from(given, 'latin1'));
  }

  /** `api_key` in a raw query, its `+` read as a plus and as a space: clients write both. */
  isInQuery(rawQuery: string): boolean {
    const given = rawQuery.split('&').filter((part) => part.startsWith('api_key='));
    const [value] = given;
    if (value === undefined || given.length > 1) return false;
    const written = value.slice('api_key='.length);
    return [written, written.replaceAll('+', ' ')].some((text) => {
      const key = decoded(text);
      return key !== undefined && this.#is(Buffer.from(key));
    });
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
