const LONGEST = 60;

/** Returns a value of config.toml for a message: on one line, spelled as in TOML, and cut after 60 characters. */
export function shown(value: unknown): string {
  const text = spelled(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

function spelled(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  // j-toml returns integers as bigint, so this number was written as a float.
  if (typeof value === 'number') return Number.isInteger(value) ? value.toFixed(1) : String(value);
  if (Array.isArray(value)) return `[${value.map(spelled).join(', ')}]`;
  if (typeof value === 'object' && value !== null) return isDate(value) ? value.toISOString() : 'a section';
  return String(value);
}

/**
 * Reports whether `value` is one of TOML's four kinds of dates. Only dates have `toISOString`: a table contains no
 * functions.
 */
export function isDate(value: object): value is { toISOString(): string } {
  return typeof (value as { toISOString?: unknown }).toISOString === 'function';
}
