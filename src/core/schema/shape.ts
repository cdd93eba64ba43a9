import type * as z from 'zod';

type Same<Shape, Domain> = [Shape] extends [Domain] ? ([Domain] extends [Shape] ? true : false) : false;

/**
 * Checks a schema against a type of `model/`: `shapeOf<Message>()(z.object({…}))` returns the schema, and fails to
 * compile if the two differ, in either direction.
 */
export function shapeOf<Domain>() {
  return <Schema extends z.ZodType>(schema: Same<z.output<Schema>, Domain> extends true ? Schema : never): Schema =>
    schema;
}
