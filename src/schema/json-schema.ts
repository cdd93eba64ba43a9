import * as z from 'zod';

/** A part of a document. */
export type Json = Readonly<Record<string, unknown>>;

/**
 * Returns a schema in the form that clients send or read. Refers to shared schemas, but writes out the schema
 * `ownName`.
 */
export function jsonSchema(schema: z.ZodType, ownName?: string): Json {
  const {
    $schema: _schema,
    $defs = {},
    id: _id,
    ...rest
  } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' });
  const isShared = schema.meta()?.id !== undefined && ownName === undefined;
  if (isShared) return { $ref: `#/components/schemas/${schema.meta()?.id}` };
  const own = ownName !== undefined && rest.$ref === `#/$defs/${ownName}` ? $defs[ownName] : rest;
  return JSON.parse(JSON.stringify(own, published)) as Json;
}

function published(name: string, value: unknown): unknown {
  // In TypeScript `readOnly` means that code does not change the array; in OpenAPI it would mean that clients must not
  // send it.
  if (name === 'readOnly') return undefined;
  if (name === '$ref' && typeof value === 'string') return value.replace('#/$defs/', '#/components/schemas/');
  return isInstant(value) ? { ...value, pattern: undefined } : value;
}

/** Matches an instant. Its format says enough, and its pattern has 240 characters. */
function isInstant(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && 'format' in value && value.format === 'date-time';
}
