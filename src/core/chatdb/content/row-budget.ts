import { CONTENT_COLUMNS, type ContentColumn, type MessageContent } from '../../model/content.ts';
import { textIn } from './members.ts';

/**
 * The blob of a column. `too_large`: the blob exceeds the limit for one blob. Undefined: the column is empty, or this
 * read has used up its limit for all blobs.
 */
export type StoredBlob = Uint8Array | 'too_large' | undefined;

/** The highest costs of decoding one row, whatever columns and however many archives it has. */
const LIMITS = {
  /** UTF-16 units of the texts that are shown besides the body. */
  characters: 64_000,
  /** URLs that are resolved. Further ones are shown as stored. */
  urls: 20,
  /** Drawings on a photo of Digital Touch. */
  overlays: 20,
  /** Classes in typedstreams. */
  classes: 200,
};
type Cost = keyof typeof LIMITS;

/**
 * Maximum number of objects, fields and list items that are read. Opening a blob takes a step for each `BYTES_A_STEP`.
 */
const MAX_STEPS = 20_000;

const BYTES_A_STEP = 256;

/**
 * The budget for decoding one row. Every decoder of the row's blobs spends from it, so that a row's cost does not grow
 * with the number of its archives. Members beyond the budget are left out, and `undecoded` names their column.
 */
export class RowBudget {
  /** A field of its own, because decoders count each step. */
  #steps: number;
  readonly #most: number;
  readonly #left: Record<Cost, number> = { ...LIMITS };
  readonly #undecoded = new Set<ContentColumn>();
  #column: ContentColumn | undefined;

  constructor(steps = MAX_STEPS) {
    this.#steps = steps;
    this.#most = steps;
  }

  /** Number of steps that were spent so far. */
  get spent(): number {
    return this.#most - this.#steps;
  }

  /** Spends steps. Returns false, and names the column that is being decoded, if the budget has fewer left. */
  step(amount = 1): boolean {
    if (amount > this.#steps) return this.#exceeded();
    this.#steps -= amount;
    return true;
  }

  /** Spends `amount`. Returns false, and names the column that is being decoded, if the budget has less left. */
  spend(cost: Cost, amount = 1): boolean {
    if (amount <= this.#left[cost]) {
      this.#left[cost] -= amount;
      return true;
    }
    return cost === 'urls' ? false : this.#exceeded();
  }

  #exceeded(): false {
    if (this.#column !== undefined) this.#undecoded.add(this.#column);
    return false;
  }

  /** Spends the cost of opening a blob. Blobs inside a property list can overlap, so their number alone says little. */
  open(bytes: Uint8Array): boolean {
    return this.step(Math.ceil(bytes.length / BYTES_A_STEP));
  }

  /** Returns a text that the API shows; undefined if there is none, or if it exceeds the budget. */
  shown(text: string | undefined): string | undefined {
    return text !== undefined && this.spend('characters', text.length) ? text : undefined;
  }

  /** Returns the text of the member `name` to show; undefined if it is empty, not a text or exceeds the budget. */
  textIn(from: ReadonlyMap<string, unknown>, name: string): string | undefined {
    return this.shown(textIn(from, name));
  }

  /** Returns the items of a list to show, as many as the budget allows. */
  items<Item>(list: readonly Item[]): readonly Item[] {
    const end = list.findIndex(() => !this.step());
    return end < 0 ? list : list.slice(0, end);
  }

  /** Runs a decoder of a column. `undecoded` names the column if the decoder exceeds the budget. */
  within<Value>(column: ContentColumn, decode: () => Value): Value {
    const outer = this.#column;
    this.#column = column;
    const value = decode();
    this.#column = outer;
    return value;
  }

  /** Names a column in `undecoded`. */
  note(column: ContentColumn): void {
    this.#undecoded.add(column);
  }

  /** Decodes the blob of a column. Names the column in `undecoded` if that fails. */
  read<Value>(
    column: ContentColumn,
    blob: StoredBlob,
    decode: (bytes: Uint8Array) => Value | undefined,
  ): Value | undefined {
    if (blob === undefined || blob.length === 0) return undefined;
    const value = blob === 'too_large' ? undefined : this.within(column, () => decode(blob));
    if (value === undefined) this.note(column);
    return value;
  }

  /** Returns the member that names the columns that could not be decoded so far, or only in part. */
  undecoded(): Pick<MessageContent, 'undecoded'> {
    const undecoded = CONTENT_COLUMNS.filter((column) => this.#undecoded.has(column));
    return undecoded.length > 0 ? { undecoded } : {};
  }
}
