import { EARLIEST, isoOf, LATEST } from '../columns.ts';
import type { RowBudget } from './row-budget.ts';

type Dictionary = ReadonlyMap<string, unknown>;

/** Returns the dictionary at a path of members; an empty dictionary if there is none. */
export function dictionaryIn(from: unknown, ...path: readonly string[]): Dictionary {
  let found: unknown = from;
  for (const name of path) found = found instanceof Map ? found.get(name) : undefined;
  return found instanceof Map ? found : NOTHING;
}

const NOTHING: Dictionary = new Map();

/** Returns the text of the member `name`; undefined if it is empty or not a text. */
export function textIn(from: Dictionary, name: string): string | undefined {
  const value = from.get(name);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function numberIn(from: Dictionary, name: string): number | undefined {
  const value = from.get(name);
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

export function listIn(from: Dictionary, name: string): readonly unknown[] {
  const value = from.get(name);
  return Array.isArray(value) ? value : [];
}

export function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

/**
 * Converts a parsed JSON object to a Map, in which keys such as `__proto__` are ordinary. Returns an empty Map for any
 * other value.
 */
export function dictionaryOf(value: unknown): Dictionary {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? new Map(Object.entries(value))
    : NOTHING;
}

/** Number of characters of JSON that take one step of the budget: an empty object has three with its comma. */
const CHARACTERS_A_STEP = 32;

/** Parses JSON; returns undefined if it is invalid, nested too deeply or exceeds the budget. */
export function parseJson(text: string, budget: RowBudget): unknown {
  if (!budget.step(Math.ceil(text.length / CHARACTERS_A_STEP))) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Formats seconds since 2001 as an ISO date, clamped like all dates (decision B6). Undefined if not a number. */
export function isoAtSeconds(seconds: number | undefined): string | undefined {
  if (seconds === undefined || Number.isNaN(seconds)) return undefined;
  const clamped = Math.min(Math.max(Math.trunc(seconds), EARLIEST.seconds), LATEST.seconds);
  return isoOf({ seconds: clamped, nanos: 0 });
}

/** Returns the members whose value is not undefined; undefined if no member has a value. */
export function present<Members extends object>(members: Members): Members | undefined {
  let found: Partial<Members> | undefined;
  for (const name of Object.keys(members) as (keyof Members)[]) {
    if (members[name] === undefined) continue;
    found ??= {};
    found[name] = members[name];
  }
  return found as Members | undefined;
}

/** Returns the distinct values in their original order. */
export function distinct<Value>(values: readonly Value[]): readonly Value[] {
  return [...new Set(values)];
}

/** Returns the text after the last colon, which is the bundle id in a balloon's id. */
export function lastOfColons(id: string): string {
  return id.slice(id.lastIndexOf(':') + 1);
}
