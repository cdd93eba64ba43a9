import type { Exchange } from './exchange.ts';

/** Reports whether `If-None-Match` contains `*` or the answer's ETag, by weak comparison (RFC 9110, 13.1.2). */
export function isKnown(exchange: Exchange, etag: string): boolean {
  const header = exchange.header('if-none-match');
  if (header === undefined) return false;
  return header.split(',').some((tag) => ['*', etag].includes(tag.trim().replace(/^W\//, '')));
}

/** Returns the answer's `Vary` header with these names added. */
export function vary({ headers }: Pick<Exchange, 'headers'>, ...names: readonly string[]): string {
  return [...(headers.Vary === undefined ? [] : [String(headers.Vary)]), ...names].join(', ');
}
