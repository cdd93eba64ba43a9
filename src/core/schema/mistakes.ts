import type * as z from 'zod';
import type { Mistake } from '../model/errors.ts';
import { invalidRequest } from '../model/problems.ts';
import { unknownMembers } from './strict.ts';

/** The result of checking outside input: the value as the program uses it, or every mistake in it. */
export type Checked<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly mistakes: readonly Mistake[] };

/** Checks a body. The pointer of each mistake is a JSON pointer (RFC 6901) into the body. */
export function checkBody<Schema extends z.ZodType>(schema: Schema, body: unknown): Checked<z.output<Schema>> {
  const result = schema.safeParse(body);
  const unknown = unknownMembers(schema, body);
  if (result.success && unknown.length === 0) return { ok: true, value: result.data };
  const issues = result.error?.issues ?? [];
  return { ok: false, mistakes: [...issues.map(({ path, message }) => mistake(path, message)), ...unknown] };
}

/** Returns the checked body. Throws `invalid_request` with every mistake in it. */
export function readBody<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const checked = checkBody(schema, body);
  if (!checked.ok) throw invalidRequest(checked.mistakes);
  return checked.value;
}

function mistake(path: readonly PropertyKey[], message: string): Mistake {
  return {
    pointer: path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''),
    message,
  };
}
