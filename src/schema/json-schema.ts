import * as z from 'zod';

/** An object of a JSON Schema or of the OpenAPI document. */
export type Json = Readonly<Record<string, unknown>>;

/**
 * Returns the JSON Schema of what clients send or read. A shared schema becomes a reference, unless `ownName` names it.
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
  // `readOnly` means in TypeScript that code does not change the array. In OpenAPI it means that clients must not send
  // it.
  if (name === 'readOnly') return undefined;
  if (name === '$ref' && typeof value === 'string') return value.replace('#/$defs/', '#/components/schemas/');
  return isInstant(value) ? { ...value, pattern: undefined } : value;
}

/** Matches an instant. `published` drops its pattern of 240 characters, because the format says enough. */
function isInstant(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && 'format' in value && value.format === 'date-time';
}
