/** The value of a `Link` header to the next page (decision B9): a path on this service with the given parameters. */
export function nextPage(path: string, parameters: readonly (readonly [string, string])[]): string {
  const query = parameters.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
  return `<${path}?${query}>; rel="next"`;
}
