import * as z from 'zod';

/** An object of a JSON Schema or of the OpenAPI document. */
export type Json = Readonly<Record<string, unknown>>;

/**
 * Returns the JSON Schema of a request or an answer. If the schema has an id, returns a reference to the component with
 * that id. With `ownName`, returns the schema itself, for the component `ownName`.
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
  // Omits `readOnly`. In TypeScript it means that code does not change the array, but in OpenAPI it would mean that
  // clients must not send the array.
  if (name === 'readOnly') return undefined;
  if (name === '$ref' && typeof value === 'string') return value.replace('#/$defs/', '#/components/schemas/');
  return isInstant(value) ? { ...value, pattern: undefined } : value;
}

/**
 * Reports whether this is the JSON Schema of an instant. `published` omits the pattern of such a schema: the pattern
 * has 240 characters, and `format: date-time` says enough.
 */
function isInstant(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && 'format' in value && value.format === 'date-time';
}
