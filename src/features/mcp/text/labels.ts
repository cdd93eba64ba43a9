import type { NameOf } from '../../../core/tools/tool.ts';
import { shortLine } from '../../../core/tools/visible.ts';

/**
 * Matches an address, or a name that looks like one. Such a name is always shown with the real address, because alone
 * it would pass for another person's address.
 */
const LIKE_AN_ADDRESS = /^[\s\d+().@-]+$|@/;
const OWNER = 'me';
const SHORT_DIGITS = 4;

/**
 * Names of people and groups within one answer. The first mention has the full form. Later mentions have a short form,
 * unless that form already stands for another person or group.
 */
export class Labels {
  readonly #nameOf: NameOf;
  readonly #short = new Map<string, string>();
  /** Short forms already in use. Each stands for only one person or group. */
  readonly #taken = new Set([OWNER]);

  constructor(nameOf: NameOf) {
    this.#nameOf = nameOf;
  }

  person(address: string): string {
    const shown = shownAddress(shortLine(address));
    const short = this.#short.get(address);
    if (short !== undefined) return short;
    const name = shortLine(this.#nameOf(address) ?? '', 60);
    if (name === '') {
      this.#keep(address, shortAddress(shown), shown);
      return shown;
    }
    const full = `${name} (${shown})`;
    this.#keep(address, LIKE_AN_ADDRESS.test(name) ? full : name, full);
    return full;
  }

  /** Returns a group's label. The name is always in quotes, because the group's members choose it. */
  group(id: string, name: string | null): string {
    const short = this.#short.get(id);
    if (short !== undefined) return short;
    const shown = shortLine(id, 120);
    if (name === null || name === '') {
      this.#keep(id, shown, shown);
      return shown;
    }
    const quoted = `"${shortLine(name, 60).replaceAll('"', "'")}"`;
    const full = `${quoted} (${shown})`;
    this.#keep(id, quoted, full);
    return full;
  }

  /**
   * Sets the label of later mentions to `short`. If `short` already stands for another person or group, uses `full`.
   */
  #keep(key: string, short: string, full: string): void {
    const label = this.#taken.has(short) ? full : short;
    this.#taken.add(label);
    this.#short.set(key, label);
  }
}

/**
 * Quotes an address that is a plain word, because companies can send under any word. Without quotes, `me` would look
 * like the owner, and `Mom` like a contact.
 */
function shownAddress(address: string): string {
  if (address === '') return 'unknown';
  return LIKE_AN_ADDRESS.test(address) ? address : `sender "${address.replaceAll('"', "'")}"`;
}

/**
 * Returns only the last 4 digits of a telephone number, after `…`. Returns e-mail addresses and short numbers
 * unchanged.
 */
function shortAddress(address: string): string {
  return /^\+\d{8,}$/.test(address) ? `…${address.slice(-SHORT_DIGITS)}` : address;
}
