/** Query parameters of a link. Those that are null or undefined are omitted. */
type Parameters = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Returns the value of a `Link` header to the next page (decision B9). `path` is a path on this service. */
export function nextPage(path: string, parameters: Parameters): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null);
  const query = given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join('&');
  return `<${path}?${query}>; rel="next"`;
}

/** Returns the `Postern-Partial` header, which names the Macs whose items a hub's list lacks (decision N1). */
export function partialHeader({
  missing = [],
}: {
  readonly missing?: readonly string[];
}): Readonly<Record<string, string>> {
  return missing.length === 0 ? {} : { 'Postern-Partial': missing.join(', ') };
}
