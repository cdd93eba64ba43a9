import type * as z from 'zod';

/**
 * Returns the value of a `Link` header to the next page (decisions B9, AB11). Repeats every parameter of `schema` that
 * the request has, so that the next page is of the same list. `next` replaces parameters; undefined removes one.
 */
export function pageLink<Shape extends z.ZodRawShape>(
  { shape }: z.ZodObject<Shape>,
  query: URLSearchParams,
  next: Readonly<{ [Name in keyof Shape]?: string | number | undefined }>,
): string {
  const names = Object.keys(shape).filter((name) => !(name in next));
  const all = [...names.map((name) => [name, query.get(name) ?? undefined] as const), ...Object.entries(next)];
  const given = all.filter(([, value]) => value !== undefined);
  // Without a path, a link works below any path at which a proxy shows the service.
  const text = given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join('&');
  return `<?${text}>; rel="next"`;
}
