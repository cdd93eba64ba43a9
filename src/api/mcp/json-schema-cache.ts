import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import type * as z from 'zod';

const made = new WeakMap<z.ZodObject, StandardSchemaWithJSON>();

/** The schema as the protocol's package takes it, its JSON form made once: the package asks for it at every call. */
export function describedOnce(schema: z.ZodObject): StandardSchemaWithJSON {
  const known = made.get(schema);
  if (known !== undefined) return known;
  const standard = schema['~standard'];
  const { input, output } = standard.jsonSchema;
  const described = {
    '~standard': { ...standard, jsonSchema: { input: remembered(input), output: remembered(output) } },
  };
  made.set(schema, described);
  return described;
}

type Convert = StandardSchemaWithJSON['~standard']['jsonSchema']['input'];

function remembered(convert: Convert): Convert {
  const results = new Map<string, ReturnType<Convert>>();
  return (options) => {
    const result = results.get(options.target) ?? convert(options);
    results.set(options.target, result);
    return result;
  };
}
