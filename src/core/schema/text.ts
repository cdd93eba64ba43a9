import * as z from 'zod';

/** The mistake of a body that is not an object. */
export const NOT_AN_OBJECT = { error: 'The body must be a JSON object.' };

/**
 * Returns the schema of a required string. `what` is the subject in the texts of mistakes. For a member, it is the
 * member's name in backticks, because "The body is missing" would seem to be about the whole body of the request.
 * Refuses NUL and lone surrogates, which Messages or a database would not store. Lengths count Unicode characters (code
 * points), as in JSON Schema, so that a simple emoji is one character.
 */
export function text(what: string, maxCharacters = Number.POSITIVE_INFINITY) {
  const schema = z
    .string({ error: ({ input }) => (input === undefined ? `${what} is missing.` : `${what} must be a string.`) })
    .refine((value) => !value.includes('\0'), `${what} must not contain a NUL character.`)
    .refine((value) => !/\p{Surrogate}/u.test(value), `${what} must not contain a lone surrogate.`);
  if (maxCharacters === Number.POSITIVE_INFINITY) return schema;
  return schema
    .refine((value) => isAtMost(value, maxCharacters), {
      // Formats the number only when the check fails, because the first formatting in a locale is slow.
      error: () => `${what} must not be longer than ${maxCharacters.toLocaleString('en')} characters.`,
      // Skips the later checks, which can be slow on a long text: 64 KB of marks in a URL take 0.8 s.
      abort: true,
    })
    .meta({ maxLength: maxCharacters });
}

function isAtMost(value: string, characters: number): boolean {
  return value.length <= characters || (value.length <= 2 * characters && [...value].length <= characters);
}

/** Returns the schema of an array with at most `max` items. `what` names it in mistakes. */
export function list<Item extends z.ZodType>(what: string, item: Item, max: number) {
  return z
    .array(item, {
      error: ({ input }) => (input === undefined ? `${what} is missing.` : `${what} must be an array.`),
    })
    .max(max, `${what} must have at most ${max} items.`);
}
