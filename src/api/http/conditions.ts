import type { Exchange } from './exchange.ts';

/** Reports whether the client already has this answer (RFC 9110, 13.1.2): a list of tags, compared weakly, or `*`. */
export function isKnown(exchange: Exchange, etag: string): boolean {
  const header = exchange.header('if-none-match');
  if (header === undefined) return false;
  return header.split(',').some((tag) => ['*', etag].includes(tag.trim().replace(/^W\//, '')));
}

/** Returns the `Vary` of an answer that also depends on these headers. */
export function vary({ headers }: Exchange, ...names: readonly string[]): string {
  return [...(headers.Vary === undefined ? [] : [String(headers.Vary)]), ...names].join(', ');
}
