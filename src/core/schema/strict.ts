import * as z from 'zod';
import type { Mistake } from '../model/errors.ts';
import { isRecord } from '../model/record.ts';

// `Prefer: handling=strict` (decision S1) makes unknown members and parameters mistakes. Otherwise they are ignored.

const MAX_MISTAKES = 100;
const MAX_NAME = 60;

/** The query of a strict request. */
export class StrictQuery extends URLSearchParams {}

/** Bodies of strict requests. */
const strictBodies = new WeakSet<object>();

/**
 * Key: a schema. Value: its maximum. A strict query must not exceed the maximum. In other queries, larger values are
 * lowered to the maximum.
 */
const maxima = new WeakMap<z.ZodType, number>();

/** Records the maximum of a schema, and returns the schema. */
export function withMaximum<Schema extends z.ZodType>(schema: Schema, maximum: number): Schema {
  maxima.set(schema, maximum);
  return schema;
}

/** Reports whether a `Prefer` header (RFC 7240) contains `handling=strict`. */
export function asksForStrict(header: string | undefined): boolean {
  return preferenceIn(header, 'handling') === 'strict';
}

/**
 * Reports whether a `Prefer` header contains `return=representation`: the client wants a body in answers that otherwise
 * have none.
 */
export function asksForBody(header: string | undefined): boolean {
  return preferenceIn(header, 'return') === 'representation';
}

/** Returns the value of a preference in lower case. The first of repeated preferences applies. */
function preferenceIn(header = '', name: string): string | undefined {
  const part = header.split(',').find((one) => one.split('=', 1)[0]?.trim().toLowerCase() === name) ?? '';
  const [, plain, quoted] = /=\s*(?:(\w+)|"(\w+)")\s*(?:;|$)/.exec(part) ?? [];
  return (plain ?? quoted)?.toLowerCase();
}

/** Marks the body, so that `checkBody` treats unknown members as mistakes. */
export function strictBody(body: unknown): unknown {
  if (typeof body === 'object' && body !== null) strictBodies.add(body);
  return body;
}

/**
 * Returns the unknown parameters and the values above a maximum as mistakes. Returns none unless the query is strict.
 */
export function strictQueryMistakes(schema: z.ZodObject | undefined, query: URLSearchParams): readonly Mistake[] {
  if (!(query instanceof StrictQuery)) return [];
  const shape: z.ZodRawShape = schema?.shape ?? {};
  const known = Object.keys(shape);
  const unknown = [...new Set(query.keys())].filter((name) => !known.includes(name));
  const tooGreat = known.filter((name) => Number(query.get(name)) > maximumOf(shape[name]));
  return [
    ...unknown.map((name) => ({
      pointer: `?${shortened(name)}`,
      message: `\`${shortened(name)}\` is not a known parameter.${listed(known)}`,
    })),
    ...tooGreat.map((name) => ({
      pointer: `?${name}`,
      message: `The parameter \`${name}\` must be at most ${maximumOf(shape[name])}.`,
    })),
  ].slice(0, MAX_MISTAKES);
}

/** Returns the unknown members of a body as mistakes. Returns none unless the request is strict. */
export function unknownMembers(schema: z.ZodType, body: unknown): readonly Mistake[] {
  if (typeof body !== 'object' || body === null || !strictBodies.has(body)) return [];
  return [...unknownIn(schema, body, '')].slice(0, MAX_MISTAKES);
}

function unknownIn(schema: unknown, value: unknown, pointer: string): readonly Mistake[] {
  if (schema instanceof z.ZodObject) return isRecord(value) ? unknownInObject(schema, value, pointer) : [];
  if (schema instanceof z.ZodArray) {
    const items = Array.isArray(value) ? (value as unknown[]) : [];
    return items.flatMap((item, index) => unknownIn(schema.element, item, `${pointer}/${index}`));
  }
  if (schema instanceof z.ZodUnion) {
    const found = schema.options.map((option) => unknownIn(option, value, pointer));
    return found.sort((a, b) => a.length - b.length)[0] ?? [];
  }
  if (schema instanceof z.ZodPipe) return unknownIn(schema.in, value, pointer);
  const isWrapper =
    schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault;
  if (isWrapper || schema instanceof z.ZodReadonly) return unknownIn(schema.unwrap(), value, pointer);
  return [];
}

function unknownInObject(schema: z.ZodObject, value: object, pointer: string): readonly Mistake[] {
  const shape: z.ZodRawShape = schema.shape;
  const known = Object.keys(shape);
  return Object.entries(value).flatMap(([name, member]: [string, unknown]) => {
    const at = `${pointer}/${shortened(name).replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (known.includes(name)) return unknownIn(shape[name], member, at);
    if (schema.def.catchall !== undefined) return [];
    return [{ pointer: at, message: `\`${shortened(name)}\` is not a known member.${listed(known)}` }];
  });
}

function maximumOf(schema: unknown): number {
  return (schema instanceof z.ZodType && maxima.get(schema)) || Number.POSITIVE_INFINITY;
}

function listed(known: readonly string[]): string {
  return known.length === 0 ? '' : ` Known here: ${known.map((name) => `\`${name}\``).join(', ')}.`;
}

function shortened(name: string): string {
  return name.length <= MAX_NAME ? name : `${name.slice(0, MAX_NAME)}…`;
}
