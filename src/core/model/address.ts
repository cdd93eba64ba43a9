/** Punctuation that people write into phone numbers. */
const PUNCTUATION = /[ ().-]/g;

const NUMBER = /^\+[1-9][0-9]{6,14}$/;

const EMAIL = /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}$/;

/**
 * Returns the form in which an address is compared with the addresses that a key may use: a number with its country
 * code, or an e-mail address in lower case. Returns undefined for everything else, so that lookalikes never match.
 */
export function rightsAddress(text: string): string | undefined {
  const number = text.replaceAll(PUNCTUATION, '');
  if (NUMBER.test(number)) return number;
  // Accepts only ASCII, because `toLowerCase` would turn the Kelvin sign into a k.
  if (!/^[\x21-\x7e]+$/.test(text)) return undefined;
  const email = text.toLowerCase();
  return email.length <= 254 && EMAIL.test(email) ? email : undefined;
}

/** Matches what can only be the name of a person or group: letters that belong to no address, id or `chat123`. */
const NAME = /^(?!chat\d+$)[^@;:]*\p{L}[^@;:]*$/iu;

/**
 * Reports whether a recipient looks like a name. Some senders of text messages have names as addresses, so the
 * recipient may still be a conversation in chat.db.
 */
export function isNameLike(recipient: string): boolean {
  return NAME.test(recipient);
}

/**
 * Returns the form in which two members of conversations are compared: the result of `rightsAddress` for the stored
 * address, or the stored address itself if `rightsAddress` returns undefined.
 */
export function memberKey(stored: string): string {
  return rightsAddress(stored) ?? stored;
}

/**
 * Splits a chat id such as `any;-;+15550100` into service (`any`), style (`-`) and identifier. Returns undefined for
 * any other text.
 */
export function chatIdentity(
  id: string,
): { readonly service: string; readonly style: string; readonly identifier: string } | undefined {
  const [, service, style, identifier] = /^([^;]*);([-+]);(.+)$/s.exec(id) ?? [];
  if (service === undefined || style === undefined || identifier === undefined) return undefined;
  return { service, style, identifier };
}

/** The identifier of a group, such as `chat123`, alone or in a chat id of any service and style. */
const GROUP = /^(?:[^;]*;[-+];)?(chat\d+)$/i;

/**
 * Returns the usual spelling of a group's id: `any;+;chat123` for `chat123` and `iMessage;-;chat123`. Returns
 * undefined for a text that does not look like a group's id.
 */
export function groupId(text: string): string | undefined {
  const [, identifier] = GROUP.exec(text) ?? [];
  return identifier === undefined ? undefined : `any;+;${identifier.toLowerCase()}`;
}

/** Prefixes that a chat guid may have: the service up to macOS 15, `any` from macOS 26 on (decision B4). */
const PREFIXES = ['iMessage', 'SMS', 'RCS', 'rcs', 'any', 'iMessageLite'] as const;

const KNOWN: ReadonlySet<string> = new Set(PREFIXES.map((prefix) => prefix.toLowerCase()));

/**
 * Returns every chat guid that a conversation id may refer to, beginning with the id itself. The list always has seven
 * entries, some of them repeated, so that one SQL statement with seven parameters serves every id. All entries keep the
 * id's style (`-` or `+`).
 */
export function chatGuidVariants(id: string): readonly string[] {
  const at = id.indexOf(';');
  const isKnown = at >= 0 && KNOWN.has(id.slice(0, at).toLowerCase());
  return [id, ...PREFIXES.map((prefix) => (isKnown ? prefix + id.slice(at) : id))];
}

/** Returns style and identifier: `-;+15550100` for `any;-;+15550100`, and "" for a text without `;`. */
export function addressOf(guid: string): string {
  const at = guid.indexOf(';');
  return at < 0 ? '' : guid.slice(at + 1);
}
