import * as z from 'zod';
import type { Mistake } from '../model/errors.ts';
import { MAX_WAIT_S } from '../model/key.ts';
import { invalidRequest } from '../model/problems.ts';
import { parseInstant } from './instant.ts';
import { StrictQuery, strictQueryMistakes, withMaximum } from './strict.ts';

/**
 * The blank that other programs make of the `+` of a number: at the start, in a chat's guid, after `from:` or `in:`.
 */
const LOST_PLUS = /(^|;-;) (?=\d[\d ().-]{5,30}$)|((?:^|\s)-?(?:from|in):) (?=\d{7,15}(?:\s|$))/gi;

/**
 * Decodes a raw query string. A `+` in any parameter stays a plus, not a blank, because people paste addresses as they
 * are written; a plus that another program has turned into a blank is one again. Throws `invalid_request` with every
 * parameter that has malformed percent-encoding or a NUL.
 */
export function parseQuery(raw: string, isStrict = false): URLSearchParams {
  const query = isStrict ? new StrictQuery() : new URLSearchParams();
  const mistakes: Mistake[] = [];
  for (const part of raw.split('&')) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    const name = decode(equals === -1 ? part : part.slice(0, equals));
    const value = decode(equals === -1 ? '' : part.slice(equals + 1));
    if (name === undefined || value === undefined) {
      const message = 'The query must be percent-encoded UTF-8 without a NUL character.';
      mistakes.push({ pointer: `?${name ?? ''}`, message });
    } else {
      query.append(name, value.replaceAll(LOST_PLUS, '$1$2+'));
    }
  }
  if (mistakes.length > 0) throw invalidRequest(mistakes);
  return query;
}

function decode(text: string): string | undefined {
  try {
    const decoded = text.includes('%') ? decodeURIComponent(text) : text;
    return decoded.includes('\0') ? undefined : decoded;
  } catch {
    return undefined;
  }
}

/**
 * Returns the known parameters, parsed. Ignores unknown ones (decision B9), unless the query is strict. Throws
 * `invalid_request` with the mistakes in `others`, followed by every mistake in the query.
 */
export function readQuery<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  query: URLSearchParams,
  others: readonly Mistake[] = [],
): z.output<z.ZodObject<Shape>> {
  const given: Record<string, string> = {};
  const mistakes: Mistake[] = [...others, ...strictQueryMistakes(schema, query)];
  for (const name of Object.keys(schema.shape)) {
    const values = query.getAll(name);
    if (values[0] !== undefined) given[name] = values[0];
    if (values.length > 1) mistakes.push({ pointer: `?${name}`, message: `The parameter \`${name}\` is given twice.` });
  }
  const result = schema.safeParse(given);
  if (result.success && mistakes.length === 0) return result.data;
  const issues = result.error?.issues ?? [];
  throw invalidRequest([
    ...mistakes,
    ...issues.map(({ path, message }) => ({ pointer: `?${String(path[0])}`, message })),
  ]);
}

/** Returns the schema of `limit`. Values above `maximum` are lowered, or refused in a strict query (decision B9). */
export function limit(fallback: number, maximum: number) {
  const schema = wholeNumber('limit', 1)
    .transform((value) => Math.min(value, maximum))
    .default(fallback)
    .meta({
      type: 'integer',
      minimum: 1,
      description: `${fallback} by default. Values above ${maximum} count as ${maximum}; with \`Prefer: handling=strict\` they are refused with 400.`,
    });
  return withMaximum(schema, maximum);
}

export const offset = wholeNumber('offset', 0)
  .default(0)
  .meta({ type: 'integer', minimum: 0, description: 'Number of items to skip; 0 by default.' });

function wholeNumber(name: string, minimum: number) {
  return z.string().transform((text, context) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    // Lowers larger numbers to 2^53 - 1. No list has that many items, so the result is the same.
    if (value >= minimum) return Math.min(value, Number.MAX_SAFE_INTEGER);
    context.issues.push({
      code: 'custom',
      input: text,
      message: `The parameter \`${name}\` must be a whole number, ${minimum} or more.`,
    });
    return z.NEVER;
  });
}

export const since = z
  .string()
  .transform((text, context) => {
    const instant = parseInstant(text);
    if (instant !== undefined) return instant;
    const message =
      'The parameter `since` must be a date or a time with its zone, as in 2026-01-31, 2026-01-31T09:30:00Z or 2026-01-31T09:30:00.5+02:00.';
    context.issues.push({ code: 'custom', input: text, message });
    return z.NEVER;
  })
  .meta({
    description: 'Only items later than this ISO 8601 instant (with Z or an offset) or date (midnight UTC).',
  });

/**
 * The parameter `wait`: how many seconds an answer may be delayed until there is something to report (decision Q1).
 */
export const wait = z
  .string()
  .refine(
    (value) => /^\d{1,9}$/.test(value),
    `The parameter \`wait\` must be a whole number of seconds, at most ${MAX_WAIT_S}.`,
  )
  .transform((value) => Math.min(Number(value), MAX_WAIT_S))
  .optional()
  .meta({ type: 'integer', minimum: 0, description: `Seconds to wait for something new, at most ${MAX_WAIT_S}.` });

/** Returns the schema of a parameter that is true or false. */
export function flagParameter(name: string, description: string) {
  return z
    .enum(['true', 'false'], { error: `The parameter \`${name}\` must be true or false.` })
    .transform((text) => text === 'true')
    .optional()
    .meta({ description });
}

export const order = z
  .enum(['asc', 'desc'], { error: 'The parameter `order` must be "asc" or "desc".' })
  .default('desc')
  .meta({ description: 'desc, the default: newest first. asc: oldest first.' });
