/** Prefixes a chat guid may have: the service before macOS 26, `any` since (B4). */
const PREFIXES = ['iMessage', 'SMS', 'RCS', 'rcs', 'any', 'iMessageLite'] as const;
const KNOWN: ReadonlySet<string> = new Set(PREFIXES.map((prefix) => prefix.toLowerCase()));

/** How many guids `spellingsOf` gives. */
export const SPELLINGS = PREFIXES.length + 1;

/** Style and identifier: `-;+15550100` of `any;-;+15550100`. "" when there is no `;`. */
export function addressOf(guid: string): string {
  const at = guid.indexOf(';');
  return at < 0 ? '' : guid.slice(at + 1);
}

/** Every guid that an id may stand for, itself first; the style (`-` or `+`) is never changed. */
export function spellingsOf(id: string): readonly string[] {
  const at = id.indexOf(';');
  const isKnown = at >= 0 && KNOWN.has(id.slice(0, at).toLowerCase());
  return [id, ...PREFIXES.map((prefix) => (isKnown ? prefix + id.slice(at) : id))];
}
