import type * as z from 'zod';
import type { Mistake } from '../domain/errors.ts';

/** What a check of something from outside says: the value as the program uses it, or every mistake in it. */
export type Checked<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly mistakes: readonly Mistake[] };

/** Checks a body; the pointers are JSON pointers (RFC 6901) into it. */
export function checkBody<Schema extends z.ZodType>(schema: Schema, body: unknown): Checked<z.output<Schema>> {
  const result = schema.safeParse(body);
  if (result.success) return { ok: true, value: result.data };
  return { ok: false, mistakes: result.error.issues.map(({ path, message }) => mistake(path, message)) };
}

function mistake(path: readonly PropertyKey[], message: string): Mistake {
  return {
    pointer: path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''),
    message,
  };
}
