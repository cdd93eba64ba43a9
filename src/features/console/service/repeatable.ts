// Requests that can be made again when nobody knows what became of them.

import { Refusal } from './api.ts';

/** Makes a request with an `Idempotency-Key`. `parts` are what tells it from another request. */
export type Repeatable = <Answer>(
  parts: readonly unknown[],
  request: (idempotencyKey: string) => Promise<Answer>,
) => Promise<Answer>;

/** Returns a function that gives an equal request the same key again as long as the outcome of the first is unknown. */
export function repeatable(): Repeatable {
  let last: { readonly parts: readonly unknown[]; readonly key: string } | undefined;
  return async (parts, request) => {
    const isSame = parts.length === last?.parts.length && last.parts.every((part, index) => part === parts[index]);
    const key = isSame && last !== undefined ? last.key : newKey();
    last = { parts, key };
    try {
      const answer = await request(key);
      last = undefined;
      return answer;
    } catch (error) {
      if (!isOpen(error)) last = undefined;
      throw error;
    }
  };
}

/** Reports whether the request may still be carried out, or have been: a repeat then gets the outcome. */
const isOpen = (error: unknown): boolean =>
  error instanceof Refusal && (error.status === 0 || /^(?:send_in_progress|mac_silent)$/.test(error.code ?? ''));

/** Returns a random key. A page from another machine over HTTP has no `crypto.randomUUID`. */
const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
