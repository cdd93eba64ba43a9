import type * as z from 'zod';

type Same<Shape, Domain> = [Shape] extends [Domain] ? ([Domain] extends [Shape] ? true : false) : false;

/**
 * `shapeOf<Message>()(z.object({…}))` gives the schema back and does not compile when it and the type of
 * domain/ have drifted apart, in either direction.
 */
export function shapeOf<Domain>() {
  return <Schema extends z.ZodType>(schema: Same<z.output<Schema>, Domain> extends true ? Schema : never): Schema =>
    schema;
}
