import { parsedUrl } from '../../model/parsed-url.ts';
import { PlistDate, type PlistDictionary, PlistUid, type PlistValue, readBinaryPlist } from './binary-plist.ts';
import type { RowBudget } from './row-budget.ts';

type ArchiveDictionary = ReadonlyMap<string, ArchiveValue>;
/** A decoded object of an archive. URLs and UUIDs become strings, UUIDs in upper case. */
type ArchiveValue =
  | null
  | boolean
  | number
  | string
  | Uint8Array
  | PlistDate
  | readonly ArchiveValue[]
  | ArchiveDictionary;

const MAX_DEPTH = 64;
const BROKEN = new Error('not a keyed archive');

/**
 * Returns the top object of an NSKeyedArchiver archive; undefined for anything else, and if it exceeds the budget.
 * Never throws.
 */
export function readKeyedArchive(blob: Uint8Array, budget: RowBudget): ArchiveValue | undefined {
  const file = readBinaryPlist(blob, budget);
  if (!isPlistDictionary(file)) return undefined;
  const [objects, top] = [file.get('$objects'), file.get('$top')];
  if (!isPlistList(objects) || !isPlistDictionary(top)) return undefined;
  // The archive of a data detector's result names its top object `dd-result`.
  const root = top.get('root') ?? top.get('dd-result');
  if (!(root instanceof PlistUid)) return undefined;
  try {
    return new Archive(objects, budget).value(root, 0);
  } catch (error) {
    if (error === BROKEN) return undefined;
    throw error;
  }
}

class Archive {
  readonly #objects: readonly PlistValue[];
  readonly #budget: RowBudget;
  readonly #open = new Set<number>();
  /**
   * The decoded objects by number, and the decoded lists and dictionaries that are stored inline. Without it, twenty
   * nested arrays that each refer eight times to the next one would become 8^20 objects.
   */
  readonly #known = new Map<number | PlistValue, ArchiveValue>();

  constructor(objects: readonly PlistValue[], budget: RowBudget) {
    this.#objects = objects;
    this.#budget = budget;
  }

  /** Resolves a member, which is stored inline or as a reference. */
  value(stored: PlistValue, depth: number): ArchiveValue {
    if (depth > MAX_DEPTH) throw BROKEN;
    if (stored instanceof PlistUid) return this.#referenced(stored.number, depth);
    if (!isPlistList(stored) && !isPlistDictionary(stored)) return stored;
    const known = this.#known.get(stored);
    if (known !== undefined) return known;
    const value = isPlistList(stored) ? stored.map((item) => this.value(item, depth + 1)) : this.#object(stored, depth);
    this.#known.set(stored, value);
    return value;
  }

  /**
   * Returns the object with this number. Returns null if the object is missing or contains itself: both occur in real
   * archives.
   */
  #referenced(number: number, depth: number): ArchiveValue {
    if (number === 0 || number >= this.#objects.length || this.#open.has(number)) return null;
    const known = this.#known.get(number);
    if (known !== undefined) return known;
    this.#open.add(number);
    const value = this.value(this.#objects[number] ?? null, depth + 1);
    this.#open.delete(number);
    this.#known.set(number, value);
    return value;
  }

  #object(stored: PlistDictionary, depth: number): ArchiveValue {
    const get = (name: string): ArchiveValue => this.value(stored.get(name) ?? null, depth + 1);
    if (stored.has('NS.keys')) return this.#dictionary(get('NS.keys'), get('NS.objects'));
    if (stored.has('NS.objects')) return get('NS.objects');
    if (stored.has('NS.relative')) return this.#url(get('NS.relative'), get('NS.base'));
    if (stored.has('NS.time')) return dateOf(get('NS.time'));
    if (stored.has('NS.uuidbytes')) return uuidOf(get('NS.uuidbytes'));
    for (const name of ['NS.string', 'NS.data', 'NS.bytes']) if (stored.has(name)) return get(name);
    const members = new Map<string, ArchiveValue>();
    for (const [name, member] of stored) {
      if (name !== '$class') members.set(name, this.value(member, depth + 1));
    }
    return members.size === 0 && this.#classNameOf(stored) === 'NSNull' ? null : members;
  }

  #dictionary(keys: ArchiveValue, values: ArchiveValue): ArchiveDictionary {
    if (!isArchiveList(keys) || !isArchiveList(values) || keys.length !== values.length) throw BROKEN;
    // Many dictionaries can share two long lists.
    if (!this.#budget.step(keys.length)) throw BROKEN;
    const dictionary = new Map<string, ArchiveValue>();
    for (const [index, key] of keys.entries()) {
      if (typeof key === 'string' || typeof key === 'number') dictionary.set(String(key), values[index] ?? null);
    }
    return dictionary;
  }

  /** Resolves a URL against its base. Returns it as stored if the budget allows no more, or if it cannot be parsed. */
  #url(relative: ArchiveValue, base: ArchiveValue): string | null {
    if (typeof relative !== 'string') return null;
    if (typeof base !== 'string' || !this.#budget.spend('urls')) return relative;
    return parsedUrl(relative, base)?.href ?? relative;
  }

  #classNameOf(stored: PlistDictionary): PlistValue {
    const named = stored.get('$class');
    const found = named instanceof PlistUid ? this.#objects[named.number] : null;
    return isPlistDictionary(found) ? (found.get('$classname') ?? null) : null;
  }
}

function isPlistDictionary(value: PlistValue | undefined): value is PlistDictionary {
  return value instanceof Map;
}

function isPlistList(value: PlistValue | undefined): value is readonly PlistValue[] {
  return Array.isArray(value);
}

function isArchiveList(value: ArchiveValue): value is readonly ArchiveValue[] {
  return Array.isArray(value);
}

function dateOf(seconds: ArchiveValue): ArchiveValue {
  return typeof seconds === 'number' ? new PlistDate(seconds) : null;
}

function uuidOf(bytes: ArchiveValue): string | null {
  if (!(bytes instanceof Uint8Array) || bytes.length !== 16) return null;
  const hex = Buffer.from(bytes).toString('hex').toUpperCase();
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
