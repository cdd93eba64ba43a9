import type { Cursor } from '../../../src/core/model/cursor.ts';
import { type Print, type PrintArray, REACTION_PRINT } from '../../../src/core/model/fingerprint.ts';
import { type Offset, rowOffset } from '../../../src/core/model/offset.ts';
import {
  BLOCK_ROWS,
  type Change,
  type ChangeStore,
  type DetectionState,
  type LoggedChange,
} from '../../../src/core/model/ports/changes-ports.ts';
import type { CursorStore } from '../../../src/core/model/ports/feed-ports.ts';

/** The committed state in memory: cursor, prints, change log and the offsets of consumers. */
export class MemoryChangeStore implements ChangeStore, CursorStore {
  /** Called before each method. If it throws, the method throws that, and nothing is written. */
  onCall: (isWrite: boolean) => void = () => {};
  kept = Number.POSITIVE_INFINITY;
  /** Changes stored since the log began, with those of a summary counted one by one. */
  recorded = 0;
  /** How often the print of each row changed since the log began, without the first print and those of reactions. */
  readonly moves = new Map<number, number>();
  readonly consumers = new Map<string, Offset>();
  #cursor: Cursor | undefined;
  #generation = 0;
  #seq = 0;
  #log: LoggedChange[] = [];
  #blocks = new Map<number, PrintArray>();
  #state: DetectionState = { isOn: false, askedAtMs: 0, sweptAtMs: null };

  load(): Cursor | undefined {
    this.onCall(false);
    return this.#cursor;
  }

  save(cursor: Cursor, prints: ReadonlyMap<number, Print> = new Map(), changes: readonly Change[] = []): void {
    this.onCall(true);
    this.#cursor = cursor;
    this.#add(changes);
    this.#write(prints, true);
  }

  restart(cursor: Cursor, prints: ReadonlyMap<number, Print> = new Map()): void {
    this.onCall(true);
    this.#cursor = cursor;
    this.#beginAgain({ ...this.#state, sweptAtMs: null }, prints);
    for (const name of this.consumers.keys()) {
      this.consumers.set(name, { rowId: cursor.offset.rowId, change: this.#seq });
    }
  }

  /** Not modelled. */
  replacedAt(): number {
    return 0;
  }

  generation(): number {
    return this.#generation;
  }

  newest(): number {
    this.onCall(false);
    return this.#seq;
  }

  floor(): number {
    return (this.#log[0]?.seq ?? this.#seq + 1) - 1;
  }

  changes(after: number, upTo: number, limit: number): readonly LoggedChange[] {
    this.onCall(false);
    return this.#log.filter(({ seq }) => seq > after && seq <= upTo).slice(0, limit);
  }

  state(): DetectionState {
    return this.#state;
  }

  begin(nowMs: number, prints: ReadonlyMap<number, Print>): void {
    this.onCall(true);
    this.#beginAgain({ isOn: true, askedAtMs: nowMs, sweptAtMs: null }, prints);
  }

  end(): void {
    this.onCall(true);
    this.#beginAgain({ isOn: false, askedAtMs: 0, sweptAtMs: null }, new Map());
  }

  noteAsked(nowMs: number): void {
    this.onCall(true);
    this.#state = { ...this.#state, askedAtMs: nowMs };
  }

  noteSwept(nowMs: number): void {
    this.onCall(true);
    this.#state = { ...this.#state, sweptAtMs: nowMs };
  }

  prints(block: number): PrintArray | undefined {
    this.onCall(false);
    return this.#blocks.get(block)?.slice();
  }

  nextBlock(block: number): number | undefined {
    const next = Math.min(...[...this.#blocks.keys()].filter((number) => number >= block));
    return Number.isFinite(next) ? next : undefined;
  }

  record(changes: readonly Change[], prints: ReadonlyMap<number, Print>): void {
    this.onCall(true);
    this.#add(changes);
    this.#log.splice(0, Math.max(0, this.#log.length - this.kept));
    this.#write(prints, false);
  }

  #add(changes: readonly Change[]): void {
    for (const change of changes) {
      this.#seq += 1;
      this.recorded += change.kind === 'many' ? change.count : 1;
      this.#log.push({ ...change, seq: this.#seq });
    }
  }

  /** Returns where a consumer begins if nothing is stored for it. */
  offsetOf(name: string): Offset {
    return this.consumers.get(name) ?? rowOffset(0);
  }

  #beginAgain(state: DetectionState, prints: ReadonlyMap<number, Print>): void {
    this.#generation += 1;
    this.#log = [];
    this.recorded = 0;
    this.moves.clear();
    this.#blocks = new Map();
    this.#state = state;
    this.#write(prints, false);
  }

  #write(prints: ReadonlyMap<number, Print>, isFirst: boolean): void {
    for (const [rowId, print] of prints) {
      const number = Math.floor(rowId / BLOCK_ROWS);
      const block = this.#blocks.get(number) ?? new Float64Array(BLOCK_ROWS);
      this.#blocks.set(number, block);
      const known = block[rowId % BLOCK_ROWS] ?? 0;
      if (known !== 0 && (isFirst || known === print)) continue;
      if (known !== 0 && known !== REACTION_PRINT) this.moves.set(rowId, (this.moves.get(rowId) ?? 0) + 1);
      block[rowId % BLOCK_ROWS] = print;
      if (print === 0 && block.every((one) => one === 0)) this.#blocks.delete(number);
    }
  }
}
