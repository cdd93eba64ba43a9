/** The value of a `Link` header to the next page (decision B9): a path on this service with the given parameters. */
export function nextPage(path: string, parameters: readonly (readonly [string, string])[]): string {
  const query = parameters.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
  return `<${path}?${query}>; rel="next"`;
}

/** Names the Macs that a list at a hub lacks (decision N1). */
export function partialHeader({
  missing = [],
}: {
  readonly missing?: readonly string[];
}): Readonly<Record<string, string>> {
  return missing.length === 0 ? {} : { 'Postern-Partial': missing.join(', ') };
}
