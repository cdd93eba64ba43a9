import type * as z from 'zod';

type Same<Shape, Domain> = [Shape] extends [Domain] ? ([Domain] extends [Shape] ? true : false) : false;

/**
 * Returns the schema in `shapeOf<Message>()(z.object({…}))`. Fails to compile if the schema and the type in domain/
 * differ, in either direction.
 */
export function shapeOf<Domain>() {
  return <Schema extends z.ZodType>(schema: Same<z.output<Schema>, Domain> extends true ? Schema : never): Schema =>
    schema;
}
