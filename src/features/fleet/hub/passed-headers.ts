import { decodedPart } from '../../../core/model/parsed-url.ts';
import type { PassedHeaders } from '../protocol/requests.ts';

/** The headers that a client may send to a Mac. Cookies and the origin of a web page stay at the hub. */
const ASKED: ReadonlySet<string> = new Set([
  ...['accept', 'accept-language', 'content-type', 'content-length', 'content-disposition', 'content-encoding'],
  ...['if-none-match', 'if-modified-since', 'if-range', 'range', 'prefer', 'idempotency-key', 'last-event-id'],
  ...['user-agent', 'mcp-protocol-version', 'mcp-session-id', 'mcp-method', 'mcp-name'],
]);
/** The client's own key for this Mac. */
const KEYS: ReadonlySet<string> = new Set(['x-api-key', 'authorization']);

/** The headers that a Mac may send to a client. A browser obeys none of them for the hub's origin. */
const ANSWERED: readonly string[] = [
  ...['Content-Type', 'Content-Range', 'Accept-Ranges', 'ETag', 'Last-Modified', 'Cache-Control', 'Vary', 'Allow'],
  ...['RateLimit', 'RateLimit-Policy', 'Retry-After', 'Link', 'Idempotent-Replayed', 'Preference-Applied'],
  ...['Postern-Search-Complete', 'Mcp-Session-Id', 'Mcp-Protocol-Version'],
];

const DATA = /^(?:application\/(?:[\w.-]+\+)?json|application\/x-ndjson|text\/event-stream)\s*(?:;|$)/i;
/** A reference below the path of the request, which leads to no other host and no other Mac. */
const BELOW = /^[\w~-][\w.~/-]*$/;
const LEAVES = /\/(?:[./]|$)/;

/** Makes whatever a Mac answers data: it can neither run nor be shown in the origin of the hub (decision AC2). */
const INERT = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
} as const;

/**
 * Returns the headers for the Mac. The hub's own key stays here, also where it opens nothing, such as in a Bearer
 * token: the Mac adds its owner's key.
 */
export function askedHeaders(
  headers: NodeJS.Dict<string | readonly string[]>,
  isOwner: boolean,
  hubKey: string,
): PassedHeaders {
  const kept: Record<string, string | readonly string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    // Node decodes the bytes of a header as Latin-1.
    const isOther = (): boolean => !Buffer.from(String(value), 'latin1').includes(hubKey);
    if (value !== undefined && (ASKED.has(name) || (!isOwner && KEYS.has(name) && isOther()))) kept[name] = value;
  }
  return kept;
}

/** Returns the query for the Mac, without the hub's own key, which clients of WebSockets put there. */
export function askedQuery(rawQuery: string, hubKey: string): string {
  const isOther = (part: string): boolean => {
    const spaced = part.replaceAll('+', ' ');
    return ![part, decodedPart(part), decodedPart(spaced) ?? spaced].some((text) => text?.includes(hubKey));
  };
  return rawQuery.split('&').filter(isOther).join('&');
}

/** Returns the headers for the client. */
export function answeredHeaders(status: number, headers: PassedHeaders, machine: string): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of ANSWERED) {
    const value = headers[name.toLowerCase()];
    if (value !== undefined) kept[name] = String(value);
  }
  const location = String(headers.location ?? '');
  if (status < 300 && BELOW.test(location) && !LEAVES.test(location)) kept.Location = location;
  const challenge = String(headers['www-authenticate'] ?? '');
  if (/^(?:ApiKey|Bearer)\b/i.test(challenge)) kept['WWW-Authenticate'] = challenge;
  const isData = DATA.test(kept['Content-Type'] ?? '');
  const disposition = String(headers['content-disposition'] ?? '');
  const saved = /^attachment\s*(?:;|$)/i.test(disposition) ? disposition : 'attachment';
  return { ...kept, ...INERT, ...(!isData && { 'Content-Disposition': saved }), 'Postern-Machine': machine };
}
