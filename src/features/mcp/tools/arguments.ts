import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { editDistance } from '../../../core/model/edit-distance.ts';
import { shortLine } from '../../../core/tools/visible.ts';

/**
 * The arguments that common clients and agent frameworks add to every call, as `nameKey` writes it (decision AB9).
 */
const ADDED_BY_CLIENTS: ReadonlySet<string> = new Set(['toolcallid', 'sessionid', 'action', 'chatinput', 'tool']);
/** Maximum number of unknown arguments that an answer names. */
const MAX_NAMED = 10;
/**
 * Maximum number of unknown arguments that are compared with those of the tool. 60,000 would take more than a second.
 */
const MAX_COMPARED = 100;

/** The arguments of one call, and the names of those that the tool does not have. */
export interface ReadArguments {
  readonly input: Record<string, unknown>;
  readonly unknown: readonly string[];
}

/**
 * Returns the schema of a tool's arguments for the protocol's package. It is listed like `schema`, but reads what
 * clients really send: values of another JSON type, null or "" for what is left out, and arguments that the tool does
 * not have (decision AB9).
 */
export function argumentsSchema(schema: z.ZodObject, tool: string): StandardSchemaWithJSON<unknown, ReadArguments> {
  const { types: _, ...standard } = schema['~standard'];
  return { '~standard': { ...standard, validate: (given: unknown) => read(schema, tool, given) } };
}

async function read(schema: z.ZodObject, tool: string, given: unknown) {
  const known = Object.keys(schema.shape);
  const entries = Object.entries(z.record(z.string(), z.unknown()).safeParse(given).data ?? {});
  const strangers = entries
    .filter(([name, value]) => !Object.hasOwn(schema.shape, name) && !isLeftOut(value))
    .map(([name]) => name)
    .filter((name) => !ADDED_BY_CLIENTS.has(nameKey(name)));
  const mistaken = strangers.slice(0, MAX_COMPARED).flatMap((name) => {
    const near = known.filter((one) => isNear(name, one));
    return near.length === 0
      ? []
      : [
          {
            path: [shortLine(name, 60)],
            message: `${tool} has no such argument; use ${near.map((one) => `\`${one}\``).join(' or ')}`,
          },
        ];
  });
  const shape: Readonly<Record<string, z.core.$ZodType>> = schema.shape;
  const taken = entries.flatMap(([name, value]) => {
    const type = Object.hasOwn(shape, name) ? shape[name] : undefined;
    return type === undefined || isLeftOut(value) ? [] : [[name, readAs(type, value)] as const];
  });
  const parsed = await schema.safeParseAsync(Object.fromEntries(taken));
  const issues = [...mistaken, ...(parsed.error?.issues ?? [])];
  if (!parsed.success || issues.length > 0) return { issues };
  const value: ReadArguments = { input: parsed.data, unknown: strangers };
  return { value };
}

/** Returns a request without `arguments` that are null or "", which the protocol's package would refuse. */
export function withoutEmptyArguments(body: unknown): unknown {
  const { params, ...request } = (body ?? {}) as { readonly params?: { readonly arguments?: unknown } | null };
  if (params?.arguments !== null && params?.arguments !== '') return body;
  const { arguments: _, ...others } = params;
  return { ...request, params: others };
}

/** Returns the sentence that names arguments which a tool does not have; undefined if there are none. */
export function unknownNote(unknown: readonly string[]): string | undefined {
  if (unknown.length === 0) return undefined;
  const names = unknown.slice(0, MAX_NAMED).map((name) => `\`${shortLine(name, 60)}\``);
  const more = unknown.length > MAX_NAMED ? ` and ${unknown.length - MAX_NAMED} more` : '';
  return `Ignored, because this tool has no such argument: ${names.join(', ')}${more}.`;
}

/** Reports whether a value stands for an argument that is left out: models fill in null or "". */
function isLeftOut(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

/**
 * Returns a value in the JSON type that the schema asks for, if no information is lost. Otherwise returns the value.
 */
function readAs(type: z.core.$ZodType, value: unknown): unknown {
  switch (coreOf(type)) {
    case 'string':
      // Above this limit, the client's number has already lost digits.
      return Number.isSafeInteger(value) || typeof value === 'boolean' ? String(value) : value;
    case 'number':
      return typeof value === 'string' && /^\s*-?\d+(?:\.\d+)?\s*$/.test(value) ? Number(value) : value;
    case 'boolean':
      return typeof value === 'string' && /^\s*(?:true|false)\s*$/i.test(value)
        ? value.trim().toLowerCase() === 'true'
        : value;
    // All options of the tools are in lower case.
    case 'enum':
      return typeof value === 'string' ? value.trim().toLowerCase() : value;
    default:
      return value;
  }
}

/** Returns zod's name of the JSON type, below defaults, transformations and the like. */
function coreOf(type: z.core.$ZodType): string {
  const { def } = type._zod as {
    readonly def: { readonly type: string; readonly innerType?: z.core.$ZodType; readonly in?: z.core.$ZodType };
  };
  const inner = def.innerType ?? def.in;
  return inner === undefined ? def.type : coreOf(inner);
}

/** Returns a name without differences in case, underscores and hyphens. */
function nameKey(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, '');
}

function wordsOf(name: string): readonly string[] {
  return name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[_-]+/)
    .filter(Boolean);
}

/**
 * Reports whether an unknown name probably means a known one: the words of one are among the words of the other, as in
 * `conversation`, or it is misspelled.
 */
function isNear(name: string, known: string): boolean {
  if (name.length > 64) return false;
  const [one, other] = [nameKey(name), nameKey(known)];
  const [words, knownWords] = [wordsOf(name), wordsOf(known)];
  if (
    one === other ||
    words.every((word) => knownWords.includes(word)) ||
    knownWords.every((word) => words.includes(word))
  ) {
    return true;
  }
  return editDistance(one, other) <= Math.min(2, Math.floor(other.length / 3));
}
