import { parsedUrl } from '../model/parsed-url.ts';

/** How much a log line may reveal (decision A6). */
export interface Redaction {
  /** True to show whole phone numbers and addresses. False at every log level except debug. */
  readonly showsAddresses: boolean;
  readonly showsStacks: boolean;
}

type Fields = Readonly<Record<string, unknown>>;

/** Fields that contain an address, or a chat guid with an address in it. */
const ADDRESSES =
  /^(?:address(?:es)?|senders?|recipients?|handles?|participants?|accounts?|identifier|conversation(?:_?ids?)?|chat(?:_?(?:id|guid)s?)?)$/i;
/** Fields that are never logged, whatever they contain. */
const SECRETS = /^(?:api_?key|x-api-key|authorization|cookie|secret|password|token|headers|query|body|text)$/i;
const URLS = /url$|^(?:path|target)$/i;
/**
 * An e-mail address or a phone number in running text, also percent-encoded. Each run of letters is tried only from its
 * start, because trying every letter would take quadratic time.
 */
const IN_TEXT = /(?<![\w.+-])[\w.+-]+(?:@|%40)[\w-]+\.[\w.-]+|(?:\+|%2B)\d{6,}/gi;
/**
 * Every address contains `@` or `+`, plain or percent-encoded. Text with neither of them is not searched for addresses.
 */
const HINT = /[@+]|%40|%2B/i;
/** Control characters that JSON leaves unescaped and that a terminal acts on. */
const OBEYED = /[\u007f-\u009f]/g;
const MAX_DEPTH = 4;

type Kind = 'address' | 'secret' | 'url' | 'other';

/** Returns the fields of a log line without secrets and message texts, with shortened addresses and plain errors. */
export function redact(fields: Fields, candour: Redaction): Record<string, unknown> {
  return redactMembers(fields, candour, 0);
}

/**
 * Shortens `+15551234567` to `+1555…67`: enough for users to recognise their contacts, not enough to call them. In a
 * chat guid, keeps the service prefix, and shortens only an address: a group's id stays whole.
 */
export function maskAddress(address: string): string {
  const [, prefix = '', identifier = ''] = /^([A-Za-z]+;[-+];)?(.*)$/s.exec(address) ?? [];
  if (/^chat\d/.test(identifier) || identifier.length < 4) return address;
  const head = Math.min(5, Math.floor(identifier.length / 2.4));
  const tail = identifier.length < 8 ? 0 : 2;
  return `${prefix}${identifier.slice(0, head)}…${tail === 0 ? '' : identifier.slice(-tail)}`;
}

function redactMembers(fields: Fields, candour: Redaction, depth: number): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const name of Object.keys(fields)) shown[name] = redactValue(name, fields[name], candour, depth);
  return shown;
}

function redactValue(name: string, value: unknown, candour: Redaction, depth: number): unknown {
  const kind = kindOf(name);
  if (kind === 'secret') return '(not logged)';
  if (typeof value === 'string') return redactText(kind, value, candour);
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth === MAX_DEPTH) return '…';
  if (Array.isArray(value)) return value.map((item) => redactValue(name, item, candour, depth + 1));
  return isError(value) ? redactedError(value, candour, depth) : redactMembers(value as Fields, candour, depth + 1);
}

function kindOf(name: string): Kind {
  return SECRETS.test(name) ? 'secret' : URLS.test(name) ? 'url' : ADDRESSES.test(name) ? 'address' : 'other';
}

function redactText(kind: Kind, text: string, { showsAddresses }: Redaction): string {
  const plain = text.replace(OBEYED, '\uFFFD');
  const rest = kind === 'url' ? withoutQuery(plain) : plain;
  if (showsAddresses) return rest;
  if (kind === 'address') return maskAddress(rest);
  return HINT.test(rest) ? rest.replace(IN_TEXT, maskAddress) : rest;
}

/** Keeps only the origin of a web address, and removes the query from a path. */
function withoutQuery(url: string): string {
  return parsedUrl(url)?.origin ?? url.replace(/\?.*$/s, '');
}

interface ErrorLike {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly message: string;
  readonly stack: string;
  readonly cause?: unknown;
}

/** Recognises an error by its properties: `instanceof` fails across realms, such as a test runner's. */
function isError(value: object): value is ErrorLike {
  const { message, stack } = value as { message?: unknown; stack?: unknown };
  return typeof message === 'string' && typeof stack === 'string';
}

/**
 * Keeps only the name, code, message, stack and cause of an error, because an HTTP client's errors contain whole
 * requests.
 */
function redactedError(error: ErrorLike, candour: Redaction, depth: number): Record<string, unknown> {
  const { name, code, message, stack, cause } = error;
  const parts = { name, code, message, stack: candour.showsStacks ? stack : undefined, cause };
  return redactMembers(parts, candour, depth + 1);
}
