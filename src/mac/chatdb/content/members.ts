import { EARLIEST, isoOf, LATEST } from '../columns.ts';

type Dictionary = ReadonlyMap<string, unknown>;

/** The dictionary that a member holds; an empty one where it holds none. */
export function dictionaryIn(from: unknown, ...path: readonly string[]): Dictionary {
  let found: unknown = from;
  for (const name of path) found = found instanceof Map ? found.get(name) : undefined;
  return found instanceof Map ? found : NOTHING;
}

const NOTHING: Dictionary = new Map();

/** Longer texts of a card are cut: no screen shows as much. */
const MAX_CHARACTERS = 100_000;

/** The text of a member, undefined for an empty one. */
export function textIn(from: Dictionary, name: string): string | undefined {
  const value = from.get(name);
  return typeof value === 'string' && value !== '' ? value.slice(0, MAX_CHARACTERS) : undefined;
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

/** An object of parsed JSON as a dictionary, so that no key means something to JavaScript. */
export function dictionaryOf(value: unknown): Dictionary {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? new Map(Object.entries(value))
    : NOTHING;
}

/** Parses JSON; undefined for what is none, or nested too deep. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** An instant from seconds since 2001, clamped as dates are (decision B6); undefined for what is no number. */
export function isoAtSeconds(seconds: number | undefined): string | undefined {
  if (seconds === undefined || Number.isNaN(seconds)) return undefined;
  const clamped = Math.min(Math.max(Math.trunc(seconds), EARLIEST.seconds), LATEST.seconds);
  return isoOf({ seconds: clamped, nanos: 0 });
}

/** The members with a value; undefined when there are none. */
export function present<Members extends object>(members: Members): Members | undefined {
  const there = Object.entries(members).filter(([, value]) => value !== undefined);
  return there.length === 0 ? undefined : (Object.fromEntries(there) as Members);
}

/** The distinct values, in their order. */
export function distinct<Value>(values: readonly Value[]): readonly Value[] {
  return [...new Set(values)];
}

/** The last of the parts between colons: the bundle of a balloon, whatever its envelope. */
export function lastOfColons(id: string): string {
  return id.slice(id.lastIndexOf(':') + 1);
}
