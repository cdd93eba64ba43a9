/** Maximum length of an address, in UTF-16 units. */
const MAX_CHARACTERS = 8192;
const MAX_HOST = 255;
const MAX_NOT_ASCII = 63;

/**
 * Parses a URL that comes from outside, such as one in a message, or an address to which a client asks to be called
 * back. Returns undefined if it is invalid, too long or has an unusual host: Node takes quadratic time to encode a long
 * host that is not ASCII. Every URL from outside is parsed here (`test/layers.test.ts`).
 */
export function parsedUrl(text: string, base?: string): URL | undefined {
  if (text.length + (base?.length ?? 0) > MAX_CHARACTERS) return undefined;
  if (!hasUsualHost(text) || (base !== undefined && !hasUsualHost(base))) return undefined;
  return URL.canParse(text, base) ? new URL(text, base) : undefined;
}

/**
 * Matches the longest text that the parser can take for an authority. The parser ignores tabs, line breaks and spaces
 * before the scheme, and accepts any number of slashes and backslashes before the authority.
 */
const AUTHORITY = /^[\0- ]*(?:[a-z][a-z\d+.-]*:)?[/\\]*([^/\\?#]*)/i;

function hasUsualHost(url: string): boolean {
  const [, authority = ''] = AUTHORITY.exec(url.replace(/[\t\n\r]/g, '')) ?? [];
  const host = authority.slice(authority.lastIndexOf('@') + 1).replace(/:\d*$/, '');
  return host.length <= MAX_HOST && host.replace(/[\0-\x7f]/g, '').length <= MAX_NOT_ASCII;
}

/** Decodes a part of a URL. Returns undefined if it is not percent-encoded UTF-8. */
export function decodedPart(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
